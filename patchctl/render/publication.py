"""What ``report`` says of itself once its page is where it belongs; the pages are in ``render/pages``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from patchctl.commands.describe import Publication


def publication_json(published: Publication) -> dict[str, Any]:
    """Return the ``report`` object of the document; the page itself is in it unless it went into a file."""
    return {
        "format": published.shape,
        "state": published.state,
        "path": published.path,
        "text": published.text if published.path is None else None,
    }


def publication_records(published: Publication) -> Iterator[tuple[str, ...]]:
    """Yield the fields of one record, when a file was named."""
    if published.path is not None:
        yield "report", published.path, f"format={published.shape}", f"state={published.state}"


def publication_lines(published: Publication) -> Iterator[tuple[str, str, int]]:
    """Yield (text, style, columns of indent) for a terminal."""
    if published.path is not None:
        words = {"written": "written", "unchanged": "says it already", "empty": "left as it is"}
        yield f"{published.path}: {words[published.state]}", "bold green" if published.state == "written" else "bold", 0
