"""YAML text as plain values, by way of PyYAML, which is an optional extra.

PyYAML gives events and nodes. The events are weighed first: an alias costs as much as what it stands for, merges
(``<<``) multiply, and neither is followed before that is known. The values are made here, of plain types alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from patchctl.documents.values import LONGEST_NUMBER, DocumentError, Flaw, reason_of, text_of

if TYPE_CHECKING:
    from yaml.events import Event
    from yaml.nodes import MappingNode, Node

DEPTH = 64
_MOST_VALUES = 100_000
_MOST_ALIASES = 1_000
_MOST_ODD_KEYS = 10_000
"""Keys that are no text. Their hashes are no secret, so that a table of many can be made to take quadratic time."""
_CORE = "tag:yaml.org,2002:"
_MERGE = f"{_CORE}merge"
_NUMBERS = frozenset({f"{_CORE}int", f"{_CORE}float", f"{_CORE}timestamp"})
_TOO_MUCH = "comes to too much once its aliases are followed"


def read_yaml(text: str, *, limit: int, depth: int = DEPTH) -> tuple[object, ...]:
    """Return the documents of a YAML text, without those that are empty.

    Args:
        text: the text.
        limit: characters that are read at most.
        depth: lists and mappings within each other at most, aliases followed.

    Raises:
        DocumentError: PyYAML is missing, the text is no YAML, or it is too large, too deep or refers to itself too
            much.
    """
    text = text_of(text, limit)
    try:
        import yaml
    except ImportError:
        hint = "install patchctl with the extra: pip install 'patchctl[yaml]'"
        raise DocumentError(Flaw.NO_LIBRARY, "is YAML, which needs the library PyYAML", hint=hint) from None
    try:
        events = tuple(_weighed(yaml.parse(text, Loader=yaml.SafeLoader), depth))
        making = _Making()
        return tuple(making.value(node) for node in _composed(events) if node is not None)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = reason_of(ValueError(getattr(error, "problem", None) or "it cannot be read"))
        line = mark.line + 1 if mark is not None else None
        raise DocumentError(Flaw.SYNTAX, f"is not readable as YAML: {what}", line=line) from None
    except RecursionError:
        raise DocumentError(Flaw.TOO_DEEP, "is nested too deep") from None
    except MemoryError:
        raise DocumentError(Flaw.TOO_LARGE, "takes more memory than there is") from None


class _Weight(NamedTuple):
    """What an alias of a node costs: values, and lists and mappings within each other."""

    values: int
    height: int


class _Open:
    """A list or mapping that has not ended yet: how many values there were before it, and how high it is so far."""

    __slots__ = ("anchor", "before", "height")

    def __init__(self, anchor: str | None, before: int) -> None:
        self.anchor, self.before, self.height = anchor, before, 1


def _weighed(events: Iterator[Event], depth: int) -> Iterator[Event]:
    """Give the events on, and refuse what would come to too much: they come without resolving an alias."""
    import yaml.events as kinds

    known: dict[str, _Weight] = {}
    opened: list[_Open] = []
    values = aliases = 0
    for event in events:
        if isinstance(event, kinds.DocumentStartEvent):
            known.clear()
        elif isinstance(event, kinds.AliasEvent):
            aliases += 1
            # One that is not known is the composer's to complain about, unless it stands for what it lies in.
            weight = known.get(event.anchor or "", _Weight(1, 0))
            if any(it.anchor == event.anchor for it in opened):
                raise DocumentError(Flaw.TOO_LARGE, _TOO_MUCH)
            values += weight.values
            _raise_to(opened, weight.height)
        elif isinstance(event, kinds.CollectionStartEvent):
            opened.append(_Open(event.anchor, values))
            values += 1
        elif isinstance(event, kinds.CollectionEndEvent):
            ended = opened.pop()
            if ended.anchor is not None:
                known[ended.anchor] = _Weight(values - ended.before, ended.height)
            _raise_to(opened, ended.height)
        elif isinstance(event, kinds.ScalarEvent):
            values += 1
            if event.anchor is not None:
                known[event.anchor] = _Weight(1, 0)
        _refuse_excess(values, aliases, len(opened) + (opened[-1].height - 1 if opened else 0), depth)
        yield event


def _composed(events: Iterable[Event]) -> Iterator[Node | None]:
    """Make nodes of events that were looked at already: most of PyYAML's time goes into them."""
    from yaml.composer import Composer
    from yaml.resolver import Resolver

    waiting = deque(events)

    class Replay(Composer, Resolver):
        def __init__(self) -> None:
            Composer.__init__(self)
            Resolver.__init__(self)

        def check_event(self, *kinds: type[Event]) -> bool:
            return bool(waiting) and (not kinds or isinstance(waiting[0], kinds))

        def peek_event(self) -> Event:
            return waiting[0]

        def get_event(self) -> Event:
            return waiting.popleft()

    composer = Replay()
    while composer.check_node():
        yield composer.get_node()


def _raise_to(opened: list[_Open], height: int) -> None:
    if opened:
        opened[-1].height = max(opened[-1].height, height + 1)


def _refuse_excess(values: int, aliases: int, height: int, depth: int) -> None:
    if height > depth:
        raise DocumentError(Flaw.TOO_DEEP, "is nested too deep")
    if aliases > _MOST_ALIASES:
        raise DocumentError(Flaw.TOO_DEEP, "is full of aliases")
    if values > _MOST_VALUES:
        raise DocumentError(Flaw.TOO_LARGE, _TOO_MUCH)


class _Making:
    """Values from nodes, whose number and depth are known to be bearable."""

    def __init__(self) -> None:
        import yaml

        self.odd_keys = 0
        self.scalars = yaml.constructor.SafeConstructor()

    def value(self, node: Node) -> object:
        """Return the value of a node."""
        import yaml

        if isinstance(node, yaml.SequenceNode):
            return [self.value(item) for item in node.value]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node)
        return self._scalar(node)

    def _mapping(self, node: MappingNode) -> dict[object, object]:
        merged: list[dict[object, object]] = []
        own: dict[object, object] = {}
        for key_node, value_node in node.value:
            value = self.value(value_node)
            if key_node.tag == _MERGE:
                merged += [it for it in (value if isinstance(value, list) else [value]) if isinstance(it, dict)]
                continue
            key = self.value(key_node)
            if isinstance(key, list | dict):
                raise DocumentError(Flaw.SYNTAX, "is not readable as YAML: a key is a list or a mapping")
            self.odd_keys += not isinstance(key, str)
            if self.odd_keys > _MOST_ODD_KEYS:
                raise DocumentError(Flaw.TOO_LARGE, f"has more than {_MOST_ODD_KEYS} keys that are no text")
            own[key] = value
        found: dict[object, object] = {}
        for other in reversed(merged):  # of several that are merged the first counts
            found.update(other)
        return {**found, **own}

    def _scalar(self, node: Node) -> object:
        if node.tag in _NUMBERS and len(node.value) > LONGEST_NUMBER:
            what = f"is not readable as YAML: a number has more than {LONGEST_NUMBER} digits"
            raise DocumentError(Flaw.SYNTAX, what, line=node.start_mark.line + 1)
        try:
            value: object = self.scalars.construct_object(node)
        except (ValueError, ArithmeticError, LookupError, AttributeError, TypeError) as error:
            # What a scalar's tag promises and its text does not keep is no exception of PyYAML's own.
            what = f"is not readable as YAML: {reason_of(error)}"
            raise DocumentError(Flaw.SYNTAX, what, line=node.start_mark.line + 1) from None
        return value
