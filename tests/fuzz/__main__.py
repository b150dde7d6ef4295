"""Run one oracle under atheris: ``python -m tests.fuzz diff|names|drift|READER [options of libFuzzer]``.

A READER is one of ``tests/fuzz/readers.py``: ``entry``, ``ledger``, ``yaml`` and so on.

atheris is no dependency of the project. It has wheels for CPython 3.11 to 3.13: make an environment for it alone,
``python3.11 -m venv fuzz && fuzz/bin/pip install atheris pytest -e .``, and run this module with its Python from the
root of the checkout. Options go to libFuzzer: ``-max_total_time=1800``, ``-rss_limit_mb=4096``, a directory to keep the
corpus in. Without a directory one is made, with the probe diffs as seeds. A finding stops the run and is left in
``crash-*``: it becomes a row of ``tests/test_fuzz_findings.py``.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.fuzz.documents import DOCUMENTS, WORDS

ORACLES = {"diff": "check_diff", "names": "check_names", "drift": "check_drift"}
DRIFTS = (b"abcde\xffabxcde\xffaabcde", b"aabb\xffaabbaabb\xffbbaabbaa", b"abcabc\xffabc\xffabcabcabc", b"\xffa\xffa")
NAMES = (b"x.py", b"d/e.py\nd/f.py\n\x01", b"x y.py\n\n\x06", b"../x", b"a b/a b/x", "\u00e9/\u2028".encode(), b'"\\\t')


def seeds(oracle: str) -> list[bytes]:
    """Inputs to begin with."""
    if oracle == "diff":
        return [probe.diff for probe in importlib.import_module("tests.test_diff_probes").PROBES]
    if oracle not in ORACLES:
        return [DOCUMENTS[oracle].encode()]
    return list(DRIFTS if oracle == "drift" else NAMES)


def dictionary(folder: Path, oracle: str) -> Path:
    """Words of the documents, for mutations that single bytes would hardly find."""
    if oracle not in ORACLES:
        return write_dictionary(folder, ["".join(f"\\x{byte:02x}" for byte in word.encode()) for word in WORDS])
    words = ["diff --git a/", "index 7a8e6a3..94c4d4b 100644", "--- a/x.py", "+++ b/x.py", "--- /dev/null"]
    words += [
        "+++ /dev/null",
        "@@ -1,3 +1,3 @@",
        "@@ -0,0 +1 @@",
        "\\\\ No newline at end of file",
        "new file mode 100644",
    ]
    words += ["deleted file mode 100644", "old mode 100644", "new mode 100755", "rename from x", "rename to y"]
    words += ["similarity index 90%", "Index: x", "===", "-- ", "From ", "commit ", "Subject: x", "Only in a: x"]
    words += ["\\x0a+", "\\x0a-", "\\x0a ", "\\x0d\\x0a", "\\x00", "\\xff", "\\x09", "\\x0a\\x0a"]
    return write_dictionary(folder, words)


def write_dictionary(folder: Path, words: list[str]) -> Path:
    """As libFuzzer reads them."""
    path = folder / "words"
    path.write_text("".join(f'"{word}"\n' for word in words))
    return path


def _run(check: Any, data: bytes) -> None:
    check(data)


def main() -> None:
    """Fuzz until libFuzzer stops; the process ends there."""
    known = [*ORACLES, *DOCUMENTS]
    if len(sys.argv) < 2 or sys.argv[1] not in known:
        sys.exit(f"usage: python -m tests.fuzz {'|'.join(known)} [libFuzzer options] [corpus directory]")
    try:
        atheris: Any = importlib.import_module("atheris")
    except ImportError:
        sys.exit("atheris is not installed here: docs/contributing.md says how to get it")
    oracle, options = sys.argv[1], sys.argv[2:]
    folders = [Path(option) for option in options if not option.startswith("-")]
    scratch = Path(tempfile.mkdtemp(prefix="patchctl-fuzz-"))
    corpus = folders[0] if folders else scratch / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    # the engine is imported here first, or it would not be watched
    with atheris.instrument_imports(include=["patchctl"]):
        readers: Any = importlib.import_module("tests.fuzz.readers")
        oracles: Any = importlib.import_module("tests.fuzz.oracles")
        check: Any = getattr(oracles, ORACLES[oracle]) if oracle in ORACLES else readers.READERS[oracle]
    for seed in seeds(oracle):
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    words = [] if oracle == "drift" else [f"-dict={dictionary(scratch, oracle)}"]
    arguments = [sys.argv[0], *words, *options, *([] if folders else [str(corpus)])]
    atheris.Setup(arguments, lambda data: _run(check, data))
    atheris.Fuzz()


main()
