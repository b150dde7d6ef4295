"""Which environment and which site directory is meant, over real miniature trees of every layout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from patchctl.errors import TargetError
from patchctl.model.target import Target
from patchctl.target import find_target
from patchctl.target.layout import environment_of
from tests.sites import INTERPRETER, Content, install, make_base_layout, make_site, make_venv_layout, tree_state, write

FILES = {"vllm/__init__.py": b"", "vllm/a.py": b"a = 1\n"}


def find(
    *,
    site: Path | str | None = None,
    python: Path | str | None = None,
    names: Iterable[str] = ("vllm",),
    distribution: str | None = None,
    own_prefix: Path | str = "/nowhere",
    **environ: Path | str,
) -> Target:
    return find_target(
        site=None if site is None else str(site),
        python=None if python is None else str(python),
        environ={key: str(value) for key, value in environ.items()},
        names=tuple(names),
        distribution=distribution,
        own_prefix=str(own_prefix),
    )


def refused(code: str, **arguments: object) -> str:
    """Return the message of the TargetError with this code that looking for the target must raise."""
    with pytest.raises(TargetError) as caught:
        find(**arguments)  # type: ignore[arg-type]
    assert caught.value.problem.code == code
    return caught.value.problem.message


# --- which setting decides


def test_the_first_setting_that_is_given_decides(tmp_path: Path) -> None:
    for name in ("bare", "named", "active", "conda", "path"):
        install(make_venv_layout(tmp_path / name), FILES)
    settings: dict[str, Path] = {
        "site": tmp_path / "bare" / "lib" / "python3.11" / "site-packages",
        "python": tmp_path / "named" / "bin" / "python",
        "VIRTUAL_ENV": tmp_path / "active",
        "CONDA_PREFIX": tmp_path / "conda",
        "PATH": tmp_path / "path" / "bin",
    }
    for origin, root in [
        ("--site", "bare"),
        ("--python", "named"),
        ("VIRTUAL_ENV", "active"),
        ("CONDA_PREFIX", "conda"),
        ("PATH", "path"),
    ]:
        target = find(**settings)  # type: ignore[arg-type]
        assert (target.origin, target.site) == (origin, str(tmp_path / root / "lib/python3.11/site-packages"))
        del settings[origin.removeprefix("--")]
    assert "no python3 was found on PATH" in refused("no-environment", **settings)


def test_a_setting_that_leads_nowhere_is_an_error_and_not_passed_over(tmp_path: Path) -> None:
    install(make_venv_layout(tmp_path / "good"), FILES)
    good = tmp_path / "good" / "bin"
    gone = tmp_path / "gone"
    gone_text = f"VIRTUAL_ENV names {gone}, which is not a directory"
    assert refused("no-environment", VIRTUAL_ENV=gone, PATH=good) == gone_text
    assert refused("no-environment", CONDA_PREFIX=gone, PATH=good).startswith("CONDA_PREFIX names")
    assert refused("no-interpreter", python=gone, PATH=good) == f"--python names {gone}, which is not there"
    assert refused("no-site", site=gone, PATH=good) == f"--site names {gone}, which is not a directory"
    gone.mkdir()
    assert "holds no Python environment" in refused("no-environment", VIRTUAL_ENV=gone, PATH=good)
    make_venv_layout(tmp_path / "empty")
    assert "vllm is not installed" in refused("no-distribution", VIRTUAL_ENV=tmp_path / "empty", PATH=good)


def test_an_empty_variable_is_one_that_is_not_set(tmp_path: Path) -> None:
    install(make_venv_layout(tmp_path / "env"), FILES)
    assert find(VIRTUAL_ENV="", CONDA_PREFIX="", PATH=tmp_path / "env" / "bin").origin == "PATH"


def test_finding_reads_only(tmp_path: Path) -> None:
    install(make_venv_layout(tmp_path / "env"), FILES)
    before = tree_state(tmp_path)
    find(PATH=tmp_path / "env" / "bin")
    assert tree_state(tmp_path) == before


def test_a_missing_distribution_is_told_with_names_places_and_the_way_out(tmp_path: Path) -> None:
    site = make_venv_layout(tmp_path / "env")
    with pytest.raises(TargetError) as caught:
        find(VIRTUAL_ENV=tmp_path / "env", names=("vllm", "Flash_Attn"))
    problem = caught.value.problem
    assert problem.code == "no-distribution"
    where = f"the environment {tmp_path / 'env'} (from VIRTUAL_ENV); looked in {site}"
    assert problem.message == f"none of flash-attn, vllm is installed in {where}"
    assert problem.hint is not None
    assert "--python PATH" in problem.hint
    assert "--site DIR" in problem.hint


# --- --site


def test_site_names_the_directory_itself_and_no_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site(tmp_path, FILES)
    monkeypatch.chdir(tmp_path)
    target = find(site="site")
    assert (target.site, target.python, target.origin, target.passed_over) == (str(site), None, "--site", ())
    assert target.distributions["vllm"].build == "0.20.0"


def test_site_without_the_distribution_says_so(tmp_path: Path) -> None:
    site = make_site(tmp_path, {}, name="other")
    assert refused("no-distribution", site=site) == f"vllm is not installed in {site}"


def test_site_that_is_an_environment_is_refused_with_the_right_option(tmp_path: Path) -> None:
    install(make_venv_layout(tmp_path / "env"), FILES)
    assert "not its site directory" in refused("no-site", site=tmp_path / "env")


# --- --python


def test_python_may_be_an_interpreter_a_name_on_path_or_an_environment(tmp_path: Path) -> None:
    site = make_venv_layout(tmp_path / "env")
    install(site, FILES)
    for python in (tmp_path / "env/bin/python", tmp_path / "env/bin/python3", tmp_path / "env", "python3"):
        target = find(python=python, PATH=tmp_path / "env" / "bin")
        assert (target.site, target.origin) == (str(site), "--python")
    assert find(python=tmp_path / "env/bin/python").python == str(tmp_path / "env/bin/python")
    assert "not on PATH" in refused("no-interpreter", python="python3.99", PATH=tmp_path / "env" / "bin")


def test_a_link_to_a_venv_interpreter_is_its_base_installation_as_for_the_interpreter(tmp_path: Path) -> None:
    install(make_venv_layout(tmp_path / "env"), FILES)
    install(tmp_path / "env.base/lib/python3.11/site-packages", FILES, build="0.19.1")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "env/bin/python")
    assert find(python=link).distributions["vllm"].build == "0.19.1"
    (tmp_path / "current").symlink_to(tmp_path / "env")
    assert find(python=tmp_path / "current/bin/python").distributions["vllm"].build == "0.20.0"


@pytest.mark.parametrize("origin", ["--python", "PATH"])
def test_a_shim_is_refused_because_nobody_knows_what_it_would_start(tmp_path: Path, origin: str) -> None:
    shim = tmp_path / "shims" / "python3"
    write(shim, Content(data=b'#!/usr/bin/env bash\nexec pyenv exec "$@"\n', mode=0o755))
    given: dict[str, Path] = {"python": shim} if origin == "--python" else {"PATH": shim.parent}
    message = refused("interpreter-is-script", **given)
    assert message.startswith(f"{shim} (from {origin}) is a script")


# --- PATH


def test_only_the_first_python3_on_path_counts(tmp_path: Path) -> None:
    make_venv_layout(tmp_path / "first")
    install(make_venv_layout(tmp_path / "second"), FILES)
    path = f"{tmp_path / 'first/bin'}:{tmp_path / 'second/bin'}"
    assert str(tmp_path / "first") in refused("no-distribution", PATH=path)


def test_relative_and_empty_entries_of_path_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(make_venv_layout(tmp_path / "here"), FILES)
    install(make_venv_layout(tmp_path / "there"), FILES)
    monkeypatch.chdir(tmp_path / "here" / "bin")
    target = find(PATH=f":.:../bin:{tmp_path / 'there/bin'}")
    assert target.site.startswith(str(tmp_path / "there"))


def test_a_python3_that_cannot_be_executed_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "plain" / "python3", INTERPRETER)
    (tmp_path / "dir" / "python3").mkdir(parents=True)
    install(make_venv_layout(tmp_path / "env"), FILES)
    target = find(PATH=f"{tmp_path / 'plain'}:{tmp_path / 'dir'}:{tmp_path / 'env/bin'}")
    assert target.python == str(tmp_path / "env/bin/python3")


def test_patchctls_own_environment_on_path_is_passed_over_unless_it_holds_the_distribution(tmp_path: Path) -> None:
    own = make_venv_layout(tmp_path / "own")
    other = make_venv_layout(tmp_path / "other")
    install(other, FILES)
    path = f"{tmp_path / 'own/bin'}:{tmp_path / 'other/bin'}"
    assert find(PATH=path, own_prefix=tmp_path / "own").site == str(other)
    install(own, FILES)
    assert find(PATH=path, own_prefix=tmp_path / "own").site == str(own)


def test_patchctls_own_environment_is_named_when_nothing_else_is_there(tmp_path: Path) -> None:
    make_venv_layout(tmp_path / "own")
    message = refused("no-environment", PATH=tmp_path / "own/bin", own_prefix=tmp_path / "own")
    assert f"other than patchctl's own ({tmp_path / 'own'}), which holds none of vllm" in message
    message = refused("no-distribution", VIRTUAL_ENV=tmp_path / "own", own_prefix=tmp_path / "own")
    assert message.endswith("this is the environment patchctl itself runs in")


# --- layouts


@pytest.mark.parametrize(
    ("site", "python"),
    [
        ("lib/python{v}/site-packages", "3.11"),
        ("local/lib/python{v}/dist-packages", "3.10"),
        ("lib/python3/dist-packages", "3.11"),
        ("lib64/python{v}/site-packages", "3.12"),
        ("local/lib64/python{v}/site-packages", "3.12"),
        ("local/lib/python{v}/site-packages", "3.13t"),
    ],
)
def test_a_plain_installation_is_known_by_its_layout(tmp_path: Path, site: str, python: str) -> None:
    usr = make_base_layout(tmp_path / "usr", python=python, sites=(site,))
    install(usr / site.format(v=python), FILES)
    target = find(PATH=usr / "bin")
    assert target.site == str(usr / site.format(v=python))
    assert target.python == str(usr / "bin/python3")


def test_the_vendor_image_has_its_distribution_in_usr_local_dist_packages(tmp_path: Path) -> None:
    sites = ("local/lib/python3.10/dist-packages", "lib/python3/dist-packages")
    usr = make_base_layout(tmp_path / "usr", python="3.10", sites=sites)
    install(usr / sites[0], FILES, build="0.20.0+das.dtk2604")
    install(usr / sites[1], {}, name="wheel", build="0.37")
    target = find(python=usr / "bin/python3.10")
    assert (target.site, target.distributions["vllm"].build) == (str(usr / sites[0]), "0.20.0+das.dtk2604")


def test_dist_packages_beside_a_self_made_interpreter_counts_only_without_site_packages(tmp_path: Path) -> None:
    local = make_base_layout(tmp_path / "usr/local", python="3.10", sites=("lib/python{v}/dist-packages",))
    install(local / "lib/python3.10/dist-packages", FILES)
    assert find(PATH=local / "bin").site == str(local / "lib/python3.10/dist-packages")
    (local / "lib/python3.10/site-packages").mkdir()
    refused("no-distribution", PATH=local / "bin")


def test_lib64_that_is_a_link_to_lib_is_the_same_directory_under_the_name_lib(tmp_path: Path) -> None:
    site = make_venv_layout(tmp_path / "env", lib64=True)
    install(site, FILES)
    target = find(VIRTUAL_ENV=tmp_path / "env")
    assert (target.site, target.passed_over) == (str(site), ())


@pytest.mark.parametrize("key", ["version", "version_info"])
def test_pyvenv_cfg_tells_which_of_several_libraries_is_the_environments(tmp_path: Path, key: str) -> None:
    site = make_venv_layout(tmp_path / "env", python="3.12", cfg={"version": "", key: "3.12.1.final.0"})
    install(site, FILES)
    install(tmp_path / "env/lib/python3.11/site-packages", FILES, build="0.19.1")
    assert find(VIRTUAL_ENV=tmp_path / "env").distributions["vllm"].build == "0.20.0"


def test_without_a_version_in_pyvenv_cfg_the_interpreters_name_tells(tmp_path: Path) -> None:
    site = make_venv_layout(tmp_path / "env", python="3.12", cfg={"version": ""})
    install(site, FILES)
    install(tmp_path / "env/lib/python3.11/site-packages", FILES, build="0.19.1")
    assert find(VIRTUAL_ENV=tmp_path / "env").site == str(site)
    for name in ("python", "python3"):
        (tmp_path / "env/bin" / name).unlink()
    assert "python3.11, python3.12" in refused("ambiguous-python", VIRTUAL_ENV=tmp_path / "env")


def test_an_interpreter_never_gets_the_library_of_another_version(tmp_path: Path) -> None:
    usr = make_base_layout(tmp_path / "usr", python="3.12", sites=())
    install(usr / "local/lib/python3.11/dist-packages", FILES)
    assert "directory for python3.12" in refused("no-site", PATH=usr / "bin")


def test_a_nameless_interpreter_uses_the_only_library_there_is(tmp_path: Path) -> None:
    write(tmp_path / "usr/bin/python3", Content(data=INTERPRETER, mode=0o755))
    assert "no lib/pythonX.Y directory" in refused("no-site", PATH=tmp_path / "usr/bin")
    install(tmp_path / "usr/lib/python3.11/site-packages", FILES)
    for decoy in ("python3", "python3.10-old", "xpython3.9", "pypy3.10", "python.3", "python3."):
        (tmp_path / "usr/lib" / decoy).mkdir()
    assert find(PATH=tmp_path / "usr/bin").site == str(tmp_path / "usr/lib/python3.11/site-packages")
    (tmp_path / "usr/lib64/python3.13t").mkdir(parents=True)
    assert "python3.11, python3.13t" in refused("ambiguous-python", PATH=tmp_path / "usr/bin")


def test_an_environment_whose_base_is_gone_is_still_read(tmp_path: Path) -> None:
    site = make_venv_layout(tmp_path / "env")
    install(site, FILES)
    shutil.rmtree(tmp_path / "env.base")
    target = find(VIRTUAL_ENV=tmp_path / "env")
    assert (target.site, target.python) == (str(site), None)


def test_an_environment_without_site_directory_says_so(tmp_path: Path) -> None:
    make_venv_layout(tmp_path / "env").rmdir()
    assert "has no site-packages directory" in refused("no-site", VIRTUAL_ENV=tmp_path / "env")


def test_conda_is_an_environment_without_pyvenv_cfg(tmp_path: Path) -> None:
    prefix = make_base_layout(tmp_path / "conda", python="3.10")
    (prefix / "conda-meta").mkdir()
    (prefix / "lib/python3.1").symlink_to("python3.10")
    install(prefix / "lib/python3.10/site-packages", FILES, installer="conda")
    target = find(CONDA_PREFIX=prefix)
    assert (target.origin, target.python) == ("CONDA_PREFIX", str(prefix / "bin/python3"))
    assert target.site == str(prefix / "lib/python3.10/site-packages")
    shutil.rmtree(prefix / "bin")
    (prefix / "lib/python3.1").unlink()
    assert find(CONDA_PREFIX=prefix).python is None


# --- several site directories of one environment


def test_the_first_on_the_interpreters_path_is_taken_and_the_others_are_named(tmp_path: Path) -> None:
    sites = ("local/lib/python3.10/dist-packages", "lib/python3/dist-packages")
    usr = make_base_layout(tmp_path / "usr", python="3.10", sites=sites)
    user = tmp_path / "home/.local/lib/python3.10/site-packages"
    for build, site in [("0.20.0", usr / sites[0]), ("0.19.1", usr / sites[1]), ("0.21.0", user)]:
        install(site, FILES, build=build)
    target = find(PATH=usr / "bin", HOME=tmp_path / "home")
    assert target.distributions["vllm"].build == "0.21.0"
    assert target.passed_over == (str(usr / sites[0]), str(usr / sites[1]))
    target = find(PATH=usr / "bin", HOME=tmp_path / "home", PYTHONNOUSERSITE="1")
    assert (target.distributions["vllm"].build, target.passed_over) == ("0.20.0", (str(usr / sites[1]),))


def test_the_user_base_may_be_elsewhere(tmp_path: Path) -> None:
    usr = make_base_layout(tmp_path / "usr", python="3.10")
    install(tmp_path / "base/lib/python3.10/site-packages", FILES)
    target = find(PATH=usr / "bin", HOME=tmp_path / "home", PYTHONUSERBASE=tmp_path / "base")
    assert target.site == str(tmp_path / "base/lib/python3.10/site-packages")


def test_a_venv_does_not_see_the_user_site(tmp_path: Path) -> None:
    make_venv_layout(tmp_path / "env")
    install(tmp_path / "home/.local/lib/python3.11/site-packages", FILES)
    refused("no-distribution", VIRTUAL_ENV=tmp_path / "env", HOME=tmp_path / "home")


def test_pythonpath_hides_the_environments_own(tmp_path: Path) -> None:
    site = make_venv_layout(tmp_path / "env")
    install(site, FILES)
    install(tmp_path / "overlay", FILES, build="0.21.0")
    target = find(VIRTUAL_ENV=tmp_path / "env", PYTHONPATH=f"relative:{tmp_path / 'overlay'}")
    assert (target.site, target.passed_over) == (str(tmp_path / "overlay"), (str(site),))


def test_of_several_names_the_site_that_holds_most_is_taken(tmp_path: Path) -> None:
    sites = ("local/lib/python3.10/dist-packages", "lib/python3/dist-packages")
    usr = make_base_layout(tmp_path / "usr", python="3.10", sites=sites)
    install(usr / sites[0], {}, name="aiter")
    install(usr / sites[1], FILES)
    install(usr / sites[1], {}, name="flash-attn")
    target = find(PATH=usr / "bin", names=("vllm", "aiter", "flash_attn"))
    assert (target.site, sorted(target.distributions)) == (str(usr / sites[1]), ["flash-attn", "vllm"])
    assert target.passed_over == (str(usr / sites[0]),)
    assert find(PATH=usr / "bin", names=("vllm", "aiter"), distribution="aiter").site == str(usr / sites[0])


def test_a_distribution_that_an_import_would_not_reach_is_not_in_the_target(tmp_path: Path) -> None:
    sites = ("local/lib/python3.10/dist-packages", "lib/python3/dist-packages")
    usr = make_base_layout(tmp_path / "usr", python="3.10", sites=sites)
    install(usr / sites[0], {}, name="aiter")
    for name in ("aiter", "vllm", "flash-attn"):
        install(usr / sites[1], {}, name=name)
    target = find(PATH=usr / "bin", names=("vllm", "aiter", "flash-attn"))
    assert sorted(target.distributions) == ["flash-attn", "vllm"]


def test_one_directory_under_two_names_is_one_site(tmp_path: Path) -> None:
    site = make_venv_layout(tmp_path / "env")
    install(site, FILES)
    (tmp_path / "alias").symlink_to(site)
    target = find(VIRTUAL_ENV=tmp_path / "env", PYTHONPATH=tmp_path / "alias")
    assert (target.site, target.passed_over) == (str(tmp_path / "alias"), ())


# --- the base of a system-site environment is shared


def test_a_distribution_in_the_shared_base_is_found_there_and_known_to_be_shared(tmp_path: Path) -> None:
    own = make_venv_layout(tmp_path / "env", cfg={"include-system-site-packages": "True"})
    base = tmp_path / "env.base/lib/python3.11/site-packages"
    install(base, FILES)
    target = find(VIRTUAL_ENV=tmp_path / "env")
    assert (target.site, target.shared_by) == (str(base), str(tmp_path / "env"))
    assert find(site=base).shared_by is None
    install(own, FILES, build="0.21.0")
    target = find(VIRTUAL_ENV=tmp_path / "env")
    assert (target.site, target.passed_over, target.shared_by) == (str(own), (str(base),), None)


def test_the_base_is_found_behind_the_links_of_its_bin(tmp_path: Path) -> None:
    make_base_layout(tmp_path / "usr", sites=("lib/python3/dist-packages",))
    (tmp_path / "opt/bin").mkdir(parents=True)
    (tmp_path / "opt/bin/python3").symlink_to(tmp_path / "usr/bin/python3")
    cfg = {"include-system-site-packages": "true", "home": str(tmp_path / "opt/bin")}
    make_venv_layout(tmp_path / "env", cfg=cfg)
    install(tmp_path / "usr/lib/python3/dist-packages", FILES)
    assert find(VIRTUAL_ENV=tmp_path / "env").site == str(tmp_path / "usr/lib/python3/dist-packages")


def test_a_closed_venv_does_not_look_into_its_base(tmp_path: Path) -> None:
    make_venv_layout(tmp_path / "env")
    install(tmp_path / "env.base/lib/python3.11/site-packages", FILES)
    refused("no-distribution", VIRTUAL_ENV=tmp_path / "env")


# --- real interpreters agree

ASK = (
    "import os, site, sys; user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else [];"
    "print(*[p for p in user + site.getsitepackages() if os.path.isdir(p)], sep='\\n')"
)


@pytest.mark.parametrize("python", [sys.executable, os.path.realpath(sys.executable), "/usr/bin/python3"])
def test_the_sites_read_statically_are_those_the_interpreter_itself_names(python: str) -> None:
    if not Path(python).exists():
        pytest.skip(f"there is no {python}")
    environ = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    asked = subprocess.run([python, "-c", ASK], env=environ, capture_output=True, text=True, check=True).stdout
    read = environment_of(python, origin="--python", environ=environ)
    real = list(dict.fromkeys(os.path.realpath(path) for path in asked.splitlines()))
    assert [os.path.realpath(path) for path in read.sites] == real
