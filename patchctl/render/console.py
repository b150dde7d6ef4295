"""A console to print on, and the few shapes that every answer on a terminal is made of.

This is the one place where Rich is fed, and every text is escaped here: whoever prints by these functions cannot forget
it. Rich wraps to the width it is given; its markup is never used, since every text here may come from a registry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from patchctl.render.escape import visible, visible_block
from patchctl.render.spoken import with_options

if TYPE_CHECKING:
    from rich.console import Console

INDENT = 4
"""Columns by which what belongs to an entry is set in."""


def new_console(*, colour: bool, width: int, given: Sequence[str] = ()) -> Console:
    """Return a console of ``width`` columns that keeps what is printed, with ANSI colour when ``colour``.

    Commands in the sentences that are printed carry the options ``given``.
    """
    import io

    from rich.console import Console

    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        no_color=not colour,
        color_system="standard" if colour else None,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    console.given = tuple(given)  # type: ignore[attr-defined]
    return console


def sentence(console: Console, text: str) -> str:
    """Return a sentence as it is printed: escaped, its commands with the options."""
    return visible(with_options(text, getattr(console, "given", ())))


def printed(console: Console) -> str:
    """Return what was printed; Rich pads lines to the full width, which is litter in a copied text."""
    text = str(console.file.getvalue())  # type: ignore[attr-defined]  # it is the StringIO of new_console
    return "".join(line.rstrip(" ") + "\n" for line in text.split("\n")[:-1])


def print_line(console: Console, text: str, *, style: str = "", indent: int = 0) -> None:
    """Print one paragraph, escaped, set in by ``indent`` columns; its commands carry the options."""
    from rich.padding import Padding
    from rich.text import Text

    body = Text(sentence(console, text), style=style, overflow="fold")
    console.print(Padding(body, (0, 0, 0, indent)) if indent else body)


def print_head(console: Console, *parts: tuple[str, str]) -> None:
    """Print the first line of a block from pieces of text, each with its style."""
    from rich.text import Text

    head = Text(overflow="fold")
    for text, style in parts:
        head.append(visible(text), style=style)
    console.print(head)


def print_verbatim(console: Console, text: str, *, style: str = "") -> None:
    """Print one line that somebody will copy, or that is code: the terminal breaks it where it must, nobody else."""
    from rich.text import Text

    console.print(Text(visible(text), style=style), soft_wrap=True)


def print_blank(console: Console) -> None:
    """Print an empty line."""
    console.print()


def print_field(console: Console, label: str, text: str, *, style: str = "", labels: int = 8) -> None:
    """Print one labelled line of an entry, wrapped under itself."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=labels, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(visible(label), style="dim"), Text(sentence(console, text), style=style, overflow="fold"))
    console.print(Padding(grid, (0, 0, 0, INDENT)))


def print_diff(console: Console, text: bytes) -> None:
    """Print a unified diff, escaped and never wrapped, so that it can be copied."""
    from rich.text import Text

    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in visible_block(text.decode("utf-8", "surrogateescape")).rstrip("\n").split("\n"):
        console.print(Text(line, style=styles.get(line[:1], ""), overflow="fold"), soft_wrap=True)
