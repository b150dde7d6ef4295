"""Lines of a log that are JSON: of container runtimes, of ``journalctl -o json``, of loggers that were told so."""

from __future__ import annotations

from collections.abc import Mapping

from patchctl.documents import DocumentError, read_json

LONGEST_LINE = 1 << 18
"""Bytes of a line that are read; what is behind them is skipped."""


def json_record(text: bytes) -> Mapping[str, object]:
    """Return a line of JSON as it is; empty where it is none, or no object."""
    try:
        found = read_json(text, limit=LONGEST_LINE)
    except DocumentError:
        return {}
    return found if isinstance(found, dict) else {}
