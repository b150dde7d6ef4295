"""What a candidate would mean, judged before anything is installed: what is applied here is set aside for it."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from patchctl.commands import Place
from patchctl.commands.scene import gather
from patchctl.commands.upcoming import expectation, judged_candidate
from patchctl.errors import TransactionError
from patchctl.model import sha256_hex
from patchctl.target import OverlaidTree, SiteTree, find_target, opened_candidate
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, killed_at
from tests.sites import install, make_site
from tests.small_wheels import make_wheel

ONE, TWO, OTHER = "vllm/one.py", "vllm/two.py", "aiter/ops.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n")
HIGH = BASE.replace(b"line_25 = 1\n", b"line_25 = 5\n")
FIX = b"class Runner:\n    def step(self):\n        return guard(self)\n"
BUG = FIX.replace(b"guard(self)", b"self")
NEWER = b"# a newer header\n" + BASE
EVIDENCE = {"file": TWO, "symbol": "Runner.step", "contains": "guard(self)"}
Judged = tuple[str | None, str, str, str]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    site = make_site(tmp_path, {ONE: BASE, TWO: BUG, "vllm/__init__.py": b""}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "a-returns", make_diff({ONE: (BASE, LOW)}))
    fix = {"ref": "x/y#1", "role": "fixes", "claimed": ">=0.26", "source": "https://x", "evidence": [EVIDENCE]}
    add_entry(registry, "b-retires", make_diff({TWO: (BUG, FIX)}), fixes=[fix])
    return Desk(site=site, registry=registry)


def looked(desk: Desk, path: Path) -> dict[str, Judged]:
    place = Place(site=str(desk.site), registries=(str(desk.registry),))
    with judged_candidate(place, gather(place), str(path)) as upcoming:
        return {
            it.id: (it.verdict and it.verdict.value, it.need.value, it.action.value, expectation(it, upcoming.scene))
            for it in upcoming.scene.assessments
        }


def extracted(wheel: Path, into: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(into)
    return into


def newer(where: Path, files: Mapping[str, bytes] | None = None) -> Path:
    files = files or {ONE: NEWER, TWO: FIX, "vllm/__init__.py": b""}
    return make_wheel(where, list(files.items()), build="0.26.0")


def test_what_is_applied_here_is_judged_on_the_bytes_of_the_candidate(desk: Desk, tmp_path: Path) -> None:
    assert desk.run("apply").code == 0
    wheel = newer(tmp_path)
    found = {"a-returns": ("lost", "wanted", "apply", "returns"), "b-retires": ("lost", "fixed", "retire", "retires")}
    assert looked(desk, wheel) == found
    assert looked(desk, extracted(wheel, tmp_path / "extracted")) == found


def test_what_does_not_fit_any_more_is_lost(desk: Desk, tmp_path: Path) -> None:
    assert desk.run("apply").code == 0
    wheel = newer(tmp_path, {ONE: b"rewritten = 1\n", TWO: FIX, "vllm/__init__.py": b""})
    assert looked(desk, wheel)["a-returns"] == ("lost", "wanted", "port", "lost")


def test_a_candidate_that_nothing_was_applied_for_is_a_fresh_install(desk: Desk, tmp_path: Path) -> None:
    found = looked(desk, newer(tmp_path))
    assert found["a-returns"][:3] == ("applicable", "wanted", "apply")
    assert found["b-retires"][1:3] == ("fixed", "none")


def test_what_a_site_of_its_own_has_applied_counts_there(desk: Desk, tmp_path: Path) -> None:
    assert desk.run("apply").code == 0
    other = Desk(site=extracted(newer(tmp_path), tmp_path / "other"), registry=desk.registry)
    assert other.run("apply", "a-returns").code == 0
    assert looked(desk, other.site)["a-returns"][:3] == ("applied", "wanted", "none")


def test_a_candidate_with_an_unfinished_transaction_is_not_judged(desk: Desk, tmp_path: Path) -> None:
    other = Desk(site=extracted(newer(tmp_path), tmp_path / "other"), registry=desk.registry)
    killed_at(other, "one.py", "apply")
    with pytest.raises(TransactionError) as caught:
        looked(desk, other.site)
    assert caught.value.problem.hint == f"patchctl recover --site {other.site}"


@pytest.fixture
def two(desk: Desk) -> Desk:
    """A second distribution, patched by an entry of its own and by one that spans both."""
    assert desk.registry is not None
    install(desk.site, {OTHER: BASE, "aiter/__init__.py": b""}, name="aiter", build="1.0")
    add_entry(desk.registry, "c-aiter", make_diff({OTHER: (BASE, LOW)}), distribution="aiter")
    folder = add_entry(desk.registry, "d-spans", make_diff({ONE: (BASE, HIGH)}))
    diff = make_diff({OTHER: (BASE, HIGH)})
    (folder / "aiter.diff").write_bytes(diff)
    with (folder / "patch.toml").open("a") as text:
        text.write(f'\n[[variant]]\ndistribution = "aiter"\ndiff = "aiter.diff"\nsha256 = "{sha256_hex(diff)}"\n')
        text.write('versions = ">=0"\n')
    assert desk.run("apply").code == 0
    return desk


def test_the_distributions_that_a_wheel_does_not_bring_stay_as_they_are(two: Desk, tmp_path: Path) -> None:
    found = looked(two, newer(tmp_path))
    assert found["c-aiter"][:3] == ("applied", "wanted", "none")
    assert found["d-spans"] == ("lost", "wanted", "apply", "returns")


def test_what_requires_a_displaced_entry_is_displaced_with_it(two: Desk, tmp_path: Path) -> None:
    assert two.registry is not None
    shutil.rmtree(two.registry / "aiter/c-aiter")
    add_entry(
        two.registry,
        "c-aiter",
        make_diff({OTHER: (BASE, LOW)}),
        distribution="aiter",
        requires=["a-returns"],
        revision=2,
    )
    assert two.run("apply", "c-aiter").code == 0
    assert looked(two, newer(tmp_path))["c-aiter"] == ("lost", "wanted", "apply", "returns")


def test_of_a_namespace_that_both_share_each_file_is_read_where_it_will_be(tmp_path: Path) -> None:
    site = make_site(tmp_path, {"ns/old.py": b"1\n", "ns/both.py": b"1\n"}, build="0.25.1")
    install(site, {"ns/lower.py": b"1\n", "ns/both.py": b"1\n"}, name="aiter", build="1.0")
    (site / "ns/added.py").write_bytes(b"1\n")
    (site / "ns/stranger.py").write_bytes(b"1\n")
    wheel = make_wheel(tmp_path, [("ns/new.py", b"2\n"), ("ns/both.py", b"2\n")], build="0.26.0")
    target = find_target(site=str(site), python=None, environ={}, names={"vllm", "aiter"})
    with opened_candidate(str(wheel), names={"vllm"}, environ={}) as candidate:
        tree = OverlaidTree(candidate.tree, SiteTree(target), ["ns/added.py"])
        names = ("old", "both", "lower", "added", "stranger", "new")
        read = tree.read(f"ns/{name}.py" for name in names).files
        assert {path: file and file.data for path, file in read.items()} == {
            "ns/old.py": None,
            "ns/both.py": b"2\n",
            "ns/lower.py": b"1\n",
            "ns/added.py": b"1\n",
            "ns/stranger.py": None,
            "ns/new.py": b"2\n",
        }
        assert {name: it.build for name, it in tree.target.distributions.items()} == {"vllm": "0.26.0", "aiter": "1.0"}
        assert tree.search(tree.target.distributions["aiter"], [], ["lower.py", "new.py"]) == {
            "lower.py": ("ns/lower.py",),
            "new.py": (),
        }
