"""The options by which the operator named environment and registry, as another command would have to say them.

What a variable of the environment says, it goes on saying: no option stands for it. How a sentence takes them up is
``render``'s business.
"""

from __future__ import annotations

import os

from patchctl.commands.place import Place


def given_options(place: Place) -> tuple[str, ...]:
    """Return the words of ``--site``, ``--python``, ``--registry`` and ``--distribution``, as far as they were said.

    Directories are absolute, so that the words mean the same in another directory. They are not quoted for a shell.
    """
    distribution = ("--distribution", place.distribution) if place.distribution is not None else ()
    return (*_environment(place), *registry_options(place), *distribution)


def registry_options(place: Place) -> tuple[str, ...]:
    """Return the words of every ``--registry``; none where PATCHCTL_REGISTRY says the same."""
    if place.registries == tuple(filter(None, place.environ.get("PATCHCTL_REGISTRY", "").split(os.pathsep))):
        return ()
    return tuple(word for folder in place.registries for word in ("--registry", absolute(folder, place.cwd)))


def _environment(place: Place) -> tuple[str, ...]:
    if place.origin is not None:
        return ()
    site = ("--site", absolute(place.site, place.cwd)) if place.site is not None else ()
    # a word without a slash is looked for on PATH
    python = place.python if place.python is None or "/" not in place.python else absolute(place.python, place.cwd)
    return (*site, *(("--python", python) if python is not None else ()))


def absolute(path: str, cwd: str | None) -> str:
    """Return ``path`` from the root; ``..`` stays, since behind a link it leads elsewhere than its text says."""
    if path.startswith("/") or cwd is None:
        return path
    path = path.removeprefix("./")
    return cwd if path in {"", "."} else f"{cwd.rstrip('/')}/{path}"
