"""The verbs that examine an installation: ``verify`` and ``doctor``. They read, unless an option says otherwise."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from patchctl.cli.options import AllowBase, Common, DryRun, Wait, with_common
from patchctl.cli.runner import run
from patchctl.commands import Allowed, Clock, Place, Report
from patchctl.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the examining verbs to ``app``."""
    app.command("verify", short_help="Every installed file against RECORD and the ledger.")(verify)
    app.command("doctor", short_help="One page on the environment, with remedies.")(doctor)


@with_common
def verify(
    common: Common,
    fast: Annotated[bool, typer.Option("--fast", help="Compare sizes alone; proves nothing pristine.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Every distribution of the environment.")] = False,
    baseline: Annotated[
        bool, typer.Option("--baseline", help="Record that the files which are gone are gone on purpose.")
    ] = False,
    drop_baseline: Annotated[bool, typer.Option("--drop-baseline", help="Take back what --baseline recorded.")] = False,
    allow_base: AllowBase = False,
    dry_run: DryRun = False,
    wait: Wait = 0.0,
) -> None:
    """Say whose bytes every installed file has: the distribution's, ours, or somebody else's."""

    def command(place: Place, clock: Clock) -> Report:
        if baseline and drop_baseline:
            raise UsageError("baseline-twice", "--baseline and --drop-baseline exclude each other")
        if (dry_run or wait or allow_base) and not (baseline or drop_baseline):
            options = "--dry-run, --wait and --allow-base"
            message = f"{options} are for --baseline and --drop-baseline: verify alone writes nothing"
            raise UsageError("nothing-written", message)
        with bar(common, "verifying") as progress:
            if not (baseline or drop_baseline):
                from patchctl.commands.verify import verify as look

                return look(place, fast=fast, everything=everything, listed=common.verbose, progress=progress)
            from patchctl.commands.baseline import accept_absences

            return accept_absences(
                place,
                clock,
                drop=drop_baseline,
                fast=fast,
                everything=everything,
                listed=common.verbose,
                dry_run=dry_run,
                wait=wait,
                progress=progress,
                allowed=Allowed(base=allow_base),
            )

    run("verify", common, command)


@with_common
def doctor(
    common: Common,
    gc: Annotated[bool, typer.Option("--gc", help="Drop stored objects and diffs that nothing names.")] = False,
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove what patches and dead transactions left behind.")
    ] = False,
    dry_run: DryRun = False,
    wait: Wait = 0.0,
) -> None:
    """Look at the environment: kind, installers, links, mounts, permissions, leftovers, state; a remedy for each."""
    from patchctl.commands.doctor import doctor as act

    def command(place: Place, clock: Clock) -> Report:
        if (dry_run or wait) and not (gc or clean):
            message = "--dry-run and --wait are for --clean and --gc: doctor alone writes nothing"
            raise UsageError("nothing-written", message)
        return act(place, clock, gc=gc, clean=clean, listed=common.verbose, dry_run=dry_run, wait=wait)

    run("doctor", common, command)


@contextmanager
def bar(common: Common, label: str) -> Iterator[Callable[[int, int], None]]:
    """Yield what shows progress: a bar where a person looks at standard error, otherwise nothing."""
    if common.json or common.quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    from patchctl.render.progress import Bar

    colour = not (common.no_color or os.environ.get("PATCHCTL_NO_COLOR"))
    with Bar(sys.stderr, label, colour=colour) as drawn:
        yield drawn.show
