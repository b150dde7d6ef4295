"""The lock file as bytes and values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from patchctl.pins import HEAD, Lock, LockedHold, LockedRegistry, Pin, PinnedDiff, encode_lock, parse_lock

SHA = "0123456789abcdef" * 4
REASONS = st.text(min_size=1, max_size=60)
IDS = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8})?", fullmatch=True)


@given(
    ids=st.lists(st.tuples(IDS, REASONS, st.integers(1, 1_000_000)), unique_by=lambda it: it[0], max_size=6),
    name=REASONS,
)
def test_what_is_written_is_read_again_whatever_the_texts_are(ids: list[tuple[str, str, int]], name: str) -> None:
    half = len(ids) // 2
    lock = Lock(
        pins=tuple(
            Pin(id=id_, revision=number, diffs=(PinnedDiff("vllm", "a.diff", SHA),), hold=text)
            for id_, text, number in ids[:half]
        ),
        holds=tuple(LockedHold(id=id_, reason=text) for id_, text, _ in ids[half:]),
        registries=(LockedRegistry(name=name, revision=3),),
    )
    data = encode_lock(lock)
    found, problems = parse_lock(data, file="patchctl.lock")
    assert problems == ()
    assert found is not None
    assert {pin.id: (pin.revision, pin.diffs) for pin in found.pins} == {
        pin.id: (pin.revision, pin.diffs) for pin in lock.pins
    }
    assert encode_lock(found) == data


def test_a_line_break_or_a_control_character_in_a_reason_begins_no_line() -> None:
    lock = Lock(holds=(LockedHold(id="a", reason='x\n[[held]]\nid = "b"\x1b\u202e\udc80'),))
    data = encode_lock(lock)
    found, problems = parse_lock(data, file="f")
    assert problems == ()
    assert found is not None
    assert [held.id for held in found.holds] == ["a"]
    assert b"\x1b" not in data
    assert "\u202e".encode() not in data


def test_the_order_of_what_goes_in_does_not_matter() -> None:
    pins = tuple(Pin(id=id_, revision=1, diffs=(PinnedDiff("vllm", "a.diff", SHA),)) for id_ in ("b", "a"))
    assert encode_lock(Lock(pins=pins)) == encode_lock(Lock(pins=pins[::-1]))
    assert encode_lock(Lock(pins=pins)).startswith(HEAD.encode())
