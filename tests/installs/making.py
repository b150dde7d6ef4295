"""What the scenarios install and how: a small wheel, real uv, and a fresh interpreter with nothing decided for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.environments import without_decisions
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk
from tests.sites import record_bytes, record_row
from tests.wheels import cache_dir

PATH = "small/a.py"
BASE = b"".join(b"line_%d = 0\n" % number for number in range(20)) + b"VALUE = 1\n"
PATCHED = BASE.replace(b"VALUE = 1", b"VALUE = 2")
GONE = b"OLD = 1\n"
NEW = b"FRESH = 1\n"
FILES = {"small/__init__.py": b"", PATH: BASE, "small/old.py": GONE, "small/x,y.json": b"{}\n"}


def make_wheel(
    where: Path, files: Mapping[str, bytes] | None = None, *, name: str = "small", version: str = "1.0"
) -> Path:
    """Write a wheel and return its path."""
    members = dict(FILES if files is None else files)
    info = f"{name}-{version}.dist-info"
    members[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    members[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    rows = [*(record_row(path, data) for path, data in members.items()), (f"{info}/RECORD", "", "")]
    members[f"{info}/RECORD"] = record_bytes(rows, crlf=False)
    where.mkdir(parents=True, exist_ok=True)
    wheel = where / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, data in members.items():
            archive.writestr(path, data)
    return wheel


def make_entries(where: Path, *, name: str = "small") -> Path:
    """Make a registry with one entry that changes, adds and deletes a file of the small distribution."""
    registry = make_registry(where / f"registry-{name}")
    diff = make_diff({PATH: (BASE, PATCHED), "small/new/fresh.py": (None, NEW), "small/old.py": (GONE, None)})
    add_entry(registry, "fix", diff, distribution=name)
    return registry


def desk_on(site: Path, where: Path) -> Desk:
    """Return a desk with the small entry on ``site``."""
    return Desk(site=site, registry=make_entries(where))


def clean_environ(**more: str) -> dict[str, str]:
    """Return an environment in which nothing of the caller's decides about Python."""
    found = without_decisions(os.environ)
    return {key: value for key, value in found.items() if not key.startswith("PYTHON")} | more


def fresh_python(site: Path, code: str, *options: str, **environ: str) -> str:
    """Run ``code`` in a new interpreter that imports from ``site`` and may write byte code; returns what it printed."""
    command = [sys.executable, *options, "-c", code]
    environment = clean_environ(PYTHONPATH=str(site), **environ)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def find_uv() -> Path:
    """Return a real uv, from PATH, the cache, or the package index; skips where it cannot be had."""
    found = shutil.which("uv")
    if found is not None:
        return Path(found)
    folder = cache_dir() / "uv"
    if not (folder / "bin" / "uv").exists():
        if os.environ.get("TEST_WHEELS_OFFLINE"):
            pytest.skip("uv is not installed, and TEST_WHEELS_OFFLINE is set")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--target", str(folder), "uv"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"uv cannot be had: {done.stderr.strip()[-200:]}")
    return folder / "bin" / "uv"


class Uv:
    """uv with a cache of its own below ``root``."""

    def __init__(self, root: Path) -> None:
        self.root, self.cache, self.program = root, root / "cache", find_uv()

    def run(self, *arguments: str | Path) -> None:
        """Run it; offline, quiet."""
        command = [str(self.program), *map(str, arguments), "--offline", "--quiet", "--no-config"]
        environ = clean_environ(UV_CACHE_DIR=str(self.cache), UV_PYTHON_DOWNLOADS="never")
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def environment(self, name: str, wheel: Path, mode: str, *more: str) -> Path:
        """Make an environment, install ``wheel`` with this link mode, and return its site directory."""
        where = self.root / name
        self.run("venv", where, "--python", sys.executable)
        self.install(where, wheel, mode, *more)
        (site,) = (where / "lib").glob("python3*/site-packages")
        return site

    def install(self, where: Path, wheel: Path, mode: str, *more: str) -> None:
        """Install ``wheel`` into the environment ``where``."""
        python = where / "bin/python"
        self.run("pip", "install", "--no-deps", "--link-mode", mode, "--python", python, *more, wheel)
