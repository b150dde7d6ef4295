"""Registry folders into typed entries. One broken entry is reported and never hides the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from patchctl.documents import DocumentError
from patchctl.documents.toml import read_toml
from patchctl.errors import Problem, RegistryError
from patchctl.evidence.tokens import tokens
from patchctl.model import RegistryPlace
from patchctl.patch import REGISTRY, Document, Patch, Table, is_slug, parse_entry
from patchctl.patch.document import MAX_BYTES
from patchctl.registry.folder import ENTRY_FILE, REGISTRY_FILE, Folder, Item, bundled_registry, reason_of
from patchctl.registry.mounted import mount_hint
from patchctl.registry.relations import Finding, check_relations
from patchctl.registry.use import Registry, RegistryRoot, locate_keys_of

FORMAT = 1
"""The format of registry folders that this patchctl knows."""


def load_registry(
    folders: Sequence[str], *, but: Collection[str] = (), owners: Collection[int] | None = None
) -> Registry:
    """Read registries.

    Args:
        folders: their paths; the order is kept, and a folder named twice counts once.
        but: ids of entries that are not read, as if they were not there.
        owners: uids that may own what is read, and that alone may change it; None: anybody.

    Returns:
        The working entries in registry order (folders as given, inside one by distribution folder and id), and a
        problem for each thing that is wrong.

    Raises:
        RegistryError: a folder is no registry, cannot be read, or has a newer format.
    """
    bundled = _bundled_identity()
    roots: dict[tuple[int, int], RegistryRoot] = {}
    found: list[Patch] = []
    problems: list[Problem] = []
    for path in folders:
        folder = Folder(root=path.rstrip("/") or "/", owners=owners)
        identity = _identity(folder)
        if identity in roots:
            continue
        roots[identity] = _read_root(folder, is_bundled=identity == bundled)
        for answer in _read_entries(folder, but):
            if isinstance(answer, Problem):
                problems.append(answer)
            else:
                found.append(answer)
    working, findings = check_relations(found)
    return Registry(
        roots=tuple(roots.values()),
        entries=working,
        problems=(*problems, *_as_problems(findings)),
    )


def _identity(folder: Folder) -> tuple[int, int]:
    try:
        return folder.identity()
    except OSError as error:
        message = f"the registry {folder.root} cannot be opened: {reason_of(error)}"
        raise RegistryError("registry-unreadable", message, path=folder.root) from error


def _bundled_identity() -> tuple[int, int] | None:
    """Which directory the bundled registry is, by whatever name somebody reads it; None: there is none."""
    try:
        return Folder(root=bundled_registry()).identity()
    except (RegistryError, OSError):
        return None


def _read_root(folder: Folder, *, is_bundled: bool) -> RegistryRoot:
    path = folder.path(REGISTRY_FILE)
    try:
        data = folder.read(REGISTRY_FILE)
    except OSError as error:
        message = f"{path} cannot be read: {reason_of(error)}"
        hint = mount_hint(folder.root, REGISTRY_FILE)
        raise RegistryError("registry-unreadable", message, hint=hint, path=path) from error
    if data is None:
        message = f"{folder.root} is no registry: it holds no {REGISTRY_FILE}"
        hint = f"name the folder that holds {REGISTRY_FILE}; below it are <distribution>/<id>/{ENTRY_FILE}"
        raise RegistryError("registry-without-file", message, hint=hint, path=path)
    document = Document(file=path)
    values = document.read(data)
    known = values is None or _format_is_known(values.get("format"))
    if values is not None and known:
        table = Table(document, (), values, REGISTRY)
        table.require(REGISTRY.examples)
        table.integer("format", default=FORMAT, least=1)
        name, revision = table.text("name", one_line=True), table.integer("revision", default=1, least=1)
        if not document.problems:
            where = None if is_bundled else Path(folder.root).absolute()
            place = RegistryPlace(
                name=name,
                bundled=is_bundled,
                path=None if where is None else str(where),
                real=None if where is None else str(where.resolve()),
            )
            return RegistryRoot(path=folder.root, name=name, revision=revision, place=place)
    elif values is not None:
        message = f"is {values['format']}; this patchctl knows registries of format {FORMAT}"
        document.report("registry-format", ("format",), message, "upgrade patchctl")
    raise _as_error(document.problems)


def _format_is_known(number: object) -> bool:
    """A newer format may have any keys, so it is recognised before the keys are judged."""
    return not (isinstance(number, int) and number > FORMAT)


def _as_error(problems: Sequence[Problem]) -> RegistryError:
    first = problems[0]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return RegistryError(
        first.code, f"{first.message}{more}", hint=first.hint, path=first.path, line=first.line, key=first.key
    )


def _read_entries(folder: Folder, but: Collection[str]) -> Iterator[Patch | Problem]:
    """Every entry or what is wrong with it, in registry order."""
    for outer in _items(folder, ""):
        if isinstance(outer, Problem):
            yield outer
            continue
        if outer.name == ENTRY_FILE:
            yield _misplaced(folder, outer.name)
        for inner in _items(folder, outer.name) if outer.is_folder else ():
            if isinstance(inner, Problem):
                yield inner
            elif inner.name == ENTRY_FILE:
                yield _misplaced(folder, f"{outer.name}/{inner.name}")
            elif inner.is_folder and inner.name not in but:
                yield from _read_entry(folder, f"{outer.name}/{inner.name}")


def _items(folder: Folder, inside: str) -> Iterator[Item | Problem]:
    try:
        yield from folder.items(inside)
    except OSError as error:
        path = folder.path(inside)
        message = f"{path} cannot be read: {reason_of(error)}"
        hint = mount_hint(folder.root, inside) if inside else None
        yield Problem(code="folder-unreadable", message=message, hint=hint, path=path)


def _misplaced(folder: Folder, inside: str) -> Problem:
    path = folder.path(inside)
    message = f"{path} is not where an entry belongs"
    hint = f"move it, and the diffs beside it, to {folder.path(_home(folder, inside))}"
    return Problem(code="entry-misplaced", message=message, hint=hint, path=path)


def _home(folder: Folder, inside: str) -> str:
    """Where the file of an entry belongs, by what it says itself; what it does not say is left open."""
    try:
        values = read_toml(folder.read(inside, limit=MAX_BYTES) or b"", limit=MAX_BYTES)
    except (OSError, DocumentError):  # what cannot be read is reported once it is in its place
        values = {}
    tables = values.get("variant")
    first = tables[0] if isinstance(tables, list) and tables else None
    names = (first.get("distribution") if isinstance(first, dict) else None, values.get("id"))
    parts = (name if isinstance(name, str) and is_slug(name) else None for name in names)
    words = [part or open_ for part, open_ in zip(parts, ("<distribution>", "<id>"), strict=True)]
    return "/".join((*words, ENTRY_FILE))


def _read_entry(folder: Folder, inside: str) -> Iterator[Patch | Problem]:
    file, name = folder.path(f"{inside}/{ENTRY_FILE}"), inside.rpartition("/")[2]
    try:
        data = folder.read(f"{inside}/{ENTRY_FILE}")
        empty = data is None and not folder.items(inside)
    except OSError as error:
        message = f"{file} cannot be read: {reason_of(error)}"
        hint = mount_hint(folder.root, f"{inside}/{ENTRY_FILE}")
        yield Problem(code="entry-unreadable", message=message, hint=hint, patch=name, path=file)
        return
    if empty:
        # Version control leaves empty folders behind when it takes their files away.
        return
    if data is None:
        message = f"{folder.path(inside)} holds no {ENTRY_FILE}"
        hint = f"an entry's file is named {ENTRY_FILE}; the name of a folder that is no entry begins with _"
        yield Problem(code="entry-without-file", message=message, hint=hint, patch=name, path=folder.path(inside))
        return
    patch, problems = parse_entry(
        data,
        file=file,
        folder=folder.path(inside),
        read_file=lambda other: _read_beside(folder, f"{inside}/{other}"),
        split_tokens=tokens,
        registry=folder.root,
    )
    yield from problems
    if patch is not None:
        yield patch


def _read_beside(folder: Folder, inside: str) -> bytes:
    data = folder.read(inside)
    if data is None:
        raise RegistryError("file-missing", "there is no such file", path=folder.path(inside))
    return data


def _as_problems(findings: Sequence[Finding]) -> list[Problem]:
    """Findings with their places; the file of an entry is scanned once, however much is said of it."""
    by_entry: dict[tuple[str, str], list[int]] = {}
    for index, finding in enumerate(findings):
        by_entry.setdefault((finding.patch.registry, finding.patch.folder), []).append(index)
    places: dict[int, tuple[str, int]] = {}
    for indices in by_entry.values():
        file, lines = locate_keys_of(findings[indices[0]].patch, [findings[index].key for index in indices])
        places.update((index, (file, line)) for index, line in zip(indices, lines, strict=True))
    return [_as_problem(finding, *places[index]) for index, finding in enumerate(findings)]


def _as_problem(finding: Finding, file: str, line: int) -> Problem:
    problem = Problem(code=finding.code, message=finding.message, hint=finding.hint, patch=finding.patch.id)
    return problem._replace(path=file, line=line, key=finding.key)
