"""Logs that somebody else fills: forged lines, floods of labels, endless lines, archives that want all memory."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import random
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from patchctl.errors import PatchctlError
from patchctl.logs import Followed, open_log
from patchctl.logs.frames import Frames
from patchctl.signals.tally import Hit, Tally
from patchctl.signals.values import Stamp
from tests.log_lines import MESSAGE, WATCH, access, counted, entry, header, hit
from tests.registries import add_entry, make_registry
from tests.running import Done
from tests.strangers import make_socket

MEGABYTE = 1 << 20
MEMORY = 400 * MEGABYTE
"""Address space of a child: an interpreter with all that ``hits`` loads takes about 150 MB."""
PROGRAM = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY})); import runpy; "
PROGRAM += "runpy.run_module('patchctl', run_name='__main__', alter_sys=True)"


@pytest.fixture
def count(tmp_path: Path) -> Callable[..., Done]:
    """Count logs in a process that has little memory, and in which whatever hangs ends."""
    registry = make_registry(tmp_path / "registry")
    avoid = [{"args": ["--enforce-eager"]}]
    add_entry(registry, "mm", None, kind="advisory", avoid=avoid, signal={"log": WATCH.pattern})

    def run(*arguments: str | Path) -> Done:
        command = [sys.executable, "-c", PROGRAM, "hits", "--all", "--registry", registry, "--json", *arguments]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, check=False)
        return Done(code=done.returncode, out=done.stdout, err=done.stderr)

    return run


def lines_of(done: Done) -> int:
    (found,) = done.document["hits"]["entries"]
    return int(found["lines"])


def codes(done: Done) -> list[str]:
    return [problem["code"] for problem in done.document["errors"]]


@pytest.mark.attack("forged-lines")
class TestForgedLines:
    @pytest.mark.parametrize("separator", ["\r", "\x0b", "\x0c", "\x1c", "\x1e", "\x85", "\u2028", "\u2029", "\0"])
    def test_what_other_readers_take_for_a_line_end_begins_no_line(self, separator: str) -> None:
        forged = header(file="logger.py", level="INFO") + f"prompt: 'x{separator}".encode() + hit()
        assert entry(forged).lines == 0

    @pytest.mark.parametrize(
        "line",
        [
            header(file="logger.py", level="INFO") + b"Received request chatcmpl-1: prompt: '" + hit(),
            header(file="logger.py", level="INFO") + json.dumps({"prompt": hit().decode()}).encode() + b"\n",
            access(path="/v1/models%0a" + hit().decode().strip().replace(" ", "%20")),
            b'INFO:     10.0.0.1:1 - "GET /' + hit().strip() + b' HTTP/1.1" 404 Not Found\n',
            b'INFO:     10.0.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK "' + hit().strip() + b'"\n',
            b'{"message": "' + hit().strip() + b'", "levelname": "INFO", "name": "vllm.x"}\n',
            b'{"prompt": {"levelname": "WARNING", "name": "utils.py", "message": "' + MESSAGE + b'"}}\n',
            b"\x1b[2K" + hit(),
            b"ValueError: " + hit(),
            b"  " + hit(),
        ],
    )
    def test_text_inside_a_line_is_no_hit(self, line: bytes) -> None:
        assert entry(line).lines == 0

    def test_lines_of_a_prompt_are_continuations_in_every_envelope(self) -> None:
        prefix = header(file="utils.py", level="INFO")
        message = prefix + b"prompt: 'a\r\n" + prefix + MESSAGE + b"\r\n" + prefix + b"'\n"
        assert entry(message).passed_over == (("continuation", 1),)
        stamp = b"2026-07-01T12:00:00.000000000Z stderr F "
        cri = b"".join(stamp + line + b"\n" for line in message.rstrip(b"\n").split(b"\n"))
        assert entry(cri).passed_over == (("continuation", 1),)

    def test_a_name_that_is_printed_hides_no_name_that_stands_before_it(self) -> None:
        """A whole raw line cannot be told from a true one; the process that printed it can."""
        found = entry(b"(APIServer pid=3) " + hit(tag="(Worker_TP0 pid=7) "))
        assert found.writers == (("APIServer/Worker", 1),)

    def test_names_of_a_forked_process_stand_in_order_and_ranks_are_still_known(self) -> None:
        tags = "(EngineCore_DP0 pid=3) ", "(RayWorkerWrapper pid=4, ip=10.0.0.1) "
        found = entry(b"".join(hit(tag=tag + f"(Worker_TP{rank} pid=7) ") for tag in tags for rank in range(2)))
        assert (found.lines, found.hits, found.ranks) == (4, 2.0, 2)


@pytest.mark.attack("label-flood")
class TestFlood:
    def test_every_table_has_an_end_and_what_is_left_out_is_counted(self) -> None:
        tally, most = Tally([WATCH]), 50_000
        for number in range(most):
            groups = {"kind": f"model-{number}", f"n{number}": str(number), "x": "9" * 18}
            stamp = Stamp(second=number * 3600, utc=True)
            tally.hit(0, Hit(groups=groups, stamp=stamp, instance=f"pid {number}", process=f"P{number}x_TP{number}"))
            tally.request(f"port {number}", 1)
        counts = tally.result()
        (found,) = counts.entries
        tables = {
            "kinds": found.kinds,
            "instances": found.instances,
            "writers": found.writers,
            "requests": counts.requests,
        }
        for name, table in tables.items():
            assert len(table) <= 201, name
            assert sum(lines for _, lines in table) == most, name
            assert dict(table)["other"] > most - 202, name
        assert len(found.cells) <= 501
        assert sum(lines for *_, lines in found.cells) == most
        assert len(found.numbers) <= 8
        assert len(found.hours) + found.undated == most
        assert found.undated == most - 20_000

    def test_a_log_of_nothing_but_names_takes_constant_memory(self, count: Callable[..., Done], tmp_path: Path) -> None:
        log = tmp_path / "a.log"
        with log.open("wb") as file:
            for number in range(15_000):
                tag = f"(P{number}{'x' * 60} pid={number}) "
                file.write(hit(f"01-01 00:00:{number % 60:02}", tag=tag) + access(tag=tag))
        done = count(log, "--by", "pid")
        assert (done.code, lines_of(done)) == (0, 15_000)
        (found,) = done.document["hits"]["entries"]
        assert len(found["instances"]) <= 201
        assert len(done.document["hits"]["requests"]["instances"]) <= 201

    @pytest.mark.parametrize("end", [b"", b"\n"])
    def test_a_line_of_64_megabytes_is_read_at_its_beginning(
        self, end: bytes, count: Callable[..., Done], tmp_path: Path
    ) -> None:
        log = tmp_path / "a.log"
        log.write_bytes(hit())
        with log.open("ab") as file:
            for _ in range(64):
                file.write(b"x" * (1 << 20))
            file.write(end + hit(file="b.py") if end else b"")
        done = count(log)
        assert (done.code, lines_of(done), done.document["hits"]["long_lines"]) == (0, 1 + bool(end), 1)

    @pytest.mark.parametrize(
        "line",
        [
            b'{"log":"' + b"[" * 200_000 + b'","stream":"stderr","time":"x"}\n',
            b'{"log":' + b"[" * 200_000 + b"\n",
            b'{"MESSAGE":"x","__REALTIME_TIMESTAMP":"' + b"9" * 200_000 + b'"}\n',
            b'{"MESSAGE":"x","__REALTIME_TIMESTAMP":"' + "\u0663".encode() * 100 + b'"}\n',
            b'{"levelname":"INFO","name":"x","message":"x","process":' + b"9" * 100_000 + b"}\n",
            b'{"levelname":"INFO","name":"x","message":"x","process":1e999999}\n',
            b"__CURSOR=x\n__REALTIME_TIMESTAMP=" + b"9" * 10_000 + b"\nMESSAGE=x\n\n",
            b"__CURSOR=x\nMESSAGE\n" + b"\xff" * 8 + b"x\n\n",
            b"(" * 250_000 + b"\n",
            b"WARNING 99-99 99:99:99 [utils.py:1] " + MESSAGE + b"\n",
            b"WARNING 0000-00-00 00:00:00+99:99 [utils.py:1] " + MESSAGE + b"\n",
        ],
    )
    def test_a_line_that_is_hard_to_read_stops_nobody(self, line: bytes) -> None:
        for data in (line * 3 + hit(), hit() + line * 3):
            counted(data)

    def test_names_of_a_huge_directory_are_taken_in(self, count: Callable[..., Done], tmp_path: Path) -> None:
        where = tmp_path / "logs"
        where.mkdir()
        (where / "a.log").write_bytes(hit())
        for number in range(20_000):
            (where / f"a.log-{number}.tmp").touch()
        done = count("--rotated", where / "a.log")
        assert (done.code, lines_of(done)) == (0, 1)


@pytest.mark.attack("links")
class TestStrangeFiles:
    def test_what_is_no_regular_file_is_told_and_waited_for_by_nobody(
        self, count: Callable[..., Done], tmp_path: Path
    ) -> None:
        os.mkfifo(tmp_path / "fifo")
        (tmp_path / "loop").symlink_to("loop")
        (tmp_path / "link").symlink_to("fifo")
        (tmp_path / "log").write_bytes(hit())
        make_socket(tmp_path / "socket")
        names = ["fifo", "loop", "link", "socket", "."]
        done = count(*(tmp_path / name for name in (*names, "log")), "/dev/zero", "/dev/tty")
        assert (done.code, lines_of(done)) == (3, 1)
        assert set(codes(done)) == {"cannot-read-log"}
        assert len(codes(done)) >= len(names) + 1

    def test_a_followed_log_that_becomes_something_else_is_not_waited_for(self, tmp_path: Path) -> None:
        log = tmp_path / "a.log"
        log.write_bytes(b"1\n")
        opened = open_log(str(log))
        assert b"".join(opened.blocks(lambda _: None)) == b"1\n"
        followed = Followed(opened)
        log.unlink()
        for make in (os.mkfifo, os.mkdir):
            make(log)
            assert list(followed.more()) == []
            log.rename(tmp_path / make.__name__)
        log.write_bytes(b"2\n")
        assert [data for data, _ in followed.more()] == [b"2\n"]
        os.truncate(log, 0)
        log.write_bytes(b"")
        assert list(followed.more()) == []
        followed.close()


def xz_with_window(size_code: int) -> bytes:
    """Return an xz file whose filter asks for a dictionary of that size; its checksum is right."""
    data = bytearray(lzma.compress(hit(), preset=0))
    end = 12 + (data[12] + 1) * 4
    assert (data[14], data[15]) == (0x21, 1)  # LZMA2, one byte of properties
    data[16] = size_code
    data[end - 4 : end] = struct.pack("<I", zlib.crc32(data[12 : end - 4]))
    return bytes(data)


@contextmanager
def blocks(data: bytes, where: Path) -> Iterator[Iterator[bytes]]:
    (where / "packed").write_bytes(data)
    log = open_log(str(where / "packed"))
    try:
        yield log.blocks(lambda _: None)
    finally:
        log.close()


def zstd(data: bytes, *, checksum: bool = True, sized: bool = True) -> bytes:
    packer = pytest.importorskip("zstandard").ZstdCompressor(write_checksum=checksum, write_content_size=sized)
    if sized:
        return bytes(packer.compress(data))
    piece = packer.compressobj()
    return bytes(piece.compress(data) + piece.flush())


@pytest.mark.attack("decompression")
class TestArchives:
    def test_a_bomb_is_read_in_constant_memory(self, count: Callable[..., Done], tmp_path: Path) -> None:
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        piece = b"\0" * MEGABYTE
        with (tmp_path / "a.gz").open("wb") as file:
            file.write(packer.compress(hit()))
            for _ in range(450):
                file.write(packer.compress(piece))
            file.write(packer.flush())
        assert (tmp_path / "a.gz").stat().st_size < MEGABYTE
        done = count(tmp_path / "a.gz")
        assert (done.code, lines_of(done)) == (0, 1)
        assert done.document["hits"]["bytes"] > 450 * MEGABYTE

    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("xz, 1.5 GiB", xz_with_window(37)),
            ("xz, 4 GiB", xz_with_window(40)),
            ("zstd, 2 GiB", b"\x28\xb5\x2f\xfd\x00\xa8" + b"\x01\x00\x00"),
            ("zstd, all", b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 8 + b"\x01\x00\x00"),
        ],
    )
    def test_a_window_that_is_too_large_is_refused(
        self, name: str, data: bytes, count: Callable[..., Done], tmp_path: Path
    ) -> None:
        if name.startswith("zstd"):
            pytest.importorskip("zstandard")
        with blocks(data, tmp_path) as found, pytest.raises(PatchctlError, match=r"(?i)memory"):
            list(found)
        (tmp_path / "a").write_bytes(data)
        (tmp_path / "b").write_bytes(hit())
        done = count(tmp_path / "a", tmp_path / "b")
        assert (done.code, codes(done), lines_of(done)) == (3, ["log-cut-short"], 1)

    @pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstd])
    @pytest.mark.parametrize("lost", [1, 2, 4, 5, 9, 40, 5000])
    def test_one_that_is_cut_off_is_told_wherever(
        self, pack: Callable[[bytes], bytes], lost: int, tmp_path: Path
    ) -> None:
        data = pack(random.Random(1).randbytes(200_000) + b"x" * 200_000)
        with blocks(data[:-lost], tmp_path) as found, pytest.raises(PatchctlError, match="ends too early"):
            list(found)

    @pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstd])
    def test_parts_and_padding_are_read_to_the_end(self, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
        padding = b"" if pack is zstd else b"\0" * (4 * 700_000)
        with blocks(pack(b"one\n") * 3 + padding + pack(b"two\n"), tmp_path) as found:
            assert b"".join(found) == b"one\n" * 3 + b"two\n"
        with blocks(pack(b"") * 20_000 + pack(b"two\n"), tmp_path) as found:
            assert b"".join(found) == b"two\n"

    @pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstd])
    def test_what_stands_behind_the_data_is_not_passed_over_in_silence(
        self, pack: Callable[[bytes], bytes], tmp_path: Path
    ) -> None:
        data = pack(b"one\n") + b"something else\n" + pack(b"two\n")
        with blocks(data, tmp_path) as found, pytest.raises(PatchctlError, match=r"damaged|something else"):
            list(found)

    @pytest.mark.parametrize("checksum", [False, True])
    @pytest.mark.parametrize("sized", [False, True])
    def test_the_end_of_zstd_data_is_where_a_frame_ends(self, *, checksum: bool, sized: bool) -> None:
        text = random.Random(2).randbytes(3000) + b"x" * 300_000
        frame = zstd(text, checksum=checksum, sized=sized)
        data = frame + b"\x50\x2a\x4d\x18\x03\0\0\0abc" + frame
        ends = {len(frame), len(frame) + 11, len(data)}
        for size in (*ends, *range(1, len(data), 97), *(end - lost for end in ends for lost in (1, 2, 3, 4))):
            for step in (1, 7, 4096):
                frames = Frames()
                for at in range(0, size, step):
                    frames.feed(data[at : min(at + step, size)])
                assert frames.whole is (size in ends), (size, step)
