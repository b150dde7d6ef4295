"""What a file becomes: the swap that brings it there, and what the ledger shall say of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from patchctl.model import Content, Distribution, EditKind, FileEdit, FileFact, Link, sha256_hex
from patchctl.model.layout import is_own_xattr
from patchctl.verdict import Base, BaseKind, SiteFacts

_PERMISSIONS = 0o777
_PYC_SECONDS = 0xFFFFFFFF
"""Byte code keeps 32 bits of its source's modification time (PEP 552)."""


@dataclass(slots=True)
class Folded:
    """The stack while it grows: what each path becomes, who touched it, whose file it is."""

    contents: dict[str, Content | None]
    entries: dict[str, tuple[str, ...]]
    owners: dict[str, str]


def fresh_second(site: SiteFacts, paths: Collection[str], now: int) -> int:
    """Return a whole second that none of the files ever had as its modification time.

    Later than every one that patchctl gave; of those that others gave it only avoids the same one, so that a file from
    the far future does not take the clock along.
    """
    taken = set()
    for path in paths:
        live = site.snapshot.files.get(path)
        old = site.ledger.files.get(path)
        if live is not None:
            taken.add(live.meta.mtime_ns // 1_000_000_000 & _PYC_SECONDS)
        if old is not None and old.base_mtime_ns is not None:
            taken.add(old.base_mtime_ns // 1_000_000_000 & _PYC_SECONDS)
    second = max(now, site.ledger.last_second + 1)
    while second & _PYC_SECONDS in taken:
        second += 1
    return second


def new_fact(
    path: str,
    old: FileFact | None,
    site: SiteFacts,
    folded: Folded,
    gone: set[str],
    keepers: set[str],
    missing_dirs: Mapping[str, tuple[str, ...]],
) -> FileFact | None:
    """What the ledger shall say of the file afterwards; None: nothing any more."""
    entries = folded.entries.get(path, ())
    if not entries:
        # Not folded: either its entries leave, or a lost or drifted entry keeps its receipt, and its fact with it.
        stays = old is not None and any(id_ not in gone and id_ in keepers for id_ in old.entries)
        return old._replace(entries=tuple(id_ for id_ in old.entries if id_ not in gone)) if old and stays else None
    base = site.bases[path]
    distribution = folded.owners[path]
    installed = site.distributions.get(distribution)
    looks = _base_looks(path, base, old, site)
    result = folded.contents[path]
    return FileFact(
        path=path,
        distribution=distribution,
        fingerprint=installed.fingerprint if installed is not None else None,
        base=_digest(base.content),
        result=_digest(result),
        result_mode=_given_mode(base.content, result),
        base_mode=looks.mode,
        base_mtime_ns=looks.mtime_ns,
        base_link=looks.link,
        base_xattrs=looks.xattrs,
        created_dirs=_created(path, old, site, installed, missing_dirs) if base.data is None else (),
        entries=entries,
    )


def _created(
    path: str,
    old: FileFact | None,
    site: SiteFacts,
    installed: Distribution | None,
    missing_dirs: Mapping[str, tuple[str, ...]],
) -> tuple[str, ...]:
    """The directories on the way to an added file that patchctl made, for whichever file it made them."""
    kind = site.bases[path].kind
    made = {directory for fact in site.ledger.files.values() for directory in fact.created_dirs}
    made |= set(missing_dirs.get(path, ()))
    if old is not None and kind in {BaseKind.RECORDED, BaseKind.NEW}:
        made |= set(old.created_dirs)
    if old is None and kind is BaseKind.NEW:
        made |= set(_unlisted_parents(path, installed))
    return tuple(sorted((it for it in made if path.startswith(it + "/")), key=len, reverse=True))


def _unlisted_parents(path: str, installed: Distribution | None) -> list[str]:
    """The directories of a file that was found, not added: those in which RECORD lists nothing came with it."""
    if installed is None or installed.record is None:
        return []
    parts = path.split("/")[:-1]
    parents = ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    return [it for it in parents if not any(listed.startswith(it + "/") for listed in installed.record)]


class _Looks(NamedTuple):
    """What a base has besides its bytes."""

    mode: int | None = None
    mtime_ns: int | None = None
    link: Link | None = None
    xattrs: tuple[tuple[str, bytes], ...] = ()


def _base_looks(path: str, base: Base, old: FileFact | None, site: SiteFacts) -> _Looks:
    """How the base looks; no time where nobody ever saw the base itself, and then no link stood in its place either."""
    live = site.snapshot.files.get(path)
    if base.data is None:
        return _Looks()
    if _is_recorded(base, old):
        return _recorded_looks(old)
    own = () if live is None else tuple(it for it in live.meta.xattrs if is_own_xattr(it[0]))
    if base.kind is BaseKind.NEW:
        return _Looks(mode=base.mode & _PERMISSIONS, xattrs=own)
    if live is None:
        return _Looks()
    return _Looks(mode=live.meta.mode, mtime_ns=live.meta.mtime_ns, link=live.link, xattrs=own)


def _recorded_looks(old: FileFact | None) -> _Looks:
    if old is None:
        return _Looks()
    return _Looks(mode=old.base_mode, mtime_ns=old.base_mtime_ns, link=old.base_link, xattrs=old.base_xattrs)


def _is_recorded(base: Base, old: FileFact | None) -> bool:
    """The base is the recorded original, so that its mode and time are recorded too."""
    if base.kind is BaseKind.NEW:
        return old is not None and old.base is not None and old.base == _digest(base.content)
    return base.kind is BaseKind.RECORDED


def kept_bytes(site: SiteFacts, folded: Folded, files: Mapping[str, FileFact]) -> tuple[bytes, ...]:
    """Return new bases that no file holds, and results that no edit writes: the ledger will name them all the same."""
    kept: dict[str, bytes] = {}
    for path in sorted(path for path in files if site.bases[path].kind is BaseKind.NEW):
        for content in (site.bases[path].content, folded.contents.get(path)):
            if content is not None:
                kept[sha256_hex(content.data)] = content.data
    return tuple(kept.values())


def swap_of(
    path: str, old: FileFact | None, fact: FileFact | None, site: SiteFacts, folded: Folded, second: int
) -> FileEdit | None:
    """The swap that this file needs; None when it is as wanted, or nobody's business in this plan."""
    base = site.bases[path]
    if base.kind is BaseKind.FOREIGN or path in site.snapshot.problems:
        return None
    patched, fresh = path in folded.contents, second * 1_000_000_000
    if not patched and fact is not None:
        return None
    live = site.snapshot.files.get(path)
    before = site.live_content(path)
    after = folded.contents[path] if patched else base.content
    restored = _restored(base, old, after)
    if _is_there(before, after, None if patched or restored is None else restored.base_mode):
        return None
    mtime = restored.base_mtime_ns if restored is not None else None
    before_mode = before.mode & _PERMISSIONS if before is not None else None
    before_link = live.link.target if live is not None and live.link is not None else None
    if after is None:
        return FileEdit(
            path=path,
            kind=EditKind.DELETE,
            before=before.data if before is not None else None,
            after=None,
            before_mode=before_mode,
            before_link=before_link,
            prune=old.created_dirs if old is not None else (),
        )
    if before is None or live is None:
        mtime = fresh if mtime is None else mtime
        return FileEdit(
            path=path,
            kind=EditKind.ADD,
            before=None,
            after=after.data,
            mode=restored.base_mode if restored is not None else after.mode & _PERMISSIONS,
            mtime_ns=mtime,
            link=restored.base_link if restored is not None else None,
            xattrs=restored.base_xattrs if restored is not None else None,
        )
    if mtime is None:
        # bytes that stay keep their time: byte code made for them is still theirs
        mtime = live.meta.mtime_ns if before.data == after.data else fresh
    return FileEdit(
        path=path,
        kind=EditKind.MODIFY,
        before=before.data,
        after=after.data,
        before_mode=before_mode,
        before_link=before_link,
        mode=restored.base_mode if restored is not None else _new_mode(base.content, before, after),
        mtime_ns=mtime,
        link=restored.base_link if restored is not None else None,
    )


def _restored(base: Base, old: FileFact | None, after: Content | None) -> FileFact | None:
    """What is recorded of an original that is put back, and with it its time."""
    if old is None or not _is_recorded(base, old) or base.content is None or after is None:
        return None
    same = after.data == base.content.data and after.executable is base.content.executable
    return old if same else None


def _is_there(before: Content | None, after: Content | None, mode: int | None) -> bool:
    """Whether the file is as wanted already; ``mode``: all of its permission bits, where they are to come back too."""
    if before is None or after is None:
        return before is after
    if before.data != after.data or _changed_mode(before, after) is not None:
        return False
    return mode is None or before.mode & _PERMISSIONS == mode


def _new_mode(base: Content | None, before: Content, after: Content) -> int | None:
    """The permission bits of a file that takes the name of another; those of one that stays as in the diff's words."""
    given = _given_mode(base, after)
    if given is not None and base is not None and base.executable is after.executable:
        # no diff changes these bits: another file, with a mode of its own, was renamed to here
        return given
    return _changed_mode(before, after)


def _given_mode(base: Content | None, result: Content | None) -> int | None:
    """The permission bits of a file that is in, where they are not those of its base."""
    if base is None or result is None or not (base.mode ^ result.mode) & _PERMISSIONS:
        return None
    return result.mode & _PERMISSIONS


def _changed_mode(before: Content | None, after: Content | None) -> int | None:
    """The permission bits afterwards, where a file that stays becomes executable or ceases to be; None otherwise."""
    if before is None or after is None or before.executable is after.executable:
        return None
    return after.mode & _PERMISSIONS


def _digest(content: Content | None) -> str | None:
    return None if content is None else sha256_hex(content.data)
