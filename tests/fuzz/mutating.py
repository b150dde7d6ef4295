"""Damage as an attacker, a bad disk and a cut-off download make it; the same for the same generator of numbers."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from random import Random

WORDS = (
    b"PK\1\2",
    b"PK\3\4",
    b"PK\5\6",
    b"PK\6\6",
    b"PK\6\7",
    b"PK\7\10",
    b"\x1f\x8b\x08",
    b"\xfd7zXZ\0",
    b"\n",
    b"\0",
)
NUMBERS = (0, 1, 2, 0x7F, 0xFF, 0x100, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF)


def mutated(data: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    """Return ``data`` with one to four changes; ``others`` are what pieces are taken from."""
    for _ in range(random.randint(1, 4)):
        data = random.choice(CHANGES)(data, random, others)
    return data


def _flip(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    if not data:
        return b"\0"
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]


def _replace(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    at = random.randint(0, len(data))
    piece = random.randbytes(random.choice((1, 1, 2, 4, 8)))
    return data[:at] + piece + data[at + len(piece) :]


def _cut(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    at = random.randint(0, len(data))
    return data[:at] if random.random() < 0.5 else data[at:]


def _drop(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    at = random.randint(0, len(data))
    return data[:at] + data[at + random.choice((1, 2, 4, 30, 46, random.randint(1, len(data) + 1))) :]


def _double(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    at, end = sorted((random.randint(0, len(data)), random.randint(0, len(data))))
    return data[:end] + data[at:end] * random.choice((1, 1, 3)) + data[end:]


def _splice(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    other = random.choice(others) if others else data
    at, first, last = random.randint(0, len(data)), random.randint(0, len(other)), random.randint(0, len(other))
    return data[:at] + other[min(first, last) : max(first, last)] + data[at:]


def _field(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    """A number of a header behind one of its signatures."""
    word = random.choice(WORDS[:6])
    places = [at for at in range(len(data)) if data.startswith(word, at)]
    if not places:
        return _number(data, random, ())
    at = random.choice(places) + 4 + random.randrange(0, 44, 2)
    number = random.choice(NUMBERS)
    piece = struct.pack("<L", number)[: random.choice((2, 4))]
    return data[:at] + piece + data[at + len(piece) :]


def _number(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    at = random.randint(0, len(data))
    piece = struct.pack(random.choice(["<L", ">L"]), random.choice(NUMBERS))
    return data[:at] + piece + data[at + len(piece) :]


def _word(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    at = random.randint(0, len(data))
    return data[:at] + random.choice(WORDS) + data[at:]


Change = Callable[[bytes, Random, Sequence[bytes]], bytes]
CHANGES: tuple[Change, ...] = (_flip, _flip, _replace, _cut, _drop, _double, _splice, _field, _field, _number, _word)
