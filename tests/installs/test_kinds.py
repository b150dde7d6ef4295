"""Every kind of installation: what is edited, what is refused, and whether the refusal says what to do."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.environments import make_environment
from tests.installs.making import (
    BASE,
    FILES,
    NEW,
    PATCHED,
    PATH,
    clean_environ,
    desk_on,
    fresh_python,
    make_entries,
    make_wheel,
)
from tests.registries import add_entry, make_diff
from tests.running import Desk, Done, patchctl, tree
from tests.sites import install, make_base_layout, make_site, make_venv_layout, write
from tests.transaction_tree import in_child, litter

ADDED = "small/new/fresh.py"
TREE = {path: data for path, data in FILES.items() if path.startswith("small/")}


def pip(*arguments: str | Path, **environ: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=clean_environ(**environ))
    assert done.returncode == 0, done.stderr


def refused(desk: Desk, code: str, *arguments: str, exit_code: int = 1) -> str:
    """Run ``apply``, which must be refused with the tree untouched; returns message and hint."""
    before = tree(desk.site, but=())
    done = desk.json("apply", *arguments)
    assert done.code == exit_code, done.out
    (problem,) = (it for it in done.document["errors"] if it["code"] == code)
    assert problem["hint"]
    assert tree(desk.site, but=()) == before
    return f"{problem['message']} {problem['hint']}"


# --- pip, with and without its own places


@pytest.mark.slow
@pytest.mark.parametrize("place", ["environment", "target", "prefix", "user"])
def test_what_pip_installs_is_patched_wherever_it_is(tmp_path: Path, place: str) -> None:
    wheel = make_wheel(tmp_path)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    common = ("install", "--no-deps", "--no-index", "--no-compile")
    site = tmp_path / "there" / "lib" / version / "site-packages"
    environ: dict[str, str] = {}
    if place == "environment":
        site = make_environment(tmp_path / "there", wheel)
    elif place == "target":
        site = tmp_path / "there"
        pip(*common, "--target", site, wheel)
    elif place == "prefix":
        pip(*common, "--ignore-installed", "--prefix", tmp_path / "there", wheel)
    else:
        # pip's --user is the user site of the interpreter; PYTHONUSERBASE says where that is.
        make_base_layout(tmp_path / "usr", python=version.removeprefix("python"))
        pip(*common, "--ignore-installed", "--prefix", tmp_path / "there", wheel)
        environ = {"PYTHONUSERBASE": str(tmp_path / "there"), "PATH": str(tmp_path / "usr/bin")}
    registry = str(make_entries(tmp_path))
    chosen = [] if place == "user" else ["--site", str(site)]
    before = tree(site)
    for verb, code in (("apply", 0), ("check", 0), ("revert", 0)):
        done = patchctl(verb, *(["--all"] if verb == "revert" else []), *chosen, "--registry", registry, env=environ)
        assert done.code == code, done.err
        assert str(site) in done.out
    assert tree(site) == before


# --- editable installs


def project(where: Path, backend: str, *, src: bool = False) -> Path:
    module = {"setuptools": "setuptools.build_meta", "hatchling": "hatchling.build"}[backend]
    text = f'[build-system]\nrequires = ["{backend}"]\nbuild-backend = "{module}"\n'
    text += '[project]\nname = "small"\nversion = "1.0"\n'
    write(where / "pyproject.toml", text.encode())
    for path, data in TREE.items():
        write(where / ("src" if src else "") / path, data)
    return where / "src" if src else where


def editable_by_hand(kind: str) -> Callable[[Path, Path], None]:
    """Return what an installer leaves in a site for a tree, per kind of redirection."""

    def pth(site: Path, source: Path) -> None:
        name = "__editable__.small-1.0.pth"
        install(site, {name: f"{source}\n".encode()}, name="small", build="1.0", info_files=direct_url())

    def finder(site: Path, source: Path) -> None:
        module = "__editable___small_1_0_finder"
        code = f"from __future__ import annotations\nMAPPING: dict[str, str] = {{'small': '{source}/small'}}\n"
        code += "NAMESPACES: dict[str, list[str]] = {}\nPATH_PLACEHOLDER = 'x'\n"
        files = {f"{module}.py": code.encode(), "__editable__.small-1.0.pth": f"import {module}\n".encode()}
        install(site, files, name="small", build="1.0", info_files=direct_url())

    def egg_link(site: Path, source: Path) -> None:
        write(source / "small.egg-info/PKG-INFO", b"Metadata-Version: 2.1\nName: small\nVersion: 1.0\n")
        write(source / "small.egg-info/top_level.txt", b"small\n")
        write(site / "small.egg-link", f"{source}\n.".encode())
        write(site / "easy-install.pth", f"{source}\n".encode())

    return {"pth": pth, "finder": finder, "egg-link": egg_link}[kind]


def direct_url() -> dict[str, bytes]:
    return {"direct_url.json": json.dumps({"url": "file:///x", "dir_info": {"editable": True}}).encode()}


@pytest.fixture(params=["pth", "finder", "egg-link"])
def editable(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Desk, Path]:
    source = tmp_path / "source"
    for path, data in TREE.items():
        write(source / path, data)
    editable_by_hand(request.param)(tmp_path / "site", source)
    return desk_on(tmp_path / "site", tmp_path), source


def test_c07_an_editable_install_is_refused_without_the_flag(editable: tuple[Desk, Path]) -> None:
    desk, source = editable
    before = tree(source)
    said = refused(desk, "editable-install")
    assert str(source) in said
    assert "--allow-editable" in said
    for arguments in (("fix",), ("--dry-run",), ("fix", "--dry-run")):
        refused(desk, "editable-install", *arguments)
    assert tree(source) == before
    assert desk.run("check").code == 1
    assert "editable" in desk.run("status").err


def test_c07_with_the_flag_its_source_tree_is_patched_and_put_back(editable: tuple[Desk, Path]) -> None:
    desk, source = editable
    before = tree(source)
    assert desk.run("apply", "--allow-editable").code == 0
    assert (source / PATH).read_bytes() == PATCHED
    assert (source / ADDED).read_bytes() == NEW
    assert not (source / "small/old.py").exists()
    assert not (source / ".patchctl").exists()
    assert not (desk.site / "small").exists()
    assert (desk.site / ".patchctl/ledger.json").exists()
    assert desk.run("check").code == 0
    assert desk.run("apply").code == 0, "nothing to do needs no flag"
    assert desk.run("revert", "--all").code == 1
    assert desk.run("revert", "--all", "--allow-editable").code == 0
    assert tree(source) == before
    assert litter(source) == []


def test_c07_a_decision_about_an_editable_install_never_comes_from_the_environment(
    editable: tuple[Desk, Path],
) -> None:
    desk, _ = editable
    for variable in ("PATCHCTL_ALLOW_EDITABLE", "PATCHCTL_ALLOW_BASE"):
        done = desk.run("apply", env={variable: "1"})
        assert (done.code, "command line" in done.err) == (2, True)


def test_c07_byte_code_beside_the_source_tree_is_purged_and_the_new_code_runs(editable: tuple[Desk, Path]) -> None:
    desk, source = editable
    show = "import small.a; print(small.a.VALUE)"
    assert fresh_python(source, show) == "1"
    assert desk.run("apply", "--allow-editable").code == 0
    assert fresh_python(source, show) == "2"


def test_c07_a_kill_over_a_source_tree_is_recovered_without_the_flag(editable: tuple[Desk, Path]) -> None:
    desk, source = editable
    before = tree(source)
    killed(desk, "--allow-editable")
    assert tree(source) != before
    assert desk.run("check").code == 4
    assert desk.run("recover").code == 0
    assert tree(source) == before
    assert litter(desk.site, recorded=True) == []
    killed(desk, "--allow-editable")
    assert desk.run("apply").code == 1, "the next writing verb settles it, and is refused itself"
    assert tree(source) == before


def killed(desk: Desk, *options: str) -> None:
    """Run ``apply`` in a process that is killed when all files are replaced, and the ledger is not."""

    def attempt() -> None:
        sys.addaudithook(kill_at_the_ledger)
        desk.run("apply", *options)

    assert in_child(attempt) == -9


def kill_at_the_ledger(event: str, arguments: tuple[object, ...]) -> None:
    if event == "os.rename" and str(arguments[1]) == "ledger.json":
        os.kill(os.getpid(), signal.SIGKILL)


def test_c07_a_journal_alone_never_leads_out_of_the_site(editable: tuple[Desk, Path], tmp_path: Path) -> None:
    desk, source = editable
    killed(desk, "--allow-editable")
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(source, elsewhere)
    journal = desk.site / ".patchctl/journal.json"
    journal.write_text(journal.read_text().replace(str(source), str(elsewhere)))
    before = tree(elsewhere), tree(source)
    done = desk.run("recover")
    assert done.code == 4
    assert str(elsewhere) in done.err
    assert (tree(elsewhere), tree(source)) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to own another user's files")
def test_c07_root_does_not_edit_another_users_source_tree(editable: tuple[Desk, Path]) -> None:
    desk, source = editable
    os.chown(source / "small", 12345, 12345)
    done = desk.run("apply", "--allow-editable")
    assert done.code == 3
    assert f"{source}/small belongs to" in done.err


UNSUPPORTED: dict[str, tuple[dict[str, bytes], str]] = {
    "import hook of another back end": (
        {"_small_editable.pth": b"import _small_hook\n", "_small_hook.py": b""},
        "runs code",
    ),
    "namespace package": (
        {"__editable___small_finder.py": b"MAPPING = {'small.sub': '/src/small/sub'}\nNAMESPACES = {}\n"},
        "namespace package",
    ),
    "renamed directory": (
        {"__editable___small_finder.py": b"MAPPING = {'small': '/src/lib'}\nNAMESPACES = {}\n"},
        "another name",
    ),
    "computed mapping": ({"__editable___small_finder.py": b"MAPPING = dict(small='/x')\n"}, "cannot be read"),
    "no mapping": ({"__editable___small_finder.py": b"X = 1\n"}, "states no mapping"),
    "gone tree": ({"__editable__.small-1.0.pth": b"/nowhere/at/all\n"}, "which are gone"),
    "strict mode": ({"__editable__.small-1.0.pth": b"{tree}/build/__editable__.small-1.0\n"}, "strict mode"),
    "two places": ({"__editable__.small-1.0.pth": b"{tree}/one\n{tree}/two\n"}, "several places"),
    "linked package": ({"__editable__.small-1.0.pth": b"{tree}/linked\n"}, "is a link"),
}


@pytest.mark.parametrize("kind", UNSUPPORTED)
def test_c07_a_layout_that_cannot_be_supported_is_refused_with_the_flag_too(tmp_path: Path, kind: str) -> None:
    files, words = UNSUPPORTED[kind]
    trees = tmp_path / "trees"
    for path, data in TREE.items():
        for place in ("one", "two", "build/__editable__.small-1.0"):
            write(trees / place / path, data)
    (trees / "linked").mkdir()
    (trees / "linked/small").symlink_to(trees / "one/small")
    site = tmp_path / "site"
    placed = {name: data.replace(b"{tree}", str(trees).encode()) for name, data in files.items()}
    install(site, placed, name="small", build="1.0", info_files=direct_url())
    desk = desk_on(site, tmp_path)
    before = tree(trees)
    said = refused(desk, "editable-layout", "--allow-editable", exit_code=3)
    assert words in said
    assert "without -e" in said
    assert desk.run("check").code == 3
    assert desk.run("status").code == 0
    assert tree(trees) == before


def test_c07_a_package_that_is_in_the_site_as_well_is_refused(editable: tuple[Desk, Path]) -> None:
    desk, source = editable
    write(desk.site / PATH, BASE)
    before = tree(source)
    assert desk.run("apply", "--allow-editable").code == 3
    assert tree(source) == before


def test_c07_an_editable_install_does_not_stop_the_others(editable: tuple[Desk, Path]) -> None:
    desk, source = editable
    install(desk.site, {"big/b.py": BASE}, name="big", build="2.0")
    assert desk.registry is not None
    add_entry(desk.registry, "other", make_diff({"big/b.py": (BASE, PATCHED)}), distribution="big")
    done = desk.json("apply")
    assert done.code == 1
    assert [(it["code"], it["patch"]) for it in done.document["errors"]] == [("editable-install", "fix")]
    assert (desk.site / "big/b.py").read_bytes() == PATCHED
    assert (source / PATH).read_bytes() == BASE


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "src"), [("setuptools", False), ("setuptools", True), ("hatchling", True)])
def test_c07_real_editable_installs(tmp_path: Path, backend: str, src: bool) -> None:
    top = project(tmp_path / "tree", backend, src=src)
    site = make_environment(tmp_path / "env")
    python = tmp_path / "env/bin/python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--editable"]
    done = subprocess.run([*command, str(tmp_path / "tree")], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{backend} cannot be fetched here: {done.stderr.strip()[-200:]}")
    desk = desk_on(site, tmp_path)
    assert desk.run("apply").code == 1
    assert desk.run("apply", "--allow-editable").code == 0
    assert (top / PATH).read_bytes() == PATCHED
    show = [str(python), "-c", "import small.a; print(small.a.VALUE)"]
    found = subprocess.run(show, capture_output=True, text=True, check=True, env=clean_environ(), cwd="/")
    assert found.stdout == "2\n"
    assert desk.run("revert", "--all", "--allow-editable").code == 0
    assert (top / PATH).read_bytes() == BASE


# --- the base of an environment with system site-packages


def shared(tmp_path: Path, *arguments: str) -> Done:
    env = {"VIRTUAL_ENV": str(tmp_path / "env")}
    return patchctl(*arguments, "--registry", str(tmp_path / "registry-small"), env=env)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    make_venv_layout(tmp_path / "env", cfg={"include-system-site-packages": "true"})
    site = tmp_path / "env.base/lib/python3.11/site-packages"
    install(site, FILES, name="small", build="1.0")
    make_entries(tmp_path)
    return site


def test_c08_a_distribution_of_the_shared_base_is_refused_without_the_flag(tmp_path: Path, base: Path) -> None:
    before = tree(base, but=())
    for arguments in (("apply",), ("apply", "fix"), ("apply", "--dry-run"), ("hold", "fix", "--reason", "x")):
        done = shared(tmp_path, *arguments)
        assert done.code == 1, arguments
        assert "shares with every user of its base installation" in done.err
        assert "--allow-base" in done.err
    assert tree(base, but=()) == before
    assert shared(tmp_path, "status").code == 0
    assert shared(tmp_path, "check").code == 1
    assert json.loads(shared(tmp_path, "status", "--json").out)["target"]["shared_by"] == str(tmp_path / "env")


def test_c08_with_the_flag_the_base_is_patched_and_put_back(tmp_path: Path, base: Path) -> None:
    before = tree(base)
    assert shared(tmp_path, "apply", "--allow-base").code == 0
    assert (base / PATH).read_bytes() == PATCHED
    assert shared(tmp_path, "apply").code == 0, "nothing to do needs no flag"
    assert shared(tmp_path, "revert", "--all").code == 1
    assert shared(tmp_path, "revert", "--all", "--allow-base").code == 0
    assert tree(base) == before


def test_c08_a_kill_in_the_base_is_seen_and_settled_from_the_environment(tmp_path: Path, base: Path) -> None:
    before = tree(base)
    env = {"VIRTUAL_ENV": str(tmp_path / "env")}
    registry = str(tmp_path / "registry-small")

    def attempt() -> None:
        sys.addaudithook(kill_at_the_ledger)
        patchctl("apply", "--allow-base", "--registry", registry, env=env)

    assert in_child(attempt) == -9
    assert tree(base) != before
    assert shared(tmp_path, "check").code == 4
    assert shared(tmp_path, "recover").code == 0
    assert tree(base) == before


def test_c08_naming_the_base_itself_is_word_enough(tmp_path: Path, base: Path) -> None:
    assert desk_on(base, tmp_path).run("apply").code == 0


# --- two records of one distribution, leftovers


def test_c09_two_dist_infos_of_one_name_are_an_ambiguity(tmp_path: Path) -> None:
    site = make_site(tmp_path, FILES, name="small", build="1.0")
    install(site, FILES, name="small", build="1.1")
    desk = desk_on(site, tmp_path)
    said = refused(desk, "ambiguous-distribution", exit_code=3)
    assert "small-1.0.dist-info and small-1.1.dist-info" in said
    assert "leftover" in said


def two_distributions(tmp_path: Path) -> Desk:
    site = make_site(tmp_path, FILES, name="small", build="1.0")
    install(site, {"big/b.py": BASE}, name="big", build="2.0")
    desk = desk_on(site, tmp_path)
    assert desk.registry is not None
    add_entry(desk.registry, "other", make_diff({"big/b.py": (BASE, PATCHED)}), distribution="big")
    return desk


@pytest.mark.parametrize("trouble", ["two records", "egg", "broken metadata", "unreadable editable"])
def test_c09_trouble_with_one_distribution_stops_its_own_entries_only(tmp_path: Path, trouble: str) -> None:
    desk = two_distributions(tmp_path)
    spoil(desk.site, trouble)
    done = desk.json("apply")
    assert done.code == 3
    assert [it["patch"] for it in done.document["errors"]] == ["fix"]
    assert (desk.site / "big/b.py").read_bytes() == PATCHED
    assert (desk.site / PATH).read_bytes() == BASE
    assert desk.run("apply", "other").code == 0
    assert desk.run("apply", "fix").code == 3
    assert desk.run("status").code == 0
    assert desk.run("check").code == 3
    assert desk.run("check", "other").code == 0
    assert desk.run("revert", "other").code == 0
    assert desk.run("status", "--distribution", "small").code == (0 if trouble == "unreadable editable" else 3)


def test_c09_what_was_applied_to_it_before_stays_recorded_and_is_not_touched(tmp_path: Path) -> None:
    desk = two_distributions(tmp_path)
    assert desk.run("apply").code == 0
    spoil(desk.site, "two records")
    before = tree(desk.site)
    done = desk.json("apply")
    assert done.code == 3
    assert [it["patch"] for it in done.document["errors"]] == ["fix"]
    assert tree(desk.site) == before
    assert desk.run("revert", "other").code == 0
    assert (desk.site / PATH).read_bytes() == PATCHED
    assert '"fix"' in (desk.site / ".patchctl/ledger.json").read_text()


def spoil(site: Path, trouble: str) -> None:
    if trouble == "two records":
        install(site, {}, name="small", build="1.1")
    elif trouble == "egg":
        for path in (site / "small-1.0.dist-info").iterdir():
            path.unlink()
        (site / "small-1.0.dist-info").rmdir()
        (site / "small-1.0-py3.11.egg").write_bytes(b"PK")
    elif trouble == "broken metadata":
        (site / "small-1.0.dist-info/METADATA").unlink()
        (site / "small-1.0.dist-info/METADATA").mkdir()
    else:
        (site / "small-1.0.dist-info/direct_url.json").write_bytes(direct_url()["direct_url.json"])
        record = site / "small-1.0.dist-info/RECORD"
        record.write_bytes(record.read_bytes() + b"small-1.0.dist-info/direct_url.json,,\r\n")


def test_leftovers_and_nameless_metadata_are_nobodys_business(tmp_path: Path) -> None:
    site = make_site(tmp_path, FILES, name="small", build="1.0")
    write(site / "~mall-0.9.dist-info/METADATA", b"Name: small\nVersion: 0.9\n")
    write(site / "~small/a.py", b"")
    write(site / "small-0.8.dist-info/RECORD", b"")
    write(site / "small-0.7.dist-info/METADATA", b"Version: 0.7\n")
    assert desk_on(site, tmp_path).run("apply").code == 0


def test_files_of_a_namespace_package_belong_to_whom_record_says(tmp_path: Path) -> None:
    site = make_site(tmp_path, {"ns/one/a.py": BASE}, name="ns-one", build="1.0")
    install(site, {"ns/two/b.py": BASE}, name="ns-two", build="1.0")
    desk = desk_on(site, tmp_path)
    assert desk.registry is not None
    add_entry(desk.registry, "own", make_diff({"ns/one/a.py": (BASE, PATCHED)}), distribution="ns-one")
    add_entry(desk.registry, "others", make_diff({"ns/two/b.py": (BASE, PATCHED)}), distribution="ns-one")
    assert desk.run("apply", "own").code == 0
    done = desk.run("apply", "others")
    assert done.code == 1
    assert "not listed in RECORD of ns-one" in done.err
    assert (site / "ns/two/b.py").read_bytes() == BASE


def test_one_patch_over_two_distributions_is_one_transaction(tmp_path: Path) -> None:
    desk = two_distributions(tmp_path)
    assert desk.registry is not None
    folder = add_entry(desk.registry, "both", make_diff({"big/b.py": (BASE, PATCHED)}), distribution="big")
    (folder / "small.diff").write_bytes(make_diff({PATH: (BASE, PATCHED)}))
    from patchctl.model import sha256_hex

    with (folder / "patch.toml").open("a") as stream:
        stream.write('\n[[variant]]\ndistribution = "small"\ndiff = "small.diff"\nversions = ">=0"\n')
        stream.write(f'sha256 = "{sha256_hex((folder / "small.diff").read_bytes())}"\n')
    before = tree(desk.site)
    done = desk.json("apply", "both")
    assert done.code == 0
    assert [it["path"] for it in done.document["transaction"]["files"]] == ["big/b.py", PATH]
    assert desk.run("revert", "both").code == 0
    assert tree(desk.site) == before
    spoil(desk.site, "two records")
    assert desk.run("apply", "both").code == 3
    assert (desk.site / "big/b.py").read_bytes() == BASE


# --- nothing to edit


@pytest.mark.parametrize("zipped", [True, False])
def test_c13_an_egg_is_refused(tmp_path: Path, zipped: bool) -> None:
    site = tmp_path / "site"
    egg = site / "small-1.0-py3.11.egg"
    if zipped:
        site.mkdir()
        with zipfile.ZipFile(egg, "w") as archive:
            archive.writestr(PATH, BASE)
            archive.writestr("EGG-INFO/PKG-INFO", "Name: small\nVersion: 1.0\n")
    else:
        write(egg / PATH, BASE)
    said = refused(desk_on(site, tmp_path), "egg-install", exit_code=3)
    assert "from a wheel" in said


def test_c13_source_less_byte_code_is_refused(tmp_path: Path) -> None:
    import py_compile

    site = make_site(tmp_path, FILES, name="small", build="1.0")
    py_compile.compile(str(site / PATH), cfile=str(site / "small/a.pyc"))
    (site / PATH).unlink()
    desk = desk_on(site, tmp_path)
    before = tree(site, but=())
    done = desk.json("apply")
    assert done.code == 1
    assert "has no source here: there is only a.pyc" in done.out
    assert done.document["errors"][0]["code"] == "needs-inspect"
    assert tree(site, but=()) == before


def test_c29_a_compiled_module_beside_the_source_is_refused_by_name(tmp_path: Path) -> None:
    site = make_site(tmp_path, FILES, name="small", build="1.0")
    (site / "small/a.cpython-311-x86_64-linux-gnu.so").write_bytes(b"\x7fELF")
    desk = desk_on(site, tmp_path)
    before = tree(site, but=())
    done = desk.run("apply")
    assert done.code == 1
    assert "is shadowed by a.cpython-311-x86_64-linux-gnu.so" in done.err
    assert tree(site, but=()) == before


# --- conda and Debian


def conda(tmp_path: Path, *, damage: str | None = None) -> Path:
    import hashlib

    prefix = make_base_layout(tmp_path / "conda", python="3.10")
    site = prefix / "lib/python3.10/site-packages"
    install(site, FILES, name="small", build="1.0", installer="conda", record=False)
    below = "lib/python3.10/site-packages"
    rows = [
        {"_path": f"{below}/{path}", "path_type": "hardlink", "sha256": hashlib.sha256(data).hexdigest()}
        for path, data in FILES.items()
    ]
    rows.append({"_path": f"{below}/small-1.0.dist-info/METADATA", "path_type": "hardlink", "sha256": "0" * 64})
    rows.append({"_path": f"{below}/small/__pycache__/a.cpython-310.pyc", "path_type": "pyc_file"})
    document = json.dumps({"name": "small", "version": "1.0", "paths_data": {"paths": rows}}, indent=1)
    if damage == "json":
        document = document[:-5]
    elif damage == "hashes":
        document = document.replace('"sha256": "', '"sha256": "xyz')
    write(prefix / "conda-meta/small-1.0-py310_0.json", document.encode())
    write(prefix / "conda-meta/other-1.0-0.json", b'{"paths_data": {"paths": []}}')
    write(prefix / "conda-meta/history", b"")
    return site


def test_c06_conda_meta_tells_what_is_pristine_where_record_is_missing(tmp_path: Path) -> None:
    site = conda(tmp_path)
    desk = desk_on(site, tmp_path)
    done = desk.json("status")
    (found,) = done.document["target"]["distributions"]
    assert (found["record"], found["oracle"], found["installer"]) == (None, "conda-meta", "conda")
    assert found["fingerprint"] is not None
    assert done.document["warnings"] == []
    pristine = {it["path"]: it["pristine"] for it in done.patch("fix")["files"]}
    assert pristine[PATH] is True
    assert desk.run("apply").code == 0
    assert desk.run("revert", "--all").code == 0
    write(site / PATH, BASE + b"# edited\n")
    pristine = {it["path"]: it["pristine"] for it in desk.json("status").patch("fix")["files"]}
    assert pristine[PATH] is False


@pytest.mark.parametrize("damage", ["json", "hashes"])
def test_c06_a_damaged_conda_meta_is_no_oracle(tmp_path: Path, damage: str) -> None:
    desk = desk_on(conda(tmp_path, damage=damage), tmp_path)
    done = desk.json("apply")
    assert done.code == 0
    pristine = {it["path"]: it["pristine"] for it in done.patch("fix")["files"]}
    assert pristine[PATH] is None


def test_c06_without_record_hashes_decide_and_a_warning_says_so(tmp_path: Path) -> None:
    site = make_site(tmp_path, FILES, name="small", build="1.0", record=False)
    desk = desk_on(site, tmp_path)
    before = tree(site)
    done = desk.json("apply")
    assert (done.code, [it["code"] for it in done.document["warnings"]]) == (0, ["no-record"])
    assert (site / PATH).read_bytes() == PATCHED
    assert desk.run("check").code == 0
    assert desk.run("revert", "--all").code == 0
    assert tree(site) == before


def test_a_debian_package_is_patched_with_a_warning_that_names_dpkg_divert(tmp_path: Path) -> None:
    usr = make_base_layout(tmp_path / "usr", sites=("lib/python3/dist-packages",))
    site = usr / "lib/python3/dist-packages"
    write(site / "small-1.0.egg-info/PKG-INFO", b"Name: small\nVersion: 1.0\n")
    for path, data in FILES.items():
        write(site / path, data)
    done = desk_on(site, tmp_path).run("apply")
    assert done.code == 0
    assert "apt" in done.err
    assert "dpkg-divert" in done.err
    local = usr / "local/lib/python3.11/dist-packages"
    install(local, FILES, name="small", build="1.0")
    assert "dpkg-divert" not in desk_on(local, tmp_path).run("apply").err


def test_what_conda_lists_is_read_as_record_rows(tmp_path: Path) -> None:
    from patchctl.target.conda import conda_record

    site = conda(tmp_path)
    rows = conda_record(str(site), "small-1.0.dist-info")
    assert rows is not None
    digest = base64.urlsafe_b64encode(__import__("hashlib").sha256(BASE).digest()).rstrip(b"=").decode()
    assert rows[PATH] == f"sha256={digest}"
    assert rows["small/__pycache__/a.cpython-310.pyc"] is None
    assert conda_record(str(site), "other-1.0.dist-info") is None
    assert conda_record("/site-packages", "small-1.0.dist-info") is None
