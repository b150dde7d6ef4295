"""What a launch comes to: the value that counts where an option, a key or a variable is given more than once.

The rules are those of vLLM's parser (``FlexibleArgumentParser.parse_args``): the last of several plain options counts;
dotted ones of one spelling become one object, which stands behind everything else and therefore replaces a JSON value
given as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from patchctl.documents import DocumentError, read_json
from patchctl.documents.values import LONGEST_NUMBER
from patchctl.launch.json_text import LONGEST, looked_up, read_object, same_key
from patchctl.launch.table import INTO_JSON
from patchctl.launch.values import Item, Launch

_HUMAN = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT])")
_NOTHING_SAID = frozenset({"", "None"})
"""Values that vLLM takes for none."""
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class State(Enum):
    """Whether something is given."""

    ABSENT = "absent"
    GIVEN = "given"
    UNKNOWN = "unknown"


class Reading(NamedTuple):
    """What is known of an option, a key of it, or a variable.

    Attributes:
        state: whether it is given.
        value: of an option its values as texts, of a key what JSON says, of a variable its text.
        off: it is given to switch off.
        why: where the state is UNKNOWN, the reason, as a clause.
    """

    state: State
    value: object = None
    off: bool = False
    why: str = ""


class JsonOption(NamedTuple):
    """A JSON option as vLLM puts it together.

    Attributes:
        state: GIVEN: ``value`` is the object; UNKNOWN: it cannot be read.
        value: the object; empty where nothing is given.
        plain: the whole-object item that counts; None: dotted items count, or nothing does.
        dotted: the items that make the object.
        head: how the dotted items spell the option.
        why: what cannot be read, as a clause.
        lost: pieces are given that vLLM does not take, since others replace them.
    """

    state: State
    value: dict[str, object]
    plain: Item | None = None
    dotted: tuple[Item, ...] = ()
    head: str = ""
    why: str = ""
    lost: bool = False


def option(launch: Launch, name: str) -> Reading:
    """Return what counts of a plain option, by its long name."""
    last = last_item(launch, name)
    if last is None:
        if launch.open_options:
            return Reading(State.UNKNOWN, why=f"whether {name} is given cannot be seen")
        return Reading(State.ABSENT)
    if any(value.raw is not None for value in last.values):
        return Reading(State.UNKNOWN, why=f"the value of {name} is put in by the shell")
    return Reading(State.GIVEN, value=tuple(value.text for value in last.values), off=last.negated)


def last_item(launch: Launch, name: str) -> Item | None:
    """Return the last item that gives an option as a whole."""
    found = [item for item in launch.options if item.name == name and not item.keys]
    return found[-1] if found else None


def json_option(launch: Launch, name: str) -> JsonOption:
    """Return a JSON option as vLLM puts it together."""
    plain = last_item(launch, name)
    groups: dict[str, list[Item]] = {}
    for item in launch.options:
        if item.name == name and item.keys:
            groups.setdefault(item.head.replace("_", "-"), []).append(item)
    lost = len(groups) + (plain is not None) > 1
    if groups:
        head, items = list(groups.items())[-1]
        return _from_dotted(head, items, lost=lost)
    if plain is None:
        folded = _folded(launch, name, {})
        if folded or not launch.open_options:
            return JsonOption(State.GIVEN if folded else State.ABSENT, value=folded)
        return JsonOption(State.UNKNOWN, value={}, why=f"whether {name} is given cannot be seen")
    if any(value.raw is not None for value in plain.values):
        return JsonOption(State.UNKNOWN, value={}, plain=plain, why=f"the value of {name} is put in by the shell")
    text = plain.values[0].text if plain.values else ""
    if text in _NOTHING_SAID:
        return JsonOption(State.ABSENT, value=_folded(launch, name, {}), lost=lost)
    value = read_object(text)
    if value is None:
        what = "no JSON object" if _is_json(text) else "broken JSON"
        return JsonOption(State.UNKNOWN, value={}, plain=plain, why=f"the value of {name} is {what}")
    return JsonOption(State.GIVEN, value=_folded(launch, name, value), plain=plain, lost=lost)


def json_key(launch: Launch, name: str, path: Sequence[str]) -> Reading:
    """Return what counts of one key of a JSON option."""
    whole = json_option(launch, name)
    if whole.state is State.UNKNOWN:
        return Reading(State.UNKNOWN, why=whole.why)
    found, value = looked_up(whole.value, path)
    return Reading(State.GIVEN, value=value) if found else Reading(State.ABSENT)


def variable(launch: Launch, name: str) -> Reading:
    """Return what a variable is set to; one that is not seen counts as not set."""
    for index, assigned in reversed(launch.assigned):
        if assigned == name:
            word = launch.before[index]
            if word.raw is not None:
                return Reading(State.UNKNOWN, why=f"the value of {name} is put in by the shell")
            return Reading(State.GIVEN, value=word.text.partition("=")[2])
    if name in launch.environment:
        return Reading(State.GIVEN, value=launch.environment[name])
    if name in launch.hidden:
        return Reading(State.UNKNOWN, why=f"the value of {name} comes from elsewhere and cannot be seen")
    if launch.open_environment:
        return Reading(State.UNKNOWN, why=f"whether {name} is set cannot be seen")
    return Reading(State.ABSENT)


def model_of(launch: Launch) -> Reading:
    """Return the model: ``--model``, else the loose word of ``vllm serve``."""
    given = option(launch, "--model")
    if given.state is not State.ABSENT and not (given.state is State.UNKNOWN and last_item(launch, "--model") is None):
        values = given.value if isinstance(given.value, tuple) else ()
        return given._replace(value=values[0] if values else None)
    loose = next((item.words[0] for item in launch.items if not item.name), None) if launch.serve else None
    if loose is not None and loose.raw is None:
        return Reading(State.GIVEN, value=loose.text)
    if loose is not None:
        return Reading(State.UNKNOWN, why="the model is put in by the shell")
    if launch.open_options or any(not item.known and item.values for item in launch.items if item.name):
        return Reading(State.UNKNOWN, why="the model cannot be seen")
    return Reading(State.ABSENT)


def dotted_value(text: str) -> object:
    """Return what vLLM makes of the value of a dotted option: JSON, a number such as ``80g``, else the text."""
    try:
        return read_json(text, limit=LONGEST)
    except DocumentError:
        pass
    if len(text) > LONGEST_NUMBER:
        return text
    found = _HUMAN.fullmatch(text.strip())
    if found is None:
        return int(text) if text.strip().isdecimal() else text
    number, unit = found.groups()
    if unit in _DECIMAL:
        return int(float(number) * _DECIMAL[unit])
    return int(number) * _BINARY[unit] if number.isdecimal() else text


def _from_dotted(head: str, items: Sequence[Item], *, lost: bool) -> JsonOption:
    value: dict[str, object] = {}
    for item in items:
        if not item.values or item.values[0].raw is not None:
            why = f"the value of {head}.{'.'.join(item.keys)} cannot be seen"
            return JsonOption(State.UNKNOWN, value={}, dotted=tuple(items), head=head, why=why, lost=lost)
        text = item.values[0].text
        _merge(value, item.keys, text.split(",") if item.adds else dotted_value(text))
    return JsonOption(State.GIVEN, value=value, dotted=tuple(items), head=head, lost=lost)


def _merge(into: dict[str, object], keys: Sequence[str], value: object) -> None:
    """Objects join, lists grow, anything else takes the place of what was there."""
    *outer, last = keys
    for key in outer:
        inner = into.get(key)
        if not isinstance(inner, dict):
            inner = into[key] = {}
        into = inner
    old = into.get(last)
    if isinstance(old, dict) and isinstance(value, dict):
        for key, inner in value.items():
            _merge(old, (key,), inner)
    elif isinstance(old, list) and isinstance(value, list):
        into[last] = old + value
    else:
        into[last] = value


def _folded(launch: Launch, name: str, value: dict[str, object]) -> dict[str, object]:
    """The object with what other options put into it."""
    for other, key in INTO_JSON.get(name, ()):
        given = option(launch, other)
        if given.state is State.GIVEN and given.value and not any(same_key(it, key) for it in value):
            value = {**value, key: dotted_value(given.value[0])}  # type: ignore[index]
    return value


def _is_json(text: str) -> bool:
    try:
        read_json(text, limit=LONGEST)
    except DocumentError:
        return False
    return True
