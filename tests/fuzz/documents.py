"""Valid documents of every reader that is fuzzed, and words that change them. Nothing of patchctl is imported here."""

from __future__ import annotations

import json
from collections.abc import Mapping

SHA = "0a" * 32
LEDGER: dict[str, object] = {
    "format": 1,
    "receipts": [
        {
            "id": "a",
            "kind": "containment",
            "title": "t",
            "revision": 1,
            "diffs": [
                {
                    "distribution": "vllm",
                    "diff": "d.diff",
                    "sha256": SHA,
                    "strip": 1,
                    "build": "0.20.0",
                    "rule": "exact",
                }
            ],
            "requires": [],
            "conflicts": [],
            "assumed": None,
            "despite_fix": False,
            "applied_at": "2026-01-02T03:04:05Z",
        }
    ],
    "files": {
        "vllm/new/a.py": {
            "distribution": "vllm",
            "fingerprint": None,
            "base": SHA,
            "result": None,
            "base_mode": 420,
            "base_mtime_ns": 1,
            "created_dirs": ["vllm/new"],
            "entries": ["a"],
            "base_link": {"target": "/cache/a.py", "mtime_ns": 1},
            "base_xattrs": {"user.note": "00ff"},
        }
    },
    "holds": {"b": {"reason": "r", "since": "s"}},
    "retirements": [],
    "last_second": 1,
    "baselines": {"vllm": {"build": "b", "fingerprint": None, "absent": ["../x"], "recorded_at": "s"}},
}
EDIT: dict[str, object] = {"path": "vllm/new/a.py", "before": None, "after": SHA, "created": ["vllm/new"], "prune": []}
EDIT |= {"mode": None, "mtime_ns": None, "new_mode": 420}
LAST = {**EDIT, "path": ".patchctl/ledger.json", "created": [], "new_mode": None, "link": "x"}
JOURNAL = {"format": 1, "transaction": "0a" * 16, "stage": "replace", "edits": [EDIT, LAST], "grafts": {"p": "/src"}}
HISTORY: dict[str, object] = {
    "format": 1,
    "transaction": "0a" * 16,
    "at": "2026-01-02T03:04:05Z",
    "author": {"uid": 0, "login": None, "login_uid": None, "sudo_uid": None},
    "host": "h",
    "command": "apply",
    "result": "committed",
    "named": ["a"],
    "decisions": [],
    "entries": [{"id": "a", "what": "applied", "revision": 1, "diffs": [], "reason": None}],
    "files": [{"path": "vllm/a.py", "before": SHA, "after": None}],
    "omitted": 0,
    "reason": None,
    "moment": {"boot": None, "boottime_ns": 1, "realtime_ns": 1},
}
CONDA = {
    "paths_data": {"paths": [{"_path": "lib/python3.11/site-packages/vllm/a.py", "sha256": SHA, "size_in_bytes": 1}]}
}
ENTRY = f"""\
id = "pad-short-image"
title = "t"
kind = "containment"
severity = "crash"
revision = 1
why = "w"
how = "h"
removal = "r"

[[variant]]
distribution = "vllm"
versions = ">=0.20"
diff = "fix.diff"
sha256 = "{SHA}"

[[fix]]
ref = "a/b#1"
role = "fixes"
evidence = [{{ file = "vllm/a.py", symbol = "A.f", contains = "x = 1" }}]

[[trigger]]
args = {{ "--model" = ["*"] }}
"""
LOCK = f"""\
# patchctl.lock:
format = 1

[[registry]]
name = "patchctl"
revision = 1

[[entry]]
id = "a"
revision = 1

[[entry.variant]]
distribution = "vllm"
diff = "d.diff"
sha256 = "{SHA}"

[[held]]
id = "b"
reason = "r"
"""
COMPOSE = """\
services:
  v: &v
    image: x
    environment: {A: "1", B: null}
    command: [--model, m, --compilation-config, '{"mode": 3}']
  w:
    <<: *v
    entrypoint: vllm serve ${M:-m}
compilation-config: {mode: 3, level: 0x1f, at: 2001-01-01}
spec: {containers: [{name: c, command: [vllm, serve, m], env: [{name: A, value: b}]}]}
"""
LINE = """A=1 vllm serve m --compilation-config '{"mode": 3, "a": [1e3, "\\u00e9"]}' --compilation-config.b 8g -tp 2"""
DOCKER = '{"log":"WARNING 07-01 12:00:00 [a.py:1] m\\n","stream":"stderr","time":"2026-07-01T12:00:00Z"}'
JOURNALD = '{"MESSAGE":[104,105],"__REALTIME_TIMESTAMP":"1782907200000000","_PID":"1","_SYSTEMD_UNIT":"v.service"}'
RECORD = (
    'vllm/a.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\r\n../../../bin/vllm,,\r\n"a,b.py",sha384=x,1\r\n'
)

DOCUMENTS: Mapping[str, str] = {
    "json": json.dumps(LEDGER),
    "toml": ENTRY,
    "entry": ENTRY,
    "registry": 'format = 1\nname = "n"\nrevision = 1\n',
    "record": RECORD,
    "headers": "Metadata-Version: 2.1\nName: vllm\nVersion: 0.20.0\n\nName: x\n",
    "notes": json.dumps({"dir_info": {"editable": True}, "pid": 1, "host": "h", **CONDA}),
    "ledger": json.dumps(LEDGER),
    "journal": json.dumps(JOURNAL),
    "history": json.dumps(HISTORY),
    "lock": LOCK,
    "line": LINE,
    "yaml": COMPOSE,
    "envelope": f"{DOCKER}\n{JOURNALD}\n",
}
"""Name of a reader -> what it takes."""

WORDS = (
    *("[", "]", "{", "}", '"', "'", '"""', "'''", ",", ":", "=", ".", "\n", "\r\n", "\r", "\t", " ", "\0", "#", "\\"),
    *("\\u0000", "\\ud800", "\\udc80", "\\\\", '\\"', "\ufeff", "\u2028", "\u0661", "\u202e", "e\u0301"),
    *("null", "true", "NaN", "-Infinity", "1e999", "-1", "0", "1.5", "9" * 30, "9" * 200, str(1 << 63), "0x1f"),
    *("..", "../", "/", "//", "./", ".patchctl/", "x.pth", "sitecustomize.py", ".git/", "__pycache__", "a.pyc", SHA),
    *("&a ", "*a", "<<: ", "- ", "? ", "| ", "> ", "!!int ", "!!binary ", "!!timestamp ", "---\n", "%", "1:1:1", "~"),
    *("[[", "]]", "[[fix]]\n", '"format": 1, ', "format = 1\n", "2001-01-01", "inf", "$(", "${A}", "`", "&&", "|", ";"),
)
