"""``restore``: put files back as their distribution shipped them, from a wheel whose bytes the installed RECORD proves.

What is recorded as applied to such a file goes in again on top: reverting is ``revert``'s business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patchctl.commands.change import carry_out
from patchctl.commands.judging import Scene
from patchctl.commands.place import NO_CONSENT, NOTHING_ELSE, Allowed, Clock, Consent, Place
from patchctl.commands.proposal import Proposal
from patchctl.commands.report import Report
from patchctl.commands.stack import kept_steps
from patchctl.errors import Problem
from patchctl.model import Content, listed_sha256, sha256_hex
from patchctl.model.layout import object_path
from patchctl.target import WheelFile, path_below, read_wheel_files
from patchctl.verdict import Base, BaseKind, new_base


def restore(
    place: Place,
    clock: Clock,
    files: Sequence[str],
    *,
    wheel: str,
    dry_run: bool = False,
    wait: float = 0.0,
    consent: Consent = NO_CONSENT,
    allowed: Allowed = NOTHING_ELSE,
) -> Report:
    """Put files back.

    Args:
        place: where.
        clock: when.
        files: POSIX relative to the site, or absolute below it; all or nothing.
        wheel: path of the wheel that holds their pristine bytes.
        dry_run: plan only.
        wait: seconds to wait for another patchctl.
        consent: what the operator allows beyond the usual.
        allowed: which places beyond the site may be edited.

    Raises:
        TargetError: the wheel cannot be read, or is refused.
    """

    def propose(scene: Scene) -> Proposal:
        paths = list(dict.fromkeys(path_below(scene.target.site, file) for file in files))
        refused = [problem for path in paths if (problem := _refusal(scene, path)) is not None]
        notes, due = [], []
        for path in paths if not refused else ():
            note = _nothing_to_do(scene, path)
            if note is None:
                due.append(path)
            else:
                notes.append(note)
        shipped = read_wheel_files(wheel, due) if due else {}
        refused += [_differs(path, wheel) for path in due if not _is_pristine(scene, path, shipped[path])]
        bases = {} if refused else _bases(scene, shipped)
        notes += [note for path in bases if (note := _still_in(scene, path)) is not None]
        notes += [note for path in bases if (note := _kept(scene, path)) is not None]
        return Proposal(
            steps=tuple(kept_steps(scene)),
            holds=scene.site.ledger.holds,
            refused=tuple(refused),
            notes=tuple(notes),
            bases=bases,
        )

    return carry_out(
        "restore",
        place,
        clock,
        propose,
        files=files,
        dry_run=dry_run,
        wait=wait,
        consent=consent,
        allowed=allowed,
    )


def _refusal(scene: Scene, path: str) -> Problem | None:
    """Why nobody can say what the file was like, or why it must not be written; None: there is a hash for it."""
    problem = scene.site.snapshot.problems.get(path)
    if problem is not None:
        return Problem(code="cannot-restore", message=f"{path} {problem}", path=path)
    listed = _listed(scene, path)
    if (directory := scene.target.grafts.get(path.partition("/")[0])) is not None:
        message = f"{path} belongs to an editable install and lies in {directory}: no wheel shipped it"
        hint = f"what the tree's own history has: git -C {directory} checkout -- {path}"
        return Problem(code="editable-install", message=message, hint=hint, path=path)
    if len(listed) == 1:
        return None
    owners = [name for name, found in scene.target.distributions.items() if path in (found.record or {})]
    if not owners:
        known = ", ".join(scene.target.distributions)
        message = f"{path} is listed in no RECORD of the distributions looked at ({known})"
        hint = "paths are relative to the site; name another distribution with --distribution NAME"
        return Problem(code="not-listed", message=message, hint=hint, path=path)
    what = "several distributions list it, each with another hash" if listed else f"RECORD of {owners[0]} has no hash"
    return Problem(code="not-listed", message=f"nothing tells what {path} was like: {what}", path=path)


def _listed(scene: Scene, path: str) -> set[str]:
    """The hashes that RECORDs list for the file."""
    hashes = (listed_sha256(found, path) for found in scene.target.distributions.values())
    return {sha256 for sha256 in hashes if sha256 is not None}


def _is_pristine(scene: Scene, path: str, shipped: WheelFile | None) -> bool:
    return shipped is not None and sha256_hex(shipped.data) in _listed(scene, path)


def _nothing_to_do(scene: Scene, path: str) -> str | None:
    base, live = scene.site.bases[path], scene.site.snapshot.files.get(path)
    listed = _listed(scene, path)
    if base.kind is BaseKind.RECORDED and base.data is not None and sha256_hex(base.data) in listed:
        ids = " ".join(scene.site.ledger.files[path].entries)
        return f"{path} is as patchctl left it, over its pristine bytes; to have those: patchctl revert {ids}"
    if base.kind is not BaseKind.FOREIGN and live is not None and live.sha256 in listed:
        return f"{path} is pristine already"
    return None


def _differs(path: str, wheel: str) -> Problem:
    message = f"{wheel} does not have {path} as the installed RECORD lists it"
    hint = "it takes the wheel of the build that is installed, or another one whose file has that hash"
    return Problem(code="wheel-differs", message=message, hint=hint, path=path)


def _bases(scene: Scene, shipped: Mapping[str, WheelFile | None]) -> dict[str, Base]:
    bases = {}
    for path, file in shipped.items():
        if file is not None:
            bases[path] = new_base(Content(data=file.data, mode=_mode(scene, path, executable=file.executable)))
    return bases


def _mode(scene: Scene, path: str, *, executable: bool) -> int:
    """RECORD lists none: the operator's stays, unless a patch of ours changes it or there is no file."""
    fact, live = scene.site.ledger.files.get(path), scene.site.snapshot.files.get(path)
    if fact is not None and fact.base_mode is not None and (fact.result_mode is not None or live is None):
        return fact.base_mode
    if live is not None:
        return live.meta.mode
    return 0o755 if executable else 0o644


def _kept(scene: Scene, path: str) -> str | None:
    """Say where bytes go that are neither the distribution's nor ours: a transaction keeps what it replaces."""
    live, fact = scene.site.snapshot.files.get(path), scene.site.ledger.files.get(path)
    if live is None or live.sha256 in _listed(scene, path) | {fact.result if fact is not None else None}:
        return None
    return f"what was in {path} is kept as {object_path(live.sha256)}, below the site, as long as the history names it"


def _still_in(scene: Scene, path: str) -> str | None:
    fact = scene.site.ledger.files.get(path)
    if fact is None or not fact.entries:
        return None
    return f"{path} is put back below {', '.join(fact.entries)}, which is applied and stays in"
