"""Every option that names an output file: whose link and whose file root takes for it, and where no file may go."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from patchctl.cli.app import app
from patchctl.disk.way import StrangeLinkError, open_way
from patchctl.publishing import BEGIN, END
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Done, patchctl
from tests.sites import install, make_site
from tests.strangers import likeness, make_socket, within
from tests.transaction_tree import do_not_wait_for_the_disk
from tests.users import NOBODY, as_service_user, open_the_way

ENGINE = "vllm/engine.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
PATCHED = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n")
LINE = b"INFO 01-02 03:04:05 [engine.py:10] contained one\n"
README = f"{BEGIN}\n{END}\n".encode()

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be led to do what another user may not")
OUTPUTS: dict[str, list[str]] = {
    "report --output": ["report", "--format", "html", "--output"],
    "report --into": ["report", "--into"],
    "hits --output": ["hits", "{log}", "--csv", "--output"],
    "hits --all --output": ["hits", "--all", "{log}", "--html", "--output"],
    "lock --output": ["lock", "--output"],
}
"""Every option that names an output file, as the end of a command."""
INPUTS = {"--locked", "--unit", "--compose", "--kubernetes"}
"""Options with a FILE that is read."""


class Scene(NamedTuple):
    """A place where output goes.

    Attributes:
        around: all that may not change.
        site: in it, with one entry in.
        registry: in it.
        log: in it, with one hit.
    """

    around: Path
    site: Path
    registry: Path
    log: Path

    def run(self, option: str, output: Path | str, env: Mapping[str, str] | None = None, *, named: bool = True) -> Done:
        words = [word.format(log=self.log) for word in OUTPUTS[option]]
        site = ["--site", str(self.site)] if named else []
        return patchctl(*words, str(output), *site, "--registry", str(self.registry), env=env)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    do_not_wait_for_the_disk(monkeypatch)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    around = tmp_path / "around"
    around.mkdir()
    site = make_site(around, {"vllm/__init__.py": b"", ENGINE: BASE}, build="0.25.1")
    registry = make_registry(around / "registry")
    add_entry(registry, "a-low", make_diff({ENGINE: (BASE, PATCHED)}), signal={"log": "contained one"})
    (around / "vllm.log").write_bytes(LINE)
    (around / "secret").mkdir(mode=0o700)
    open_the_way(site)
    scene = Scene(around=around, site=site, registry=registry, log=around / "vllm.log")
    assert patchctl("apply", "--site", str(site), "--registry", str(registry)).code == 0
    return scene


@pytest.fixture
def his(scene: Scene) -> Path:
    """A directory of another user."""
    path = scene.around / "his"
    path.mkdir()
    os.chown(path, NOBODY, NOBODY)
    return path


def give(path: Path) -> None:
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def link_of_his(link: Path, to: Path) -> None:
    link.symlink_to(to)
    give(link)


def code_of(done: Done) -> str:
    return done.err.partition("error: ")[2]


def hint_of(done: Done) -> str:
    hint = done.err.partition("\n\nhint: ")[2].strip()
    assert hint
    assert "\n" not in hint
    return hint


def shell(command: str, where: Path) -> None:
    subprocess.run(["sh", "-c", command], cwd=where, check=True, capture_output=True)


def parameters() -> Iterator[tuple[str, Any]]:
    for verb, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        yield from ((verb, parameter) for parameter in command.params)


def test_no_option_that_names_a_file_is_missing_here() -> None:
    found = {f"{verb} {it.opts[0]}" for verb, it in parameters() if it.metavar == "FILE" and it.opts[0] not in INPUTS}
    assert found == set(OUTPUTS) - {"hits --all --output"}
    named = {f"{verb} {it.opts[0]}" for verb, it in parameters() if it.name in {"output", "into", "out", "to"}}
    assert named <= found


# --- links


@as_root
@pytest.mark.attack("links")
@pytest.mark.parametrize("option", OUTPUTS)
def test_root_is_led_nowhere_by_a_directory_that_is_another_users_link(scene: Scene, his: Path, option: str) -> None:
    (scene.around / "secret/page").write_bytes(README if "into" in option else b"")
    link_of_his(his / "pages", scene.around / "secret")
    before = likeness(scene.around)
    for output in (his / "pages/page", his / "pages/new", his / "pages/../secret/page"):
        done = scene.run(option, output)
        assert (done.code, done.out) == (3, ""), done
        assert "a link of nobody, who could lead root anywhere" in done.err
        assert likeness(scene.around) == before
    shell(hint_of(done), scene.around)
    assert scene.run(option, his / "pages/page").code == 0


@as_root
@pytest.mark.attack("links")
@pytest.mark.parametrize("there", ["nothing", "a reviewed lock file", "a link to a link"])
def test_root_writes_through_no_link_of_another_user(scene: Scene, his: Path, there: str) -> None:
    reviewed = scene.around / "secret/patchctl.lock"
    if there != "nothing":
        assert scene.run("lock --output", reviewed).code == 0
        reviewed.write_bytes(reviewed.read_bytes() + b"# of another site\n")
    link_of_his(his / "patchctl.lock", reviewed)
    output = his / "patchctl.lock"
    if there == "a link to a link":
        output = scene.around / "mine.lock"
        output.symlink_to(his / "patchctl.lock")
    before = likeness(scene.around)
    for option in OUTPUTS:
        done = scene.run(option, output)
        assert (done.code, done.out) == (3 if option == "lock --output" else 1, ""), done
        assert likeness(scene.around) == before
    assert "a link of nobody" in done.err  # of lock, which follows links of others than a stranger's


@as_root
@pytest.mark.parametrize("option", OUTPUTS)
def test_links_of_roots_own_and_what_root_alone_could_put_there_are_followed(scene: Scene, option: str) -> None:
    pages, linked = scene.around / "pages", scene.around / "linked"
    pages.mkdir()
    (pages / "page").write_bytes(README if "into" in option else b"")
    linked.symlink_to("./pages")
    assert scene.run(option, linked / "page").code == 0
    first = (pages / "page").read_bytes()
    give(linked)  # as an archive has it, unpacked by root into a directory of root's
    (pages / "page").write_bytes(README if "into" in option else b"")
    assert scene.run(option, linked / "page").code == 0
    assert (pages / "page").stat().st_size == len(first)
    scene.around.chmod(0o777)
    assert scene.run(option, linked / "page").code == 3


@as_root
@pytest.mark.attack("links")
def test_a_link_that_is_put_there_after_the_look_is_not_followed(
    scene: Scene, his: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking at a directory and opening it; and between looking at a link and reading where it leads."""
    (his / "pages").mkdir()
    opening, looks = os.open, []

    def open_late(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if path == "pages":
            looks.append(path)
            if len(looks) == 2:
                (his / "pages").rmdir()
                link_of_his(his / "pages", scene.around / "secret")
        return opening(path, flags, *more, **options)

    with monkeypatch.context() as swapped:
        swapped.setattr(os, "open", open_late)
        assert scene.run("report --output", his / "pages/page").code == 3
    assert looks == ["pages", "pages"]
    mine = scene.around / "mine"
    mine.mkdir()
    (his / "pages").unlink()
    (his / "pages").symlink_to(mine)  # root's own
    reading = os.readlink

    def read_late(path: str, **options: int) -> str:
        (his / "pages").unlink()
        link_of_his(his / "pages", scene.around / "secret")
        return reading(path, **options)

    with monkeypatch.context() as swapped:
        swapped.setattr(os, "readlink", read_late)
        assert scene.run("report --output", his / "pages/page").code == 0
    assert [path.name for path in mine.iterdir()] == ["page"]
    assert list((scene.around / "secret").iterdir()) == []


def test_a_circle_of_links_and_what_is_no_file_have_an_end(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    (tmp_path / "up").symlink_to("..")
    for path in ("one/page", "one", "up", "two/.."):
        with pytest.raises(OSError, match=r"Too many levels|Is a directory"):
            open_way(f"{tmp_path}/{path}", None, through=True)


@as_root
def test_whose_a_link_is_and_where_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "his").mkdir()
    give(tmp_path / "his")
    link_of_his(tmp_path / "his/pages", tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StrangeLinkError) as caught:
        open_way("./his//pages/x", {0}, through=False)
    assert (caught.value.link, caught.value.uid) == ("his/pages", NOBODY)


# --- files


@as_root
@pytest.mark.attack("links")
@pytest.mark.parametrize("option", OUTPUTS)
def test_what_root_writes_is_no_file_of_another_user(scene: Scene, option: str) -> None:
    """One that he left in a sticky directory beforehand, to have root's page as his own."""
    shared = scene.around / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    page = shared / "it's a page"
    page.write_bytes(README if "into" in option else b"")
    give(page)
    before = likeness(scene.around)
    done = scene.run(option, page)
    assert (done.code, done.out) == (3, ""), done
    assert "belongs to nobody, who could read and change what root writes there" in done.err
    assert likeness(scene.around) == before
    if option == "report --into":
        words = shlex.split(hint_of(done))
        assert words[:3] == ["sudo", "-u", "nobody"]
        assert as_service_user(*words[words.index("report") :]).code == 0
        assert page.stat().st_uid == NOBODY
        return
    shell(hint_of(done), scene.around)
    assert scene.run(option, page).code == 0
    assert page.stat().st_uid == 0


@as_root
@pytest.mark.parametrize("option", OUTPUTS)
def test_who_called_root_with_sudo_may_have_his_own_links_and_keeps_his_file(
    scene: Scene, his: Path, option: str
) -> None:
    (his / "real").mkdir()
    give(his / "real")
    page = his / "real/page"
    page.write_bytes(README if "into" in option else b"")
    give(page)
    link_of_his(his / "pages", his / "real")
    assert scene.run(option, his / "pages/page", env={"SUDO_UID": "12345"}).code == 3
    assert scene.run(option, his / "pages/page", env={"SUDO_UID": str(NOBODY)}).code == 0
    assert (page.stat().st_uid, page.stat().st_size > len(README)) == (NOBODY, True)


def test_whoever_is_not_root_is_held_by_the_kernel_alone(scene: Scene, his: Path) -> None:
    (scene.around / "elsewhere").mkdir()
    give(scene.around / "elsewhere")
    (his / "pages").symlink_to(scene.around / "elsewhere")
    words = ["report", "--output", str(his / "pages/page"), "--site", str(scene.site)]
    assert as_service_user(*words, "--registry", str(scene.registry)).code == 0
    assert (scene.around / "elsewhere/page").stat().st_uid == NOBODY


KINDS = ["fifo", "socket", "directory", "character device", "block device", "link to a fifo", "link to itself"]


@pytest.mark.attack("links")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_regular_file_is_refused_without_waiting(scene: Scene, tmp_path: Path, kind: str) -> None:
    place = scene.around / "page"
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "socket":
        make_socket(place)
    elif kind == "directory":
        place.mkdir()
    elif kind == "link to a fifo":
        os.mkfifo(tmp_path / "fifo")
        place.symlink_to(tmp_path / "fifo")
    elif kind == "link to itself":
        place.symlink_to(place)
    else:
        try:
            os.mknod(place, 0o600 | (stat.S_IFCHR if "char" in kind else stat.S_IFBLK), os.makedev(1, 3))
        except PermissionError:
            pytest.skip("no devices may be made here")
    before = likeness(scene.around)
    for option in OUTPUTS:
        done = within(60, lambda option=option: scene.run(option, place))  # type: ignore[misc]
        assert done.code == (3 if option == "lock --output" else 1), done
        assert done.out == ""
        assert "Traceback" not in done.err
    assert likeness(scene.around) == before


@pytest.mark.parametrize("option", OUTPUTS)
def test_a_pipe_that_a_descriptor_names_is_refused_without_waiting(scene: Scene, option: str) -> None:
    reading, writing = os.pipe()
    try:
        for name in (f"/dev/fd/{writing}", f"/proc/self/fd/{writing}", f"/dev/fd/{writing}/"):
            done = within(60, lambda name=name: scene.run(option, name))  # type: ignore[misc]
            assert done.code in {1, 3}, done
            assert done.out == ""
        os.set_blocking(reading, False)
        with pytest.raises(BlockingIOError):
            os.read(reading, 1)
    finally:
        os.close(reading)
        os.close(writing)


# --- sites

INSIDE = [ENGINE, "vllm/new.py", "new.pth", "vllm-0.25.1.dist-info/RECORD", ".patchctl/ledger.json", ".patchctl/new"]


def refused_inside(done: Done, option: str) -> None:
    assert done.code == (2 if option == "lock --output" else 1), done
    assert done.out == ""
    assert "lies in a site" in done.err


@pytest.mark.parametrize("option", OUTPUTS)
def test_no_verb_writes_into_a_site_whether_it_is_named_or_not(
    scene: Scene, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The site that the command works on, another one, and with ``--all`` one where it knows of none."""
    other = make_site(scene.around / "other", {"vllm/__init__.py": b"", ENGINE: BASE}, build="0.25.1")
    (scene.around / "by-link").symlink_to(scene.site / "vllm")
    monkeypatch.chdir(scene.site / "vllm")
    before = likeness(scene.around)
    named = "--all" not in option
    for output in (*(scene.site / path for path in INSIDE), other / ENGINE, other / "new"):
        refused_inside(scene.run(option, output, named=named), option)
    for name in ("engine.py", "./new.py", "../new.py", "../../by-link/engine.py"):
        refused_inside(scene.run(option, name, named=named), option)
    refused_inside(scene.run(option, "engine.py"), option)
    assert likeness(scene.around) == before


@pytest.mark.parametrize("option", ["hits --all --output", "hits --output"])
def test_a_site_in_which_nothing_tells_that_it_is_one_is_known_by_its_name(
    scene: Scene, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ``--all`` no environment is looked for; the operator named one all the same."""
    bare = scene.around / "bare"
    (bare / "vllm").mkdir(parents=True)
    (bare / "vllm/engine.py").write_bytes(BASE)
    words = ["hits", "--all", str(scene.log), "--csv", "--registry", str(scene.registry)]
    monkeypatch.chdir(scene.around)
    for site in (str(bare), "bare", "./vllm/../bare/."):
        if site.startswith("./vllm"):
            (scene.around / "vllm").mkdir()
        done = patchctl(*words, "--site", site, "--output", str(bare / ENGINE))
        refused_inside(done, option)
        assert (bare / ENGINE).read_bytes() == BASE
    assert patchctl(*words, "--output", str(bare / "x.csv")).code == 0  # then it is any directory


@pytest.mark.parametrize("option", [it for it in OUTPUTS if it != "hits --all --output"])
def test_packages_of_an_editable_install_are_the_sites_and_its_readme_is_not(scene: Scene, option: str) -> None:
    source = scene.around / "source"
    (source / "small").mkdir(parents=True)
    (source / "small/__init__.py").write_bytes(README)
    (source / "small.egg-info").mkdir()
    url = b'{"url": "file:///x", "dir_info": {"editable": true}}'
    pointer = {"__editable__.small-1.0.pth": f"{source}\n".encode()}
    install(scene.site, pointer, name="small", build="1.0", info_files={"direct_url.json": url})
    one = make_diff({"small/none.py": (BASE, PATCHED)})
    add_entry(scene.registry, "small-one", one, distribution="small", default=False)
    before = likeness(source)
    for name in ("small/__init__.py", "small/new.py"):
        refused_inside(scene.run(option, source / name), option)
    assert likeness(source) == before
    (source / "README.md").write_bytes(README if "into" in option else b"")
    assert scene.run(option, source / "README.md").code == 0


@pytest.mark.parametrize("option", OUTPUTS)
def test_a_state_alone_makes_a_site_and_a_name_that_anybody_may_leave_in_tmp_does_not(
    scene: Scene, option: str
) -> None:
    left = scene.around / "left"
    (left / ".patchctl").mkdir(parents=True)
    (left / "page").write_bytes(README if "into" in option else b"")
    refused_inside(scene.run(option, left / "page"), option)
    (left / ".patchctl").rename(left / "x.dist-info")
    refused_inside(scene.run(option, left / "page"), option)
    left.chmod(0o1777)
    assert scene.run(option, left / "page").code == 0
