"""Finds the program in a command: what comes before it are wrappers and assignments, what comes after it its options.

Wrappers are not taken apart, since the program is found by its own look: ``vllm serve``, ``python -m`` with one of
vLLM's modules, or the script of one. So an option of a wrapper cannot be read wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from patchctl.launch.values import Word, assigned_name, base_name

_SERVERS = frozenset({"vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server"})
_COMMAND_LINES = frozenset({"vllm.entrypoints.cli.main", "vllm.entrypoints.cli", "vllm"})
_SCRIPTS = ("vllm/entrypoints/openai/api_server.py", "vllm/entrypoints/api_server.py")
_OTHERS = frozenset({"bench", "chat", "complete", "run-batch", "collect-env", "launch", "download-kernels", "snapshot"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash", "ksh"})
_REMOTE = frozenset(
    {"docker", "podman", "nerdctl", "kubectl", "oc", "ssh", "srun", "apptainer", "singularity", "nsenter"}
)
_WRAPPERS = frozenset(
    {
        "accelerate",
        "cgexec",
        "chroot",
        "chrt",
        "command",
        "conda",
        "doas",
        "dumb-init",
        "env",
        "exec",
        "gdb",
        "hatch",
        "ionice",
        "mamba",
        "micromamba",
        "mpirun",
        "nice",
        "nohup",
        "nsys",
        "numactl",
        "pdm",
        "pipenv",
        "pixi",
        "poetry",
        "prlimit",
        "py-spy",
        "setarch",
        "setpriv",
        "setsid",
        "stdbuf",
        "strace",
        "sudo",
        "systemd-run",
        "taskset",
        "time",
        "timeout",
        "tini",
        "torchrun",
        "uv",
        "uvx",
        "with-contenv",
    }
)


class Program(NamedTuple):
    """Where the program's own words begin.

    Attributes:
        start: index of the first word behind it.
        serve: it is ``vllm serve``.
    """

    start: int
    serve: bool


def find_program(words: Sequence[Word]) -> Program | None:
    """Return where the options of vLLM's server begin; None: the command does not start it."""
    texts = [word.text for word in words]
    for at, text in enumerate(texts):
        following = texts[at + 1] if at + 1 < len(texts) else ""
        module, end = (following, at + 2) if text == "-m" else (text[2:], at + 1) if text.startswith("-m") else ("", 0)
        if module in _SERVERS:
            return Program(start=end, serve=False)
        if module in _COMMAND_LINES and texts[end : end + 1] == ["serve"]:
            return Program(start=end + 1, serve=True)
        if base_name(text) == "vllm" and following == "serve":
            return Program(start=at + 2, serve=True)
        if text.endswith(_SCRIPTS):
            return Program(start=at + 1, serve=False)
    return None


def other_command(words: Sequence[Word]) -> str | None:
    """Return the subcommand of vLLM that starts no server, for a word about it."""
    texts = [word.text for word in words]
    behind = (texts[at + 1] for at, text in enumerate(texts[:-1]) if base_name(text) == "vllm")
    return next((text for text in behind if text in _OTHERS), None)


def shell_script(words: Sequence[Word]) -> str | None:
    """Return what ``sh -c SCRIPT`` runs; None: the command is no such call.

    Options before ``-c`` may be joined with it (``-lc``); words behind the script are its own.
    """
    for at, word in enumerate(words):
        if base_name(word.text) not in _SHELLS or word.raw is not None:
            continue
        for number in range(at + 1, len(words)):
            text = words[number].text
            if not text.startswith("-"):
                break
            if not text.startswith("--") and text.endswith("c") and number + 1 < len(words):
                return words[number + 1].text
    return None


def strange_wrapper(before: Sequence[Word]) -> str | None:
    """Return the first word of a command where it is neither an assignment, nor the program, nor a known wrapper."""
    first = next((word for word in before if assigned_name(word.text) is None), None)
    if first is None:
        return None
    name = base_name(first.text)
    known = name in _WRAPPERS or name in _REMOTE or name == "vllm" or name.startswith("python")
    return None if known or first.text.startswith("-m") else first.text


def leads_away(before: Sequence[Word]) -> str | None:
    """Return the wrapper that starts the program in another environment; None: there is none."""
    return next((word.text for word in before if base_name(word.text) in _REMOTE), None)
