"""A RECORD says whatever its publisher wrote: listing a file of pip, or of another package, gives nobody that file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from patchctl.model import Target
from patchctl.model.paths import TOOL_MODULES, path_problem
from patchctl.patch.texts import target_problem
from patchctl.target.claims import read_claims
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, patchctl
from tests.sites import Content, install, make_site, record_row, tree_state

pytestmark = pytest.mark.attack("files-of-others")

CORE = b"core = 1\n" * 8
EVIL = CORE + b"import os; os.system('id')\n"
PLUGIN = {"vllm_plugin/__init__.py": b"c = 1\n"}
Files = Mapping[str, bytes | Content]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(site=make_site(tmp_path, {"vllm/__init__.py": b""}), registry=make_registry(tmp_path / "registry"))


def plugin(desk: Desk, stolen: Files) -> None:
    """Install a distribution whose RECORD lists files of others."""
    install(desk.site, PLUGIN, name="vllm-plugin", build="1.0", extra_rows=[record_row(*it) for it in stolen.items()])


def enter(desk: Desk, path: str, *, id_: str = "a-steal", before: bytes | None = CORE) -> None:
    assert desk.registry is not None
    add_entry(desk.registry, id_, make_diff({path: (before, EVIL)}), distribution="vllm-plugin")


def told(desk: Desk) -> tuple[str, str, str]:
    """Return the entry's action and reason, once every verb gave the same answer and nothing changed."""
    before = tree_state(desk.site)
    entry = desk.json("status").document["patches"][0]
    attention = int(entry["action"] in {"inspect", "apply"})
    assert desk.run("check").code == attention
    if entry["action"] == "inspect":
        for verb in (("apply", "--dry-run"), ("apply",), ("apply", entry["id"])):
            done = desk.run(*verb)
            assert done.code == 1
            assert entry["reason"] in done.err
    assert tree_state(desk.site) == before
    return entry["action"], entry["verdict"], entry["reason"]


SHARED = (
    "torchx/core.py: RECORD of torchx lists it too, and nobody can tell whose file it is: uninstall the one that it"
    " does not belong to, then reinstall the other"
)


@pytest.mark.parametrize("before", [CORE, None])
def test_a_file_that_another_distribution_lists_is_not_edited_nor_added(desk: Desk, before: bytes | None) -> None:
    install(desk.site, {"torchx/core.py": CORE}, name="torchx", build="1.0")
    plugin(desk, {"torchx/core.py": CORE})
    if before is None:
        (desk.site / "torchx/core.py").unlink()
    enter(desk, "torchx/core.py", before=before)
    assert told(desk) == ("inspect", "applicable", SHARED)


def test_nor_one_whose_owner_has_an_entry_too(desk: Desk) -> None:
    install(desk.site, {"torchx/core.py": CORE}, name="torchx", build="1.0")
    plugin(desk, {"torchx/core.py": CORE})
    assert desk.registry is not None
    add_entry(desk.registry, "b-own", make_diff({"torchx/core.py": (CORE, CORE + b"x\n")}), distribution="torchx")
    action, _, reason = told(desk)
    assert (action, "RECORD of vllm-plugin lists it too" in reason) == ("inspect", True)


def test_a_name_that_the_csv_format_quotes_is_found(desk: Desk) -> None:
    install(desk.site, {"torchx/a,b.py": CORE}, name="torchx", build="1.0")
    plugin(desk, {"torchx/a,b.py": CORE})
    enter(desk, "torchx/a,b.py")
    assert told(desk)[0] == "inspect"


def test_a_module_at_the_top_of_the_site_is_found(desk: Desk) -> None:
    install(desk.site, {"torchx.py": CORE}, name="torchx", build="1.0")
    plugin(desk, {"torchx.py": CORE})
    enter(desk, "torchx.py")
    assert told(desk)[0] == "inspect"


def test_a_record_that_cannot_be_read_may_list_anything(desk: Desk, tmp_path: Path) -> None:
    info = desk.site / install(desk.site, {"torchx/core.py": CORE}, name="torchx", build="1.0")
    (info / "RECORD").rename(tmp_path / "RECORD")
    (info / "RECORD").symlink_to(tmp_path / "RECORD")
    plugin(desk, {"vllm_plugin/core.py": CORE})
    (desk.site / "vllm_plugin/core.py").write_bytes(CORE)
    enter(desk, "vllm_plugin/core.py")
    action, _, reason = told(desk)
    assert (action, reason) == (
        "inspect",
        "vllm_plugin/core.py: RECORD of torchx cannot be read, and may list it too; to mend that: reinstall torchx",
    )


class TestLegitimateLayouts:
    """What is listed once, or by what is no distribution, is patched as ever."""

    def patched(self, desk: Desk, path: str) -> None:
        enter(desk, path)
        assert told(desk)[0] == "apply"
        assert desk.run("apply").code == 0
        assert (desk.site / path).read_bytes() == EVIL
        assert desk.run("check").code == 0
        assert desk.run("revert", "--all").code == 0
        assert (desk.site / path).read_bytes() == CORE

    def test_a_namespace_that_several_share(self, desk: Desk) -> None:
        install(desk.site, {"vllm_plugin/other/core.py": CORE, "LICENSE": b""}, name="torchx", build="1.0")
        install(desk.site, PLUGIN | {"vllm_plugin/core.py": CORE, "LICENSE": b""}, name="vllm-plugin", build="1.0")
        self.patched(desk, "vllm_plugin/core.py")

    @pytest.mark.parametrize("leftover", ["~orchx-1.0.dist-info", "torchx-1.0.dist-info"])
    def test_a_leftover_of_an_install_that_was_cut_off(self, desk: Desk, leftover: str) -> None:
        info = desk.site / install(desk.site, {"vllm_plugin/core.py": CORE}, name="torchx", build="1.0")
        if leftover.startswith("~"):
            info.rename(desk.site / leftover)
        else:
            (info / "METADATA").unlink()
        install(desk.site, PLUGIN | {"vllm_plugin/core.py": CORE}, name="vllm-plugin", build="1.0")
        self.patched(desk, "vllm_plugin/core.py")

    def test_a_path_that_only_ends_alike(self, desk: Desk) -> None:
        install(desk.site, {"torchx/vllm_plugin/core.py": b"x = 1\n"}, name="torchx", build="1.0")
        install(desk.site, PLUGIN | {"vllm_plugin/core.py": CORE}, name="vllm-plugin", build="1.0")
        self.patched(desk, "vllm_plugin/core.py")

    def test_an_editable_install_is_in_its_own_tree(self, desk: Desk, tmp_path: Path) -> None:
        """The file that another distribution lists is the site's, and not the one that is edited."""
        tree = tmp_path / "tree"
        (tree / "vllm_plugin").mkdir(parents=True)
        for name in ("__init__.py", "core.py"):
            (tree / "vllm_plugin" / name).write_bytes(CORE)
        redirect = {"__editable__.vllm_plugin-1.0.pth": f"{tree}\n".encode()}
        install(desk.site, redirect, name="vllm-plugin", build="1.0")
        install(desk.site, {"torchx/core.py": CORE}, name="torchx", build="1.0")
        record = desk.site / "torchx-1.0.dist-info/RECORD"
        record.write_bytes(record.read_bytes() + b"vllm_plugin/core.py,,\r\n")
        enter(desk, "vllm_plugin/core.py")
        assert desk.run("apply", "--allow-editable").code == 0
        assert (tree / "vllm_plugin/core.py").read_bytes() == EVIL


def test_what_was_applied_before_the_other_came_goes_out_again(desk: Desk) -> None:
    install(desk.site, PLUGIN | {"vllm_plugin/core.py": CORE}, name="vllm-plugin", build="1.0")
    enter(desk, "vllm_plugin/core.py")
    assert desk.run("apply").code == 0
    install(desk.site, {"torchx/core.py": CORE}, name="torchx", build="1.0")
    record = desk.site / "torchx-1.0.dist-info/RECORD"
    record.write_bytes(record.read_bytes() + b"vllm_plugin/core.py,,\r\n")
    assert desk.run("check").code == 0
    assert desk.run("revert", "--all").code == 0
    assert (desk.site / "vllm_plugin/core.py").read_bytes() == CORE
    assert told(desk)[0] == "inspect"


def test_nothing_is_read_where_no_file_is_in_question(tmp_path: Path) -> None:
    gone = Target(site=str(tmp_path / "gone"), python=None, origin="--site", distributions={})
    assert read_claims(gone, ()) == {}


def test_a_fifo_in_the_place_of_a_record_keeps_nobody_waiting(desk: Desk) -> None:
    info = desk.site / install(desk.site, {"torchx/core.py": CORE}, name="torchx", build="1.0")
    (info / "RECORD").unlink()
    os.mkfifo(info / "RECORD")
    target = Target(site=str(desk.site), python=None, origin="--site", distributions={})
    (claim,) = read_claims(target, {"torchx/core.py"})["torchx/core.py"]
    assert (claim.name, claim.certain) == ("torchx", False)


@pytest.mark.parametrize("path", ["pip/__init__.py", "pip/new.py", "setuptools.py", "UV/_uv.py", "patchctl/errors.py"])
def test_no_diff_names_a_module_of_what_installs_or_builds(desk: Desk, path: str) -> None:
    plugin(desk, {path: CORE})
    (desk.site / path).parent.mkdir(exist_ok=True)
    (desk.site / path).write_bytes(CORE)
    enter(desk, path)
    before = tree_state(desk.site)
    assert desk.registry is not None
    for verb, code in ((("status",), 0), (("check",), 3), (("apply",), 3), (("apply", "a-steal"), 3)):
        done = desk.json(*verb)
        assert "unsafe-path" in [it["code"] for it in done.document["errors"]]
        assert done.code == code, verb
    linted = patchctl("lint", "--registry", str(desk.registry), "--json")
    assert linted.code == 1
    assert "unsafe-path" in [it["code"] for it in linted.document["lint"]["findings"]]
    assert tree_state(desk.site) == before


def test_who_installs_is_known_as_a_distribution_as_well() -> None:
    for module in TOOL_MODULES:
        assert path_problem(f"{module}/x.py") is not None
        assert target_problem(module.replace("_", "-")) is not None
    for name in ("poetry-core", "pip-tools", "Meson.Python"):
        assert target_problem(name) is not None
    for path in ("pipeline/x.py", "vllm/pip/x.py", "wheels/x.py", "mamba_ssm/x.py", "builders.py"):
        assert path_problem(path) is None
