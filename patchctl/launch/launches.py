"""From a command to a launch: words, or a shell line, in; every start of vLLM's server out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from patchctl.launch.options import parse_options
from patchctl.launch.program import find_program, leads_away, other_command, shell_script, strange_wrapper
from patchctl.launch.shell import ShellError, Simple, exported, simple_commands
from patchctl.launch.values import Launch, Word

_DEEPEST = 4
"""Shells inside shells that are looked into."""

_MOST_WORDS = 10_000

_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


class Command(NamedTuple):
    """A command as some file or process gives it.

    Attributes:
        words: as the program gets them.
        environment: variables that it gets besides, whose values must not be shown.
        hidden: variables whose values cannot be seen.
        open_environment: there may be further variables.
        warnings: what could not be read of it.
    """

    words: tuple[Word, ...]
    environment: Mapping[str, str] = _NO_VARIABLES
    hidden: frozenset[str] = frozenset()
    open_environment: bool = False
    warnings: tuple[str, ...] = ()


def plain(words: Sequence[str]) -> tuple[Word, ...]:
    """Return words that no shell will read any more."""
    return tuple(Word(word) for word in words)


def launches_of(command: Command) -> tuple[Launch, ...]:
    """Return every start of vLLM's server in a command; ``sh -c`` is looked into.

    Raises:
        ShellError: a shell line in it cannot be read.
    """
    return _launches(command, 0)


def launches_in(line: str) -> tuple[Launch, ...]:
    """Return every start of vLLM's server in a shell line.

    Raises:
        ShellError: the line cannot be read.
    """
    return _in_line(line, Command(words=()), 0)


def not_a_server(words: Sequence[Word]) -> str | None:
    """Return what a command is that starts no server, for a word about it."""
    other = other_command(words)
    return None if other is None else f"vllm {other} starts no server"


def _launches(command: Command, depth: int) -> tuple[Launch, ...]:
    if len(command.words) > _MOST_WORDS:
        raise ShellError("shell-too-long", f"a command of more than {_MOST_WORDS} words is not read")
    program = find_program(command.words)
    if program is not None:
        return (_launch(command, program.start, serve=program.serve),)
    script = shell_script(command.words)
    if script is None or depth >= _DEEPEST:
        return ()
    return _in_line(script, command, depth + 1)


def _in_line(line: str, around: Command, depth: int) -> tuple[Launch, ...]:
    commands = simple_commands(line)
    found: list[Launch] = []
    assigned: list[Word] = []
    for simple in commands:
        if variables := exported(simple):
            assigned += variables
            continue
        leading = (*_assignments_of(around), *assigned)
        for launch in _launches(around._replace(words=(*leading, *simple.words)), depth):
            rest = _left_aside(commands, simple)
            found.append(launch._replace(warnings=(*launch.warnings, *rest)))
    return tuple(found)


def _assignments_of(around: Command) -> tuple[Word, ...]:
    """What is assigned before the shell is called reaches what the shell calls."""
    program = next((number for number, word in enumerate(around.words) if "=" not in word.text), len(around.words))
    return around.words[:program]


def _left_aside(commands: Sequence[Simple], taken: Simple) -> tuple[str, ...]:
    others = [it for it in commands if it is not taken and not exported(it)]
    names = ", ".join(dict.fromkeys(it.words[0].text for it in others))
    told = [f"the line also runs {names}: only the command that starts vLLM is shown"] if others else []
    if taken.redirected:
        told.append("the redirections of the line are not shown")
    return tuple(told)


def _launch(command: Command, start: int, *, serve: bool) -> Launch:
    before, rest = command.words[:start], command.words[start:]
    parsed = parse_options(rest, loose=1 if serve else 0)
    warnings = [*command.warnings, *parsed.warnings]
    strange = strange_wrapper(before)
    if strange is not None:
        warnings.append(f"{strange!r} is taken for a wrapper that leaves the words after it alone")
    away = leads_away(before)
    if away is not None:
        warnings.append(f"{away} starts it in another environment: variables given to {away} are not read")
    return Launch(
        before=before,
        items=parsed.items,
        serve=serve,
        environment=command.environment,
        hidden=command.hidden,
        open_options=parsed.open,
        open_environment=command.open_environment or away is not None,
        remote=away is not None,
        warnings=tuple(warnings),
    )


__all__ = ["Command", "ShellError", "launches_in", "launches_of", "not_a_server", "plain"]
