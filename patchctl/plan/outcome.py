"""What a file becomes: the swap that brings it there, and what the ledger shall say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from patchctl.model import Content, EditKind, FileEdit, FileFact, FileMeta, Link, sha256_hex
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


def fresh_second(site: SiteFacts, folded: Folded, now: int) -> int:
    """Return a whole second that no file concerned ever had as its modification time.

    Later than every one that patchctl gave; of those that others gave it only avoids the same one, so that a file from
    the far future does not take the clock along.
    """
    taken = set()
    for path in folded.contents:
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
    meta = _base_meta(path, base, old, site)
    recorded = old.created_dirs if old is not None and base.kind is BaseKind.RECORDED else None
    added, result = base.data is None, folded.contents[path]
    return FileFact(
        path=path,
        distribution=distribution,
        fingerprint=installed.fingerprint if installed is not None else None,
        base=_digest(base.content),
        result=_digest(result),
        result_mode=_changed_mode(base.content, result),
        base_mode=meta.mode if meta is not None else None,
        base_mtime_ns=meta.mtime_ns if meta is not None else None,
        base_link=_base_link(path, base, old, site),
        base_xattrs=tuple(it for it in meta.xattrs if is_own_xattr(it[0])) if meta is not None else (),
        created_dirs=_created(path, recorded, site, missing_dirs) if added else (),
        entries=entries,
    )


def _created(
    path: str, recorded: tuple[str, ...] | None, site: SiteFacts, missing_dirs: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """The directories on the way to an added file that patchctl made, for whichever file it made them."""
    made = {directory for fact in site.ledger.files.values() for directory in fact.created_dirs}
    made |= set(missing_dirs.get(path, ())) | set(recorded or ())
    return tuple(sorted((it for it in made if path.startswith(it + "/")), key=len, reverse=True))


def _base_meta(path: str, base: Base, old: FileFact | None, site: SiteFacts) -> FileMeta | None:
    live = site.snapshot.files.get(path)
    if base.kind is BaseKind.LIVE:
        return live.meta if live is not None else None
    if old is None or old.base_mode is None or old.base_mtime_ns is None:
        return None
    return FileMeta(mode=old.base_mode, uid=-1, gid=-1, mtime_ns=old.base_mtime_ns, xattrs=old.base_xattrs)


def _base_link(path: str, base: Base, old: FileFact | None, site: SiteFacts) -> Link | None:
    """The symbolic link that stood in the file's place before our first patch."""
    live = site.snapshot.files.get(path)
    if base.kind is BaseKind.LIVE:
        return live.link if live is not None else None
    return old.base_link if old is not None else None


def swap_of(
    path: str, old: FileFact | None, fact: FileFact | None, site: SiteFacts, folded: Folded, second: int
) -> FileEdit | None:
    """The swap that this file needs; None when it is as wanted, or nobody's business in this plan."""
    base = site.bases[path]
    if base.kind is BaseKind.FOREIGN or path in site.snapshot.problems:
        return None
    patched = path in folded.contents
    if not patched and fact is not None:
        return None
    live = site.snapshot.files.get(path)
    before = site.live_content(path)
    after = folded.contents[path] if patched else base.content
    if before == after or (before and after and before.data == after.data and _changed_mode(before, after) is None):
        return None
    restored = old if not patched and base.kind is BaseKind.RECORDED else None
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
            prune=old.created_dirs if old is not None and not patched else (),
        )
    if before is None or live is None:
        return FileEdit(
            path=path,
            kind=EditKind.ADD,
            before=None,
            after=after.data,
            mode=restored.base_mode if restored is not None else after.mode & _PERMISSIONS,
            mtime_ns=restored.base_mtime_ns if restored is not None else second * 1_000_000_000,
            link=restored.base_link if restored is not None else None,
            xattrs=restored.base_xattrs if restored is not None else None,
        )
    # bytes that stay keep their time: byte code made for them is still theirs
    mtime = live.meta.mtime_ns if before.data == after.data else second * 1_000_000_000
    return FileEdit(
        path=path,
        kind=EditKind.MODIFY,
        before=before.data,
        after=after.data,
        before_mode=before_mode,
        before_link=before_link,
        mode=restored.base_mode if restored is not None else _changed_mode(before, after),
        mtime_ns=restored.base_mtime_ns if restored is not None else mtime,
        link=restored.base_link if restored is not None else None,
    )


def _changed_mode(before: Content | None, after: Content | None) -> int | None:
    """The permission bits afterwards, where a file that stays becomes executable or ceases to be; None otherwise."""
    if before is None or after is None or before.executable is after.executable:
        return None
    return after.mode & _PERMISSIONS


def _digest(content: Content | None) -> str | None:
    return None if content is None else sha256_hex(content.data)
