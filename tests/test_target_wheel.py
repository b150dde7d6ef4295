"""Files of a wheel are read as an installer places them; what could be read in two ways is refused."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from patchctl.errors import TargetError
from patchctl.target import read_wheel_files
from tests.environments import PIP
from tests.sites import record_row
from tests.small_wheels import INFO, Member, make_wheel

ONE = "vllm/one.py"
DATA = "vllm-0.25.1.data"
LINK = stat.S_IFLNK | 0o777


def refusal(wheel: Path, *paths: str) -> tuple[str, str]:
    with pytest.raises(TargetError) as caught:
        read_wheel_files(str(wheel), paths or (ONE,))
    return caught.value.problem.code, caught.value.problem.message


def test_a_file_is_read_with_its_mode_and_a_missing_one_is_none(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, [(ONE, b"one = 1\n"), ("vllm/tool.py", b"tool\n", stat.S_IFREG | 0o755)])
    found = read_wheel_files(str(wheel), [ONE, "vllm/tool.py", "vllm/gone.py"])
    assert found[ONE] == (b"one = 1\n", False)
    assert found["vllm/tool.py"] == (b"tool\n", True)
    assert found["vllm/gone.py"] is None


@pytest.mark.slow
def test_what_is_read_is_what_pip_installs(tmp_path: Path) -> None:
    members: list[Member] = [
        (ONE, b"one = 1\r\n"),
        ("vllm/a,b.py", b"comma = 1\n"),
        (f"{DATA}/purelib/vllm/pure.py", b"pure = 1\n"),
        (f"{DATA}/platlib/vllm/plat.py", b"plat = 1\n", stat.S_IFREG | 0o755),
        (f"{DATA}/scripts/tool", b"#!python\n"),
        ("vllm/empty.py", b""),
    ]
    wheel = make_wheel(tmp_path, members)
    target = tmp_path / "target"
    command = [sys.executable, "-m", "pip", *PIP, "install", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*command, "--target", str(target), str(wheel)], check=True)
    installed = {
        path.relative_to(target).as_posix(): path
        for path in target.rglob("*")
        if path.is_file() and INFO not in path.parts and "bin" not in path.parts
    }
    found = read_wheel_files(str(wheel), installed)
    for path, file in installed.items():
        shipped = found[path]
        assert shipped is not None, path
        assert shipped.data == file.read_bytes()
        assert shipped.executable is bool(file.stat().st_mode & 0o100)
    assert set(installed) == {ONE, "vllm/a,b.py", "vllm/pure.py", "vllm/plat.py", "vllm/empty.py"}


@pytest.mark.parametrize(
    "members",
    [
        [(ONE, b"1\n"), (ONE, b"2\n")],
        [(ONE, b"1\n"), (f"{DATA}/purelib/{ONE}", b"2\n")],
        [(f"{DATA}/platlib/{ONE}", b"1\n"), (f"{DATA}/purelib/{ONE}", b"2\n")],
        [(ONE, b"1\n"), (f"{DATA}/data/lib/python3.11/site-packages/{ONE}", b"2\n")],
        [(ONE, b"1\n"), ("other.data/purelib/vllm/two.py", b"2\n")],
        [(ONE, b"1\n"), (f"{DATA}/unheard/vllm/two.py", b"2\n")],
        [(ONE, b"1\n"), ("../outside.py", b"2\n")],
        [(ONE, b"1\n"), ("vllm/../../outside.py", b"2\n")],
        [(ONE, b"1\n"), ("/etc/outside.py", b"2\n")],
        [(ONE, b"1\n"), ("vllm\\outside.py", b"2\n")],
        [(ONE, b"1\n"), ("vllm//outside.py", b"2\n")],
        [(ONE, b"1\n"), ("vllm/./one.py", b"2\n")],
        [(ONE, b"1\n"), ("vllm/two.py\0.txt", b"2\n")],
        [(ONE, b"1\n"), ("vllm/bell\x07.py", b"2\n")],
        [(ONE, b"/etc/shadow", LINK)],
        [(ONE, b"1\n"), ("vllm/pipe", b"", stat.S_IFIFO | 0o644)],
        [(ONE, b"1\n"), ("second-1.dist-info/RECORD", b"")],
    ],
    ids=[
        "twice", "purelib over root", "platlib and purelib", "data over site", "foreign data",
        "unknown scheme", "traversal", "inner traversal",
        "absolute", "backslash", "empty part", "dot part", "nul", "control", "link", "fifo", "two dist-infos",
    ],
)  # fmt: skip
def test_what_could_be_read_in_two_ways_refuses_the_wheel(tmp_path: Path, members: Sequence[Member]) -> None:
    code, message = refusal(make_wheel(tmp_path, members))
    assert code == "unsafe-wheel"
    assert str(tmp_path) in message


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [(ONE, "", "")],
        [record_row(ONE, b"2\n")],
        [(ONE, "md5=AAAA", "2")],
    ],
    ids=["unlisted", "without hash", "of other bytes", "of a weak hash"],
)
def test_a_file_that_is_not_what_the_wheels_record_lists_is_refused(
    tmp_path: Path, rows: Sequence[tuple[str, str, str]]
) -> None:
    assert refusal(make_wheel(tmp_path, [(ONE, b"1\n")], rows=rows))[0] == "wrong-record"


def test_a_wheel_without_a_readable_record_is_refused(tmp_path: Path) -> None:
    assert refusal(make_wheel(tmp_path, [(ONE, b"1\n")], record=b'"open\n'))[0] == "wrong-record"
    bare = tmp_path / "bare.whl"
    with zipfile.ZipFile(bare, "w") as archive:
        archive.writestr(f"{INFO}/METADATA", "Name: vllm\n")
    assert refusal(bare)[0] == "wrong-record"
    with zipfile.ZipFile(bare, "w") as archive:
        archive.writestr(ONE, "1\n")
    assert refusal(bare)[0] == "unsafe-wheel"


def test_what_is_no_archive_is_no_wheel(tmp_path: Path) -> None:
    (tmp_path / "text.whl").write_bytes(b"no archive\n")
    os.mkfifo(tmp_path / "pipe.whl")
    for name in ("text.whl", "pipe.whl", "gone.whl", "."):
        assert refusal(tmp_path / name)[0] == "unreadable-wheel"


def test_a_damaged_member_is_told(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, [(ONE, b"one = 1\n" * 100)], compression=zipfile.ZIP_STORED)
    data = wheel.read_bytes()
    wheel.write_bytes(data.replace(b"one = 1\n", b"one = 2\n", 1))
    assert refusal(wheel)[0] == "unreadable-wheel"
    for length in range(0, len(data), 101):
        wheel.write_bytes(data[:length])
        assert refusal(wheel)[0] in {"unreadable-wheel", "unsafe-wheel", "wrong-record"}


@pytest.mark.attack("bombs")
def test_a_member_that_unpacks_to_too_much_is_refused_and_never_unpacked_whole(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, [(ONE, bytes((64 << 20) + 1))])
    assert wheel.stat().st_size < 1 << 20
    assert refusal(wheel)[0] == "unsafe-wheel"
    # The same archive, whose directory says that the member is small: no more than that is ever unpacked.
    data = wheel.read_bytes()
    size = ((64 << 20) + 1).to_bytes(4, "little")
    assert data.count(size) >= 2
    wheel.write_bytes(data.replace(size, (8).to_bytes(4, "little")))
    assert refusal(wheel)[0] in {"unreadable-wheel", "unsafe-wheel", "wrong-record"}


def test_a_member_that_is_shorter_than_it_says_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, [(ONE, b"one = 1\n" * 1000)])
    size = (8000).to_bytes(4, "little")
    data = wheel.read_bytes()
    assert data.count(size) == 2
    wheel.write_bytes(data.replace(size, (8001).to_bytes(4, "little")))
    assert refusal(wheel)[0] == "unsafe-wheel"


def test_an_unusual_packing_is_refused(tmp_path: Path) -> None:
    assert refusal(make_wheel(tmp_path, [(ONE, b"1\n")], compression=zipfile.ZIP_BZIP2))[0] == "unsafe-wheel"


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, [(ONE, b"1\n")], compression=zipfile.ZIP_STORED)
    data = bytearray(wheel.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    data[6] |= 1
    wheel.write_bytes(bytes(data))
    assert refusal(wheel)[0] == "unsafe-wheel"
