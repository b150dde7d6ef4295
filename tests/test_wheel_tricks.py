"""A wheel of an attacker is read byte for byte as pip installs it, or refused; what it brings is believed nowhere."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchctl.errors import PatchctlError, TargetError
from patchctl.model.paths import path_problem
from patchctl.target import opened_candidate
from patchctl.target.wheel import WheelFile, wheel_tree
from tests.conftest import LONG
from tests.golden import GOLDEN
from tests.pip_trees import Installed, pip_trees
from tests.raw_zip import Entry
from tests.registries import add_entry, make_diff, make_registry
from tests.running import patchctl
from tests.sites import install, tree_state
from tests.wheel_tricks import (
    DATA,
    INFO,
    METADATA,
    ONE,
    WHEEL,
    A,
    Trick,
    member,
    packed,
    placed,
    recorded,
    tricks,
    written,
)

pytestmark = pytest.mark.attack("wheel-tricks")

TRICKS = {trick.name: trick for trick in tricks()}
MADE = frozenset({"INSTALLER", "REQUESTED", "RECORD", "direct_url.json"})
"""What pip writes into dist-info itself, whatever the wheel has there."""
NOT_OF_A_SITE = ("include/", "bin/")
"""Headers, and commands that pip makes: ``--target`` alone puts them beside the packages."""


class Seen(dict[str, WheelFile]):
    """What patchctl reads at each path."""


def is_made(path: str) -> bool:
    """Tell whether pip writes the file itself."""
    top, _, name = path.partition("/")
    return top.endswith(".dist-info") and name in MADE


def seen(wheel: Path, more: Iterable[str] = ()) -> Seen:
    """Read every path that the wheel has, and ``more``; what preflight's own reading shows must be the same."""
    found = Seen()
    with opened_candidate(str(wheel), names={"vllm"}, environ={}) as candidate, wheel_tree(str(wheel)) as tree:
        archive = tree._archive
        for path in sorted({*archive.places, *archive.beside, *more}):
            file = None if is_made(path) else archive.read(path)
            if file is not None:
                found[path] = file
        snapshot = candidate.tree.read(found)
        assert set(snapshot.files) | set(snapshot.problems) == set(found)
        for path, live in snapshot.files.items():
            assert live is not None, path
            assert (live.data, bool(live.meta.mode & 0o100)) == found[path], path
    return found


def agree(wheel: Path, installed: Installed) -> None:
    """Hold what patchctl reads against what pip installed, in both directions."""
    assert installed.files is not None
    ours = {path: file for path, file in installed.files.items() if not is_made(path)}
    found = seen(wheel, ours)
    for path, file in ours.items():
        if path not in found:
            assert path.startswith(NOT_OF_A_SITE), f"pip installed {path}"
            continue
        assert found[path] == file, path
    assert not set(found) - set(ours), "shown, and not installed"


@pytest.fixture(scope="module")
def installations(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[Path, Installed]]:
    """Every wheel with what pip made of it. A wheel that is refused is installed in a long run alone: it may be."""
    root = tmp_path_factory.mktemp("tricks")
    chosen = [trick for trick in TRICKS.values() if LONG or trick.refused is None]
    wheels = [written(trick, root / str(number)) for number, trick in enumerate(chosen)]
    trees = pip_trees(wheels, root / "pip")
    return {trick.name: (wheel, tree) for trick, wheel, tree in zip(chosen, wheels, trees, strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, trick in TRICKS.items() if trick.refused is None])
def test_it_is_read_as_pip_installs_it(name: str, installations: Mapping[str, tuple[Path, Installed]]) -> None:
    wheel, installed = installations[name]
    if installed.files is None:
        assert TRICKS[name].also_read is not None, f"pip refuses: {installed.why}"
        seen(wheel)
    else:
        agree(wheel, installed)


@pytest.mark.parametrize("name", [name for name, trick in TRICKS.items() if trick.refused is not None])
def test_it_is_refused_with_a_reason(name: str, tmp_path: Path) -> None:
    trick = TRICKS[name]
    wheel = written(trick, tmp_path / "wheel")
    with pytest.raises(TargetError) as caught:
        seen(wheel)
    problem = caught.value.problem
    assert problem.code == trick.refused, problem
    assert problem.message.startswith(str(wheel))
    assert problem.message.replace(str(wheel), "WHEEL") == reasons()[name]
    assert problem.hint


def reasons() -> dict[str, str]:
    """The sentence that each refused wheel is to be answered with, by the name of its trick."""
    lines = (GOLDEN / "wheel-tricks.txt").read_text("utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


def test_every_refused_trick_has_its_own_sentence() -> None:
    assert list(reasons()) == [name for name, trick in TRICKS.items() if trick.refused is not None]


@pytest.mark.slow
@pytest.mark.skipif(not LONG, reason="LONG_TESTS=1: what is refused is told beside what pip does")
def test_what_pip_refuses_is_refused(installations: Mapping[str, tuple[Path, Installed]]) -> None:
    for name, (wheel, installed) in installations.items():
        if installed.files is None and TRICKS[name].also_read is None:
            with pytest.raises(TargetError):
                seen(wheel)


def extracted(wheel: Path, into: Path) -> Path:
    """Unpack a wheel as ``unzip`` does."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(into)
        for entry in archive.infolist():
            if stat.S_ISREG(entry.external_attr >> 16):
                (into / entry.filename).chmod(0o755 if entry.external_attr >> 16 & 0o111 else 0o644)
    return into


@pytest.mark.slow
def test_an_extracted_wheel_is_read_as_pip_installs_the_wheel(
    installations: Mapping[str, tuple[Path, Installed]], tmp_path: Path
) -> None:
    for number, (name, (wheel, installed)) in enumerate(installations.items()):
        if TRICKS[name].refused is not None or installed.files is None:
            continue
        directory = extracted(wheel, tmp_path / str(number))
        expected = {path: file for path, file in installed.files.items() if path_problem(path) is None}
        try:
            with opened_candidate(str(directory), names={"vllm"}, environ={}) as candidate:
                snapshot = candidate.tree.read(expected)
        except TargetError as error:
            assert error.problem.code == "unsafe-wheel", name  # noqa: PT017
            assert any(path.is_dir() for path in directory.glob("*.data/*")), name
            continue
        for path, live in snapshot.files.items():
            if not path.startswith(NOT_OF_A_SITE):
                assert live is not None, (name, path)
                assert (live.data, bool(live.meta.mode & 0o100)) == expected[path], (name, path)


@pytest.mark.parametrize("stem", ["vllm-0.25.1", "other-1", "VLLM-0.25.1"])
@pytest.mark.parametrize("scheme", ["purelib", "platlib", "data"])
def test_an_extracted_wheel_with_files_that_belong_elsewhere_is_refused(tmp_path: Path, stem: str, scheme: str) -> None:
    install(tmp_path / "tree", {ONE: A}, build="0.25.1")
    place = tmp_path / "tree" / f"{stem}.data" / scheme / "vllm"
    place.mkdir(parents=True)
    (place / "one.py").write_bytes(b"other = 1\n")
    with (
        pytest.raises(TargetError) as caught,
        opened_candidate(str(tmp_path / "tree"), names={"vllm"}, environ={}),
    ):
        pass
    assert caught.value.problem.code == "unsafe-wheel"


def test_restore_puts_back_what_record_lists_and_nothing_else(tmp_path: Path) -> None:
    root = tmp_path / "root"
    site = root / "site"
    install(site, {ONE: A, "vllm/two.py": b"two = 2\n"}, build="0.25.1")
    registry = make_registry(root / "registry")
    add_entry(registry, "entry", make_diff({ONE: (A, b"patched = 1\n")}))
    chosen = list(TRICKS.values()) if LONG else [*placed(), *recorded()]
    back = 0
    for number, trick in enumerate(chosen):
        wheel = written(trick, tmp_path / "wheels" / str(number))
        (site / ONE).write_bytes(b"edited = 1\n")
        before = tree_state(root)
        done = patchctl(
            *("restore", ONE, "--from", str(wheel), "--site", str(site), "--registry", str(registry), "--json")
        )
        assert done.code in {0, 1, 3}, (trick.name, done)
        if done.code:
            assert tree_state(root) == before, trick.name
            assert done.document["errors"], trick.name
            continue
        back += 1
        assert (site / ONE).read_bytes() == A, trick.name
        after = tree_state(root)
        changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
        state = {path for path in changed if path.startswith("site/.patchctl")}
        assert changed - state <= {"site", "site/vllm", f"site/{ONE}"}, trick.name
    assert back > len(chosen) // 8


NAMES = st.sampled_from(
    [
        ONE,
        "vllm/two.py",
        "vllm/sub/three.py",
        "vllm/sub/",
        "vllm",
        "top.py",
        "bin/tool",
        "include/x.h",
        "etc/conf",
        *(f"{DATA}/{scheme}/{name}" for scheme in ("purelib", "platlib", "data") for name in (ONE, "vllm/four.py")),
        f"{DATA}/data/lib/python/vllm/five.py",
        f"{DATA}/data/bin/tool",
        f"{DATA}/scripts/tool",
        f"{DATA}/headers/vllm.h",
        f"{INFO}/top_level.txt",
        f"{INFO}/licenses/LICENSE",
        "vllm/é.py",
        "vllm/./x.py",
        "x.data",
        "numpy/__init__.py",
    ]
)
MODES = st.sampled_from(
    [stat.S_IFREG | 0o644, stat.S_IFREG | 0o755, 0, 0o755, stat.S_IFREG | 0o4711, stat.S_IFDIR | 0o755, stat.S_IFLNK]
)
MEMBERS = st.builds(
    lambda name, data, mode, deflated, descriptor, zip64: member(
        *(name, b"" if name.endswith("/") else data),
        mode=stat.S_IFDIR | 0o755 if name.endswith("/") else mode,
        deflated=deflated,
        descriptor=descriptor and not zip64,
        zip64=zip64,
    ),
    NAMES,
    st.sampled_from([A, b"", b"#!python\nx\n", bytes(range(256)) * 9]),
    MODES,
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


def drawn(members: list[Entry], metadata: bytes, wheel: bytes) -> Trick:
    return Trick("drawn", packed([member("vllm/__init__.py", b""), *members], metadata=metadata, wheel=wheel))


WHEELS = st.builds(
    drawn,
    st.lists(MEMBERS, max_size=5, unique_by=lambda entry: entry.name),
    st.sampled_from([METADATA, METADATA.replace(b"\n", b"\r\n"), METADATA + b"License: x\n\nbody\n"]),
    st.sampled_from([WHEEL, WHEEL.replace(b"true", b"false")]),
)


@pytest.mark.slow
@settings(
    max_examples=300 if LONG else 3,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(WHEELS, min_size=6, max_size=12))
def test_any_wheel_is_read_as_pip_installs_it_or_refused(
    tmp_path_factory: pytest.TempPathFactory, some: list[Trick]
) -> None:
    root = tmp_path_factory.mktemp("drawn")
    read = []
    for number, trick in enumerate(some):
        wheel = written(trick, root / str(number))
        try:
            seen(wheel)
        except PatchctlError as error:
            assert error.problem.code in {"unsafe-wheel", "wrong-record"}  # noqa: PT017
            continue
        read.append(wheel)
    for wheel, installed in zip(read, pip_trees(read, root / "pip") if read else [], strict=True):
        assert installed.files is not None, installed.why
        agree(wheel, installed)
