"""The lock file: TOML bytes into a :class:`Lock` or every problem with its line, and a lock into bytes.

The same lock always gives the same bytes: sorted, and without a time. Where the file lies is not here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from patchctl.errors import Problem
from patchctl.model.characters import unseen
from patchctl.patch import Document, Table, file_name_problem, is_slug
from patchctl.patch.shapes import Shape
from patchctl.patch.texts import distribution_problem, sha256_problem
from patchctl.pins.values import Lock, LockedHold, LockedRegistry, Pin, PinnedDiff

FORMAT = 1
"""The format of lock files that this patchctl reads and writes."""

HEAD = "# patchctl.lock:"
"""How every lock file begins, so that no other file is taken for one and overwritten."""

_COMMENT = f"""{HEAD} the local patches that this deployment carries, and no others.
# Made by `patchctl lock`, which writes it anew. Keep it under version control.
#     patchctl apply --locked FILE    brings in what is pinned here
#     patchctl check --locked FILE    fails unless all of it is in, proven fixed or held
# Every diff of a pinned revision is listed, so that one file serves machines with different builds.
"""

_LOCK = Shape(
    name="the head of the file, before the first table",
    examples={"format": "format = 1", "registry": "[[registry]]", "entry": "[[entry]]", "held": "[[held]]"},
)
_REGISTRY = Shape(name="[[registry]]", examples={"name": 'name = "patchctl"', "revision": "revision = 1"})
_ENTRY = Shape(
    name="[[entry]]",
    examples={
        "id": 'id = "vllm-mm-placeholder-degrade"',
        "revision": "revision = 1",
        "hold": 'hold = "why it is held in"',
        "variant": "[[entry.variant]]",
    },
)
_VARIANT = Shape(
    name="[[entry.variant]]",
    examples={
        "distribution": 'distribution = "vllm"',
        "diff": 'diff = "0.20.diff"',
        "sha256": 'sha256 = "<the 64 digits that sha256sum prints for the diff>"',
    },
)
_HELD = Shape(
    name="[[held]]",
    examples={"id": 'id = "vllm-mm-placeholder-degrade"', "reason": 'reason = "why it stays out"'},
)


def encode_lock(lock: Lock) -> bytes:
    """Return the bytes of the lock file (UTF-8, LF)."""
    parts = [_COMMENT, f"\nformat = {FORMAT}\n"]
    for registry in sorted(set(lock.registries)):
        parts.append(f"\n[[registry]]\nname = {_quoted(registry.name)}\nrevision = {registry.revision}\n")
    for pin in sorted(lock.pins):
        parts.append(f"\n[[entry]]\nid = {_quoted(pin.id)}\nrevision = {pin.revision}\n")
        if pin.hold is not None:
            parts.append(f"hold = {_quoted(pin.hold)}\n")
        for found in sorted(set(pin.diffs)):
            table = f"distribution = {_quoted(found.distribution)}\ndiff = {_quoted(found.diff)}\n"
            parts.append(f"\n[[entry.variant]]\n{table}sha256 = {_quoted(found.sha256)}\n")
    for held in sorted(lock.holds):
        parts.append(f"\n[[held]]\nid = {_quoted(held.id)}\nreason = {_quoted(held.reason)}\n")
    return "".join(parts).encode("utf-8")


def _quoted(text: str) -> str:
    """A TOML string on one line; what a reader could not see, or no UTF-8 could hold, is an escape or a question mark.

    A name or a reason is text of the command line or of a registry: a line break in it would begin a line of its own.
    """
    plain = " ".join(text.encode("utf-8", "replace").decode("utf-8").split()) or "-"
    return '"' + "".join(_escaped(char) for char in plain) + '"'


def _escaped(char: str) -> str:
    if char in '\\"':
        return f"\\{char}"
    if char.isascii() and char.isprintable():
        return char
    return f"\\U{ord(char):08x}" if unseen().match(char) or not char.isprintable() else char


def parse_lock(data: bytes, *, file: str) -> tuple[Lock | None, tuple[Problem, ...]]:
    """Read a lock file.

    Args:
        data: its bytes.
        file: its path, as problems show it.

    Returns:
        The lock, or None; and all problems of the file, by line. There is a lock exactly when there is no problem.
    """
    document = Document(file=file)
    values = document.read(data)
    if values is None:
        return None, document.problems
    number = values.get("format")
    if isinstance(number, int) and number > FORMAT:
        # Before the keys are judged: a newer format may have others.
        message = f"is {number}; this patchctl knows lock files of format {FORMAT}"
        document.report("lock-format", ("format",), message, "upgrade patchctl")
        return None, document.problems
    table = Table(document, (), values, _LOCK)
    table.require(("format",))
    table.integer("format", default=FORMAT, least=1)
    lock = Lock(
        pins=tuple(_read_pin(item) for item in table.tables("entry", _ENTRY)),
        holds=tuple(_read_hold(item) for item in table.tables("held", _HELD)),
        registries=tuple(_read_registry(item) for item in table.tables("registry", _REGISTRY)),
    )
    _report_twice(document, lock)
    return None if document.problems else lock, document.problems


def _read_registry(table: Table) -> LockedRegistry:
    table.require(("name", "revision"))
    return LockedRegistry(name=table.text("name"), revision=table.integer("revision", default=1, least=1))


def _read_hold(table: Table) -> LockedHold:
    table.require(("id", "reason"))
    return LockedHold(id=_read_id(table), reason=table.text("reason", one_line=True))


def _read_pin(table: Table) -> Pin:
    table.require(("id", "revision"))
    tables = table.tables("variant", _VARIANT)
    if not tables and table.raw("variant") in (None, []):
        table.report("missing-key", "variant", "is missing: a pin names the diffs that may be applied")
    diffs = tuple(_read_diff(item) for item in tables)
    seen: set[tuple[str, str]] = set()
    for item, found in zip(tables, diffs, strict=True):
        if found.diff and (found.distribution, found.diff) in seen:
            item.report("duplicate-value", "diff", f"names {found.diff} again")
        seen.add((found.distribution, found.diff))
    return Pin(
        id=_read_id(table),
        revision=table.integer("revision", default=1, least=1),
        diffs=diffs,
        hold=table.text("hold", one_line=True) or None,
    )


def _read_diff(table: Table) -> PinnedDiff:
    table.require(_VARIANT.examples)
    return PinnedDiff(
        distribution=table.distribution(distribution_problem),
        diff=table.checked("diff", "bad-file-name", file_name_problem),
        sha256=table.checked("sha256", "bad-sha256", sha256_problem).lower(),
    )


def _read_id(table: Table) -> str:
    return table.checked("id", "not-a-slug", lambda text: None if is_slug(text) else "is not an entry's id")


def _report_twice(document: Document, lock: Lock) -> None:
    """An entry is pinned or held out, and said once: of two words nobody knows which was meant."""
    seen: set[str] = set()
    for key, index, id_ in (*_numbered("entry", lock.pins), *_numbered("held", lock.holds)):
        if id_ and id_ in seen:
            document.report("duplicate-value", (key, index, "id"), f"names {id_} again", "name each entry once")
        seen.add(id_)


def _numbered(key: str, items: Iterable[Pin | LockedHold]) -> Iterator[tuple[str, int, str]]:
    for index, item in enumerate(items):
        yield key, index, item.id
