"""What must hold of every reader of documents that nobody vouches for. Each oracle takes bytes.

A reader gives a value or raises the one exception that it declares. A value keeps its promises: its paths pass the
checker, its sizes are no less than nothing, and what is written of it reads the same.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from patchctl.documents import DEPTH, DocumentError, read_json
from patchctl.documents.nesting import depth_of
from patchctl.documents.toml import read_toml
from patchctl.errors import LedgerError, PatchctlError, Problem, RegistryError, TransactionError
from patchctl.launch import ShellError, config_path, json_option, launches_in, launches_of, model_of, with_config
from patchctl.launch.manifest import Container, compose_containers, pod_containers
from patchctl.launch.yaml_text import YamlError, read_yaml
from patchctl.ledger.codec import decode_ledger, encode_ledger
from patchctl.ledger.records import decode_record, encode_record
from patchctl.model.paths import path_problem, place_problem
from patchctl.patch import file_name_problem, parse_entry
from patchctl.pins import encode_lock, parse_lock
from patchctl.registry import load_registry
from patchctl.signals.envelopes import Envelope, unwrap
from patchctl.target.distributions import _says_editable
from patchctl.target.holdings import normal_name, parse_headers
from patchctl.target.oracle import _conda_rows, spot_of
from patchctl.target.record import fingerprint, parse_record, parse_rows
from patchctl.target.unlisted import package_directories
from patchctl.transaction.journal import decode_journal, encode_journal
from patchctl.transaction.lock import decode_note
from patchctl.transaction.names import edit_problem

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LARGEST = 1 << 20
SITE, PREFIX = "/env/lib/python3.11/site-packages", "/env"
JSON_OPTIONS = ("--compilation-config", "--speculative-config", "--kv-transfer-config")


def height(value: object) -> int:
    """Lists and objects within each other."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max((height(it) for it in inner), default=0)


def check_complaint(error: DocumentError, data: bytes) -> None:
    """It says what, in bounds, and a line that there is."""
    assert error.what
    assert len(error.what) < 300
    assert error.line is None or 1 <= error.line <= data.count(b"\n") + 1


def check_error(error: PatchctlError) -> None:
    """It says what, in bounds."""
    assert 0 < len(error.problem.message) < 2000


def check_json(data: bytes) -> None:
    """What is taken is what Python reads; what Python reads is refused for a reason that is told."""
    try:
        theirs: Any = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        theirs = None
    for strict in (False, True):
        try:
            ours = read_json(data, limit=LARGEST, strict=strict)
        except DocumentError as error:
            check_complaint(error, data)
            continue
        assert repr(ours) == repr(theirs)
        assert height(ours) <= DEPTH
        assert depth_of(data) == height(ours)
        if strict:
            json.dumps(ours, allow_nan=False)


def check_toml(data: bytes) -> None:
    """The same for TOML."""
    try:
        ours = read_toml(data, limit=LARGEST)
    except DocumentError as error:
        check_complaint(error, data)
    else:
        assert repr(ours) == repr(tomllib.loads(data.decode("utf-8")))


def check_problems(problems: tuple[Problem, ...], data: bytes) -> None:
    """Every problem says what, in bounds, and where."""
    for problem in problems:
        assert problem.code
        assert 0 < len(problem.message) < 5000 + len(data)
        assert problem.line is None or 1 <= problem.line <= data.count(b"\n") + 2


def check_entry(data: bytes) -> None:
    """An entry or problems, never both; it names files that may be named."""

    def beside(_: str) -> bytes:
        raise RegistryError("file-missing", "there is no such file")

    patch, problems = parse_entry(data, file="patch.toml", folder="x/pad-short-image", read_file=beside)
    check_problems(problems, data)
    assert (patch is None) == bool(problems)
    if patch is not None:
        assert all(it.diff is None or file_name_problem(it.diff) is None for it in patch.variants)
        files = [item.file for fix in patch.fixes for item in fix.evidence if getattr(item, "file", None)]
        assert all(path_problem(file) is None for file in files)


def check_registry(data: bytes) -> None:
    """A registry, or an error of its own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "registry.toml").write_bytes(data)
        Path(folder, "patch.toml").write_bytes(data)
        try:
            found = load_registry([folder])
        except RegistryError as error:
            check_problems((error.problem,), data)
        else:
            assert found.roots[0].revision >= 1
            assert found.roots[0].name
            check_problems(found.problems, data)


def check_record(data: bytes) -> None:
    """Rows, or nothing; whatever they name lies below the site or its prefix, or nowhere."""
    record, rows = parse_record(data), parse_rows(data)
    assert (record is None) == (rows is None)
    for row in rows or ():
        assert row.size is None or row.size >= 0
        assert row.digest is None or set(row.digest) <= set("0123456789abcdef")
        check_spot(row.path)
    if record is not None:
        assert len(fingerprint(record)) == 64
        assert all(place_problem(it) is None for it in package_directories(record))


def check_spot(path: str) -> None:
    """A row's place is one that a walk takes."""
    spot = spot_of(SITE, PREFIX, path)
    assert spot is None or place_problem(spot.path) is None


def check_headers(data: bytes) -> None:
    """Name and version are one line of text."""
    for text in parse_headers(data):
        assert text is None or (text == text.strip() and "\n" not in text and normal_name(text) is not None)


def check_notes(data: bytes) -> None:
    """What installers and holders of the lock leave: an answer, whatever they say."""
    assert _says_editable(data) in {True, False}
    assert isinstance(decode_note(data), dict)
    for row in _conda_rows(data):
        check_spot(row.path)


def check_ledger(data: bytes) -> None:
    """A state that is written and read the same, with paths that may be edited; else a LedgerError."""
    try:
        state = decode_ledger(data)
    except LedgerError as error:
        check_error(error)
        return
    assert decode_ledger(encode_ledger(state))._replace(sha256=None) == state._replace(sha256=None)
    for path, fact in state.files.items():
        assert path_problem(path) is None
        assert all(path.startswith(f"{directory}/") for directory in fact.created_dirs)
        assert (fact.base_mode or 0) | (fact.result_mode or 0) <= 0o777


def check_journal(data: bytes) -> None:
    """The same for the journal, whose last edit is the ledger's."""
    try:
        journal = decode_journal(data)
    except TransactionError as error:
        check_error(error)
        return
    assert decode_journal(encode_journal(journal)) == journal
    assert all(edit_problem(edit.path) is None for edit in journal.edits)
    assert all((edit.mode or 0) | (edit.new_mode or 0) <= 0o777 for edit in journal.edits)


def check_history(data: bytes) -> None:
    """The same for a record of the history."""
    try:
        record = decode_record(data)
    except LedgerError as error:
        check_error(error)
        return
    assert decode_record(encode_record(record)) == record
    assert all(path_problem(file.path) is None for file in record.files)


def check_lock(data: bytes) -> None:
    """A lock that is written and read the same, or problems."""
    lock, problems = parse_lock(data, file="patchctl.lock")
    check_problems(problems, data)
    assert (lock is None) == bool(problems)
    if lock is not None:
        written = encode_lock(lock)
        again, none = parse_lock(written, file="patchctl.lock")
        assert none == ()
        assert again is not None
        assert encode_lock(again) == written
        assert all(file_name_problem(diff.diff) is None for pin in lock.pins for diff in pin.diffs)


def check_line(data: bytes) -> None:
    """A shell line gives launches that can be asked everything, or a ShellError."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        launches = launches_in(text)
    except ShellError:
        return
    for launch in launches:
        assert isinstance(launch.line(), str)
        config_path(launch)
        model_of(launch)
        for name in JSON_OPTIONS:
            value = json_option(launch, name).value
            json.dumps(value)


def check_yaml(data: bytes) -> None:
    """A YAML text as compose file, manifest and file of options: containers, options, or an error of its own."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        documents = read_yaml(text, "file")
    except YamlError as error:
        check_error(error)
        return
    assert all(height(document) <= 64 for document in documents)
    (launch,) = launches_in("vllm serve m --config file")
    for document in documents:
        found = with_config(launch, "file", document)
        assert isinstance(found.line(), str)
        for name in JSON_OPTIONS:
            json_option(found, name)
        for take in (_compose, _pods):
            try:
                for container in take(document):
                    assert all(isinstance(one.line(), str) for one in launches_of(container.command))
            except PatchctlError as error:
                check_error(error)


def _compose(document: object) -> tuple[Container, ...]:
    return compose_containers(document, lambda _: None)


def _pods(document: object) -> tuple[Container, ...]:
    return pod_containers((document,))


def check_envelope(data: bytes) -> None:
    """A line of a log in JSON: a line of bytes with a time that exists, or none."""
    for envelope in (Envelope.DOCKER_JSON, Envelope.JOURNAL_JSON):
        for line in data.split(b"\n"):
            found = unwrap(envelope, line, 0)
            if found is not None:
                assert isinstance(found.text, bytes)
                assert isinstance(found.stream, bytes)
                assert found.stamp is None or math.isfinite(found.stamp.second)


READERS: Mapping[str, Callable[[bytes], None]] = {
    "json": check_json,
    "toml": check_toml,
    "entry": check_entry,
    "registry": check_registry,
    "record": check_record,
    "headers": check_headers,
    "notes": check_notes,
    "ledger": check_ledger,
    "journal": check_journal,
    "history": check_history,
    "lock": check_lock,
    "line": check_line,
    "yaml": check_yaml,
    "envelope": check_envelope,
}
"""Name -> oracle; the documents to begin with are in ``documents``."""
