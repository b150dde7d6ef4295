"""What is known around a launch, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from patchctl.launch import Launch
from patchctl.patch import Avoid, Patch

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Exposure(str, Enum):
    """Whether a launch can meet a bug; what cannot be known is POSSIBLE."""

    EXPOSED = "exposed"
    POSSIBLE = "possible"
    NOT_EXPOSED = "not-exposed"


class Coverage(str, Enum):
    """What keeps a launch from meeting a bug; the first that fits, in this order."""

    FIXED = "fixed"
    PATCHED = "patched"
    AVOIDED = "avoided"
    NOT_NEEDED = "not-needed"
    UNCOVERED = "uncovered"


class ModelNames(NamedTuple):
    """What a model is called.

    Attributes:
        names: its name as it was given, the last part of that, what its configuration and ``--quantization`` say.
        sure: a bug of another model cannot be its own; False: the names may say nothing.
        why: where ``sure`` is False, the reason, as a clause.
    """

    names: tuple[str, ...] = ()
    sure: bool = False
    why: str = "no launch is given"


class Surroundings(NamedTuple):
    """What is known besides the launch.

    Attributes:
        builds: distribution -> build string.
        chips: what the hardware is called, such as ``sm120``; None: not known.
        chips_from: where that comes from, or why it is not known, as a clause.
    """

    builds: Mapping[str, str] = _NOTHING
    chips: tuple[str, ...] | None = None
    chips_from: str = "the GPU is not known"


class Way(NamedTuple):
    """One avoidance of an entry, for one launch.

    Attributes:
        avoid: what the entry says.
        in_force: the launch has it already.
        launch: the launch with it; None: it cannot be made.
        problem: why not, as a clause; None: there is no launch, or the entry names no flag.
    """

    avoid: Avoid
    in_force: bool = False
    launch: Launch | None = None
    problem: str | None = None


class EntryAdvice(NamedTuple):
    """What is said of one entry.

    Attributes:
        patch: the entry.
        exposure: whether the launch can meet its bug.
        reason: why, as a clause.
        coverage: what covers it.
        remedy: ``patchctl`` can bring it in here and now.
        ways: its avoidances for this build and hardware.
        unread: options that its triggers ask for and that were given an object which cannot be read.
    """

    patch: Patch
    exposure: Exposure
    reason: str
    coverage: Coverage
    remedy: bool = False
    ways: tuple[Way, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def covered(self) -> bool:
        """Nothing has to be done about it."""
        return self.coverage is not Coverage.UNCOVERED


class LaunchAdvice(NamedTuple):
    """What is said of one launch.

    Attributes:
        source: where it comes from, for people; empty: no launch was given.
        launch: the launch; None: none was given.
        model: what its model is called.
        entries: those that concern the environment, in registry order.
        corrected: the launch with one avoidance for every bug that it is exposed to and that nothing covers; None:
            there is none, or none that helps.
        remaining: ids of those that it would still be exposed to.
        stale: the running process was started before the last change of the environment.
        withheld: variables of the shell that stand in the commands for secrets.
    """

    source: str
    launch: Launch | None
    model: ModelNames
    entries: tuple[EntryAdvice, ...]
    corrected: Launch | None = None
    remaining: tuple[str, ...] = ()
    stale: bool = False
    withheld: tuple[str, ...] = ()

    def uncovered(self, exposure: Exposure) -> tuple[EntryAdvice, ...]:
        """Return the entries of that exposure that nothing covers."""
        return tuple(entry for entry in self.entries if not entry.covered and entry.exposure is exposure)
