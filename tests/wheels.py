"""Real vLLM wheels for tests, slimmed to what the tests read, and vendor builds made from them.

A released wheel is about 250 MB, nearly all of it compiled code. The tests need its ``.py`` files and its
``*.dist-info`` alone, so the cache keeps a slim copy under the same file name: same RECORD, same METADATA, no
binaries. ``pip install`` accepts it (pip does not verify that listed files exist).

The cache lives outside the checkout: ``$TEST_WHEELS_DIR``, else ``$XDG_CACHE_HOME/patchctl-tests``, else
``~/.cache/patchctl-tests``. Run as a script to fill it: ``python -m tests.wheels 0.20.0 0.25.1``.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

RELEASES = (
    "0.19.1",
    "0.20.0",
    "0.20.1",
    "0.20.2",
    "0.21.0",
    "0.22.0",
    "0.22.1",
    "0.23.0",
    "0.24.0",
    "0.25.0",
    "0.25.1",
    "0.26.0",
    "0.27.0",
    "0.27.1",
    "0.28.0",
    "0.29.0",
    "0.30.0",
    "0.31.0",
    "0.32.0",
    "0.33.0",
)
"""Every final upstream release that the first registry entries speak of."""


class WheelUnavailableError(Exception):
    """The wheel is not cached and could not be downloaded (offline, or not on the index)."""


def cache_dir() -> Path:
    """Return the absolute directory in which slim wheels are kept; it may not exist yet."""
    named = os.environ.get("TEST_WHEELS_DIR")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "patchctl-tests"


def slim_wheel(version: str) -> Path:
    """Return the slim wheel of upstream vLLM ``version``, downloading it when it is not cached.

    Raises:
        WheelUnavailableError: not cached, and ``pip download`` failed.
    """
    folder = cache_dir() / "vllm" / version
    for found in sorted(folder.glob("*.whl")):
        return found
    if os.environ.get("TEST_WHEELS_OFFLINE"):
        raise WheelUnavailableError(f"vllm {version} is not cached and TEST_WHEELS_OFFLINE is set")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--disable-pip-version-check", "--no-cache-dir", "--dest", scratch, f"vllm=={version}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise WheelUnavailableError(f"vllm {version}: {done.stderr.strip().splitlines()[-1:]}")
        (full,) = Path(scratch).glob("*.whl")
        slim = Path(scratch) / "slim.zip"
        _copy(full, slim, keep=lambda name: name.endswith(".py") or ".dist-info/" in name)
        return slim.rename(folder / full.name)


def relabelled(version: str, build: str, into: Path) -> Path:
    """Write a slim wheel that is upstream ``version`` under the build string ``build``; return its path.

    What a vendor's rebuild changes is changed here: METADATA's version, the dist-info directory's name, and their
    rows in RECORD. Every other byte is upstream's.
    """
    source = slim_wheel(version)
    old, new = f"vllm-{version}", f"vllm-{build}"
    tags = source.name.removeprefix(f"{old}-")
    out = into / f"{new}-{tags}"
    with zipfile.ZipFile(source) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    info = f"{old}.dist-info/"
    version_lines = f"\nVersion: {version}\n".encode(), f"\nVersion: {build}\n".encode()
    metadata = members[info + "METADATA"].replace(*version_lines, 1)
    members[info + "METADATA"] = metadata
    rows = list(csv.reader(io.StringIO(members[info + "RECORD"].decode(), newline="")))
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for path, *rest in rows:
        columns = [record_hash(metadata), str(len(metadata))] if path == info + "METADATA" else rest
        writer.writerow([path.replace(info, f"{new}.dist-info/", 1) if path.startswith(info) else path, *columns])
    members[info + "RECORD"] = text.getvalue().encode()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace(info, f"{new}.dist-info/", 1) if name.startswith(info) else name, data)
    return out


def record_hash(data: bytes) -> str:
    """Return the hash column of a RECORD row for ``data`` (PEP 376 / the wheel spec: urlsafe base64, no padding)."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _copy(source: Path, out: Path, *, keep: object) -> None:
    assert callable(keep)
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as slim:
        for info in archive.infolist():
            if keep(info.filename):
                slim.writestr(info, archive.read(info))


if __name__ == "__main__":
    for wanted in sys.argv[1:] or RELEASES:
        print(slim_wheel(wanted), flush=True)
