"""Run a verb where mounts are as a test wants them: a mount namespace of its own, gone with the process."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from tests.running import Desk, Done


def in_mount_namespace(script: str, *arguments: str, desk: Desk) -> Done:
    """Run ``patchctl ARGUMENTS`` on ``desk`` after the shell command ``script``; skipped where mounts are forbidden."""
    try:
        probe = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("no unshare(1) here")
    if probe.returncode != 0:
        pytest.skip(f"this kernel or user may not mount: {probe.stderr.strip()}")
    command = [sys.executable, "-m", "patchctl", *arguments, "--site", str(desk.site), "--registry", str(desk.registry)]
    whole = f"{script} && exec {shlex.join(command)}"
    done = subprocess.run(["unshare", "--mount", "sh", "-c", whole], capture_output=True, text=True, check=False)
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)
