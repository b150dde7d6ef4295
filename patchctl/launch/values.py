"""What a launch is made of: words, options, and the variables it gets. No reading and no editing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

_NOTHING: Mapping[str, str] = MappingProxyType({})
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=", re.ASCII)
_GIVERS = frozenset({"env", "sudo", "doas"})
"""Wrappers that take assignments behind their own options."""


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPES = MappingProxyType({"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"})


def _escaped(text: str) -> str:
    """Quote a text with line ends or other control characters (POSIX.1-2024, "Dollar-Single-Quotes")."""
    written = (_ESCAPES.get(it) or (f"\\x{ord(it):02x}" if _CONTROL.match(it) else it) for it in text)
    return f"$'{''.join(written)}'"


class Word(NamedTuple):
    """One word of a command.

    Attributes:
        text: as the program gets it; what the shell puts in stands in it as it was written.
        raw: how a shell must read it, where it puts something in (a variable, a glob); None: nothing.
    """

    text: str
    raw: str | None = None

    @property
    def printed(self) -> str:
        """The word as it is pasted into a shell: on one line, whatever is in it."""
        if self.raw is not None:
            return self.raw
        return _escaped(self.text) if _CONTROL.search(self.text) else shlex.quote(self.text)


class Item(NamedTuple):
    """One option with its values, or one loose word.

    Attributes:
        words: as they were written.
        name: the long name where vLLM is known to have the option, else as it was written with dashes for underscores;
            empty: a loose word. ``--`` is the bare one.
        keys: of a dotted option, the keys behind the dot.
        values: what it takes.
        negated: it is written to switch off.
        known: vLLM has such an option.
        adds: dotted, with ``+`` at the end: the values go to a list.
    """

    words: tuple[Word, ...]
    name: str = ""
    keys: tuple[str, ...] = ()
    values: tuple[Word, ...] = ()
    negated: bool = False
    known: bool = False
    adds: bool = False

    @property
    def head(self) -> str:
        """How the option itself is spelled, without keys and value."""
        spelled = self.words[0].text.partition("=")[0]
        return spelled.partition(".")[0] if self.keys else spelled


class Launch(NamedTuple):
    """One command that starts the service.

    Attributes:
        before: the words up to the options: assignments, wrappers, program, subcommand.
        items: the options and loose words.
        serve: it is ``vllm serve``, which takes the model as a loose word.
        config: the options that ``--config`` names a file of; the command line beats them.
        config_file: that file, as it was written.
        environment: variables that it gets from elsewhere; what is assigned in ``before`` is not among them.
        hidden: variables whose values cannot be seen.
        open_options: there may be more options than those that are seen.
        open_environment: there may be more variables than those that are seen.
        remote: the words before the program lead into another environment (a container, another host).
        warnings: what could not be read, as sentences.
    """

    before: tuple[Word, ...]
    items: tuple[Item, ...]
    serve: bool
    config: tuple[Item, ...] = ()
    config_file: str | None = None
    environment: Mapping[str, str] = _NOTHING
    hidden: frozenset[str] = frozenset()
    open_options: bool = False
    open_environment: bool = False
    remote: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[Word, ...]:
        """All words, in order."""
        return (*self.before, *(word for item in self.items for word in item.words))

    @property
    def options(self) -> tuple[Item, ...]:
        """The options in the order in which vLLM reads them: those of the file first."""
        return (*self.config, *(item for item in self.items if item.name))

    @property
    def assigned(self) -> tuple[tuple[int, str], ...]:
        """(index in ``before``, name) of every assignment."""
        return tuple(_assignments(self.before))

    def line(self) -> str:
        """Return the command as one line that can be pasted into a shell."""
        names = dict(self.assigned)
        shown = []
        for number, word in enumerate(self.words):
            if number in names and word.raw is None:  # quoted as a whole it would be no assignment
                name, _, value = word.text.partition("=")
                shown.append(f"{name}={Word(value).printed if value else ''}")
            else:
                shown.append(word.printed)
        return " ".join(shown)


def assigned_name(text: str) -> str | None:
    """Return the variable that a word assigns; None: it is no assignment."""
    found = _ASSIGNMENT.match(text)
    return found[1] if found else None


def base_name(text: str) -> str:
    """Return the last part of a path."""
    return text.rpartition("/")[2]


def giver(before: Sequence[Word]) -> int | None:
    """Return the index behind which a wrapper takes assignments; None: there is no such wrapper."""
    places = [number for number, word in enumerate(before) if base_name(word.text) in _GIVERS]
    return places[-1] if places else None


def _assignments(before: Sequence[Word]) -> list[tuple[int, str]]:
    found = []
    leading = True
    behind = giver(before)
    for number, word in enumerate(before):
        name = assigned_name(word.text)
        if name is None:
            leading = False
        elif leading or (behind is not None and number > behind):
            found.append((number, name))
    return found
