"""What the parts of this room raise of a wheel that must not be read; ``archive`` makes a problem of it."""

from __future__ import annotations

HINT = "take the file as its index gives it: pip download --no-deps DISTRIBUTION==VERSION"


class RefusedError(Exception):
    """Two readers could make two things of the wheel, or an installer refuses it: the text says what is wrong."""
