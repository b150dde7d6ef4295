"""The loaded registry: what entries there are, and their diffs on demand. No judgement about any environment."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from patchctl.errors import Problem, RegistryError
from patchctl.model import RegistryPlace, sha256_hex
from patchctl.patch import Kind, Patch, Variant, file_name_problem
from patchctl.registry.folder import ENTRY_FILE, REGISTRY_FILE, Folder, reason_of


class RegistryRoot(NamedTuple):
    """One registry folder.

    Attributes:
        path: as it was given, without a trailing slash.
        name: what it calls itself.
        revision: counts its changes.
        place: which registry that is, however it was named.
    """

    path: str
    name: str
    revision: int
    place: RegistryPlace


class Registry(NamedTuple):
    """What was loaded.

    Attributes:
        roots: the folders, in the order they were given.
        entries: those that may be used, in registry order: folder, then distribution folder, then id.
        problems: everything that is wrong, folder by folder; each names its file, and key and line where it has them.
        defaults: ids that the registry marks as default, where somebody else decides which ones count so; else empty.
    """

    roots: tuple[RegistryRoot, ...]
    entries: tuple[Patch, ...]
    problems: tuple[Problem, ...] = ()
    defaults: frozenset[str] = frozenset()

    @property
    def distributions(self) -> frozenset[str]:
        """Normalised names of the distributions that the entries are for."""
        return frozenset(name for patch in self.entries for name in patch.distributions)

    def find(self, entry_id: str) -> Patch | None:
        """Return the entry of that id; None when no working entry has it."""
        return next((patch for patch in self.entries if patch.id == entry_id), None)

    def place_of(self, patch: Patch) -> RegistryPlace:
        """Return the registry that an entry of this one is from.

        Raises:
            ValueError: it is from none of them.
        """
        for root in self.roots:
            if root.path == patch.registry:
                return root.place
        raise ValueError(f"{patch.id} is from none of these registries")

    def problems_of(self, entry_id: str) -> tuple[Problem, ...]:
        """Return what is wrong with the entry of that id, used or not."""
        return tuple(problem for problem in self.problems if problem.patch == entry_id)

    def wanting(self, ids: Collection[str]) -> Registry:
        """Return it with the patches of ``ids`` as the default ones, and no others; advice stays as it is."""
        decided = (
            entry if entry.kind is Kind.ADVISORY else entry._replace(default=entry.id in ids) for entry in self.entries
        )
        marked = frozenset(entry.id for entry in self.entries if entry.default)
        return self._replace(entries=tuple(decided), defaults=marked)

    def locate(self, patch: Patch, key: str) -> tuple[str, int]:
        """Return the file and the 1-based line of an entry's key, such as ``variant[0].sha256``.

        A key that is not there has the line of the nearest thing around it.
        """
        return locate_key(patch, key)

    def read_diff(self, patch: Patch, variant: Variant) -> bytes:
        """Return the bytes of a variant's diff, which have the digest that the entry states.

        Raises:
            RegistryError: it is not there, not a regular file in the entry's folder, too large, or of another digest.
            ValueError: the variant has no diff: the entry is an advisory.
        """
        if variant.diff is None or variant.sha256 is None:
            raise ValueError(f"{patch.id} is an advisory and has no diff")
        key = f"variant[{patch.variants.index(variant)}]"
        data = _read_named(patch, variant.diff, f"{key}.diff")
        actual = sha256_hex(data)
        if actual != variant.sha256:
            message = f"{variant.diff} of {patch.id} is not the diff whose digest the entry states"
            hint = f'if the diff is meant to be as it is: write sha256 = "{actual}"; was it published: raise `revision`'
            raise _error(patch, f"{key}.sha256", "diff-digest", message, hint)
        return data

    def names_beside(self, patch: Patch) -> tuple[str, ...]:
        """Return the names of what is in an entry's folder; what begins with a dot or an underscore is left out.

        Raises:
            OSError: the folder cannot be read.
        """
        folder, inside = _place(patch)
        return tuple(item.name for item in folder.items(inside))

    def read_root(self, root: RegistryRoot) -> tuple[str, bytes]:
        """Return the path, as people are shown it, and the bytes of a registry's own file; of one that is gone none."""
        folder = Folder(root=root.path)
        try:
            data = folder.read(REGISTRY_FILE)
        except OSError:
            data = None
        return folder.path(REGISTRY_FILE), data or b""

    def read_beside(self, patch: Patch, name: str) -> bytes | None:
        """Return the bytes of a file in an entry's folder, whatever its digest; None when nothing is there.

        Raises:
            OSError: a link or something else than a regular file, too large, or not readable.
        """
        folder, inside = _place(patch)
        return folder.read(f"{inside}/{name}")

    def locate_all(self, patch: Patch, keys: Sequence[str]) -> tuple[str, list[int]]:
        """Return what :meth:`locate` does for several keys; the entry's file is scanned once."""
        return locate_keys_of(patch, keys)


def locate_key(patch: Patch, key: str) -> tuple[str, int]:
    """Return the file and the 1-based line of an entry's key; line 1 when the file cannot be read any more."""
    file, lines = locate_keys_of(patch, (key,))
    return file, lines[0]


def locate_keys_of(patch: Patch, keys: Sequence[str]) -> tuple[str, list[int]]:
    """Return the file and the lines of several keys of an entry; the file is scanned once."""
    from patchctl.documents.toml_keys import locate_keys

    folder, inside = _place(patch)
    try:
        data = folder.read(f"{inside}/{ENTRY_FILE}") or b""
    except OSError:
        data = b""
    return folder.path(f"{inside}/{ENTRY_FILE}"), locate_keys(data.decode("utf-8", "replace")).lines_of(keys)


def _read_named(patch: Patch, name: str, key: str) -> bytes:
    problem = file_name_problem(name)
    if problem is not None:
        raise _error(patch, key, "bad-file-name", f"{name} {problem}", "move the diff beside patch.toml")
    folder, inside = _place(patch)
    try:
        data = folder.read(f"{inside}/{name}")
    except OSError as error:
        raise _error(
            patch, key, "diff-unreadable", f"{name} of {patch.id} cannot be read: {reason_of(error)}"
        ) from error
    if data is None:
        raise _error(patch, key, "diff-missing", f"{name} of {patch.id} is not there")
    return data


def _place(patch: Patch) -> tuple[Folder, str]:
    """The registry's folder, and the entry's folder inside it."""
    folder = Folder(root=patch.registry)
    return folder, patch.folder.removeprefix(folder.path(""))


def _error(patch: Patch, key: str, code: str, message: str, hint: str | None = None) -> RegistryError:
    file, line = locate_key(patch, key)
    return RegistryError(code, message, hint=hint, patch=patch.id, path=file, line=line, key=key)
