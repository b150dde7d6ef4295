"""Snapshots, names that moved, and places root must not trust: real small trees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from patchctl.errors import TargetError
from patchctl.model.files import FileMeta, LiveFile, sha256_hex
from patchctl.model.target import Target
from patchctl.target import find_target, read_snapshot, search_names, top_levels
from tests.sites import MTIME, Content, install, make_site, tree_state, write
from tests.strangers import make_socket

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to own and give away files")
not_root = pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")


def target_of(site: Path, name: str = "vllm") -> Target:
    return find_target(site=str(site), python=None, environ={}, names=[name])


# --- snapshot


def test_a_snapshot_has_bytes_hash_and_status_of_each_file_and_none_for_what_is_not_there(tmp_path: Path) -> None:
    data = b"a = 1\r\nb = 2"
    site = make_site(tmp_path, {"vllm/a.py": Content(data=data, mode=0o640, mtime=MTIME + 0.25)})
    snapshot = read_snapshot(target_of(site), ["vllm/a.py", "vllm/b.py", "no/such/dir/c.py", "vllm/a.py"])
    meta = FileMeta(
        mode=0o640, uid=os.getuid(), gid=(site / "vllm/a.py").stat().st_gid, mtime_ns=MTIME * 10**9 + 250_000_000
    )
    assert snapshot.files == {
        "vllm/a.py": LiveFile(data=data, meta=meta, sha256=sha256_hex(data)),
        "vllm/b.py": None,
        "no/such/dir/c.py": None,
    }
    assert snapshot.problems == {}


def test_set_id_bits_are_seen(tmp_path: Path) -> None:
    site = make_site(tmp_path, {"vllm/a.py": Content(data=b"", mode=0o4755)})
    live = read_snapshot(target_of(site), ["vllm/a.py"]).files["vllm/a.py"]
    assert live is not None
    assert live.meta.mode == 0o4755


def make_link(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def make_dangling(path: Path, _: Path) -> None:
    path.symlink_to("nowhere")


def make_fifo(path: Path, _: Path) -> None:
    os.mkfifo(path)


def make_directory(path: Path, _: Path) -> None:
    path.mkdir()


def make_listening(path: Path, _: Path) -> None:
    make_socket(path)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (make_link, "is a symbolic link, and only regular files are read and edited"),
        (make_dangling, "is a symbolic link, and only regular files are read and edited"),
        (make_fifo, "is not a regular file"),
        (make_directory, "is not a regular file"),
        (make_listening, "is not a regular file"),
    ],
)
def test_what_is_no_regular_file_is_a_problem_and_never_opened_through(
    tmp_path: Path, make: object, reason: str
) -> None:
    assert callable(make)
    site = make_site(tmp_path, {"vllm/a.py": b"a\n"})
    write(tmp_path / "secret", b"root:x\n")
    make(site / "vllm/x.py", tmp_path / "secret")
    snapshot = read_snapshot(target_of(site), ["vllm/x.py", "vllm/a.py"])
    assert set(snapshot.files) == {"vllm/a.py"}
    assert set(snapshot.problems) == {"vllm/x.py"}
    assert snapshot.problems["vllm/x.py"] == reason


def test_a_directory_that_is_a_link_is_not_walked_through(tmp_path: Path) -> None:
    site = make_site(tmp_path, {"vllm/a.py": b"a\n"})
    write(tmp_path / "outside/b.py", b"secret\n")
    (site / "vllm/sub").symlink_to(tmp_path / "outside")
    snapshot = read_snapshot(target_of(site), ["vllm/sub/b.py", "vllm/a.py/c.py"])
    assert snapshot.files == {}
    reason = "cannot be reached: the directory 'sub' on its way is a symbolic link"
    assert snapshot.problems["vllm/sub/b.py"] == reason
    assert "'a.py' on its way" in snapshot.problems["vllm/a.py/c.py"]


def test_a_file_beyond_the_limit_is_a_problem(tmp_path: Path) -> None:
    site = make_site(tmp_path, {"vllm/a.py": b"a\n"})
    with (site / "vllm/big.py").open("wb") as stream:
        stream.truncate((64 << 20) + 1)
    assert "is larger than" in read_snapshot(target_of(site), ["vllm/big.py"]).problems["vllm/big.py"]


@pytest.mark.parametrize(
    "path", ["../outside.py", "/etc/passwd", "vllm/../../x", "", "vllm//a.py", ".patchctl/ledger.json"]
)
def test_a_harmful_name_is_a_problem_before_anything_is_opened(tmp_path: Path, path: str) -> None:
    site = make_site(tmp_path, {"vllm/a.py": b"a\n"})
    write(tmp_path / "outside.py", b"secret\n")
    snapshot = read_snapshot(target_of(site), [path])
    assert snapshot.files == {}
    assert set(snapshot.problems) == {path}


@not_root
def test_a_file_that_may_not_be_read_is_a_problem(tmp_path: Path) -> None:
    site = make_site(tmp_path, {"vllm/a.py": Content(data=b"a\n", mode=0o200)})
    assert read_snapshot(target_of(site), ["vllm/a.py"]).problems["vllm/a.py"] == "cannot be read: Permission denied"


def test_a_site_that_is_gone_is_an_error(tmp_path: Path) -> None:
    site = make_site(tmp_path, {"vllm/a.py": b"a\n"})
    target = target_of(site)
    site.rename(tmp_path / "moved")
    with pytest.raises(TargetError) as caught:
        read_snapshot(target, ["vllm/a.py"])
    assert caught.value.problem.code == "unreadable-site"


def test_a_snapshot_leaves_no_descriptor_open(tmp_path: Path) -> None:
    site = make_site(tmp_path, {"vllm/a.py": b"a\n"})
    (site / "vllm/link.py").symlink_to("a.py")
    os.mkfifo(site / "vllm/fifo.py")
    (site / "vllm/dir.py").mkdir()
    target = target_of(site)
    before = len(list(Path("/proc/self/fd").iterdir()))
    paths = ["vllm/a.py", "vllm/link.py", "vllm/fifo.py", "vllm/dir.py", "no/x.py", "vllm/a.py/x.py"]
    assert len(read_snapshot(target, paths).problems) == 4
    assert len(list(Path("/proc/self/fd").iterdir())) == before


# --- names that moved

CODE = b"""
class Manager(Base):
    async  def grammar_init(self): pass
\tdef tabbed(self): pass
def grammar_init_late(): pass
x = 'def quoted'
# class Commented
"""


def test_a_word_is_found_where_it_is_defined_at_any_indentation(tmp_path: Path) -> None:
    site = make_site(tmp_path, {"vllm/new/a.py": CODE, "vllm/b.py": b"from vllm.new.a import grammar_init\n"})
    target = target_of(site)
    words = ("grammar_init", "Manager", "tabbed", "quoted", "Commented", "grammar", "Base", "nowhere")
    found = search_names(target, target.distributions["vllm"], words, ())
    here = ("vllm/new/a.py",)
    none = dict.fromkeys(("quoted", "Commented", "grammar", "Base", "nowhere"), ())
    assert found == {"grammar_init": here, "Manager": here, "tabbed": here, **none}


def test_words_in_crlf_and_non_utf8_files_are_found_and_letters_beyond_ascii_end_no_word(tmp_path: Path) -> None:
    site = make_site(
        tmp_path,
        {
            "vllm/a.py": b"import x\r\ndef wanted():\r\n",
            "vllm/b.py": b"# caf\xe9\nclass wanted:\n",
            "vllm/c.py": "def wantedß(): pass\n".encode(),
        },
    )
    target = target_of(site)
    found = search_names(target, target.distributions["vllm"], ["wanted"], [])
    assert found == {"wanted": ("vllm/a.py", "vllm/b.py")}


def test_a_file_name_is_found_wherever_record_lists_it(tmp_path: Path) -> None:
    files = {
        "vllm/v1/worker/gpu/runner.py": b"",
        "vllm/v2/runner.py": b"",
        "vllm/my_runner.py": b"",
        "vllm/x,y.json": b"",
    }
    site = make_site(tmp_path, files)
    target = target_of(site)
    found = search_names(target, target.distributions["vllm"], (), ("runner.py", "x,y.json", "gone.py"))
    both = ("vllm/v1/worker/gpu/runner.py", "vllm/v2/runner.py")
    assert found == {"runner.py": both, "x,y.json": ("vllm/x,y.json",), "gone.py": ()}


def test_only_the_distributions_own_files_are_searched(tmp_path: Path) -> None:
    site = make_site(tmp_path, {"vllm/a.py": b"", "vllm/unlisted.py": Content(data=b"def w(): pass\n", listed=False)})
    install(site, {"other/b.py": b"def w(): pass\n"}, name="other")
    write(tmp_path / "outside.py", b"def w(): pass\n")
    install(
        site, {"vllm/c.py": b""}, build="0.20.0", extra_rows=[("../outside.py", "", ""), ("vllm/../other/b.py", "", "")]
    )
    target = target_of(site)
    found = search_names(target, target.distributions["vllm"], ["w"], ["outside.py", "METADATA"])
    assert found == {"w": (), "outside.py": (), "METADATA": ()}


def test_without_record_the_top_level_packages_are_walked(tmp_path: Path) -> None:
    files: dict[str, bytes | Content] = {
        "vllm/deep/a.py": b"def w(): pass\n",
        "vllm/__pycache__/a.py": b"def w(): pass\n",
        "extra/b.py": b"def w(): pass\n",
        "single.py": b"def w(): pass\n",
    }
    plain = make_site(tmp_path / "plain", files, record=False)
    target = target_of(plain)
    assert top_levels(target, target.distributions["vllm"]) == ("vllm",)
    found = search_names(target, target.distributions["vllm"], ["w"], ["a.py"])
    assert found == {"w": ("vllm/deep/a.py",), "a.py": ("vllm/deep/a.py",)}
    stated = tmp_path / "stated"
    install(stated, files, record=False, info_files={"top_level.txt": b"vllm\nsingle\ngone\n../x\n..\n"})
    write(tmp_path / "x.py", b"def w(): pass\n")
    target = target_of(stated)
    assert top_levels(target, target.distributions["vllm"]) == ("single.py", "vllm")
    assert search_names(target, target.distributions["vllm"], ["w"], [])["w"] == ("single.py", "vllm/deep/a.py")


def test_a_plain_egg_info_file_states_no_top_levels(tmp_path: Path) -> None:
    write(tmp_path / "vllm-0.9.2.egg-info", b"Name: vllm\nVersion: 0.9.2\n")
    write(tmp_path / "vllm/a.py", b"def w(): pass\n")
    target = target_of(tmp_path)
    assert search_names(target, target.distributions["vllm"], ["w"], []) == {"w": ("vllm/a.py",)}


def test_top_levels_come_from_record(tmp_path: Path) -> None:
    site = make_site(tmp_path, {"vllm/a.py": b"", "vllm_ext/_C.so": b"", "one.py": b"", "data/x.json": b""})
    target = target_of(site)
    assert top_levels(target, target.distributions["vllm"]) == ("one.py", "vllm", "vllm_ext")


def test_links_to_other_bytes_fifos_and_huge_files_define_nothing(tmp_path: Path) -> None:
    definition = b"def w(): pass\n"
    site = make_site(
        tmp_path,
        {"vllm/link.py": definition, "vllm/fifo.py": definition, "vllm/sub/d.py": definition, "vllm/e.py": definition}
        | {"vllm/huge.py": definition + b"#" * (2 << 20), "vllm/gone.py": definition},
    )
    write(tmp_path / "outside/d.py", definition)
    (site / "vllm/gone.py").unlink()
    (site / "vllm/link.py").unlink()
    write(tmp_path / "outside/other.py", definition + b"# not what RECORD lists\n")
    (site / "vllm/link.py").symlink_to(tmp_path / "outside/other.py")
    (site / "vllm/fifo.py").unlink()
    os.mkfifo(site / "vllm/fifo.py")
    (site / "vllm/sub").rename(tmp_path / "away")
    (site / "vllm/sub").symlink_to(tmp_path / "outside")
    target = target_of(site)
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert search_names(target, target.distributions["vllm"], ["w"], [])["w"] == ("vllm/e.py",)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_searching_writes_nothing(tmp_path: Path) -> None:
    site = make_site(tmp_path, {"vllm/a.py": CODE})
    target = target_of(site)
    before = tree_state(site)
    search_names(target, target.distributions["vllm"], ["Manager"], ["a.py"])
    assert tree_state(site) == before


# --- places root must not trust
