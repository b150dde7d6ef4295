"""Where launches come from: a command, a shell line, a systemd unit, compose and Kubernetes files, live processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from patchctl.commands.place import Place
from patchctl.commands.plainfile import read_text, text_or_none
from patchctl.errors import PatchctlError, Problem, UsageError
from patchctl.launch import (
    Command,
    Launch,
    config_path,
    launches_in,
    launches_of,
    misread_config,
    not_a_server,
    plain,
    unread_config,
    with_config,
)

_NEEDED = "a command that starts vLLM's server: vllm serve MODEL ..., or python -m vllm.entrypoints.openai.api_server"


class Wanted(NamedTuple):
    """What the operator asks about; everything may be empty.

    Attributes:
        command: the words behind ``--``.
        lines: shell lines.
        units: systemd unit files.
        compose: compose files.
        services: names of services in them; empty: all.
        kubernetes: Kubernetes manifests.
        containers: names of containers in them; empty: all.
        pids: processes.
        all_running: every process of the environment.
        gpus: what the GPUs are called.
    """

    command: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    compose: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    kubernetes: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    pids: tuple[int, ...] = ()
    all_running: bool = False
    gpus: tuple[str, ...] = ()

    @property
    def anything(self) -> bool:
        """Whether a launch is asked about at all."""
        return bool(
            self.command or self.lines or self.units or self.compose or self.kubernetes or self.pids or self.all_running
        )


class Found(NamedTuple):
    """One launch that was found.

    Attributes:
        source: where, for people.
        launch: what it is.
        local: how to read a file that it names, None: such files are not here.
        pid: the process; None: it is none.
    """

    source: str
    launch: Launch
    local: Callable[[str], str | None] | None = None
    pid: int | None = None


class Sources(NamedTuple):
    """All that was found.

    Attributes:
        found: the launches.
        warnings: what was looked at and is no launch, or cannot be read.
    """

    found: tuple[Found, ...]
    warnings: tuple[Problem, ...]


def launches_from(place: Place, wanted: Wanted) -> Sources:
    """Read every launch that is asked about, but those of processes.

    Raises:
        PatchctlError: a file or a line cannot be read, or holds no launch.
        UsageError: a service or container is named without its file.
    """
    if wanted.services and not wanted.compose:
        raise UsageError("no-compose", "--service names a service of a compose file", hint="add --compose FILE")
    if wanted.containers and not wanted.kubernetes:
        raise UsageError("no-manifest", "--container names a container of a manifest", hint="add --kubernetes FILE")
    groups = [*_typed(place, wanted), *_units(wanted), *_manifests(wanted)]
    found = [it for group in groups for it in group.found]
    warnings = [it for group in groups for it in group.warnings]
    return Sources(found=tuple(configured(it) for it in found), warnings=tuple(warnings))


def configured(found: Found) -> Found:
    """Return the launch with the options of the file that its ``--config`` names."""
    misread = misread_config(found.launch)
    path = config_path(found.launch)
    if misread is not None:
        return found._replace(launch=found.launch._replace(warnings=(*found.launch.warnings, misread)))
    if path is None:
        return found
    text = found.local(path) if found.local is not None else None
    if text is None:
        return found._replace(launch=unread_config(found.launch, f"--config {path} cannot be read from here"))
    from patchctl.launch.yaml_text import YamlError, read_yaml

    try:
        documents = read_yaml(text, path)
    except YamlError as error:
        return found._replace(launch=unread_config(found.launch, error.problem.message))
    return found._replace(launch=with_config(found.launch, path, documents[0] if documents else {}))


def _typed(place: Place, wanted: Wanted) -> Iterator[Sources]:
    def local(path: str) -> str | None:
        return text_or_none(str(Path(place.cwd or "/", path)))

    lines = list(wanted.lines)
    if len(wanted.command) == 1 and " " in wanted.command[0].strip():
        lines.insert(0, wanted.command[0])  # somebody quoted the whole line
    elif wanted.command:
        words = plain(wanted.command)
        launches = launches_of(Command(words=words))
        if not launches:
            raise PatchctlError("no-launch", not_a_server(words) or "the command does not start vLLM", hint=_NEEDED)
        yield _sources("the command", launches, local)
    for line in lines:
        launches = launches_in(line)
        if not launches:
            raise PatchctlError("no-launch", "the line does not start vLLM", hint=_NEEDED)
        yield _sources("the line", launches, local)


def _units(wanted: Wanted) -> Iterator[Sources]:
    from patchctl.launch.unit import commands_of_unit

    for path in wanted.units:
        commands = commands_of_unit(read_text(path), lambda name: text_or_none(name) if name.startswith("/") else None)
        launches = [launch for command in commands for launch in launches_of(command)]
        if not launches:
            raise PatchctlError("no-launch", f"no ExecStart= of {path} starts vLLM", hint=_NEEDED)
        yield _sources(path, launches, lambda name: text_or_none(name) if name.startswith("/") else None)


def _manifests(wanted: Wanted) -> Iterator[Sources]:
    from patchctl.launch.manifest import Container, compose_containers, pod_containers
    from patchctl.launch.yaml_text import read_yaml

    def beside(path: str) -> Callable[[str], str | None]:
        folder = Path(path).parent
        return lambda name: text_or_none(str(folder / name))

    for path in wanted.compose:
        documents = read_yaml(read_text(path), path)
        services: tuple[Container, ...] = compose_containers(documents[0] if documents else {}, beside(path))
        yield _containers(path, services, wanted.services, "service")
    for path in wanted.kubernetes:
        containers = pod_containers(read_yaml(read_text(path), path))
        yield _containers(path, containers, wanted.containers, "container")


def _containers(path: str, containers: tuple[object, ...], names: tuple[str, ...], kind: str) -> Sources:
    from patchctl.launch.manifest import Container

    every = [it for it in containers if isinstance(it, Container)]
    missing = [name for name in names if name not in {it.name for it in every}]
    if missing:
        known = ", ".join(dict.fromkeys(it.name for it in every)) or "none"
        raise PatchctlError("no-such-container", f"{path} has no {kind} {missing[0]}", hint=f"it has: {known}")
    found: list[Found] = []
    warnings: list[Problem] = []
    for container in every:
        if names and container.name not in names:
            continue
        called = f"{path}: {container.where + ', ' if container.where else ''}{kind} {container.name}"
        try:
            found += _sources(called, launches_of(container.command), None).found
        except PatchctlError as error:
            warnings.append(error.problem._replace(message=f"{called}: {error.problem.message}"))
    if not found:
        hint = warnings[0].message if warnings else _NEEDED
        raise PatchctlError("no-launch", f"no {kind} of {path} starts vLLM as far as it says", hint=hint)
    return Sources(found=tuple(found), warnings=tuple(warnings))


def _sources(
    source: str, launches: tuple[Launch, ...] | list[Launch], local: Callable[[str], str | None] | None
) -> Sources:
    return Sources(found=tuple(Found(source=source, launch=it, local=local) for it in launches), warnings=())
