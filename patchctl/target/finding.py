"""Which environment is meant, and which of its site directories: the first setting that is given decides alone.

A setting that leads nowhere is an error, not a reason to try the next: patching the wrong environment is worse than
patching none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping

from patchctl.errors import Problem, TargetError
from patchctl.model.target import Distribution, Target
from patchctl.target.distributions import read_distribution
from patchctl.target.holdings import Holding, find_holdings, normal_name
from patchctl.target.layout import Environment, environment_at, environment_of, existing

_HINT = "name the environment's interpreter with --python PATH, or its site directory with --site DIR"


def nothing(_site: str) -> tuple[str, ...]:
    """Want nothing more in any site."""
    return ()


def find_target(
    *,
    site: str | None,
    python: str | None,
    environ: Mapping[str, str],
    names: Collection[str],
    distribution: str | None = None,
    own_prefix: str = sys.prefix,
    named_by: str | None = None,
    also: Callable[[str], Collection[str]] = nothing,
) -> Target:
    """Return the site directory that is meant and the wanted distributions in it.

    Args:
        site: ``--site``: a site directory; decides before everything else.
        python: ``--python``: an interpreter (path, or a name on PATH), or an environment's directory.
        environ: read for VIRTUAL_ENV, CONDA_PREFIX and PATH, which decide in this order when neither is given, and
            for PYTHONPATH, HOME, PYTHONUSERBASE and PYTHONNOUSERSITE, which shape the interpreter's path.
        names: distributions that are wanted: those the registry speaks of.
        distribution: ``--distribution``: the only one that is wanted.
        own_prefix: patchctl's own environment. Found on PATH it counts only when it holds a wanted distribution.
        named_by: the setting that ``site`` or ``python`` came from, where it was not the option of that name.
        also: site directory (absolute) -> distributions that are wanted there too, because something is recorded of
            them.

    Raises:
        TargetError: no environment, or none of the distributions in it, or an ambiguity.
    """
    wanted = frozenset({normal_name(distribution)} if distribution is not None else map(normal_name, names))
    passed: list[str] = []
    for environment in _environments(site, python, environ, named_by):
        target = _target(environment, wanted, also)
        if target is not None:
            return target
        own = bool(environment.root) and os.path.realpath(environment.root) == os.path.realpath(own_prefix)
        if not own or environment.origin != "PATH":
            raise _absent(environment, wanted, own=own)
        passed.append(environment.root)
    message = "no python3 was found on PATH"
    if passed:
        message += f" other than patchctl's own ({', '.join(passed)}), which holds none of {', '.join(sorted(wanted))}"
    raise TargetError("no-environment", message, hint=_HINT)


def site_directories(
    *, site: str | None, python: str | None, environ: Mapping[str, str], named_by: str | None = None
) -> tuple[Target, ...]:
    """Return the site directories that the settings lead to, whatever is installed in them; see :func:`find_target`.

    Raises:
        TargetError: the settings lead nowhere.
    """
    return tuple(
        Target(site=path, python=environment.python, origin=environment.origin, distributions={})
        for environment in _environments(site, python, environ, named_by)
        for path in environment.sites
    )


def find_environment(
    *,
    site: str | None,
    python: str | None,
    environ: Mapping[str, str],
    own_prefix: str = sys.prefix,
    named_by: str | None = None,
) -> Environment:
    """Return the environment that the settings name, whatever is installed in it; arguments as of :func:`find_target`.

    Of the interpreters on PATH the first that is not patchctl's own, or its own where there is no other.

    Raises:
        TargetError: the settings lead nowhere.
    """
    own = None
    for environment in _environments(site, python, environ, named_by):
        is_own = bool(environment.root) and os.path.realpath(environment.root) == os.path.realpath(own_prefix)
        if not is_own or environment.origin != "PATH":
            return environment
        own = own or environment
    if own is None:
        raise TargetError("no-environment", "no python3 was found on PATH", hint=_HINT)
    return own


def _environments(
    site: str | None, python: str | None, environ: Mapping[str, str], named_by: str | None
) -> Iterator[Environment]:
    """Yield the one environment that the settings name; several only for the interpreters on PATH."""
    if site is not None:
        source = named_by or "--site"
        yield Environment(root="", python=None, origin=source, sites=(_site(site, source),))
        return
    if python is not None:
        yield _with_pythonpath(_named(python, environ, named_by or "--python"), environ)
        return
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        root = environ.get(variable)
        if root:
            found = environment_at(_absolute(root), origin=variable, environ=environ)
            yield _with_pythonpath(found, environ)
            return
    for path in _on_path("python3", environ):
        yield _with_pythonpath(environment_of(path, origin="PATH", environ=environ), environ)


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except OSError as error:
        message = f"{path} is relative, and the current directory cannot be found: {error.strerror}"
        raise TargetError("no-environment", message, hint="name it from the root") from None


def _site(site: str, source: str) -> str:
    path = _absolute(site)
    if not os.path.isdir(path):
        raise TargetError("no-site", f"{source} names {path}, which is not a directory", hint=_HINT)
    if os.path.isfile(f"{path}/pyvenv.cfg"):
        message = f"{source} names {path}, which is an environment, not its site directory"
        raise TargetError("no-site", message, hint=f"--python {path}")
    return path


def _named(python: str, environ: Mapping[str, str], source: str) -> Environment:
    path = python
    # A directory here is an environment's: a program of that name on PATH is hardly what was meant.
    if "/" not in python and not os.path.isdir(python):
        path = next(_on_path(python, environ), "")
        if not path:
            raise TargetError("no-interpreter", f"{source} names {python}, which is not on PATH", hint=_HINT)
    path = _absolute(path)
    if os.path.isdir(path):
        return environment_at(path, origin=source, environ=environ)
    if not os.path.exists(path):
        raise TargetError("no-interpreter", f"{source} names {path}, which is not there", hint=_HINT)
    if not os.path.isfile(path):
        raise TargetError("no-interpreter", f"{source} names {path}, which is not a file", hint=_HINT)
    if not any(name.rpartition("/")[2].startswith(("python", "pypy")) for name in (path, os.path.realpath(path))):
        raise TargetError("no-interpreter", f"{source} names {path}, which is no Python interpreter", hint=_HINT)
    return environment_of(path, origin=source, environ=environ)


def _on_path(name: str, environ: Mapping[str, str]) -> Iterator[str]:
    for directory in environ.get("PATH", "").split(os.pathsep):
        # A relative entry would make the answer depend on where patchctl is started, and on who can write there.
        path = f"{directory}/{name}"
        if os.path.isabs(directory) and os.path.isfile(path) and os.access(path, os.X_OK):
            yield os.path.normpath(path)


def _with_pythonpath(environment: Environment, environ: Mapping[str, str]) -> Environment:
    """Put PYTHONPATH first, as the interpreter does: a distribution there hides one in the environment."""
    first = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(path)]
    if not first:
        return environment
    own = {os.path.realpath(path) for path in environment.sites}
    return Environment(
        root=environment.root,
        python=environment.python,
        origin=environment.origin,
        sites=existing([*first, *environment.sites]),
        base=environment.base,
        pythonpath=tuple(path for path in existing(first) if os.path.realpath(path) not in own),
    )


def _target(environment: Environment, wanted: frozenset[str], also: Callable[[str], Collection[str]]) -> Target | None:
    """Choose the site directory that holds most of the distributions an import would find; the first of equals."""
    holders = [
        (site, find_holdings(site, wanted | frozenset(map(normal_name, also(site)))))
        for site in (*environment.sites, *environment.base)
    ]
    holders = [(site, holdings) for site, holdings in holders if holdings]
    if not holders:
        return None
    imported: dict[str, str] = {}
    for site, holdings in holders:
        for holding in holdings:
            imported.setdefault(holding.name, site)
    chosen, holdings = max(holders, key=lambda holder: list(imported.values()).count(holder[0]))
    found, unusable = _distributions(chosen, [it for it in holdings if imported[it.name] == chosen])
    if not found:
        first = unusable[min(unusable)]
        raise TargetError(first.code, first.message, hint=first.hint, path=first.path)
    return Target(
        site=chosen,
        python=environment.python,
        origin="PYTHONPATH" if chosen in environment.pythonpath else environment.origin,
        distributions=found,
        passed_over=tuple(site for site, _ in holders if site != chosen),
        shared_by=environment.root if chosen in environment.base else None,
        unusable=unusable,
    )


def _distributions(site: str, holdings: Collection[Holding]) -> tuple[dict[str, Distribution], dict[str, Problem]]:
    """Read each distribution; one that cannot be read says nothing about the others."""
    by_name: dict[str, list[Holding]] = {}
    for holding in holdings:
        by_name.setdefault(holding.name, []).append(holding)
    found: dict[str, Distribution] = {}
    unusable: dict[str, Problem] = {}
    for name, several in by_name.items():
        broken = [holding.problem for holding in several if holding.problem is not None]
        if len(several) > 1:
            unusable[name] = _ambiguous(site, several)
        elif broken:
            unusable[name] = broken[0]
        else:
            try:
                found[name] = read_distribution(site, several[0])
            except TargetError as error:
                unusable[name] = error.problem
    return found, unusable


def _ambiguous(site: str, several: Collection[Holding]) -> Problem:
    name = next(iter(several)).name
    listed = " and ".join(holding.info for holding in several)
    message = f"{name} is recorded more than once in {site}: {listed}; which one the files are from is unknown"
    hint = "remove the leftover of the older install (an upgrade with --target leaves one)"
    return Problem(code="ambiguous-distribution", message=message, hint=hint)


def editable_grafts(site: str) -> dict[str, str]:
    """Return what the editable installs of ``site`` (absolute) have elsewhere: top-level name -> directory.

    For settling a transaction that was cut short, when nothing is known of what it was about; what cannot be read is
    left out.
    """
    grafts: dict[str, str] = {}
    for holding in find_holdings(site, None):
        try:
            grafts.update(read_distribution(site, holding).grafts)
        except TargetError:
            continue
    return grafts


def _absent(environment: Environment, wanted: frozenset[str], *, own: bool) -> TargetError:
    if not wanted:
        message = "the registry names no distribution, and nothing is recorded where it was looked"
        return TargetError("no-distribution", message, hint="patchctl list shows the registry and what is broken in it")
    names = ", ".join(sorted(wanted))
    missing = f"{names} is not installed" if len(wanted) == 1 else f"none of {names} is installed"
    looked = ", ".join((*environment.sites, *environment.base))
    where = f"the environment {environment.root} (from {environment.origin}); looked in " if environment.root else ""
    message = f"{missing} in {where}{looked}"
    if own:
        message += "; this is the environment patchctl itself runs in"
    return TargetError("no-distribution", message, hint=_HINT)
