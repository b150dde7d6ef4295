"""Read only the part of a large registry that may concern this environment, where that is known from the last time.

A status judges every entry. Of a thousand, ten may concern the build, and nothing of the others changes from one
status to the next. Their ids are noted in the caller's cache directory, under a digest over everything that the answer
rested on: every file of the registry, every file of the site that a diff or evidence names and the directories on its
way, the distributions, the ledger, and patchctl itself. Whatever changed, everything is read and judged anew.
Writing commands and those that name entries never come here.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import patchctl
from patchctl.build import MatchRule
from patchctl.commands.judging import Scene
from patchctl.commands.place import Place
from patchctl.commands.scene import Aside, gather, registry_folders
from patchctl.disk import Marks, mark_below
from patchctl.errors import PatchctlError
from patchctl.evidence import FixFinding, FixStatus, ItemStatus
from patchctl.model.paths import path_problem
from patchctl.notes import recall, remember
from patchctl.registry import mark_registry
from patchctl.verdict import Action, Assessment, Need

LEAST = 100
"""Entries of a registry from which on a note is worth its file."""

_SETTLED = 2_000_000_000
"""Nanoseconds: what changed this short before it was read may change again without showing (git's "racily clean")."""

_SURE = frozenset({FixStatus.ABSENT, FixStatus.CLAIMED, FixStatus.PROVEN})
_PLAIN = frozenset({ItemStatus.HOLDS, ItemStatus.FAILS})


def gather_glance(place: Place, started: int) -> Scene:
    """Gather as :func:`gather` does; entries that do not concern this environment may be missing from the scene.

    Args:
        place: where.
        started: the time at which the command began, in nanoseconds since the epoch; 0: not known, and then no note
            is left.

    Raises:
        PatchctlError: as of :func:`gather`.
    """
    if place.cwd is None or place.handed_over:
        return gather(place)
    key = _key(place)
    note = recall(place.environ, key)
    if note is not None and note.keys() == {"digest", "aside", "distributions", "paths"}:
        aside = Aside(ids=frozenset(note["aside"]), distributions=frozenset(note["distributions"]))
        try:
            scene = gather(place, aside=aside)
            # Looked at after everything was read: what is as it was at the first time was so in between.
            if scene.journal is not None or (_marks(place, scene, note["paths"]).digest(),) == note["digest"]:
                return scene
        except (PatchctlError, OSError):
            pass  # what is wrong is said when everything is read
    scene = gather(place)
    if scene.journal is None and len(scene.registry.entries) >= LEAST:
        _leave_note(place, key, scene, started)
    return scene


def _leave_note(place: Place, key: str, scene: Scene, started: int) -> None:
    """Note who is no part of the answer, if nothing that it rests on changed shortly before it was read, or since."""
    # What was taken out of a file may have been a stranger's change.
    if not scene.judged_on_base:
        return
    paths = tuple(sorted(scene.site.bases))
    try:
        marks = _marks(place, scene, paths)
    except OSError:
        return
    if marks.newest > started - _SETTLED:
        return
    note = {"digest": (marks.digest(),), "aside": _strangers(scene), "paths": paths}
    remember(place.environ, key, note | {"distributions": tuple(sorted(scene.registry.distributions))})


def _strangers(scene: Scene) -> tuple[str, ...]:
    """The entries that play no part in any answer: not shown, not named by one that may be, nothing wrong with them."""
    strange = {found.id for found in scene.assessments if _is_strange(found)}
    strange -= {problem.patch for problem in (*scene.errors, *scene.warnings) if problem.patch is not None}
    entries = {entry.id: entry for entry in scene.registry.entries}
    waiting = [entry for id_, entry in entries.items() if id_ not in strange]
    while waiting:
        entry = waiting.pop()
        for id_ in strange & {*entry.requires, *entry.replaces}:
            strange.remove(id_)
            waiting.append(entries[id_])
    return tuple(sorted(strange))


def _is_strange(found: Assessment) -> bool:
    case = found.case
    if case.patch is None or case.receipt is not None or case.hold is not None:
        return False
    if case.rule is not MatchRule.NONE or found.need is not Need.NOT_CONCERNED or found.action is not Action.NONE:
        return False
    return all(_is_sure(finding) for finding in case.fixes)


def _is_sure(finding: FixFinding) -> bool:
    """No deadline and no search elsewhere had a part in it: a search for one entry widens that for another."""
    return finding.status in _SURE and all(item.status in _PLAIN for item in finding.items)


def _marks(place: Place, scene: Scene, paths: tuple[str, ...]) -> Marks:
    """Everything that the answer rested on, as it is now.

    Raises:
        OSError: something cannot be looked at.
    """
    marks = Marks()
    marks.add_words(patchctl.__version__, sys.version, scene.target.site, scene.site.ledger.sha256, place.distribution)
    for name, found in sorted(scene.target.distributions.items()):
        marks.add_words(name, found._replace(record=None), found.record is None)
    package = Path(patchctl.__file__).parent
    for directory, folders, files in os.walk(package):
        folders[:] = sorted(name for name in folders if not name.startswith("_"))
        mark_below(directory, (name for name in files if name.endswith(".py")), marks)
    for folder in registry_folders(place):
        mark_registry(folder, marks)
    grafts = scene.target.grafts
    roots: dict[str, list[str]] = {scene.target.site: []}
    for path in paths:
        if path_problem(path) is None:
            roots.setdefault(grafts.get(path.partition("/")[0], scene.target.site), []).append(path)
    for root, inside in sorted(roots.items()):
        mark_below(root, inside, marks)
    return marks


def _key(place: Place) -> str:
    """The name of the note: one for each way to name registry and environment from one working directory."""
    environ = place.environ
    ways = [place.site, place.python, *(environ.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PATH"))]
    words = repr((place.cwd, registry_folders(place), place.distribution, ways))
    return hashlib.sha256(words.encode("utf-8", "backslashreplace")).hexdigest()
