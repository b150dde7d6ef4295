"""A directory laid out like ``/proc``: processes of any age without waiting for them."""

from __future__ import annotations

import os
from pathlib import Path

from patchctl.model.history import Moment

SECOND = 1_000_000_000
UP = 100_000
"""Seconds that this machine has been up."""

NOW = Moment(boot="0c5a", boottime_ns=UP * SECOND, realtime_ns=1_800_000_000 * SECOND)
KERNEL_THREAD = 0x00200000
FIRST_PID = 5_000_000
"""Beyond any that the kernel gives: these are nobody's."""


class ProcTree:
    """Processes below ``root``; pid 1 is there, as in every real one."""

    def __init__(self, root: Path, *, boot: str | None = NOW.boot) -> None:
        self.root = root
        root.mkdir(parents=True)
        if boot is not None:
            (root / "sys/kernel/random").mkdir(parents=True)
            (root / "sys/kernel/random/boot_id").write_text(f"{boot}\n")
        (root / "meminfo").write_text("no process\n")
        self.add(1, age=UP, command=("/sbin/init",), program="/usr/lib/systemd/systemd")

    def add(
        self,
        pid: int,
        *,
        age: float,
        mapped: str | os.PathLike[str] | None = None,
        command: tuple[str, ...] = ("python", "-m", "vllm"),
        parent: int = 1,
        image: bytes | None = None,
        program: str | None = "/usr/bin/python3.11",
        name: str = "python",
        state: str = "S",
        flags: int = 0,
        environ: bytes = b"",
    ) -> Path:
        """Add a process that is ``age`` seconds old when the machine has been up for :data:`UP`."""
        where = self.root / str(pid)
        where.mkdir()
        ticks = int((UP - age) * os.sysconf("SC_CLK_TCK"))
        fields = [state, str(parent), "1", "1", "0", "-1", str(flags), *["0"] * 12, str(ticks), "0", "0"]
        (where / "stat").write_bytes(f"{pid} ({name}) {' '.join(fields)}\n".encode("utf-8", "surrogateescape"))
        (where / "comm").write_bytes(f"{name}\n".encode("utf-8", "surrogateescape"))
        (where / "cmdline").write_bytes("\0".join((*command, "")).encode("utf-8", "surrogateescape"))
        (where / "environ").write_bytes(environ)
        (where / "auxv").write_bytes(image if image is not None else b"image of %d" % pid)
        lines = [b"55d0c000-55d0d000 r--p 00000000 08:01 131                        /usr/bin/python3.11\n"]
        if mapped is not None:
            lines.append(b"7f00a000-7f00b000 r-xp 00000000 08:01 1234567 " + os.fsencode(mapped) + b"\n")
        lines.append(b"7ffd0000-7ffd1000 rw-p 00000000 00:00 0                          [stack]\n")
        (where / "maps").write_bytes(b"".join(lines))
        if program is not None:
            (where / "exe").symlink_to(program)
        return where
