"""The typed registry entry: what the rest of patchctl sees of a ``patch.toml``. No parsing, no bytes of diffs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from patchctl.model import BuildRule, Fix


class Kind(str, Enum):
    """What an entry does about its bug; an advisory carries no diff."""

    CONTAINMENT = "containment"
    BACKPORT = "backport"
    ADVISORY = "advisory"


class Severity(str, Enum):
    """What the bug does to its users."""

    CRASH = "crash"
    WRONG_OUTPUT = "wrong-output"
    NONDETERMINISM = "nondeterminism"
    PERFORMANCE = "performance"


class Variant(NamedTuple):
    """One diff of an entry, for the builds it names.

    Attributes:
        distribution: normalised as PEP 503 does.
        rule: the builds it is for.
        diff: file name in the entry's folder; None in an advisory.
        sha256: of the diff's bytes, lower-case hexadecimal; None in an advisory.
        strip: leading path components to drop from the names in the diff.
    """

    distribution: str
    rule: BuildRule
    diff: str | None = None
    sha256: str | None = None
    strip: int = 1


class Avoid(NamedTuple):
    """A way to start the service so that the bug cannot trigger.

    Attributes:
        args: launch arguments to add, one word each.
        env: environment variables to set.
        remove_args: launch arguments to leave out.
        when: model, flags or hardware under which the bug can trigger; may be empty.
        cost: what avoiding it costs; may be empty.
        rule: the builds on which it helps; None: all that the entry is for.
        hardware: globs over the chips on which it helps; empty: all.
    """

    args: tuple[str, ...] = ()
    env: Mapping[str, str] = MappingProxyType({})
    remove_args: tuple[str, ...] = ()
    when: str = ""
    cost: str = ""
    rule: BuildRule | None = None
    hardware: tuple[str, ...] = ()


_NO_ARGS: Mapping[str, bool | tuple[str, ...]] = MappingProxyType({})
_NO_JSON: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType({})
_NO_ENV: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class Trigger(NamedTuple):
    """Launches that can meet the bug: every condition that is given must hold.

    A list of values holds when one of its globs fits, whatever the case of letters; the empty text stands for "not
    given".

    Attributes:
        model: globs over the model's name, its last path part, and what its configuration calls it.
        args: long option -> True: switched on; False: not switched on; or globs over its value.
        json: long JSON option -> key (dots between the keys of nested objects) -> globs over its value.
        env: variable -> globs over its value.
        hardware: globs over what a chip is called: ``sm120`` for compute capability 12.0.
        rule: the builds; None: all that the entry is for.
        note: what such a launch does, for the reader.
        doubt: why it may still not meet the bug; then it is possible, not certain.
    """

    model: tuple[str, ...] = ()
    args: Mapping[str, bool | tuple[str, ...]] = _NO_ARGS
    json: Mapping[str, Mapping[str, tuple[str, ...]]] = _NO_JSON
    env: Mapping[str, tuple[str, ...]] = _NO_ENV
    hardware: tuple[str, ...] = ()
    rule: BuildRule | None = None
    note: str = ""
    doubt: str = ""


class Signal(NamedTuple):
    """The log line that a containment patch writes at each hit.

    Attributes:
        log: regular expression to search for in a log line; its named groups are what a hit tells.
    """

    log: str


class Patch(NamedTuple):
    """One entry of the registry.

    Attributes:
        id: slug, equal to the name of its folder.
        title: one line.
        kind: containment, backport or advisory.
        severity: what the bug does.
        revision: counts changes of the entry's diffs, from 1.
        default: a bare ``apply`` takes it.
        why: the bug.
        how: what the diff does, and what it costs; may be empty in an advisory.
        removal: when it may go.
        requires: ids of entries that must be in for this one to be in.
        conflicts: ids of entries that must not be in beside it.
        replaces: ids of entries of the same registry whose place it takes.
        variants: in file order; for each distribution the best match is chosen.
        fixes: upstream changes, in file order.
        avoid: ways around the bug, in file order.
        triggers: launches that can meet the bug, one of them is enough; empty: nobody says which.
        signal: None when the entry writes no log line.
        cve: ids of the vulnerability that the bug is known as, such as ``CVE-2026-1234``; empty: it has none.
        folder: directory of the entry: the registry's folder as it was given, then ``<distribution>/<id>``.
        registry: the registry's folder as it was given.
    """

    id: str
    title: str
    kind: Kind
    severity: Severity
    revision: int
    default: bool
    why: str
    how: str
    removal: str
    requires: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    variants: tuple[Variant, ...] = ()
    fixes: tuple[Fix, ...] = ()
    avoid: tuple[Avoid, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    signal: Signal | None = None
    cve: tuple[str, ...] = ()
    folder: str = ""
    registry: str = ""

    @property
    def distributions(self) -> tuple[str, ...]:
        """Normalised names of the distributions it has variants for, in file order, each once."""
        return tuple(dict.fromkeys(variant.distribution for variant in self.variants))
