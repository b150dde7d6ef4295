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


FINDINGS = [
    Finding(
        was="a run of equal lines put in by an offset reads as put in one line earlier: the stated line",
        oracle="check_drift",
        data=b"\x9c \x9cV\x9c\xff\x00\x0822222222222222222\x9c\xff\x00\x082\x00\x02\xff2\x00\x00\x02\x00\xff`",
    ),
]


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.was)
def test_a_finding_stays_fixed(finding: Finding) -> None:
    getattr(oracles, finding.oracle)(finding.data)


@pytest.mark.skipif(importlib.util.find_spec("atheris") is not None, reason="atheris is installed here")
def test_the_harness_says_what_it_lacks() -> None:
    root = Path(__file__).parent.parent
    command = [sys.executable, "-m", "tests.fuzz", "diff"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "docs/contributing.md" in done.stderr


READERS = [
    Finding(
        was="a time of more digits than int() takes",
        oracle="check_log",
        data=b'{"__REALTIME_TIMESTAMP":"' + b"9" * 5000 + b'","MESSAGE":"WARNING 07-01 12:00:00 [utils.py:1] '
        b'mm placeholder mismatch: pad 3 embeddings to 4 placeholders"}\n',
    ),
    Finding(
        was="a time beyond all years",
        oracle="check_log",
        data=b'{"__REALTIME_TIMESTAMP":"' + b"9" * 30 + b'","MESSAGE":"WARNING 07-01 12:00:00 [utils.py:1] '
        b'mm placeholder mismatch: pad 3 embeddings to 4 placeholders"}\n',
    ),
]


@pytest.mark.parametrize("finding", READERS, ids=lambda finding: finding.was)
def test_a_finding_in_a_reader_stays_fixed(finding: Finding) -> None:
    getattr(readers, finding.oracle)(finding.data)
