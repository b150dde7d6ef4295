"""Which files a name means, what is in them, and what comes next."""

from __future__ import annotations

import gzip
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from patchctl.errors import PatchctlError
from patchctl.logs import Followed, find_logs, open_log

TEXT = b"".join(b"line %d of a log\n" % number for number in range(200_000))


def zstd(data: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd as packer

        return bytes(packer.compress(data, options={packer.CompressionParameter.checksum_flag: 1}))
    packer = pytest.importorskip("zstandard")
    return bytes(packer.ZstdCompressor(write_checksum=True).compress(data))


def content(path: Path) -> bytes:
    log = open_log(str(path))
    try:
        return b"".join(log.blocks(lambda _: None))
    finally:
        log.close()


class TestNames:
    def test_of_a_rotated_log_are_one_log_oldest_first(self, tmp_path: Path) -> None:
        names = ["vllm.log", "vllm.log.1", "vllm.log.2.gz", "vllm.log.10.xz", "other.log"]
        for name in names:
            (tmp_path / name).write_bytes(name.encode())
        found = find_logs([str(tmp_path / name) for name in names])
        assert [(Path(log.label).name, [Path(path).name for path in log.paths]) for log in found.logs] == [
            ("vllm.log", ["vllm.log.10.xz", "vllm.log.2.gz", "vllm.log.1", "vllm.log"]),
            ("other.log", ["other.log"]),
        ]
        assert find_logs([str(tmp_path / "vllm.log")], rotated=True).logs == found.logs[:1]
        assert find_logs([str(tmp_path / "*.log*")]).logs == tuple(reversed(found.logs))

    def test_with_dates_are_in_the_order_of_dates(self, tmp_path: Path) -> None:
        names = ["v.log-20260703", "v.log-20260701.gz", "v.log", "v.log-20260702"]
        for name in names:
            (tmp_path / name).write_bytes(name.encode())
        (log,) = find_logs([str(tmp_path / "v.log")], rotated=True).logs
        assert [Path(path).name for path in log.paths] == [names[1], names[3], names[0], names[2]]

    def test_of_one_file_are_one_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.log").write_bytes(b"x")
        (tmp_path / "link.log").symlink_to("a.log")
        (tmp_path / "hard.log").hardlink_to(tmp_path / "a.log")
        found = find_logs([str(tmp_path / "a.log"), str(tmp_path / "*.log"), str(tmp_path / "a.log")])
        assert [log.paths for log in found.logs] == [(str(tmp_path / "a.log"),)]

    def test_of_a_file_and_its_packed_copy_mean_the_file(self, tmp_path: Path) -> None:
        for name in ("a.log.1", "a.log.1.gz"):
            (tmp_path / name).write_bytes(name.encode())
        found = find_logs([str(tmp_path / "a.log.*")])
        assert [log.paths for log in found.logs] == [(str(tmp_path / "a.log.1"),)]
        assert [problem.code for problem in found.warnings] == ["packed-copy"]

    def test_that_end_in_a_port_are_logs_of_their_own(self, tmp_path: Path) -> None:
        for port in (8002, 8003):
            (tmp_path / f"vllm.{port}").write_bytes(str(port).encode())
        assert len(find_logs([str(tmp_path / "vllm.*")]).logs) == 2

    def test_that_fit_nothing_are_told(self, tmp_path: Path) -> None:
        assert find_logs([str(tmp_path / "*.log")]).nothing == (str(tmp_path / "*.log"),)

    def test_with_brackets_may_be_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "a[1].log").write_bytes(b"x")
        assert len(find_logs([str(tmp_path / "a[1].log")]).logs) == 1


class TestContent:
    @pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, zstd], ids=["plain", "gz", "xz", "zst"])
    @pytest.mark.parametrize("text", [TEXT, b"", b"x", b"\0" * 9_000_000], ids=["lines", "empty", "byte", "zeros"])
    def test_is_unpacked_whatever_the_name(self, tmp_path: Path, pack: Callable[[bytes], bytes], text: bytes) -> None:
        (tmp_path / "a.log").write_bytes(pack(text))
        assert content(tmp_path / "a.log") == text

    @pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstd], ids=["gz", "xz", "zst"])
    def test_of_several_packed_parts_is_one(self, tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
        (tmp_path / "a.log").write_bytes(pack(TEXT) + pack(b"more\n"))
        assert content(tmp_path / "a.log") == TEXT + b"more\n"

    @pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstd], ids=["gz", "xz", "zst"])
    def test_comes_in_blocks_however_well_it_was_packed(self, tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
        (tmp_path / "a.log").write_bytes(pack(b"\0" * 9_000_000))
        log = open_log(str(tmp_path / "a.log"))
        assert max(map(len, log.blocks(lambda _: None))) <= 1 << 20
        log.close()

    @pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gz", "xz"])
    def test_that_ends_too_early_is_given_up_to_there(self, tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
        packed = pack(TEXT)
        (tmp_path / "a.log").write_bytes(packed[: len(packed) // 2])
        log = open_log(str(tmp_path / "a.log"))
        blocks: list[bytes] = []
        with pytest.raises(PatchctlError, match="ends too early") as caught:
            blocks.extend(log.blocks(lambda _: None))
        log.close()
        assert caught.value.problem.code == "log-cut-short"
        assert TEXT.startswith(b"".join(blocks))
        assert blocks

    @pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstd], ids=["gz", "xz", "zst"])
    def test_that_is_damaged_is_told(self, tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
        packed = bytearray(pack(TEXT))
        packed[len(packed) // 2 : len(packed) // 2 + 40] = b"\xff" * 40
        (tmp_path / "a.log").write_bytes(packed)
        with pytest.raises(PatchctlError, match=r"a\.log: "):
            content(tmp_path / "a.log")

    def test_of_what_is_no_file_is_refused(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "fifo")
        for path, words in (
            (tmp_path, "a directory"),
            (tmp_path / "fifo", "no regular file"),
            (tmp_path / "no", "No such"),
        ):
            with pytest.raises(PatchctlError, match=words):
                open_log(str(path))


class TestFollowing:
    @staticmethod
    def followed(path: Path) -> Followed:
        log = open_log(str(path))
        assert b"".join(log.blocks(lambda _: None)) == b"old\n"
        return Followed(log)

    @staticmethod
    def added(one: Followed) -> bytes:
        return b"".join(block for block, _ in one.more())

    def test_gives_what_is_added(self, tmp_path: Path) -> None:
        path = tmp_path / "a.log"
        path.write_bytes(b"old\n")
        one = self.followed(path)
        assert self.added(one) == b""
        with path.open("ab") as file:
            file.write(b"new\n")
        assert self.added(one) == b"new\n"
        one.close()

    def test_goes_on_over_renaming_and_misses_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "a.log"
        path.write_bytes(b"old\n")
        one = self.followed(path)
        with path.open("ab") as file:
            path.rename(tmp_path / "a.log.1")
            assert self.added(one) == b""  # the successor is not there yet
            file.write(b"late\n")
        path.write_bytes(b"new\n")
        assert self.added(one) == b"late\nnew\n"
        one.close()

    def test_begins_again_where_the_file_was_truncated(self, tmp_path: Path) -> None:
        path = tmp_path / "a.log"
        path.write_bytes(b"old\n")
        one = self.followed(path)
        path.write_bytes(b"n\n")
        assert self.added(one) == b"n\n"
        one.close()
