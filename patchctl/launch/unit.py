"""A systemd unit as commands: ``ExecStart=`` with its continuation lines and quotes, and the variables it gets.

Source of the rules: systemd.service(5), "Command lines", and systemd.exec(5), "Environment". Drop-ins are other files;
specifiers (``%i``) stay as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from patchctl.errors import PatchctlError
from patchctl.launch.launches import Command
from patchctl.launch.values import Word, assigned_name

_PREFIXES = "@-:+!|"
_BLANK = " \t\n\r"
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_VARIABLE = re.compile(r"\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))", re.ASCII)


class UnitError(PatchctlError):
    """The unit cannot be read."""


class _Setting(NamedTuple):
    """One assignment of the section ``[Service]``."""

    key: str
    value: str


def commands_of_unit(text: str, read_variables: Callable[[str], str | None]) -> tuple[Command, ...]:
    """Return the commands of ``ExecStart=``.

    Args:
        text: the unit file.
        read_variables: gives the text of a file that ``EnvironmentFile=`` names (absolute path); None: not readable.

    Raises:
        UnitError: a quote does not end.
    """
    starts: list[str] = []
    plain: list[Word] = []
    files: dict[str, str] = {}
    hidden: set[str] = set()
    unseen: list[str] = []
    for key, value in _settings(text):
        if key == "ExecStart":
            starts = [*starts, value] if value else []
        elif key == "Environment":
            plain = [*plain, *(Word(word) for word in _words(value) if assigned_name(word))] if value else []
        elif key == "EnvironmentFile" and value:
            path = value.removeprefix("-")
            read = read_variables(path)
            files |= file_variables(read) if read is not None else {}
            unseen += [path] if read is None else []
        elif key == "PassEnvironment":
            hidden |= set(value.split())
    warnings = tuple(f"EnvironmentFile {path} cannot be read: the variables in it are not known" for path in unseen)
    # A file beats Environment=, so what it sets is taken out of what is written here.
    kept = tuple(word for word in plain if (assigned_name(word.text) or "") not in files)
    known = files | {word.text.partition("=")[0]: word.text.partition("=")[2] for word in kept}
    return tuple(
        Command(
            words=(*kept, *command),
            environment=files,
            hidden=frozenset(hidden),
            open_environment=bool(unseen),
            warnings=warnings,
        )
        for start in starts
        for command in _commands(start, known)
    )


def _settings(text: str) -> Iterator[_Setting]:
    """The settings of ``[Service]``, lines that end in a backslash joined, comments between them left out."""
    section, held = "", ""
    for line in text.replace("\r\n", "\n").split("\n"):
        stripped = line.strip()
        if stripped.startswith(("#", ";")):
            continue
        if stripped.endswith("\\"):
            held += stripped[:-1] + " "
            continue
        whole, held = (held + stripped).strip(), ""
        if whole.startswith("["):
            section = whole
        key, sign, value = whole.partition("=")
        if section == "[Service]" and sign:
            yield _Setting(key=key.strip(), value=value.strip())


def _commands(line: str, known: Mapping[str, str]) -> Iterator[tuple[Word, ...]]:
    words: list[Word] = []
    for number, text in enumerate(_words(line)):
        if text == ";":
            yield tuple(words)
            words = []
            continue
        first = not words or number == 0
        stripped = text.lstrip(_PREFIXES) if first else text
        words += [Word(stripped)] if first and stripped else _expanded(";" if text == r"\;" else text, known)
    if words:
        yield tuple(words)


def _expanded(text: str, known: Mapping[str, str]) -> list[Word]:
    """``${A}`` inside a word becomes the value; ``$A`` as a word of its own becomes the words of the value."""
    alone = _VARIABLE.fullmatch(text)
    if alone is not None and alone[2] is not None:
        if alone[2] in known:
            return [Word(word) for word in known[alone[2]].split()]
        return [Word(text, text)]
    missing = False
    given = ""
    at = 0
    for found in _VARIABLE.finditer(text):
        name = found[1] or found[2]
        missing = missing or (name is not None and name not in known)
        given += text[at : found.start()] + ("$" if name is None else known.get(name, ""))
        at = found.end()
    if not missing:
        return [Word(given + text[at:])]
    return [unresolved(text.replace("$$", "$"), text)]


def unresolved(text: str, written: str) -> Word:
    """Return a word with variables that cannot be seen, so that a shell puts them in and does nothing else.

    Args:
        text: the word as it is to be read.
        written: the same with ``$$`` for a plain dollar sign; variables as ``$A`` or ``${A}``.
    """
    quoted = re.sub(r'(["`\\])', r"\\\1", written).replace("$$", r"\$")
    harmless = re.sub(r"(?<!\\)\$(?!\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_])", r"\\$", quoted)
    return Word(text, f'"{harmless}"')


def _words(line: str) -> list[str]:
    """Split as systemd does: quotes at the beginning of a word, C's escapes in and outside of them."""
    words: list[str] = []
    at = 0
    while at < len(line):
        if line[at] in _BLANK:
            at += 1
            continue
        word, at = _word(line, at)
        words.append(word)
    return words


def _word(line: str, at: int) -> tuple[str, int]:
    pieces: list[str] = []
    quote = ""
    while at < len(line) and (quote or line[at] not in _BLANK):
        character = line[at]
        if character == "\\" and at + 1 < len(line) and quote != "'":
            text, at = _escape(line, at + 1)
            pieces.append(text)
            continue
        if quote and character == quote:
            quote = ""
        elif not quote and character in "\"'":
            quote = character
        else:
            pieces.append(character)
        at += 1
    if quote:
        raise UnitError("unit-quote", f"a quote ({quote}) in the unit is opened and never closed")
    return "".join(pieces), at


def _escape(line: str, at: int) -> tuple[str, int]:
    character = line[at]
    if character == "x" and re.fullmatch(r"[0-9A-Fa-f]{2}", line[at + 1 : at + 3]):
        return chr(int(line[at + 1 : at + 3], 16)), at + 3
    if character == ";":
        return r"\;", at + 1
    return _ESCAPES.get(character, character), at + 1


def file_variables(text: str) -> dict[str, str]:
    """Return the variables of a file as ``EnvironmentFile=`` and ``env_file:`` name it: one assignment a line.

    Raises:
        UnitError: a quote does not end.
    """
    found = {}
    for line in text.replace("\\\n", "").split("\n"):
        name = assigned_name(line.strip())
        if name is None:
            continue
        value = line.strip().partition("=")[2].strip()
        if value[:1] in {'"', "'"}:
            value = _word(value, 0)[0]
        found[name] = value
    return found
