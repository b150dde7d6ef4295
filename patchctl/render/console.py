"""A console to print on, and the few shapes that every answer on a terminal is made of.

Rich wraps to the width it is given; its markup is never used, since every text here may come from a registry.
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


def print_line(console: Console, text: str, *, style: str = "", indent: int = 0, hang: int = 0) -> None:
    """Print one paragraph, escaped, set in by ``indent`` and ``hang`` columns."""
    from rich.padding import Padding
    from rich.text import Text

    body = Text(sentence(console, text), style=style, overflow="fold")
    console.print(Padding(body, (0, 0, 0, indent + hang)) if indent + hang else body)


def print_field(console: Console, label: str, text: str, *, style: str = "", labels: int = 8) -> None:
    """Print one labelled line of an entry, wrapped under itself."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=labels, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(label, style="dim"), Text(sentence(console, text), style=style, overflow="fold"))
    from rich.padding import Padding

    console.print(Padding(grid, (0, 0, 0, INDENT)))


def print_diff(console: Console, text: bytes) -> None:
    """Print a unified diff, escaped and never wrapped, so that it can be copied."""
    from rich.text import Text

    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in visible_block(text.decode("utf-8", "surrogateescape")).rstrip("\n").split("\n"):
        console.print(Text(line, style=styles.get(line[:1], ""), overflow="fold"), soft_wrap=True)
