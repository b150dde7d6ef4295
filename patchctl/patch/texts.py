"""What is wrong with one string of an entry: each check answers with the end of a sentence, or None."""

from __future__ import annotations

import re

from patchctl.model.paths import TOOL_MODULES

_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_SHA256 = re.compile(r"[0-9A-Fa-f]{64}")
_SOURCE = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]+)?(?:[/?#][!-~]*)?")
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CVE = re.compile(r"CVE-[0-9]{4}-[0-9]{4,19}")
_TOOLS = frozenset(
    {
        *(module.replace("_", "-") for module in TOOL_MODULES),
        *("pip-tools", "poetry-core", "pdm-backend", "pdm-pep517", "hatch-vcs", "meson-python", "scikit-build"),
        *("distribute", "vcs-versioning"),
    }
)
"""Distributions, by normalised name; most are called like their module."""

_MAX_SLUG = 100
_MAX_PARTS = 100
"""As deep as Python lets blocks be indented."""


def is_slug(text: str) -> bool:
    """Whether it can be an id: lower-case letters, digits, and single hyphens between them."""
    return len(text) <= _MAX_SLUG and _SLUG.fullmatch(text) is not None


def normalised_name(text: str) -> str:
    """Return a distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", text).lower()


def distribution_problem(text: str) -> str | None:
    """Whether it is the name of a distribution."""
    known = _DISTRIBUTION.fullmatch(text) is not None
    return None if known else "is not the name of a distribution: letters and digits, with . _ - between them"


def distribution_hint(text: str) -> str:
    """Return what somebody who wrote ``text`` may have meant; a path or a tool is no project at all."""
    # Extras, versions and markers stand behind the name (PEP 508); a slash at the end is a directory's.
    meant = re.split(r"[\[<>=!~;@\s]", text.strip(), maxsplit=1)[0].lstrip("_-").rstrip("._-/")
    if target_problem(meant) is None:
        return f'did you mean: distribution = "{meant}"'
    return "name the project whose files the diff changes, as the first column of `pip list` has it"


def target_problem(text: str) -> str | None:
    """Whether it is the name of a distribution whose files an entry may be about."""
    if normalised_name(text) in _TOOLS:
        name = normalised_name(text)
        return f"names {name}, which no entry may be about: it installs or builds packages, or is patchctl itself"
    return distribution_problem(text)


def sha256_problem(text: str) -> str | None:
    """Whether it is a sha256 in hexadecimal."""
    return None if _SHA256.fullmatch(text) else "must be 64 hexadecimal digits"


def cve_problem(text: str) -> str | None:
    """Whether it is the id of a vulnerability as the CVE Program writes it: a year, and four digits or more."""
    return None if _CVE.fullmatch(text) else "is not the id of a CVE"


def source_problem(text: str) -> str | None:
    """Whether it is an address a reader may be sent to: https, a plain host, no user name in front of it."""
    return None if _SOURCE.fullmatch(text) else "must be an https:// address"


def environment_name_problem(text: str) -> str | None:
    """Whether it can be the name of an environment variable."""
    return None if _ENVIRONMENT_NAME.fullmatch(text) else "is not the name of an environment variable"


def file_name_problem(text: str) -> str | None:
    """Whether it names a file that lies in the entry's own folder."""
    if "/" in text or "\\" in text or text in {".", ".."}:
        return "must be a file name in the entry's own folder, without a directory"
    if not text.isprintable() or text.startswith("."):
        return "must be a plain file name"
    return None


def symbol_problem(text: str) -> str | None:
    """Whether it is a dotted name that some file can define."""
    parts = text.split(".")
    if len(parts) > _MAX_PARTS:
        return f"has more than {_MAX_PARTS} parts, deeper than Python lets definitions nest"
    return None if all(part.isidentifier() for part in parts) else "must be a dotted Python name"
