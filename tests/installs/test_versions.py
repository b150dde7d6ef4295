"""Build strings of vendors mean the same under every release of the library that reads them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installs.making import clean_environ

ROOT = Path(__file__).parents[2]
BUILDS = ["0.20.0+das.dtk2604", "0.22.0rc1+das", "dev", "0.20.0", "0.22.0.dev5+g1a2b", "1!0.20.0", "0.20.0+DAS.01"]
RULES = [
    {"versions": ">=0.19.1,<0.23", "label": "any"},
    {"versions": ">=0.19.1,<0.23", "label": ["das*"]},
    {"versions": "==0.20.*", "label": "none"},
    {"versions": "<0.22.0", "label": "any"},
    {"builds": ["dev"]},
    {"builds": ["0.20.0+das.dtk2604"]},
]
SCRIPT = """
import json, sys
import packaging
from patchctl.build import choose, parse_build
from patchctl.model import BuildRule
builds, rules = json.loads(sys.argv[1])
rules = [BuildRule(**{key: tuple(it) if isinstance(it, list) else it for key, it in rule.items()}) for rule in rules]
answers = []
for build in builds:
    for rule in rules:
        index, outcome = choose([rule], parse_build(build))
        answers.append([build, index, outcome.rule.value, outcome.reason])
print(json.dumps([packaging.__version__, answers]))
"""


def answers_under(release: str, where: Path) -> list[object]:
    """Install that release of packaging beside nothing else and ask; skips where it cannot be had."""
    if os.environ.get("TEST_WHEELS_OFFLINE"):
        pytest.skip(f"packaging {release} is not installed, and TEST_WHEELS_OFFLINE is set")
    folder = where / release
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run(
        [*command, "--target", str(folder), f"packaging=={release}.*"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"packaging {release} cannot be had: {done.stderr.strip()[-200:]}")
    environ = clean_environ(PYTHONPATH=os.pathsep.join((str(folder), str(ROOT))))
    asked = json.dumps([BUILDS, RULES])
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT, asked], env=environ, capture_output=True, text=True, check=True, cwd="/"
    )
    version, answers = json.loads(told.stdout)
    assert version.startswith(f"{release}.")
    assert isinstance(answers, list)
    return answers


@pytest.mark.slow
def test_c24_vendor_builds_match_alike_under_packaging_24_and_26(tmp_path: Path) -> None:
    old, new = answers_under("24", tmp_path), answers_under("26", tmp_path)
    assert old == new
    rules = {build: [it[2] for it in new if isinstance(it, list) and it[0] == build] for build in BUILDS[:3]}
    assert rules == {
        "0.20.0+das.dtk2604": ["range", "label", "none", "range", "none", "exact"],
        "0.22.0rc1+das": ["range", "label", "none", "none", "none", "none"],
        "dev": ["none", "none", "none", "none", "exact", "none"],
    }
