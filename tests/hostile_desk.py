"""An environment, a registry and everything around them in which every text that somebody else writes is hostile.

What a registry may say is derived from the parser's own shapes, so that a new key cannot be left out.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from patchctl.model import sha256_hex
from patchctl.patch.shapes import AVOID, ENTRY, EVIDENCE, FIX, SHAPES, SIGNAL, TRIGGER, VARIANT, Shape
from tests.attack_text import HOSTILE, NAME, ONE_LINE
from tests.log_lines import hit
from tests.registries import make_diff, make_registry
from tests.running import Desk
from tests.sites import install, make_site
from tests.small_wheels import make_wheel

PATH = "vllm/engine.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
AFTER = BASE.replace(b"line_5 = 1\n", b"line_5 = '" + ONE_LINE.replace("'", "").encode() + b"'\n")
TURNED = "vllm/\u202ey\u200b\u2028p.py"
"""A name that a diff may have: nothing in it is a control character, or no UTF-8."""

BUILD = "0.20.0+das.dtk2604"
NO_LITERAL = "\\'\0"
AS_PYTHON = f"x = '{ONE_LINE.translate(dict.fromkeys(map(ord, NO_LITERAL)))}'"
"""Hostile text in a literal, which Python can read."""

TABLES: Mapping[str, Shape] = {
    "entry": ENTRY,
    "variant": VARIANT,
    "fix": FIX,
    "evidence": EVIDENCE,
    "trigger": TRIGGER,
    "avoid": AVOID,
    "signal": SIGNAL,
}
assert list(TABLES.values()) == list(SHAPES)


class Try(NamedTuple):
    """One entry with one hostile value: where it stands."""

    id: str
    table: str
    key: str
    value: Any


def toml(value: Any) -> str:
    """Return a value in TOML; what is odd in it is escaped there, which the parser undoes."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml(str(key))} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        plain = re.sub(r"\\u(d[89ab]..)\\u(d[c-f]..)", _astral, json.dumps(value))
        return plain.replace("\x7f", "\\u007f")
    return json.dumps(value)


def _astral(found: re.Match[str]) -> str:
    high, low = int(found[1], 16), int(found[2], 16)
    return f"\\U{0x10000 + ((high - 0xD800) << 10) + low - 0xDC00:08x}"


def entry_text(id_: str, tables: Mapping[str, Mapping[str, Any]], *, diff: bytes | None) -> str:
    """Return a ``patch.toml`` with every table; ``tables`` says what is otherwise than usual."""
    usual: dict[str, dict[str, Any]] = {
        "entry": {"id": id_, "title": "t", "kind": "containment", "severity": "crash", "revision": 1, "default": True}
        | {"why": "w", "how": "h", "removal": "r", "cve": ["CVE-2026-1234"]},
        "variant": {"distribution": "vllm", "versions": ">=0", "label": "any"},
        "fix": {"ref": "x/y#1", "role": "fixes", "claimed": ">=9", "source": "https://a.example/1", "note": "n"},
        "evidence": {"file": PATH, "contains": "line_1 = 2"},
        "trigger": {"model": ["*"], "note": "n", "doubt": "d"},
        "avoid": {"args": ["--max-num-seqs", "1"], "when": "w", "cost": "c"},
        "signal": {"log": "mismatch: (?P<kind>.+)"},
    }
    usual["variant"] |= {"diff": "fix.diff", "sha256": sha256_hex(diff)} if diff is not None else {}
    made = {name: {**table, **tables.get(name, {})} for name, table in usual.items()}
    heads = {"variant": "[[variant]]", "fix": "[[fix]]", "evidence": "[[fix.evidence]]", "trigger": "[[trigger]]"}
    heads |= {"avoid": "[[avoid]]", "signal": "[signal]"}
    given = frozenset(tables.get("entry", {}))
    lines = [f"{toml_key(key)} = {toml(value)}" for key, value in made["entry"].items()]
    for name, head in heads.items():
        if name in given or (name == "evidence" and "fix" in given):
            continue  # the hostile value stands in the place of the table
        if name == "evidence" and "evidence" in tables.get("fix", {}):
            continue
        lines += ["", head, *(f"{toml_key(key)} = {toml(value)}" for key, value in made[name].items())]
    return "\n".join(lines) + "\n"


def toml_key(key: str) -> str:
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else toml(key)


def tries(text: str) -> Iterator[Try]:
    """Yield a try for every key of every table in every form that may hold a text, and for an unknown key."""
    for table, shape in TABLES.items():
        for key, example in shape.examples.items():
            forms: list[Any] = [text]
            forms += [[text]] if "[" in example else []
            if "{" in example:
                forms += [{text: text}, {"--quantization": [text]}, {"--speculative-config": {text: [text]}}]
                forms += [{"VLLM_X": text}, {"VLLM_X": [text]}, {"--speculative-config": {"method": [text]}}]
            if key in {"contains", "absent"}:
                forms.append(AS_PYTHON)
            if key in {"matches", "log"}:
                forms.append(f"{re.escape(text)}(?P<kind>x)")
            if table == "evidence" and key == "any":
                forms = [
                    [{"file": PATH, name: text}, {"file": PATH, "contains": "b"}] for name in ("contains", "symbol")
                ]
            yield from (Try(f"{table}-{key.replace('_', '-')}-{at}", table, key, form) for at, form in enumerate(forms))
        yield Try(f"{table}-unknown-0", table, text, text)


def shaped_registry(where: Path, text: str) -> Path:
    """Make a registry with an entry for each of :func:`tries`."""
    registry = make_registry(where)
    diff = make_diff({PATH: (BASE, AFTER)})
    for one in tries(text):
        tables: dict[str, dict[str, Any]] = {one.table: {one.key: one.value}}
        folder = registry / "vllm" / one.id
        folder.mkdir(parents=True)
        (folder / "fix.diff").write_bytes(diff)
        (folder / "patch.toml").write_text(_only(entry_text(one.id, tables, diff=diff), one), "utf-8")
    for number, path in enumerate((f"vllm/{NAME}.py", f"../{NAME}", f"vllm/{NAME}\\x")):
        folder = registry / "vllm" / f"path-{number}"
        folder.mkdir(parents=True)
        diff = make_diff({path: (BASE, AFTER)})
        (folder / "fix.diff").write_bytes(diff)
        (folder / "patch.toml").write_text(entry_text(folder.name, {}, diff=diff), "utf-8")
    return registry


def _only(text: str, one: Try) -> str:
    """Evidence says one thing: the usual one makes way for the hostile one."""
    if one.table == "evidence" and one.key in {"absent", "matches", "diff", "any"}:
        text = text.replace('contains = "line_1 = 2"\n', "")
    if one.key == "any":
        text = text.replace(f'[[fix.evidence]]\nfile = "{PATH}"\n', "[[fix.evidence]]\n")
    return text


class HostileDesk(NamedTuple):
    """A hostile place.

    Attributes:
        desk: site and registry.
        shaped: the registry with a try for every key.
        around: wheels, logs, launches and lock files.
        broken: a registry of which nothing can be read.
    """

    desk: Desk
    shaped: Path
    around: Path
    broken: Path


def make_hostile_desk(where: Path) -> HostileDesk:
    """Make the place below ``where``, in a directory with a hostile name; two entries are applied, one is held."""
    root = where / NAME
    root.mkdir()
    files = {PATH: BASE, "vllm/other.py": BASE, TURNED: BASE.replace(b"line_19", ONE_LINE.encode())}
    site = make_site(root, files | {f"vllm/{NAME}.py": b"odd = 1\n"}, build=BUILD, installer=NAME)
    _add_neighbours(site)
    registry = make_registry(root / f"registry {NAME}")
    (registry / "registry.toml").write_text(f"format = 1\nname = {toml(ONE_LINE)}\nrevision = 1\n", "utf-8")
    words = {"title": ONE_LINE, "why": HOSTILE, "how": HOSTILE, "removal": HOSTILE}
    other = BASE.replace(b"line_20 = 1\n", ONE_LINE.encode() + b"\n")
    changes = {"applied": (PATH, BASE, AFTER), "held": ("vllm/other.py", BASE, AFTER), "misfit": (TURNED, other, BASE)}
    for id_, (path, before, after) in changes.items():
        diff = make_diff({path: (before, after)})
        folder = registry / "vllm" / id_
        folder.mkdir(parents=True)
        (folder / "fix.diff").write_bytes(diff)
        tables = {
            "entry": words,
            "fix": {"ref": ONE_LINE, "note": HOSTILE},
            "avoid": {"when": HOSTILE, "cost": HOSTILE},
        }
        (folder / "patch.toml").write_text(entry_text(id_, tables, diff=diff), "utf-8")
    desk = Desk(site=site, registry=registry)
    for verb in (["apply", "applied"], ["hold", "held", "--reason", HOSTILE]):
        done = desk.run(*verb)
        assert done.code == 0, done.err
    _forge_history(site)
    shaped = shaped_registry(root / "shaped", HOSTILE)
    broken = root / "broken"
    broken.mkdir()
    (broken / "registry.toml").write_bytes(b'format = 1\nname = "' + HOSTILE.encode() + b"\n")
    return HostileDesk(desk=desk, shaped=shaped, around=_around(root, desk), broken=broken)


def _add_neighbours(site: Path) -> None:
    """What else lies in the site: distributions, rows, files and links that nobody expects."""
    rows = [(f"vllm/gone {NAME}.py", "sha256=" + "A" * 43, "1"), (f"../../{NAME}/x", "sha256=bad", NAME)]
    info = {"direct_url.json": json.dumps({"url": f"file:///{NAME}", "dir_info": {"editable": True}}).encode()}
    install(site, {"other/x.py": b"x\n"}, name="other", build=f"1.0+{NAME}", extra_rows=rows, info_files=info)
    install(site, {"third/x.py": b"x\n"}, name=NAME.replace("-", "_"), build="1.0")
    (site / "vllm" / f"extra {NAME}.py").write_bytes(b"x\n")
    (site / f"~llm{NAME}").mkdir()
    (site / "vllm" / f"link{NAME}.py").symlink_to(f"/nowhere/{NAME}")
    (site / f"__editable__.{NAME}.pth").write_text(f"/{NAME}\n")
    no_text = Path(os.fsdecode(os.fsencode(site) + b"/vllm/\x9b2J\xff"))
    no_text.mkdir()
    (no_text / "\x1b[2J.py").write_bytes(b"x\n")
    (site / f"bad{NAME}-1.0.dist-info").mkdir()
    (site / f"bad{NAME}-1.0.dist-info" / "METADATA").write_text(f"Name: {NAME}\nVersion: {NAME}\n")


def _forge_history(site: Path) -> None:
    """Let the records name hostile actors, hosts, reasons and decisions."""
    for file in (site / ".patchctl").rglob("*.json"):
        document = json.loads(file.read_bytes())
        if "author" in document:
            document["author"]["login"] = NAME
            document |= {"host": NAME, "reason": HOSTILE, "decisions": [HOSTILE], "at": document["at"]}
            for entry in document["entries"]:
                entry["reason"] = HOSTILE
            file.write_text(json.dumps(document))


def _around(root: Path, desk: Desk) -> Path:
    """Wheels, logs, launches and lock files, each hostile in its own way; the names end with what they are."""
    around = root / "around"
    around.mkdir()
    whole = make_wheel(around, [(PATH, BASE), (f"vllm/{NAME}.py", b"x\n"), (f"vllm/../{NAME}", b"x\n")], build="0.26.0")
    whole.rename(around / f"vllm-0.26.0+{NAME}-py3-none-any.whl")
    make_wheel(around, [(PATH, BASE.replace(b"line_5", b"other"))], build="0.27.0")
    metadata = make_wheel(around, [(f"vllm-{NAME}.dist-info/METADATA", f"Name: vllm\nVersion: {NAME}\n".encode())])
    metadata.rename(around / f"{NAME}.whl")
    (around / f"torn {NAME}.whl").write_bytes(HOSTILE.encode())
    log = hit(message=f"mismatch: {ONE_LINE}".encode()) * 6
    (around / f"{NAME}.log").write_bytes(log + HOSTILE.encode() + b"\x9b2J\n" + log)
    (around / f"torn {NAME}.log.gz").write_bytes(b"\x1f\x8b" + HOSTILE.encode())
    env = f"Environment={NAME}=x\nEnvironment='VLLM_X={NAME}'\n"
    (around / f"{NAME}.service").write_text(f"[Service]\n{env}ExecStart=/usr/bin/vllm serve '{NAME}' --x={NAME}\n")
    compose = {"services": {NAME: {"command": ["vllm", "serve", NAME], "environment": {NAME: NAME}}}}
    (around / f"{NAME}.yaml").write_text(json.dumps(compose))
    (around / f"torn {NAME}.yaml").write_text(f"services: [{NAME}: *{NAME}\n")
    pod = {"kind": "Pod", "metadata": {"name": NAME}, "spec": {"containers": [{"name": NAME, "args": [NAME]}]}}
    (around / f"{NAME}.k8s").write_text(json.dumps(pod))
    assert desk.run("hold", "misfit", "--reason", HOSTILE).code == 0
    lock = around / f"{NAME}.lock"
    done = desk.run("lock", "--output", str(lock))
    assert done.code == 0, done.err
    text = lock.read_text("utf-8")
    (around / f"odd {NAME}.lock").write_text(text.replace("format = 1", f"format = 1\n{toml(HOSTILE)} = 1"), "utf-8")
    (around / f"torn {NAME}.lock").write_text(text + HOSTILE, "utf-8")
    assert desk.run("unhold", "misfit").code == 0
    return around
