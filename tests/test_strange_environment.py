"""An environment, a working directory or variables of somebody else's making: they are read, and run nothing.

Every command runs in a process of its own with a deadline, watched from inside (PEP 578 audit events).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from patchctl.cli.callers import handed_over
from patchctl.commands import Place
from patchctl.commands.glance import LEAST, gather_glance
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, patchctl
from tests.sites import INTERPRETER, install, make_site, make_venv_layout, tree_state

CHECKOUT = Path(__file__).parent.parent
DEADLINE = 60
NOTHING: Mapping[str, str] = MappingProxyType({})
ENGINE = "vllm/engine.py"
BASE, AFTER = b"raise SystemExit(98)\nx = 1\n", b"raise SystemExit(98)\nx = 2\n"
WATCH = """
import os, sys
STARTS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"}
HOSTILE = sys.argv[1]
def watch(event, args):
    bad = event in STARTS or event.startswith("socket.")
    if event == "import":
        bad = bool(args[1]) and str(args[1]).startswith(HOSTILE)
    if event == "exec":
        bad = str(args[0].co_filename).startswith(HOSTILE)
    if bad:
        os.write(2, f"PROMISE BROKEN: {event} {args!r}\\n".encode())
        os._exit(99)
del sys.argv[1]
sys.addaudithook(watch)
from patchctl.cli import main
main()
"""


def trap(canary: Path) -> str:
    """Return Python source that leaves a canary and ends whoever runs it."""
    return f"import os\nopen({str(canary)!r}, 'w').close()\nos._exit(97)\n"


Twist = Callable[[Path, Path], object]


def _replace(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink(missing_ok=True)
    make(path)


def _script(path: Path, canary: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\ntouch {canary}\n")
    path.chmod(0o755)


def _home_is_a_script(root: Path, canary: Path) -> None:
    _script(root / "evil/python3", canary)
    (root / "pyvenv.cfg").write_text(f"home = {root}/evil\ninclude-system-site-packages = true\nversion = 3.11\n")


def _cfg(text: str) -> Twist:
    return lambda root, _: (root / "pyvenv.cfg").write_text(text)


def _huge(path: Path) -> None:
    with path.open("wb") as stream:
        stream.write(INTERPRETER)
        stream.truncate(1 << 40)


TWISTS: dict[str, Twist] = {
    "nothing else": lambda root, canary: None,
    "python is a script": lambda root, canary: _replace(root / "bin/python3", lambda path: _script(path, canary)),
    "python is a FIFO": lambda root, canary: _replace(root / "bin/python3", os.mkfifo),
    "python is a circle": lambda root, canary: _replace(root / "bin/python3", lambda it: it.symlink_to("python3")),
    "python is a terabyte": lambda root, canary: _replace(root / "bin/python3", _huge),
    "python never ends": lambda root, canary: _replace(root / "bin/python3", lambda it: it.symlink_to("/dev/zero")),
    "python is a secret": lambda root, canary: _replace(root / "bin/python3", lambda it: it.symlink_to("/etc/shadow")),
    "pyvenv.cfg is a FIFO": lambda root, canary: _replace(root / "pyvenv.cfg", os.mkfifo),
    "pyvenv.cfg never ends": lambda root, canary: _replace(root / "pyvenv.cfg", lambda it: it.symlink_to("/dev/zero")),
    "pyvenv.cfg is a secret": lambda root, canary: _replace(
        root / "pyvenv.cfg", lambda it: it.symlink_to("/etc/shadow")
    ),
    "home is a script": _home_is_a_script,
    "home climbs": _cfg("home = ../../../etc\ninclude-system-site-packages = true\nversion = ../../../etc\n"),
    "home is the system's": _cfg("home = /usr/bin\ninclude-system-site-packages = true\nversion = 3.11.7\n"),
    "home is no text": lambda root, canary: (root / "pyvenv.cfg").write_bytes(
        b"home = /\x00\xff\nversion = \xff\n" * 9
    ),
    "a line of a gigabyte": lambda root, canary: _huge(root / "pyvenv.cfg"),
}


class Stranger:
    """A virtual environment in which everything that an interpreter would run at its start leaves a canary."""

    def __init__(self, where: Path) -> None:
        self.where, self.root, self.canary = where, where / "venv", where / "canary"
        self.site = make_venv_layout(self.root)
        install(self.site, {ENGINE: BASE, "vllm/__init__.py": BASE})
        self.registry = make_registry(where / "registry")
        add_entry(self.registry, "one", make_diff({ENGINE: (BASE, AFTER)}))
        (self.site / "a.pth").write_text(f"import sys; exec({trap(self.canary)!r})\n")
        (self.site / "b.pth").write_text(f"{where}/elsewhere\n")
        (self.site / "c.start").write_text("sitecustomize:main\n")
        home = where / "home"
        user = home / ".local/lib/python3.11/site-packages"
        user.mkdir(parents=True)
        for folder in (self.site, user):
            for name in ("sitecustomize", "usercustomize", "yaml", "zstandard", "pynvml", "cyclonedx", "rich", "json"):
                (folder / f"{name}.py").write_text(trap(self.canary))
        self.environ = {"PATH": f"{self.root}/bin:/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(where / "tmp")}
        (where / "tmp").mkdir()

    def run(
        self, *arguments: str, tail: tuple[str, ...] = (), environ: Mapping[str, str] = NOTHING
    ) -> subprocess.CompletedProcess[str]:
        """Run a verb under watch; ``-s``, since what Python itself loads from HOME is not in patchctl's hands."""
        command = [sys.executable, "-B", "-s", "-c", WATCH, str(self.root), *arguments]
        return subprocess.run(
            [*command, "--registry", str(self.registry), *tail],
            capture_output=True,
            text=True,
            check=False,
            cwd=CHECKOUT,
            env={**self.environ, **environ},
            timeout=DEADLINE,
        )


@pytest.fixture
def stranger(tmp_path: Path) -> Stranger:
    return Stranger(tmp_path)


@pytest.mark.attack("strange-interpreter")
@pytest.mark.parametrize("twist", TWISTS)
def test_a_strangers_environment_is_read_and_nothing_of_it_runs(stranger: Stranger, twist: str) -> None:
    TWISTS[twist](stranger.root, stranger.canary)
    before = tree_state(stranger.where) if "terabyte" not in twist and "gigabyte" not in twist else None
    named = "bin/python3" if twist.startswith("python") else ""
    done = stranger.run("status", "--python", str(stranger.root / named))
    assert done.returncode in {0, 2, 3}, done
    assert done.stderr == "" or done.stderr.startswith(("warning:", "error:", "vllm ")), done
    assert "root:" not in done.stdout + done.stderr
    assert not stranger.canary.exists()
    assert before is None or tree_state(stranger.where) == before


NAMED = ("--python", "PYTHON")
VERBS = (
    ("status", "-v", *NAMED),
    ("doctor", *NAMED),
    ("verify", "--all", *NAMED),
    ("ps", *NAMED),
    ("apply", "--dry-run", *NAMED),
    ("advise", *NAMED, "--", "vllm", "serve", "m"),
    ("report", "--format", "openvex", *NAMED),
    ("lint", "--against", "ROOT"),
    ("preflight", "ROOT", *NAMED),
    ("apply", *NAMED),
    ("revert", "--all", *NAMED),
    ("status", "--site", "ROOT/lib/python3.11/site-packages"),
)


@pytest.mark.attack("strange-interpreter")
@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_no_verb_runs_what_an_interpreter_would_at_its_start(stranger: Stranger, words: tuple[str, ...]) -> None:
    python = str(stranger.root / "bin/python")
    said = tuple(word.replace("PYTHON", python).replace("ROOT", str(stranger.root)) for word in words)
    end = said.index("--") if "--" in said else len(said)
    _ran_nothing(stranger, stranger.run(*said[:end], tail=said[end:]))


@pytest.mark.attack("strange-interpreter")
@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX", "PATH", "PATCHCTL_PYTHON", "PYTHONUSERBASE"])
@pytest.mark.parametrize("verb", ["status", "apply"])
def test_no_variable_makes_it_run(stranger: Stranger, variable: str, verb: str) -> None:
    value = f"{stranger.root}/bin" if variable == "PATH" else str(stranger.root)
    _ran_nothing(stranger, stranger.run(verb, environ={variable: value}))


def _ran_nothing(stranger: Stranger, done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode in {0, 1, 3}, done
    assert "PROMISE BROKEN" not in done.stderr
    assert not stranger.canary.exists()
    assert list((stranger.where / "tmp").iterdir()) == []


@pytest.mark.attack("strange-interpreter")
def test_the_watch_sees_what_runs(stranger: Stranger) -> None:
    code = f"import sys; sys.path.insert(0, {str(stranger.site)!r}); import zstandard"
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=DEADLINE)
    assert done.returncode == 97
    assert stranger.canary.exists()


COMPOSE = "services: {llm: {image: vllm/vllm-openai, command: vllm serve m}}\n"
SPOTS = (
    ("status",),
    ("apply", "--dry-run"),
    ("doctor",),
    ("lint",),
    ("advise", "--compose", "compose.yaml"),
    ("report", "--format", "cyclonedx"),
    ("hits", "one.log.zst"),
)


@pytest.mark.attack("strange-interpreter")
@pytest.mark.parametrize("how", ["console script", "python -m"])
def test_nothing_in_the_working_directory_is_taken_for_a_module(tmp_path: Path, how: str) -> None:
    """A ``json.py``, ``typer.py`` or ``yaml.py`` where root happens to stand, and in the site that is judged."""
    canary, here = tmp_path / "canary", tmp_path / "here"
    here.mkdir()
    site = make_site(tmp_path, {ENGINE: BASE})
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "one", make_diff({ENGINE: (BASE, AFTER)}), signal={"log": "degraded (?P<n>[0-9]+)"})
    for folder in (here, site):
        for name in _names_of_modules():
            (folder / f"{name}.py").write_text(trap(canary))
    (here / "compose.yaml").write_text(COMPOSE)
    (here / "one.log.zst").write_bytes(b"\x28\xb5\x2f\xfd\x04\x00\x01\x00\x00\x99\xe9\xd8\x51")
    script = tmp_path / "bin/patchctl"
    script.parent.mkdir()
    script.write_text("from patchctl.cli import main\nmain()\n")
    words = [str(script)] if how == "console script" else ["-m", "patchctl"]
    for verb in SPOTS:
        place = () if verb[0] == "lint" else ("--site", str(site))
        done = subprocess.run(
            [sys.executable, *words, *verb, *place, "--registry", str(registry)],
            capture_output=True,
            text=True,
            check=False,
            cwd=here,
            env={
                "PATH": "/usr/bin:/bin",
                "PAGER": f"touch {canary}",
                "LESSOPEN": f"|touch {canary}",
                "EDITOR": "false",
            },
            timeout=DEADLINE,
        )
        assert done.returncode in {0, 1, 3}, (verb, done)
        assert not canary.exists(), verb


def _names_of_modules() -> set[str]:
    """Every module that patchctl or something below it could ask for, without those that Python loads for ``-m``."""
    code = "import runpy, pkgutil, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    extras = {"typer", "click", "rich", "packaging", "yaml", "zstandard", "cyclonedx", "pynvml", "tomli", "shellingham"}
    return {name for name in (*sys.stdlib_module_names, *extras) if name not in loaded and not name.startswith("_")}


@pytest.mark.attack("strange-interpreter")
def test_a_working_directory_that_is_gone_is_no_matter(tmp_path: Path) -> None:
    code = "import os, runpy, sys; os.mkdir('x'); os.chdir('x'); os.rmdir('../x'); sys.argv[1:] = ['--version']"
    code += "; runpy.run_module('patchctl', run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=DEADLINE
    )
    assert (done.returncode, done.stdout[:9]) == (0, "patchctl ")


@pytest.mark.attack("strange-interpreter")
def test_a_site_that_pythonpath_chose_is_said_to_be(stranger: Stranger, tmp_path: Path) -> None:
    other = make_site(tmp_path / "other", {ENGINE: BASE})
    environ = {"VIRTUAL_ENV": str(stranger.root), "PYTHONPATH": str(other)}
    target = patchctl("status", "--json", "--registry", str(stranger.registry), env=environ).document["target"]
    assert (target["site"], target["origin"]) == (str(other), "PYTHONPATH")
    assert patchctl("status", "--registry", str(stranger.registry), env=environ).out.startswith(
        f"environment\t{other}\tchosen-by=PYTHONPATH"
    )


SIGNS = {"SUDO_UID": "1000", "SUDO_USER": "mallory", "DOAS_USER": "mallory", "PKEXEC_UID": "1000"}


@pytest.mark.attack("sudo-registry")
class TestHandedOver:
    """``sudo -E`` and its kin: the environment is another user's, who chose what is in it."""

    @pytest.mark.parametrize("sign", SIGNS)
    @pytest.mark.parametrize("verb", ["list", "status", "apply", "lint", "check"])
    def test_no_variable_selects_a_registry(self, stranger: Stranger, sign: str, verb: str) -> None:
        environ = {sign: SIGNS[sign], "PATCHCTL_REGISTRY": str(stranger.registry), "VIRTUAL_ENV": str(stranger.root)}
        before = tree_state(stranger.where)
        done = patchctl(verb, env=environ)
        assert (done.code, done.out) == (2, "")
        assert "PATCHCTL_REGISTRY does not select a registry under" in done.err
        assert f"--registry {stranger.registry}" in done.err
        assert tree_state(stranger.where) == before

    def test_what_is_on_the_command_line_does(self, stranger: Stranger) -> None:
        environ = {**SIGNS, "PATCHCTL_REGISTRY": "/nowhere"}
        assert patchctl("list", "--registry", str(stranger.registry), env=environ).code == 0

    def test_the_hint_cannot_be_pasted_into_more_than_it_says(self) -> None:
        done = patchctl("list", env={"SUDO_UID": "1", "PATCHCTL_REGISTRY": "/x; rm -rf /"})
        assert "--registry '/x; rm -rf /'" in done.err

    def test_root_that_somebody_else_logged_in_as_is_no_less(self) -> None:
        """su -m, runuser and others set no variable; the kernel knows who logged in."""
        assert handed_over({}, 0, 1000) == "where root is somebody who logged in as uid 1000"
        assert handed_over({}, 0, 0) is None  # root at the console
        assert handed_over({}, 0, None) is None  # a service, a container, cron
        assert handed_over({}, 0, 65534) is None  # a user namespace that does not have him
        assert handed_over({}, 1000, 1001) is None  # no root: what he may write he may write anyway

    @pytest.mark.parametrize("variable", ["PATCHCTL_SITE", "PATCHCTL_PYTHON", "SOURCE_DATE_EPOCH"])
    def test_what_a_variable_decided_is_told_unasked(self, stranger: Stranger, variable: str) -> None:
        value = {"PATCHCTL_SITE": str(stranger.site), "PATCHCTL_PYTHON": str(stranger.root)}.get(variable, "1700000000")
        site = ("--site", str(stranger.site))
        words = ("--registry", str(stranger.registry), *(site if variable == "SOURCE_DATE_EPOCH" else ()))
        environ = {"SUDO_UID": "1000", variable: value}
        said = re.compile(rf"^setting: \w+ = {re.escape(value)} \({variable}\)$", re.MULTILINE)
        assert said.search(patchctl("status", *words, env=environ).err)
        assert said.search(patchctl("apply", "--dry-run", "--json", *words, env=environ).err)
        assert patchctl("status", "-q", *words, env=environ).err == ""
        assert "setting:" not in patchctl("status", *words, *site, env={"SUDO_UID": "1"}).err

    def test_every_setting_is_told_with_v(self, stranger: Stranger) -> None:
        words = ("list", "-v", "--registry", str(stranger.registry))
        err = patchctl(*words, env={"SOURCE_DATE_EPOCH": "1", "PYTHONPYCACHEPREFIX": "/x"}).err
        assert err.splitlines() == [
            f"setting: registry = {stranger.registry} (--registry)",
            "setting: byte code = /x (PYTHONPYCACHEPREFIX)",
            "setting: time = 1 (SOURCE_DATE_EPOCH)",
        ]

    @pytest.mark.parametrize("handed", [False, True])
    def test_no_notes_are_kept_where_its_variables_say(self, tmp_path: Path, handed: bool) -> None:
        site, registry, cache = (
            make_site(tmp_path, {ENGINE: BASE}),
            make_registry(tmp_path / "registry"),
            tmp_path / "c",
        )
        cache.mkdir(mode=0o700)
        for number in range(LEAST):
            add_entry(
                registry, f"old-{number}", None, kind="advisory", variant={"versions": "<0"}, avoid=[{"args": ["-x"]}]
            )
        place = Place(
            site=str(site),
            registries=(str(registry),),
            environ={"XDG_CACHE_HOME": str(cache), "HOME": str(tmp_path)},
            cwd="/",
            handed_over=handed,
        )
        gather_glance(place, time.time_ns() + 10**13)
        assert bool(list(cache.iterdir())) is not handed
        assert not (tmp_path / ".cache").exists()

    def test_no_cache_is_purged_where_its_variables_say(self, tmp_path: Path) -> None:
        desk = Desk(site=make_site(tmp_path, {ENGINE: BASE}), registry=make_registry(tmp_path / "registry"))
        add_entry(tmp_path / "registry", "one", make_diff({ENGINE: (BASE, AFTER)}))
        for name in ("VLLM_CACHE_ROOT", "XDG_CACHE_HOME", "HOME"):
            (tmp_path / name / "torch_compile_cache").mkdir(parents=True)
            (tmp_path / name / "vllm/torch_compile_cache").mkdir(parents=True)
            (tmp_path / name / ".cache/vllm/torch_compile_cache").mkdir(parents=True)
            environ = {"SUDO_UID": "1000", name: str(tmp_path / name)}
            done = desk.json("apply", "--dry-run", "--purge-caches", env=environ)
            assert [it["path"] for it in done.document["caches"] if str(tmp_path) in it["path"]] == []
            assert str(tmp_path / name) in str(
                desk.json("apply", "--dry-run", "--purge-caches", env={name: environ[name]}).document
            )


@pytest.mark.attack("sudo-registry")
class TestOddVariables:
    @pytest.mark.parametrize("value", ["-1", "4294967296", "1e9", "nan", "9" * 5000, "253402300799", " ", "0x10"])
    def test_a_time_that_no_file_can_have_is_refused(self, stranger: Stranger, value: str) -> None:
        """It would be recorded, and every later change would have to be later still."""
        desk = Desk(site=stranger.site, registry=stranger.registry)
        before = tree_state(stranger.where)
        done = desk.run("apply", env={"SOURCE_DATE_EPOCH": value})
        assert (done.code, "SOURCE_DATE_EPOCH" in done.err) == (2, True)
        assert tree_state(stranger.where) == before

    @pytest.mark.parametrize("verb", [("show", "one"), ("status", "one")], ids=" ".join)
    def test_a_terminal_as_wide_as_the_sea_is_not_filled(self, stranger: Stranger, verb: tuple[str, ...]) -> None:
        place = ("--site", str(stranger.site)) if verb[0] == "status" else ()
        words = [sys.executable, "-m", "patchctl", *verb, *place, "--registry", str(stranger.registry)]
        code = "import os, pty, resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30));"
        code += "sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            capture_output=True,
            check=False,
            cwd=CHECKOUT,
            env={**os.environ, "COLUMNS": "2000000000", "LINES": "40", "TERM": "xterm"},
            timeout=DEADLINE,
        )
        assert (done.returncode, len(done.stdout) < 100_000) == (0, True), done.stdout[-2000:]

    @pytest.mark.parametrize("what", ["source_bash", "complete_zsh", "source_fish", "nonsense"])
    def test_a_completion_that_nobody_asked_for_answers_for_no_verb(self, stranger: Stranger, what: str) -> None:
        place = ("--site", str(stranger.site))
        environ = {"_PATCHCTL_COMPLETE": what, "_TYPER_COMPLETE_ARGS": "patchctl st"}
        done = stranger.run("check", *place, environ=environ)
        assert (done.returncode, done.stdout) == (1, stranger.run("check", *place).stdout)
        applied = stranger.run("apply", "-q", *place, environ=environ)
        assert (applied.returncode, (stranger.site / ENGINE).read_bytes()) == (0, AFTER)

    def test_a_shell_that_completes_is_answered(self) -> None:
        environ = {**os.environ, "_PATCHCTL_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "patchctl stat"}
        command = [sys.executable, "-c", "from patchctl.cli import main; main()"]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=CHECKOUT, env=environ, timeout=DEADLINE
        )
        assert (done.returncode, '"status"' in done.stdout) == (0, True), done

    @pytest.mark.parametrize("language", ["C", "tr_TR.UTF-8", "\x1b[31m", "../../etc"])
    def test_a_language_changes_nothing(self, stranger: Stranger, language: str) -> None:
        said = set()
        for value in ("C.UTF-8", language):
            environ = dict.fromkeys(("LANG", "LC_ALL", "LANGUAGE", "TERM"), value)
            said.add(stranger.run("status", "--site", str(stranger.site), environ=environ).stdout)
        assert len(said) == 1
