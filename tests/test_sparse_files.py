"""Files of terabytes that take no place: whoever makes one pays nothing, and whoever reads it is at it for days."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from patchctl.disk import SparseError, digests_of
from patchctl.logs import Followed, open_log
from tests.log_lines import WATCH, hit
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Done, patchctl
from tests.sites import install, make_site
from tests.strangers import within

pytestmark = pytest.mark.attack("bombs")

TERABYTES = 4 << 40
BLOCK = 1 << 16
ENGINE = "vllm/engine.py"
OLD, NEW = b"a = 1\n", b"a = 2\n"
DEADLINE = 60


@pytest.fixture(autouse=True)
def _holes(tmp_path: Path) -> None:
    """Skip where the file system has no holes of that size."""
    path = tmp_path / "probe"
    try:
        with path.open("wb") as file:
            file.truncate(TERABYTES)
            hole = os.lseek(file.fileno(), 0, os.SEEK_HOLE)
    except OSError as error:
        pytest.skip(f"the file system of {tmp_path} has no files of {TERABYTES} bytes: {error}")
    finally:
        path.unlink(missing_ok=True)
    if hole != 0:
        pytest.skip(f"the file system of {tmp_path} knows of no holes")


def with_holes(path: Path, *pieces: bytes | int) -> Path:
    """Write a file: bytes, and holes of so many bytes."""
    with path.open("wb") as file:
        for piece in pieces:
            if isinstance(piece, int):
                file.truncate(file.seek(piece, os.SEEK_CUR))
            else:
                file.write(piece)
    return path


class TestHashing:
    def desk(self, tmp_path: Path, size: int) -> list[str]:
        site = make_site(tmp_path, {"vllm/__init__.py": b"", ENGINE: OLD})
        with_holes(site / "vllm/weights.bin", size)
        digest = base64.urlsafe_b64encode(b"\1" * 32).rstrip(b"=").decode()
        row = ("vllm/weights.bin", f"sha256={digest}", str(size))
        install(site, {"vllm/__init__.py": b"", ENGINE: OLD}, extra_rows=[row])
        registry = make_registry(tmp_path / "registry")
        add_entry(registry, "guard", make_diff({ENGINE: (OLD, NEW)}))
        return ["--site", str(site), "--registry", str(registry)]

    def test_a_listed_file_that_is_a_hole_is_told_and_not_hashed(self, tmp_path: Path) -> None:
        where = self.desk(tmp_path, TERABYTES)
        for verb in ("verify", "doctor", "status", "report"):
            done = within(DEADLINE, lambda verb=verb: patchctl(verb, "--json", *where))  # type: ignore[misc]
            if verb != "verify":
                assert done.code in {0, 1}, done
                continue
            assert done.code == 3
            (problem,) = done.document["errors"]
            assert problem["code"] == "unreadable-files"
            assert "vllm/weights.bin, which was not hashed: of its 4,398,046,511,104 bytes 0 are" in problem["message"]
            (check,) = done.document["verification"]["distributions"]
            (found,) = (it for it in check["files"] if it["path"] == "vllm/weights.bin")
            assert found["state"] == "unchecked"

    def test_its_size_alone_is_looked_at_with_fast(self, tmp_path: Path) -> None:
        where = self.desk(tmp_path, TERABYTES)
        done = within(DEADLINE, lambda: patchctl("verify", "--fast", *where))
        assert done.code == 0

    @pytest.mark.parametrize(("size", "stored"), [(1 << 20, 0), (1 << 20, 1 << 14)])
    def test_small_ones_and_ones_that_are_mostly_there_are_hashed(self, tmp_path: Path, size: int, stored: int) -> None:
        path = with_holes(tmp_path / "a", b"x" * stored, size)
        fd = os.open(path, os.O_RDONLY)
        try:
            assert set(digests_of(fd, ["sha256"])) == {"sha256"}
        finally:
            os.close(fd)

    @pytest.mark.parametrize(("size", "refused"), [((1 << 30) + 1, True), (1 << 30, False)])
    def test_the_bound_is_a_gibibyte(self, tmp_path: Path, size: int, *, refused: bool) -> None:
        """What is behind the end that is read is not: one that is let through is read from its end."""
        fd = os.open(with_holes(tmp_path / "a", size), os.O_RDONLY)
        try:
            os.lseek(fd, 0, os.SEEK_END)
            if refused:
                with pytest.raises(SparseError, match="was not hashed"):
                    digests_of(fd, ["sha256"])
            else:
                digests_of(fd, ["sha256"])
            assert digests_of(fd, []) == {}
        finally:
            os.close(fd)


class TestTexts:
    def test_metadata_that_is_a_hole_is_not_read(self, tmp_path: Path) -> None:
        """A file that nobody lists has every RECORD of the site asked for it; each says that it has 64 MiB."""
        site = make_site(tmp_path, {"vllm/__init__.py": b"", ENGINE: OLD})
        (site / "vllm/extra.py").write_bytes(b"")
        for number in range(1500):
            info = site / f"other{number}-1.0.dist-info"
            info.mkdir()
            with_holes(info / "RECORD", 64 << 20)
            with_holes(info / "METADATA", 16 << 20)
        where = ["--site", str(site), "--registry", str(make_registry(tmp_path / "registry"))]
        done = within(DEADLINE, lambda: patchctl("verify", "--distribution", "vllm", *where))
        assert done.code == 1
        assert "vllm/extra.py" in done.out

    def test_a_record_that_is_a_hole_is_told(self, tmp_path: Path) -> None:
        site = make_site(tmp_path, {"vllm/__init__.py": b"", ENGINE: OLD})
        (record,) = site.glob("*.dist-info/RECORD")
        with_holes(record, record.read_bytes(), 1 << 20)
        done = patchctl("status", "--site", str(site), "--registry", str(make_registry(tmp_path / "registry")))
        assert done.code == 3


class TestLogs:
    def read(self, path: Path) -> tuple[bytes, int]:
        """What comes out of a log, and how far the progress went."""

        def blocks() -> tuple[bytes, int]:
            log, far = open_log(str(path)), [0]
            data = b"".join(log.blocks(lambda count: far.append(far.pop() + count)))
            log.close()
            return data, far[0]

        return within(DEADLINE, blocks)

    @pytest.mark.parametrize(
        ("pieces", "expected"),
        [
            ((TERABYTES,), b"\0"),
            ((b"one\n", TERABYTES), b"one\n\0"),
            ((TERABYTES, b"two\n"), b"\0two\n"),
            ((b"one\n", TERABYTES, b"two\n", TERABYTES + 5, b"three\n"), b"one\n\0two\n\0three\n"),
            ((b"x" * BLOCK, TERABYTES, b"y" * BLOCK), b"x" * BLOCK + b"\0" + b"y" * BLOCK),
            ((b"x" * 3 * BLOCK, 40 * BLOCK, b"y"), b"x" * 3 * BLOCK + b"\0y"),
            ((b"a\0b\0\0", TERABYTES, b"\0\0c"), b"a\0b\0c"),
        ],
    )
    def test_a_hole_and_the_zeros_around_it_are_one_nul(
        self, tmp_path: Path, pieces: tuple[bytes | int, ...], expected: bytes
    ) -> None:
        path = with_holes(tmp_path / "a.log", *pieces)
        data, far = self.read(path)
        assert (data, far) == (expected, path.stat().st_size)

    def test_zeros_that_are_on_the_disk_are_read_as_they_are(self, tmp_path: Path) -> None:
        path = tmp_path / "a.log"
        path.write_bytes(b"a" + bytes(5 * BLOCK) + b"b" + bytes(3))
        assert self.read(path)[0] == path.read_bytes()

    def test_where_the_file_system_does_not_tell_it_is_read_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = with_holes(tmp_path / "a.log", b"one\n", 4 * BLOCK, b"two\n")
        real = os.lseek

        def lseek(fd: int, offset: int, how: int) -> int:
            if how in {os.SEEK_DATA, os.SEEK_HOLE}:
                raise OSError(22, "Invalid argument")
            return real(fd, offset, how)

        monkeypatch.setattr(os, "lseek", lseek)
        assert self.read(path)[0] == path.read_bytes()

    def test_a_packed_log_is_read_as_it_is(self, tmp_path: Path) -> None:
        """Zeros in compressed data mean something, whether they are on the disk or not."""
        import gzip

        text = os.urandom(BLOCK) + bytes(20 * BLOCK) + os.urandom(BLOCK)
        plain = gzip.compress(text, compresslevel=0)
        path = tmp_path / "a.gz"
        with path.open("wb") as file:
            for at in range(0, len(plain), 4096):
                piece = plain[at : at + 4096]
                file.seek(len(piece), os.SEEK_CUR) if not piece.strip(b"\0") else file.write(piece)
        assert path.stat().st_blocks * 512 < path.stat().st_size
        assert self.read(path)[0] == text

    def count(self, tmp_path: Path, log: str, stdin: Path | None = None) -> Done:
        registry = make_registry(tmp_path / "registry")
        avoid = [{"args": ["--enforce-eager"]}]
        add_entry(registry, "mm", None, kind="advisory", avoid=avoid, signal={"log": WATCH.pattern})
        command = [sys.executable, "-m", "patchctl", "hits", "--all", "--registry", str(registry), "--json", log]
        with (stdin or Path(os.devnull)).open("rb") as source:
            done = subprocess.run(command, stdin=source, capture_output=True, text=True, timeout=DEADLINE, check=False)
        return Done(code=done.returncode, out=done.stdout, err=done.stderr)

    @pytest.mark.parametrize("through", ["file", "stdin"])
    def test_what_is_around_holes_is_counted(self, tmp_path: Path, through: str) -> None:
        """As logrotate leaves it with copytruncate; and no line is made of what is before and behind a hole."""
        line = hit()
        pieces = (TERABYTES + 12_345, line, line, TERABYTES, line, line[:60], TERABYTES, line[60:], line)
        path = with_holes(tmp_path / "v.log", *pieces)
        log, stdin = (str(path), None) if through == "file" else ("-", path)
        done = self.count(tmp_path, log, stdin)
        (found,) = done.document["hits"]["entries"]
        assert (done.code, found["lines"]) == (0, 4), "all but the one that a hole is in"


class TestFollowing:
    def test_a_hole_that_is_added_is_passed_over(self, tmp_path: Path) -> None:
        path = tmp_path / "a.log"
        path.write_bytes(b"one\n")

        def follow() -> tuple[bytes, bytes]:
            log = open_log(str(path))
            assert b"".join(log.blocks(lambda _: None)) == b"one\n"
            followed = Followed(log)
            os.truncate(path, TERABYTES)
            first = b"".join(block for block, _ in followed.more())
            with path.open("ab") as file:
                file.write(b"two\n")
            second = b"".join(block for block, _ in followed.more())
            followed.close()
            return first, second

        assert within(DEADLINE, follow) == (b"\0", b"two\n")

    def test_a_log_that_is_truncated_under_its_writer_is_read_anew(self, tmp_path: Path) -> None:
        path = tmp_path / "a.log"
        path.write_bytes(b"x" * BLOCK)

        def follow(write: Callable[[], None]) -> bytes:
            log = open_log(str(path))
            assert len(b"".join(log.blocks(lambda _: None))) == BLOCK
            followed = Followed(log)
            os.truncate(path, 0)
            assert list(followed.more()) == []
            write()
            return b"".join(block for block, _ in followed.more())

        def write() -> None:
            with path.open("r+b") as file:
                file.seek(TERABYTES)
                file.write(b"two\n")

        assert within(DEADLINE, lambda: follow(write)) == b"\0two\n"
