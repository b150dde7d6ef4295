"""What the parts of this room raise of a wheel that must not be read; ``archive`` makes a problem of it."""

from __future__ import annotations


class RefusedError(Exception):
    """Two readers could make two things of the wheel, or an installer refuses it: the text says what is wrong."""
