"""Documents that nobody vouches for, changed at random: the oracles of ``tests/fuzz/readers.py`` on generated cases.

Three ways: a valid document with words put in and pieces taken out; a valid JSON document with a value exchanged, so
that what is deep in it is reached; and any bytes. ``LONG_TESTS=1`` makes it a long run.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.documents import DOCUMENTS, SHA, WORDS
from tests.fuzz.readers import READERS

pytestmark = [pytest.mark.attack("bombs")]

LONG = bool(os.environ.get("LONG_TESTS"))
IN_JSON = ("ledger", "journal", "history", "notes", "json")


def budget(few: int, many: int) -> settings:
    quiet = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    return settings(max_examples=many if LONG else few, deadline=None, suppress_health_check=quiet)


WORD = st.sampled_from(WORDS).map(lambda word: word.encode()) | st.binary(max_size=4)
CHANGES = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), WORD), min_size=1, max_size=5)
"""Where, how many bytes go, and what comes in their place."""

NAMES = st.sampled_from(
    ["vllm/a.py", "../x", "/etc/passwd", ".patchctl/ledger.json", "a\0b", "\ud800", "\udc80", "a//b", "x.pth", "", "."]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([SHA, "0a" * 16, 1 << 63, -1, 511, 2048])
    | NAMES
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def spliced(data: bytes, changes: list[tuple[float, int, bytes]]) -> bytes:
    for where, gone, word in changes:
        at = int(where * len(data))
        data = data[:at] + word + data[at + gone :]
    return data


def places(value: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Paths of everything in a JSON value."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict | list):
        items = list(value.items() if isinstance(value, dict) else enumerate(value))
    return [here, *(path for key, it in items for path in places(it, (*here, key)))]


def exchanged(value: Any, path: tuple[str | int, ...], new: Any, *, key: str | None) -> Any:
    """The value with another one at ``path``, or with the last key of it called ``key``."""
    if not path:
        return new
    first, *rest = path
    if isinstance(value, list):
        return [exchanged(it, tuple(rest), new, key=key) if at == first else it for at, it in enumerate(value)]
    made = {}
    for name, it in value.items():
        if name != first:
            made[name] = it
        elif not rest and key is not None:
            made[key] = it
        else:
            made[name] = exchanged(it, tuple(rest), new, key=key)
    return made


def test_every_reader_has_a_document() -> None:
    assert READERS.keys() == DOCUMENTS.keys()


@pytest.mark.parametrize("name", READERS)
def test_a_valid_document_is_taken(name: str) -> None:
    check, valid = READERS[name], DOCUMENTS[name]
    check(valid.encode())


@pytest.mark.parametrize("name", READERS)
@budget(60, 5_000)
@given(changes=CHANGES)
def test_words_put_into_a_valid_document(name: str, changes: list[tuple[float, int, bytes]]) -> None:
    check, valid = READERS[name], DOCUMENTS[name]
    check(spliced(valid.encode(), changes))


@pytest.mark.parametrize("name", IN_JSON)
@budget(60, 5_000)
@given(at=st.integers(0, 10_000), new=VALUES, key=st.none() | NAMES)
def test_a_value_or_a_key_exchanged_in_a_valid_document(name: str, at: int, new: Any, key: str | None) -> None:
    check, valid = READERS[name], DOCUMENTS[name]
    value = json.loads(valid)
    paths = places(value)
    check(json.dumps(exchanged(value, paths[at % len(paths)], new, key=key)).encode())


@pytest.mark.parametrize("name", READERS)
@budget(25, 5_000)
@given(words=st.lists(WORD, max_size=20))
def test_any_bytes(name: str, words: list[bytes]) -> None:
    READERS[name](b"".join(words))
