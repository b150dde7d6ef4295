"""Commands in sentences: whoever follows one must act on the registry and the environment that the answer is about.

Hints, notes and reasons name commands as ``patchctl VERB``. The options by which the operator named the place are put
in behind the verb, here and nowhere else, so that no sentence can forget them. ``steps`` have them already.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from patchctl.model.shell import shell_line

_READING = ("status", "check", "list", "show", "verify", "doctor", "history", "ps", "lint", "preflight")
_TELLING = ("lock", "report", "hits", "advise")
_WRITING = ("apply", "revert", "hold", "unhold", "retire", "adopt", "restore", "recover")
VERBS = (*_READING, *_TELLING, *_WRITING)
"""Every verb of the command line."""

_WITHOUT_ENVIRONMENT = frozenset({"list", "show", "lint"})
_ENVIRONMENT = frozenset({"--site", "--python"})
_COMMAND = re.compile(rf"(?<![\w./-])patchctl ({'|'.join(VERBS)})(?![\w-])(?P<rest>[^;\t]*?(?=;|\t|\bpatchctl |$))")
_SENTENCES = frozenset({"hint", "message", "remedy", "about", "notes", "step_notes", "todo"})
"""Keys of the document that are read by people; a `reason` is compared by scripts, and stays."""
_VERBATIM = frozenset({"step", "diff", "change", "line", "why", "how", "removal", "transaction"})


def with_options(text: str, given: Sequence[str]) -> str:
    """Return a sentence whose commands carry the options.

    What is put in is quoted so that nothing in it is obeyed by a terminal, wherever it is put in.

    Args:
        text: what is said, on one line.
        given: words as :func:`patchctl.commands.given.given_options` returns them: option, value, and so on. An option
            that a command of the sentence has already stays as it is there.
    """
    if not given or "patchctl " not in text:
        return text
    pairs = list(zip(given[::2], given[1::2], strict=True))
    return _COMMAND.sub(lambda found: _said(found, pairs), text)


def _said(found: re.Match[str], pairs: Sequence[tuple[str, str]]) -> str:
    verb, rest = found[1], found["rest"]
    words = frozenset(rest.split())
    there = words | (_ENVIRONMENT if words & _ENVIRONMENT or verb in _WITHOUT_ENVIRONMENT else frozenset())
    said = shell_line(word for pair in pairs if pair[0] not in there for word in pair)
    return f"patchctl {verb}{' ' * bool(said)}{said}{rest}"


def document_with_options(value: Any, given: Sequence[str], key: str | None = None) -> Any:
    """Return a JSON value whose sentences carry the options; everything else in it is as it was."""
    if isinstance(value, Mapping):
        return {name: document_with_options(it, given, name) for name, it in value.items()}
    if isinstance(value, list):
        return [document_with_options(it, given, key) for it in value]
    return with_options(value, given) if isinstance(value, str) and key in _SENTENCES else value


def record_with_options(line: str, given: Sequence[str]) -> str:
    """Return a record whose sentences carry the options; code, registry text and the steps are as they were."""
    return line if line.partition("\t")[0] in _VERBATIM else with_options(line, given)
