"""Log lines as vLLM, uvicorn and what stands around them write them, and a reader that counts them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from patchctl.signals import Counted, EntryCount, HeaderForm, Scanner, Tally, Wanted, Watch, required_literal

PATTERN = (
    r"mm placeholder mismatch: (?P<kind>pad|truncate) (?P<embeddings>\d+) embeddings to (?P<placeholders>\d+)"
    r" placeholders"
)
FILES = frozenset({"utils.py", "gpu_model_runner.py", "vllm.v1.worker.gpu_model_runner"})
WATCH = Watch(id="mm", title="a title", pattern=PATTERN, literal=required_literal(PATTERN), files=FILES)
WRITTEN = 1_783_000_000
"""2026-07-02: when the logs of the tests were last written."""
MESSAGE = b"mm placeholder mismatch: pad 303 embeddings to 327 placeholders (rows: 3)"


def search(pattern: str, text: str) -> tuple[bool, Mapping[str, str] | None]:
    """Match without a deadline."""
    found = re.match(pattern, text)
    return True, None if found is None else {name: it for name, it in found.groupdict().items() if it is not None}


def header(clock: str = "07-01 12:00:00", *, file: str = "utils.py", level: str = "WARNING", tag: str = "") -> bytes:
    """Return the logger's prefix as every release since 0.8 writes it; ``tag`` is the process in front of it."""
    return f"{tag}{level} {clock} [{file}:123] ".encode()


def hit(clock: str = "07-01 12:00:00", *, file: str = "utils.py", tag: str = "", message: bytes = MESSAGE) -> bytes:
    """Return one line that counts, with its line feed."""
    return header(clock, file=file, tag=tag) + message + b"\n"


def access(path: str = "/v1/chat/completions", *, tag: str = "", status: int = 200, method: str = "POST") -> bytes:
    """Return an access line as uvicorn writes it."""
    return f'{tag}INFO:     10.0.0.12:45678 - "{method} {path} HTTP/1.1" {status} OK\n'.encode()


def counted(
    data: bytes,
    *,
    watch: Watch = WATCH,
    by: str = "file",
    ranks: int | None = None,
    prefix: bytes = b"",
    step: int = 1 << 20,
    written: int = WRITTEN,
) -> Counted:
    """Count a log that comes in pieces of ``step`` bytes."""
    tally = Tally([watch], ranks)
    scanner = Scanner(Wanted(watches=[watch], form=HeaderForm(prefix), search=search, by=by), tally, "a.log", written)
    for at in range(0, len(data), step):
        scanner.feed(data[at : at + step])
    scanner.finish()
    return tally.result()


def entry(data: bytes, **options: object) -> EntryCount:
    """Count a log, and return what was counted of its one entry."""
    (found,) = counted(data, **options).entries  # type: ignore[arg-type]
    return found
