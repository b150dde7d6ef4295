"""Golden outputs: what an operator reads, kept as files and compared byte for byte.

``UPDATE_GOLDEN=1`` writes them anew; read the difference before it is committed.
"""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def check_golden(name: str, text: str) -> None:
    """Hold ``text`` against the file ``name`` in ``tests/golden``, or write the file where that is asked for."""
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    assert file.read_text("utf-8") == text
