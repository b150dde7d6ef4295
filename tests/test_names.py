"""Every name of every kind of section, and which files an entry may touch: one row each."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from patchctl.diff import parse_diff
from patchctl.errors import DiffError
from patchctl.model.paths import LONGEST_COMPONENT, LONGEST_PATH
from tests.registries import add_entry, make_registry
from tests.running import Desk
from tests.sites import install, make_site, tree_state

MODIFIED = b"@@ -1,2 +1,2 @@\n-A = 1\n+A = 2\n # end\n"
ADDED = b"@@ -0,0 +1 @@\n+A = 2\n"
DELETED = b"@@ -1,2 +0,0 @@\n-A = 1\n-# end\n"
LETTERS = b"abcdefghijklmnopqrstuvwxyz/"
EMPTY = b"index 0000000..e69de29\n"
INDEX = b"index 1234567..89abcde 100644\n"


class Section(NamedTuple):
    """One kind of section: what it is called, its text with %(old)s and %(new)s for names, what else refuses it."""

    intent: str
    text: bytes
    before: tuple[str, ...] = ()


SECTIONS = [
    Section("a plain section that modifies", b"--- %(old)b\n+++ %(new)b\n" + MODIFIED),
    Section("a plain section that adds", b"--- /dev/null\n+++ %(new)b\n" + ADDED),
    Section("a plain section that deletes", b"--- %(old)b\n+++ /dev/null\n" + DELETED),
    Section(
        "a git section that modifies",
        b"diff --git %(old)b %(new)b\n" + INDEX + b"--- %(old)b\n+++ %(new)b\n" + MODIFIED,
    ),
    Section(
        "a git section that adds",
        b"diff --git %(old)b %(new)b\nnew file mode 100644\n--- /dev/null\n+++ %(new)b\n" + ADDED,
    ),
    Section(
        "a git section that deletes",
        b"diff --git %(old)b %(new)b\ndeleted file mode 100644\n--- %(old)b\n+++ /dev/null\n" + DELETED,
    ),
    Section("a git header alone that adds", b"diff --git %(old)b %(new)b\nnew file mode 100644\n" + EMPTY),
    Section(
        "a git header alone that deletes",
        b"diff --git %(old)b %(new)b\ndeleted file mode 100644\nindex e69de29..0000000\n",
    ),
    Section("an Index line above", b"Index: %(old)b\n" + b"=" * 67 + b"\n--- %(old)b\n+++ %(new)b\n" + MODIFIED),
    Section(
        "a rename",
        b"diff --git %(old)b %(new)b\nsimilarity index 100%%\nrename from %(bare_old)b\nrename to %(bare_new)b\n",
    ),
    Section(
        "a rename with edits",
        b"diff --git %(old)b %(new)b\nrename from %(bare_old)b\nrename to %(bare_new)b\n"
        b"--- %(old)b\n+++ %(new)b\n" + MODIFIED,
    ),
    Section(
        "a copy", b"diff --git %(old)b %(new)b\nsimilarity index 100%%\ncopy from %(old)b\ncopy to %(new)b\n", ("copy",)
    ),
    Section(
        "a link",
        b"diff --git %(old)b %(new)b\nnew file mode 120000\n--- /dev/null\n+++ %(new)b\n" + ADDED,
        ("symlink",),
    ),
    Section("a mode", b"diff --git %(old)b %(new)b\nold mode 100644\nnew mode 100755\n"),
]


class Bad(NamedTuple):
    """A name below the stripped component that no section may have, and the reason that is given."""

    intent: str
    name: bytes
    reason: str


UNSAFE = [
    Bad("above the site", b"../x.py", "contains '..'"),
    Bad("above the site by way of a package", b"vllm/../../x.py", "contains '..'"),
    Bad("back to where it was", b"vllm/../vllm/a.py", "contains '..'"),
    Bad("a name that is nothing but up", b"..", "contains '..'"),
    Bad("this directory", b"./vllm/a.py", "contains '.'"),
    Bad("this directory on the way", b"vllm/./a.py", "contains '.'"),
    Bad("absolute once it is stripped", b"/etc/passwd", "is absolute"),
    Bad("twice a slash on the way", b"vllm//a.py", "has an empty component"),
    Bad("a slash at the end", b"vllm/a.py/", "has an empty component"),
    Bad("Windows' way up", b"..\\x.py", "contains a backslash"),
    Bad("Windows' drive", b"C:\\x.py", "contains a backslash"),
    Bad("a carriage return", b"vllm/a\rb.py", "contains a control character"),
    Bad("an escape sequence", b"vllm/\x1b[2J.py", "contains a control character"),
    Bad("a NUL", b"vllm/a.py\0.txt", "contains a control character"),
    Bad("a C1 control", b"vllm/\xc2\x9b.py", "contains a control character"),
    Bad("git's own directory", b".git/hooks/post-checkout", "lies in a '.git' directory"),
    Bad("git's own directory in other letters", b"vllm/.GIT/config", "lies in a '.git' directory"),
    Bad("the installer's list", b"vllm-0.20.0.dist-info/RECORD", "belongs to the installer"),
    Bad("an older installer's list", b"vllm.egg-info/PKG-INFO", "belongs to the installer"),
    Bad("vendored metadata", b"vllm/x.dist-info/METADATA", "belongs to the installer"),
    Bad("what every start of an interpreter runs", b"a.pth", "is a '.pth' file"),
    Bad("the same in other letters", b"A.PTH", "is a '.pth' file"),
    Bad("the site's start-up module", b"sitecustomize.py", "is 'sitecustomize'"),
    Bad("the user's start-up module", b"usercustomize.py", "is 'usercustomize'"),
    Bad("a start-up module as a package", b"sitecustomize/__init__.py", "is 'sitecustomize'"),
    Bad("byte code of a start-up module", b"__pycache__/sitecustomize.cpython-311.pyc", "is 'sitecustomize'"),
    Bad("byte code", b"vllm/__pycache__/x.cpython-311.pyc", "is byte code"),
    Bad("byte code without a source", b"vllm/x.pyc", "is byte code"),
    Bad("patchctl's own state", b".patchctl/ledger.json", "lies in patchctl's own state"),
    Bad("patchctl's own state in other letters", b".PatchCtl/lock", "lies in patchctl's own state"),
    Bad("a component too long for any file system", b"a" * (LONGEST_COMPONENT + 1), "has a component longer than"),
    Bad("a path too long for the system", b"a/" * (LONGEST_PATH // 2) + b"b", "is longer than"),
]


def quoted(name: bytes) -> bytes:
    """The name as git quotes it, every byte but letters and slashes as three octal digits."""
    return b'"' + b"".join(b"%c" % byte if byte in LETTERS else b"\\%03o" % byte for byte in name) + b'"'


def bare(name: bytes) -> bytes:
    """The name without its prefix, as ``rename from`` has it."""
    quote = b'"' if name.startswith(b'"') else b""
    return quote + name.partition(b"/")[2]


def filled(section: Section, old: bytes, new: bytes) -> bytes:
    return section.text % {b"old": old, b"new": new, b"bare_old": bare(old), b"bare_new": bare(new)}


def refusal(diff: bytes, strip: int = 1) -> DiffError:
    with pytest.raises(DiffError) as caught:
        parse_diff(diff, strip=strip)
    return caught.value


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.intent)
class TestAnUnsafeName:
    def test_is_refused_on_both_sides(self, section: Section) -> None:
        wrong = []
        for bad in UNSAFE:
            # a separating blank is not looked for that far
            codes = {"unsafe-path", "names-disagree"} if len(bad.name) > LONGEST_PATH else {"unsafe-path"}
            for spelled in (bytes, quoted):
                problem = refusal(filled(section, spelled(b"a/" + bad.name), spelled(b"b/" + bad.name))).problem
                told = bad.reason in problem.message or problem.code == "names-disagree"
                if not (problem.code in section.before or (problem.code in codes and told)):
                    wrong.append((bad.intent, spelled, problem))
        assert wrong == []

    def test_is_refused_on_one_side(self, section: Section) -> None:
        wrong = []
        # what an Index line says is not believed, so it is no name
        text = section.text.rpartition(b"=\n")[2]
        named = [side for side in ("old", "new") if f"%({side})b".encode() in text]
        for bad in UNSAFE:
            for side in named:
                names = {"old": b"a/vllm/a.py", "new": b"b/vllm/a.py"}
                for spelled in (bytes, quoted):
                    problem = refusal(filled(section, **names | {side: spelled(b"a/" + bad.name)})).problem
                    if problem.code not in {"unsafe-path", "names-disagree", *section.before}:
                        wrong.append((bad.intent, side, problem))
        assert wrong == []


class Odd(NamedTuple):
    """Names that would be fine, were it not for what is stripped from them or for each other; the code they get."""

    intent: str
    diff: bytes
    code: str
    strip: int = 1


PAIR = b"--- a/vllm/a.py\n+++ b/vllm/a.py\n" + MODIFIED
HEADED = b"diff --git %b %b\n" + INDEX + PAIR

ODD = [
    Odd("up in what is stripped", PAIR.replace(b"a/vllm", b"../vllm").replace(b"b/vllm", b"../vllm"), "unsafe-path"),
    Odd(
        "absolute, all of it but the name stripped",
        PAIR.replace(b" a/", b" /etc/").replace(b" b/", b" /etc/"),
        "unsafe-path",
        3,
    ),
    Odd("up in what is stripped of the old name alone", PAIR.replace(b"a/vllm", b"../vllm"), "unsafe-path"),
    Odd("up in what is stripped of the new name alone", PAIR.replace(b"b/vllm", b"../vllm"), "unsafe-path"),
    Odd("up in what is stripped of git's first name", HEADED % (b"../vllm/a.py", b"b/vllm/a.py"), "unsafe-path"),
    Odd("up in what is stripped of git's second name", HEADED % (b"a/vllm/a.py", b"../vllm/a.py"), "unsafe-path"),
    Odd("up in what is stripped of git's quoted name", HEADED % (b'"../vllm/a.py"', b'"b/vllm/a.py"'), "unsafe-path"),
    Odd(
        "absolute in what is stripped of git's names",
        (HEADED % (b"/vllm/a.py", b"/vllm/a.py")),
        "unsafe-path",
    ),
    Odd(
        "up in what is stripped of a lone git header's second name",
        b"diff --git a/vllm/new.py ../vllm/new.py\nnew file mode 100644\n" + EMPTY,
        "unsafe-path",
    ),
    Odd("git's names mean another file", HEADED % (b"a/vllm/b.py", b"b/vllm/b.py"), "names-disagree"),
    Odd("git's first name means another file", HEADED % (b"a/vllm/b.py", b"b/vllm/a.py"), "names-disagree"),
    Odd("git's second name means another file", HEADED % (b"a/vllm/a.py", b"b/vllm/b.py"), "names-disagree"),
    Odd("old and new mean two files", PAIR.replace(b"b/vllm/a", b"b/vllm/b"), "names-disagree"),
    Odd("nothing on either side", b"--- /dev/null\n+++ /dev/null\n" + MODIFIED, "names-disagree"),
    Odd("/dev/null in quotes is a path", PAIR.replace(b"a/vllm/a.py", b'"/dev/null"'), "unsafe-path"),
    Odd("/dev/null with something behind it is a path", PAIR.replace(b"a/vllm/a.py", b"/dev/null/x"), "unsafe-path"),
    Odd("nothing is left of a name", PAIR.replace(b"a/vllm/a.py", b"a").replace(b"b/vllm/a.py", b"b"), "strip"),
    Odd("nothing is left behind the slash", PAIR.replace(b"vllm/a.py", b""), "unsafe-path"),
    Odd("more to strip than there is", PAIR, "strip", 3),
    Odd("no quote at the end", PAIR.replace(b"a/vllm/a.py", b'"a/vllm/a.py'), "bad-name"),
    Odd("an escape that git does not write", PAIR.replace(b"a/vllm/a.py", b'"a/vllm/\\x2e.py"'), "bad-name"),
    Odd("an octal escape beyond a byte", PAIR.replace(b"a/vllm/a.py", b'"a/vllm/\\777.py"'), "bad-name"),
    Odd("text behind the quotes", PAIR.replace(b"a/vllm/a.py", b'"a/vllm/a.py"/../x'), "bad-name"),
    Odd("no UTF-8", PAIR.replace(b"vllm/a", b"vllm/\xff"), "bad-name"),
    Odd("an overlong encoding of a slash", PAIR.replace(b"vllm/a", b"vllm\xc0\xafa"), "bad-name"),
    Odd("a surrogate", PAIR.replace(b"vllm/a", b"vllm/\xed\xb0\x80"), "bad-name"),
    Odd("one file twice", PAIR + PAIR, "repeated-file"),
    Odd("one file twice by two prefixes", PAIR + PAIR.replace(b"a/v", b"c/v").replace(b"b/v", b"d/v"), "repeated-file"),
    Odd(
        "a file and a directory of one name",
        b"--- /dev/null\n+++ b/vllm/x\n" + ADDED + b"--- /dev/null\n+++ b/vllm/x/y\n" + ADDED,
        "path-conflict",
    ),
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.intent)
def test_an_odd_name_is_refused(odd: Odd) -> None:
    assert refusal(odd.diff, odd.strip).problem.code == odd.code


def test_every_section_is_taken_with_a_harmless_name() -> None:
    for section in SECTIONS:
        diff = filled(section, b"a/vllm/a.py", b"b/vllm/a.py")
        if section.before:
            assert refusal(diff).problem.code in section.before
        else:
            diff = filled(section, b"a/vllm/a.py", b"b/vllm/b.py") if b"rename" in section.text else diff
            assert [file.paths[0] for file in parse_diff(diff)] == ["vllm/a.py"]


def test_every_row_has_its_own_intent() -> None:
    for rows in (SECTIONS, UNSAFE, ODD, SCOPE):
        assert len({row.intent for row in rows}) == len(rows)


class Scope(NamedTuple):
    """A file that an entry for vllm touches, and why it may not; None: it may.

    ``record`` says whether vllm has a RECORD.
    """

    intent: str
    kind: str
    path: str
    reason: str | None
    record: bool = True


CODE = b"A = 1\n# end\n"
HUNKS = {
    "modify": b"--- a/%(path)b\n+++ b/%(path)b\n" + MODIFIED,
    "add": b"--- /dev/null\n+++ b/%(path)b\n" + ADDED,
    "delete": b"--- a/%(path)b\n+++ /dev/null\n" + DELETED,
}
UNLISTED = "it is not listed in RECORD of vllm"

SCOPE = [
    Scope("modify a file of the distribution", "modify", "vllm/a.py", None),
    Scope("delete a file of the distribution", "delete", "vllm/a.py", None),
    Scope("add a file to a package", "add", "vllm/new.py", None),
    Scope("add a file to a new package", "add", "vllm/new/deep/new.py", None),
    Scope("add a file below data", "add", "vllm/data/more/new.json", None),
    Scope("modify a script below bin that RECORD lists", "modify", "bin/serve", None),
    Scope("modify a module that RECORD lists at the top", "modify", "vllm_top.py", None),
    Scope("modify a file that somebody laid beside", "modify", "vllm/stray.py", UNLISTED),
    Scope("delete a file that somebody laid beside", "delete", "vllm/stray.py", UNLISTED),
    Scope("add a file that is there", "add", "vllm/a.py", "applicable|conflict"),
    Scope("add a file that somebody laid beside", "add", "vllm/stray.py", "conflict"),
    Scope("modify a file that is not there", "modify", "vllm/gone.py", "there is no such file"),
    Scope("delete a file that is not there", "delete", "vllm/gone.py", "there is no such file"),
    Scope("modify a file of another distribution", "modify", "torch/a.py", UNLISTED),
    Scope("delete a file of another distribution", "delete", "torch/a.py", UNLISTED),
    Scope("add a file to another distribution", "add", "torch/new.py", "torch is not a package of vllm"),
    Scope("add a module at the top", "add", "json.py", "json.py is not a package of vllm"),
    Scope("add a package", "add", "json/__init__.py", "json is not a package of vllm"),
    Scope("modify a part of a namespace package", "modify", "shared/vllm/a.py", None),
    Scope("add to a part of a namespace package", "add", "shared/vllm/new.py", None),
    Scope("modify another's part of a namespace package", "modify", "shared/torch/a.py", UNLISTED),
    Scope(
        "add to another's part of a namespace package", "add", "shared/torch/new.py", "shared/torch is not a package"
    ),
    Scope("add a part to a namespace package", "add", "shared/new/new.py", "shared/new is not a package of vllm"),
    Scope("add a module to a namespace package", "add", "shared/new.py", "shared is not a package of vllm"),
    Scope("a script outside of the site, by a name in it", "modify", "etc/serve", "there is no such file"),
    Scope("without RECORD, modify a file of a package", "modify", "vllm/a.py", None, record=False),
    Scope("without RECORD, delete a file of a package", "delete", "vllm/a.py", None, record=False),
    Scope("without RECORD, add a file to a package", "add", "vllm/new.py", None, record=False),
    Scope("without RECORD, modify another's file", "modify", "torch/a.py", "torch is not a package", record=False),
    Scope("without RECORD, delete another's file", "delete", "torch/a.py", "torch is not a package", record=False),
    Scope("without RECORD, add to another", "add", "torch/new.py", "torch is not a package of vllm", record=False),
    Scope("without RECORD, add a module at the top", "add", "json.py", "json.py is not a package", record=False),
]


def make_scope_site(where: Path, *, record: bool) -> Path:
    """Make a site with vllm, torch, a namespace package that both have part in, and a file that nobody lists."""
    ours = ("vllm/__init__.py", "vllm/a.py", "vllm/data/x.json", "bin/serve", "vllm_top.py", "shared/vllm/a.py")
    site = make_site(where, dict.fromkeys(ours, CODE), record=record)
    theirs = ("torch/__init__.py", "torch/a.py", "shared/torch/a.py")
    install(site, dict.fromkeys(theirs, CODE), name="torch", build="2.8.0")
    (site / "vllm/stray.py").write_bytes(CODE)
    return site


@pytest.mark.parametrize("row", SCOPE, ids=lambda row: row.intent)
def test_an_entry_touches_files_of_its_distribution_alone(row: Scope, tmp_path: Path) -> None:
    site = make_scope_site(tmp_path, record=row.record)
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "entry", HUNKS[row.kind] % {b"path": row.path.encode()})
    desk, before = Desk(site=site, registry=registry), tree_state(tmp_path)
    done = desk.run("apply", "entry")
    if row.reason is None:
        assert done.code == 0, done
        assert ("no RECORD" in done.err or "without RECORD" in done.err) is not row.record, done.err
        assert desk.run("revert", "entry").code == 0
        assert (site / row.path).exists() is (row.kind != "add")
        return
    assert done.code == 1
    assert any(reason in done.err for reason in row.reason.split("|")), done.err
    assert tree_state(tmp_path) == before
    assert desk.run("check").code == 1
    assert desk.run("apply").code == 1
    assert tree_state(tmp_path) == before
