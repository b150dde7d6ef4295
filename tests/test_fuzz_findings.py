"""What fuzzing has found, kept as bytes; each runs through its oracle without atheris."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fuzz import oracles, readers


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``oracle`` raised on ``data`` once; ``was`` says why."""

    was: str
    oracle: str
    data: bytes


DOTTED = b"vllm serve m --compilation-config.a " + b"9" * 5000
UNIT = b"vllm serve m --compilation-config.a " + b"9" * 400 + b"k"
SIXTIES = b"a: " + b":".join([b"1"] * 2000) + b".5"
HEXADECIMAL = b"a: 0x" + b"f" * 10_000
FINDINGS = [
    Finding(
        was="a run of equal lines put in by an offset reads as put in one line earlier: the stated line",
        oracle="check_drift",
        data=b"\x9c \x9cV\x9c\xff\x00\x0822222222222222222\x9c\xff\x00\x082\x00\x02\xff2\x00\x00\x02\x00\xff`",
    ),
    Finding(
        was="conda lists a file whose type is a list: TypeError, and verify ended",
        oracle="check_notes",
        data=b'{"paths_data": {"paths": [{"_path": "a", "sha256": "0a", "path_type": []}]}}',
    ),
    Finding(
        was="a list for the hash that conda found before it wrote the prefix into a file: TypeError",
        oracle="check_notes",
        data=b'{"paths_data": {"paths": [{"_path": "a", "sha256": [], "sha256_in_prefix": "0a", "size_in_bytes": 1}]}}',
    ),
    Finding(was="a dotted option of five thousand digits: ValueError", oracle="check_line", data=DOTTED),
    Finding(was="a dotted option of four hundred digits and a unit: OverflowError", oracle="check_line", data=UNIT),
    Finding(
        was="the time of an entry of the journal with five thousand digits: ValueError",
        oracle="check_envelope",
        data=b'{"MESSAGE": "x", "__REALTIME_TIMESTAMP": "' + b"9" * 5000 + b'"}',
    ),
    Finding(
        was="half a character in the name of a unit: UnicodeEncodeError",
        oracle="check_envelope",
        data=b'{"MESSAGE": "x", "__REALTIME_TIMESTAMP": "1", "_SYSTEMD_UNIT": "\\ud800"}',
    ),
    Finding(was="a date in an object of a file of options: TypeError", oracle="check_yaml", data=b"a: {b: 2001-01-01}"),
    Finding(was="a number of sixties with a fraction: OverflowError", oracle="check_yaml", data=SIXTIES),
    Finding(was="a number in hexadecimal of ten thousand digits: ValueError", oracle="check_yaml", data=HEXADECIMAL),
    Finding(was="a scalar that is not of its tag: KeyError", oracle="check_yaml", data=b"a: !!bool maybe"),
    Finding(was="a row whose name has a null byte: ValueError", oracle="check_record", data=b"v/\0/_version.py,,\n"),
]


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.was)
def test_a_finding_stays_fixed(finding: Finding) -> None:
    getattr(oracles if hasattr(oracles, finding.oracle) else readers, finding.oracle)(finding.data)


@pytest.mark.skipif(importlib.util.find_spec("atheris") is not None, reason="atheris is installed here")
def test_the_harness_says_what_it_lacks() -> None:
    root = Path(__file__).parent.parent
    command = [sys.executable, "-m", "tests.fuzz", "diff"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "docs/contributing.md" in done.stderr
