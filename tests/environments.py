"""Real environments for tests and the demonstration: a venv, and a wheel that pip installs into it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PIP = ["--disable-pip-version-check", "--quiet", "--no-input"]


def make_environment(root: Path, wheel: Path | None = None) -> Path:
    """Make a virtual environment at ``root``, install ``wheel`` into it, and return its site directory.

    The environment has no pip of its own and no system packages: it holds what the test put into it.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root)], check=True)
    if wheel is not None:
        install_wheel(root, wheel)
    return site_of(root)


def site_of(root: Path) -> Path:
    """Return the site directory of the virtual environment at ``root``."""
    (site,) = (root / "lib").glob("python3.*/site-packages")
    return site


def install_wheel(root: Path, wheel: Path, *, reinstall: bool = False) -> None:
    """Install ``wheel`` without its dependencies into the virtual environment at ``root``, byte code left out."""
    command = [sys.executable, "-m", "pip", *PIP, "--python", str(root / "bin" / "python"), "install"]
    command += [
        "--no-deps",
        "--no-index",
        "--no-compile",
        "--ignore-requires-python",
        *(["--force-reinstall"] if reinstall else []),
        str(wheel),
    ]
    subprocess.run(command, check=True, env=without_decisions(os.environ))


def without_decisions(environ: os._Environ[str] | dict[str, str]) -> dict[str, str]:
    """Return an environment in which nothing of the caller's decides about byte code or patchctl."""
    dropped = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "SOURCE_DATE_EPOCH", "VIRTUAL_ENV", "CONDA_PREFIX")
    return {key: value for key, value in environ.items() if key not in dropped and not key.startswith("PATCHCTL_")}
