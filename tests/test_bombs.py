"""Documents and sources that are made to take a parser's time, memory or stack, through every door that they have.

Each is read by the verb itself, in a child with little memory and a deadline. What must come: a sentence, an exit code
that the verb has for it, and nothing changed anywhere around.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.contained import contained
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done, patchctl
from tests.sites import install, make_site, tree_state
from tests.test_glance import Ground
from tests.test_verify import conda_desk

pytestmark = [pytest.mark.attack("bombs")]

MIB = 1 << 20
DEEP = 100_000
DIGITS = b"9" * 100_000
CODE = b"def f():\n    return 1\n\n\nA = 1\n"
DIFF = make_diff({"vllm/a.py": (CODE, CODE.replace(b"A = 1", b"A = 2"))})
INFO = "vllm-0.20.0.dist-info"
READING = (("status",), ("check",))


def json_bombs(valid: bytes) -> dict[str, bytes]:
    """A valid document (an object that begins with a text key) and what can be made of it."""
    key = valid[: valid.index(b":")].partition(b"{")[2].strip()
    return {
        "deep lists": b"[" * DEEP,
        "deep lists that end": b"[" * DEEP + b"]" * DEEP,
        "deep objects": b'{"a":' * DEEP,
        "a depth that a parser bears": b"[" * 900 + b"]" * 900,
        "16 MiB of brackets": b"[" * (16 * MIB),
        "a list of 5 million lists": b"[" + b"[]," * (5 * MIB) + b"[]]",
        "16 MiB of quotes": b'"' * (16 * MIB),
        "8 MiB of escapes": b'"' + b'\\"' * (4 * MIB),
        "digits": valid.replace(b"{", b'{"zzz": ' + DIGITS + b", ", 1),
        "nothing but digits": DIGITS * 100,
        "a digit's power": valid.replace(b"{", b'{"zzz": 1e' + DIGITS + b", ", 1),
        "a key that stands twice": valid.replace(b"{", b"{" + key + b": 1, ", 1),
        "not a number": valid.replace(b"{", b'{"zzz": NaN, ', 1),
        "infinity": valid.replace(b"{", b'{"zzz": -Infinity, ', 1),
        "too large a number": valid.replace(b"{", b'{"zzz": 1e999, ', 1),
        "a byte order mark": b"\xef\xbb\xbf" + valid,
        "a null byte": valid.replace(b'"', b'"\0', 1),
        "nothing but null bytes": bytes(1000),
        "no UTF-8": valid.replace(b'"', b'"\xff', 1),
        "UTF-16": valid.decode("utf-8").encode("utf-16"),
        "half a character": valid.replace(b"{", b'{"\\ud800": "\\udfff", ', 1),
        "a long key": valid.replace(b"{", b'{"' + b"k" * 300_000 + b'": 1, ', 1),
        "no object": b"[]",
        "empty": b"",
    }


TOML_BOMBS = {
    "deep arrays": b"a = " + b"[" * DEEP,
    "deep arrays that end": b"a = " + b"[" * DEEP + b"]" * DEEP,
    "deep tables": b"a = " + b"{a = " * 50_000,
    "many parts": b".".join([b"a"] * DEEP) + b" = 1\n",
    "many parts of a header": b"[" + b".".join([b"a"] * DEEP) + b"]\n",
    "digits": b"format = " + DIGITS + b"\n",
    "a digit's power": b"format = 1e" + DIGITS + b"\n",
    "not a number": b"format = nan\n",
    "a key that stands twice": b"format = 1\nformat = 1\n",
    "16 MiB of brackets": b"a = " + b"[" * (16 * MIB),
    "a byte order mark": b"\xef\xbb\xbfformat = 1\n",
    "a null byte": b'format = 1\nname = "\0"\n',
    "no UTF-8": b'format = 1\nname = "\xff"\n',
    "UTF-16": "format = 1\n".encode("utf-16"),
    "a long key": b"format = 1\n" + b"k" * 200_000 + b" = 1\n",
    "the same long key twice": (b"k" * 100_000 + b" = 1\n") * 2,
}

YAML_BOMBS = {
    "deep lists": b"[" * DEEP,
    "deep mappings": b"{a: " * DEEP,
    "deep blocks": b"- " * DEEP + b"a",
    "a billion laughs": b"a0: &a0 [x, x]\n"
    + b"".join(b"a%d: &a%d [%s]\n" % (at + 1, at + 1, b", ".join([b"*a%d" % at] * 9)) for at in range(9)),
    "merges": b"a0: &a0 {k: v}\n"
    + b"".join(b"a%d: &a%d {<<: [%s]}\n" % (at + 1, at + 1, b", ".join([b"*a%d" % at] * 9)) for at in range(9)),
    "a list of merges": b"<<: [" + b", ".join(b"{a%d: 1}" % at for at in range(4000)) + b"]\n",
    "itself": b"a: &a [*a]\n",
    "many aliases": b"a: &a x\nb: [" + b", ".join([b"*a"] * 5000) + b"]\n",
    "digits": b"services: " + DIGITS + b"\n",
    "hexadecimal digits": b"services: 0x" + b"f" * 100_000 + b"\n",
    "sixties": b"services: " + b":".join([b"1"] * 50_000) + b"\n",
    "sixties with a fraction": b"services: " + b":".join([b"1"] * 2000) + b".5\n",
    "a date that is none": b"services: 2001-99-99\n",
    "a tag that is not kept": b"services: !!bool maybe\n",
    "an empty number": b'services: !!int ""\n',
    "a time that is none": b"services: !!timestamp x\n",
    "keys that hash alike": b"".join(b"%d: 1\n" % (at * ((1 << 61) - 1)) for at in range(12_000)),
    "a key that stands twice": b"services: {}\nservices: {}\n",
    "not a number": b"services: .nan\n",
    "a byte order mark": b"\xef\xbb\xbfservices: {}\n",
    "a null byte": b"services: \0\n",
    "no UTF-8": b"services: \xff\n",
    "1 MiB of brackets": b"[" * MIB,
    "16 MiB of brackets": b"[" * (16 * MIB),
    "many values": b"services: [" + b"a, " * 150_000 + b"]\n",
    "an object": b"services: !!python/object/apply:os.system [exit 3]\n",
}

Runs = Sequence[tuple[tuple[str, ...], set[int]]]


def explode(
    root: Path, place: Path, bombs: Mapping[str, bytes], runs: Runs, run: Callable[..., Done]
) -> dict[str, list[Done]]:
    """Put each bomb at ``place`` and run the verbs; nothing below ``root`` may change. What each said."""

    def work() -> dict[str, list[Done]]:
        said = {}
        for name, data in bombs.items():
            place.write_bytes(data)
            before = tree_state(root)
            said[name] = [run(*verb) for verb, _ in runs]
            assert tree_state(root) == before, name
        return said

    said = contained(work)
    for name, answers in said.items():
        for (verb, codes), done in zip(runs, answers, strict=True):
            assert done.code in codes, (name, verb, done)
            assert "Traceback" not in done.out + done.err, (name, verb)
            assert len(done.out + done.err) < 20_000, (name, verb)
            assert done.code in {0, 1} or done.err.startswith(("error:", "warning:")), (name, verb, done)
    return said


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    site = make_site(tmp_path, {"vllm/__init__.py": b"", "vllm/a.py": CODE, "vllm/b.py": CODE})
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "entry", DIFF)
    return Desk(site=site, registry=registry)


def test_a_ledger(desk: Desk, tmp_path: Path) -> None:
    assert desk.run("apply", "entry").code == 0
    ledger = desk.site / ".patchctl/ledger.json"
    runs = [(verb, {3}) for verb in (*READING, ("apply", "entry"), ("revert", "entry"))]
    explode(tmp_path, ledger, json_bombs(ledger.read_bytes()), runs, desk.run)


def test_a_journal(desk: Desk, tmp_path: Path) -> None:
    assert desk.run("apply", "entry").code == 0
    edit: dict[str, object] = {
        "path": ".patchctl/ledger.json",
        "before": None,
        "after": "0" * 64,
        "created": [],
        "prune": [],
    }
    edit |= {"mode": None, "mtime_ns": None, "new_mode": None}
    valid = json.dumps({"format": 1, "transaction": "0" * 32, "stage": "prepare", "edits": [edit]}).encode()
    runs = [(("check",), {3, 4}), (("apply", "entry"), {4}), (("recover",), {4})]
    explode(tmp_path, desk.site / ".patchctl/journal.json", json_bombs(valid), runs, desk.run)


def test_a_record_of_the_history(desk: Desk, tmp_path: Path) -> None:
    assert desk.run("apply", "entry").code == 0
    (record,) = (desk.site / ".patchctl/history").iterdir()
    said = explode(
        tmp_path, record, json_bombs(record.read_bytes()), [(("history",), {0, 1}), (("status",), {0})], desk.run
    )
    # A key that is not known is a newer version's; everything else is told, and hides nothing.
    passed = {name for name, (history, _) in said.items() if "cannot be used" not in history.out + history.err}
    assert passed == {"a long key"}


def test_a_note_of_the_installer(desk: Desk, tmp_path: Path) -> None:
    files = {"direct_url.json": b'{"dir_info": {"editable": true}}'}
    install(desk.site, {"vllm/__init__.py": b"", "vllm/a.py": CODE}, info_files=files)
    place = desk.site / INFO / "direct_url.json"
    explode(tmp_path, place, json_bombs(files["direct_url.json"]), [(("status",), {0, 1})], desk.run)


def test_a_package_record_of_conda(tmp_path: Path) -> None:
    desk, conda = conda_desk(tmp_path, record=False)
    valid = conda.read_bytes()
    path = json.loads(valid)["paths_data"]["paths"][0]["_path"].encode()
    odd = {f"a path like {name!r}": valid.replace(path, name) for name in (b"\\u0000", b"\\ud800", b"../..", b"//x")}
    bombs = {name: data for name, data in json_bombs(valid).items() if len(data) < 8 * MIB} | odd
    runs = [(("status",), {0, 1, 3}), (("verify",), {0, 1, 3})]
    explode(tmp_path, conda, bombs, runs, desk.run)


def test_a_note_of_an_earlier_command(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    ground.glance()
    (note,) = (ground.cache / "patchctl").iterdir()
    usual = ground.desk.run("status").out
    valid = note.read_bytes()
    bombs = {name: data for name, data in json_bombs(valid).items() if len(data) < 8 * MIB}

    def status(*verb: str) -> Done:
        return ground.desk.run(*verb, env={"XDG_CACHE_HOME": str(ground.cache)})

    del bombs["a long key"]  # one more name without words says nothing else
    said = contained(lambda: {name: (note.write_bytes(data), status("status"))[1] for name, data in bombs.items()})
    assert {(done.code, done.out) for done in said.values()} == {(0, usual)}


def test_what_a_holder_of_the_lock_says(desk: Desk, tmp_path: Path) -> None:
    assert desk.run("apply", "entry").code == 0
    bombs = json_bombs(b'{"pid": 1, "host": "h"}')
    explode(tmp_path, desk.site / ".patchctl/lock", bombs, [(("doctor",), {0, 1})], desk.run)


@pytest.mark.parametrize("name", ["registry.toml", "vllm/entry/patch.toml"])
def test_a_file_of_a_registry(name: str, desk: Desk, tmp_path: Path) -> None:
    assert desk.registry is not None
    runs = [(("check",), {3}), (("apply", "entry"), {3}), (("lint",), {1, 3})]
    explode(tmp_path, desk.registry / name, TOML_BOMBS, runs, desk.run)


def test_an_entry_that_is_not_in_its_place(desk: Desk, tmp_path: Path) -> None:
    assert desk.registry is not None
    explode(tmp_path, desk.registry / "patch.toml", TOML_BOMBS, [(("check",), {3})], desk.run)


def test_a_lock_file(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "patchctl.lock"
    runs = [((verb, "--locked", str(file)), {3}) for verb in ("check", "apply")]
    explode(tmp_path, file, TOML_BOMBS, runs, desk.run)


@pytest.mark.parametrize("option", ["--compose", "--kubernetes"])
def test_a_file_of_containers(option: str, desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "containers.yaml"
    # What both do with a document is the same reader's: the second is shown a part of it.
    bombs = YAML_BOMBS if option == "--compose" else dict(list(YAML_BOMBS.items())[:5])
    explode(tmp_path, file, bombs, [(("advise", option, str(file)), {3})], desk.run)


def test_a_file_of_options(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "options.yaml"
    more = {
        "a date in an object": b"compilation-config: {a: 2001-01-01}\n",
        "bytes in an object": b"compilation-config: {a: !!binary aGk=}\n",
        "a date for a key": b"compilation-config: {2001-01-01: 1}\n",
        "half a character": b'model: "\\ud800"\n',
    }
    verb = ("advise", "--command", f"vllm serve m --config {file}")
    explode(tmp_path, file, YAML_BOMBS | more, [(verb, {0, 1})], desk.run)


def test_a_value_in_a_launch(desk: Desk) -> None:
    values = {
        name: data.decode("utf-8", "surrogateescape").replace("\0", "")
        for name, data in json_bombs(b'{"mode": 3}').items()
        if len(data) <= 1 << 17
    }
    values |= {"a number with a unit": "9" * 400 + "k", "a number": "9" * 100_000}

    def work() -> dict[str, list[Done]]:
        said = {}
        for name, value in values.items():
            place = ("--site", str(desk.site), "--registry", str(desk.registry))
            options = ("--compilation-config", value), ("--compilation-config.a", value)
            said[name] = [patchctl("advise", *place, "--", "vllm", "serve", "m", *words) for words in options]
        return said

    for name, answers in contained(work).items():
        assert all(done.code in {0, 1} and "Traceback" not in done.err for done in answers), (name, answers)


def test_a_configuration_beside_weights(desk: Desk, tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    weights.mkdir()
    bombs = json_bombs(b'{"architectures": ["A"]}')
    verb = ("advise", "--command", f"vllm serve {weights}")
    explode(tmp_path, weights / "config.json", bombs, [(verb, {0, 1})], desk.run)


def test_lines_of_a_log(desk: Desk, tmp_path: Path) -> None:
    assert desk.registry is not None
    add_entry(desk.registry, "entry", DIFF, signal={"log": "it happened"})
    line = b"WARNING 07-01 12:00:00 [a.py:1] it happened\\n"
    docker = b'{"log":"%s","stream":"stderr","time":"2026-07-01T12:00:00Z"}' % line
    journal = b'{"MESSAGE":"%s","__REALTIME_TIMESTAMP":"1782907200000000","_PID":"1"}' % line
    odd = [
        journal.replace(b"1782907200000000", DIGITS[:200_000]),
        journal.replace(b'"1"', b'"1","_SYSTEMD_UNIT":"\\ud800"'),
        docker.replace(b"stderr", b"\\ud800"),
    ]
    bombs = {}
    for name, good in (("docker", docker), ("journal", journal)):
        bad = [it.replace(b"\n", b"") for it in json_bombs(good).values() if len(it) < 8 * MIB]
        bombs[name] = b"".join(it + b"\n" for it in [*[good] * 20, *bad, *odd, good])
    log = tmp_path / "server.log"
    said = explode(tmp_path, log, bombs, [(("hits", str(log), "--all", "--json"), {0, 1})], desk.run)
    for name, (done,) in said.items():
        (entry,) = done.document["hits"]["entries"]
        assert entry["lines"] >= 21, name


RECORDS = {
    "a field that never ends": b'"' + b"a" * (16 * MIB),
    "null bytes": b"vllm/\0.py,,\n" * 10,
    "no UTF-8": b"vllm/\xff.py,,\n",
    "paths that climb": b"../../../../etc/passwd,,\nvllm/../../x.py,,\n/etc/passwd,,\n//x,,\n",
    "paths with too much in them": b"vllm//a.py,,\nvllm/./b.py,,\n./vllm/a.py,,\n",
    "a version elsewhere": b"\0/_version.py,,\n",
    "a size of many digits": b"vllm/a.py,sha256=x," + DIGITS + b"\n",
    "a million commas": b"," * MIB,
    "empty": b"",
}


def test_a_list_of_files(desk: Desk, tmp_path: Path) -> None:
    runs = [(("status",), {0, 1, 3}), (("verify",), {0, 1, 3}), (("doctor",), {0, 1, 3})]
    explode(tmp_path, desk.site / INFO / "RECORD", RECORDS, runs, desk.run)


SOURCES = {
    "parentheses": b"(" * 50_000,
    "parentheses that end": b"x = " + b"(" * 5000 + b")" * 5000 + b"\n",
    "signs": b"x = " + b"-" * 50_000 + b"1\n",
    "nots": b"x = " + b"not " * 50_000 + b"1\n",
    "calls": b"x = a" + b".b()" * 100_000 + b"\n",
    "sums": b"x = 1" + b" + 1" * 100_000 + b"\n",
    "blocks": b"".join(b" " * depth + b"if 1:\n" for depth in range(150)) + b" " * 150 + b"pass\n",
    "lambdas": b"x = " + b"lambda: " * 20_000 + b"1\n",
    "a formatted string": b"x = f'" + b"{a" * 10_000 + b"}" * 10_000 + b"'\n",
    "digits": b"x = " + DIGITS + b"\n",
    "null bytes": b"\0" * 1000,
    "no UTF-8": b"\xff\xfe",
    "a string that never ends": b"x = '''" + b"a" * 500_000,
    "an import": b"import " + b".".join([b"a"] * 100_000) + b"\n",
    "otherwise": b"if 1:\n    pass\n" + b"elif 1:\n    pass\n" * 20_000,
}


@pytest.mark.parametrize(
    "item", [{"symbol": "f", "contains": "return 2"}, {"contains": "return 2"}], ids=["symbol", "file"]
)
def test_a_source_that_a_parser_cannot_take_proves_nothing(item: dict[str, str], tmp_path: Path) -> None:
    """The code that would prove the fix stands in the file, in text, before or behind what no parser takes."""
    site = make_site(tmp_path, {"vllm/__init__.py": b"", "vllm/a.py": CODE, "vllm/b.py": CODE})
    registry = make_registry(tmp_path / "registry")
    fixes = [{"ref": "a#1", "role": "fixes", "claimed": ">=9", "evidence": [{"file": "vllm/b.py", **item}]}]
    add_entry(registry, "entry", DIFF, fixes=fixes)
    desk = Desk(site=site, registry=registry)
    proof = b"def f():\n    return 2\n\n\n"
    bombs = {name: proof + data for name, data in SOURCES.items()}
    said = explode(tmp_path, site / "vllm/b.py", bombs, [(("status", "--json"), {0, 1})], desk.run)
    found = {name: done.patch("entry")["fixes"][0]["status"] for name, (done,) in said.items()}
    assert "proven" not in {found[name] for name in ("parentheses", "calls", "null bytes", "no UTF-8", "sums")}, found
    assert set(found.values()) <= {"unknown", "proven", "absent"}, found
    for name, status in found.items():
        if status == "proven":  # only what this Python takes in full may prove anything
            compile(bombs[name], name, "exec")


def test_a_module_that_finds_modules(tmp_path: Path) -> None:
    site = tmp_path / "site"
    finder = "__editable___vllm_0_20_0_finder.py"
    install(site, {finder: b"", "__editable__.vllm-0.20.0.pth": b"import x\n"}, build="0.20.0")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "entry", DIFF)
    desk = Desk(site=site, registry=registry)
    bombs = {name: b"MAPPING = {}\n" + data for name, data in SOURCES.items()}
    bombs |= {
        "a name that climbs": b"MAPPING = {'..': '/x/..'}\nNAMESPACES = {}\n",
        "a null byte in a path": b"MAPPING = {'vllm': '/x\\0/vllm'}\nNAMESPACES = {}\n",
        "half a character": b"MAPPING = {'vllm': '/\\ud800/vllm'}\nNAMESPACES = {}\n",
    }
    explode(tmp_path, site / finder, bombs, [(("status",), {0, 1, 3}), (("verify",), {0, 1, 3})], desk.run)
