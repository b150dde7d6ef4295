"""Exact edits of a launch: what is not meant stays word for word, and what cannot be done exactly is not done.

An edit that would change nothing gives the very same launch back, which is how a launch is known to avoid something
already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from patchctl.launch.effective import JsonOption, State, dotted_value, json_option, last_item, variable
from patchctl.launch.json_text import dumped, leaves, looked_up, read_object, same_key, with_value
from patchctl.launch.options import parse_options
from patchctl.launch.table import INTO_JSON
from patchctl.launch.values import Item, Launch, Word, assigned_name, giver

_WITH_VALUE = frozenset(
    {"-u", "-g", "-C", "-D", "-R", "-T", "-U", "-h", "-p", "-r", "-t", "--unset", "--chdir", "--user"}
)
"""Options of ``env`` and ``sudo`` whose value is the next word."""


class Edited(NamedTuple):
    """What came of an edit.

    Attributes:
        launch: with the edit; the launch as it was where there is a problem.
        problem: why it cannot be done exactly, as a clause; None: it is done.
    """

    launch: Launch
    problem: str | None = None


def edited(
    launch: Launch, *, args: Sequence[str] = (), env: Mapping[str, str] | None = None, remove: Sequence[str] = ()
) -> Edited:
    """Leave options out, give others, set variables.

    Args:
        launch: what to edit.
        args: options as one writes them. An object is merged into the one that is given, key by key.
        env: variables to set.
        remove: options to leave out, dotted forms of them included.
    """
    now = launch
    for spelled in remove:
        now, problem = _without(now, spelled)
        if problem is not None:
            return Edited(launch, problem)
    parsed = parse_options(tuple(Word(word) for word in args), loose=0)
    if parsed.warnings:
        return Edited(launch, f"the advice itself cannot be read: {parsed.warnings[0]}")
    for item in parsed.items:
        now, problem = _with(now, item)
        if problem is not None:
            return Edited(launch, problem)
    for name, value in (env or {}).items():
        now, problem = _with_variable(now, name, value)
        if problem is not None:
            return Edited(launch, problem)
    return Edited(now)


def _without(launch: Launch, spelled: str) -> Edited:
    parsed = parse_options((Word(spelled),), loose=0)
    name = parsed.items[0].name
    if any(item.name == name for item in launch.config):
        return Edited(launch, f"{name} is in {launch.config_file}: take it out there")
    kept = tuple(item for item in launch.items if item.name != name)
    return Edited(launch if len(kept) == len(launch.items) else launch._replace(items=kept))


def _with(launch: Launch, item: Item) -> Edited:
    if item.keys:
        return _with_json(launch, item, {item.keys: dotted_value(item.values[0].text)})
    value = read_object(item.values[0].text) if item.values else None
    if value is not None:
        return _with_json(launch, item, dict(leaves(value)))
    last = last_item(launch, item.name)
    if last is not None and any(it.raw is not None for it in last.values):
        return Edited(launch, f"the value of {item.name} is put in by the shell")
    if last is not None and last.negated == item.negated and _same(last.values, item.values):
        return Edited(launch)
    place = _place(launch.items, last)
    if last is None or place is None:
        return Edited(_appended(launch, item))
    return Edited(_replaced(launch, place, _respelled(last, item)))


def _respelled(old: Item, new: Item) -> Item:
    """The new value behind the old spelling of the option, where that says the same."""
    spelled, sign, _ = old.words[0].text.partition("=")
    if old.negated != new.negated or old.name == "--optimization-level" or len(new.values) != 1 or not old.values:
        return new
    if sign:
        return new._replace(words=(Word(f"{spelled}={new.values[0].text}"),))
    if len(old.words) == 1:  # -qawq
        return new
    return new._replace(words=(old.words[0], *new.values))


def _with_json(launch: Launch, item: Item, wanted: Mapping[tuple[str, ...], object]) -> Edited:
    whole = json_option(launch, item.name)
    if whole.state is State.UNKNOWN:  # what would be put behind it takes its place, and its other keys would be lost
        return Edited(launch, whole.why)
    missing = {path: value for path, value in wanted.items() if looked_up(whole.value, path) != (True, value)}
    if not missing:
        return Edited(launch)
    if whole.dotted:
        return Edited(_dotted(launch, whole, item, missing))
    if whole.plain is None:
        return Edited(_appended(launch, item))
    text = whole.plain.values[0].text
    for path, value in missing.items():
        text = with_value(text, path, value)
    place = _place(launch.items, whole.plain)
    new = Item(words=(), name=item.name, values=(Word(text),), known=True)
    if place is None:  # the file gives it: the whole object goes to the command line, which beats the file
        return Edited(_appended(launch, new._replace(words=(Word(item.name), Word(text)))))
    return Edited(_replaced(launch, place, _respelled(whole.plain, new)))


def _dotted(launch: Launch, whole: JsonOption, item: Item, missing: Mapping[tuple[str, ...], object]) -> Launch:
    """Each key by itself: a dotted option with these keys gets the value, else one is put behind the last."""
    for path, value in missing.items():
        text = _dotted_text(value)
        there = [it for it in launch.items if it.name == item.name and _same_path(it.keys, path) and not it.adds]
        group = [it for it in launch.items if it.name == item.name and it.keys and _spelled_like(it, whole.head)]
        new = Item(
            words=(Word(f"{group[-1].head if group else whole.head}.{'.'.join(path)}"), Word(text)),
            name=item.name,
            keys=path,
            values=(Word(text),),
            known=True,
        )
        if there and there[-1] in group and not _overlaid(group, there[-1]):
            launch = _replaced(launch, _place(launch.items, there[-1]) or 0, _respelled(there[-1], new))
        elif group:
            at = (_place(launch.items, group[-1]) or 0) + 1
            launch = launch._replace(items=(*launch.items[:at], new, *launch.items[at:]))
        else:
            launch = _appended(launch, new)
    return launch


def _overlaid(group: Sequence[Item], item: Item) -> bool:
    """Whether a later item of the group sets the same keys again, or what is around or below them."""
    behind = group[next(number for number, it in enumerate(group) if it is item) + 1 :]
    return any(it.keys[: len(item.keys)] == item.keys or item.keys[: len(it.keys)] == it.keys for it in behind)


def _same_path(one: Sequence[str], other: Sequence[str]) -> bool:
    return len(one) == len(other) and all(same_key(a, b) for a, b in zip(one, other, strict=True))


def _spelled_like(item: Item, head: str) -> bool:
    return item.head.replace("_", "-") == head


def _dotted_text(value: object) -> str:
    """The value as a dotted option has it; a text in JSON's quotes only where it would be read as something else."""
    if isinstance(value, str) and dotted_value(value) == value and isinstance(dotted_value(value), str):
        return value
    return dumped(value)


def _with_variable(launch: Launch, name: str, value: str) -> Edited:
    now = variable(launch, name)
    if now.state is State.GIVEN and now.value == value:
        return Edited(launch)
    if launch.remote:
        return Edited(launch, f"{name}={value} has to be set in the environment that the wrapper leads to")
    word = Word(f"{name}={value}")
    assigned = [index for index, other in launch.assigned if other == name]
    before = list(launch.before)
    if assigned:
        before[assigned[-1]] = word
    else:
        before.insert(_front(before), word)
    return Edited(launch._replace(before=tuple(before)))


def _front(before: Sequence[Word]) -> int:
    """Where an assignment reaches the program: behind ``env`` or ``sudo`` and what they assign, else at the front."""
    behind = giver(before)
    if behind is None:
        return next((at for at, word in enumerate(before) if assigned_name(word.text) is None), len(before))
    at = behind + 1
    while at < len(before) and before[at].text.startswith("-"):
        at += 2 if before[at].text in _WITH_VALUE else 1
    while at < len(before) and assigned_name(before[at].text) is not None:
        at += 1
    return at


def _place(items: Sequence[Item], item: Item | None) -> int | None:
    return next((number for number, it in enumerate(items) if it is item), None)


def _replaced(launch: Launch, place: int, item: Item) -> Launch:
    return launch._replace(items=(*launch.items[:place], item, *launch.items[place + 1 :]))


def _appended(launch: Launch, item: Item) -> Launch:
    """Behind everything, but before a bare ``--``, behind which nothing is an option."""
    at = next((number for number, it in enumerate(launch.items) if it.name == "--"), len(launch.items))
    return launch._replace(items=(*launch.items[:at], item, *launch.items[at:]))


def _same(one: Sequence[Word], other: Sequence[Word]) -> bool:
    return len(one) == len(other) and all(
        _equal(first.text, second.text) for first, second in zip(one, other, strict=True)
    )


def _equal(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def gives(args: Sequence[str], remove: Sequence[str]) -> frozenset[str]:
    """Return the long names of the options that such an edit touches, with those that put values into them."""
    parsed = parse_options(tuple(Word(word) for word in (*args, *remove)), loose=0)
    names = {item.name for item in parsed.items if item.name}
    return frozenset(names | {other for name in names for other, _ in INTO_JSON.get(name, ())})
