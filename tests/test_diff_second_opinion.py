"""unidiff's account of every hunk that we accept: an independent parser has to read the same lines on the same sides.

unidiff drops what it does not understand without a word, so it cannot tell what is to be refused; the probes do that.
"""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unidiff.patch import PatchSet

from patchctl.diff import FileDiff, Hunk, parse_diff
from patchctl.errors import DiffError
from tests.test_diff_probes import PROBES, Works
from tests.test_diff_properties import MUTATION, SEEDS, mutated
from tests.wheels import WheelUnavailableError, slim_wheel


def accounts_differ(data: bytes, hunk: Hunk) -> bool:
    """Feed unidiff the hunk's own raw lines, markers left out, and compare."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    rows = [line for line in hunk.body if not line.startswith(b"\\")]
    # latin-1 maps every byte to one character and back, and knows no digits but ours
    raw = [b"--- a\n", b"+++ b\n", lines[hunk.line - 1] + b"\n", *rows]
    (file,) = PatchSet([line.decode("latin-1") for line in raw])
    (theirs,) = file
    figures = (theirs.source_start, theirs.source_length, theirs.target_length, len(theirs))
    if figures != (hunk.old_start, len(hunk.old_lines), len(hunk.new_lines), len(rows)):
        return True
    for ours, sides in ((hunk.old_lines, " -"), (hunk.new_lines, " +")):
        read = [line.value.encode("latin-1") for line in theirs if line.line_type in sides]
        if read != [line if line.endswith(b"\n") else line + b"\n" for line in ours]:
            return True
    return False


def disagreements(data: bytes, files: tuple[FileDiff, ...]) -> list[tuple[str, int]]:
    return [(file.path, hunk.number) for file in files for hunk in file.hunks if accounts_differ(data, hunk)]


GOOD = [probe for probe in PROBES if isinstance(probe, Works)]


@pytest.mark.parametrize("probe", GOOD, ids=lambda probe: probe.intent)
def test_unidiff_reads_every_accepted_probe_alike(probe: Works) -> None:
    assert disagreements(probe.diff, parse_diff(probe.diff, strip=probe.strip)) == []


@settings(deadline=None)
@given(st.sampled_from(SEEDS), MUTATION)
def test_unidiff_reads_every_accepted_mutant_alike(seed: bytes, change: tuple[int, int, int, bytes]) -> None:
    data = mutated(seed, *change)
    try:
        files = parse_diff(data)
    except DiffError:
        return
    assert disagreements(data, files) == []


@pytest.mark.wheels
def test_unidiff_reads_a_whole_release_alike(tmp_path: Path) -> None:
    for name, version in (("a", "0.24.0"), ("b", "0.25.0")):
        try:
            with zipfile.ZipFile(slim_wheel(version)) as archive:
                archive.extractall(tmp_path / name, [it for it in archive.namelist() if it.startswith("vllm/")])
        except WheelUnavailableError as error:
            pytest.skip(str(error))
    command = ["git", "diff", "--no-index", "--no-renames", "--no-color", "--no-ext-diff", "--no-prefix", "a", "b"]
    data = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).stdout
    files = parse_diff(data)
    assert sum(len(file.hunks) for file in files) == len(re.findall(rb"^@@ ", data, re.MULTILINE)) > 2000
    assert disagreements(data, files) == []


def test_a_line_lost_changed_or_on_the_wrong_side_is_noticed() -> None:
    data = b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n"
    (file,) = parse_diff(data)
    (hunk,) = file.hunks
    assert not accounts_differ(data, hunk)
    assert accounts_differ(data, hunk._replace(old_lines=hunk.old_lines[:-1]))
    assert accounts_differ(data, hunk._replace(new_lines=(b"a\n", b"C\n", b"d\n")))
    assert accounts_differ(data, hunk._replace(old_lines=hunk.new_lines, new_lines=hunk.old_lines))
    assert accounts_differ(data, hunk._replace(old_start=2))
