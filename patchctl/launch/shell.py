"""A shell line as simple commands: words, quotes, escapes, comments, operators, redirections. Nothing is expanded.

What a shell would put in (``$NAME``, a glob, ``~``) stays in the word as it was written. What would run another command
on the way is refused: nobody can say what comes of it, and it must not be printed for somebody to paste.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import NamedTuple

from patchctl.errors import PatchctlError
from patchctl.launch.values import Word, assigned_name

LONGEST = 1 << 17
"""Characters of a line that are read: as many as Linux takes in one argument."""

_OPERATORS = ("&&", "||", ";;", ";", "|&", "|", "&", "\n", "(", ")")
_REDIRECTION = re.compile(r"\d*(?:&>>|&>|>>|>&|>\||>|<<<|<<-|<<|<&|<>|<)")
_PLAIN = re.compile(r"[^\s'\"\\$`;&|<>()#*?\[\]{}~]+")
_VARIABLE = re.compile(
    r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[@*0-9#?]|\{[A-Za-z_@*0-9][A-Za-z0-9_@*\[\]]*(?::?[-=+][\w./:@%+,-]*)?\})"
)
_ESCAPED_QUOTE = re.compile(r"\$'((?:[^'\\]|\\[ntr\\']|\\x[0-9a-fA-F]{2})*)'")
_ESCAPE = re.compile(r"\\([ntr\\']|x[0-9a-fA-F]{2})")
_CHARACTERS = MappingProxyType({"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'"})
_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time", "fi", "done"})


class Simple(NamedTuple):
    """One simple command.

    Attributes:
        words: without redirections and leading keywords.
        redirected: it had redirections.
    """

    words: tuple[Word, ...]
    redirected: bool = False


class ShellError(PatchctlError):
    """The line cannot be read: a quote that does not end, or something that runs another command."""


def simple_commands(line: str) -> tuple[Simple, ...]:
    """Split a line into its simple commands, empty ones left out.

    Raises:
        ShellError: it cannot be told what the words would be.
    """
    if len(line) > LONGEST:
        raise ShellError("shell-too-long", f"the line is longer than {LONGEST} characters")
    return _Scanner(line).run()


def exported(command: Simple) -> tuple[Word, ...]:
    """Return the assignments of ``export A=1`` and of a bare ``A=1``; empty: the command is something else."""
    words = command.words[1:] if command.words[0].text in {"export", "declare", "typeset"} else command.words
    return words if all(assigned_name(word.text) for word in words) else ()


class _Scanner:
    """One pass over the line; a word is built up piece by piece."""

    def __init__(self, line: str) -> None:
        self.line, self.at = line, 0
        self.commands: list[Simple] = []
        self.words: list[Word] = []
        self.redirected = False
        self._empty_word()

    def _empty_word(self) -> None:
        self.text: list[str] = []
        self.started: int | None = None
        self.expands = False

    def run(self) -> tuple[Simple, ...]:
        while self.at < len(self.line):
            self._step()
        self._end_command()
        return tuple(self.commands)

    def _step(self) -> None:
        line, at = self.line, self.at
        character = line[at]
        if line.startswith("\\\n", at):
            self.at += 2
        elif character in " \t\r":
            self._end_word()
            self.at += 1
        elif character == "#" and self.started is None:
            self.at = (line.find("\n", at) + len(line) + 1) % (len(line) + 1)
        elif self.started is None and (found := _REDIRECTION.match(line, at)) is not None:
            self._redirect(found[0], found.end())
        elif (operator := next((it for it in _OPERATORS if line.startswith(it, at)), None)) is not None:
            self._end_command()
            self.at += len(operator)
        else:
            self._in_word()

    def _in_word(self) -> None:
        line, at = self.line, self.at
        character = line[at]
        if self.started is None:
            self.started = at
        if (plain := _PLAIN.match(line, at)) is not None:
            self._add(plain[0], plain.end())
        elif character == "'":
            self._add(*self._until("'", at + 1))
        elif character == '"':
            self._double()
        elif character == "\\":
            self._add(line[at + 1 : at + 2], at + 2)
        elif character in "$`":
            self._expansion()
        elif character in "<>":
            self._end_word()
        elif character in "*?[{" or (character == "~" and at == self.started):
            self._mark(character)
        else:
            self._add(character, at + 1)

    def _add(self, text: str, end: int) -> None:
        self.text.append(text)
        self.at = end

    def _mark(self, raw: str) -> None:
        self.expands = True
        self._add(raw, self.at + len(raw))

    def _until(self, quote: str, start: int) -> tuple[str, int]:
        end = self.line.find(quote, start)
        if end < 0:
            raise ShellError("shell-quote", f"a quote ({quote}) is opened and never closed")
        return self.line[start:end], end + 1

    def _double(self) -> None:
        self.at += 1
        while True:
            if self.at >= len(self.line):
                raise ShellError("shell-quote", 'a quote (") is opened and never closed')
            character = self.line[self.at]
            if character == '"':
                self.at += 1
                return
            if character in "$`":
                self._expansion(quoted=True)
            elif character == "\\" and self.line[self.at + 1 : self.at + 2] in {"$", "`", '"', "\\", "\n"}:
                following = self.line[self.at + 1]
                self._add("" if following == "\n" else following, self.at + 2)
            else:
                self._add(character, self.at + 1)

    def _expansion(self, *, quoted: bool = False) -> None:
        found = _VARIABLE.match(self.line, self.at)
        if found is not None:
            self._mark(found[0])
            return
        following = self.line[self.at + 1 : self.at + 2]
        if not quoted and self.line.startswith("$'", self.at):
            self._escaped()
            return
        if self.line[self.at] == "$" and (
            # Unquoted, $"..." is another quote, and not in every shell.
            not following or following in " \t\n=/.,:%" or (quoted and following in "'\"")
        ):
            self._add("$", self.at + 1)
            return
        message = "the line puts in what another command or a computation gives ($(...), `...`, ${...})"
        raise ShellError(
            "shell-substitution", message, hint="write the words out, or name the running process with --pid"
        )

    def _escaped(self) -> None:
        """Read ``$'...'``: a quote in which a backslash gives a character that is hard to write."""
        found = _ESCAPED_QUOTE.match(self.line, self.at)
        if found is None:
            raise ShellError(
                "shell-quote", "a quote ($') is opened and never closed, or has an escape that is not read"
            )
        text = _ESCAPE.sub(lambda it: _CHARACTERS.get(it[1]) or chr(int(it[1][1:], 16)), found[1])
        self._add(text, found.end())

    def _redirect(self, operator: str, end: int) -> None:
        """Leave a redirection out, with the word behind it."""
        if operator.lstrip("0123456789").startswith("<<"):
            raise ShellError("shell-here-document", "the line has a here-document, which is not read")
        self._end_word()
        self.redirected = True
        self.at = end
        while self.at < len(self.line) and self.line[self.at] in " \t":
            self.at += 1
        kept = len(self.words)
        while self.at < len(self.line) and self.line[self.at] not in " \t\r\n;|&()<>":
            self._in_word()
        self._end_word()
        del self.words[kept:]

    def _end_word(self) -> None:
        if self.started is not None:
            raw = self.line[self.started : self.at] if self.expands else None
            self.words.append(Word("".join(self.text), raw))
        self._empty_word()

    def _end_command(self) -> None:
        self._end_word()
        while self.words and self.words[0].raw is None and self.words[0].text in _KEYWORDS:
            del self.words[0]
        if self.words:
            self.commands.append(Simple(words=tuple(self.words), redirected=self.redirected))
        self.words, self.redirected = [], False
