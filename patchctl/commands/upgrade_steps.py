"""The commands of an upgrade, in the order in which they are to be run: words for a shell, nothing is run here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from patchctl.commands.given import given_options, registry_options
from patchctl.commands.judging import Scene
from patchctl.commands.place import NOTHING_ELSE, Allowed, Place
from patchctl.commands.stack import distributions_of
from patchctl.commands.upcoming import Upcoming
from patchctl.disk import look_below
from patchctl.errors import TargetError
from patchctl.model import Distribution, Target
from patchctl.model.shell import shell_line
from patchctl.target import CandidateKind
from patchctl.target.kinds import kind_of
from patchctl.target.layout import environment_of
from patchctl.target.oracle import prefix_of
from patchctl.verdict import Action, Assessment, Verdict


def upgrade_steps(
    place: Place, scene: Scene, upcoming: Upcoming, allowed: Allowed = NOTHING_ELSE, *, moving: bool = False
) -> tuple[str, ...]:
    """Return what to run, from the files as they are to a green check on what the candidate brings.

    A step that would have nothing to do is left out. Where protection would be lost, the last step will say so.

    Args:
        place: as the operator named it; the commands name it the same way.
        scene: the environment now.
        upcoming: the candidate, judged.
        allowed: what the operator allows beyond the site; the steps that write will need it too.
        moving: the candidate is an environment that takes the place of this one, so that nothing is installed.
    """
    if moving and upcoming.candidate.kind is CandidateKind.ENVIRONMENT:
        return _moving_steps(place, upcoming, allowed)
    where = given_options(place)
    out = [id_ for id_ in upcoming.displaced if _is_in(scene, id_)]
    steps = [("retire", "--for", upcoming.candidate.path, *where, *allowed.decisions)] if out else []
    steps = [("patchctl", *step) for step in steps]
    steps += _installing(scene.target, upcoming)
    steps += [("patchctl", *step) for step in _settling(upcoming, where, allowed)]
    return tuple(shell_line(step) for step in steps)


def _settling(upcoming: Upcoming, where: Sequence[str], allowed: Allowed) -> list[tuple[str, ...]]:
    found = upcoming.scene.assessments
    steps: list[tuple[str, ...]] = []
    if any(_comes_in(it, upcoming) for it in found):
        steps.append(("apply", *where, *allowed.decisions))
    if any(it.action is Action.RETIRE for it in found):
        steps.append(("retire", *where, *allowed.decisions))
    return [*steps, ("check", *where)]


def _comes_in(found: Assessment, upcoming: Upcoming) -> bool:
    """The upgrade leaves it to a bare apply; what is in the candidate's own files is not in what gets installed."""
    if found.action is Action.APPLY:
        return True
    patch = found.case.patch
    wanted = found.id in upcoming.displaced or (patch is not None and patch.default)
    there = found.verdict is Verdict.APPLIED or found.action is Action.ADOPT
    return there and wanted and bool(distributions_of(found) & set(upcoming.candidate.tree.target.distributions))


def _moving_steps(place: Place, upcoming: Upcoming, allowed: Allowed) -> tuple[str, ...]:
    """Over there nothing is recorded of what was applied here, so that the optional entries must be named."""
    where = ("--python", upcoming.candidate.path, *registry_options(place))
    due = [it for it in upcoming.scene.assessments if it.action is Action.APPLY]
    named = [it.id for it in due if _is_optional_there(it, upcoming)]
    present = [it.id for it in upcoming.scene.assessments if it.action is Action.ADOPT]
    steps: list[tuple[str, ...]] = [("adopt", *present, *where)] if present else []
    if len(named) < len(due):
        steps.append(("apply", *where, *allowed.decisions))
    if named:
        steps.append(("apply", *named, *where, *allowed.decisions))
    if any(it.action is Action.RETIRE and it.id not in upcoming.displaced for it in upcoming.scene.assessments):
        steps.append(("retire", *where, *allowed.decisions))
    steps.append(("check", *where))
    return tuple(shell_line(("patchctl", *step)) for step in steps)


def _is_optional_there(found: Assessment, upcoming: Upcoming) -> bool:
    receipt, patch = found.case.receipt, found.case.patch
    set_aside = receipt is not None and receipt.set_aside is not None and found.id in upcoming.displaced
    return set_aside and (patch is None or not patch.default)


def _is_in(scene: Scene, id_: str) -> bool:
    """It must be taken out; what is set aside already is out."""
    return any(it.id == id_ and it.set_aside is None for it in scene.site.ledger.receipts)


def _installing(target: Target, upcoming: Upcoming) -> list[tuple[str, ...]]:
    """The installer's command, in the hands of the installer that put the distribution there."""
    candidate = upcoming.candidate
    brought = candidate.tree.target.distributions
    known = [(target.distributions[name], it) for name, it in brought.items() if name in target.distributions]
    if candidate.kind is CandidateKind.WHEEL:
        what: tuple[str, ...] = (candidate.path,)
    else:
        # What was extracted or installed once cannot be installed from there again.
        what = tuple(f"{it.name}=={it.build}" for it in brought.values())
    return _install(target, known, what)


def _install(
    target: Target, known: Sequence[tuple[Distribution, Distribution]], what: Sequence[str]
) -> list[tuple[str, ...]]:
    """One command; where nothing but the directory is known, another one for what pip leaves behind in it.

    Args:
        target: where.
        known: (as it is installed, as the candidate has it).
        what: to install.
    """
    python = target.python or _beside(target.site)
    uv = any((now.installer or "").strip() == "uv" for now, _ in known)
    # An installer leaves alone what seems to be there already; its dependencies are as they were.
    same = bool(known) and all(now.build == then.build for now, then in known)
    again = ("--reinstall" if uv else "--force-reinstall", "--no-deps") if same else ()
    if uv:
        where = ("--python", python) if python is not None else ("--target", target.site)
        return [("uv", "pip", "install", *again, *where, *what)]
    if python is not None:
        return [(*_pip(python), "install", *again, *what)]
    # pip replaces packages in a --target directory, but not the metadata of another version.
    left = [f"{target.site}/{now.info}" for now, then in known if now.info != then.info]
    install = ("python3", "-m", "pip", "install", *again, "--upgrade", "--target", target.site, *what)
    return [install, *([("rm", "-r", *left)] if left else [])]


def _pip(python: str) -> tuple[str, ...]:
    """The environment's own pip; where a virtual environment has none, another one that works on it (pip 22.3)."""
    try:
        found = environment_of(python, origin="", environ={})
    except TargetError:
        return python, "-m", "pip"
    has_pip = any(look_below(site, "pip") is not None for site in (*found.sites, *found.base))
    if has_pip or kind_of(found) != "venv":
        return python, "-m", "pip"
    return "python3", "-m", "pip", "--python", python


def _beside(site: str) -> str | None:
    """The interpreter of the environment that a site directory lies in, told by its path."""
    prefix = prefix_of(site)
    found = f"{prefix}/bin/python"
    return found if prefix is not None and Path(found).is_file() else None
