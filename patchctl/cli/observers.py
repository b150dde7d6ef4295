"""The verb that watches what the patches do: ``hits`` in logs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from typing import Annotated

import typer

from patchctl.cli.bar import bar
from patchctl.cli.options import Common, with_common
from patchctl.cli.runner import run
from patchctl.commands import Clock, Place, Report
from patchctl.errors import UsageError

_MOST = 10**15
"""Requests or ranks: rates are computed in floating point, which counts no further one by one."""


class _By(str, Enum):
    """What tells instances apart."""

    FILE = "file"
    PORT = "port"
    PID = "pid"


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("hits", short_help="How often the patches worked, told from logs.")(hits)


@with_common
def hits(
    common: Common,
    logs: Annotated[
        list[str] | None,
        typer.Argument(metavar="LOG...", help="Files, globs, or - for standard input.", show_default=False),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every entry of the registry that has a signal, applied or not.")
    ] = False,
    by: Annotated[_By, typer.Option("--by", metavar="WHAT", help="Instances by file, port or pid.")] = _By.FILE,
    requests: Annotated[
        int | None, typer.Option("--requests", metavar="N", min=1, max=_MOST, help="How many requests there were.")
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option("--ranks", metavar="N", min=1, max=_MOST, help="Tensor-parallel ranks that write each line."),
    ] = None,
    log_prefix: Annotated[
        str, typer.Option("--log-prefix", metavar="TEXT", help="What VLLM_LOGGING_PREFIX was.", show_default=False)
    ] = "",
    rotated: Annotated[bool, typer.Option("--rotated", help="The older parts of each log, too.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more until Ctrl-C, then answer.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Answer as CSV.")] = False,
    prometheus: Annotated[bool, typer.Option("--prometheus", help="Answer for the textfile collector.")] = False,
    html: Annotated[bool, typer.Option("--html", help="Answer as one HTML page with a chart.")] = False,
    output: Annotated[
        str | None, typer.Option("--output", metavar="FILE", help="Write CSV, metrics or page there.")
    ] = None,
) -> None:
    """Count the log lines that containment patches wrote, by kind, instance, hour and day, per 1,000 requests."""
    form = _form(csv=csv, prometheus=prometheus, html=html)

    def command(place: Place, _: Clock) -> Report:
        from patchctl.commands.hits import Viewer, Wish
        from patchctl.commands.hits import hits as act

        _refuse(logs, common, forms=csv + prometheus + html, output=output, follow=follow)

        def keep(report: Report) -> None:
            if output is not None and form is not None:
                from patchctl.commands.output import bounds_of
                from patchctl.publishing import put_whole

                put_whole(output, form(report), bounds_of(place, report.target))

        if follow and not common.quiet and sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write("following; Ctrl-C ends it with the answer\n")
        wish = Wish(
            everything=everything,
            by=by.value,
            ranks=ranks,
            requests=requests,
            prefix=log_prefix,
            rotated=rotated,
            follow=follow,
        )
        with bar(common, "reading") as progress:
            report = act(place, logs or (), wish, Viewer(progress=progress, refresh=keep))
        keep(report)
        return report

    run("hits", common, command, form=form if output is None else None)


def _form(*, csv: bool, prometheus: bool, html: bool) -> Callable[[Report], str] | None:
    """The shape that an option asks for; each is loaded when it is used."""

    def shape(report: Report) -> str:
        found = report.hits
        if found is None:
            return ""
        if csv:
            from patchctl.render.hits.csv import hits_csv

            return hits_csv(found)
        if prometheus:
            from patchctl.render.hits.prometheus import hits_prometheus

            return hits_prometheus(found)
        from patchctl.render.hits.page import hits_page

        return hits_page(found)

    return shape if csv or prometheus or html else None


def _refuse(logs: list[str] | None, common: Common, *, forms: int, output: str | None, follow: bool) -> None:
    """Refuse what cannot be meant."""
    if not logs:
        hint = (
            "patchctl hits /var/log/vllm/*.log, or a command's output: journalctl -u vllm -o export | patchctl hits -"
        )
        raise UsageError("no-logs-named", "name the logs to read", hint=hint)
    if forms + common.json > 1:
        raise UsageError("one-form", "--json, --csv, --prometheus and --html exclude each other")
    if output is not None and not forms:
        raise UsageError("output-of-what", "--output is for --csv, --prometheus and --html")
    if output is not None:
        from patchctl.commands.output import refuse_source

        refuse_source(output, logs)
    if follow and "-" in logs:
        raise UsageError("follow-stdin", "standard input cannot be followed: it is read to its end without --follow")
