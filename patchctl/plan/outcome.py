"""What a file becomes: the swap that brings it there, and what the ledger shall say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from patchctl.model import Content, EditKind, FileEdit, FileFact, FileMeta, sha256_hex
from patchctl.verdict import Base, BaseKind, SiteFacts

_PERMISSIONS = 0o777


@dataclass(slots=True)
class Folded:
    """The stack while it grows: what each path becomes, who touched it, whose file it is."""

    contents: dict[str, Content | None]
    entries: dict[str, tuple[str, ...]]
    owners: dict[str, str]


def fresh_second(site: SiteFacts, folded: Folded, now: int) -> int:
    """Return a whole second that no file concerned ever had as its modification time."""
    taken = [site.ledger.last_second]
    for path in folded.contents:
        live = site.snapshot.files.get(path)
        old = site.ledger.files.get(path)
        if live is not None:
            taken.append(live.meta.mtime_ns // 1_000_000_000)
        if old is not None and old.base_mtime_ns is not None:
            taken.append(old.base_mtime_ns // 1_000_000_000)
    return max(now, *(second + 1 for second in taken))


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
        result_mode=_given_mode(base.content, result),
        base_mode=meta.mode if meta is not None else None,
        base_mtime_ns=meta.mtime_ns if meta is not None else None,
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
    return FileMeta(mode=old.base_mode, uid=-1, gid=-1, mtime_ns=old.base_mtime_ns)


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
    restored = _restored(base, old, after)
    if _is_there(before, after, None if patched or restored is None else restored.base_mode):
        return None
    before_mode = before.mode & _PERMISSIONS if before is not None else None
    if after is None:
        prune = old.created_dirs if old is not None else ()
        data = before.data if before is not None else None
        kind = EditKind.DELETE
        return FileEdit(path=path, kind=kind, before=data, after=None, before_mode=before_mode, prune=prune)
    if before is None or live is None:
        mtime = restored.base_mtime_ns if restored is not None else second * 1_000_000_000
        mode = restored.base_mode if restored is not None else after.mode & _PERMISSIONS
        return FileEdit(path=path, kind=EditKind.ADD, before=None, after=after.data, mode=mode, mtime_ns=mtime)
    # bytes that stay keep their time: byte code made for them is still theirs
    mtime = live.meta.mtime_ns if before.data == after.data else second * 1_000_000_000
    return FileEdit(
        path=path,
        kind=EditKind.MODIFY,
        before=before.data,
        after=after.data,
        before_mode=before_mode,
        mode=restored.base_mode if restored is not None else _new_mode(base.content, before, after),
        mtime_ns=restored.base_mtime_ns if restored is not None else mtime,
    )


def _restored(base: Base, old: FileFact | None, after: Content | None) -> FileFact | None:
    """What is recorded of an original that is put back, and with it its time."""
    if old is None or base.kind is not BaseKind.RECORDED or base.content is None or after is None:
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
