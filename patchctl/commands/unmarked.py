"""Takes secrets out of launches before anybody sees them, in such a way that the command can still be pasted.

A secret option or variable becomes a variable of the shell (``--api-key "$VLLM_API_KEY"``), which the operator has to
set; what only looks like a secret inside another value becomes ``***``.
"""

from __future__ import annotations

from collections.abc import Iterable

from patchctl.advice import EntryAdvice, LaunchAdvice, Way
from patchctl.launch import Item, Launch, Word
from patchctl.processes import HIDDEN, is_secret, shown_arguments, without_secrets

_VARIABLES = {"--api-key": "VLLM_API_KEY", "--hf-token": "HF_TOKEN"}
_SHORTEST = 4
"""Characters of a secret that are looked for in sentences; shorter ones are in every other word."""


def unmarked(advice: LaunchAdvice) -> LaunchAdvice:
    """Return advice of which everything may be shown."""
    if advice.launch is None:
        return advice
    secrets = tuple(sorted({it for it in _secrets(advice.launch) if len(it) >= _SHORTEST}, key=len, reverse=True))
    shown = _shown(advice.launch, secrets)
    return advice._replace(
        withheld=_withheld(advice.launch),
        launch=shown._replace(warnings=tuple(_without(it, secrets) for it in shown.warnings)),
        model=advice.model._replace(
            names=tuple(_without(it, secrets) for it in advice.model.names), why=_without(advice.model.why, secrets)
        ),
        entries=tuple(_entry(it, secrets) for it in advice.entries),
        corrected=None if advice.corrected is None else _shown(advice.corrected, secrets),
    )


def _shown(launch: Launch, secrets: tuple[str, ...]) -> Launch:
    """The launch with words that may be shown, without the variables that it gets from elsewhere."""
    names = dict(launch.assigned)
    before = tuple(
        _assignment(word, names[number], secrets) if number in names else _word(word, secrets)
        for number, word in enumerate(_wrappers(launch))
    )
    return launch._replace(
        before=before,
        items=tuple(_item(item, secrets) for item in launch.items),
        config=tuple(_item(item, secrets) for item in launch.config),
        environment={},
    )


def _wrappers(launch: Launch) -> tuple[Word, ...]:
    """The words up to the options, without what their programs take for secrets (``sshpass -p SECRET``)."""
    given = [word.text for word in launch.before]
    names = dict(launch.assigned)
    return tuple(
        word if shown == word.text or number in names else Word(shown)
        for number, (word, shown) in enumerate(zip(launch.before, shown_arguments(given), strict=True))
    )


def _withheld(launch: Launch) -> tuple[str, ...]:
    """The variables that stand for secrets of the launch."""
    assigned = [name for _, name in launch.assigned if is_secret(name)]
    return tuple(dict.fromkeys((*assigned, *(_variable(item) for item in launch.items if _is_hidden(item)))))


def _assignment(word: Word, name: str, secrets: tuple[str, ...]) -> Word:
    if is_secret(name):
        return Word(f"{name}=${name}", f'{name}="${name}"')
    return _word(word, secrets)


def _item(item: Item, secrets: tuple[str, ...]) -> Item:
    if _is_hidden(item):
        return _hidden(item)
    return item._replace(
        words=tuple(_word(word, secrets) for word in item.words),
        values=tuple(_word(word, secrets) for word in item.values),
    )


def _is_hidden(item: Item) -> bool:
    return bool(item.name and item.values) and is_secret(item.name if not item.keys else f"--{item.keys[-1]}")


def _variable(item: Item) -> str:
    variable = _VARIABLES.get(item.name) or item.name.lstrip("-").replace("-", "_").upper()
    if item.keys:
        variable = item.keys[-1].replace("-", "_").upper()
    return variable if variable.isidentifier() and variable.isascii() else "SECRET"


def _hidden(item: Item) -> Item:
    variable = _variable(item)
    value = Word(f"${variable}", f'"${variable}"')
    spelled, sign, _ = item.words[0].text.partition("=")
    words: tuple[Word, ...] = (item.words[0], value)
    if sign or len(item.words) == 1:
        words = (Word(f"{spelled}=${variable}", f'{spelled}="${variable}"'),) if _is_plain(spelled) else (value,)
    return item._replace(words=words, values=(value,))


def _is_plain(spelled: str) -> bool:
    return all(character.isalnum() or character in "-_.+" for character in spelled)


def _word(word: Word, secrets: tuple[str, ...]) -> Word:
    text = _without(word.text, secrets)
    return word if text == word.text else Word(text)


def _entry(entry: EntryAdvice, secrets: tuple[str, ...]) -> EntryAdvice:
    return entry._replace(reason=_without(entry.reason, secrets), ways=tuple(_way(way, secrets) for way in entry.ways))


def _way(way: Way, secrets: tuple[str, ...]) -> Way:
    return way._replace(
        launch=None if way.launch is None else _shown(way.launch, secrets),
        problem=None if way.problem is None else _without(way.problem, secrets),
    )


def _without(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return without_secrets(text)


def _secrets(launch: Launch) -> Iterable[str]:
    for index, name in launch.assigned:
        if is_secret(name):
            yield launch.before[index].text.partition("=")[2]
    yield from (value for name, value in launch.environment.items() if is_secret(name))
    given = [word.text for word in launch.before]
    yield from (text for text, shown in zip(given, shown_arguments(given), strict=True) if shown == HIDDEN)
    for item in launch.options:
        if is_secret(item.name) or any(is_secret(f"--{key}") for key in item.keys):
            yield from (value.text for value in item.values)
