"""Containers of compose and Kubernetes files as commands. The files come as plain values; see ``yaml_text``.

Sources of the rules: the Compose specification (services, interpolation) and the Kubernetes API (``command``, ``args``,
``env``, and ``$(NAME)`` in them).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from patchctl.launch.launches import Command
from patchctl.launch.options import looks_like_option
from patchctl.launch.program import find_program, shell_script
from patchctl.launch.shell import ShellError
from patchctl.launch.unit import file_variables, unresolved
from patchctl.launch.values import Word

_ENTRYPOINT = (Word("vllm"), Word("serve"))
_INTERPOLATION = re.compile(
    r"\$(?:(\$)|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-?+])([^{}$]*))?\})", re.ASCII
)
_REFERENCE = re.compile(r"\$(?:(\$)\(|\(([A-Za-z_][A-Za-z0-9_.-]*)\))")
_DOLLAR, _UNSEEN = "\ue000", "\ue001"
"""Stand for a plain dollar sign, and for that of a variable which cannot be seen, while words are split."""


class Container(NamedTuple):
    """One container and what it runs.

    Attributes:
        name: of the service or the container.
        where: what it stands in, such as ``Deployment/llm``; empty in a compose file.
        command: what it runs; no words: it says nothing, and its image decides.
    """

    name: str
    where: str
    command: Command


def compose_containers(document: object, read_variables: Callable[[str], str | None]) -> tuple[Container, ...]:
    """Return the services of a compose file.

    Args:
        document: its value.
        read_variables: gives the text of a file that ``env_file`` names, as it is written; None: not readable.

    Raises:
        ShellError: a command cannot be read.
    """
    services = _map(_map(document).get("services"))
    return tuple(
        Container(name=str(name), where="", command=_service(_map(service), read_variables))
        for name, service in services.items()
    )


def pod_containers(documents: Iterable[object]) -> tuple[Container, ...]:
    """Return the containers of every pod that Kubernetes manifests describe, wherever it stands in them."""
    return tuple(found for document in documents for found in _pods(document, "", 0))


def _service(service: Mapping[object, object], read_variables: Callable[[str], str | None]) -> Command:
    files: dict[str, str] = {}
    warnings: list[str] = []
    for path, required in _env_files(service.get("env_file")):
        text = read_variables(path)
        if text is not None:
            files |= file_variables(text)
        elif required:
            warnings.append(f"env_file {path} cannot be read: the variables in it are not known")
    if "extends" in service:
        warnings.append("what the service extends is not read")
    assigned: list[Word] = []
    hidden: set[str] = set()
    for name, value in _environment(service.get("environment")):
        word = None if value is None else _interpolated(f"{name}={value}")
        files.pop(name, None)  # environment: beats env_file:
        if word is None or word.raw is not None:
            hidden.add(name)
        else:
            assigned.append(word)
    words, told = _container_words(_compose_words(service.get("entrypoint")), _compose_words(service.get("command")))
    return Command(
        words=(*assigned, *words) if words else (),
        environment=files,
        hidden=frozenset(hidden),
        open_environment=any("not known" in it for it in warnings),
        warnings=(*warnings, *told),
    )


def _container_words(
    entry: Sequence[Word] | None, command: Sequence[Word] | None
) -> tuple[tuple[Word, ...], tuple[str, ...]]:
    """What runs, and what is assumed for it: without an entry point the image's is taken for ``vllm serve``."""
    words = (*(entry or ()), *(command or ()))
    if entry or not words or find_program(words) is not None or shell_script(words) is not None:
        return words, ()
    if looks_like_option(words[0].text) or len(words) == 1 or looks_like_option(words[1].text):
        return (*_ENTRYPOINT, *words), ("the image's entry point is taken to be vllm serve",)
    return words, ()


def _compose_words(value: object) -> tuple[Word, ...] | None:
    if isinstance(value, str):
        return _line_words(value)
    if isinstance(value, list):
        return tuple(_interpolated(_text(item)) for item in value)
    return None


def _line_words(line: str) -> tuple[Word, ...]:
    """A command in one text: compose puts its variables in, splits it as a shell would, and calls none."""
    try:
        words = shlex.split(_marked(line))
    except ValueError as error:
        raise ShellError("shell-quote", f"a command of the compose file cannot be split: {error}") from None
    return tuple(_unmarked(word) for word in words)


def _interpolated(text: str) -> Word:
    return _unmarked(_marked(text))


def _marked(text: str) -> str:
    """Put defaults in for variables of compose's own environment, which is not seen; mark what has none."""
    return _INTERPOLATION.sub(_mark, text.replace(_DOLLAR, "").replace(_UNSEEN, ""))


def _mark(found: re.Match[str]) -> str:
    dollar, bare, braced, operator, default = found.groups()
    if dollar:
        return _DOLLAR
    if operator is not None and operator.endswith("-"):
        return default or ""
    return f"{_UNSEEN}{{{bare or braced}}}"


def _unmarked(text: str) -> Word:
    plain = text.replace(_DOLLAR, "$").replace(_UNSEEN, "$")
    if _UNSEEN not in text:
        return Word(plain)
    return unresolved(plain, text.replace("$", "$$").replace(_DOLLAR, "$$").replace(_UNSEEN, "$"))


def _environment(value: object) -> Iterator[tuple[str, str | None]]:
    if isinstance(value, dict):
        for name, text in value.items():
            yield str(name), None if text is None else _text(text)
    for item in value if isinstance(value, list) else ():
        name, sign, text = _text(item).partition("=")
        yield name, text if sign else None


def _env_files(value: object) -> Iterator[tuple[str, bool]]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            yield item, True
        elif isinstance(item, dict) and isinstance(item.get("path"), str):
            yield str(item["path"]), item.get("required") is not False


def _pods(value: object, where: str, depth: int) -> Iterator[Container]:
    """Every mapping that has ``containers`` is a pod's specification, whatever resource it stands in."""
    if isinstance(value, list):
        for item in value:
            yield from _pods(item, where, depth + 1)
    if not isinstance(value, dict):
        return
    if isinstance(value.get("kind"), str):
        name = _map(value.get("metadata")).get("name")
        where = f"{value['kind']}/{name}" if name is not None else value["kind"]
    containers = value.get("containers")
    for item in containers if isinstance(containers, list) else ():
        container = _map(item)
        if container:
            yield Container(name=_text(container.get("name")), where=where, command=_container(container))
    for key, inner in value.items():
        if key not in {"containers", "initContainers", "ephemeralContainers"}:
            yield from _pods(inner, where, depth + 1)


def _container(container: Mapping[object, object]) -> Command:
    known: dict[str, str] = {}
    hidden: set[str] = set()
    for item in _list(container.get("env")):
        entry = _map(item)
        name = _text(entry.get("name"))
        word = None if "valueFrom" in entry else _resolved(_text(entry.get("value", "")), known, hidden)
        known.pop(name, None)
        hidden.discard(name)
        if word is None or word.raw is not None:
            hidden.add(name)
        else:
            known[name] = word.text
    entry_words, arguments = (_resolved_list(container.get(key), known, hidden) for key in ("command", "args"))
    words, told = _container_words(entry_words, arguments)
    unseen = bool(_list(container.get("envFrom")))
    warnings = ("envFrom: the variables in it are not known",) if unseen else ()
    assigned = tuple(Word(f"{name}={value}") for name, value in known.items())
    return Command(
        words=(*assigned, *words) if words else (),
        hidden=frozenset(hidden),
        open_environment=unseen,
        warnings=(*warnings, *told),
    )


def _resolved_list(value: object, known: Mapping[str, str], hidden: Collection[str]) -> tuple[Word, ...] | None:
    return tuple(_resolved(_text(item), known, hidden) for item in value) if isinstance(value, list) else None


def _resolved(text: str, known: Mapping[str, str], hidden: Collection[str]) -> Word:
    """``$(NAME)`` becomes the value of a variable of the container, ``$$(`` is ``$(``; what is no variable stays."""
    marked = _REFERENCE.sub(lambda found: _reference(found, known, hidden), text.replace(_UNSEEN, ""))
    plain = marked.replace(_UNSEEN, "$")
    if _UNSEEN not in marked:
        return Word(plain)
    return unresolved(plain, marked.replace("$", "$$").replace(_UNSEEN, "$"))


def _reference(found: re.Match[str], known: Mapping[str, str], hidden: Collection[str]) -> str:
    name = found[2]
    if name is None:
        return "$("
    if name in known:
        return known[name]
    return f"{_UNSEEN}{{{name}}}" if name in hidden else found[0]


def _map(value: object) -> Mapping[object, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    """A scalar as YAML's author wrote it, as near as its value tells."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


__all__ = ["Container", "ShellError", "compose_containers", "pod_containers"]
