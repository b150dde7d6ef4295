"""Pages whose commands are run: read a page, run its commands on a terminal, hold or rewrite the outputs that it shows.

In a fenced block ``console`` a line that begins with ``$ `` is a command, and what follows up to the next one is its
output; a line ``[...]`` stands for lines that are left out. Two comments, which no reader sees, say the rest:
``<!-- guide: file NAME -->`` makes the next fenced block that file, and ``<!-- guide: scene NAME -->`` lets something
happen that nobody typed.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

HOME = "/srv/vllm"
"""Where the pages say that everything lies. A test's directory has a path as long, so that lines break alike."""

GAP = "[...]"
"""A line of a page that stands for lines which are left out."""

_IDENTIFIER = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{12})\b")
_FENCED = re.compile(
    r"^(?:<!-- guide: file (?P<file>[^\n]+) -->\n)?```(?P<kind>\w+)\n(?P<body>.*?)^```\n", re.MULTILINE | re.DOTALL
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*([A-Za-z])")


class Prose(NamedTuple):
    """Lines that are kept as they are: text, fences, blocks that are not run."""

    text: str


class Command(NamedTuple):
    """A command as it is typed, without its prompt, and the output that the page shows."""

    typed: str
    shown: str


class File(NamedTuple):
    """A fenced block that is a file of the deployment."""

    name: str
    content: str


class Scene(NamedTuple):
    """What happens without a command."""

    name: str


Piece = Prose | Command | File | Scene


def read_page(text: str) -> tuple[Piece, ...]:
    """Return a page in pieces; those that are text make the page again (:func:`write_page`)."""
    return tuple(_pieces(text))


def _pieces(text: str) -> Iterator[Piece]:
    end = 0
    for block in _FENCED.finditer(text):
        yield from _between(text[end : block.start()])
        if block["kind"] == "console":
            yield Prose("```console\n")
            yield from _commands(block["body"])
            yield Prose("```\n")
        else:
            if block["file"]:
                yield File(block["file"], block["body"])
            yield Prose(block[0])
        end = block.end()
    yield from _between(text[end:])


def _between(text: str) -> Iterator[Piece]:
    yield from (Scene(name) for name in re.findall(r"^<!-- guide: scene (.+) -->$", text, re.MULTILINE))
    yield Prose(text)


def _commands(body: str) -> Iterator[Command]:
    found = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE)
    assert "".join(f"$ {typed}\n{shown}" for typed, shown in found) == body, f"output without a command: {body!r}"
    yield from (Command(typed, shown) for typed, shown in found)


def commands(pieces: tuple[Piece, ...]) -> tuple[Command, ...]:
    """Return the commands of a page with their outputs."""
    return tuple(piece for piece in pieces if isinstance(piece, Command))


def write_page(pieces: tuple[Piece, ...], outputs: Mapping[int, str]) -> str:
    """Return the page with the outputs of some commands, by their number, replaced."""
    text, number = [], 0
    for piece in pieces:
        if isinstance(piece, Prose):
            text.append(piece.text)
        elif isinstance(piece, Command):
            text.append(f"$ {piece.typed}\n{outputs.get(number, piece.shown)}")
            number += 1
    return "".join(text)


class Walk(NamedTuple):
    """Where the commands of a page are run."""

    root: Path
    """The deployment; its path is as long as ``HOME``."""
    python: str
    """The ``pythonX.Y`` of its environment."""
    environ: Mapping[str, str]

    def here(self, text: str) -> str:
        """Return a text of the page with the paths of this machine."""
        return text.replace(HOME, str(self.root)).replace("python3.11", self.python)

    def told(self, text: str) -> str:
        """Return a text of this machine as a page tells it."""
        text = text.replace(str(self.root), HOME).replace(self.python, "python3.11")
        # The paragraph breaks where the length of the user's name wants it.
        text = re.sub(
            r"^caches of .*? may hold what (.*?) removes them\n",
            lambda found: _filled(f"caches of vllm may hold what {found[1]} removes them"),
            text,
            flags=re.MULTILINE | re.DOTALL,
        )
        return re.sub(r"^    by .* \(uid \d+.*$", "    by vllm (uid 997) on node7", text, flags=re.MULTILINE)


def outputs_of(
    pieces: tuple[Piece, ...], walk: Walk, scenes: Mapping[str, Callable[[Path, Mapping[str, str]], None]]
) -> Iterator[str]:
    """Do what the page says, in order, and yield what each command printed, as a page tells it."""
    environ = dict(walk.environ)
    for piece in pieces:
        if isinstance(piece, Scene):
            scenes[piece.name](walk.root, environ)
        elif isinstance(piece, File):
            (walk.root / piece.name).write_text(piece.content, "utf-8")
        elif isinstance(piece, Command):
            setting = re.fullmatch(r"export (\w+)=(\S+)", piece.typed)
            if setting is not None:
                environ[setting[1]] = walk.here(setting[2])
                yield ""
                continue
            code, printed = on_terminal(walk.here(piece.typed), walk.root, environ)
            # A page that hides a failure teaches that there is none.
            assert code == 0, f"{piece.typed}: exit code {code} that the page does not show\n{printed}"
            yield walk.told(printed)


def _filled(text: str) -> str:
    return textwrap.fill(text, 80, break_on_hyphens=False, break_long_words=False) + "\n"


def on_terminal(line: str, where: Path, environ: Mapping[str, str]) -> tuple[int, str]:
    """Run a shell line on a terminal of 80 columns; return its exit code and what stands there afterwards."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(where)
        # The size must be there before the command asks for it.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
        os.execve("/bin/bash", ["bash", "-c", line], dict(environ))
    out = b""
    while True:
        try:
            chunk = os.read(master, 1 << 16)
        except OSError:
            break
        if not chunk:
            break
        out += chunk
    _, status = os.waitpid(pid, 0)
    os.close(master)
    return os.waitstatus_to_exitcode(status), _screen(out.decode())


def _screen(text: str) -> str:
    """Return the lines that stand on the terminal: what a progress bar drew and wiped away is not there."""
    lines = [""]
    for part in text.replace("\r\n", "\n").split("\n"):
        for piece in re.split(r"(\r|\x1b\[[0-9;?]*[A-Za-z])", part):
            escape = _ESCAPE.fullmatch(piece)
            if piece == "\r" or (escape is not None and escape[1] == "K"):
                lines[-1] = ""
            elif escape is not None and escape[1] == "A":
                lines.pop()
            elif escape is None:
                lines[-1] += piece
        lines.append("")
    return "\n".join(lines[:-1])


def cut_like(shown: str, printed: str) -> str:
    """Return what was printed, without the lines that the page leaves out.

    A line ``[...]`` of the page stands for one line or more. As many lines are taken from begin and end as the page
    shows there; what it shows between two gaps is sought by its first line.
    """
    parts = [part.splitlines() for part in re.split(r"^\[\.\.\.\]\n", shown, flags=re.MULTILINE)]
    lines = printed.splitlines()
    if len(parts) == 1 or len(parts[0]) + len(parts[-1]) >= len(lines):
        return printed
    kept = lines[: len(parts[0])]
    position, end = len(parts[0]), len(lines) - len(parts[-1])
    for part in parts[1:-1]:
        places = [number for number in range(position + 1, end) if _same(part[0], lines[number])]
        if places:
            kept += [GAP, *lines[places[0] : min(places[0] + len(part), end)]]
            position = places[0] + len(part)
    return "".join(f"{line}\n" for line in [*kept, GAP, *lines[end:]])


def _same(shown: str, printed: str) -> bool:
    return _TIME.sub("", _IDENTIFIER.sub("", shown)) == _TIME.sub("", _IDENTIFIER.sub("", printed))


class Mask:
    """Takes out of the texts of one page what differs from run to run.

    Times become one word. Hashes and ids are numbered as they come, so that what is the same stays the same.
    """

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        text = _TIME.sub("TIME", text)
        return _IDENTIFIER.sub(lambda found: self._seen.setdefault(found[0], f"ID-{len(self._seen) + 1}"), text)
