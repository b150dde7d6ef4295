"""Candidates: what an upgrade would install, or what an author wants to try a registry on.

A candidate is a wheel, a directory that a wheel was extracted or installed into, or another environment. It is read,
never changed, never run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import NamedTuple

from patchctl.disk import open_parent
from patchctl.errors import TargetError
from patchctl.target.finding import find_target, nothing
from patchctl.target.reading import open_site
from patchctl.target.tree import SiteTree, Tree

_HINT = "name a wheel file, the directory of an extracted wheel, an environment or its interpreter"
_INFO = (".dist-info", ".egg-info", ".egg-link")
_SPREAD = frozenset({"purelib", "platlib", "data"})


class CandidateKind(str, Enum):
    """What a candidate was given as."""

    WHEEL = "wheel"
    DIRECTORY = "directory"
    ENVIRONMENT = "environment"


class OpenCandidate(NamedTuple):
    """A candidate that can be read.

    Attributes:
        path: as it was given.
        kind: what that is.
        tree: its files.
    """

    path: str
    kind: CandidateKind
    tree: Tree


@contextmanager
def opened_candidate(
    path: str,
    *,
    names: Collection[str],
    environ: Mapping[str, str],
    also: Callable[[str], Collection[str]] = nothing,
    look: Callable[[int], None] | None = None,
) -> Iterator[OpenCandidate]:
    """Open a candidate until the block ends.

    Args:
        path: a wheel file (its name ends in ``.whl``), a directory with a ``.dist-info``, an environment's directory,
            or an interpreter.
        names: distributions that are wanted (any spelling); one of them at least must be in it.
        environ: the process environment, for the interpreter's path.
        also: site directory (absolute) -> distributions that are wanted there too.
        look: gets the descriptor of a wheel before anything of it is read, and raises what is raised.

    Raises:
        TargetError: it is none of these, cannot be read, or holds nothing that is wanted.
    """
    kind = _kind(path)
    if kind is CandidateKind.WHEEL:
        from patchctl.target.wheel import wheel_tree  # most verbs open none

        with wheel_tree(path, look) as tree:
            _need_one(path, tree.target.distributions, names)
            yield OpenCandidate(path=path, kind=kind, tree=tree)
        return
    if kind is CandidateKind.DIRECTORY:
        _refuse_spread(path)
    try:
        target = find_target(
            site=path if kind is CandidateKind.DIRECTORY else None,
            python=path if kind is CandidateKind.ENVIRONMENT else None,
            environ=environ,
            names=names,
            named_by="the candidate",
            also=also,
        )
    except TargetError as error:
        raise _as_candidate(error) from None
    yield OpenCandidate(path=path, kind=kind, tree=SiteTree(target))


def _as_candidate(error: TargetError) -> TargetError:
    """The options that name an environment are about the one that is here, and lead nowhere for a candidate."""
    problem = error.problem
    return TargetError(problem.code, problem.message, hint=_HINT) if "--python" in (problem.hint or "") else error


def _kind(path: str) -> CandidateKind:
    if os.path.isdir(path):
        if any(entry.endswith(_INFO) for entry in _listed(path)):
            return CandidateKind.DIRECTORY
        return CandidateKind.ENVIRONMENT
    if not os.path.exists(path):
        hint = _HINT
        if "==" in path:
            hint = f"patchctl never uses the network: pip download --no-deps '{path}', then name the file"
        raise TargetError("no-candidate", f"{path} is not there", hint=hint)
    if path.endswith(".whl"):
        return CandidateKind.WHEEL
    if path.endswith((".tar.gz", ".zip", ".egg")):
        raise TargetError(
            "no-candidate", f"{path} is no wheel: what it installs is known only when it is built", hint=_HINT
        )
    return CandidateKind.ENVIRONMENT


def _listed(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError as error:
        raise TargetError("no-candidate", f"{path} cannot be read: {error.strerror}", hint=_HINT) from None


def _refuse_spread(path: str) -> None:
    """An archive's ``.data`` directory is put elsewhere by an installer: as it lies here, files are missing."""
    root_fd = open_site(path)
    try:
        # Installers spread any directory of such a name, whatever stands before the ending.
        spread = [name for name in sorted(os.listdir(root_fd)) if name.endswith(".data") and _is_spread(root_fd, name)]
    finally:
        os.close(root_fd)
    if spread:
        message = f"{path} is refused: what lies in {spread[0]} would be installed elsewhere"
        raise TargetError("unsafe-wheel", message, hint="name the wheel itself, or pip install --target it")


def _is_spread(root_fd: int, name: str) -> bool:
    """What is a link was not extracted from an archive, and nothing behind it is looked at."""
    try:
        parent, _ = open_parent(root_fd, f"{name}/.")
    except OSError:
        return False
    try:
        return bool(_SPREAD & set(os.listdir(parent)))
    finally:
        os.close(parent)


def _need_one(path: str, found: Mapping[str, object], names: Collection[str]) -> None:
    from patchctl.target.holdings import normal_name

    wanted = {normal_name(name) for name in names}
    if wanted & set(found):
        return
    message = f"{path} is {', '.join(found)}, which is not what was asked for: {', '.join(sorted(wanted))}"
    raise TargetError("no-distribution", message, hint="look at the registry: patchctl list")
