"""The published schema of the JSON document describes all that ``render.document`` can print, and nothing else."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

import pytest
import typer
from jsonschema import Draft202012Validator

from patchctl.advice import Coverage, EntryAdvice, Exposure, LaunchAdvice, ModelNames, Way
from patchctl.build import BuildChange, MatchRule
from patchctl.caches import Purge
from patchctl.cli.app import app
from patchctl.cli.runner import EXIT_CODES
from patchctl.commands import Change, Listing, Report
from patchctl.commands.describe import Publication
from patchctl.commands.diagnosis import Diagnosis, Finding, Installed, SiteView
from patchctl.commands.forecast import Fate, Forecast, Protection
from patchctl.commands.hits import Incidence
from patchctl.commands.inspection import DistributionCheck
from patchctl.commands.lint import Graded, LintReport
from patchctl.commands.lock import LockWritten
from patchctl.commands.moves import Alike, Moved
from patchctl.commands.preflight import Prospect, Swap
from patchctl.commands.proving import Cell, Grown, Proof
from patchctl.commands.report import Advice, ProcessReport
from patchctl.commands.verify import Verification
from patchctl.errors import Outcome, Problem
from patchctl.evidence import FixFinding, FixStatus, ItemFinding, ItemStatus
from patchctl.launch import launches_in, with_config
from patchctl.ledger import History
from patchctl.lint import Grade, Trial
from patchctl.match import Direction, Fit, HunkPlace
from patchctl.match.explain import Explanation, HunkExplanation, Scope
from patchctl.match.line_ends import LineEnd, LineEnds
from patchctl.match.script import Mark, Remark, ScriptLine
from patchctl.model import (
    BuildRule,
    Distribution,
    EditKind,
    EvidenceItem,
    FileEdit,
    Fix,
    FixRole,
    Hold,
    ProvenFix,
    Receipt,
    ReceiptDiff,
    RegistryPlace,
    Retirement,
    SetAside,
    Target,
    sha256_hex,
)
from patchctl.model.history import HistoryAuthor, HistoryEntry, HistoryFile, HistoryRecord, Moment, StoredRecord
from patchctl.model.processes import Age, Census, ProcessFact
from patchctl.patch import Avoid, Kind, Patch, Severity, Signal, Trigger, Variant
from patchctl.pins import Extra, Lock, LockedHold, Pin, PinFinding, PinnedDiff, PinState, Review
from patchctl.registry import RegistryRoot
from patchctl.render.document import SCHEMA, document
from patchctl.signals import Counted, EntryCount, Mismatch, Number, Spike, Stamp
from patchctl.target import CandidateKind
from patchctl.transaction import JournalState
from patchctl.verdict import Action, Assessment, Case, FileFinding, Need, SourceDiff, Verdict
from patchctl.verdict.attribution import Attribution, FileState
from tests.contract import closed_schema, complaints, published_schema

DIGEST = sha256_hex(b"diff")
NOW = Moment(boot="b", boottime_ns=1000 * 10**9, realtime_ns=1_800_000_000 * 10**9)
TARGET = Target(
    site="/srv/lib/python3.11/site-packages",
    python="/srv/bin/python3",
    origin="VIRTUAL_ENV",
    distributions={
        "vllm": Distribution(
            name="vllm",
            build="0.20.0+das.dtk2604",
            info="vllm-0.20.0+das.dtk2604.dist-info",
            installer="pip",
            record={"vllm/engine.py": None},
            fingerprint=sha256_hex(b"record"),
            source_build="0.20.0",
        ),
        "nightly": Distribution(name="nightly", build="N/A", info="nightly.egg-info", editable=True),
    },
    passed_over=("/srv/lib64/python3.11/site-packages",),
)
EVIDENCE = (
    EvidenceItem(file="vllm/a.py", symbol="A.run", contains="fixed()"),
    EvidenceItem(file="vllm/a.py", absent="broken()"),
    EvidenceItem(
        alternatives=(EvidenceItem(file="vllm/a.py", matches="fix(ed)?"), EvidenceItem(diff=b"--- a/x\n+++ b/x\n"))
    ),
)
FIX = Fix(
    ref="vllm-project/vllm#1",
    role=FixRole.FIXES,
    claimed=">=0.26",
    source="https://example.org/1",
    note="mends it",
    distribution="vllm",
    evidence=EVIDENCE,
)
VARIANT = Variant(
    distribution="vllm",
    rule=BuildRule(builds=("0.20.0+das.dtk2604",), versions=">=0.20,<0.26", label=("das*", "dtk*")),
    diff="0.20.diff",
    sha256=DIGEST,
)
PATCH = Patch(
    id="first",
    title="First",
    kind=Kind.CONTAINMENT,
    severity=Severity.CRASH,
    revision=2,
    default=True,
    why="why",
    how="how",
    removal="removal",
    requires=("second",),
    conflicts=("third",),
    replaces=("fourth",),
    variants=(VARIANT,),
    fixes=(FIX,),
    avoid=(Avoid(args=("--max-num-seqs", "1"), env={"A": "0"}, remove_args=("--b",), when="when", cost="cost"),),
    triggers=(
        Trigger(
            model=("*minicpm*",),
            args={"--enforce-eager": False, "--dtype": ("auto",)},
            json={"--speculative-config": {"method": ("dspark",)}},
            env={"A": ("1",)},
            hardware=("sm*",),
            rule=BuildRule(versions=">=0.20", label=("das*",)),
            note="note",
            doubt="doubt",
        ),
    ),
    signal=Signal(log="mismatch: (?P<kind>pad|truncate)"),
    cve=("CVE-2026-1234",),
)
ADVISORY = Patch(
    id="advice",
    title="Advice",
    kind=Kind.ADVISORY,
    severity=Severity.WRONG_OUTPUT,
    revision=1,
    default=True,
    why="why",
    how="",
    removal="removal",
    variants=(Variant(distribution="vllm", rule=BuildRule(versions=">=0.20", label="any")),),
)
RECEIPT = Receipt(
    id="first",
    kind="containment",
    title="First",
    revision=1,
    diffs=(
        ReceiptDiff(
            distribution="vllm", diff="0.20.diff", sha256=DIGEST, strip=1, build="0.20.0+das.dtk2604", rule="exact"
        ),
    ),
    assumed="0.20.0+das.dtk2604",
    despite_fix=True,
    applied_at="2026-01-01T00:00:00Z",
    registry=RegistryPlace(name="team", bundled=False, path="/srv/patches"),
)
SOURCE = SourceDiff(
    distribution="vllm",
    name="0.20.diff",
    sha256=DIGEST,
    strip=1,
    data=b"diff",
    files=(),
    variant=VARIANT,
    rule=MatchRule.EXACT,
    reason="is named exactly",
)
PROBLEM = Problem(
    code="variant-tie",
    message="two variants match",
    hint="narrow one",
    patch="first",
    path="patches/vllm/first/patch.toml",
    line=12,
    key="variant[0]",
)


def fix_finding(status: FixStatus = FixStatus.MOVED) -> FixFinding:
    items = tuple(
        ItemFinding(item=item, status=came_to, reason="as found", elsewhere=("vllm/b.py",))
        for item, came_to in zip(EVIDENCE, (ItemStatus.HOLDS, ItemStatus.MOVED, ItemStatus.UNKNOWN), strict=True)
    )
    return FixFinding(fix=FIX, status=status, claimed=True, items=items, reason="as found")


SCRIPT = (
    ScriptLine(mark=Mark.EXPECTED, text=b"a\n", remark=Remark.LINE_END),
    ScriptLine(mark=Mark.FOUND, text=b"a", line=12, cut_before=3, cut_after=4),
    ScriptLine(mark=Mark.SKIPPED, skipped=5),
)
LINES_DIFFER = Explanation(
    whole=SCRIPT,
    hunks=(
        HunkExplanation(
            number=1,
            state=Fit.CONFLICT,
            before=HunkPlace(number=1, reason="ambiguous", candidates=(3, 9)),
            after=HunkPlace(number=1, line=12, offset=-3),
            stated=12,
            diff_line=3,
            change=(b"-a\xff\n", b"+b\n"),
            change_cut=1,
            side=Direction.REVERSE,
            size=2,
            line=12,
            length=1,
            equal=0,
            beyond=True,
            script=SCRIPT,
            scopes=(Scope(line=12, headings=(b"class A:",)),),
        ),
    ),
    left_out=1,
)
LINE_ENDS = LineEnds(
    side=Direction.FORWARD,
    diff=LineEnd.LF,
    file=LineEnd.MIXED,
    crlf=3,
    lines=9,
    whole=True,
    places=(1, 5),
    plain=True,
)


def explained_file(explanation: Explanation) -> FileFinding:
    return FileFinding(
        path="vllm/explained.py",
        fit=Fit.CONFLICT,
        pristine=True,
        built_in=False,
        sha256=DIGEST,
        hunks=(HunkPlace(number=1, reason="not-found"),),
        explanation=explanation,
    )


def case(**changes: Any) -> Case:
    given: dict[str, Any] = {
        "id": "first",
        "patch": PATCH,
        "receipt": RECEIPT,
        "hold": Hold(id="first", reason="waiting", since="2026-01-01T00:00:00Z"),
        "rule": MatchRule.EXACT,
        "reason": "is named exactly",
        "diffs": (SOURCE,),
        "recorded": (SOURCE,),
        "fixes": (fix_finding(),),
        "assumed": "0.20.0+das.dtk2604",
    }
    return Case(**(given | changes))


def assessment(**changes: Any) -> Assessment:
    given: dict[str, Any] = {
        "case": case(),
        "verdict": Verdict.CONFLICT,
        "fit": Fit.CONFLICT,
        "files": (
            FileFinding(
                path="vllm/engine.py",
                fit=Fit.CONFLICT,
                pristine=None,
                built_in=False,
                sha256=DIGEST,
                hunks=(
                    HunkPlace(number=1, line=12, offset=-3),
                    HunkPlace(number=2, reason="ambiguous", candidates=(3, 9)),
                ),
                obstacle="is a symbolic link",
            ),
            explained_file(LINES_DIFFER),
            explained_file(Explanation(line_ends=LINE_ENDS)),
            FileFinding(path="vllm/gone.py", fit=Fit.MISSING, pristine=None, built_in=False, sha256=None, hunks=()),
        ),
        "need": Need.WANTED,
        "action": Action.PORT,
        "reason": "does not fit",
    }
    return Assessment(**(given | changes))


def status_report() -> Report:
    """Every kind of entry: one with everything, one that only the ledger knows, an advisory."""
    orphan = case(id="orphan", patch=None, hold=None, fixes=(), diffs=(), rule=MatchRule.NONE, assumed=None)
    advice = case(id="advice", patch=ADVISORY, receipt=None, hold=None, diffs=(), recorded=(), assumed=None)
    receipt = assessment().case.receipt
    assert receipt is not None
    aside = case(id="aside", receipt=receipt._replace(set_aside=ASIDE))
    retired = case(id="retired", receipt=None, recorded=(), retirement=RETIREMENT)
    return Report(
        command="status",
        target=TARGET,
        assessments=(
            assessment(),
            assessment(case=aside, verdict=Verdict.LOST),
            assessment(case=retired, need=Need.FIXED, action=Action.NONE),
            assessment(case=orphan, verdict=Verdict.APPLIED, action=Action.NONE),
            assessment(case=advice, verdict=None, fit=None, files=(), action=Action.NONE),
        ),
        notes=("a note",),
        warnings=(PROBLEM,),
        errors=(Problem(code="no-record", message="no RECORD"),),
    )


def change_report() -> Report:
    edits = (
        FileEdit(path="vllm/a.py", kind=EditKind.MODIFY, before=b"1", after=b"2"),
        FileEdit(path="vllm/b.py", kind=EditKind.ADD, before=None, after=b"2"),
        FileEdit(path="vllm/c.py", kind=EditKind.DELETE, before=b"1", after=None),
    )
    change = Change(
        state="committed",
        id="0" * 32,
        applied=("first",),
        adopted=("sixth",),
        reverted=("second",),
        retired=("third",),
        set_aside=("seventh",),
        held=("fourth",),
        unheld=("fifth",),
        edits=edits,
    )
    caches = (Purge(path="/home/a/.cache/vllm/modelinfos", state="partial", files=2, size=10, reason="a link"),)
    report = Report(command="apply", target=TARGET, change=change, caches=caches, processes=ps_report().processes)
    return report._replace(steps=("patchctl check",))


RETIREMENT = Retirement(
    id="retired",
    revision=2,
    builds={"vllm": "0.26.0"},
    fingerprints={"vllm": DIGEST, "aiter": None},
    fixes=(ProvenFix(ref="x/y#1", evidence=("it is there",)),),
    retired_at="2026-01-01T00:00:00Z",
)
ASIDE = SetAside(
    builds={"vllm": "0.26.0"}, fingerprints={"vllm": DIGEST, "aiter": None}, expected="returns", since="2026-01-01"
)


def history_report() -> Report:
    record = HistoryRecord(
        transaction="0" * 32,
        at="2026-01-01T00:00:00Z",
        author=HistoryAuthor(uid=0, login="root", login_uid=1000, sudo_uid=1000),
        host="node1",
        command="apply",
        result="rolled-back",
        named=("first",),
        decisions=("--despite-fix",),
        entries=(
            HistoryEntry(id="first", what="applied", revision=2, diffs=(("vllm", DIGEST),), reason="because"),
            HistoryEntry(id="second", what="retired", revision=2, retirement=RETIREMENT),
        ),
        files=(HistoryFile(path="vllm/a.py", before=DIGEST, after=None),),
        omitted=1,
        reason="no space",
        moment=NOW,
    )
    return Report(
        command="history",
        target=TARGET,
        history=History(records=(StoredRecord(path="x", placed_ns=1, record=record),)),
    )


def ps_report() -> Report:
    process = ProcessFact(pid=7, parent=1, uid=1000, start_ns=NOW.boottime_ns - 90 * 10**9, command="vllm serve")
    census = Census(now=NOW, found=(process,), blocked={0: 3}, unanswered=1)
    found = ProcessReport(
        judged=((process, Age.STALE),),
        census=census,
        recorded=True,
        transaction="0" * 32,
        changed="2026-01-01T00:00:00Z",
        logins={1000: "vllm"},
    )
    return Report(command="ps", outcome=Outcome.ATTENTION, target=TARGET, processes=found)


def unfinished_report() -> Report:
    journal = JournalState(transaction="0" * 32, committed=False, paths=("vllm/a.py",))
    return Report(command="check", outcome=Outcome.UNFINISHED, target=TARGET, journal=journal)


ROOT = RegistryRoot(path="p", name="patchctl", revision=1, place=RegistryPlace(name="patchctl", bundled=True))


def listing_report(*, detailed: bool) -> Report:
    listing = Listing(
        roots=(ROOT,),
        entries=(PATCH, ADVISORY),
        diffs=(("0.20.diff", b"--- a/x\n+++ b/x \xff\n"),) if detailed else (),
        detailed=detailed,
    )
    return Report(command="show" if detailed else "list", listing=listing)


def failure_report() -> Report:
    return Report(command="revert", outcome=Outcome.BUSY, errors=(Problem(code="busy", message="held"),))


def verify_report() -> Report:
    check = DistributionCheck(
        site="/srv/site",
        name="vllm",
        build="0.25.1",
        fingerprint="a" * 64,
        oracle="record",
        reason=None,
        files=(
            Attribution(path="vllm/a.py", state=FileState.OURS, reason="was added", entries=("a-low",)),
            Attribution(path="../../../bin/vllm", state=FileState.MISSING, reason="is gone"),
        ),
        baseline=2,
    )
    return Report(command="verify", verification=Verification(fast=False, checks=(check,)))


def doctor_report() -> Report:
    view = SiteView(
        path="/srv/site",
        file_system="ext4",
        read_only=False,
        state="format 1",
        applied=("a-low",),
        lock="free",
        distributions=(Installed(name="vllm", build="0.25.1", installer="pip", oracle="record", concerned=True),),
    )
    finding = Finding(code="leftover", message="~llm is left", remedy="rm", needed=True, site="/srv/site", path="~llm")
    diagnosis = Diagnosis(
        kind="venv",
        root="/srv",
        python="/srv/bin/python3",
        sites=(view,),
        settings=(("PYTHONPYCACHEPREFIX", "/var/cache"),),
        findings=(finding,),
        freed=(".patchctl/patches/" + "a" * 64,),
        freed_bytes=3,
        removed=("vllm/added.py",),
    )
    return Report(command="doctor", outcome=Outcome.ATTENTION, diagnosis=diagnosis)


def proof() -> Proof:
    tree = Grown(path="a.whl", kind=CandidateKind.WHEEL, builds={"vllm": "0.20.0"})
    trials = [
        Trial(patch=PATCH, builds=tree.builds, found=None),
        *(Trial(patch=PATCH, builds=tree.builds, found=found) for found in status_report().assessments),
    ]
    problem = Problem(
        code="untested", message="m", patch="first", path="p/patch.toml", line=3, key="variant[0].builds[0]"
    )
    cells = tuple(Cell(tree=tree, trial=trial) for trial in trials)
    return Proof(trees=(tree,), cells=cells, findings=(), untested=(problem,), warnings=(), errors=())


def lock_reports() -> Iterator[Report]:
    pin = Pin(id="first", revision=2, diffs=(PinnedDiff("vllm", "0.20.diff", DIGEST),), hold="why")
    lock = Lock(pins=(pin, pin._replace(id="second", hold=None)), holds=(LockedHold(id="third", reason="out"),))
    yield Report(command="lock", target=TARGET, locking=LockWritten(path="x", lock=lock, data=b"a", changed=True))
    yield Report(command="lock", target=TARGET, locking=LockWritten(path=None, lock=lock, data=b"a"), alone="lock")
    findings = tuple(PinFinding(pin, state, "why") for state in PinState)
    extra = (Extra(id="more", hold=None), Extra(id="held", hold="why"))
    review = Review(file="x", findings=findings, held=lock.holds, extra=extra, new=("fifth",))
    yield Report(command="check", target=TARGET, review=review, digest=f"patchctl1:{DIGEST}")


def lint_report(proof: Proof | None = None, *, matrix: bool = False) -> Report:
    problem = Problem(
        code="c", message="m", hint="h", patch="first", path="p/patch.toml", line=3, key="variant[0].diff"
    )
    findings = (Graded(grade=Grade.ERROR, problem=problem), Graded(grade=Grade.WARNING, problem=problem))
    roots = (ROOT,)
    found = LintReport(roots=roots, findings=findings, entries=1, diffs=1)
    if proof is not None:
        found = found._replace(proof=proof, matrix=matrix)
    return Report(command="lint", outcome=Outcome.ATTENTION, lint=found)


def advise_report() -> Report:
    (launch,) = launches_in("A=1 vllm serve m --speculative-config.method dspark --foo 1 $ARGS")
    launch = with_config(launch, "c.yaml", {"port": 80})
    ways = (
        Way(avoid=PATCH.avoid[0], in_force=True, launch=launch),
        Way(avoid=PATCH.avoid[0], problem="it cannot be made"),
    )
    entries = tuple(
        EntryAdvice(patch=PATCH, exposure=exposure, reason="why", coverage=coverage, remedy=True, ways=ways)
        for exposure, coverage in itertools.product(Exposure, Coverage)
    )
    found = LaunchAdvice(
        source="the line",
        launch=launch,
        model=ModelNames(names=("m",), sure=True),
        entries=entries,
        corrected=launch,
        remaining=("first",),
        stale=True,
    )
    nothing = LaunchAdvice(source="", launch=None, model=ModelNames(), entries=())
    return Report(command="advise", advice=Advice(launches=(found, nothing), chips=("sm90",), chips_from="--gpu"))


def advise_unknown_report() -> Report:
    return Report(command="advise", advice=Advice(launches=(), chips=None, chips_from="the GPU is not known"))


def published_report() -> Report:
    published = Publication(shape="md", state="printed", text="a page\n")
    return Report(command="report", target=TARGET, publication=published)


def preflight_report() -> Report:
    alike = (Alike(path="vllm/c.py", equal=5, size=7),)
    moved = Moved(path="vllm/a.py", symbol="A.run", paths=("vllm/b.py",), more=1, fits=("vllm/b.py",), alike=alike)
    swap = Swap(
        distribution="vllm",
        before="0.20.0+das.dtk2604",
        after="0.26.0",
        change=BuildChange.UPGRADE,
        same_files=False,
    )
    found = assessment()
    forecasts = (
        Forecast(
            id="first",
            now=found,
            there=found,
            fate=Fate.VANISHES,
            protection=Protection.LOST,
            moved=(moved, moved._replace(symbol=None)),
            rest=(FileEdit(path="vllm/a.py", kind=EditKind.MODIFY, before=b"1", after=b"2"),),
        ),
        Forecast(id="second", now=found, there=None, fate=Fate.UNKNOWN, protection=Protection.UNKNOWN, reason="a tie"),
    )
    prospect = Prospect(
        path="vllm.whl",
        kind="wheel",
        target=TARGET,
        swaps=(swap, swap._replace(before=None, change=None, same_files=None)),
        forecasts=forecasts,
        steps=("patchctl check",),
        notes=("a note",),
        warnings=(PROBLEM,),
        errors=(PROBLEM,),
    )
    unread = Prospect(path="none.whl", errors=(PROBLEM,))
    return Report(
        command="preflight",
        outcome=Outcome.CANNOT_ANSWER,
        target=TARGET,
        prospects=(prospect, unread),
        errors=(PROBLEM,),
    )


def hits_report() -> Report:
    stamp = Stamp(second=1_783_000_000, utc=True)
    count = EntryCount(
        id="first",
        title="First",
        lines=10,
        hits=5.0,
        ranks=2,
        ranks_from="seen",
        kinds=(("pad", 10),),
        kind_group="kind",
        instances=(("a.log", 10),),
        cells=(("pad", "a.log", 10),),
        writers=(("Worker", 10),),
        hours=((495_277, 9),),
        undated=1,
        first=stamp,
        last=stamp,
        numbers=(("embeddings", Number(lines=10, total=3030, least=300, most=306)),),
        mismatch=Mismatch(names=("embeddings", "placeholders"), values=(300, 327), stamp=stamp),
        spikes=(Spike(hour=495_277, lines=9, limit=2.5),),
        passed_over=(("continuation", 2),),
    )
    counted = Counted(entries=(count,), requests=(("a.log", 7),), size=1000, long_lines=1, clock="utc")
    return Report(command="hits", hits=Incidence(counted=counted, logs=("a.log",), scope="registry", by="file"))


def documents() -> Iterator[dict[str, Any]]:
    for report in (
        status_report(),
        change_report(),
        unfinished_report(),
        listing_report(detailed=False),
        listing_report(detailed=True),
        failure_report(),
        verify_report(),
        doctor_report(),
        history_report(),
        ps_report(),
        advise_report(),
        advise_unknown_report(),
        *lock_reports(),
        lint_report(),
        lint_report(proof()),
        lint_report(proof(), matrix=True),
        published_report(),
        preflight_report(),
        hits_report(),
    ):
        yield document(report, EXIT_CODES[report.outcome])


class TestTheSchema:
    def test_is_a_schema_itself(self) -> None:
        Draft202012Validator.check_schema(published_schema())
        Draft202012Validator.check_schema(closed_schema())

    def test_has_the_number_that_documents_carry(self) -> None:
        assert published_schema()["properties"]["schema"]["const"] == SCHEMA

    @pytest.mark.parametrize(
        ("place", "words"),
        [
            ("patch/verdict", Verdict),
            ("patch/need", Need),
            ("patch/action", Action),
            ("patch/kind", Kind),
            ("patch/severity", Severity),
            ("entry/kind", Kind),
            ("entry/severity", Severity),
            ("match/rule", MatchRule),
            ("file/fit", Fit),
            ("script_line/mark", Mark),
            ("script_line/remark", Remark),
            ("line_ends/diff", LineEnd),
            ("line_ends/file", LineEnd),
            ("fix_finding/status", FixStatus),
            ("fix_finding/role", FixRole),
            ("fix/role", FixRole),
            ("advice_entry/exposure", Exposure),
            ("advice_entry/coverage", Coverage),
            ("advice_entry/severity", Severity),
            ("item/status", ItemStatus),
            ("edit/kind", EditKind),
            ("checked/state", FileState),
            ("process/age", Age),
            ("pin/state", PinState),
            ("lint_finding/severity", Grade),
            ("lint_tree/kind", CandidateKind),
            ("lint_place/kind", CandidateKind),
            ("lint_cell/fit", Fit),
            ("lint_cell/need", Need),
            ("lint_fix/role", FixRole),
            ("lint_fix/status", FixStatus),
            ("forecast/fate", Fate),
            ("forecast/protection", Protection),
            ("forecast/kind", Kind),
            ("forecast/severity", Severity),
            ("forecast/fix_status", FixStatus),
            ("build_change/change", BuildChange),
            ("candidate/kind", CandidateKind),
            ("standing/verdict", Verdict),
            ("standing/need", Need),
            ("standing/action", Action),
        ],
    )
    def test_knows_the_words_of_the_code(self, place: str, words: type[Enum]) -> None:
        name, _, key = place.partition("/")
        allowed = published_schema()["$defs"][name]["properties"][key]["enum"]
        assert set(allowed) - {None} == {word.value for word in words}
        assert len(allowed) == len(set(allowed))

    def test_knows_the_verbs_and_the_exit_codes(self) -> None:
        properties = published_schema()["properties"]
        assert set(properties["command"]["enum"]) == set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
        assert set(properties["exit_code"]["enum"]) == set(EXIT_CODES.values())

    def test_says_of_every_key_what_it_is(self) -> None:
        bare = [f"{where}.{key}" for where, key, node in keys(published_schema()) if not node.get("description")]
        assert bare == []

    def test_asks_for_every_key_that_is_always_there(self) -> None:
        schema = published_schema()
        optional = {
            f"{where}.{key}"
            for where, node in objects(schema)
            for key in node["properties"]
            if key not in node["required"]
        }
        detailed = {f"#/$defs/entry.{key}" for key in schema["$defs"]["entry"]["dependentRequired"]["why"]}
        some_verbs = {"#.registries", "#.entries", "#.verification", "#.diagnosis", "#.lint", "#.candidates"}
        some_verbs |= {"#.lock", "#.digest", "#.report", "#.advice"}
        audit = {"#.hits", "#.history", "#.processes", "#.caches", "#.steps", "#/$defs/processes.changed_at"}
        timed = {"#/$defs/process.started_at", "#/$defs/process.seconds"}
        assert optional == {*some_verbs, "#/$defs/entry.why", *detailed, *audit, *timed}


class TestDocuments:
    def test_are_described_whole(self) -> None:
        assert [complaints(found) for found in documents()] == [[]] * 21

    def test_have_every_key_that_is_described(self) -> None:
        schema = published_schema()
        seen: set[tuple[str, str]] = set()
        for found in documents():
            walk(schema, "#", schema, found, seen)
        assert {(where, key) for where, key, _ in keys(schema)} == seen

    def test_may_gain_keys_that_an_older_reader_does_not_know(self) -> None:
        found = document(status_report(), 0)
        found["news"] = 1
        found["patches"][0]["files"][0]["hunks"][0]["fuzz"] = 0
        assert complaints(found, schema=published_schema()) == []
        assert len(complaints(found)) == 2

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda found: found.pop("errors"),
            lambda found: found.update(schema=2),
            lambda found: found.update(command="aply"),
            lambda found: found.update(exit_code=6),
            lambda found: found.update(target="/srv"),
            lambda found: found.update(entries=[]),
            lambda found: found.update(notes=[1]),
            lambda found: found["target"].pop("site"),
            lambda found: found["target"]["distributions"][0].update(fingerprint="sha256=x"),
            lambda found: found["warnings"][0].update(code="Variant Tie"),
            lambda found: found["warnings"][0].update(line=0),
            lambda found: found["patches"][0].update(verdict="fine"),
            lambda found: found["patches"][0].update(need=None),
            lambda found: found["patches"][0].update(action="aply"),
            lambda found: found["patches"][0].update(kind="hotfix"),
            lambda found: found["patches"][0].update(despite_fix="no"),
            lambda found: found["patches"][0]["match"].update(rule="fuzzy"),
            lambda found: found["patches"][0]["fixes"][0].update(status="merged"),
            lambda found: found["patches"][0]["fixes"][0]["evidence"][0].update(status="proven"),
            lambda found: found["patches"][0]["files"][0].update(fit="drifted"),
            lambda found: found["patches"][0]["files"][0].update(path="/etc/passwd"),
            lambda found: found["patches"][0]["files"][0]["hunks"][0].update(number="1"),
        ],
    )
    def test_that_are_wrong_are_refused(self, spoil: Callable[[dict[str, Any]], object]) -> None:
        found = copy.deepcopy(document(status_report(), 0))
        assert complaints(found, schema=published_schema()) == []
        spoil(found)
        assert complaints(found, schema=published_schema()) != []

    @pytest.mark.parametrize("key", ["edits", "state", "success"])
    def test_of_a_change_are_held_to_their_words(self, key: str) -> None:
        found = document(change_report(), 0)
        change = found["transaction"]
        if key == "edits":
            change["files"][0]["kind"] = "rename"
        elif key == "state":
            change["state"] = "done"
        else:
            change["state"] = "unfinished"  # and exit code 0
        assert complaints(found, schema=published_schema()) != []

    def test_of_show_have_whole_entries(self) -> None:
        found = document(listing_report(detailed=True), 0)
        for key in ("why", "avoid"):
            spoilt = copy.deepcopy(found)
            del spoilt["entries"][0][key]
            assert complaints(spoilt, schema=published_schema()) != []


def objects(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every described object of the schema, with its place."""
    yield "#", schema
    for name, node in schema["$defs"].items():
        if "properties" in node:
            yield f"#/$defs/{name}", node


def keys(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every described key: the place of its object, its name, its schema."""
    for where, node in objects(schema):
        for key, inner in node["properties"].items():
            yield where, key, inner


def walk(schema: dict[str, Any], where: str, node: dict[str, Any], value: Any, seen: set[tuple[str, str]]) -> None:
    """Note every described key that ``value`` has, following references."""
    if "$ref" in node:
        where = node["$ref"]
        node = schema["$defs"][where.rpartition("/")[2]]
    for choice in node.get("anyOf", ()):
        if choice.get("type") != "null":
            walk(schema, where, choice, value, seen)
    if isinstance(value, list) and "items" in node:
        for item in value:
            walk(schema, where, node["items"], item, seen)
    if isinstance(value, dict):
        for key, inner in node.get("properties", {}).items():
            if key in value:
                seen.add((where, key))
                walk(schema, where, inner, value[key], seen)
