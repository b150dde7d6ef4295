"""What an operator sees of a diff that does not fit, from the command line: on a terminal, in a pipe, as JSON."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract import complaints
from tests.golden import check_golden
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, on_a_terminal
from tests.sites import Content, make_site, write

ID = "engine-oversize"
PATH = "vllm/engine.py"
BASE = b'''"""The engine."""

import logging

logger = logging.getLogger(__name__)


class Engine:
    def __init__(self, limit):
        self.limit = limit
        self.steps = 0

    def admit(self, request):
        """Take one request in."""
        if request.size > self.limit:
            raise ValueError(f"a request of {request.size} is more than {self.limit}")
        self.queue.append(request)
        return request

    def step(self):
        """Run one step."""
        self.steps += 1
        for request in self.queue:
            if request.done:
                self.queue.remove(request)
        return self.steps
'''
RAISES = b'            raise ValueError(f"a request of {request.size} is more than {self.limit}")\n'
CUTS = b'            logger.warning("request of %d cut to %d", request.size, self.limit)\n'
CUTS += b"            request = request.cut(self.limit)\n"
LOOP, COPIED = b"        for request in self.queue:\n", b"        for request in list(self.queue):\n"
FIXED = BASE.replace(RAISES, CUTS).replace(LOOP, COPIED)
VENDOR = b"class Vendor" + BASE[BASE.index(b"Engine:") :]


def diff(*, context: int = 1, index: bytes = b"") -> bytes:
    found = make_diff({PATH: (BASE, FIXED)}, context=context)
    return b"diff --git a/%b b/%b\n%b" % (PATH.encode(), PATH.encode(), index) + found if index else found


def blob(content: bytes) -> bytes:
    return hashlib.sha1(b"blob %d\x00" % len(content) + content).hexdigest()[:9].encode()


def desk(where: Path, content: bytes | Content, patch: bytes | None = None) -> Desk:
    site = make_site(where, {PATH: content}, build="0.25.1+das.1")
    registry = make_registry(where / "registry")
    title = "A request that is too large is cut instead of ending the engine"
    add_entry(
        registry, ID, diff() if patch is None else patch, title=title, variant={"versions": ">=0", "label": "any"}
    )
    return Desk(site=site, registry=registry)


def conflict(where: Path) -> Desk:
    """The vendor renamed an attribute and put a lock around a line: the first hunk needs a person."""
    found = BASE.replace(b"self.limit:\n", b"self.max_size:\n")
    found = found.replace(b"        self.queue.app", b"        with self.lock:\n            self.queue.app")
    return desk(where, found.replace(b"import logging\n", b"import logging\nimport threading\n"))


def ambiguity(where: Path) -> Desk:
    """The vendor has a second engine with the same code, and both have moved."""
    return desk(where, BASE.replace(b"import l", b"import abc\nimport l") + b"\n\n" + VENDOR)


def partial(where: Path) -> Desk:
    """The vendor took one of the two hunks."""
    return desk(where, BASE.replace(LOOP, COPIED))


def crlf(where: Path) -> Desk:
    """The vendor's file was checked out with CRLF, and the diff knows the blob that it was made from."""
    index = b"index " + blob(BASE) + b".." + blob(FIXED) + b" 100644\n"
    return desk(where, BASE.replace(b"\n", b"\r\n"), diff(index=index))


def mixed(where: Path) -> Desk:
    """Somebody's editor converted the first half of the file."""
    return desk(where, BASE.replace(b"\n", b"\r\n", 18))


def reworded(where: Path) -> Desk:
    """The vendor made the first change too, in other words; the second place is gone."""
    words = CUTS.replace(b"cut to %d", b"is shortened to %d")
    return desk(where, BASE.replace(RAISES, words).replace(LOOP, b"        for request in self.waiting():\n"))


def undecided(where: Path) -> Desk:
    """One engine has the change, a second one has not."""
    return desk(where, Content(data=b"# one\n" + FIXED + b"\n\n" + VENDOR, hashed=False))


def missing(where: Path) -> Desk:
    """The vendor moved the file."""
    found = desk(where, BASE)
    (found.site / PATH).unlink()
    return found


def added(where: Path) -> Desk:
    """The entry adds a file, and the vendor ships another one of that name."""
    other = b'"""Cuts requests."""\n\n\ndef cut(request, limit):\n    return request[:limit]\n'
    return desk(where, other.replace(b"[:limit]", b".head(limit)"), make_diff({PATH: (None, other)}))


def drifted(where: Path) -> Desk:
    """It was applied, and then somebody edited the very lines."""
    found = desk(where, BASE)
    assert found.run("apply").code == 0
    file = found.site / PATH
    file.write_bytes(file.read_bytes().replace(b"request.cut(self.limit)", b"request.head(self.limit)"))
    return found


SCENES: dict[str, Callable[[Path], Desk]] = {
    scene.__name__: scene
    for scene in (conflict, ambiguity, partial, crlf, mixed, reworded, undecided, missing, added, drifted)
}


def terminal(found: Desk, *arguments: str, colour: bool = False) -> str:
    """What stands on a terminal of 80 columns, below the line that names the environment."""
    # by variables, which no sentence repeats: a path of the test would make lines of any length
    where = {"PATCHCTL_SITE": str(found.site), "PATCHCTL_REGISTRY": str(found.registry)}
    shown = on_a_terminal(*arguments, *([] if colour else ["--no-color"]), env=where)
    raw = shown.decode().replace("\r\n", "\n")
    return raw if arguments[0] not in {"status", "check"} else raw.partition("\n\n")[2]


@pytest.mark.parametrize("name", SCENES)
class TestGolden:
    def test_status_of_the_entry_on_a_terminal(self, name: str, tmp_path: Path) -> None:
        text = terminal(SCENES[name](tmp_path), "status", ID)
        assert max(map(len, text.split("\n"))) <= 80
        check_golden(f"{name}.entry.txt", text)

    def test_status_of_all_on_a_terminal(self, name: str, tmp_path: Path) -> None:
        text = terminal(SCENES[name](tmp_path), "status")
        assert max(map(len, text.split("\n"))) <= 80
        assert text.count("\n") <= 20
        check_golden(f"{name}.status.txt", text)

    def test_status_of_the_entry_through_a_pipe(self, name: str, tmp_path: Path) -> None:
        done = SCENES[name](tmp_path).run("status", ID)
        check_golden(f"{name}.records.txt", done.out.replace(str(tmp_path), "/srv"))

    def test_status_of_the_entry_as_json(self, name: str, tmp_path: Path) -> None:
        done = SCENES[name](tmp_path).json("status", ID)
        assert complaints(done.document) == []
        found = {key: done.patch(ID)[key] for key in ("id", "verdict", "action", "reason", "files")}
        check_golden(f"{name}.json", json.dumps(found, indent=2) + "\n")

    def test_says_the_same_with_and_without_colour(self, name: str, tmp_path: Path) -> None:
        found = SCENES[name](tmp_path)
        coloured = terminal(found, "status", ID, colour=True)
        assert "\x1b[" in coloured
        bare = re.sub(r" *(\x1b\[[0-9;]*m)*$", "", coloured, flags=re.MULTILINE)
        assert re.sub(r"\x1b\[[0-9;]*m", "", bare) == terminal(found, "status", ID)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("arguments", [("apply",), ("apply", ID), ("apply", "--dry-run"), ("apply", ID, "--dry-run")])
def test_a_refused_apply_says_why_and_which_command_shows_more(
    name: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    found = SCENES[name](tmp_path)
    done = found.run(*arguments)
    assert done.code == 1
    assert f"patchctl status {ID}" in done.err
    document = found.json(*arguments)
    assert complaints(document.document) == []
    assert document.patch(ID)["files"][0]["explanation"] is not None


def test_a_refused_apply_says_that_only_line_ends_differ(tmp_path: Path) -> None:
    assert f"{PATH}: it would fit but for its line ends" in crlf(tmp_path).run("apply").err


def test_check_shows_the_short_form(tmp_path: Path) -> None:
    found = conflict(tmp_path)
    assert terminal(found, "check") == terminal(found, "status")


class TestTheRecipe:
    def command(self, found: Desk) -> str:
        lines = [line.strip() for line in terminal(found, "status", ID).split("\n")]
        (command,) = [line for line in lines if line.startswith("sed ")]
        return command

    def use(self, found: Desk, command: str) -> Desk:
        """Do what the answer says: make the variant, and add it for this build."""
        assert found.registry is not None
        folder = found.registry / "vllm" / ID
        subprocess.run(["sh", "-c", command], cwd=folder, check=True)
        made = (folder / command.rpartition(" ")[2]).read_bytes()
        add_entry(found.registry, ID, made, variant={"builds": ["0.25.1+das.1"]})
        return found

    @pytest.mark.parametrize("context", [1, 3])
    @pytest.mark.parametrize("to_crlf", [True, False])
    def test_makes_a_variant_that_fits_and_keeps_the_line_ends(
        self, context: int, to_crlf: bool, tmp_path: Path
    ) -> None:
        ends = (b"\n", b"\r\n") if to_crlf else (b"\r\n", b"\n")
        old, new = BASE.replace(b"\n", ends[0]), FIXED.replace(b"\n", ends[0])
        patch = b"Description: cut it\n\n" + make_diff({PATH: (old, new)}, context=context)
        found = desk(tmp_path, BASE.replace(b"\n", ends[1]), patch)
        assert found.run("apply").code == 1
        assert self.use(found, self.command(found)).run("apply").code == 0
        assert (found.site / PATH).read_bytes() == FIXED.replace(b"\n", ends[1])
        assert found.run("revert", ID).code == 0
        assert (found.site / PATH).read_bytes() == BASE.replace(b"\n", ends[1])

    def test_is_not_offered_where_it_would_be_wrong(self, tmp_path: Path) -> None:
        other = "vllm/other.py"
        two = make_diff({PATH: (BASE, FIXED), other: (b"a\nb\n", b"a\nc\n")})
        no_newline = make_diff({PATH: (BASE[:-1], FIXED[:-1])}, context=3)
        converted = BASE.replace(b"\n", b"\r\n")
        for number, (content, patch) in enumerate([(converted, two), (converted[:-2], no_newline)]):
            found = desk(tmp_path / str(number), content, patch)
            write(found.site / other, b"a\nb\n")
            text = terminal(found, "status", ID)
            assert "line ends are ignored" in text.replace("\n", " ")
            assert "sed " not in text


class TestWhatMustNotBeShown:
    SECRET = b"root:secret:" + RAISES

    def files(self, where: Path) -> list[Desk]:
        link, fifo, outside = (desk(where / name, BASE) for name in ("link", "fifo", "outside"))
        secret = where / "shadow"
        secret.write_bytes(self.SECRET)
        (link.site / PATH).unlink()
        (link.site / PATH).symlink_to(secret)
        (fifo.site / PATH).unlink()
        subprocess.run(["mkfifo", str(fifo.site / PATH)], check=True)
        assert outside.registry is not None
        (outside.site / "other").mkdir()
        (outside.site / "other" / "x.py").write_bytes(self.SECRET)
        add_entry(
            outside.registry, ID, make_diff({"other/x.py": (BASE, FIXED)}), variant={"versions": ">=0", "label": "any"}
        )
        return [link, fifo, outside]

    def test_is_not_of_a_link_a_special_file_or_a_file_of_somebody_else(self, tmp_path: Path) -> None:
        for found in self.files(tmp_path):
            for arguments in (["status", ID], ["check", ID], ["apply", ID], ["apply", ID, "--dry-run"]):
                done = found.run(*arguments)
                answers = done.out + done.err + found.json(*arguments).out + terminal(found, *arguments)
                assert "secret" not in answers
            assert found.json("status", ID).patch(ID)["files"][0]["explanation"] is None


class TestLongAndOddLines:
    def test_never_reach_a_terminal_with_a_live_control_character(self, tmp_path: Path) -> None:
        odd = b"\x1b[31m\x07\xff\xe2\x80\xae\x9b"
        found = desk(tmp_path, BASE.replace(b"self.limit:", b"self.limit: #" + odd))
        for arguments in (["status", ID], ["status"]):
            raw = terminal(found, *arguments)
            assert re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", raw) == []
            assert re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", found.run(*arguments).out) == []
        assert r"\x1b[31m\x07\xff\u202e\x9b" in terminal(found, "status", ID)
        assert complaints(found.json("status", ID).document) == []

    def test_are_cut_and_the_cut_is_said(self, tmp_path: Path) -> None:
        found = desk(tmp_path, BASE.replace(b"self.limit:\n", b"self.limit: # " + b"x" * 10_000 + b"\n"))
        text = terminal(found, "status", ID)
        assert re.search(r"\[\d+bytesmore\]", re.sub(r"\s", "", text)) is not None
        assert text.count("\n") < 50
        assert len(found.run("status", ID).out) < 5_000

    def test_wide_letters_do_not_break_the_columns(self, tmp_path: Path) -> None:
        from rich.cells import cell_len

        wide = BASE.replace(b"self.limit:\n", b"self.limit:  # " + "請求が大きすぎる".encode() * 8 + b"\n")
        text = terminal(desk(tmp_path, wide), "status", ID)
        assert "請求" in text
        assert max(map(cell_len, text.split("\n"))) <= 80

    def test_blanks_are_spelt_out_where_only_they_differ(self, tmp_path: Path) -> None:
        found = desk(tmp_path, BASE.replace(b"self.limit:\n", b"self.limit: \t \n"))
        assert r"self.limit:\x20\x09\x20" in terminal(found, "status", ID)


def test_a_diff_of_many_hunks_stays_short_without_an_id(tmp_path: Path) -> None:
    old = b"".join(b"x%d\n" % number for number in range(2000))
    new = b"".join(b"!\n" if number % 20 == 9 else b"x%d\n" % number for number in range(2000))
    found = desk(tmp_path, old.replace(b"8\n", b"eight\n"), make_diff({PATH: (old, new)}))
    text = terminal(found, "status")
    assert text.count("\n") < 20
    assert "97 more do not fit" in text
    assert "80 more hunks" in terminal(found, "status", ID)


def test_an_entry_for_no_such_build_is_explained_when_it_is_named(tmp_path: Path) -> None:
    found = conflict(tmp_path)
    assert found.registry is not None
    add_entry(found.registry, ID, diff(), variant={"builds": ["0.1"]})
    assert found.json("status", "--all").patch(ID)["files"][0]["explanation"] is None
    assert found.json("status", ID).patch(ID)["files"][0]["explanation"] is not None
    assert "import threading" not in terminal(found, "status", ID)
    assert "with self.lock:" in terminal(found, "status", ID)
