"""The verb that looks at how the service is started: ``advise``. It only reads."""

from __future__ import annotations

from typing import Annotated

import typer

from patchctl.cli.options import Common, with_common
from patchctl.cli.runner import run
from patchctl.commands import Clock, Place, Report

_Files = list[str] | None


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command(
        "advise",
        short_help="Which known bugs a launch meets, and the command that meets none.",
        # What comes first that is no option of ours is the command; whatever follows it is the command's own.
        context_settings={"allow_interspersed_args": False},
    )(advise)


@with_common
def advise(
    common: Common,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="The command that starts the service.", show_default=False),
    ] = None,
    line: Annotated[_Files, typer.Option("--command", metavar="LINE", help="A shell line; repeatable.")] = None,
    unit: Annotated[_Files, typer.Option("--unit", metavar="FILE", help="A systemd unit; repeatable.")] = None,
    compose: Annotated[_Files, typer.Option("--compose", metavar="FILE", help="A compose file; repeatable.")] = None,
    service: Annotated[_Files, typer.Option("--service", metavar="NAME", help="This service of it alone.")] = None,
    kubernetes: Annotated[
        _Files, typer.Option("--kubernetes", metavar="FILE", help="A Kubernetes manifest; repeatable.")
    ] = None,
    container: Annotated[
        _Files, typer.Option("--container", metavar="NAME", help="This container of it alone.")
    ] = None,
    pid: Annotated[list[int] | None, typer.Option("--pid", metavar="PID", min=1, help="A running process.")] = None,
    all_running: Annotated[
        bool, typer.Option("--all-running", help="Every running process of the environment.")
    ] = False,
    gpu: Annotated[_Files, typer.Option("--gpu", metavar="NAME", help="The GPU, such as sm120; repeatable.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Count and correct what is only possible, too.")] = False,
) -> None:
    """Say which known bugs a launch meets, what covers each, and how to start it without; exit 1 for uncovered ones."""

    def act(place: Place, _: Clock) -> Report:
        from patchctl.commands.advise import advise as look
        from patchctl.commands.sources import Wanted

        wanted = Wanted(
            command=tuple(command or ()),
            lines=tuple(line or ()),
            units=tuple(unit or ()),
            compose=tuple(compose or ()),
            services=tuple(service or ()),
            kubernetes=tuple(kubernetes or ()),
            containers=tuple(container or ()),
            pids=tuple(pid or ()),
            all_running=all_running,
            gpus=tuple(gpu or ()),
        )
        return look(place, wanted, strict=strict)

    run("advise", common, act)
