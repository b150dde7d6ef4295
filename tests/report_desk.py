"""Environments for the tests of ``report``: one entry of every standing; hostile text wherever an author writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk
from tests.sites import make_site

BUILD = "0.20.0+das.dtk2604"
RULE = {"versions": ">=0.19.1,<0.26", "label": ["das*"]}
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))


def edited(line: int, text: bytes = b"") -> bytes:
    """Return the base with one line changed."""
    return BASE.replace(b"line_%d = 1\n" % line, text or b"line_%d = 2\n" % line)


PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=http://evil.example/x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "</style><style>@import 'http://evil.example/y'</style>",
    '" onmouseover="alert(1)" style="x:y',
    "[a](javascript:alert(1)) ![b](http://evil.example/z) <http://evil.example/> `c`",
    "<!-- patchctl:end --> <!-- patchctl:begin -->",
    "| cell | **bold** | ~~gone~~ | $x$ &lt; \\",
    "\x1b]8;;http://evil.example\x07link \u202e\u2066",
)
HOSTILE = " ".join(PAYLOADS)


def make_desk(where: Path) -> Desk:
    """Return an environment with two entries in, one due, one that needs a port, one held, optional, fixed, advice."""
    files = {f"vllm/{name}.py": BASE for name in ("a", "b", "d", "e", "engine", "f")} | {"vllm/g.py": edited(9)}
    site = make_site(where, files, build=BUILD)
    registry = make_registry(where / "registry")

    def add(id_: str, path: str, after: bytes, **more: Any) -> None:
        add_entry(registry, id_, make_diff({path: (BASE, after)}), variant=RULE, **more)

    add(
        "contained",
        "vllm/a.py",
        edited(3),
        title="Pad a short image",
        why="One raise. It kills all.",
        cve=["CVE-2026-1001"],
    )
    proof = [{"file": "vllm/b.py", "contains": "line_7 = 2"}]
    fix = {"ref": "vllm-project/vllm#1", "role": "fixes", "claimed": ">=0.26", "source": "https://example.org/1"}
    add("ported", "vllm/b.py", edited(5), kind="backport", fixes=[fix | {"evidence": proof}], cve=["CVE-2026-1002"])
    add("waiting", "vllm/engine.py", edited(4), cve=["CVE-2026-1003"])
    add_entry(
        registry, "misfit", make_diff({"vllm/d.py": (b"x\ny\nz\n", b"x\nw\nz\n")}), variant=RULE, cve=["CVE-2026-1004"]
    )
    add("kept-out", "vllm/e.py", edited(4), cve=["CVE-2026-1005"])
    add("by-name", "vllm/f.py", edited(4), default=False)
    shown = [{"file": "vllm/g.py", "contains": "line_9 = 2"}]
    add(
        "upstream",
        "vllm/g.py",
        edited(9),
        fixes=[{"ref": "x/y#2", "role": "fixes", "evidence": shown}],
        cve=["CVE-2026-1006"],
    )
    avoid = [{"args": ["--max-num-seqs", "1"], "when": "images", "cost": "slow"}]
    add_entry(registry, "only-advice", None, kind="advisory", variant=RULE, avoid=avoid, cve=["CVE-2026-1007"])
    desk = Desk(site=site, registry=registry)
    assert desk.run("apply", "contained", "ported").code == 0
    assert desk.run("hold", "kept-out", "--reason", "the night shift does without").code == 0
    return desk


def make_hostile_desk(where: Path) -> Desk:
    """Return one with an entry in, one held and an advisory; every text is hostile, a file's name and lines too."""
    path = "vllm/<u>`|x.py"
    site = make_site(where / "<!-- patchctl:end --> `<i>|", {path: BASE}, build=BUILD)
    registry = make_registry(where / "registry")
    after = edited(3, b"line_3 = '" + HOSTILE.encode().replace(b"\\", b"").replace(b"'", b"") + b"'\n")
    fix = {
        "ref": HOSTILE,
        "role": "fixes",
        "claimed": ">=0.20",
        "source": 'https://example.org/"><script>',
        "note": HOSTILE,
    }
    proof = [{"file": path, "contains": repr(HOSTILE)}]
    texts = dict.fromkeys(("why", "how", "removal"), HOSTILE)
    texts["title"] = HOSTILE.replace("\n", " ")
    avoid = [{"args": [HOSTILE], "env": {"A": HOSTILE}, "remove_args": [HOSTILE], "when": HOSTILE, "cost": HOSTILE}]
    common: dict[str, Any] = {"variant": RULE, "fixes": [fix | {"evidence": proof}], **texts}
    add_entry(registry, "a-hostile", make_diff({path: (BASE, after)}), **common)
    add_entry(registry, "b-hostile", None, kind="advisory", avoid=avoid, **common)
    add_entry(registry, "c-hostile", make_diff({path: (BASE, edited(20))}), cve=["CVE-2026-1001"], **common)
    signal = "\n[signal]\nlog = '<script>alert<img src=http://evil.example/s> (?P<kind>a|b)'\n"
    file = registry / "vllm" / "a-hostile" / "patch.toml"
    file.write_text(file.read_text() + signal)
    desk = Desk(site=site, registry=registry)
    assert desk.run("apply", "a-hostile").code == 0
    assert desk.run("hold", "c-hostile", "--reason", HOSTILE).code == 0
    return desk
