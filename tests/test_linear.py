"""No input takes more than linear time: work is counted, and a megabyte of each shape gets its answer."""

from __future__ import annotations

import sys
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest

from patchctl.errors import PatchctlError
from tests.hostile import SHAPES, Action

SIZE = 6_000
SLACK = 1.5
MEGABYTE = 1_000_000


def lines_run(action: Action) -> int:
    """How many lines of Python ``action`` executes: a measure of work that no other process disturbs."""
    count = 0

    def counting(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return counting

    # coverage traces too; it gets its own function back
    before = sys.gettrace()
    sys.settrace(counting)
    try:
        with suppress(PatchctlError, ValueError):
            action()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_four_times_the_input_is_at_most_about_four_times_the_work(shape: Any) -> None:
    lines_run(shape(100))
    assert lines_run(shape(4 * SIZE)) <= 4 * SLACK * lines_run(shape(SIZE)) + SIZE


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_megabyte_gets_an_answer(shape: Any) -> None:
    """What libraries written in C do is not counted here: a quadratic one would still be at it."""
    with suppress(PatchctlError, ValueError):
        shape(MEGABYTE)()
