"""State that its owner forged: whatever lies in ``.patchctl``, nothing outside the site changes, shows, or hangs.

The caller owns all of it, so that no look at owners keeps it from being read.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from patchctl.errors import PatchctlError
from patchctl.model import sha256_hex
from patchctl.transaction import recover
from patchctl.transaction.lock import exclusive
from tests.conftest import LONG
from tests.namespaces import in_mount_namespace
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done, killed_at
from tests.sites import make_site
from tests.strangers import likeness, make_socket, watched, within
from tests.test_transaction_swaps import all_steps, contents, fresh, swapped_at
from tests.transaction_tree import do_not_wait_for_the_disk, run, the_edits
from tests.users import NOBODY, as_service_user, open_the_way

pytestmark = pytest.mark.attack("forged-state")

ENGINE, OTHER, ADDED = "vllm/engine.py", "vllm/other.py", "vllm/new/added.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW, HIGH = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n"), BASE.replace(b"line_25 = 1\n", b"line_25 = 25\n")
BOTH = LOW.replace(b"line_25 = 1\n", b"line_25 = 25\n")
SECRET = b"the-secret-of-somebody-else\n"
EVIL = b"import os  # evil\n"
NEVER_THERE = 1 << 38  # bytes of a file that is nothing but a hole

READERS = ["status", "verify", "doctor", "history", "report"]
WRITERS = [
    ["recover"],
    ["apply"],
    ["revert", "--all"],
    ["doctor", "--clean", "--gc"],
    ["verify", "--baseline"],
    ["hold", "b-high", "--reason", "x"],
    ["adopt"],
    ["retire"],
    ["unhold", "b-high"],
    ["recover", "--leave-files"],
    ["revert", "a-low", "--keep-edits"],
]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    do_not_wait_for_the_disk(monkeypatch)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site in the middle of a transaction, its registry, and a place outside with a secret."""
    around = tmp_path_factory.mktemp("forged") / "around"
    site = make_site(around, {"vllm/__init__.py": b"", ENGINE: BASE, OTHER: BASE}, build="0.25.1")
    registry = make_registry(around / "registry")
    add_entry(registry, "a-low", make_diff({ENGINE: (BASE, LOW)}))
    add_entry(registry, "b-high", make_diff({ENGINE: (BASE, HIGH), ADDED: (None, b"new = 1\n"), OTHER: (BASE, HIGH)}))
    (around / "outside/deep").mkdir(parents=True)
    (around / "outside/secret").write_bytes(SECRET)
    (around / "outside/secret").chmod(0o600)
    desk = Desk(site=site, registry=registry)
    assert desk.run("apply", "a-low").code == 0
    killed_at(desk, "ledger.json", "apply")
    assert (site / ".patchctl/journal.json").exists()
    return around


@pytest.fixture
def around(template: Path, tmp_path: Path) -> Path:
    return copied(template, tmp_path / "around")


def copied(template: Path, to: Path) -> Path:
    shutil.copytree(template, to, symlinks=True)
    return to


def desk_of(around: Path) -> Desk:
    return Desk(site=around / "site", registry=around / "registry")


def settled(around: Path) -> Desk:
    desk = desk_of(around)
    assert desk.run("recover").code == 0
    return desk


def secret_link(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "secret")


def directory_link(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "deep")


def dangling_link(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "made-by-root")


def hard_link(path: Path, outside: Path) -> None:
    os.link(outside / "secret", path)


def fifo(path: Path, _outside: Path) -> None:
    os.mkfifo(path)


def device(path: Path, _outside: Path) -> None:
    """Endless zeros; only root can make it, and for others this is one more FIFO."""
    if os.geteuid() != 0:
        os.mkfifo(path)
    else:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))


def listening(path: Path, _outside: Path) -> None:
    make_socket(path)


def directory(path: Path, _outside: Path) -> None:
    path.mkdir()


def huge(path: Path, _outside: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(NEVER_THERE)


def garbage(path: Path, _outside: Path) -> None:
    path.write_bytes(b"\0\xff{[" * 99)


def nested(path: Path, _outside: Path) -> None:
    path.write_bytes(b'{"format": ' + b"[" * 200_000)


def empty(path: Path, _outside: Path) -> None:
    path.write_bytes(b"")


FORGERIES = [
    *(secret_link, directory_link, dangling_link, hard_link, fifo, device, listening, directory, huge, garbage),
    *(nested, empty),
]
PLACES = [
    "",
    "format",
    "lock",
    "ledger.json",
    "journal.json",
    "tmp",
    "tmp/*",
    "tmp/*/*",
    "objects",
    "objects/*",
    "objects/*/*",
    "patches",
    "patches/*",
    "history",
    "history/*",
    ".patchctl-*",
]


def forge(around: Path, place: str, forgery: Callable[[Path, Path], None]) -> None:
    """Put something else in the place of everything there."""
    state = around / "site/.patchctl"
    for path in sorted(state.glob(place)) if place else [state]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
        forgery(path, around / "outside")


def test_every_place_of_the_state_is_tried(template: Path) -> None:
    state = template / "site/.patchctl"
    tried = {path for place in PLACES if place for path in state.glob(place)}
    assert tried == set(state.rglob("*"))
    assert all(list(state.glob(place)) for place in PLACES if place)


@pytest.mark.attack("links")
@pytest.mark.parametrize("place", PLACES)
def test_whatever_is_in_a_place_of_the_state_leads_nowhere_and_keeps_nobody_waiting(
    template: Path, tmp_path: Path, place: str
) -> None:
    within(120, partial(try_all, template, tmp_path, place))


def try_all(template: Path, tmp_path: Path, place: str) -> None:
    """Each verb meets each place; with LONG_TESTS each forgery as well."""
    turn = count(PLACES.index(place))
    for number, forgery in enumerate(FORGERIES):
        rounds = len(WRITERS) if LONG else 1
        for again in range(rounds):
            around = copied(template, tmp_path / f"{number}-{again}")
            forge(around, place, forgery)
            at = next(turn)
            readers = READERS if LONG else [READERS[at % len(READERS)]]
            writers = [WRITERS[at % len(WRITERS)], WRITERS[(at * 5 + 3) % len(WRITERS)]]
            nothing_escapes(around, [*([it] for it in readers), *writers], linked=forgery is hard_link)
            shutil.rmtree(around)


def nothing_escapes(around: Path, verbs: Sequence[Sequence[str]], *, linked: bool = False) -> list[Done]:
    """Run verbs: nothing outside the site is opened, changed or shown, and the site has no bytes but ours.

    ``linked``: the secret has a second name in the state, by which it may be opened.
    """
    desk, outside = desk_of(around), around / "outside"
    before, registry = likeness(outside), likeness(around / "registry")
    found = []
    with watched(outside) as seen:
        for verb in verbs:
            seen()
            done = desk.run(*verb)
            assert linked or seen() == [], verb
            assert done.code in {0, 1, 3, 4}, (verb, done)
            assert done.code == 0 or done.out or "error: " in done.err, (verb, done)
            assert SECRET.decode().strip() not in done.out + done.err, verb
            found.append(done)
    assert (likeness(outside), likeness(around / "registry")) == (before, registry)
    only_our_bytes(around)
    return found


def only_our_bytes(around: Path) -> None:
    site = around / "site"
    for path, wanted in ((ENGINE, {BASE, LOW, BOTH, HIGH}), (OTHER, {BASE, HIGH}), (ADDED, {b"new = 1\n"})):
        if (site / path).exists():
            assert (site / path).read_bytes() in wanted, path
    for file in site.rglob("*.py"):
        status = file.lstat()
        assert stat.S_ISREG(status.st_mode)
        assert not status.st_mode & 0o6000
        assert (status.st_uid, status.st_gid) == (site.stat().st_uid, site.stat().st_gid)


def test_what_cannot_be_read_keeps_nobody_waiting_and_is_said(template: Path, tmp_path: Path) -> None:
    """For root everything can be read: another user is who meets it."""
    open_the_way(tmp_path / "x")
    for number, place in enumerate(
        ("format", "lock", "ledger.json", "journal.json", "tmp/*", "objects/*/*", "history")
    ):
        around = copied(template, tmp_path / str(number))
        for path in around.rglob("*"):
            os.chown(path, NOBODY, NOBODY) if os.geteuid() == 0 else None
        for path in (around / "site/.patchctl").glob(place):
            path.chmod(0)
        before = likeness(around / "outside")
        done = as_service_user("apply", "--site", f"{around}/site", "--registry", f"{around}/registry")
        assert done.code in {0, 1, 3, 4}, (place, done)
        assert likeness(around / "outside") == before
        shutil.rmtree(around)


def change_ledger(around: Path, change: Callable[[dict[str, Any]], object]) -> None:
    file = around / "site/.patchctl/ledger.json"
    document = json.loads(file.read_bytes())
    change(document)
    file.write_text(json.dumps(document))


def fact(key: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda ledger: ledger["files"][ENGINE].update({key: value})


def moved(path: str) -> Callable[[dict[str, Any]], object]:
    """The fact of the engine is one of another path."""
    return lambda ledger: ledger["files"].update({path: ledger["files"].pop(ENGINE)})


@pytest.mark.parametrize(
    "change",
    [
        *map(moved, ("../outside/secret", "/etc/passwd", "vllm/../../outside/secret", "", "owned.pth", "a\0b")),
        *map(moved, ("sitecustomize.py", "usercustomize/__init__.py", "vllm/__pycache__/engine.cpython-311.pyc")),
        *map(moved, ("vllm-0.25.1.dist-info/RECORD", ".patchctl/lock", ".git/hooks/x", "vllm\\engine.py")),
        fact("base", "../../../outside/secret"),
        fact("result", "A" * 64),
        fact("base_mode", 1 << 20),
        fact("base_mode", -1),
        fact("base_xattrs", {"security.capability": "0100000200200000000000000000000000000000"}),
        fact("base_xattrs", {"trusted.overlay.redirect": "00"}),
        fact("base_link", {"target": "", "mtime_ns": 0}),
        fact("created_dirs", ["../outside"]),
        fact("created_dirs", ["vllm-0.25.1.dist-info"]),
        fact("owner", 0),
        lambda ledger: ledger["receipts"][0]["diffs"][0].update(sha256="../../outside/secret"),
        lambda ledger: ledger["receipts"].append(ledger["receipts"][0]),
        lambda ledger: ledger.update(format=True),
    ],
)
def test_a_ledger_that_asks_for_too_much_is_refused_by_every_verb(
    around: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    settled(around)
    change_ledger(around, change)
    before = likeness(around)
    for done in nothing_escapes(around, [["revert", "--all"], ["doctor", "--clean", "--gc"], ["apply"], ["status"]]):
        assert done.code in {1, 3} if "doctor" in done.out else 3
    assert likeness(around) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could give a file what is tried here")
def test_neither_set_id_bits_nor_owner_nor_capability_come_from_state(around: Path) -> None:
    """Of the ledger, of the journal's kept files, and of the objects."""
    site = around / "site"
    (tmp,) = (site / ".patchctl/tmp").iterdir()
    for kept in tmp.iterdir():
        if kept.is_file():
            os.chown(kept, NOBODY, NOBODY)
            with suppress(OSError):  # not every file system has them
                os.setxattr(kept, "security.capability", bytes.fromhex("0000000200200000000000000000000000000000"))
    for stored in (site / ".patchctl/objects").glob("*/*"):
        stored.chmod(0o6755)
    desk = settled(around)
    only_our_bytes(around)
    change_ledger(around, fact("base_mode", 0o6755))
    (site / ENGINE).chmod(0o600)
    assert desk.run("revert", "a-low").code == 0
    assert (site / ENGINE).read_bytes() == BASE
    only_our_bytes(around)
    for path in site.rglob("*.py"):
        assert "security.capability" not in os.listxattr(path)


def test_an_object_with_the_right_name_and_other_bytes_is_never_written(around: Path) -> None:
    settled(around)
    for stored in (around / "site/.patchctl/objects").glob("*/*"):
        stored.write_bytes(EVIL)
    before = likeness(around / "site/vllm")
    (reverted, status) = nothing_escapes(around, [["revert", "a-low"], ["status"]])
    assert reverted.code in {1, 3}
    assert likeness(around / "site/vllm") == before
    assert status.code == 0


def test_a_base_that_record_does_not_prove_is_given_back_to_who_recorded_it_and_to_nobody_else(
    around: Path,
) -> None:
    """Whoever owns the state owns the site: he needs no patchctl to write into it. Root does not do it for him."""
    desk = settled(around)
    objects = around / "site/.patchctl/objects" / sha256_hex(EVIL)[:2]
    objects.mkdir(exist_ok=True)
    (objects / sha256_hex(EVIL)).write_bytes(EVIL)
    change_ledger(around, fact("base", sha256_hex(EVIL)))
    if os.geteuid() == 0:
        os.chown(around / "site/.patchctl/ledger.json", NOBODY, NOBODY)
        before = likeness(around)
        for verb in (["revert", "a-low"], ["apply"], ["doctor", "--gc"], ["recover"]):
            assert desk.run(*verb).code == 3
        assert likeness(around) == before
        os.chown(around / "site/.patchctl/ledger.json", 0, 0)
    done = desk.run("revert", "a-low")
    assert done.code in {0, 1, 3}
    assert (around / "site" / ENGINE).read_bytes() in {LOW, EVIL}
    assert not (around / "site" / ENGINE).stat().st_mode & 0o6000


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a third user")
def test_no_user_takes_the_word_of_a_third_one_for_his_own_site(around: Path) -> None:
    """Who may write to the top of a site, by its group, could lay out a state that the owner would carry out."""
    open_the_way(around / "site")
    for path in (around / "site", *(around / "site").rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    for path in ((around / "site/.patchctl"), *(around / "site/.patchctl").rglob("*")):
        os.chown(path, 12345, 12345)
        path.chmod(0o777)
    before = likeness(around)
    for verb in (["recover"], ["apply"], ["revert", "--all"], ["doctor", "--gc"]):
        done = as_service_user(*verb, "--site", f"{around}/site", "--registry", f"{around}/registry")
        assert done.code == 3, done
        assert "belongs to uid 12345" in done.err
    assert likeness(around) == before


@pytest.mark.attack("links")
@pytest.mark.parametrize("place", ["", "/tmp", "/objects", "/patches", "/history"])
def test_a_directory_of_the_state_swapped_at_any_step_leads_nowhere(tmp_path: Path, place: str) -> None:
    path = f".patchctl{place}"
    for step, site, twin in fresh(tmp_path, all_steps(tmp_path)):
        (twin / path).mkdir(parents=True)
        before, old, aside = likeness(twin), contents(site), site / "aside"

        def swap(site: Path = site, twin: Path = twin, aside: Path = aside) -> None:
            if (site / path).exists():
                (site / path).rename(aside)
                (site / path).symlink_to(twin / path)

        committed = False
        with suppress(PatchctlError):
            run(site, the_edits(), swapped_at(step, swap))
            committed = True
        with suppress(PatchctlError):
            recover(str(site))
        assert likeness(twin) == before, step
        if aside.exists():
            (site / path).unlink()
            aside.rename(site / path)
        recover(str(site))
        assert likeness(twin) == before, step
        assert committed or contents(site) == old, step


@pytest.mark.attack("links")
@pytest.mark.parametrize("verb", [["report", "--format", "html"], ["report"], ["lock"]], ids=" ".join)
def test_a_page_lands_in_the_directory_that_was_opened_whatever_takes_its_name(around: Path, verb: list[str]) -> None:
    desk = settled(around)
    desk_path, moved_path, outside = around / "desk", around / "moved", around / "outside"
    desk_path.mkdir()
    before = likeness(outside)

    def swap(event: str, arguments: tuple[object, ...]) -> None:
        made = event == "open" and str(arguments[0]).startswith(".patchctl-") and not moved_path.exists()
        if made:
            desk_path.rename(moved_path)
            desk_path.symlink_to(outside)

    def act() -> int:
        sys.addaudithook(swap)
        return desk.run(*verb, "--output", str(desk_path / "page")).code

    assert within(60, act) == 0
    assert likeness(outside) == before
    assert [path.name for path in moved_path.iterdir()] == ["page"]


@pytest.mark.attack("lock-link")
@pytest.mark.parametrize("how", ["link", "hard link"])
def test_what_takes_the_name_of_the_lock_while_it_is_made_gets_neither_mode_nor_bytes(tmp_path: Path, how: str) -> None:
    """It is seen that there is none; then somebody puts a name of a private file there; then it is made."""
    state, private = tmp_path / ".patchctl", tmp_path / "private"
    state.mkdir()
    private.write_bytes(SECRET)
    private.chmod(0o600)
    before = likeness(private)

    def put_it_there(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and arguments[0] == "lock" and arguments[2] & os.O_CREAT:
            with suppress(FileExistsError):
                (state / "lock").symlink_to(private) if how == "link" else os.link(private, state / "lock")

    def act() -> None:
        sys.addaudithook(put_it_there)
        fd = os.open(state, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(PatchctlError), exclusive(fd, str(tmp_path), 0.0):
            assert how != "link"

    within(60, act)
    assert (state / "lock").is_symlink() if how == "link" else (state / "lock").samefile(private)
    assert likeness(private) == before


@pytest.mark.attack("lock-link")
@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_what_takes_the_name_of_the_lock_before_it_is_opened_is_not_opened(tmp_path: Path, kind: str) -> None:
    """It is seen to be a file; then somebody puts a name of a private file there, or of nothing that answers."""
    state, outside = tmp_path / ".patchctl", tmp_path / "outside"
    for folder in (state, outside):
        folder.mkdir()
    (outside / "private").write_bytes(SECRET)
    (state / "lock").touch()
    before = likeness(outside)

    def swap(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and arguments[0] == "lock" and (state / "lock").is_file():
            (state / "lock").unlink()
            (state / "lock").symlink_to(outside / "private") if kind == "link" else os.mkfifo(state / "lock")

    def act() -> str:
        fd = os.open(state, os.O_RDONLY | os.O_DIRECTORY)
        sys.addaudithook(swap)
        try:
            with exclusive(fd, str(tmp_path), 0.0):
                return "held"
        except PatchctlError as error:
            return error.problem.code

    with watched(outside) as seen:
        assert within(60, act) == "untrusted-site"
        assert seen() == []
    assert likeness(outside) == before


@pytest.mark.attack("purge-links")
def test_byte_code_that_is_mounted_from_elsewhere_stays(around: Path) -> None:
    """A bind mount within one file system has the device number of what is around it."""
    settled(around)
    cache, kept = around / "site/vllm/__pycache__", around / "kept"
    cache.mkdir(exist_ok=True)
    kept.mkdir()
    (kept / "engine.cpython-311.pyc").write_bytes(b"byte code of another tree")
    done = in_mount_namespace(
        f"mount --bind '{kept}' '{cache}'", "apply", "b-high", "--allow-running", desk=desk_of(around)
    )
    assert done.code == 0, done
    assert "another file system" in done.out + done.err
    assert (kept / "engine.cpython-311.pyc").exists()
