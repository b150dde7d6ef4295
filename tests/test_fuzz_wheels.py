"""Damaged wheels, diffs and logs: refused as it is declared, or a value that is true; with little memory and time."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from email.parser import Parser
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchctl.logs.frames import Frames
from patchctl.target.wheel.tree import _values
from tests.conftest import LONG
from tests.fuzz import seeds
from tests.fuzz.mutating import mutated
from tests.fuzz.streams import check_log, check_packed, check_wheel
from tests.log_lines import hit
from tests.raw_zip import Entry, raw_zip

ROOT = Path(__file__).parent.parent
COUNT = 200_000 if LONG else 1500
DEADLINE = 7200 if LONG else 120
"""Seconds; a run at the suite's size takes a few."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("diff", marks=pytest.mark.attack("hostile-diff")),
        pytest.param("wheel", marks=pytest.mark.attack("wheel-tricks")),
        pytest.param("log", marks=pytest.mark.attack("forged-lines")),
        pytest.param("packed", marks=pytest.mark.attack("decompression")),
    ],
)
def test_damage_is_refused_as_declared_within_memory_and_time(name: str) -> None:
    seed = str(Random().randrange(1 << 30) if LONG else 7)
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.bounded", name, seed, str(COUNT)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, (seed, done.stderr[-20_000:])
    assert f"{name}: {COUNT} inputs" in done.stdout


@pytest.mark.attack("wheel-tricks")
@settings(max_examples=5000 if LONG else 100)
@given(st.sampled_from(seeds.wheels()[:2]), st.randoms(use_true_random=False))
def test_a_damaged_wheel_is_refused_or_what_pip_reads(wheel: bytes, random: Random) -> None:
    check_wheel(mutated(wheel, random, [wheel]))


PIECES = st.sampled_from(
    [
        "Name: vllm",
        "name:x",
        "Version: 1",
        "NAME :y",
        ": z",
        "From x",
        "\n",
        "\r\n",
        "\r",
        "\n\n",
        " ",
        "\t",
        "x",
        "\f",
        "\x85",
        "\ufeff",
    ]
)


@settings(max_examples=20_000 if LONG else 400)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_a_header_is_what_pips_reader_takes_it_for_or_refused(text: str) -> None:
    values = list(_values(text.encode(), b"name"))
    theirs = Parser().parsestr(text).get_all("Name", [])
    if len(values) == 1 and values[0] and b"\r" not in values[0]:
        assert [it.strip() for it in theirs] == [values[0].decode().strip()]
        return
    assert not values or len(values) > 1 or not values[0] or b"\r" in values[0]


def test_the_seeds_are_accepted() -> None:
    assert all(check_wheel(wheel) for wheel in seeds.wheels()[:2])
    counts = [check_log(log).entries[0].lines for log in seeds.logs()]
    assert min(counts) >= 1, counts
    whole = [check_packed(log) for log in seeds.packed_logs()]
    assert None not in whole


FRAMES = [
    b"",
    b"one",
    b"two lines\n" * 500,
    bytes(300_000),
    os.urandom(400_000),
]


@settings(max_examples=500 if LONG else 60)
@given(
    st.lists(st.tuples(st.sampled_from(FRAMES), st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=3),
    st.data(),
)
def test_only_whole_frames_of_zstd_are_an_end(kinds: list[tuple[bytes, bool, bool, bool]], data: st.DataObject) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed, ends = b"", {0}
    for content, checksum, sized, skippable in kinds:
        packer = zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=sized)
        packed += packer.compress(content)
        ends.add(len(packed))
        if skippable:
            packed += b"\x5a\x2a\x4d\x18\4\0\0\0abcd"
            ends.add(len(packed))
    cut = data.draw(st.one_of(st.sampled_from(sorted(ends)), st.integers(0, len(packed))))
    step = data.draw(st.sampled_from([1, 2, 3, 7, 4096, 1 << 20])) if cut < 5000 else 4096
    frames = Frames()
    for at in range(0, cut, step):
        frames.feed(packed[at : min(at + step, cut)])
    assert frames.whole is (cut in ends)


@pytest.mark.attack("decompression")
def test_what_is_cut_off_is_told_however_it_was_packed() -> None:
    for whole in seeds.packed_logs():
        if whole[:2] in {b"\x1f\x8b", b"\xfd7", b"\x28\xb5"}:
            for cut in {len(whole) // 3, len(whole) // 2, len(whole) - 3, len(whole) - 1}:
                found = check_packed(whole[:cut])
                if found is not None:  # between two members, or in the padding behind the last one
                    assert check_packed(whole) != found or whole.endswith(bytes(2))


@pytest.mark.attack("bombs")
def test_a_journal_of_fields_that_never_end_an_entry_takes_linear_time() -> None:
    script = (
        "from tests.log_lines import counted, hit\n"
        "data = b'__CURSOR=x\\n' + b'A=\\n' * 300_000 + b'MESSAGE=' + hit() + b'\\n'\n"
        "assert counted(data).entries[0].lines == 1\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.attack("wheel-tricks")
def test_a_directory_of_members_that_its_end_does_not_count_is_not_taken_into_memory(tmp_path: Path) -> None:
    whole = raw_zip([Entry(b"x", b"")])
    start, end = whole.index(b"PK\1\2"), whole.index(b"PK\5\6")
    many = whole[start:end] * 700_000
    tail = struct.pack("<4sHHHHLLH", b"PK\5\6", 0, 0, 1, 1, len(many), start, 0)
    (tmp_path / "vllm-1-py3-none-any.whl").write_bytes(whole[:start] + many + tail)
    script = (
        "import resource, sys\n"
        "from patchctl.errors import TargetError\n"
        "from patchctl.target import read_wheel_files\n"
        "resource.setrlimit(resource.RLIMIT_AS, (200 << 20,) * 2)\n"
        "try:\n"
        "    read_wheel_files(sys.argv[1], ['x'])\n"
        "except TargetError as error:\n"
        "    print(error.problem.code)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "vllm-1-py3-none-any.whl")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "unsafe-wheel\n"), done.stderr


@pytest.mark.attack("forged-lines")
def test_a_line_feed_that_ends_what_is_left_out_does_not_end_an_entry() -> None:
    line = hit().rstrip(b"\n")
    size = (1 << 18) + 1
    entry = b"__CURSOR=x\nMESSAGE=" + line + b"\nLONG\n" + size.to_bytes(8, "little") + b"x" * size + b"\n\n"
    assert check_log(entry * 3).entries[0].lines == 3
    cut = b"__CURSOR=x\n" + b"L" * (1 << 19) + b"=\nMESSAGE=" + line + b"\n\n"
    assert check_log(cut * 2).entries[0].lines == 2
