"""YAML files of launches as plain values; see ``documents``. What the values mean is not here."""

from __future__ import annotations

from patchctl.documents import DocumentError, Flaw
from patchctl.documents.yaml import read_yaml as read_documents
from patchctl.errors import PatchctlError

LARGEST = 1 << 20
"""Characters that are read."""
_NOT_YAML = "is not readable as YAML: "
_RENDER = "a template has to be rendered first: helm template, kustomize build, docker compose config"
_CODES = {Flaw.TOO_LARGE: "yaml-too-large", Flaw.TOO_DEEP: "yaml-too-deep", Flaw.NO_LIBRARY: "no-yaml"}


class YamlError(PatchctlError):
    """The text cannot be read as YAML, or nothing here can read YAML."""


def read_yaml(text: str, name: str) -> tuple[object, ...]:
    """Return the documents of a YAML text.

    Args:
        text: the text.
        name: what it is called, for messages.

    Raises:
        YamlError: PyYAML is missing, the text is no YAML, or it is too large, too deep or refers to itself too much.
    """
    try:
        return read_documents(text, limit=LARGEST)
    except DocumentError as error:
        hint = error.problem.hint or (_RENDER if error.flaw is Flaw.SYNTAX else None)
        where = f", line {error.line}" if error.line is not None else ""
        said = error.what.startswith(_NOT_YAML)
        message = f"{name}{where}: {error.what.removeprefix(_NOT_YAML)}" if said else f"{name} {error.what}"
        raise YamlError(_CODES.get(error.flaw, "bad-yaml"), message, hint=hint) from None
