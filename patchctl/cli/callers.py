"""Is the environment this process was given perhaps another user's? Then its variables decide less.

A program that changes users may carry variables across (``sudo -E``, ``doas`` with ``keepenv``, ``su -m``). The first
sign of that is a variable of such a program, which it sets and whoever called it cannot take away; the second is the
kernel's: root, while somebody else is who logged in.
"""

from __future__ import annotations

from collections.abc import Mapping

_SIGNS = (("SUDO_UID", "sudo"), ("SUDO_USER", "sudo"), ("DOAS_USER", "doas"), ("PKEXEC_UID", "pkexec"))
_NOT_KNOWN = 65534
"""What the kernel says of a user whom a user namespace does not have."""


def handed_over(environ: Mapping[str, str], uid: int, login_uid: int | None) -> str | None:
    """Return how the environment came from another user, as the end of a sentence; None: there is no sign that it did.

    Args:
        environ: the process environment.
        uid: effective user of this process.
        login_uid: who logged in, by the kernel; None: nobody did, as in a service or a container.
    """
    for variable, program in _SIGNS:
        if variable in environ:
            return f"under {program}"
    if uid == 0 and login_uid not in {None, 0, _NOT_KNOWN}:
        return f"where root is somebody who logged in as uid {login_uid}"
    return None
