"""Registry folders on the disk: order, broken entries beside working ones, what entries say of each other."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import patchctl
from patchctl.errors import Outcome, RegistryError
from patchctl.model import sha256_hex
from patchctl.registry import Registry, bundled_registry, load_registry

DIFF = b"--- a/vllm/x.py\n+++ b/vllm/x.py\n@@ -1 +1 @@\n-a\n+b\n"


def entry(name: str, *, top: str = "", distribution: str = "vllm", diff: bytes = DIFF, below: str = "") -> str:
    return f'''\
id = "{name}"
title = "Entry {name}"
kind = "containment"
severity = "crash"
why = "It breaks."
how = "It holds."
removal = "When fixed."
{top}
[[variant]]
distribution = "{distribution}"
versions = ">=0.20"
diff = "0.20.diff"
sha256 = "{sha256_hex(diff)}"
{below}'''


def put(root: Path, name: str, text: str | None = None, *, folder: str = "vllm", diff: bytes | None = DIFF) -> Path:
    """Write an entry below ``root`` and return its folder."""
    place = root / folder / name
    place.mkdir(parents=True)
    (place / "patch.toml").write_text(entry(name) if text is None else text)
    if diff is not None:
        (place / "0.20.diff").write_bytes(diff)
    return place


def make_root(path: Path, text: str = 'format = 1\nname = "test"\nrevision = 7\n') -> Path:
    path.mkdir(parents=True)
    (path / "registry.toml").write_text(text)
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path / "patches")


def ids(registry: Registry) -> list[str]:
    return [patch.id for patch in registry.entries]


def told(registry: Registry) -> list[tuple[str, str | None, str | None, int | None]]:
    return [(problem.code, problem.patch, problem.key, problem.line) for problem in registry.problems]


def line_of(path: Path, start: str) -> int:
    return [line.startswith(start) for line in path.read_text().split("\n")].index(True) + 1


def test_entries_come_in_the_order_of_folders_distributions_and_ids(tmp_path: Path) -> None:
    first, second = make_root(tmp_path / "z"), make_root(tmp_path / "a")
    for name, folder in (("m-b", "vllm"), ("m-a", "vllm"), ("m-z", "aiter")):
        put(first, name, folder=folder)
    put(second, "a-a")
    registry = load_registry([str(first), f"{second}/"])
    assert ids(registry) == ["m-z", "m-a", "m-b", "a-a"]
    assert registry.problems == ()
    assert [(r.path, r.name, r.revision) for r in registry.roots] == [(str(first), "test", 7), (str(second), "test", 7)]
    assert registry.entries[0].folder == f"{first}/aiter/m-z"
    assert registry.entries[3].registry == str(second)
    found = registry.find("m-a")
    assert found is not None
    assert found.title == "Entry m-a"
    assert registry.find("m-x") is None


def test_no_entry_at_all_is_a_registry(root: Path) -> None:
    (root / "vllm").mkdir()
    assert load_registry([str(root)]).entries == ()
    assert load_registry([]).roots == ()


def test_broken_entries_are_told_with_file_key_and_line_and_the_others_work(root: Path) -> None:
    put(root, "good-one")
    put(root, "absent-distribution", entry("absent-distribution", distribution="not-installed"))
    put(root, "broken-toml", 'id = "broken-toml"\ntitle = "A"\nkind = containment\n')
    edited = DIFF.replace(b"+b", b"+c")
    put(root, "broken-diff", diff=edited)
    put(root, "broken-key", entry("broken-key").replace("severity", "severty"))
    registry = load_registry([str(root)])
    assert ids(registry) == ["absent-distribution", "broken-diff", "good-one"]
    assert told(registry) == [
        ("missing-key", "broken-key", "severity", 1),
        ("unknown-key", "broken-key", "severty", 4),
        ("toml-syntax", "broken-toml", None, 3),
    ]
    assert registry.problems[2].path == f"{root}/vllm/broken-toml/patch.toml"
    assert registry.problems_of("broken-toml") == registry.problems[2:]
    assert registry.problems_of("good-one") == ()
    good, broken = registry.find("good-one"), registry.find("broken-diff")
    assert good is not None
    assert broken is not None
    assert registry.read_diff(good, good.variants[0]) == DIFF
    with pytest.raises(RegistryError) as caught:
        registry.read_diff(broken, broken.variants[0])
    problem = caught.value.problem
    file = root / "vllm/broken-diff/patch.toml"
    assert (problem.code, problem.patch, problem.key) == ("diff-digest", "broken-diff", "variant[0].sha256")
    assert (problem.path, problem.line) == (str(file), line_of(file, "sha256"))
    assert f'sha256 = "{sha256_hex(edited)}"' in (problem.hint or "")


def test_a_diff_that_is_not_there_is_told_at_its_key(root: Path) -> None:
    place = put(root, "no-diff", diff=None)
    registry = load_registry([str(root)])
    patch = registry.entries[0]
    with pytest.raises(RegistryError) as caught:
        registry.read_diff(patch, patch.variants[0])
    problem = caught.value.problem
    assert (problem.code, problem.key) == ("diff-missing", "variant[0].diff")
    assert problem.line == line_of(place / "patch.toml", "diff")


@pytest.mark.attack("registry-hijack")
def test_a_diff_is_never_read_through_a_link_or_from_a_pipe(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.diff"
    outside.write_bytes(DIFF)
    (put(root, "linked", diff=None) / "0.20.diff").symlink_to(outside)
    os.mkfifo(put(root, "piped", diff=None) / "0.20.diff")
    (put(root, "tree", diff=None) / "0.20.diff").mkdir()
    registry = load_registry([str(root)])
    assert ids(registry) == ["linked", "piped", "tree"]
    for patch in registry.entries:
        with pytest.raises(RegistryError) as caught:
            registry.read_diff(patch, patch.variants[0])
        assert caught.value.problem.code == "diff-unreadable"


@pytest.mark.attack("registry-hijack")
def test_a_diff_of_another_folder_is_refused_even_when_the_entry_was_made_by_hand(root: Path) -> None:
    put(root, "one")
    registry = load_registry([str(root)])
    patch = registry.entries[0]
    for name in ("../one/0.20.diff", "/etc/passwd", "..", ".hidden"):
        variant = patch.variants[0]._replace(diff=name)
        with pytest.raises(RegistryError) as caught:
            registry.read_diff(patch._replace(variants=(variant,)), variant)
        assert caught.value.problem.code == "bad-file-name"


def test_a_diff_past_the_size_limit_is_refused(root: Path) -> None:
    put(root, "large", diff=None)
    with (root / "vllm/large/0.20.diff").open("wb") as stream:
        stream.truncate((16 << 20) + 1)
    registry = load_registry([str(root)])
    with pytest.raises(RegistryError) as caught:
        registry.read_diff(registry.entries[0], registry.entries[0].variants[0])
    assert caught.value.problem.code == "diff-unreadable"
    assert "larger than" in caught.value.problem.message


@pytest.mark.attack("registry-hijack")
def test_links_inside_a_registry_are_refused_aloud(root: Path, tmp_path: Path) -> None:
    elsewhere = make_root(tmp_path / "elsewhere")
    put(elsewhere, "stranger")
    put(root, "good-one")
    (root / "vllm" / "stranger").symlink_to(elsewhere / "vllm" / "stranger")
    (root / "linked").symlink_to(elsewhere / "vllm")
    (root / "vllm" / "loop").symlink_to("loop")
    (root / "vllm" / "dangling").symlink_to(tmp_path / "gone")
    (root / "vllm" / "file-link").mkdir()
    (root / "vllm" / "file-link" / "patch.toml").symlink_to(elsewhere / "vllm" / "stranger" / "patch.toml")
    (root / "README").symlink_to(elsewhere / "registry.toml")
    registry = load_registry([str(root)])
    assert ids(registry) == ["good-one"]
    assert sorted((problem.code, problem.path) for problem in registry.problems) == [
        ("entry-unreadable", f"{root}/vllm/dangling/patch.toml"),
        ("entry-unreadable", f"{root}/vllm/file-link/patch.toml"),
        ("entry-unreadable", f"{root}/vllm/loop/patch.toml"),
        ("entry-unreadable", f"{root}/vllm/stranger/patch.toml"),
        ("folder-unreadable", f"{root}/linked"),
    ]
    assert all("symbolic link" in problem.message for problem in registry.problems)


def test_the_registry_folder_itself_may_be_a_link(root: Path, tmp_path: Path) -> None:
    put(root, "good-one")
    (tmp_path / "link").symlink_to(root)
    registry = load_registry([str(tmp_path / "link")])
    assert ids(registry) == ["good-one"]
    patch = registry.entries[0]
    assert registry.read_diff(patch, patch.variants[0]) == DIFF


@pytest.mark.attack("registry-hijack")
def test_an_upstream_diff_is_read_with_its_entry_and_never_through_a_link(root: Path, tmp_path: Path) -> None:
    fix = '[[fix]]\nref = "a#1"\nrole = "fixes"\n[[fix.evidence]]\ndiff = "upstream.diff"\n'
    (put(root, "plain", entry("plain", below=fix)) / "upstream.diff").write_bytes(DIFF)
    outside = tmp_path / "outside.diff"
    outside.write_bytes(DIFF)
    (put(root, "linked", entry("linked", below=fix)) / "upstream.diff").symlink_to(outside)
    put(root, "missing", entry("missing", below=fix))
    registry = load_registry([str(root)])
    assert ids(registry) == ["plain"]
    assert registry.entries[0].fixes[0].evidence[0].diff == DIFF
    assert [(problem.patch, problem.key) for problem in registry.problems] == [
        ("linked", "fix[0].evidence[0].diff"),
        ("missing", "fix[0].evidence[0].diff"),
    ]
    assert "is a symbolic link" in registry.problems[0].message
    assert "no such file" in registry.problems[1].message


def test_evidence_that_its_judge_cannot_read_is_refused(root: Path) -> None:
    fix = '[[fix]]\nref = "a#1"\nrole = "fixes"\n[[fix.evidence]]\nfile = "vllm/x.py"\ncontains = {}\n'
    put(root, "unbalanced", entry("unbalanced", below=fix.format('"f(a,"')))
    put(root, "comment", entry("comment", below=fix.format('"# fixed"')))
    put(root, "stray", entry("stray", below=fix.format('"a $ b"')))
    registry = load_registry([str(root)])
    assert ids(registry) == ["unbalanced"]
    assert [(problem.code, problem.patch) for problem in registry.problems] == [
        ("bad-tokens", "comment"),
        ("bad-tokens", "stray"),
    ]


def test_a_folder_without_entry_file_is_told_unless_it_is_empty_or_set_aside(root: Path) -> None:
    put(root, "good-one")
    (put(root, "misspelt") / "patch.toml").rename(root / "vllm/misspelt/patch.tml")
    for aside in ("vllm/_drafts/x", "vllm/.cache/x", ".git/x", "__pycache__/x"):
        (root / aside).mkdir(parents=True)
        (root / aside / "patch.toml").write_text("broken")
        (root / aside).with_name("y").write_text("broken")
    (root / "vllm/left-empty").mkdir()
    (root / "vllm/README").write_text("hello")
    (root / "README").write_text("hello")
    registry = load_registry([str(root)])
    assert ids(registry) == ["good-one"]
    assert [(problem.code, problem.patch, problem.path) for problem in registry.problems] == [
        ("entry-without-file", "misspelt", f"{root}/vllm/misspelt")
    ]


def test_an_entry_on_the_wrong_level_is_told(root: Path) -> None:
    (root / "patch.toml").write_text(entry("one"))
    (root / "two").mkdir()
    (root / "two" / "patch.toml").write_text(entry("two"))
    registry = load_registry([str(root)])
    assert registry.entries == ()
    assert [(problem.code, problem.path) for problem in registry.problems] == [
        ("entry-misplaced", f"{root}/patch.toml"),
        ("entry-misplaced", f"{root}/two/patch.toml"),
    ]
    (root / "patch.toml").write_text("id = [[[")
    hints = [problem.hint for problem in load_registry([str(root)]).problems]
    move = "move it, and the diffs beside it, to"
    assert hints == [f"{move} {root}/<distribution>/<id>/patch.toml", f"{move} {root}/vllm/two/patch.toml"]


@pytest.mark.attack("registry-hijack")
def test_an_entry_file_that_is_a_pipe_or_a_folder_is_told_and_the_others_work(root: Path) -> None:
    put(root, "good-one")
    for name in ("piped", "tree"):
        (put(root, name) / "patch.toml").unlink()
    os.mkfifo(root / "vllm/piped/patch.toml")
    (root / "vllm/tree/patch.toml").mkdir()
    registry = load_registry([str(root)])
    assert ids(registry) == ["good-one"]
    assert [(problem.code, problem.patch) for problem in registry.problems] == [
        ("entry-unreadable", "piped"),
        ("entry-unreadable", "tree"),
    ]


@pytest.mark.attack("registry-hijack")
def test_none_of_two_entries_with_one_id_is_used(tmp_path: Path) -> None:
    trusted, added = make_root(tmp_path / "trusted"), make_root(tmp_path / "added")
    put(trusted, "same")
    put(trusted, "other")
    put(added, "same", entry("same", top="revision = 99\ndefault = false"))
    registry = load_registry([str(trusted), str(added)])
    assert ids(registry) == ["other"]
    assert told(registry) == [("duplicate-id", "same", "id", 1), ("duplicate-id", "same", "id", 1)]
    assert [problem.path for problem in registry.problems] == [
        f"{trusted}/vllm/same/patch.toml",
        f"{added}/vllm/same/patch.toml",
    ]
    assert f"{added}/vllm/same" in registry.problems[0].message


@pytest.mark.attack("registry-hijack")
def test_one_id_twice_in_one_registry_is_the_same_error(root: Path) -> None:
    put(root, "same")
    put(root, "same", folder="aiter")
    registry = load_registry([str(root)])
    assert registry.entries == ()
    assert [problem.code for problem in registry.problems] == ["duplicate-id", "duplicate-id"]


def test_a_folder_named_twice_counts_once(root: Path, tmp_path: Path) -> None:
    put(root, "one")
    (tmp_path / "link").symlink_to(root)
    registry = load_registry([str(root), str(tmp_path / "link"), f"{root}/"])
    assert ids(registry) == ["one"]
    assert len(registry.roots) == 1
    assert registry.problems == ()


def test_an_entry_that_requires_what_is_not_there_is_told_and_stays(root: Path) -> None:
    put(root, "needs-unknown", entry("needs-unknown", top='requires = ["ok", "gone"]'))
    put(root, "needs-broken", entry("needs-broken", top='requires = ["broken"]'))
    put(root, "broken", "x")
    put(root, "ok")
    registry = load_registry([str(root)])
    assert ids(registry) == ["needs-broken", "needs-unknown", "ok"]
    assert told(registry)[1:] == [
        ("missing-requirement", "needs-broken", "requires[0]", 8),
        ("missing-requirement", "needs-unknown", "requires[1]", 8),
    ]


def test_an_advisory_cannot_be_required(root: Path) -> None:
    advice = entry("advice").replace("containment", "advisory")
    advice = "\n".join(line for line in advice.split("\n") if not line.startswith(("diff", "sha256")))
    put(root, "advice", advice + '[[avoid]]\nargs = ["--x"]\n')
    put(root, "needs-advice", entry("needs-advice", top='requires = ["advice"]'))
    registry = load_registry([str(root)])
    assert ids(registry) == ["advice", "needs-advice"]
    assert told(registry) == [("missing-requirement", "needs-advice", "requires[0]", 8)]
    with pytest.raises(ValueError, match="advisory"):
        registry.read_diff(registry.entries[0], registry.entries[0].variants[0])


def test_entries_that_require_each_other_in_a_circle_are_refused_and_the_others_work(root: Path) -> None:
    put(root, "a", entry("a", top='requires = ["b"]'))
    put(root, "b", entry("b", top='requires = ["d", "c"]'))
    put(root, "c", entry("c", top='requires = ["a"]'))
    put(root, "d")
    put(root, "e", entry("e", top='requires = ["a"]'))
    registry = load_registry([str(root)])
    assert ids(registry) == ["d", "e"]
    assert told(registry) == [
        ("requires-in-a-circle", "a", "requires[0]", 8),
        ("requires-in-a-circle", "b", "requires[1]", 8),
        ("requires-in-a-circle", "c", "requires[0]", 8),
        ("missing-requirement", "e", "requires[0]", 8),
    ]


def test_entries_that_replace_each_other_are_refused(root: Path) -> None:
    put(root, "a", entry("a", top='replaces = ["b"]'))
    put(root, "b", entry("b", top='replaces = ["a"]'))
    registry = load_registry([str(root)])
    assert registry.entries == ()
    assert [problem.code for problem in registry.problems] == ["replaces-in-a-circle"] * 2


@pytest.mark.attack("registry-hijack")
def test_an_added_registry_cannot_replace_what_another_protects(tmp_path: Path) -> None:
    trusted, added = make_root(tmp_path / "trusted"), make_root(tmp_path / "added")
    put(trusted, "shield")
    put(trusted, "newer", entry("newer", top='replaces = ["older", "long-gone"]'))
    put(trusted, "older")
    put(added, "thief", entry("thief", top='replaces = ["shield"]'))
    put(added, "helper", entry("helper", top='requires = ["shield"]\nconflicts = ["newer"]'))
    registry = load_registry([str(trusted), str(added)])
    assert ids(registry) == ["newer", "older", "shield", "helper"]
    assert told(registry) == [("replaces-across-registries", "thief", "replaces[0]", 8)]


@pytest.mark.parametrize(
    ("text", "code", "key", "line"),
    [
        ('format = 2\nname = "x"\nrevision = 1\nnew_key = 1\n', "registry-format", "format", 1),
        ('\nformat = "1"\nname = "x"\nrevision = 1\n', "wrong-type", "format", 2),
        ('format = 1\nname = "x"\nrevision = 0\n', "out-of-range", "revision", 3),
        ('format = 1\nname = "x"\nrevison = 1\n', "missing-key", "revision", 1),
        ("format = 1\nname =\n", "toml-syntax", None, 2),
    ],
)
def test_a_registry_file_that_cannot_be_used_is_no_answer(
    tmp_path: Path, text: str, code: str, key: str | None, line: int
) -> None:
    root = make_root(tmp_path / "patches", text)
    put(root, "good-one")
    with pytest.raises(RegistryError) as caught:
        load_registry([str(root)])
    problem = caught.value.problem
    assert caught.value.outcome is Outcome.CANNOT_ANSWER
    assert (problem.code, problem.key, problem.line) == (code, key, line)
    assert problem.path == f"{root}/registry.toml"


def test_what_is_no_registry_folder_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "registry.toml").symlink_to(make_root(tmp_path / "real") / "registry.toml")
    for name, code in (
        ("absent", "registry-unreadable"),
        ("file", "registry-unreadable"),
        ("empty", "registry-without-file"),
        ("linked", "registry-unreadable"),
    ):
        with pytest.raises(RegistryError) as caught:
            load_registry([str(tmp_path / name)])
        assert caught.value.problem.code == code
        assert str(tmp_path / name) in caught.value.problem.message


def test_a_key_is_found_again_when_a_command_wants_to_name_its_line(root: Path) -> None:
    place = put(root, "one")
    registry = load_registry([str(root)])
    patch, file = registry.entries[0], place / "patch.toml"
    assert registry.locate(patch, "variant[0].sha256") == (str(file), line_of(file, "sha256"))
    assert registry.locate(patch, "variant[0].label") == (str(file), line_of(file, "[[variant]]"))
    file.unlink()
    assert registry.locate(patch, "variant[0].sha256") == (str(file), 1)


def test_a_relative_folder_is_kept_as_it_was_given(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, "one")
    monkeypatch.chdir(root.parent)
    registry = load_registry(["patches"])
    patch = registry.entries[0]
    assert (patch.folder, patch.registry) == ("patches/vllm/one", "patches")
    assert registry.read_diff(patch, patch.variants[0]) == DIFF


def test_the_bundled_registry_is_found_and_has_no_problems() -> None:
    path = bundled_registry()
    assert Path(path).is_absolute()
    registry = load_registry([path])
    assert registry.problems == ()
    assert [root.name for root in registry.roots] == ["patchctl"]
    for patch in registry.entries:
        for variant in patch.variants:
            assert variant.diff is None or registry.read_diff(patch, variant)


@pytest.mark.parametrize("place", ["patchctl/_patches", "patches", None])
def test_the_bundle_is_inside_an_installed_package_or_beside_a_source_tree(tmp_path: Path, place: str | None) -> None:
    shutil.copytree(Path(patchctl.__file__).parent, tmp_path / "patchctl", ignore=shutil.ignore_patterns("*.pyc"))
    (tmp_path / "patches").mkdir()
    if place is not None:
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / "registry.toml").write_text("format = 1\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import patchctl.registry as r; print(r.bundled_registry())"
    )
    answer = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, cwd="/", check=False)
    if place is None:
        assert "patchctl was installed without its registry" in answer.stderr
    else:
        assert answer.stdout == f"{(tmp_path / place).resolve()}\n"
