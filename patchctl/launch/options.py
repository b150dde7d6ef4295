"""The words behind ``vllm serve`` as options, as vLLM's own parser takes them apart.

Underscores in names are dashes, a value stands behind ``=`` or in the next word, keys behind a dot, and a beginning
stands for a whole name (``FlexibleArgumentParser``, ``vllm/utils/argparse_utils.py``). What the options mean is not
here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from patchctl.launch.json_text import read_object
from patchctl.launch.table import Known, Takes, find_option
from patchctl.launch.values import Item, Word

_NUMBER = re.compile(r"-\d+|-\d*\.\d+")
_LEVELS = frozenset("0123")
_OPTIMIZE = "--optimization-level"


class Parsed(NamedTuple):
    """Words as options.

    Attributes:
        items: every word is in one of them, in order.
        warnings: what could not be told, as sentences.
        open: a word may stand for any number of options.
    """

    items: tuple[Item, ...]
    warnings: tuple[str, ...] = ()
    open: bool = False


def parse_options(words: Sequence[Word], *, loose: int = 1) -> Parsed:
    """Take words apart.

    Args:
        words: those behind the program.
        loose: how many words that belong to no option are in order: the model of ``vllm serve``.
    """
    return _Reader(words, loose).read()


def looks_like_option(text: str) -> bool:
    """Return whether argparse takes a word for an option: a number below zero is none, nor a word with blanks.

    Unless the blanks stand behind the ``=`` of an option that there is.
    """
    if not text.startswith("-") or text == "-" or _NUMBER.fullmatch(text):
        return False
    if " " not in text:
        return True
    head, sign, _ = text.partition("=")
    return bool(sign) and " " not in head and find_option(_dashed(head).partition(".")[0]) is not None


class _Reader:
    """One pass over the words."""

    def __init__(self, words: Sequence[Word], loose: int) -> None:
        self.words, self.loose, self.at = words, loose, 0
        self.items: list[Item] = []
        self.warnings: list[str] = []
        self.open = False

    def read(self) -> Parsed:
        while self.at < len(self.words):
            word = self.words[self.at]
            if word.text == "--" and word.raw is None:
                self.items.append(Item(words=(word,), name="--", known=True))
                self.at += 1
                self._loose(self.words[self.at :])
                break
            if looks_like_option(word.text):
                self.items.append(self._option(word))
            else:
                self._loose((word,))
        return Parsed(items=tuple(self.items), warnings=tuple(self.warnings), open=self.open)

    def _loose(self, words: Sequence[Word]) -> None:
        for word in words:
            self.items.append(Item(words=(word,)))
            self.at += 1
            self.loose -= 1
            if word.raw is not None and word.text.startswith("$") and ("@" in word.raw or self._splits(word.raw)):
                self.open = True
                self.warnings.append(f"{word.raw} may hold further options: what it stands for is not seen")
            elif self.loose < 0:
                self.warnings.append(f"the word {word.text[:60]!r} belongs to no option")

    def _splits(self, raw: str) -> bool:
        """Whether the shell may make several words of it: not quoted, and not in the place of the model."""
        return raw.startswith("$") and self.loose < 0

    def _option(self, word: Word) -> Item:
        spelled, sign, value = word.text.partition("=")
        if spelled.startswith("-O"):
            return self._level(word)
        name, *keys = _dashed(spelled).split(".")
        adds = bool(keys) and keys[-1].endswith("+")
        if adds:
            keys[-1] = keys[-1][:-1]
        known = find_option(name)
        if known is None and not keys and (attached := _attached(word)) is not None:
            self.at += 1
            return attached
        values, taken = self._values(word, name, known, value if sign else None, dotted=bool(keys))
        self.at += 1 + taken
        if any(_is_broken(it) for it in values):
            self.warnings.append(f"the value of {spelled} is broken JSON: left as it is")
        return Item(
            words=(word, *(self.words[self.at - taken : self.at])),
            name=known.name if known is not None else name,
            keys=tuple(keys),
            values=values,
            negated=known is not None and known.negated,
            known=known is not None,
            adds=adds,
        )

    def _level(self, word: Word) -> Item:
        """``-O3``, ``-O=3`` and ``-O 3`` are ``--optimization-level 3``."""
        behind = word.text[2:].removeprefix("=")
        self.at += 1
        if behind:
            return Item(words=(word,), name=_OPTIMIZE, values=(Word(behind),), known=True)
        following = self.words[self.at : self.at + 1]
        if following and following[0].text in _LEVELS:
            self.at += 1
            return Item(words=(word, *following), name=_OPTIMIZE, values=tuple(following), known=True)
        self.warnings.append("-O without a level from 0 to 3 says nothing")
        return Item(words=(word,), name="-O")

    def _values(
        self, word: Word, name: str, known: Known | None, behind: str | None, *, dotted: bool
    ) -> tuple[tuple[Word, ...], int]:
        """Return the values of an option, and how many of the words after it they take."""
        following = self._following()
        if known is None:
            return self._guess(word, name, behind, dotted=dotted)
        if behind is not None:
            if known.takes is Takes.NOTHING and not dotted:
                self.warnings.append(f"{name} takes no value: vLLM refuses {name}=...")
            return (_behind(word, behind),), 0
        if dotted:  # vLLM takes the next word whatever it is
            value = tuple(self.words[self.at + 1 : self.at + 2])
            if not value or looks_like_option(value[0].text):
                self.warnings.append(f"{word.text} has no value" + (f" but {value[0].text}" if value else ""))
            return value, len(value)
        if known.takes is Takes.NOTHING:
            return (), 0
        taken = len(following) if known.takes is Takes.SEVERAL else min(1, len(following))
        if not taken and known.takes is not Takes.MAYBE:
            self.warnings.append(f"{name} has no value")
        return following[:taken], taken

    def _guess(self, word: Word, name: str, behind: str | None, *, dotted: bool) -> tuple[tuple[Word, ...], int]:
        """What an option that is not known takes: what stands behind ``=``, else the next word if it is no option."""
        following = self._following()[:1]
        told = f"{name} is no option that patchctl knows of vLLM 0.19.1 to 0.33.0"
        if behind is not None:
            self.warnings.append(f"{told}: left as it is")
            return (_behind(word, behind),), 0
        if dotted:
            following = tuple(self.words[self.at + 1 : self.at + 2])
        if following:
            self.warnings.append(f"{told}: left as it is, the word after it taken for its value")
        else:
            self.warnings.append(f"{told}: left as it is")
        return following, len(following)

    def _following(self) -> tuple[Word, ...]:
        """The words up to the next option."""
        end = self.at + 1
        while end < len(self.words) and not looks_like_option(self.words[end].text):
            end += 1
        return tuple(self.words[self.at + 1 : end])


def broken_options(items: Sequence[Item]) -> frozenset[str]:
    """Return the long names of options that were given an object which cannot be read."""
    return frozenset(item.name for item in items if any(_is_broken(value) for value in item.values))


def _is_broken(value: Word) -> bool:
    """Return whether a value is meant for an object and is none; a template (``{{``, ``{%``) is not meant for one."""
    text = value.text.lstrip()
    if value.raw is not None or not text.startswith("{") or text.startswith(("{{", "{%", "{#")):
        return False
    return read_object(text) is None


def _dashed(spelled: str) -> str:
    """The option as vLLM compares it: dashes for underscores, up to the first dot."""
    head, dot, rest = spelled.partition(".")
    return (head.replace("_", "-") if head.startswith("--") else head) + dot + rest


def _attached(word: Word) -> Item | None:
    """``-qawq``: a value that stands right behind an option of one letter."""
    text = word.text
    known = find_option(text[:2]) if not text.startswith("--") and len(text) > len("-q") else None
    if known is None:
        return None
    raw = None if word.raw is None else word.raw[2:]
    return Item(words=(word,), name=known.name, values=(Word(text[2:], raw),), known=True)


def _behind(word: Word, value: str) -> Word:
    """The value behind the sign; what a shell puts into the word it puts into the value."""
    return Word(value, None if word.raw is None else word.raw.partition("=")[2])
