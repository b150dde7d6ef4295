"""Well-formed wheels, logs and diffs to begin with."""

from __future__ import annotations

import gzip
import json
import lzma
import struct

from tests.log_lines import MESSAGE, access, hit
from tests.wheel_tricks import DATA, ONE, A, member, packed, tricks


def wheels() -> list[bytes]:
    """Wheels that are read, each with something else in it, and then those of the attacks."""
    plain = packed([member(ONE, A * 40), member("vllm/sub/two.py", b"", descriptor=True)])
    wide = packed([member(ONE, A, zip64=True), member(f"{DATA}/purelib/x.py", A)], zip64_end={})
    return [plain, wide, *(trick.data for trick in tricks())]


def diffs() -> list[bytes]:
    """Diffs of every form that the parser's own tests have."""
    from tests.test_diff_properties import SEEDS  # pytest is not needed for the others

    return SEEDS


def _docker(text: bytes) -> bytes:
    return json.dumps({"log": text.decode(), "stream": "stderr", "time": "2026-07-01T12:00:00.5Z"}).encode() + b"\n"


def _journal(text: bytes, **more: object) -> bytes:
    fields = {"__REALTIME_TIMESTAMP": "1782907200000000", "_PID": "7", "_SYSTEMD_UNIT": "vllm.service"}
    return json.dumps({**fields, "MESSAGE": text.decode(), **more}).encode() + b"\n"


def _export(text: bytes) -> bytes:
    sized = b"MESSAGE\n" + struct.pack("<Q", len(text)) + text + b"\n"
    return b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1782907200000000\n_PID=7\nOTHER=x\n" + sized + b"\n"


def logs() -> list[bytes]:
    """Logs in every envelope, with hits, requests and other lines."""
    line, quiet = (
        hit().rstrip(b"\n"),
        b"INFO 07-01 12:00:00 [api_server.py:1] Starting vLLM server on http://0.0.0.0:8000",
    )
    lines = [line, quiet, access().rstrip(b"\n"), line + b"\r", b"not of the logger: " + MESSAGE]
    stamped = b"2026-07-01T12:00:00.123456789Z"
    written = {
        "asctime": "2026-07-01 12:00:00",
        "levelname": "WARNING",
        "name": "utils.py",
        "message": MESSAGE.decode(),
    }
    pieces = [stamped + b" stderr P " + line[:40], stamped + b" stdout F other", stamped + b" stderr F " + line[40:]]
    found = [
        lines,
        [stamped + b" stderr F " + it for it in lines],
        pieces,
        [b"vllm-1  | " + it for it in lines],
        [b"Jul  1 12:00:00 host vllm[7]: " + it for it in lines],
        [b"2026-07-01T12:00:00+02:00 host vllm[7]: " + it for it in lines],
        [b"Wed 2026-07-01 12:00:00 CEST host vllm[7]: " + it for it in lines],
        [stamped + b" " + it for it in lines],
        [json.dumps(written).encode()],
        [b"\x1b[33mWARNING\x1b[0m 07-01 12:00:00 \x1b[1m[utils.py:123]\x1b[0m " + MESSAGE],
        [b"(Worker_TP0 pid=12) " + line, b"(EngineCore_DP0 pid=9) (Worker_TP1 pid=13) " + line],
    ]
    whole = [b"\n".join(some) + b"\n" for some in found]
    whole.append(b"".join(_docker(it + b"\n") for it in lines))
    whole.append(b"".join(_journal(it) for it in lines) + _journal(b"", MESSAGE=list(line)))
    whole.append(b"".join(_export(it) for it in lines) + b"MESSAGE=" + line + b"\n\n")
    return whole


def packed_logs() -> list[bytes]:
    """The same, packed; by zstd only where the package is installed."""
    plain = logs()
    found = [gzip.compress(it) for it in plain] + [gzip.compress(plain[0]) + gzip.compress(plain[1]) + bytes(7)]
    found += [lzma.compress(it) for it in plain[:4]] + [lzma.compress(plain[0]) * 2]
    try:
        import zstandard
    except ImportError:
        return [*found, plain[0]]
    packer = zstandard.ZstdCompressor(write_checksum=True)
    frames = [packer.compress(it) for it in plain[:4]]
    skippable = b"\x53\x2a\x4d\x18" + struct.pack("<L", 3) + b"abc"
    return [*found, *frames, frames[0] + skippable + zstandard.compress(plain[1] * 4000), plain[0]]
