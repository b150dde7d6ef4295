"""What ``doctor`` says: values alone. Looking is in ``examine_install`` and ``examine_state``."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One thing that is not as it should be, or worth knowing.

    Attributes:
        code: kebab-case word that scripts may compare.
        message: one sentence: what, and where.
        remedy: what to do; a command where one helps.
        needed: a person has to act; otherwise it is only worth knowing.
        site: absolute path of the site directory concerned; None: the environment.
        path: the file concerned, POSIX, relative to the site.
    """

    code: str
    message: str
    remedy: str
    needed: bool
    site: str | None = None
    path: str | None = None


class Installed(NamedTuple):
    """One distribution as an installer left it.

    Attributes:
        name: normalised.
        build: full version string.
        installer: as INSTALLER says; None: it does not.
        oracle: ``record``, ``conda-meta``, or None: nobody lists its files.
        concerned: the registry or the ledger speaks of it.
    """

    name: str
    build: str
    installer: str | None
    oracle: str | None
    concerned: bool


class SiteView(NamedTuple):
    """One site directory.

    Attributes:
        path: absolute.
        file_system: its type; None: nothing tells.
        read_only: mounted so.
        state: of patchctl here: ``none``, ``format 1``, or why it cannot be read.
        applied: ids of the entries that are recorded as applied.
        lock: ``none``, ``free``, or who holds it.
        distributions: what is installed, by name.
    """

    path: str
    file_system: str | None
    read_only: bool
    state: str
    applied: tuple[str, ...]
    lock: str
    distributions: tuple[Installed, ...]


class Diagnosis(NamedTuple):
    """The answer of ``doctor``.

    Attributes:
        kind: ``venv``, ``conda``, ``debian``, ``user``, ``system`` or ``target``.
        root: of the environment, absolute; None for a bare site.
        python: its interpreter; None where none is known.
        sites: its site directories in path order.
        settings: byte-code settings of patchctl's own environment, which the service should share: (name, value).
        findings: what needs a person first.
        freed: objects and diffs that ``--gc`` dropped, or would: paths relative to the site.
        freed_bytes: their size.
        removed: leftovers that ``--clean`` removed, or would: paths relative to the site.
        listed: show every distribution.
    """

    kind: str
    root: str | None
    python: str | None
    sites: tuple[SiteView, ...]
    settings: tuple[tuple[str, str], ...] = ()
    findings: tuple[Finding, ...] = ()
    freed: tuple[str, ...] = ()
    freed_bytes: int = 0
    removed: tuple[str, ...] = ()
    listed: bool = False
