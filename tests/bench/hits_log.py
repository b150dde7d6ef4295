"""Makes a vLLM log of any size, with the truth about what is in it. Nothing of it is stored.

A block is an hour. It has access lines, statistics, request logs whose prompts carry the text of the signal, messages
of several lines that carry it, broken and interleaved lines, and true hits of two ranks; the number of hits changes
from hour to hour, and one hour stands out.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import NamedTuple

LITERAL = b"mm placeholder mismatch: "
PATTERN = (
    r"mm placeholder mismatch: (?P<kind>pad|truncate) (?P<embeddings>\d+) embeddings to (?P<placeholders>\d+)"
    r" placeholders"
)
_CLOCK = b"@@@@@@@@"
_TAGS = (b"(Worker_TP0 pid=311) ", b"(Worker_TP1 pid=312) ")
_API = b"(APIServer pid=300) "
_HOURS_A_YEAR = 24 * 28 * 12


class Truth(NamedTuple):
    """What is in a log: lines of true hits by kind and hour (``MM-DD HH``), requests, bytes, and forged lines."""

    kinds: Counter[str]
    hours: Counter[str]
    requests: int
    size: int
    forged: int


def make_log(path: Path, size: int, *, seed: int = 1, access_share: float = 0.25) -> Truth:
    """Write at least ``size`` bytes to ``path``; ``access_share`` of the ordinary lines are access lines."""
    rng = random.Random(seed)
    block_size = min(max(size // 64, 1 << 14), 1 << 22)
    ordinary, requests, forged = _ordinary(rng, block_size, access_share)
    kinds: Counter[str] = Counter()
    hours: Counter[str] = Counter()
    written = number = 0
    with path.open("wb") as file:
        while written < size:
            hour = _hour(number)
            hits = [_hit(rng) for _ in range(60 if number == 20 else rng.randrange(8))]
            for line in hits:
                kinds["pad" if b": pad " in line else "truncate"] += 1
                hours[hour] += 1
            block = (ordinary + b"".join(hits)).replace(_CLOCK, hour.encode())
            written += file.write(block)
            number += 1
    return Truth(kinds=kinds, hours=hours, requests=requests * number, size=written, forged=forged * number)


def _hour(number: int) -> str:
    """The date and hour of a block, in the logger's format without a year, from the first of January on."""
    day, hour = divmod(number % _HOURS_A_YEAR, 24)
    return f"{day // 28 + 1:02}-{day % 28 + 1:02} {hour:02}"


def _prefix(rng: random.Random, level: bytes, file: bytes) -> bytes:
    clock = b"%s:%02d:%02d" % (_CLOCK, rng.randrange(60), rng.randrange(60))
    return level + b" " + clock + b" [" + file + b":%d] " % rng.randrange(20, 900)


def _signal(rng: random.Random) -> bytes:
    placeholders = rng.randrange(100, 2000)
    kind, embeddings = (
        (b"pad", placeholders - rng.randrange(1, 60)) if rng.random() < 0.8 else (b"truncate", placeholders + 3)
    )
    return LITERAL + b"%s %d embeddings to %d placeholders (rows: %d)" % (kind, embeddings, placeholders, embeddings)


def _hit(rng: random.Random) -> bytes:
    file = rng.choice((b"utils.py", b"gpu_model_runner.py"))
    return rng.choice(_TAGS) + _prefix(rng, b"WARNING", file) + _signal(rng) + b"\n"


def _access(rng: random.Random) -> tuple[bytes, int]:
    head = _API + b"INFO:     10.0.0.%d:%d - " % (rng.randrange(256), rng.randrange(1024, 65536))
    if rng.random() < 0.1:
        return head + b'"GET /metrics HTTP/1.1" 200 OK\n', 0
    return head + b'"POST /v1/chat/completions HTTP/1.1" 200 OK\n', 1


def _ordinary(rng: random.Random, size: int, access_share: float) -> tuple[bytes, int, int]:
    """Return a block without a true hit, and how many requests and forged lines are in it."""
    lines: list[bytes] = []
    total = requests = forged = 0
    while total < size:
        if rng.random() < access_share:
            line, more = _access(rng)
            requests += more
        elif rng.random() < 0.02:
            line, more = _strange(rng)
            forged += more
        else:
            line = _api_line(rng)
        lines.append(line)
        total += len(line)
    return b"".join(lines), requests, forged


def _api_line(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return (
            _API
            + _prefix(rng, b"INFO", b"loggers.py")
            + (
                b"Engine 000: Avg prompt throughput: %d.0 tokens/s, Avg generation throughput: %d.0 tokens/s,"
                b" Running: %d reqs, Waiting: 0 reqs, GPU KV cache usage: %d.5%%, Prefix cache hit rate: 12.0%%\n"
                % (rng.randrange(9000), rng.randrange(3000), rng.randrange(64), rng.randrange(99))
            )
        )
    words = b" ".join(
        rng.choice((b"describe", b"the", b"placeholder", b"image", b"in", b"mm", b"detail")) for _ in range(30)
    )
    return (
        _API
        + _prefix(rng, b"INFO", b"logger.py")
        + b"Received request chatcmpl-%x: prompt: '%s', params: None\n"
        % (
            rng.getrandbits(64),
            words,
        )
    )


def _strange(rng: random.Random) -> tuple[bytes, int]:
    """A line, or several, that no count may take for a hit; and how many of them have the text."""
    text = _signal(rng)
    prefix = _API + _prefix(rng, b"INFO", b"logger.py")
    choice = rng.randrange(6)
    if choice == 0:
        return prefix + b"Received request x: prompt: '" + text + b"'\n", 1
    if choice == 1:  # several lines, as the formatter writes them
        return b"\r\n".join((prefix + b"prompt:", prefix + text, prefix + text, prefix + b"end")) + b"\n", 2
    if choice == 2:  # cut off by a crash
        return _TAGS[0] + _prefix(rng, b"WARNING", b"utils.py") + text[: rng.randrange(4, 24)] + b"\n", 0
    if choice == 3:  # two processes at once, with another one's lines in between
        worker = _TAGS[1] + _prefix(rng, b"INFO", b"logger.py")
        other = _api_line(rng)
        return worker + b"grammar:\r\n" + other + worker + text + b"\r\n" + other + worker + b"end\n", 1
    if choice == 4:
        return b"Traceback (most recent call last):\n  File x\nValueError: " + text + b"\n", 1
    return prefix + b"y" * rng.randrange(2000, 20_000) + text + b"\n", 1
