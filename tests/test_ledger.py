"""The ledger's bytes: read back as written, the same for the same state, and believed only as far as checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchctl.errors import LedgerError, Outcome
from patchctl.ledger import (
    LEDGER_PATH,
    decode_ledger,
    encode_ledger,
    object_path,
    patch_path,
    read_ledger,
    read_object,
    read_patch,
)
from patchctl.model import (
    Baseline,
    FileFact,
    Hold,
    LedgerState,
    Link,
    ProvenFix,
    Receipt,
    ReceiptDiff,
    RegistryPlace,
    Retirement,
    SetAside,
    sha256_hex,
)

SHA = sha256_hex(b"something")
OTHER = sha256_hex(b"something else")
FULL = LedgerState(
    receipts=(
        Receipt(
            id="b-entry",
            kind="containment",
            title='Two "words" — \u202eand a sign',
            revision=3,
            diffs=(
                ReceiptDiff(
                    distribution="vllm",
                    diff="0.20.diff",
                    sha256=SHA,
                    strip=1,
                    build="0.20.0+das.dtk2604",
                    rule="exact",
                ),
            ),
            requires=("a-entry",),
            conflicts=("d-entry",),
            assumed="0.20.0+das",
            despite_fix=True,
            applied_at="2026-01-02T03:04:05Z",
            set_aside=SetAside(
                builds={"vllm": "0.26.0"},
                fingerprints={"vllm": OTHER, "torch": None},
                expected="returns",
                since="2026-02-03T04:05:06Z",
            ),
            registry=RegistryPlace(name="team", bundled=False, path="/srv/patches"),
        ),
        Receipt(id="a-entry", kind="backport", title="", revision=1, diffs=(), applied_at="2026-01-02T03:04:05Z"),
    ),
    files={
        "vllm/b.py": FileFact(
            path="vllm/b.py",
            distribution="vllm",
            fingerprint=OTHER,
            base=SHA,
            result=OTHER,
            base_mode=0o640,
            base_mtime_ns=1_700_000_000_123_456_789,
            entries=("b-entry", "a-entry"),
            result_mode=0o750,
        ),
        "vllm/a/new/x.py": FileFact(
            path="vllm/a/new/x.py",
            distribution="vllm",
            fingerprint=None,
            base=None,
            result=OTHER,
            created_dirs=("vllm/a/new", "vllm/a"),
        ),
        "vllm/gone.py": FileFact(
            path="vllm/gone.py",
            distribution="vllm",
            fingerprint=None,
            base=SHA,
            result=None,
            base_mtime_ns=-1,
            base_link=Link(target="/cache/\udce9/gone.py", mtime_ns=1 << 80),
            base_xattrs=(("system.posix_acl_access", b"\0\xff"), ("user.note", b"")),
        ),
    },
    holds={"c-entry": Hold(id="c-entry", reason="under test", since="2026-01-02T03:04:05Z")},
    retirements=(
        Retirement(
            id="d-entry",
            revision=2,
            builds={"vllm": "0.26.0"},
            fingerprints={"vllm": SHA, "torch": None},
            fixes=(ProvenFix(ref="vllm-project/vllm#47312", evidence=("one", "two")),),
            retired_at="2026-01-02T03:04:05Z",
            over=True,
        ),
    ),
    last_second=1_800_000_000,
    baselines={
        "vllm": Baseline(
            distribution="vllm",
            build="0.26.0",
            fingerprint=SHA,
            absent=("../../../bin/vllm", "vllm/tests/x.py"),
            recorded_at="2026-01-02T03:04:05Z",
        ),
        "torch": Baseline(
            distribution="torch", build="", fingerprint=None, absent=(), recorded_at="2026-01-02T03:04:05Z"
        ),
    },
)


def without_hash(state: LedgerState) -> LedgerState:
    return state._replace(sha256=None)


def test_a_state_reads_back_as_it_was_written() -> None:
    data = encode_ledger(FULL)
    assert without_hash(decode_ledger(data)) == FULL
    assert decode_ledger(data).sha256 == sha256_hex(data)


def test_what_was_written_is_written_again_byte_for_byte() -> None:
    data = encode_ledger(FULL)
    assert encode_ledger(decode_ledger(data)) == data
    assert data.endswith(b"}\n")
    assert data.isascii()


def test_the_same_state_has_the_same_bytes_whatever_the_order_of_its_mappings() -> None:
    turned = FULL._replace(files=dict(sorted(FULL.files.items())))
    assert list(turned.files) != list(FULL.files)
    assert encode_ledger(turned) == encode_ledger(FULL)


def test_the_order_of_receipts_is_kept_because_it_is_the_order_of_folding() -> None:
    assert [receipt.id for receipt in decode_ledger(encode_ledger(FULL)).receipts] == ["b-entry", "a-entry"]


@pytest.mark.parametrize(
    "sample",
    [
        FULL,
        FULL.receipts[0],
        FULL.receipts[0].diffs[0],
        FULL.receipts[0].set_aside,
        *FULL.files.values(),
        FULL.retirements[0],
        FULL.baselines["vllm"],
    ],
)
def test_no_field_of_a_value_is_forgotten(sample: Any) -> None:
    """A field added to a value type must be added here and to the ledger's format."""
    written = json.loads(encode_ledger(FULL))
    found = json.dumps(written)
    for field in sample._fields:
        assert field in {"sha256", "path", "id"} or f'"{field}"' in found, field


def test_an_empty_state() -> None:
    data = encode_ledger(LedgerState())
    assert without_hash(decode_ledger(data)) == LedgerState()


def test_a_state_without_baselines_has_the_bytes_it_always_had() -> None:
    assert b"baselines" not in encode_ledger(FULL._replace(baselines={}))


def test_a_state_without_departures_has_the_bytes_it_always_had() -> None:
    receipts = tuple(receipt._replace(set_aside=None) for receipt in FULL.receipts)
    retirements = tuple(retirement._replace(over=False) for retirement in FULL.retirements)
    data = encode_ledger(FULL._replace(receipts=receipts, retirements=retirements))
    assert b"set_aside" not in data
    assert b'"over"' not in data


def test_the_recorded_mode_has_permission_bits_only() -> None:
    fact = FULL.files["vllm/b.py"]._replace(base_mode=0o106755, result_mode=0o104711)
    state = FULL._replace(files={"vllm/b.py": fact})
    data = encode_ledger(state)
    assert decode_ledger(data).files["vllm/b.py"].base_mode == 0o755
    assert decode_ledger(data).files["vllm/b.py"].result_mode == 0o711
    forged = data.replace(b'"base_mode": 493', b'"base_mode": 3565')
    assert forged != data
    assert decode_ledger(forged).files["vllm/b.py"].base_mode == 0o755


NAMES = st.text(max_size=8)
HASHES = st.binary(max_size=2).map(sha256_hex)
MAYBE_HASH = st.one_of(st.none(), HASHES)
PATHS = st.from_regex(r"[a-z]{1,3}/[a-z]{1,3}/[a-z]{1,5}\.py", fullmatch=True)
DIFFS = st.builds(
    ReceiptDiff, distribution=NAMES, diff=NAMES, sha256=HASHES, strip=st.integers(0, 9), build=NAMES, rule=NAMES
)
BUILDS = st.dictionaries(NAMES, NAMES, max_size=2)
PRINTS = st.dictionaries(NAMES, st.one_of(st.none(), NAMES), max_size=2)
ASIDE = st.builds(
    SetAside, builds=BUILDS, fingerprints=PRINTS, expected=st.sampled_from(["retires", "returns", "lost"]), since=NAMES
)
FIXES = st.builds(ProvenFix, ref=NAMES, evidence=st.lists(NAMES, max_size=2).map(tuple))
RETIREMENTS = st.builds(
    Retirement,
    id=NAMES,
    revision=st.integers(0, 1 << 40),
    builds=BUILDS,
    fingerprints=PRINTS,
    fixes=st.lists(FIXES, max_size=2).map(tuple),
    retired_at=NAMES,
    over=st.booleans(),
)
RECEIPTS = st.builds(
    Receipt,
    id=NAMES,
    kind=NAMES,
    title=NAMES,
    revision=st.integers(0, 1 << 40),
    diffs=st.lists(DIFFS, max_size=2).map(tuple),
    requires=st.lists(NAMES, max_size=2).map(tuple),
    conflicts=st.lists(NAMES, max_size=2).map(tuple),
    assumed=st.one_of(st.none(), NAMES),
    despite_fix=st.booleans(),
    applied_at=NAMES,
    set_aside=st.one_of(st.none(), ASIDE),
    registry=st.one_of(
        st.none(),
        st.builds(RegistryPlace, name=NAMES, bundled=st.booleans(), path=st.one_of(st.none(), NAMES), real=st.none()),
    ),
)
TIMES = st.integers(-(1 << 92), 1 << 92)
LINKS = st.text(min_size=1, max_size=8).filter(lambda text: "\0" not in text)
FACTS = st.builds(
    FileFact,
    path=PATHS,
    distribution=NAMES,
    fingerprint=st.one_of(st.none(), NAMES),
    base=MAYBE_HASH,
    result=MAYBE_HASH,
    base_mode=st.one_of(st.none(), st.integers(0, 0o777)),
    base_mtime_ns=st.one_of(st.none(), TIMES),
    base_link=st.one_of(st.none(), st.builds(Link, target=LINKS, mtime_ns=TIMES)),
    base_xattrs=st.dictionaries(NAMES.map("user.{}".format), st.binary(max_size=3)).map(
        lambda found: tuple(sorted(found.items()))
    ),
    created_dirs=st.just(()),
    entries=st.lists(NAMES, max_size=2).map(tuple),
    result_mode=st.one_of(st.none(), st.integers(0, 0o777)),
)
HOLDS = st.builds(Hold, id=NAMES, reason=NAMES, since=NAMES)
BASELINES = st.builds(
    Baseline,
    distribution=NAMES,
    build=NAMES,
    fingerprint=MAYBE_HASH,
    absent=st.lists(NAMES, max_size=2).map(tuple),
    recorded_at=NAMES,
)
STATES = st.builds(
    LedgerState,
    receipts=st.lists(RECEIPTS, max_size=2, unique_by=lambda receipt: receipt.id).map(tuple),
    files=st.lists(FACTS, max_size=3).map(lambda facts: {fact.path: fact for fact in facts}),
    holds=st.lists(HOLDS, max_size=2).map(lambda holds: {hold.id: hold for hold in holds}),
    baselines=st.lists(BASELINES, max_size=2).map(
        lambda found: {baseline.distribution: baseline for baseline in found}
    ),
    retirements=st.lists(RETIREMENTS, max_size=2).map(tuple),
    last_second=st.integers(0, 1 << 40),
    sha256=st.none(),
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(state=STATES)
def test_any_state_reads_back(state: LedgerState) -> None:
    data = encode_ledger(state)
    assert without_hash(decode_ledger(data)) == state
    assert encode_ledger(decode_ledger(data)) == data


@settings(deadline=None)
@given(data=st.binary(max_size=60))
def test_bytes_at_random_are_refused_as_damaged(data: bytes) -> None:
    with pytest.raises(LedgerError):
        decode_ledger(data)


Change = Callable[[dict[str, Any]], object]


def changed(change: Change) -> bytes:
    document = json.loads(encode_ledger(FULL))
    change(document)
    return json.dumps(document).encode()


def in_file(key: str, value: object, path: str = "vllm/b.py") -> Change:
    return lambda document: document["files"][path].update({key: value})


def in_receipt(key: str, value: object) -> Change:
    return lambda document: document["receipts"][0].update({key: value})


def in_aside(key: str, value: object) -> Change:
    return lambda document: document["receipts"][0]["set_aside"].update({key: value})


def file_at(path: str) -> Change:
    return lambda document: document["files"].update({path: document["files"]["vllm/b.py"]})


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (file_at("../x.py"), "files['../x.py']"),
        (file_at("/etc/passwd"), "files['/etc/passwd']"),
        (file_at(".patchctl/ledger.json"), "files['.patchctl/ledger.json']"),
        (file_at(f".patchctl/patches/{SHA}"), f"files['.patchctl/patches/{SHA}']"),
        (file_at("vllm-1.dist-info/RECORD"), "files['vllm-1.dist-info/RECORD']"),
        (in_file("base", "../../x"), "files['vllm/b.py'].base"),
        (in_file("base", SHA.upper()), "files['vllm/b.py'].base"),
        (in_file("result", SHA[:-1]), "files['vllm/b.py'].result"),
        (in_file("result", 7), "files['vllm/b.py'].result"),
        (in_file("base_mode", "0644"), "files['vllm/b.py'].base_mode"),
        (in_file("result_mode", "0755"), "files['vllm/b.py'].result_mode"),
        (in_file("result_mode", None), "files['vllm/b.py'].result_mode"),
        (in_file("base_mode", -1), "files['vllm/b.py'].base_mode"),
        (in_file("base_mode", 1 << 40), "files['vllm/b.py'].base_mode"),
        (in_file("base_mtime_ns", 1.5), "files['vllm/b.py'].base_mtime_ns"),
        (in_file("base_mtime_ns", 1 << 94), "files['vllm/b.py'].base_mtime_ns"),
        (in_file("base_link", {"target": "", "mtime_ns": 0}), "files['vllm/b.py'].base_link.target"),
        (in_file("base_link", {"target": "a\0b", "mtime_ns": 0}), "files['vllm/b.py'].base_link.target"),
        (in_file("base_link", {"target": "x" * 5000, "mtime_ns": 0}), "files['vllm/b.py'].base_link.target"),
        (in_file("base_link", {"target": "x"}), "files['vllm/b.py'].base_link.mtime_ns"),
        (
            in_file("base_xattrs", {"security.capability": "00"}),
            "files['vllm/b.py'].base_xattrs['security.capability']",
        ),
        (in_file("base_xattrs", {"trusted.x": "00"}), "files['vllm/b.py'].base_xattrs['trusted.x']"),
        (in_file("base_xattrs", {"user.x": "0"}), "files['vllm/b.py'].base_xattrs['user.x']"),
        (in_file("base_xattrs", {"user.x": "00" * 1_100_000}), "files['vllm/b.py'].base_xattrs"),
        (in_file("created_dirs", "vllm"), "files['vllm/b.py'].created_dirs"),
        (in_file("created_dirs", ["other"]), "files['vllm/b.py'].created_dirs[0]"),
        (in_file("created_dirs", ["vllm", "vll"]), "files['vllm/b.py'].created_dirs[1]"),
        (in_file("created_dirs", [""]), "files['vllm/b.py'].created_dirs[0]"),
        (in_file("created_dirs", ["vllm/b.py"]), "files['vllm/b.py'].created_dirs[0]"),
        (in_file("entries", [1]), "files['vllm/b.py'].entries[0]"),
        (in_file("owner", 0), "files['vllm/b.py'].owner"),
        (in_receipt("revision", True), "receipts[0].revision"),
        (in_receipt("revision", -1), "receipts[0].revision"),
        (in_receipt("despite_fix", 1), "receipts[0].despite_fix"),
        (in_receipt("id", None), "receipts[0].id"),
        (in_receipt("id", "a-entry"), "receipts"),
        (in_receipt("assumed", []), "receipts[0].assumed"),
        (in_receipt("diffs", {}), "receipts[0].diffs"),
        (in_receipt("set_aside", None), "receipts[0].set_aside"),
        (in_aside("expected", "stays"), "receipts[0].set_aside.expected"),
        (in_aside("builds", {"vllm": None}), "receipts[0].set_aside.builds['vllm']"),
        (in_aside("fingerprints", {"vllm": 1}), "receipts[0].set_aside.fingerprints['vllm']"),
        (in_aside("why", ""), "receipts[0].set_aside.why"),
        (lambda document: document["retirements"][0].update(over=1), "retirements[0].over"),
        (lambda document: document["receipts"][0]["diffs"][0].update(sha256="x"), "receipts[0].diffs[0].sha256"),
        (lambda document: document["receipts"][0]["diffs"][0].pop("strip"), "receipts[0].diffs[0].strip"),
        (lambda document: document["receipts"].append("x"), "receipts[2]"),
        (lambda document: document["holds"]["c-entry"].pop("reason"), "holds['c-entry'].reason"),
        (lambda document: document.update(holds=[]), "holds"),
        (lambda document: document["retirements"][0]["builds"].update(vllm=None), "retirements[0].builds['vllm']"),
        (
            lambda document: document["retirements"][0]["fixes"][0].update(evidence="x"),
            "retirements[0].fixes[0].evidence",
        ),
        (lambda document: document.update(last_second="now"), "last_second"),
        (lambda document: document.update(news=1), "news"),
        (lambda document: document.pop("files"), "files"),
        (lambda document: document.update(format="1"), "format"),
        (lambda document: document.update(format=0), "format"),
        (lambda document: document.pop("format"), "format"),
    ],
)
def test_what_cannot_be_believed_is_refused_and_named(change: Change, where: str) -> None:
    with pytest.raises(LedgerError) as caught:
        decode_ledger(changed(change))
    assert caught.value.problem.code == "damaged-ledger"
    assert caught.value.problem.key == where
    assert caught.value.problem.path == LEDGER_PATH
    assert caught.value.problem.hint
    assert caught.value.outcome is Outcome.CANNOT_ANSWER


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"9" * 10_000,
        b'{"format": NaN}',
        b'{"format": 1, "format": 1}',
        b" " * ((16 << 20) + 1),
    ],
    ids=["empty", "list", "no UTF-8", "deep list", "deep object", "long number", "NaN", "one key twice", "huge"],
)
def test_bytes_that_are_no_ledger(data: bytes) -> None:
    with pytest.raises(LedgerError) as caught:
        decode_ledger(data)
    assert caught.value.problem.code == "damaged-ledger"


def test_a_newer_format_is_refused_whatever_else_it_holds() -> None:
    with pytest.raises(LedgerError) as caught:
        decode_ledger(b'{"format": 3, "receipts": {"by": "id"}}')
    assert caught.value.problem.code == "newer-ledger"


def test_a_state_that_could_not_be_read_back_is_never_encoded() -> None:
    fact = FULL.files["vllm/b.py"]._replace(path="../b.py")
    with pytest.raises(LedgerError):
        encode_ledger(FULL._replace(files={"../b.py": fact}))


def store(site: Path, path: str, data: bytes) -> Path:
    file = site / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def test_no_ledger_is_an_empty_state(tmp_path: Path) -> None:
    assert read_ledger(str(tmp_path)) == LedgerState()
    (tmp_path / ".patchctl").mkdir()
    assert read_ledger(str(tmp_path)) == LedgerState()
    assert list((tmp_path / ".patchctl").iterdir()) == []


def test_the_ledger_of_a_site_is_read(tmp_path: Path) -> None:
    store(tmp_path, LEDGER_PATH, encode_ledger(FULL))
    assert without_hash(read_ledger(str(tmp_path))) == FULL


@pytest.mark.parametrize("kind", ["link", "linked state", "fifo", "directory", "huge"])
def test_anything_but_a_regular_file_below_the_site_is_refused(tmp_path: Path, kind: str) -> None:
    outside = store(tmp_path, "outside/ledger.json", encode_ledger(FULL))
    site = tmp_path / "site"
    state = site / ".patchctl"
    site.mkdir()
    if kind == "linked state":
        state.symlink_to(outside.parent)
    else:
        state.mkdir()
    if kind == "link":
        (site / LEDGER_PATH).symlink_to(outside)
    elif kind == "fifo":
        os.mkfifo(site / LEDGER_PATH)
    elif kind == "directory":
        (site / LEDGER_PATH).mkdir()
    elif kind == "huge":
        with (site / LEDGER_PATH).open("wb") as stream:
            stream.truncate(1 << 40)
    with pytest.raises(LedgerError) as caught:
        read_ledger(str(site))
    assert caught.value.problem.code == "damaged-ledger"


def test_a_site_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(LedgerError) as caught:
        read_ledger(str(tmp_path / "absent"))
    assert caught.value.problem.code == "unreadable-ledger"
    assert caught.value.problem.hint


def test_objects_and_diffs_are_read_by_their_hash(tmp_path: Path) -> None:
    assert read_object(str(tmp_path), SHA) is None
    assert read_patch(str(tmp_path), SHA) is None
    store(tmp_path, object_path(SHA), b"something")
    store(tmp_path, patch_path(SHA), b"something")
    assert read_object(str(tmp_path), SHA) == b"something"
    assert read_patch(str(tmp_path), SHA) == b"something"


def test_state_lies_where_every_version_looks_for_it() -> None:
    assert LEDGER_PATH == ".patchctl/ledger.json"
    assert object_path(SHA) == f".patchctl/objects/{SHA[:2]}/{SHA}"
    assert patch_path(SHA) == f".patchctl/patches/{SHA}"


@pytest.mark.parametrize("sha", ["", "..", "../../etc/passwd", SHA.upper(), SHA[:-1], SHA + "0", "g" * 64])
def test_a_hash_that_is_none_never_becomes_a_path(sha: str) -> None:
    with pytest.raises(ValueError, match="not a sha256"):
        object_path(sha)
    with pytest.raises(ValueError, match="not a sha256"):
        patch_path(sha)


@pytest.mark.parametrize("kind", ["other bytes", "link", "directory"])
@pytest.mark.parametrize("path_of", [object_path, patch_path])
def test_a_damaged_object_is_an_error_not_an_absence(tmp_path: Path, path_of: Callable[[str], str], kind: str) -> None:
    file = store(tmp_path, path_of(SHA), b"something else")
    if kind != "other bytes":
        file.unlink()
    if kind == "link":
        file.symlink_to(store(tmp_path, "outside", b"something"))
    elif kind == "directory":
        file.mkdir()
    read = read_object if path_of is object_path else read_patch
    with pytest.raises(LedgerError) as caught:
        read(str(tmp_path), SHA)
    assert caught.value.problem.code == "damaged-object"
    assert caught.value.problem.path == path_of(SHA)
    assert SHA in (caught.value.problem.hint or "")


def test_a_site_without_ledger_is_answered_without_the_json_library() -> None:
    program = (
        "import sys; from patchctl.ledger import read_ledger; read_ledger('/'); "
        "from patchctl.transaction import journal_state; journal_state('/'); "
        "sys.exit('json' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parent.parent, check=True)
