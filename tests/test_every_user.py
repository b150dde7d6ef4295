"""C37: every verb as an ordinary user, as root under umask 077, and on a read-only tree: words, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from patchctl.cli.app import app
from tests.namespaces import in_mount_namespace
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done, tree
from tests.sites import make_site
from tests.small_wheels import make_wheel
from tests.users import as_service_user, open_the_way

ENGINE, ADDED, LOST = "vllm/engine.py", "vllm/new/added.py", "vllm/lost.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n")
HIGH = BASE.replace(b"line_25 = 1\n", b"line_25 = 25\n")
FILES = {"vllm/__init__.py": b"", ENGINE: BASE, LOST: BASE}

pytestmark = pytest.mark.slow

READERS = [
    "status",
    "check",
    "list",
    "show",
    "verify",
    "doctor",
    "history",
    "ps",
    "lint",
    "lock",
    "preflight",
    "report",
    "advise",
    "hits",
]
WRITERS = ["apply", "revert", "hold", "unhold", "retire", "recover", "adopt", "restore"]
VERBS: dict[str, list[str]] = {
    "show": ["show", "a-low"],
    "lock": ["lock", "--output", "-"],
    "revert": ["revert", "a-low"],
    "hold": ["hold", "b-high", "--reason", "x"],
    "unhold": ["unhold", "c-held"],
    "retire": ["retire", "a-low"],
    "preflight": ["preflight", "{wheel}"],
    "hits": ["hits", "--all", __file__],
    "restore": ["restore", LOST, "--from", "{wheel}"],
}
NOTHING_DUE = {"recover", "adopt"}
"""Writers that have nothing to write on this desk, which is no reason to complain."""

REFUSED_ANYWHERE = {"retire"}
"""No fix of the entry is proven, which is said first and to everybody."""

READ_ONLY = "mount --bind {site} {site} && mount -o remount,bind,ro {site}"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """One entry in, one due, one held; a file edited by hand that a wheel can put back."""
    site = make_site(tmp_path, FILES, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "a-low", make_diff({ENGINE: (BASE, LOW)}))
    add_entry(registry, "b-high", make_diff({ENGINE: (BASE, HIGH), ADDED: (None, b"new = 1\n")}))
    add_entry(registry, "c-held", make_diff({LOST: (BASE, LOW)}))
    make_wheel(tmp_path, list(FILES.items()))
    open_the_way(site)
    desk = Desk(site=site, registry=registry)
    assert desk.run("apply", "a-low").code == 0
    assert desk.run("hold", "c-held", "--reason", "not yet").code == 0
    (site / LOST).write_bytes(b"edited = 1\n")
    return desk


def arguments_of(verb: str, desk: Desk) -> list[str]:
    (wheel,) = desk.site.parent.glob("*.whl")
    return [word.format(wheel=wheel) for word in VERBS.get(verb, [verb])]


def where(desk: Desk) -> list[str]:
    return ["--site", str(desk.site), "--registry", str(desk.registry)]


def ordinary_user(desk: Desk, arguments: list[str]) -> Done:
    return as_service_user(*arguments, *where(desk))


def read_only(desk: Desk, arguments: list[str]) -> Done:
    return in_mount_namespace(READ_ONLY.format(site=desk.site), *arguments, desk=desk)


def umask_077(desk: Desk, arguments: list[str]) -> Done:
    command = ["sh", "-c", 'umask 077 && exec "$@"', "sh", sys.executable, "-m", "patchctl", *arguments, *where(desk)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


def test_c37_no_verb_is_missing_here() -> None:
    command = typer.main.get_command(app)
    assert sorted(command.commands) == sorted([*READERS, *WRITERS])  # type: ignore[attr-defined]


@pytest.mark.parametrize("verb", [*READERS, *WRITERS])
@pytest.mark.parametrize(("place", "cause"), [(ordinary_user, "cannot be written"), (read_only, "Read-only")])
def test_c37_who_cannot_write_is_told_why_and_what_to_do(
    desk: Desk, verb: str, place: Callable[[Desk, list[str]], Done], cause: str
) -> None:
    before = tree(desk.site, but=())
    plain = desk.run(*arguments_of(verb, desk)) if verb in READERS else None
    done = place(desk, arguments_of(verb, desk))
    assert "Traceback" not in done.out + done.err
    assert done.code in {0, 1, 3}
    if plain is not None and verb not in {"doctor", "ps"}:
        assert done.code == plain.code  # it reads as well as anybody
    if verb in WRITERS and verb not in NOTHING_DUE:
        assert done.code == 1, done.err
        assert "error: " in done.err
        assert cause in done.err or verb in REFUSED_ANYWHERE
        assert "\n\nhint: " in done.err
    assert tree(desk.site, but=()) == before


@pytest.mark.parametrize("verb", [*READERS, *WRITERS])
def test_c37_root_under_umask_077_does_as_always_and_locks_nobody_out(desk: Desk, verb: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    done = umask_077(desk, arguments_of(verb, desk))
    assert "Traceback" not in done.out + done.err
    # Somebody's process may be closed even to root; no entry here has a signal to count.
    assert done.code in ({0, 1, 3} if verb in {"ps", "hits"} else {0, 1})
    if verb in WRITERS:
        assert done.code == (1 if verb in REFUSED_ANYWHERE else 0), done.err
    closed = [
        path
        for path in desk.site.rglob("*")
        if path.stat().st_mode & (0o055 if path.is_dir() else 0o044) != (0o055 if path.is_dir() else 0o044)
    ]
    assert closed == []
    after = as_service_user("status", *where(desk))
    assert after.code == 0, after.err
