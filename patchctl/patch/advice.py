"""What an entry says of launches: under which ones its bug can trigger (``[[trigger]]``), and which avoid it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from patchctl.model import BuildRule
from patchctl.patch.entry import Avoid, Trigger
from patchctl.patch.rules import read_rule
from patchctl.patch.table import Table
from patchctl.patch.texts import environment_name_problem

_OPTION = re.compile(r"--[a-z0-9]+(?:-[a-z0-9]+)*")
_CHIP = re.compile(r"[a-z0-9*?._-]+")
_CONDITIONS = ("model", "args", "json", "env", "hardware", "versions")


def read_avoid(table: Table) -> Avoid:
    """Read one ``[[avoid]]``."""
    if not any(key in table for key in ("args", "env", "remove_args")):
        message = "must have at least one of `args`, `env` and `remove_args`"
        table.document.report("avoid-without-advice", table.path, message, table.example("args"))
    env = table.strings("env")
    for variable in env:
        _check_variable(table, variable)
    return Avoid(
        args=table.texts("args"),
        env=env,
        remove_args=table.texts("remove_args"),
        when=table.text("when"),
        cost=table.text("cost"),
        rule=_rule(table),
        hardware=_hardware(table),
    )


def read_trigger(table: Table) -> Trigger:
    """Read one ``[[trigger]]``."""
    if not any(key in table for key in _CONDITIONS):
        message = 'must have at least one condition; a bug that any launch can meet has `versions = ">=0"`'
        table.document.report("trigger-without-condition", table.path, message, table.example("model"))
    return Trigger(
        model=table.texts("model"),
        args=_args(table),
        json=_json(table),
        env=_env(table),
        hardware=_hardware(table),
        rule=_rule(table),
        note=table.text("note"),
        doubt=table.text("doubt"),
    )


def _hardware(table: Table) -> tuple[str, ...]:
    chips = table.texts("hardware")
    for index, chip in enumerate(chips):
        if not _CHIP.fullmatch(chip):
            table.report_item("bad-hardware", "hardware", index, f"is no name of a chip in lower case: {chip!r}")
    return chips


def _rule(table: Table) -> BuildRule | None:
    return read_rule(table, label="any") if "versions" in table or "label" in table else None


def _args(table: Table) -> dict[str, bool | tuple[str, ...]]:
    found: dict[str, bool | tuple[str, ...]] = {}
    for option, value in _table_of(table, "args").items():
        _check_option(table, "args", option)
        found[option] = value if isinstance(value, bool) else _values(table, ("args", option), value)
    return found


def _json(table: Table) -> dict[str, dict[str, tuple[str, ...]]]:
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for option, keys in _table_of(table, "json").items():
        _check_option(table, "json", option)
        if not isinstance(keys, dict):
            path = (*table.path, "json", option)
            table.document.report("wrong-type", path, "must be a table of key = list of values", table.example("json"))
            continue
        found[option] = {key: _values(table, ("json", option, key), value) for key, value in keys.items()}
    return found


def _env(table: Table) -> dict[str, tuple[str, ...]]:
    found = {}
    for variable, value in _table_of(table, "env").items():
        _check_variable(table, variable)
        found[variable] = _values(table, ("env", variable), value)
    return found


def _table_of(table: Table, key: str) -> Mapping[str, object]:
    value = table.raw(key)
    if value is None or isinstance(value, dict):
        return value or {}
    table.report("wrong-type", key, "must be a table")
    return {}


def _values(table: Table, path: tuple[str, ...], value: object) -> tuple[str, ...]:
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return tuple(value)
    message = "must be a list of strings" + (", or true or false" if path[0] == "args" else "")
    table.document.report("wrong-type", (*table.path, *path), message, table.example(path[0]))
    return ()


def _check_option(table: Table, key: str, option: str) -> None:
    if not _OPTION.fullmatch(option):
        message = "is no long option, such as --max-num-seqs"
        table.document.report("bad-option", (*table.path, key, option), message, table.example(key))


def _check_variable(table: Table, variable: str) -> None:
    problem = environment_name_problem(variable)
    if problem is not None:
        table.document.report("bad-variable", (*table.path, "env", variable), problem, table.example("env"))
