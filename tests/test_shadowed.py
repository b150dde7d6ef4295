"""A patched module that Python does not import is not protected: what takes its place is told, and no entry brings it.

What Python imports is asked of ``importlib`` itself; nothing is run for that.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from importlib.machinery import SourcelessFileLoader as BytecodeLoader
from itertools import product
from pathlib import Path

import pytest

from patchctl.commands.place import Place
from patchctl.commands.scene import gather
from patchctl.disk import Surroundings, ineffective, open_root, rivals
from patchctl.errors import RefusedError
from patchctl.model import EditKind, FileEdit
from patchctl.model.modules import exclude_each_other, ways_to
from patchctl.plan import Layer, build_plan
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, patchctl
from tests.sites import make_site, tree_state, write
from tests.transaction_tree import ledger, run

pytestmark = pytest.mark.attack("shadowed-module")

ENGINE = "vllm/engine.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW, HIGH = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n"), BASE.replace(b"line_25 = 1\n", b"line_25 = 25\n")
FILES = {"vllm/__init__.py": b"", ENGINE: BASE}
TAGGED = next(suffix for suffix in EXTENSION_SUFFIXES if suffix.startswith(".cpython-"))

Files = dict[str, tuple[bytes | None, bytes | None]]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(site=make_site(tmp_path, FILES), registry=make_registry(tmp_path / "registry"))


def enter(desk: Desk, id_: str, changes: Files) -> None:
    assert desk.registry is not None
    add_entry(desk.registry, id_, make_diff(changes))


def imported(directory: Path, name: str) -> str | None:
    """Return the file that Python takes for a module of that name; None: a namespace package, or none at all."""
    loaders = [(ExtensionFileLoader, EXTENSION_SUFFIXES), (SourceFileLoader, [".py"]), (BytecodeLoader, [".pyc"])]
    found = FileFinder(str(directory), *loaders).find_spec(name)
    return None if found is None or found.origin is None else str(Path(found.origin).relative_to(directory))


def told(site: Path, path: str) -> str | None:
    """Return what a snapshot says of a source that is there."""
    root = open_root(str(site))
    try:
        surroundings = Surroundings(root)
        look = surroundings.around(path)
        found = rivals(path, look, lambda directory: surroundings.below(path, directory))
        return ineffective(path, look, found.winners, is_there=True)
    finally:
        os.close(root)


STARTS = ("__init__.py", "__init__.pyc", f"__init__{TAGGED}")
INSIDE = ("", "core.py", *STARTS, "__init__.pyi", "__init__.py/x", "__init__")


@pytest.mark.parametrize("inside", INSIDE)
def test_what_is_told_is_what_importlib_does(inside: str, tmp_path: Path) -> None:
    for number, beside in enumerate(product((False, True), repeat=3)):
        where = tmp_path / str(number)
        write(where / "engine.py", b"")
        for name, wanted in zip((f"engine{TAGGED}", "engine.pyc", "engine.txt"), beside, strict=True):
            if wanted:
                write(where / name, b"")
        if inside:
            write(where / "engine" / inside, b"")
        assert (told(where, "engine.py") is None) == (imported(where, "engine") == "engine.py"), (inside, beside)


@pytest.mark.parametrize("inside", INSIDE)
def test_a_module_in_the_place_of_a_directory_is_told_of_what_lies_in_that(inside: str, tmp_path: Path) -> None:
    write(tmp_path / "engine/deep/core.py", b"")
    if inside:
        write(tmp_path / "engine" / inside, b"")
    assert told(tmp_path, "engine/deep/core.py") is None
    write(tmp_path / "engine.py", b"")
    wins = imported(tmp_path, "engine") == "engine.py"
    assert (told(tmp_path, "engine/deep/core.py") is not None) == wins
    assert ways_to("engine/deep/__init__.py") == ("engine",)


def twin(site: Path) -> None:
    write(site / f"vllm/engine{TAGGED}", b"\x7fELF")


def package(name: str) -> Callable[[Path], None]:
    return lambda site: write(site / "vllm/engine" / name, b"which = 1\n")


def start_that_is_a_link(site: Path) -> None:
    write(site.parent / "elsewhere.py", b"")
    (site / "vllm/engine").mkdir()
    (site / "vllm/engine/__init__.py").symlink_to(site.parent / "elsewhere.py")


def directory_that_is_a_link(site: Path) -> None:
    write(site.parent / "elsewhere/__init__.py", b"")
    (site / "vllm/engine").symlink_to(site.parent / "elsewhere")


SHADOWS = {
    "a source": package("__init__.py"),
    "machine code": package(f"__init__{TAGGED}"),
    "byte code": package("__init__.pyc"),
    "a link": start_that_is_a_link,
    "a directory behind a link": directory_that_is_a_link,
}
VERBS = (
    ("status",),
    ("check",),
    ("apply", "--dry-run"),
    ("apply",),
    ("apply", "b-high"),
    ("adopt", "b-high"),
    ("revert", "a-low"),
    ("revert", "--all", "--dry-run"),
    ("retire",),
    ("lock", "--output", "{}"),
    ("status", "--digest"),
    ("doctor",),
)


def answers(desk: Desk, *, besides: Path) -> list[object]:
    """Every verb's code, and of each entry what is said of it, the name of what shadows it left out."""
    found: list[object] = []
    for verb in VERBS:
        words = [word.format(besides) for word in verb]
        before = tree_state(desk.site)
        found.append((words[0], desk.run(*words).code))
        assert tree_state(desk.site) == before, words
    for entry in desk.json("status").document["patches"]:
        assert "engine" in entry["reason"]
        found.append((entry["id"], entry["verdict"], entry["action"], entry["need"]))
    return found


@pytest.fixture(scope="module")
def of_a_twin(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    where = tmp_path_factory.mktemp("twin")
    return answers(shadowed(where, twin), besides=where / "lock")


def shadowed(where: Path, shadow: Callable[[Path], None]) -> Desk:
    desk = Desk(site=make_site(where, FILES), registry=make_registry(where / "registry"))
    enter(desk, "a-low", {ENGINE: (BASE, LOW)})
    assert desk.run("apply").code == 0
    enter(desk, "b-high", {ENGINE: (BASE, HIGH)})
    shadow(desk.site)
    return desk


@pytest.mark.parametrize("shadow", SHADOWS.values(), ids=SHADOWS)
def test_a_package_in_the_place_of_a_patched_module_is_answered_as_a_compiled_twin_by_every_verb(
    shadow: Callable[[Path], None], of_a_twin: list[object], tmp_path: Path
) -> None:
    desk = shadowed(tmp_path, shadow)
    start = imported(desk.site / "vllm", "engine")
    assert start is not None
    assert start.startswith("engine/")
    assert answers(desk, besides=tmp_path / "lock") == of_a_twin
    assert ("a-low", "drifted", "inspect", "wanted") in of_a_twin
    assert desk.run("check").code == 1
    assert "engine" in desk.run("check").out


def test_what_lies_beside_and_is_never_imported_changes_nothing(desk: Desk) -> None:
    enter(desk, "a-low", {ENGINE: (BASE, LOW)})
    write(desk.site / "vllm/engine/data/core.py", b"")
    write(desk.site / "vllm/engine/__init__.pyi", b"")
    os.mkfifo(desk.site / "vllm/engine/__init__.py")
    assert imported(desk.site / "vllm", "engine") == "engine.py"
    assert desk.run("apply").code == 0
    assert desk.run("check").code == 0


CORE = (None, b"core = 1\n")
ADDED: dict[str, tuple[dict[str, bytes], Files]] = {
    "a package over a module": ({}, {"vllm/engine/__init__.py": CORE}),
    "a package over compiled code": ({f"vllm/fast{TAGGED}": b""}, {"vllm/fast/__init__.py": CORE}),
    "a module below a package of its name": ({"vllm/pack/__init__.py": b"p = 1\n"}, {"vllm/pack.py": CORE}),
    "a module over a namespace": ({"vllm/space/deep/core.py": b"c = 1\n"}, {"vllm/space.py": CORE}),
    "a module below a module": ({}, {"vllm/engine/core.py": CORE}),
    "a package below a module": ({}, {"vllm/engine/deep/__init__.py": CORE}),
    "a package over a module by a rename": (
        {"vllm/other.py": BASE},
        {"vllm/other.py": (BASE, None), "vllm/engine/__init__.py": (None, BASE)},
    ),
    "both at once": ({}, {"vllm/new.py": CORE, "vllm/new/__init__.py": CORE}),
}


@pytest.mark.parametrize("case", ADDED.values(), ids=ADDED)
def test_an_entry_that_adds_what_shadows_or_is_shadowed_is_refused_by_all(
    case: tuple[dict[str, bytes], Files], tmp_path: Path
) -> None:
    there, changes = case
    desk = Desk(site=make_site(tmp_path, FILES | there), registry=make_registry(tmp_path / "registry"))
    enter(desk, "a-add", changes)
    before = tree_state(tmp_path)
    status = desk.json("status").document["patches"][0]
    assert (status["verdict"], status["action"]) == ("applicable", "inspect")
    assert "Python" in status["reason"]
    for verb in (("check",), ("apply",), ("apply", "a-add"), ("apply", "--dry-run")):
        assert desk.run(*verb).code == 1, verb
    assert tree_state(tmp_path) == before
    assert desk.registry is not None
    linted = patchctl("lint", "--registry", str(desk.registry), "--against", str(desk.site), "--json")
    assert linted.code == 1
    assert "claim-does-not-fit" in [problem["code"] for problem in linted.document["lint"]["findings"]]
    for path, (_, after) in changes.items():  # nor is it taken over when somebody put it there by hand
        if after is not None:
            write(desk.site / path, after)
    before = tree_state(tmp_path)
    assert desk.run("adopt", "a-add", "--unproven").code == 1
    assert tree_state(tmp_path) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"vllm/new.py": CORE, "vllm/new/__init__.py": CORE},
        {ENGINE: (BASE, LOW), "vllm/engine/__init__.py": CORE},
        {"vllm/engine/core.py": CORE, ENGINE: (BASE, LOW)},
    ],
)
def test_lint_sees_it_in_the_diff_alone(changes: Files, desk: Desk) -> None:
    enter(desk, "a-add", changes)
    done = patchctl("lint", "--registry", str(desk.registry), "--json")
    assert done.code == 1
    (found,) = (it for it in done.document["lint"]["findings"] if it["code"] == "shadowed-module")
    assert (found["severity"], found["patch"]) == ("error", "a-add")


TURNED: dict[str, tuple[dict[str, bytes], Files]] = {
    "a module into a package": (
        {},
        {ENGINE: (BASE, None), "vllm/engine/__init__.py": (None, LOW), "vllm/engine/core.py": CORE},
    ),
    "a package into a module": (
        {"vllm/pack/__init__.py": b"p = 1\n", "vllm/pack/core.py": b"c = 1\n"},
        {
            "vllm/pack/__init__.py": (b"p = 1\n", None),
            "vllm/pack/core.py": (b"c = 1\n", None),
            "vllm/pack.py": (None, b"p = 2\n"),
        },
    ),
}


@pytest.mark.parametrize("case", TURNED.values(), ids=TURNED)
def test_an_entry_that_takes_the_other_away_goes_in_and_out(
    case: tuple[dict[str, bytes], Files], tmp_path: Path
) -> None:
    there, changes = case
    desk = Desk(site=make_site(tmp_path, FILES | there), registry=make_registry(tmp_path / "registry"))
    enter(desk, "a-turn", changes)
    before = {path: path.read_bytes() for path in sorted((desk.site / "vllm").rglob("*.py"))}
    assert desk.run("apply").code == 0
    assert desk.run("check").code == 0
    assert "shadowed-module" not in patchctl("lint", "--registry", str(desk.registry)).out
    assert desk.run("revert", "a-turn").code == 0
    assert {path: path.read_bytes() for path in sorted((desk.site / "vllm").rglob("*.py"))} == before
    assert desk.run("apply").code == 0


def test_a_package_that_keeps_a_module_is_refused_however_much_else_goes(tmp_path: Path) -> None:
    there = {"vllm/pack/__init__.py": b"p = 1\n", "vllm/pack/core.py": b"c = 1\n"}
    desk = Desk(site=make_site(tmp_path, FILES | there), registry=make_registry(tmp_path / "registry"))
    enter(desk, "a-turn", {"vllm/pack/__init__.py": (b"p = 1\n", None), "vllm/pack.py": (None, b"p = 2\n")})
    assert desk.run("apply").code == 1
    assert "vllm/pack/core.py" in desk.run("status").out


def test_a_plan_refuses_it_whoever_asks_for_one(desk: Desk) -> None:
    enter(desk, "a-add", {"vllm/engine/core.py": CORE})
    scene = gather(Place(site=str(desk.site), registries=(str(desk.registry),)))
    (found,) = scene.assessments
    layer = Layer(id=found.id, diffs=found.case.diffs, moved=True)
    plan = build_plan([layer], scene.site, leaving=(), now=1, missing_dirs={})
    assert [(it.id, it.path) for it in plan.refusals] == [("a-add", "vllm/engine/core.py")]
    assert plan.edits == ()


def test_of_two_newcomers_that_exclude_each_other_one_stays_out(desk: Desk) -> None:
    enter(desk, "a-module", {"vllm/new.py": CORE})
    enter(desk, "b-package", {"vllm/new/__init__.py": CORE})
    assert desk.run("apply", "--dry-run").code == 1
    assert desk.run("apply").code == 1
    there = [(desk.site / path).exists() for path in ("vllm/new.py", "vllm/new/__init__.py")]
    assert sorted(there) == [False, True]
    assert desk.run("apply").code == desk.run("check").code == 1


def test_an_original_does_not_come_back_below_what_took_its_place(desk: Desk) -> None:
    enter(desk, "a-gone", {ENGINE: (BASE, None)})
    assert desk.run("apply").code == 0
    write(desk.site / "vllm/engine/__init__.py", b"")
    before = tree_state(desk.site)
    for verb in (("revert", "a-gone", "--dry-run"), ("revert", "a-gone")):
        done = desk.run(*verb)
        assert done.code == 1
        assert "vllm/engine/__init__.py" in done.err
    assert tree_state(desk.site) == before
    (desk.site / "vllm/engine/__init__.py").unlink()
    assert desk.run("revert", "a-gone").code == 0


class TestUnderTheLock:
    """What came between the plan and the write."""

    @pytest.fixture
    def site(self, tmp_path: Path) -> Path:
        site = tmp_path / "site"
        write(site / "pkg/__init__.py", b"")
        write(site / "pkg/a.py", b"A = 1\n")
        return site

    def test_a_package_that_came_is_seen(self, site: Path) -> None:
        write(site / "pkg/a/__init__.py", b"")
        before = tree_state(site / "pkg")
        change = FileEdit(path="pkg/a.py", kind=EditKind.MODIFY, before=b"A = 1\n", after=b"A = 2\n")
        with pytest.raises(RefusedError) as refused:
            run(site, [change, ledger()])
        assert refused.value.problem.code == "shadowed"
        assert "pkg/a/__init__.py" in str(refused.value)
        assert tree_state(site / "pkg") == before

    def test_one_that_the_same_change_takes_away_is_none(self, site: Path) -> None:
        write(site / "pkg/b/__init__.py", b"B = 1\n")
        out = FileEdit(path="pkg/b/__init__.py", kind=EditKind.DELETE, before=b"B = 1\n", after=None)
        into = FileEdit(path="pkg/b.py", kind=EditKind.ADD, before=None, after=b"B = 2\n", mode=0o644)
        run(site, [into, out, ledger()])
        assert (site / "pkg/b.py").read_bytes() == b"B = 2\n"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a/b.py", "a/b/__init__.py", True),
        ("a/b.py", "a/b/c/d.py", True),
        ("a/b.so", "a/b/__init__.pyc", True),
        ("a/b.py", "a/b.so", False),
        ("a/b/__init__.py", "a/b/c.py", False),
        ("a/b.py", "a/bc/d.py", False),
        ("a/b.py", "a/b/data.json", False),
        ("a/b.txt", "a/b/__init__.py", False),
        ("b.py", "b/__init__.py", True),
    ],
)
def test_which_files_exclude_each_other(one: str, other: str, expected: bool) -> None:
    assert exclude_each_other(one, other) is expected
    assert exclude_each_other(other, one) is expected
