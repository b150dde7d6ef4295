"""Asks a vulnerability service about what patchctl needs: ``python -m tests.audit``.

pip-audit ends with 0 where the service knows none of the packages, as a mirror of PyPI without its JSON API does. So an
answer counts only if the same run reports a version that is known to be bad; without such a service there is no answer,
and the reason is told. ``AUDIT_OSV_URL`` names a service that speaks OSV's protocol, in place of the public ones.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
KNOWN_BAD = ("requests", "2.19.1")
"""CVE-2018-18074: a version that every service has to report, of a package that patchctl does not need."""
EXTRAS = ("nvml", "sbom", "yaml", "zstd")
"""What users install; ``dev`` and ``bench`` are for those who work on patchctl."""
_SECONDS = 10

Pins = Mapping[str, str]
"""Canonical name -> version."""


class Finding(NamedTuple):
    """A version with a known vulnerability: its ids, and what the service says of it in a line."""

    name: str
    version: str
    ids: tuple[str, ...]


class Answer(NamedTuple):
    """What a service said.

    Attributes:
        service: which one.
        findings: what it reports.
        unknown: names it knows nothing of.
        silent: why there is no answer; None: there is one.
    """

    service: str
    findings: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()
    silent: str | None = None


def project() -> dict[str, Any]:
    """Return the project's table of ``pyproject.toml``."""
    found = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    assert isinstance(found, dict)
    return found


def declared(*extras: str) -> Iterator[Requirement]:
    """Yield the requirements of the core and of extras."""
    table = project()
    for text in (*table["dependencies"], *(it for extra in extras for it in table["optional-dependencies"][extra])):
        yield Requirement(text)


def lowest(requirements: Iterable[Requirement]) -> dict[str, str]:
    """Return the lowest version that each allows."""
    found: dict[str, str] = {}
    for requirement in requirements:
        (bound,) = [it.version for it in requirement.specifier if it.operator == ">="]
        found[canonicalize_name(requirement.name)] = bound
    return found


def installed(requirements: Iterable[Requirement]) -> dict[str, str]:
    """Return what is installed here of the requirements and of all that they bring; what is not here is left out."""
    found: dict[str, str] = {}
    waiting = [(it.name, tuple(it.extras)) for it in requirements]
    seen = set()
    while waiting:
        name, extras = waiting.pop()
        if (canonicalize_name(name), extras) in seen:
            continue
        seen.add((canonicalize_name(name), extras))
        try:
            here = distribution(name)
        except PackageNotFoundError:
            continue
        found[canonicalize_name(name)] = here.version
        for text in here.requires or ():
            further = Requirement(text)
            if further.marker is None or any(further.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                waiting.append((further.name, tuple(further.extras)))
    return found


def services() -> list[tuple[str, ...]]:
    """Return pip-audit's options for each service that is asked, in this order."""
    own = os.environ.get("AUDIT_OSV_URL")
    return [("osv", "--osv-url", own)] if own else [("pypi",), ("osv",)]


def ask(pins: Pins, service: Sequence[str]) -> Answer:
    """Ask one service about versions, and about one that is known to be bad.

    Args:
        pins: what is asked about.
        service: its name and further options, as of :func:`services`.
    """
    name, version = KNOWN_BAD
    assert name not in pins, "pip-audit takes a name once"
    answer = _asked({**pins, name: version}, service)
    if answer.silent is not None:
        return answer
    findings = [it for it in answer.findings if it.name != name]
    if len(findings) == len(answer.findings):
        why = f"it does not report {name} {version}, which is known to be vulnerable"
        return Answer(service=service[0], silent=why)
    return answer._replace(findings=tuple(findings))


@cache
def talking() -> tuple[tuple[str, ...] | None, str]:
    """Return the first service that answers, and why those before it, or all, do not."""
    silent: list[str] = []
    for service in services():
        answer = ask({}, service)
        if answer.silent is None:
            return service, "; ".join(silent)
        silent.append(f"{answer.service}: {answer.silent}")
    return None, "; ".join(silent)


def first_answer(pins: Pins) -> Answer:
    """Ask the first service that answers; without any, why there is none."""
    service, why = talking()
    return Answer(service="none", silent=why) if service is None else ask(pins, service)


def _asked(pins: Pins, service: Sequence[str]) -> Answer:
    with tempfile.TemporaryDirectory(prefix="patchctl-audit-") as folder:
        listed = Path(folder) / "requirements.txt"
        listed.write_text("".join(f"{name}=={version}\n" for name, version in sorted(pins.items())))
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(listed), "--disable-pip", "--no-deps"]
        command += ["--progress-spinner", "off", "--format", "json", "--timeout", str(_SECONDS)]
        command += ["--cache-dir", f"{folder}/cache", "--vulnerability-service", *service]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS * 12)
        except subprocess.TimeoutExpired:
            return Answer(service=service[0], silent="it takes too long")
    try:
        return _read(service[0], json.loads(done.stdout))
    except (ValueError, KeyError, TypeError):
        last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        last = re.sub(r" object at 0x[0-9a-f]+", "", last).partition("(Caused")[0]
        return Answer(service=service[0], silent=last[:160])


def _read(service: str, document: Any) -> Answer:
    findings, unknown = [], []
    for row in document["dependencies"]:
        if "skip_reason" in row:
            unknown.append(canonicalize_name(row["name"]))
            continue
        ids = tuple(sorted({id_ for found in row["vulns"] for id_ in (found["id"], *found.get("aliases", ()))}))
        if ids:
            findings.append(Finding(name=canonicalize_name(row["name"]), version=row["version"], ids=ids))
    return Answer(service=service, findings=tuple(findings), unknown=tuple(unknown))


def main() -> int:
    """Print what is asked about and what came of it; 1: something is known to be vulnerable, or not known at all."""
    code = 0
    for what, pins in (("lowest", lowest(declared(*EXTRAS))), ("installed", installed(declared(*EXTRAS)))):
        answer = first_answer(pins)
        told = answer.silent or [*answer.findings, *(f"not known: {name}" for name in answer.unknown)] or "clean"
        print(f"{what} ({len(pins)} packages), by {answer.service}: {told}")
        code |= bool(answer.findings or answer.unknown)
    return code


if __name__ == "__main__":
    sys.exit(main())
