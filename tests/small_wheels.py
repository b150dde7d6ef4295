"""Wheels of a few files, well-formed unless a test asks for something else."""

from __future__ import annotations

import stat
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tests.sites import record_bytes, record_row

BUILD = "0.25.1"
INFO = f"vllm-{BUILD}.dist-info"
Member = tuple[str, bytes] | tuple[str, bytes, int]


def make_wheel(
    where: Path,
    members: Sequence[Member],
    *,
    rows: Sequence[tuple[str, str, str]] | None = None,
    record: bytes | None = None,
    compression: int = zipfile.ZIP_DEFLATED,
    build: str = BUILD,
) -> Path:
    """Write ``where/vllm-BUILD-py3-none-any.whl`` and return it.

    Args:
        where: directory.
        members: (name, bytes) or (name, bytes, Unix mode with its file type), in this order, names as they are.
        rows: RECORD's rows; None: those of the members.
        record: RECORD's bytes; None: made from ``rows``.
        compression: of all members.
        build: the version.
    """
    info = f"vllm-{build}.dist-info"
    whole: list[tuple[str, bytes, int]] = [
        (member[0], member[1], member[2] if len(member) == 3 else stat.S_IFREG | 0o644) for member in members
    ]
    metadata = f"Metadata-Version: 2.1\nName: vllm\nVersion: {build}\n".encode()
    whole.append((f"{info}/METADATA", metadata, stat.S_IFREG | 0o644))
    wheel = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    whole.append((f"{info}/WHEEL", wheel, stat.S_IFREG | 0o644))
    if rows is None:
        rows = [record_row(name, data) for name, data, _ in whole] + [(f"{info}/RECORD", "", "")]
    whole.append((f"{info}/RECORD", record_bytes(rows, crlf=False) if record is None else record, stat.S_IFREG | 0o644))
    path = where / f"vllm-{build}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", compression) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns of names that stand twice
        for name, data, mode in whole:
            entry = zipfile.ZipInfo(name)
            entry.filename = name  # ZipInfo would cut it at a NUL
            entry.external_attr = mode << 16
            entry.compress_type = compression
            archive.writestr(entry, data)
    return path
