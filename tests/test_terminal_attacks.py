"""Every verb in each of its outputs, on a real terminal in raw mode, where everything that others write is hostile.

The bytes that reach the terminal hold nothing that it would obey, and nothing that nobody sees, but colours and the
progress bar of patchctl's own. ``tests.attack_text`` has the texts and the grammar, ``tests.hostile_desk`` the place.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from patchctl.cli.app import app
from patchctl.commands import Place, Report
from patchctl.commands.ps import ps
from patchctl.patch import Document
from patchctl.render.plain import as_plain
from patchctl.render.terminal import as_terminal
from tests.attack_text import BYTES, HOSTILE, LONE, MARKUP, NAME, ONE_LINE, WIDE, live
from tests.hostile_desk import PATH, TURNED, HostileDesk, make_hostile_desk, toml, tries
from tests.processes_tree import FIRST_PID, NOW, ProcTree
from tests.running import Done, killed_at, patchctl
from tests.terminals import Shown, in_terminal, through_pipes

pytestmark = [pytest.mark.attack("terminal-text")]

ARGUMENT = f"{NAME} {HOSTILE}{BYTES}".replace("\0", "")
"""A word of the command line; the kernel lets no zero byte through."""

VERBS: dict[str, list[list[str]]] = {
    "status": [[], ["--all"], ["applied", "misfit"], ["--oneline"], ["--digest"], ["--locked", "{lock}"]],
    "check": [[], ["--strict"], ["--locked", "{lock}"], ["--locked", "{odd-lock}"], ["--locked", "{torn-lock}"]],
    "list": [[]],
    "show": [["applied"], ["held"], ["misfit"]],
    "verify": [[], ["-v"], ["--all"], ["--fast", "-v"], ["--baseline", "--dry-run"]],
    "doctor": [[], ["-v"], ["--clean", "--gc", "--dry-run"]],
    "history": [[], ["applied"], ["--last", "1"]],
    "ps": [[]],
    "report": [["--format", shape] for shape in ("md", "html", "cyclonedx", "openvex")],
    "lint": [
        [],
        ["--strict"],
        ["--matrix", "--against", "{wheels}"],
        ["--matrix", "--markdown", "--against", "{wheels}"],
    ],
    "preflight": [["{wheel}"], ["-v", "{wheels}"], ["{torn-wheel}"], ["{metadata-wheel}"], ["-v", "{site}"]],
    "advise": [
        ["--command", f"vllm serve '{NAME}' --x='{NAME}' --quantization '{NAME}'"],
        ["--unit", "{unit}"],
        ["--compose", "{compose}"],
        ["--compose", "{torn-compose}"],
        ["--kubernetes", "{k8s}"],
        ["--strict", "--", "vllm", "serve", NAME, f"--{NAME}"],
    ],
    "hits": [
        ["--all", "{log}"],
        ["--all", "--by", "pid", "{log}", "{torn-log}"],
        ["--all", "--csv", "{log}"],
        ["--all", "--prometheus", "{log}"],
        ["--all", "--html", "{log}"],
        ["--log-prefix", NAME, "{log}"],
    ],
    "apply": [["--dry-run"], ["held", "--dry-run"], ["misfit", "--dry-run"], ["--locked", "{lock}", "--dry-run"]],
    "revert": [["applied", "--dry-run"], ["--all", "--hold", HOSTILE, "--dry-run"]],
    "hold": [["misfit", "--reason", HOSTILE, "--dry-run"], ["applied", "--reason", HOSTILE]],
    "unhold": [["applied", "--dry-run"], ["applied"]],
    "retire": [["--dry-run"], ["applied"], ["--for", "{wheel}", "--dry-run"]],
    "recover": [["--dry-run"]],
    "adopt": [["--dry-run"], ["misfit", "--unproven", "--dry-run"]],
    "restore": [[PATH, "--from", "{wheel}", "--dry-run"], [TURNED, "--from", "{torn-wheel}"], [NAME, "--from", NAME]],
    "lock": [["--output", "-"], ["--output", "{new-lock}"]],
}
"""Verb -> argument lists; words in braces are files around the site."""

FORMS: list[list[str]] = [["-v"], ["--no-color"], ["--json"], ["-q"]]
"""What every verb takes besides."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> HostileDesk:
    return make_hostile_desk(tmp_path_factory.mktemp("hostile"))


def commands() -> dict[str, Any]:
    found: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return {name: found[name] for name in found}


def where(place: HostileDesk, registry: Path | None = None) -> list[str]:
    return ["--site", str(place.desk.site), "--registry", str(registry or place.desk.registry)]


def filled(word: str, place: HostileDesk) -> list[str]:
    """Return the words that one in braces stands for."""
    around = place.around
    wheels = sorted(str(path) for path in around.glob("*.whl"))
    known = {
        "wheels": wheels,
        "wheel": [path for path in wheels if "0.26.0" in path],
        "torn-wheel": [path for path in wheels if "torn" in path],
        "metadata-wheel": [str(around / f"{NAME}.whl")],
        "site": [str(place.desk.site)],
        "log": [str(around / f"{NAME}.log")],
        "torn-log": [str(around / f"torn {NAME}.log.gz")],
        "unit": [str(around / f"{NAME}.service")],
        "compose": [str(around / f"{NAME}.yaml")],
        "torn-compose": [str(around / f"torn {NAME}.yaml")],
        "k8s": [str(around / f"{NAME}.k8s")],
        "lock": [str(around / f"{NAME}.lock")],
        "odd-lock": [str(around / f"odd {NAME}.lock")],
        "torn-lock": [str(around / f"torn {NAME}.lock")],
        "new-lock": [str(around / f"new {NAME}.lock")],
    }
    return known[word[1:-1]] if word[:1] == "{" and word[-1:] == "}" else [word]


def words(verb: str, arguments: list[str], place: HostileDesk) -> list[str]:
    """Return the command line; what follows ``--`` stays last."""
    given = [word for argument in arguments for word in filled(argument, place)]
    at = given.index("--") if "--" in given else len(given)
    return [verb, *given[:at], *where(place), *given[at:]]


def assert_dead(shown: Shown, *, tabs: bool = False) -> None:
    """Nothing on the terminal is live, and what was printed is no traceback of ours."""
    assert live(shown.raw, allowed="\n\t" if tabs else "\n") == []
    assert b"Traceback" not in shown.raw
    assert b"this is a bug" not in shown.raw
    assert shown.code != 70


def assert_quiet(done: Done) -> None:
    """The same of a run in this process, through pipes: for what is tried hundreds of times."""
    assert live((done.out + done.err).encode("utf-8", "surrogateescape")) == []
    assert "this is a bug" not in done.err


def test_the_table_has_every_verb() -> None:
    assert set(VERBS) == set(commands())
    assert all(VERBS.values())


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_on_a_terminal(place: HostileDesk, verb: str) -> None:
    shown = in_terminal(*(words(verb, arguments, place) for arguments in VERBS[verb]))
    assert_dead(shown, tabs=verb == "report")  # a page has the tabs of a diff
    assert len(shown.raw) > 100


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_with_every_common_option_and_through_pipes(place: HostileDesk, verb: str) -> None:
    assert_dead(in_terminal(*(words(verb, [*form, *VERBS[verb][0]], place) for form in FORMS)))
    # the diff of a dry run goes through a pipe as it is, for `git apply`
    piped = [arguments for arguments in VERBS[verb] if "--dry-run" not in arguments]
    assert_dead(through_pipes(*(words(verb, arguments, place) for arguments in piped)), tabs=True)
    for arguments in VERBS[verb]:
        if not {"--csv", "--prometheus", "--html", "--markdown", "-v"} & set(arguments):
            document = patchctl(*words(verb, ["--json", *arguments], place)).out
            assert json.loads(document)["command"] == verb
            assert all(char == "\n" or " " <= char <= "~" for char in document)


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_of_every_verb_takes_a_hostile_word(place: HostileDesk, verb: str) -> None:
    """The options are those of the parser, so that a new one is tried too; so are words that no option is for."""
    assert_dead(in_terminal(*([verb, *arguments] for arguments in hostile_lines(verb))))


def hostile_lines(verb: str) -> Iterator[list[str]]:
    yield [ARGUMENT]
    yield [ARGUMENT, ARGUMENT]
    yield [f"--{ARGUMENT}"]
    yield [f"-{ARGUMENT}"]
    yield ["--help", ARGUMENT]
    common = {"--registry", "--python", "--distribution"}
    for option in commands()[verb].params:
        (*_, name) = option.opts
        if name.startswith("-") and (verb == "status" or name not in common):
            yield [f"{name}={ARGUMENT}"]


def test_the_command_itself_takes_hostile_words() -> None:
    lines = ([ARGUMENT], [f"--{ARGUMENT}"], ["--version", ARGUMENT], ["--help", ARGUMENT], [NAME, "--json"])
    assert_dead(in_terminal(*lines))


ENVIRONMENT: list[dict[str, str]] = [
    {"PATCHCTL_SITE": ARGUMENT},
    {"PATCHCTL_PYTHON": ARGUMENT},
    {"PATCHCTL_REGISTRY": ARGUMENT},
    {"PATCHCTL_REGISTRY": ARGUMENT, "SUDO_UID": "1000"},
    {f"PATCHCTL_{NAME}": NAME},
    {"SOURCE_DATE_EPOCH": ARGUMENT},
    {"VIRTUAL_ENV": f"/{ARGUMENT}"},
    {"CONDA_PREFIX": f"/{ARGUMENT}"},
    {"TERM": ARGUMENT},
    {"COLUMNS": ARGUMENT, "LINES": ARGUMENT, "COLORTERM": ARGUMENT},
    {"SUDO_UID": NAME, "SUDO_USER": NAME, "LOGNAME": NAME, "USER": NAME},
    {"PYTHONPYCACHEPREFIX": f"/{NAME}", "HOME": f"/{NAME}", "XDG_CACHE_HOME": f"/{NAME}"},
    {"NO_COLOR": NAME, "PATCHCTL_NO_COLOR": NAME},
    {"PATH": f"/{NAME}", "LANG": NAME, "LC_ALL": NAME, "TZ": NAME, "CUDA_VISIBLE_DEVICES": NAME},
]


@pytest.mark.parametrize("number", range(len(ENVIRONMENT)))
def test_every_variable_of_the_environment_is_hostile(place: HostileDesk, number: int) -> None:
    env = ENVIRONMENT[number]
    lines = ["status", "-v"], ["doctor", "-v"], ["list", "-v"], words("hold", VERBS["hold"][0], place)
    assert_dead(in_terminal(*lines, env=env))
    assert_dead(through_pipes(*lines, env=env), tabs=True)


class TestRegistryText:
    """Each key that the parser knows, hostile in every form that it may have: shown escaped, or refused escaped."""

    def test_every_key_is_tried(self, place: HostileDesk) -> None:
        """The keys are derived from the parser's shapes; most free texts get through the loader."""
        listed = json.loads(through_pipes(["list", "--json", *where(place, place.shaped)]).raw)
        accepted = {entry["id"] for entry in listed["entries"]}
        refused = {problem["patch"] for problem in listed["errors"]}
        assert {one.id for one in tries(HOSTILE)} <= accepted | refused
        free = {"entry-why", "entry-how", "entry-removal", "fix-note", "avoid-when", "avoid-cost", "trigger-note"}
        assert {f"{name}-0" for name in (*free, "trigger-doubt")} <= accepted
        assert {f"evidence-{name}-1" for name in ("contains", "absent", "matches")} <= accepted

    @pytest.mark.parametrize("verb", ["list", "lint", "status", "check", "apply", "report"])
    def test_on_a_terminal_and_through_a_pipe(self, place: HostileDesk, verb: str) -> None:
        dry = ["--dry-run"] if verb == "apply" else []
        line = [verb, "-v", *dry, *where(place, place.shaped)]
        assert_dead(in_terminal(line))
        assert_dead(through_pipes(line), tabs=True)

    def test_of_each_entry_is_shown_whole_and_escaped(self, place: HostileDesk) -> None:
        listed = json.loads(through_pipes(["list", "--json", *where(place, place.shaped)]).raw)
        ids = [entry["id"] for entry in listed["entries"]]
        shown = in_terminal(*(["show", id_, *where(place, place.shaped)] for id_ in ids))
        assert_dead(shown)
        told = "".join(shown.raw.decode().split())
        assert told.count("[boldred]x[/bold") >= len(ids) - 3  # every diff has it but of the three that are refused
        assert told.count(":skull:") > len(ids)

    def test_of_a_registry_that_cannot_be_read(self, place: HostileDesk) -> None:
        lines = ([verb, *where(place, place.broken)] for verb in ("list", "lint", "status", "apply"))
        assert_dead(in_terminal(*lines))


class TestState:
    """What the owner of a service account may have forged."""

    @pytest.fixture
    def forged(self, place: HostileDesk, tmp_path: Path) -> HostileDesk:
        root = tmp_path / NAME
        shutil.copytree(place.desk.site.parent, root, symlinks=True)
        site, registry = root / place.desk.site.name, root / (place.desk.registry or root).name
        return place._replace(desk=type(place.desk)(site=site, registry=registry))

    @pytest.mark.parametrize("data", [HOSTILE.encode(), b"{" + HOSTILE.encode(), json.dumps({NAME: HOSTILE}).encode()])
    @pytest.mark.parametrize("name", ["ledger.json", "journal.json"])
    def test_a_torn_ledger_or_journal(self, forged: HostileDesk, name: str, data: bytes) -> None:
        (forged.desk.site / ".patchctl" / name).write_bytes(data)
        verbs = ("status", "history", "doctor", "verify", "recover")
        assert_dead(in_terminal(*([verb, *where(forged)] for verb in verbs)))

    def test_every_text_of_the_ledger(self, forged: HostileDesk) -> None:
        """One text after another is hostile; most are refused, and the message says which."""
        file = forged.desk.site / ".patchctl" / "ledger.json"
        whole = json.loads(file.read_bytes())
        for spoilt in spoilings(whole):
            file.write_text(json.dumps(spoilt))
            assert_quiet(patchctl("status", *where(forged)))

    def test_every_text_of_a_journal(self, forged: HostileDesk) -> None:
        assert forged.desk.run("unhold", "held").code == 0
        killed_at(forged.desk, "other.py", "apply", "held")
        file = forged.desk.site / ".patchctl" / "journal.json"
        whole = json.loads(file.read_bytes())
        assert_dead(in_terminal(["check", *where(forged)]))
        for spoilt in spoilings(whole):
            file.write_text(json.dumps(spoilt))
            assert_quiet(patchctl("check", *where(forged)))

    def test_every_text_of_a_record(self, forged: HostileDesk) -> None:
        (file, *_) = [
            path for path in (forged.desk.site / ".patchctl").rglob("*.json") if b'"author"' in path.read_bytes()
        ]
        whole = json.loads(file.read_bytes())
        for spoilt in spoilings(whole):
            file.write_text(json.dumps(spoilt))
            assert_quiet(patchctl("history", *where(forged)))


def spoilings(value: Any) -> Iterator[Any]:
    """Yield the document with one text after the other made hostile, keys of objects among them."""
    if isinstance(value, str):
        yield HOSTILE + BYTES + LONE
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from (value | {key: spoilt} for spoilt in spoilings(item))
            yield {(HOSTILE + BYTES + LONE if name == key else name): it for name, it in value.items()}
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from ([*value[:at], spoilt, *value[at + 1 :]] for spoilt in spoilings(item))
    elif value is not None:
        yield HOSTILE


def test_processes_with_hostile_names_command_lines_and_users(place: HostileDesk, tmp_path: Path) -> None:
    tree = ProcTree(tmp_path / "proc")
    text = ARGUMENT.replace("\n", " ")
    command = ("python", "-m", "vllm", text, f"--{text}", f"--api-key={text}")
    tree.add(FIRST_PID, age=5000, mapped=place.desk.site / "vllm/a.so", command=command, name=NAME)
    report: Report = ps(
        Place(
            site=str(place.desk.site),
            registries=(str(place.desk.registry),),
            proc=str(tree.root),
            boottime_ns=NOW.boottime_ns,
        )
    )
    assert report.processes is not None
    assert len(report.processes.judged) == 1
    for shown in (as_terminal(report, colour=True, width=80), as_plain(report)):
        assert live(shown.encode("utf-8", "surrogateescape")) == []
        assert ":skull:" in shown.replace("\n", "").replace(" ", "")


def test_honest_wide_text_and_markup_stay_as_they_are(place: HostileDesk) -> None:
    """Escaping everything would be safe too, and of no use."""
    shown = through_pipes(["show", "applied", *where(place)]).raw.decode()
    for text in (MARKUP, WIDE):
        assert text in shown
    told = "".join(in_terminal(["show", "applied", *where(place)]).raw.decode().split())
    assert "".join(WIDE.split()) in told


def test_lines_keep_to_the_width_of_the_terminal(place: HostileDesk) -> None:
    """Escapes are wrapped as text is; what is copied whole (commands, diffs) is left to the terminal."""
    from rich.cells import cell_len

    shown = in_terminal(["status", "--no-color", *where(place)]).raw.decode()
    body = shown.partition("\n\n")[2].split("\n")
    assert len(body) > 20
    assert max(cell_len(line) for line in body if "patchctl" not in line) <= 80


def test_a_command_that_is_said_of_a_hostile_place_works_as_it_is_printed(place: HostileDesk) -> None:
    """Quoted so that a shell reads the very bytes, although nothing of them is live."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here")
    shown = through_pipes(["lock", "--output", "-", *where(place)]).raw.decode()
    (command,) = re.findall("patchctl status .*? misfit", shown)
    script = f"patchctl() {{ printf '%s\\n' \"$@\" | od -An -v -tx1; }}\n{command}\n"
    done = subprocess.run([bash, "-c", script], capture_output=True, check=True)
    assert str(place.desk.site).encode() + b"\n" in bytes.fromhex(done.stdout.decode().replace("\n", ""))


def test_the_toml_of_these_tests_says_what_it_should() -> None:
    """The parser gets the very characters: an escaper that saw none of them would prove nothing."""
    data = f"x = {toml(HOSTILE)}\ny = {toml(ONE_LINE)}".encode()
    assert Document(file="x.toml").read(data) == {"x": HOSTILE, "y": ONE_LINE}
