"""The file that ``--config`` names: its values as options, the way vLLM turns them into words.

Source of the rules: ``_pull_args_from_config`` and ``load_config_file`` in ``vllm/utils/argparse_utils.py``. Reading
the file is not here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from patchctl.launch.options import parse_options
from patchctl.launch.values import Item, Launch, Word

_OPTION = "--config"
_MOST_WARNINGS = 20


def config_path(launch: Launch) -> str | None:
    """Return the file as it is written; None: the launch names none, or the shell puts it in."""
    item = _item(launch)
    return item.values[0].text if item is not None and item.values and item.values[0].raw is None else None


def misread_config(launch: Launch) -> str | None:
    """Return why vLLM leaves the file unread, as a sentence; None: it reads it, or there is none."""
    item = _item(launch)
    if item is None or (item.words[0].text == _OPTION and item.values):
        return None
    return f"{item.words[0].text}: vLLM reads the file only when --config and its name are two words"


def with_config(launch: Launch, path: str, values: object) -> Launch:
    """Return the launch with the options of its file.

    Args:
        launch: the launch.
        path: the file as it is written.
        values: what the file says.
    """
    if not isinstance(values, Mapping):
        return unread_config(launch, f"{path} holds no options: they are one mapping")
    try:
        words = tuple(Word(word) for word in _words(values))
    except TypeError:
        # A date or bytes: vLLM stops there too.
        return unread_config(launch, f"{path} holds a value that cannot be made into JSON, as vLLM would")
    parsed = parse_options(words, loose=0)
    told = [f"{path}: {warning}" for warning in parsed.warnings[:_MOST_WARNINGS]]
    if len(parsed.warnings) > _MOST_WARNINGS:
        told.append(f"{path}: {len(parsed.warnings) - _MOST_WARNINGS} warnings more")
    return launch._replace(config=parsed.items, config_file=path, warnings=(*launch.warnings, *told))


def unread_config(launch: Launch, why: str) -> Launch:
    """Return the launch with the word that options of its file are not seen."""
    return launch._replace(open_options=True, warnings=(*launch.warnings, why))


def _item(launch: Launch) -> Item | None:
    found = [item for item in launch.items if item.name == _OPTION]
    return found[-1] if found else None


def _words(values: Mapping[object, object]) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, bool):
            yield f"--{key}" if value else f"--no-{key}"
        elif isinstance(value, list):
            yield from (f"--{key}", *(str(item) for item in value)) if value else ()
        elif isinstance(value, dict):
            yield from (f"--{key}", json.dumps(value))
        else:
            yield from (f"--{key}", str(value))
