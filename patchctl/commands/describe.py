"""``report``: gather what a page about the environment says, and put the page where the operator wants it.

What a page looks like is not here: ``render`` lays it out between the two steps.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from patchctl.commands.output import bounds_of
from patchctl.commands.place import Clock, Place
from patchctl.commands.report import ProcessReport, Report
from patchctl.commands.scene import gather
from patchctl.commands.stack import concerns
from patchctl.commands.status import unfinished_problems
from patchctl.errors import Outcome, Problem, UntrustedError
from patchctl.ledger import History, read_history
from patchctl.model import Receipt, Target
from patchctl.patch import Kind
from patchctl.publishing import BEGIN, END, Bounds, put_between, put_whole
from patchctl.transaction import JournalState
from patchctl.verdict import DUE, Action, Assessment, Need, Verdict


class Standing(Enum):
    """Where an entry stands, seen by whoever runs the environment; the first that fits, in this order."""

    IN = "in"
    FIXED = "fixed"
    DUE = "due"
    HELD = "held"
    ADVICE = "advice"
    OUT = "out"


class Described(NamedTuple):
    """What a page may say.

    Attributes:
        target: the environment.
        entries: those that concern it, in registry order.
        options: that lead a command here again: ``--site``, and ``--registry`` where one was given; absolute paths.
        clock: the time of the command.
        journal: an unfinished transaction; then nothing was judged, and there is no page.
        history: what was done, where it was asked for.
        processes: who runs here, where it was asked for.
        errors: broken entries and the like.
        warnings: what the operator should know.
    """

    target: Target
    entries: tuple[Assessment, ...]
    options: tuple[str, ...]
    clock: Clock
    journal: JournalState | None = None
    history: History | None = None
    processes: ProcessReport | None = None
    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()

    def of_standing(self, standing: Standing) -> tuple[Assessment, ...]:
        """Return the entries that stand so."""
        return tuple(found for found in self.entries if standing_of(found) is standing)

    @property
    def builds(self) -> Mapping[str, str]:
        """The build string of every distribution."""
        return {name: found.build for name, found in self.target.distributions.items()}


class Destination(NamedTuple):
    """Where a page goes; at most one of them, neither: standard output.

    Attributes:
        into: a file with two markers, between which it goes.
        output: a file that it becomes.
    """

    into: str | None = None
    output: str | None = None


class Publication(NamedTuple):
    """A page, and where it went.

    Attributes:
        shape: ``md``, ``html``, ``cyclonedx`` or ``openvex``.
        state: ``printed``, ``written``, ``unchanged`` (the file said it already) or ``empty`` (there is nothing to
            state, so that nothing was printed or written).
        path: the file, as it was named; None: standard output.
        text: the page; None: there is none.
    """

    shape: str
    state: str
    path: str | None = None
    text: str | None = None


def describe(place: Place, clock: Clock, *, whole: bool = False) -> Described:
    """Judge every entry and gather what a page says.

    Args:
        place: where.
        clock: when.
        whole: history and processes too.
    """
    scene = gather(place)
    site = scene.target.site
    concerned = [found for found in scene.in_registry_order() if found.need is not Need.NOT_CONCERNED]
    return Described(
        target=scene.target,
        entries=tuple(found for found in concerned if concerns(found, place.distribution)),
        options=("--site", site, *_registry_options(place)),
        clock=clock,
        journal=scene.journal,
        history=read_history(site) if whole else None,
        processes=_processes(place, site) if whole else None,
        errors=(*unfinished_problems(scene.journal), *scene.errors),
        warnings=scene.warnings,
    )


def publish(place: Place, found: Described, shape: str, text: str | None, destination: Destination) -> Report:
    """Put a page where it belongs, and say so.

    Args:
        place: where the command works.
        found: what it was made from.
        shape: its format.
        text: the page; None: there is nothing to state.
        destination: a file, or standard output.

    Raises:
        PatchctlError: the file cannot be written, or must not be.
    """
    path = destination.into or destination.output
    if found.journal is not None:
        published, outcome = None, Outcome.UNFINISHED
    elif text is None:
        published, outcome = Publication(shape=shape, state="empty", path=path), Outcome.OK
    else:
        if shape == "md" and destination.into is None:
            text = f"{BEGIN}\n{text}{END}\n"  # to be pasted; --into keeps it up to date from then on
        try:
            state = _put(text, destination, bounds_of(place, found.target))
        except UntrustedError as error:
            error.site = found.target.site
            raise
        published, outcome = Publication(shape=shape, state=state, path=path, text=text), Outcome.OK
    warnings = found.warnings
    if published is not None and text is None:
        message = "no entry that concerns this environment names a CVE: there is nothing to state"
        warnings += (Problem(code="nothing-to-state", message=message, path=path),)
    return Report(
        command="report",
        outcome=outcome,
        target=found.target,
        journal=found.journal,
        publication=published,
        warnings=warnings,
        errors=found.errors,
    )


def standing_of(found: Assessment) -> Standing:
    """Return where an entry stands."""
    patch = found.case.patch
    if is_in(found):
        return Standing.IN
    if found.need is Need.FIXED:
        return Standing.FIXED
    if found.action in DUE:
        return Standing.DUE
    if found.need is Need.HELD:
        return Standing.HELD
    return Standing.ADVICE if patch is not None and patch.kind is Kind.ADVISORY else Standing.OUT


def is_in(found: Assessment) -> bool:
    """Return whether the files carry an entry's change by somebody's doing: ours, recorded, or a change by hand."""
    if found.verdict is Verdict.PRESENT:
        return not all(file.built_in for file in found.files)
    return found.verdict is Verdict.APPLIED


def receipt_of(found: Assessment) -> Receipt | None:
    """Return the record that an entry is in; None: it is not, or nobody recorded it."""
    return found.case.receipt if found.verdict is Verdict.APPLIED else None


def may_go(found: Assessment) -> bool:
    """Return whether an entry is in although the installed bytes prove that upstream has it."""
    return found.action is Action.RETIRE


def _put(text: str, destination: Destination, bounds: Bounds) -> str:
    if destination.into is not None:
        changed = put_between(destination.into, text, bounds)
    elif destination.output is not None:
        changed = put_whole(destination.output, text, bounds)
    else:
        return "printed"
    return "written" if changed else "unchanged"


def _processes(place: Place, site: str) -> ProcessReport:
    from patchctl.commands.running import look

    return look(place, site)


def _registry_options(place: Place) -> list[str]:
    """The registries that were named; a page is read elsewhere, so that their paths are made absolute."""
    words: list[str] = []
    for folder in place.registries:
        words += ["--registry", os.path.normpath(os.path.join(place.cwd or "", folder))]
    return words
