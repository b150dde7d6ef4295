"""A problem in words: what happened, where, and after a blank line what to do."""

from __future__ import annotations

from collections.abc import Sequence

from patchctl.errors import Problem
from patchctl.model import Target
from patchctl.render.escape import visible
from patchctl.render.spoken import with_options

_MANY = 8
_COMMANDS = ("hint: sudo ", "hint: chown ", "hint: chmod ", "hint: mv ")
"""How hints begin that are a command and nothing else."""
_LAST = ": patchctl "
"""How the command begins that a hint ends with."""

_COLOURS = {"error": "31", "warning": "33"}


def problem_text(
    problem: Problem,
    *,
    label: str = "error",
    colour: bool = False,
    width: int | None = None,
    given: Sequence[str] = (),
) -> str:
    """Return the problem as lines for stderr.

    Args:
        problem: what went wrong.
        label: ``error`` or ``warning``.
        colour: tint the label.
        width: break lines at blanks for a terminal of so many columns; None: leave them whole.
        given: options that the commands in it are to carry.
    """
    where = problem_place(problem)
    text = f"{label}: {visible(where + ': ' if where else '')}{visible(with_options(problem.message, given))}"
    hint = f"hint: {visible(with_options(problem.hint, given))}" if problem.hint else ""
    if width is not None:
        text = wrapped(text, width)
        hint = _pasteable(hint, width)
    text += f"\n\n{hint}" if hint else ""
    return f"\x1b[1;{_COLOURS[label]}m{label}:\x1b[0m{text.removeprefix(label + ':')}" if colour else text


def _pasteable(hint: str, width: int) -> str:
    """Break a hint into lines, but not its command: that would be several commands once it is pasted."""
    if len(hint) <= width or hint.startswith(_COMMANDS):
        return hint
    why, last, command = hint.rpartition(_LAST)
    if not last or ", " in command or "; " in command:
        return wrapped(hint, width)
    return f"{wrapped(f'{why}:', width)}\n{last.removeprefix(': ')}{command}"


def environment_text(target: Target) -> str:
    """Return the line that names the environment, for an answer that is only errors."""
    if len(target.distributions) > _MANY:
        return visible(f"{len(target.distributions)} distributions in {target.site} (chosen by {target.origin})")
    builds = ", ".join(f"{name} {found.build}" for name, found in target.distributions.items())
    # None is no answer: before an unfinished transaction is settled, none was looked for.
    return visible(f"{builds} in {target.site} (chosen by {target.origin})".removeprefix(" in "))


def problem_place(problem: Problem) -> str:
    """Return file, line and key, such as ``vllm/x/patch.toml:12: variant[0].sha256``; empty when there is none."""
    if problem.path is None or problem.path in problem.message:
        return ""
    where = problem.path if problem.line is None else f"{problem.path}:{problem.line}"
    return f"{where}: {problem.key}" if problem.key else where


def wrapped(text: str, width: int) -> str:
    """Break the lines of a message at blanks, so that a terminal of ``width`` columns breaks no word."""
    import textwrap

    columns = max(width, 20)
    lines = text.split("\n")
    return "\n".join(textwrap.fill(it, width=columns, break_long_words=False, break_on_hyphens=False) for it in lines)
