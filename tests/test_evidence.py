"""The fix row of the facts table: what evidence on base bytes and the version's claim come to."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Mapping

import pytest

from patchctl.evidence import (
    FixFinding,
    FixStatus,
    ItemStatus,
    Sought,
    files_named,
    judge_fix,
    judge_fixes,
    sought,
)
from patchctl.evidence.installed import KEPT
from patchctl.evidence.judge import fix_status
from patchctl.model import EvidenceItem, Fix, FixRole

FILE = "pkg/manager.py"
FIXED = b"class Manager:\n    def start(self):\n        self.done = True\n\n    def stop(self): pass\n"
BROKEN = FIXED.replace(b"self.done = True", b"pass")
WITHOUT_SYMBOL = b"class Manager:\n    def stop(self): pass\n"
ITEM = EvidenceItem(file=FILE, symbol="Manager.start", contains="self.done = True")


def fix_of(*evidence: EvidenceItem, role: FixRole = FixRole.FIXES) -> Fix:
    return Fix(ref="owner/project#1", role=role, evidence=evidence)


def search(pattern: str, text: str) -> bool | None:
    """The shell's search without its deadline; a pattern that says so stands for one that takes too long."""
    return None if "too slow" in pattern else re.search(pattern, text) is not None


def judged(
    *evidence: EvidenceItem,
    claimed: bool = False,
    files: Mapping[str, bytes | None] | None = None,
    elsewhere: Mapping[str, tuple[str, ...]] | None = None,
    unreadable: tuple[str, ...] = (),
) -> FixFinding:
    return judge_fix(
        fix_of(*evidence),
        files={FILE: FIXED} if files is None else files,
        claimed=claimed,
        search=search,
        elsewhere=elsewhere or {},
        unreadable=unreadable,
    )


@pytest.mark.parametrize("claimed", [True, False])
def test_evidence_that_holds_proves_the_fix_whatever_the_version_claims(claimed: bool) -> None:
    finding = judged(ITEM, claimed=claimed)
    assert finding.status is FixStatus.PROVEN
    assert finding.claimed is claimed
    assert finding.reason == "pkg/manager.py: Manager.start contains `self.done = True`"


def test_evidence_that_fails_contradicts_a_claim() -> None:
    finding = judged(ITEM, claimed=True, files={FILE: BROKEN})
    assert finding.status is FixStatus.CONTRADICTED
    assert finding.reason.startswith("the version claims it, but pkg/manager.py: Manager.start does not contain")


def test_evidence_that_fails_without_a_claim_is_absent() -> None:
    assert judged(ITEM, files={FILE: BROKEN}).status is FixStatus.ABSENT


@pytest.mark.parametrize("claimed", [True, False])
@pytest.mark.parametrize(
    ("files", "elsewhere"),
    [
        ({FILE: None}, {"manager.py": ("pkg/core/manager.py",)}),
        ({}, {"manager.py": ("pkg/core/manager.py",)}),
        ({FILE: None}, {"Manager": ("pkg/core/boss.py",)}),
        ({FILE: WITHOUT_SYMBOL}, {"start": ("pkg/mixin.py",)}),
        ({FILE: b"x = 1\n"}, {"Manager": ("pkg/core/boss.py",)}),
    ],
)
def test_what_is_gone_here_and_found_elsewhere_has_moved(
    files: Mapping[str, bytes | None], elsewhere: Mapping[str, tuple[str, ...]], claimed: bool
) -> None:
    finding = judged(ITEM, claimed=claimed, files=files, elsewhere=elsewhere)
    assert finding.status is FixStatus.MOVED
    assert finding.items[0].elsewhere == next(iter(elsewhere.values()))
    assert finding.items[0].elsewhere[0] in finding.reason


@pytest.mark.parametrize("files", [{FILE: None}, {}, {FILE: WITHOUT_SYMBOL}, {FILE: b""}])
@pytest.mark.parametrize(("claimed", "status"), [(False, FixStatus.ABSENT), (True, FixStatus.UNKNOWN)])
def test_what_is_gone_everywhere_is_absent_or_when_claimed_unknown(
    files: Mapping[str, bytes | None], claimed: bool, status: FixStatus
) -> None:
    finding = judged(ITEM, claimed=claimed, files=files)
    assert finding.status is status
    assert finding.items[0].status is ItemStatus.GONE


@pytest.mark.parametrize(("claimed", "status"), [(False, FixStatus.ABSENT), (True, FixStatus.CLAIMED)])
def test_without_evidence_there_is_only_the_claim(claimed: bool, status: FixStatus) -> None:
    assert judged(claimed=claimed).status is status


@pytest.mark.parametrize("claimed", [True, False])
@pytest.mark.parametrize("data", [FIXED + b"x = = 1\n", FIXED + b"'\xff'\n", FIXED + b"\0", b"#" * 4_200_000 + FIXED])
def test_a_file_that_cannot_be_parsed_decoded_or_is_too_large_is_unknown_never_proven(
    data: bytes, claimed: bool
) -> None:
    finding = judged(ITEM, claimed=claimed, files={FILE: data})
    assert finding.status is FixStatus.UNKNOWN
    assert FILE in finding.reason


@pytest.mark.parametrize("data", [FIXED, None])
def test_a_file_whose_base_is_not_known_is_unknown(data: bytes | None) -> None:
    assert judged(ITEM, files={FILE: data}, unreadable=(FILE,)).status is FixStatus.UNKNOWN


def test_all_items_must_hold() -> None:
    other = EvidenceItem(file="pkg/other.py", contains="fixed = True")
    assert judged(ITEM, other, files={FILE: FIXED, "pkg/other.py": b"fixed = True\n"}).status is FixStatus.PROVEN
    assert judged(ITEM, other, files={FILE: FIXED, "pkg/other.py": b"fixed = 1\n"}).status is FixStatus.ABSENT
    assert judged(ITEM, other, files={FILE: FIXED}, claimed=True).status is FixStatus.UNKNOWN


def test_the_table_of_all_combinations_of_three_items() -> None:
    """Restated row by row; only items that all hold make a fix proven."""
    for items in itertools.product(ItemStatus, repeat=3):
        for claimed in (True, False):
            status = fix_status(items, claimed=claimed)
            assert (status is FixStatus.PROVEN) == (set(items) == {ItemStatus.HOLDS})
            if status is FixStatus.PROVEN:
                continue
            if ItemStatus.FAILS in items:
                assert status is (FixStatus.CONTRADICTED if claimed else FixStatus.ABSENT)
            elif ItemStatus.MOVED in items:
                assert status is FixStatus.MOVED
            elif ItemStatus.GONE in items:
                assert status is (FixStatus.UNKNOWN if claimed else FixStatus.ABSENT)
            else:
                assert status is FixStatus.UNKNOWN


@pytest.mark.parametrize("role", list(FixRole))
def test_the_role_makes_no_difference_to_what_the_bytes_show(role: FixRole) -> None:
    finding = judge_fix(fix_of(ITEM, role=role), files={FILE: FIXED}, claimed=False, search=search)
    assert finding.status is FixStatus.PROVEN


# -- absent = code that must not be there


ABSENT = EvidenceItem(file=FILE, symbol="Manager.start", absent="pass")


def test_absent_holds_only_in_a_symbol_that_is_there() -> None:
    assert judged(ABSENT, files={FILE: FIXED}).status is FixStatus.PROVEN
    assert judged(ABSENT, files={FILE: BROKEN}).status is FixStatus.ABSENT
    assert judged(ABSENT, files={FILE: BROKEN}, claimed=True).status is FixStatus.CONTRADICTED


@pytest.mark.parametrize("files", [{FILE: None}, {FILE: WITHOUT_SYMBOL}, {FILE: b""}, {}])
def test_a_missing_file_or_symbol_is_no_fix_for_absent_either(files: Mapping[str, bytes | None]) -> None:
    assert judged(ABSENT, files=files).status is FixStatus.ABSENT
    assert judged(ABSENT, files=files, claimed=True).status is FixStatus.UNKNOWN


def test_absent_needs_every_definition_of_the_name_without_it_and_contains_only_one_with_it() -> None:
    data = b"if a:\n    def f(): return old\nelse:\n    def f(): return new\n"
    files = {FILE: data}
    assert judged(EvidenceItem(file=FILE, symbol="f", absent="old"), files=files).status is FixStatus.ABSENT
    assert judged(EvidenceItem(file=FILE, symbol="f", contains="new"), files=files).status is FixStatus.PROVEN
    assert judged(EvidenceItem(file=FILE, symbol="f", absent="gone"), files=files).status is FixStatus.PROVEN


# -- contains, as tokens


@pytest.mark.parametrize(
    "body",
    [
        "grammar.set_exception(error)",
        "grammar . set_exception(\n            error,  # why\n        )",
        "grammar.\\\n            set_exception(error)",
        "x = [grammar.set_exception(error) for error in errors]",
    ],
)
def test_formatting_and_comments_make_no_difference(body: str) -> None:
    data = f"class Manager:\n    def start(self):\n        {body}\n".encode()
    item = EvidenceItem(file=FILE, symbol="Manager.start", contains="grammar.set_exception(error")
    assert judged(item, files={FILE: data}).status is FixStatus.PROVEN


@pytest.mark.parametrize(
    "body",
    [
        '"""grammar.set_exception(error)"""',
        "pass  # grammar.set_exception(error)",
        "log(f'{grammar.set_exception(error)}')",
        "grammar.set_exception_later(error)",
        "grammar.not_set; set_exception(error)",
    ],
)
def test_strings_comments_and_longer_names_prove_nothing(body: str) -> None:
    data = f"class Manager:\n    def start(self):\n        {body}\n".encode()
    item = EvidenceItem(file=FILE, symbol="Manager.start", contains="grammar.set_exception(error)")
    assert judged(item, files={FILE: data}).status is FixStatus.ABSENT


def test_code_in_another_symbol_or_in_quoted_code_proves_nothing() -> None:
    quoted = b'TEMPLATE = """\nclass Manager:\n    def start(self):\n        self.done = True\n"""\n'
    assert judged(ITEM, files={FILE: quoted}).status is FixStatus.ABSENT
    assert judged(ITEM, files={FILE: quoted + BROKEN}).status is FixStatus.ABSENT
    other = BROKEN.replace(b"def stop(self): pass", b"def stop(self): self.done = True")
    assert judged(ITEM, files={FILE: other}).status is FixStatus.ABSENT


@pytest.mark.parametrize("claimed", [True, False])
def test_a_definition_that_only_a_string_quotes_is_gone_for_every_kind_of_evidence(claimed: bool) -> None:
    files = {FILE: b'TEMPLATE = """\nclass Manager:\n    def start(self):\n        self.done = True\n"""\n'}
    absent = EvidenceItem(file=FILE, symbol="Manager.start", absent="pass")
    matches = EvidenceItem(file=FILE, symbol="Manager.start", matches="done")
    for item in (ITEM, absent, matches):
        assert judged(item, files=files, claimed=claimed).items[0].status is ItemStatus.GONE


def test_without_a_symbol_the_whole_file_is_searched() -> None:
    assert judged(EvidenceItem(file=FILE, contains="class Manager: def start")).status is FixStatus.PROVEN
    assert judged(EvidenceItem(file=FILE, contains="class Boss:")).status is FixStatus.ABSENT
    assert judged(EvidenceItem(file=FILE, absent="class Boss:")).status is FixStatus.PROVEN


@pytest.mark.parametrize("piece", ["start(", "):\n    self.done", "self.done = True\n\ndef stop(self): pass"])
def test_a_needle_may_be_a_piece_with_open_brackets_or_several_lines(piece: str) -> None:
    item = EvidenceItem(file=FILE, symbol="Manager", contains=piece)
    assert judged(item, files={FILE: FIXED.replace(b"start(self):", b"start(self\n    ):")}).status is FixStatus.PROVEN


def test_a_needle_in_another_alphabet_of_line_ends_is_the_same() -> None:
    item = EvidenceItem(file=FILE, symbol="f", contains='"""a\r\nb"""\r\nreturn')
    assert judged(item, files={FILE: b'def f():\r\n    """a\r\nb"""\r\n    return 1\r\n'}).status is FixStatus.PROVEN


@pytest.mark.parametrize("needle", ["", "   ", "# only a comment", "'open", "a ? b"])
def test_a_needle_without_tokens_is_no_evidence(needle: str) -> None:
    there = EvidenceItem(file=FILE, symbol="Manager.start", contains=needle)
    not_there = EvidenceItem(file=FILE, symbol="Manager.start", absent=needle)
    assert judged(there, claimed=True).status is FixStatus.UNKNOWN
    assert judged(not_there, claimed=True).status is FixStatus.UNKNOWN


def test_an_item_that_looks_for_nothing_is_no_evidence() -> None:
    assert judged(EvidenceItem(file=FILE, symbol="Manager.start")).status is FixStatus.UNKNOWN


# -- matches


@pytest.mark.parametrize(
    ("item", "status"),
    [
        (EvidenceItem(file=FILE, symbol="Manager.start", matches=r"done\s*=\s*True"), FixStatus.PROVEN),
        (EvidenceItem(file=FILE, symbol="Manager.start", matches=r"def stop"), FixStatus.CONTRADICTED),
        (EvidenceItem(file=FILE, matches=r"def stop"), FixStatus.PROVEN),
        (EvidenceItem(file=FILE, symbol="Manager.gone", matches=r"def"), FixStatus.UNKNOWN),
        (EvidenceItem(file="pkg/gone.py", matches=r"def"), FixStatus.UNKNOWN),
        (EvidenceItem(file=FILE, symbol="Manager.start", matches=r"too slow"), FixStatus.UNKNOWN),
    ],
)
def test_a_pattern_is_searched_in_the_source_text(item: EvidenceItem, status: FixStatus) -> None:
    assert judged(item, claimed=True).status is status


@pytest.mark.attack("regex-stall")
def test_a_pattern_without_an_answer_is_named() -> None:
    assert "`too slow`" in judged(EvidenceItem(file=FILE, matches="too slow")).reason


def test_a_pattern_over_a_whole_file_needs_no_python() -> None:
    assert (
        judged(EvidenceItem(file="c.json", matches='"k": 1'), files={"c.json": b'{"k": 1}'}).status is FixStatus.PROVEN
    )


# -- alternatives


OLD = EvidenceItem(file="pkg/old.py", symbol="f", contains="fixed")
NEW = EvidenceItem(file="pkg/new.py", symbol="f", contains="fixed")
EITHER = EvidenceItem(alternatives=(OLD, NEW))
YES, NO = b"def f(): fixed\n", b"def f(): pass\n"


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        (YES, None, ItemStatus.HOLDS),
        (None, YES, ItemStatus.HOLDS),
        (NO, YES, ItemStatus.HOLDS),
        (b"def f(:fixed", YES, ItemStatus.HOLDS),
        (NO, None, ItemStatus.FAILS),
        (NO, b"def f(:fixed", ItemStatus.UNKNOWN),
        (None, None, ItemStatus.GONE),
    ],
)
def test_one_alternative_must_hold(old: bytes | None, new: bytes | None, status: ItemStatus) -> None:
    finding = judged(EITHER, files={"pkg/old.py": old, "pkg/new.py": new})
    assert finding.items[0].status is status


def test_an_alternative_that_fails_in_its_place_beats_one_that_has_moved() -> None:
    """A namesake in another module must not turn a contradicted claim into a mere move."""
    finding = judged(EITHER, files={"pkg/old.py": NO}, elsewhere={"f": ("pkg/far.py",)}, claimed=True)
    assert finding.status is FixStatus.CONTRADICTED


def test_alternatives_that_are_all_gone_have_moved_when_one_is_found() -> None:
    finding = judged(EITHER, files={}, elsewhere={"new.py": ("pkg/sub/new.py",)})
    assert finding.status is FixStatus.MOVED
    assert "none of 2 alternatives holds" in finding.reason


# -- diff


BEFORE = b"".join(b"line %d\n" % number for number in range(30))
AFTER = BEFORE.replace(b"line 12\n", b"line 12 mended\n")


def diff_of(before: bytes, after: bytes, path: str = FILE) -> bytes:
    lines = difflib.unified_diff(
        before.decode().splitlines(True), after.decode().splitlines(True), f"a/{path}", f"b/{path}"
    )
    return "".join(lines).encode()


DIFF = EvidenceItem(diff=diff_of(BEFORE, AFTER))


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (AFTER, ItemStatus.HOLDS),
        (b"added on top\n" + AFTER, ItemStatus.HOLDS),
        (BEFORE, ItemStatus.FAILS),
        (b"", ItemStatus.FAILS),
        (b"added on top\n" + AFTER + BEFORE, ItemStatus.UNKNOWN),
        (None, ItemStatus.GONE),
    ],
)
def test_a_diff_is_evidence_when_all_its_hunks_fit_in_reverse(data: bytes | None, status: ItemStatus) -> None:
    assert judged(DIFF, files={FILE: data}).items[0].status is status


def test_every_file_of_a_diff_must_have_it() -> None:
    both = EvidenceItem(diff=diff_of(BEFORE, AFTER) + diff_of(BEFORE, AFTER, "pkg/b.py"))
    assert judged(both, files={FILE: AFTER, "pkg/b.py": AFTER}).status is FixStatus.PROVEN
    assert judged(both, files={FILE: AFTER, "pkg/b.py": BEFORE}).status is FixStatus.ABSENT
    assert judged(both, files={FILE: AFTER}, claimed=True).status is FixStatus.UNKNOWN
    moved = judged(both, files={FILE: AFTER}, elsewhere={"b.py": ("pkg/c/b.py",)})
    assert moved.status is FixStatus.MOVED
    assert judged(both, files={FILE: AFTER}, unreadable=("pkg/b.py",)).status is FixStatus.UNKNOWN


@pytest.mark.parametrize("data", [b"", b"no diff at all\n", DIFF.diff[:-20] if DIFF.diff else b""])
def test_a_broken_diff_is_no_evidence(data: bytes) -> None:
    assert judged(EvidenceItem(diff=data), files={FILE: AFTER}).status is FixStatus.UNKNOWN


def test_a_diff_that_removes_a_file_proves_nothing() -> None:
    removal = b"--- a/pkg/manager.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
    assert judged(EvidenceItem(diff=removal), files={FILE: None}).status is FixStatus.UNKNOWN
    assert judged(EvidenceItem(diff=removal), files={FILE: b"a\nb\n"}).status is FixStatus.ABSENT


MOVED = "pkg/moved/manager.py"


def renaming(*, hunks: bool) -> EvidenceItem:
    git = f"diff --git a/{FILE} b/{MOVED}\nrename from {FILE}\nrename to {MOVED}\n".encode()
    names = diff_of(BROKEN, FIXED).replace(f"b/{FILE}".encode(), f"b/{MOVED}".encode())
    return EvidenceItem(file="", diff=git + (names if hunks else b""))


@pytest.mark.parametrize(
    ("files", "status"),
    [
        ({MOVED: FIXED}, ItemStatus.HOLDS),
        ({MOVED: BROKEN}, ItemStatus.FAILS),
        ({FILE: b"from pkg.moved.manager import *\n", MOVED: FIXED}, ItemStatus.HOLDS),
        ({FILE: BROKEN, MOVED: BROKEN}, ItemStatus.FAILS),
        ({FILE: FIXED}, ItemStatus.GONE),
        ({FILE: BROKEN}, ItemStatus.GONE),
    ],
    ids=["in it", "not in it", "in it, and a module is left", "not in it, and both are there", "not moved", "neither"],
)
def test_of_a_diff_that_renames_what_it_edits_the_new_name_decides(files: dict[str, bytes], status: ItemStatus) -> None:
    found = {FILE: None, MOVED: None} | files
    assert judged(renaming(hunks=True), files=found).items[0].status is status


def test_a_name_or_a_mode_alone_proves_nothing() -> None:
    mode = f"diff --git a/{FILE} b/{FILE}\nold mode 100644\nnew mode 100755\n".encode()
    for item, word in ((renaming(hunks=False), "renames"), (EvidenceItem(file="", diff=mode), "changes its mode")):
        (finding,) = judged(item, files={FILE: FIXED, MOVED: FIXED}).items
        assert finding.status is ItemStatus.UNKNOWN
        assert f"the upstream diff only {word}" in finding.reason


def test_a_diff_that_adds_a_file_holds_when_the_file_is_that() -> None:
    addition = b"--- /dev/null\n+++ b/pkg/manager.py\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    assert judged(EvidenceItem(diff=addition), files={FILE: b"a\nb\n"}).status is FixStatus.PROVEN
    assert judged(EvidenceItem(diff=addition), files={FILE: b"a\nc\n"}).status is FixStatus.ABSENT
    assert judged(EvidenceItem(diff=addition), files={FILE: None}).status is FixStatus.ABSENT


def test_a_diff_that_does_not_change_the_file_it_is_given_for_is_no_evidence() -> None:
    assert judged(EvidenceItem(file="pkg/b.py", diff=DIFF.diff), files={FILE: AFTER}).status is FixStatus.UNKNOWN
    assert judged(EvidenceItem(file=FILE, diff=DIFF.diff), files={FILE: AFTER}).status is FixStatus.PROVEN


# -- what to read and what to search for


def test_every_file_that_evidence_reads_is_named() -> None:
    nested = EvidenceItem(alternatives=(OLD, EvidenceItem(alternatives=(NEW, DIFF))))
    broken = EvidenceItem(file="pkg/x.py", diff=b"broken")
    assert files_named([fix_of(ITEM, nested), fix_of(broken), fix_of()]) == {
        FILE,
        "pkg/old.py",
        "pkg/new.py",
        "pkg/x.py",
    }


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (FIXED, set()),
        (BROKEN, set()),
        (None, {Sought(file=FILE), Sought(file=FILE, symbol="Manager")}),
        (b"x = 1\n", {Sought(file=FILE, symbol="Manager")}),
        (WITHOUT_SYMBOL, {Sought(file=FILE, symbol="Manager.start")}),
        (b"'\xff'", set()),
    ],
)
def test_what_is_not_in_its_place_is_sought(data: bytes | None, expected: set[Sought]) -> None:
    assert sought([fix_of(ITEM)], {FILE: data}) == expected


def test_sought_names_are_what_a_file_or_definition_is_called() -> None:
    assert Sought(file="a/b.py").name == "b.py"
    assert Sought(file="a/b.py", symbol="Manager.start").name == "start"


def test_a_conditional_definition_is_in_its_place() -> None:
    item = EvidenceItem(file=FILE, symbol="f", contains="x")
    assert sought([fix_of(item)], {FILE: b"if a:\n    def f(): pass\nx = f\n"}) == set()


def test_nothing_is_sought_for_a_fix_that_fails_anyway_nor_for_one_with_an_alternative_in_place() -> None:
    gone = EvidenceItem(file="pkg/gone.py", contains="x")
    assert sought([fix_of(ITEM, gone)], {FILE: BROKEN}) == set()
    assert sought([fix_of(ITEM, gone)], {FILE: FIXED}) == {Sought(file="pkg/gone.py")}
    assert sought([fix_of(EITHER)], {"pkg/old.py": NO}) == set()
    assert sought([fix_of(EITHER)], {"pkg/new.py": YES}) == set()
    assert {found.file for found in sought([fix_of(EITHER)], {})} == {"pkg/old.py", "pkg/new.py"}


def test_nothing_is_sought_for_a_file_whose_base_is_not_known() -> None:
    assert sought([fix_of(ITEM)], {}, unreadable=(FILE,)) == set()
    assert sought([fix_of(DIFF)], {}, unreadable=(FILE,)) == set()
    assert sought([fix_of(DIFF)], {}) == {Sought(file=FILE)}


def test_an_init_file_is_not_sought_by_its_name() -> None:
    item = EvidenceItem(file="pkg/sub/__init__.py", symbol="Manager.start", contains="x")
    assert sought([fix_of(item)], {}) == {Sought(file="pkg/sub/__init__.py", symbol="Manager")}


def test_a_namesake_in_the_same_file_is_not_elsewhere() -> None:
    finding = judged(ITEM, files={FILE: WITHOUT_SYMBOL}, elsewhere={"start": (FILE,)})
    assert finding.status is FixStatus.ABSENT


def test_a_reason_spells_out_the_first_paths_only() -> None:
    paths = tuple(f"pkg/{letter}.py" for letter in "fedcba")
    finding = judged(ITEM, files={}, elsewhere={"Manager": paths})
    assert finding.items[0].elsewhere == tuple(sorted(paths))
    assert finding.reason.endswith("found in pkg/a.py, pkg/b.py, pkg/c.py and 3 more")


def test_fixes_about_more_files_than_are_kept_are_judged_as_each_alone() -> None:
    fixes = [fix_of(ITEM._replace(file=f"pkg/{number % (KEPT + 9)}.py")) for number in range(2 * KEPT)]
    files = {f"pkg/{number}.py": FIXED if number % 3 else NO for number in range(KEPT + 9)}
    together = judge_fixes(fixes, files=files, claimed=lambda _: False, search=search)
    assert list(together) == [judge_fix(fix, files=files, claimed=False, search=search) for fix in fixes]
    assert {finding.status for finding in together} == {FixStatus.PROVEN, FixStatus.ABSENT}


def test_several_fixes_are_judged_as_each_alone() -> None:
    fixes = [fix_of(ITEM), fix_of(), fix_of(EITHER)]
    files = {FILE: FIXED, "pkg/new.py": NO}
    together = judge_fixes(fixes, files=files, claimed=lambda fix: not fix.evidence, search=search)
    alone = [judge_fix(fix, files=files, claimed=not fix.evidence, search=search) for fix in fixes]
    assert list(together) == alone
    assert [finding.status for finding in together] == [FixStatus.PROVEN, FixStatus.CLAIMED, FixStatus.ABSENT]
