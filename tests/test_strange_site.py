"""Root works where somebody else has a say: readers follow nothing out, writers refuse and say what works."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from patchctl.cli.app import app
from patchctl.model import sha256_hex
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Done, patchctl
from tests.sites import install, make_site
from tests.small_wheels import make_wheel
from tests.strangers import ACL, access_list, become_root_of_a_namespace, likeness, make_socket, watched, within
from tests.transaction_tree import do_not_wait_for_the_disk
from tests.users import NOBODY, as_service_user, open_the_way

pytestmark = [
    pytest.mark.attack("strange-site"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can be led to do what another user may not"),
]

ENGINE, LOST = "vllm/engine.py", "vllm/lost.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW, HIGH = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n"), BASE.replace(b"line_25 = 1\n", b"line_25 = 25\n")
FILES = {"vllm/__init__.py": b"", ENGINE: BASE, LOST: BASE, "vllm/gone.py": b"gone = 1\n"}
SECRET = "the-secret-of-somebody-else"

WRITING: dict[str, list[list[str]]] = {
    "apply": [["apply"], ["apply", "b-high"], ["apply", "--locked", "{lock}"], ["apply", "--purge-caches", "--all"]],
    "revert": [["revert", "a-low"], ["revert", "--all", "--keep-edits", "--hold", "it's $odd"]],
    "hold": [["hold", "b-high", "--reason", "-x y"]],
    "unhold": [["unhold", "c-held"]],
    "retire": [["retire"], ["retire", "--for", "{wheel}"]],
    "recover": [["recover"], ["recover", "--leave-files", "--wait", "2"]],
    "adopt": [["adopt"], ["adopt", "b-high", "--unproven"]],
    "restore": [["restore", LOST, "--from", "{wheel}"]],
    "doctor": [["doctor", "--clean"], ["doctor", "--gc"]],
    "verify": [["verify", "--baseline"], ["verify", "--drop-baseline"]],
}
"""Every verb that may write to a site; ``test_no_verb_is_missing_here``."""

READING: dict[str, list[str]] = {
    "show": ["show", "a-low"],
    "lock": ["lock", "--output", "-"],
    "preflight": ["preflight", "{wheel}"],
    "hits": ["hits", "--all", __file__],
    "report": ["report", "--format", "html"],
}
"""What else a reading verb has to be told."""


class Scene(NamedTuple):
    """A place where root is to be fooled.

    Attributes:
        around: all that may not change.
        site: in it, with one entry in, one due, one held, a file lost, and one edited.
        registry: in it.
        lock: a lock file, in it.
    """

    around: Path
    site: Path
    registry: Path
    lock: Path

    def words(self, words: list[str]) -> list[str]:
        (wheel,) = self.around.glob("*.whl")
        return [word.format(wheel=wheel, lock=self.lock) for word in words]

    def run(self, words: list[str], env: Mapping[str, str] | None = None) -> Done:
        where = [] if env else ["--site", str(self.site), "--registry", str(self.registry)]
        return patchctl(*self.words(words), *where, env=env)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    do_not_wait_for_the_disk(monkeypatch)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return make_scene(tmp_path / "around")


def make_scene(around: Path) -> Scene:
    around.mkdir()
    (around / "outside").mkdir()
    (around / "outside/secret").write_text(SECRET)
    (around / "outside/secret").chmod(0o600)
    site = make_site(around / "odd 'path' $HOME", FILES, build="0.25.1")
    registry = make_registry(around / "registry")
    add_entry(registry, "a-low", make_diff({ENGINE: (BASE, LOW)}))
    add_entry(registry, "b-high", make_diff({ENGINE: (BASE, HIGH)}))
    add_entry(registry, "c-held", make_diff({LOST: (BASE, LOW)}))
    make_wheel(around, list(FILES.items()))
    open_the_way(site)
    scene = Scene(around=around, site=site, registry=registry, lock=around / "patchctl.lock")
    assert scene.run(["apply", "a-low"]).code == 0
    assert scene.run(["hold", "c-held", "--reason", "not yet"]).code == 0
    assert scene.run(["lock", "--output", str(scene.lock)]).code == 0
    (site / LOST).write_bytes(b"edited = 1\n")
    (site / "vllm/gone.py").unlink()
    objects = site / ".patchctl/objects/00"
    objects.mkdir()
    (objects / ("0" * 64)).write_bytes(b"named by nothing")
    return scene


def give_away(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def commands() -> dict[str, Any]:
    return typer.main.get_command(app).commands  # type: ignore[attr-defined, no-any-return]


def writers() -> set[str]:
    return {name for name, command in commands().items() if any(it.name == "dry_run" for it in command.params)}


def test_no_verb_is_missing_here() -> None:
    assert writers() == set(WRITING)
    options = {word for cases in WRITING.values() for words in cases for word in words}
    for option in ("--clean", "--gc", "--baseline", "--drop-baseline", "--purge-caches", "--locked", "--leave-files"):
        assert option in options


def own_site(scene: Scene) -> None:
    give_away(scene.site)


def site_for_everybody(scene: Scene) -> None:
    scene.site.chmod(0o777)


def site_by_access_list(scene: Scene) -> None:
    entries = ((1, 7, 0xFFFFFFFF), (2, 7, NOBODY), (4, 5, 0xFFFFFFFF), (16, 7, 0xFFFFFFFF), (32, 5, 0xFFFFFFFF))
    os.setxattr(scene.site, ACL, access_list(*entries))


def own_state(scene: Scene) -> None:
    os.chown(scene.site / ".patchctl", NOBODY, 0)


def own_in_state(pattern: str) -> Callable[[Scene], None]:
    def make(scene: Scene) -> None:
        path = next(iter(sorted((scene.site / ".patchctl").glob(pattern))))
        os.chown(path, NOBODY, 0)

    make.__name__ = f"own {pattern}"
    return make


def group_in_state(scene: Scene) -> None:
    path = scene.site / ".patchctl/objects"
    os.chown(path, 0, NOBODY)
    path.chmod(0o775)


def forged_journal(scene: Scene) -> None:
    """One that would be refused for what it says, were it ever believed."""
    (scene.site / ".patchctl/journal.json").write_text('{"format": 1}')
    os.chown(scene.site / ".patchctl/journal.json", NOBODY, 0)


def linked_state(scene: Scene) -> None:
    (scene.site / ".patchctl").rename(scene.around / "outside/state")
    (scene.site / ".patchctl").symlink_to(scene.around / "outside/state")


def own_diff(scene: Scene) -> None:
    os.chown(next(scene.registry.rglob("*.diff")), NOBODY, 0)


def registry_for_everybody(scene: Scene) -> None:
    scene.registry.chmod(0o777)


def group_in_registry(scene: Scene) -> None:
    path = scene.registry / "vllm"
    os.chown(path, 0, NOBODY)
    path.chmod(0o775)


SCENES: dict[Callable[[Scene], None], str] = {
    own_site: "sudo -u nobody ",
    site_for_everybody: "chmod o-w ",
    site_by_access_list: "chmod g-w ",
    own_state: "mv ",
    own_in_state("objects/*"): "mv ",
    own_in_state("objects/*/*"): "mv ",
    own_in_state("patches/*"): "mv ",
    own_in_state("history/*"): "mv ",
    own_in_state("ledger.json"): "mv ",
    own_in_state("lock"): "mv ",
    group_in_state: "chmod -R go-w ",
    forged_journal: "mv ",
    linked_state: "mv ",
}
"""What another user has a say in -> how the hint begins."""

REGISTRIES: dict[Callable[[Scene], None], str] = {
    own_diff: "chown -Rh root: ",
    registry_for_everybody: "chown -Rh root: ",
    group_in_registry: "chown -Rh root: ",
}
ON_THE_REGISTRY = ("apply", "revert", "hold", "unhold", "retire", "adopt", "restore")


def hint_of(done: Done) -> str:
    hint = done.err.partition("\n\nhint: ")[2].strip()
    assert hint
    assert "\n" not in hint
    return hint


@pytest.mark.parametrize("make", [*SCENES, *REGISTRIES])
def test_every_writer_refuses_and_nothing_changes(scene: Scene, make: Callable[[Scene], None]) -> None:
    make(scene)
    before = likeness(scene.around)
    for verb, cases in WRITING.items():
        if make in REGISTRIES and verb not in ON_THE_REGISTRY:
            continue
        for words in cases if make is own_site else cases[:1]:
            for extra in ([], ["--dry-run"]):
                done = scene.run([*words, *extra])
                assert done.code == 3, (words, done)
                assert hint_of(done).startswith({**SCENES, **REGISTRIES}[make]), (words, done)
                assert likeness(scene.around) == before, words


@pytest.mark.parametrize("make", [it for it in (*SCENES, *REGISTRIES) if it is not own_site])
def test_a_hint_that_mends_works_as_it_is_printed(scene: Scene, make: Callable[[Scene], None]) -> None:
    make(scene)
    words = ["apply", "b-high"]
    done = scene.run(words)
    for _ in range(3):
        if done.code != 3:
            break
        shell(hint_of(done), scene.around)
        done = scene.run(words)
    assert done.code == 0, done
    assert b"line_25 = 25\n" in (scene.site / ENGINE).read_bytes()
    assert (scene.around / "outside/secret").read_text() == SECRET


def shell(command: str, around: Path) -> list[str]:
    """Run a command line as somebody who pastes it; returns what a ``sudo`` in it was told.

    ``patchctl`` is this one.
    """
    programs = around / "programs"
    programs.mkdir(exist_ok=True)
    told = programs / "told"
    for name, text in {
        "sudo": f'printf "%s\\0" "$@" > {shlex.quote(str(told))}',
        "patchctl": f'exec {shlex.quote(sys.executable)} -m patchctl "$@"',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    subprocess.run(["sh", "-ec", command], check=True, env={"PATH": path}, capture_output=True)
    return told.read_text().split("\0")[:-1] if told.exists() else []


def as_told(told: list[str]) -> Done:
    """Do what ``sudo`` was told, as the user that it was told, and with none of our variables."""
    option, login, program, *words = told
    assert (option, login, program) == ("-u", "nobody", "patchctl")
    return as_service_user(*words)


@pytest.mark.parametrize("verb", WRITING)
def test_the_hint_does_as_the_owner_what_root_was_asked_for(scene: Scene, verb: str) -> None:
    give_away(scene.around / "registry")
    own_site(scene)
    ledger = scene.site / ".patchctl/ledger.json"
    if verb == "adopt":
        shutil.rmtree(ledger.parent)
    words = WRITING[verb][0]
    before = ledger.read_bytes() if ledger.exists() else b""
    done = as_told(shell(hint_of(scene.run(words)), scene.around))
    assert done.code in ({0, 1} if verb in {"doctor", "verify"} else {0}), done
    if verb not in {"recover", "retire", "doctor"}:  # nothing is due for these
        assert ledger.read_bytes() != before
    assert {path.lstat().st_uid for path in (scene.site, *scene.site.rglob("*"))} == {NOBODY}


def test_an_owner_without_a_name_gets_a_command_that_does_not_need_one(scene: Scene) -> None:
    """sudo refuses a uid that no database knows."""
    uid, gid = 123_456, 123_457
    for path in (scene.site, *scene.site.rglob("*")):
        os.chown(path, uid, gid, follow_symlinks=False)
    words = shlex.split(hint_of(scene.run(["apply", "b-high"])))
    assert words[:6] == ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "env", "patchctl"]
    if shutil.which("setpriv") is not None:
        done = subprocess.run([*words[:5], "id", "-u"], capture_output=True, text=True, check=True)
        assert done.stdout == f"{uid}\n"


def test_the_hint_names_what_a_variable_chose(scene: Scene) -> None:
    own_site(scene)
    env = {"PATCHCTL_SITE": str(scene.site), "PATCHCTL_REGISTRY": str(scene.registry), "PYTHONPYCACHEPREFIX": "/a b"}
    told = shell(hint_of(scene.run(["apply", "b-high"], env=env)), scene.around)
    where = ["--site", str(scene.site), "--registry", str(scene.registry)]
    assert told == ["-u", "nobody", "PYTHONPYCACHEPREFIX=/a b", "patchctl", "apply", *where, "b-high"]
    told.pop(2)
    assert as_told(told).code == 0
    assert b"line_25 = 25\n" in (scene.site / ENGINE).read_bytes()


def test_the_hint_names_the_environment_and_paths_from_the_root(
    tmp_path: Path, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "venv"
    lib = root / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    lib.mkdir(parents=True)
    install(lib, FILES, build="0.25.1")
    (root / "pyvenv.cfg").write_text("home = /usr/bin\n")
    give_away(root)
    monkeypatch.chdir(tmp_path)
    named = patchctl("apply", "--python", "./venv", "--registry", "around/registry", "--distribution", "vllm")
    registry = ["--registry", str(scene.registry), "--distribution", "vllm"]
    told = shell(hint_of(named), scene.around)
    assert told == ["-u", "nobody", "patchctl", "apply", "--python", str(root), *registry]
    found = patchctl("apply", "--registry", "around/registry", env={"VIRTUAL_ENV": str(root)})
    assert shell(hint_of(found), scene.around) == told[:-2]
    assert as_told(told).code == 0
    assert b"line_25 = 25\n" in (lib / ENGINE).read_bytes()


def test_the_hint_names_the_program_that_sudo_would_not_find(scene: Scene) -> None:
    own_site(scene)
    command = [sys.executable, "-m", "patchctl", "apply", "--site", str(scene.site)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    safely = " -P" if sys.version_info >= (3, 11) else ""
    assert f"hint: sudo -u nobody {sys.executable}{safely} -m patchctl apply --site " in done.stderr


def test_a_lock_file_of_another_user_does_not_tell_root_what_to_install(scene: Scene) -> None:
    os.chown(scene.lock, NOBODY, 0)
    before = likeness(scene.around)
    done = scene.run(WRITING["apply"][2])
    assert done.code == 3, done
    assert likeness(scene.around) == before
    shell(hint_of(done), scene.around)
    assert scene.run(WRITING["apply"][2]).code in {0, 1}
    assert scene.run(["check", "--locked", str(scene.lock)]).code in {0, 1}


def test_a_site_of_roots_below_a_directory_of_another_user_is_roots(scene: Scene) -> None:
    """A workspace that a container has from outside, with an environment that root made in it."""
    os.chown(scene.site.parent, NOBODY, 0)
    os.chown(scene.around, NOBODY, 0)
    assert scene.run(["apply", "b-high"]).code == 0


def test_who_called_root_with_sudo_may_have_his_own_registry(scene: Scene) -> None:
    give_away(scene.registry)
    where = ["--site", str(scene.site), "--registry", str(scene.registry)]
    assert patchctl("apply", "b-high", *where, env={"SUDO_UID": "12345"}).code == 3
    assert patchctl("apply", "b-high", *where, env={"SUDO_UID": str(NOBODY)}).code == 0


def test_root_of_a_container_works_below_directories_of_users_who_have_no_name_there(scene: Scene) -> None:
    """Rootless: the machine's root owns ``/``, which shows as nobody's; "root" is the user who started it."""
    give_away(scene.around)
    as_told(["-u", "nobody", "patchctl", "status", "--site", str(scene.site)])  # imports all that is needed

    def act() -> Done | str:
        refused = become_root_of_a_namespace(NOBODY - 1)
        return refused or scene.run(["apply", "b-high"])

    for path in (scene.around, *scene.around.rglob("*")):
        os.chown(path, NOBODY - 1, NOBODY - 1, follow_symlinks=False)
    done = within(60, act)
    if isinstance(done, str):
        pytest.skip(done)
    assert done.code == 0, done
    assert b"line_25 = 25\n" in (scene.site / ENGINE).read_bytes()


def test_a_source_tree_of_another_user_is_not_edited_by_root(tmp_path: Path) -> None:
    around = tmp_path / "around"
    tree = around / "tree"
    for path, data in FILES.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(data)
    site = editable(around, tree)
    registry = make_registry(around / "registry")
    add_entry(registry, "a-low", make_diff({ENGINE: (BASE, LOW)}))
    where = ["--site", str(site), "--registry", str(registry)]
    for strange in (tree, tree / "vllm"):
        os.chown(strange, NOBODY, 0)
        before = likeness(around)
        done = patchctl("apply", "--allow-editable", *where)
        assert done.code == 3, done
        assert likeness(around) == before
        shell(hint_of(done), around)
        assert patchctl("apply", "--allow-editable", "--dry-run", *where).code == 0


def editable(around: Path, tree: Path) -> Path:
    """A site with an editable install of ``tree``."""
    shutil.rmtree(around / "site", ignore_errors=True)
    info = around / "site/vllm-0.25.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.25.1\n")
    (info / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')
    (info / "RECORD").write_text("".join(f"vllm-0.25.1.dist-info/{it},,\n" for it in ("METADATA", "direct_url.json")))
    with (info / "RECORD").open("a") as record:
        record.write("__editable__.vllm.pth,,\n")
    (around / "site/__editable__.vllm.pth").write_text(f"{tree}\n")
    return around / "site"


def traps(scene: Scene) -> Iterator[tuple[str, Callable[[], None]]]:
    """What the owner of the site lays out for a reader that is root: name, and how it is laid."""
    outside = scene.around / "outside"
    record = scene.site / "vllm-0.25.1.dist-info/RECORD"

    def listed(path: str) -> None:
        """He guesses what is in the secret, and has RECORD say so."""
        row = f"{path},sha256={_urlsafe(SECRET.encode())},{len(SECRET)}\n"
        rows = [it for it in record.read_text().splitlines(keepends=True) if not it.startswith(f"{path},")]
        record.write_text("".join(rows) + row)

    def link(path: str) -> Callable[[], None]:
        def lay() -> None:
            listed(path)
            is_directory = (scene.site / path).is_dir()
            _remove(scene.site / path)
            (scene.site / path).symlink_to(outside if is_directory else outside / "secret")

        return lay

    def special(path: str, make: Callable[[Path], None]) -> Callable[[], None]:
        def lay() -> None:
            _remove(scene.site / path)
            make(scene.site / path)

        return lay

    info = "vllm-0.25.1.dist-info"
    state = [f".patchctl/{it}" for it in ("", "ledger.json", "format", "history", "objects", "patches", "lock")]
    for path in (ENGINE, "vllm/_version.py", "vllm", f"{info}/METADATA", f"{info}/RECORD", info, *state):
        yield f"link {path}", link(path.rstrip("/"))
    for path in (ENGINE, "vllm", f"{info}/METADATA", ".patchctl", ".patchctl/ledger.json", ".patchctl/history"):
        yield f"fifo {path}", special(path, os.mkfifo)
    for path in (ENGINE, ".patchctl/ledger.json", f"{info}/METADATA"):
        yield f"device {path}", special(path, _zeros)
    yield f"socket {ENGINE}", special(ENGINE, make_socket)

    def elsewhere() -> None:
        """The site says that its package is in a directory of root's."""
        shutil.rmtree(scene.site / "vllm")
        (outside / "vllm").mkdir(mode=0o700)
        (outside / "vllm/engine.py").write_text(f"{SECRET}\n")
        shutil.copytree(editable(scene.around, outside), scene.site, dirs_exist_ok=True)
        (scene.site / "vllm.egg-link").write_text(f"{outside}\n.\n")

    yield "editable install", elsewhere


def _urlsafe(data: bytes) -> str:
    import base64

    return base64.urlsafe_b64encode(bytes.fromhex(sha256_hex(data))).rstrip(b"=").decode()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _zeros(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))


READERS = sorted(set(commands()) - (set(WRITING) - {"doctor", "verify"}))
CURIOUS = ("status", "verify", "doctor", "report")
"""Readers that look into everything; the others are tried with a few traps."""


@pytest.mark.attack("links")
def test_no_reader_that_is_root_follows_anything_out_of_the_site(scene: Scene, tmp_path: Path) -> None:
    template = scene.around.rename(tmp_path / "template")
    names = [name for name, _ in traps(scene)]
    for number, name in enumerate(names):
        shutil.copytree(template, scene.around, symlinks=True)
        within(60, partial(read_all, scene, number, name))
        shutil.rmtree(scene.around)


def read_all(scene: Scene, number: int, name: str) -> None:
    list(traps(scene))[number][1]()
    own_site(scene)
    before = likeness(scene.around)
    with watched(scene.around / "outside") as seen:
        for verb in READERS if name in {f"link {ENGINE}", "link .patchctl/"} else CURIOUS:
            seen()
            done = scene.run(READING.get(verb, [verb]))
            assert seen() == [], (name, verb)
            assert done.code in {0, 1, 3, 4}, (name, verb, done)
            assert SECRET not in done.out + done.err, (name, verb)
            if verb == "status":
                assert done.out or done.err
    assert likeness(scene.around) == before, name
