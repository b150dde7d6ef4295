"""Where an environment keeps its site directories, read from its files: no interpreter is started to ask.

Known are virtual environments (PEP 405), conda, plain installations, Debian's dist-packages, Fedora's lib64 and
/usr/local, and the user site. The order is that of the interpreter's own path.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from patchctl.errors import TargetError

_NAME_IT = "name the interpreter with --python PATH, or the site directory with --site DIR"

_OWN_SITES = ("lib64/{python}/site-packages", "lib/{python}/site-packages")
_SHARED_SITES = (
    "local/lib/{python}/dist-packages",  # Debian
    "local/lib64/{python}/site-packages",  # Fedora
    "local/lib/{python}/site-packages",
    "lib/python3/dist-packages",  # Debian
)


class Environment(NamedTuple):
    """One environment.

    Attributes:
        root: what ``sys.prefix`` would be, absolute; empty for a bare ``--site``.
        python: its interpreter, absolute; None when none is known.
        origin: the setting that named it.
        sites: its site directories in path order, absolute, each real directory once.
        base: site directories of the installation below it which it shares with others (``--system-site-packages``).
        pythonpath: those of its sites that PYTHONPATH alone names.
    """

    root: str
    python: str | None
    origin: str
    sites: tuple[str, ...]
    base: tuple[str, ...] = ()
    pythonpath: tuple[str, ...] = ()


def environment_at(root: str, *, origin: str, environ: Mapping[str, str]) -> Environment:
    """Return the environment whose prefix is the directory ``root`` (absolute).

    Raises:
        TargetError: ``root`` is no environment.
    """
    if not os.path.isdir(root):
        raise TargetError("no-environment", f"{origin} names {root}, which is not a directory", hint=_NAME_IT)
    python = next((path for name in ("python3", "python") if os.path.exists(path := f"{root}/bin/{name}")), None)
    if os.path.isfile(f"{root}/pyvenv.cfg"):
        return _virtual(root, python, origin=origin, environ=environ)
    if python is None and not _libraries(root):
        raise TargetError("no-environment", f"{origin} names {root}, which holds no Python environment", hint=_NAME_IT)
    return _plain(root, python, origin=origin, environ=environ)


def environment_of(python: str, *, origin: str, environ: Mapping[str, str]) -> Environment:
    """Return the environment of the interpreter file ``python`` (absolute), as that interpreter itself would find it.

    A pyvenv.cfg counts for the name under which the interpreter is started, a plain installation for the file that
    the name leads to: a link to a virtual environment's interpreter from elsewhere is its base installation.

    Raises:
        TargetError: ``python`` is a script (a shim of pyenv or asdf), or is not below a ``bin`` of an installation.
    """
    root = os.path.dirname(os.path.dirname(python))
    if os.path.isfile(f"{root}/pyvenv.cfg"):
        return _virtual(root, python, origin=origin, environ=environ)
    real = os.path.realpath(python)
    try:
        with open(real, "rb") as stream:
            script = stream.read(2) == b"#!"
    except OSError as error:
        raise TargetError("no-interpreter", f"{python} cannot be read: {error.strerror}", hint=_NAME_IT) from None
    if script:
        message = (
            f"{python} (from {origin}) is a script, such as a shim of pyenv or asdf: what it would start is unknown"
        )
        raise TargetError("interpreter-is-script", message, hint=_NAME_IT)
    return _plain(os.path.dirname(os.path.dirname(real)), python, origin=origin, environ=environ)


def existing(candidates: Iterable[str]) -> tuple[str, ...]:
    """Return the directories among ``candidates`` in their order; of several names of one directory, the first."""
    found: dict[str, str] = {}
    for path in candidates:
        if os.path.isdir(path):
            found.setdefault(os.path.realpath(path), path)
    return tuple(found.values())


def _virtual(root: str, python: str | None, *, origin: str, environ: Mapping[str, str]) -> Environment:
    keys = _read_cfg(f"{root}/pyvenv.cfg")
    # venv writes `version`, virtualenv and uv `version_info`.
    stated = ".".join((keys.get("version") or keys.get("version_info") or "").split(".")[:2])
    library = _library(root, f"python{stated}", python)
    sites = existing(_named(root, _OWN_SITES, library))
    if not sites:
        raise TargetError("no-site", f"the environment {root} has no site-packages directory", hint=_NAME_IT)
    base: tuple[str, ...] = ()
    if keys.get("include-system-site-packages", "").lower() == "true":
        system = _plain_sites(_base_root(keys.get("home", ""), library), library)
        base = tuple(path for path in existing([*sites, *_user_site(library, environ), *system]) if path not in sites)
    return Environment(root=root, python=python, origin=origin, sites=sites, base=base)


def _plain(root: str, python: str | None, *, origin: str, environ: Mapping[str, str]) -> Environment:
    library = _library(root, "", python)
    sites = existing([*_user_site(library, environ), *_plain_sites(root, library)])
    if not sites:
        message = f"the installation {root} has no site-packages or dist-packages directory for {library}"
        raise TargetError("no-site", message, hint=_NAME_IT)
    return Environment(root=root, python=python, origin=origin, sites=sites)


def _library(root: str, stated: str, python: str | None) -> str:
    """Return ``pythonX.Y``, the library directory's name: as stated, as the interpreter is called, or the only one.

    An interpreter upgraded in place leaves the old version's directory behind, so the directories come last.
    """
    present = _libraries(root)
    if stated in present:
        return stated
    called = os.path.basename(os.path.realpath(python)) if python is not None else ""
    if _is_library(called):
        return called
    if len(present) == 1:
        return present[0]
    if not present:
        raise TargetError("no-site", f"{root} has no lib/pythonX.Y directory", hint=_NAME_IT)
    several = ", ".join(present)
    message = f"{root} has the libraries of several Pythons ({several}), and nothing tells which one is meant"
    raise TargetError("ambiguous-python", message, hint=_NAME_IT)


def _libraries(root: str) -> list[str]:
    found: set[str] = set()
    for parent in ("lib", "lib64", "local/lib"):
        try:
            found.update(filter(_is_library, os.listdir(f"{root}/{parent}")))
        except OSError:
            continue
    return sorted(found)


def _is_library(name: str) -> bool:
    """Return whether ``name`` is ``pythonX.Y``, also of a free-threaded build (``python3.13t``)."""
    major, dot, minor = name.removeprefix("python").partition(".")
    return (
        bool(dot)
        and name.isascii()
        and name.startswith("python")
        and major.isdecimal()
        and minor.removesuffix("t").isdecimal()
    )


def _base_root(home: str, library: str) -> str:
    """Return the prefix of the installation whose ``bin`` is ``home``, its links followed as the interpreter does."""
    names = (f"{home}/{name}" for name in (library, "python3", "python"))
    python = next((path for path in names if os.path.isabs(home) and os.path.exists(path)), None)
    return os.path.dirname(os.path.dirname(os.path.realpath(python)) if python is not None else home)


def _plain_sites(root: str, library: str) -> tuple[str, ...]:
    shared = _named(root, _SHARED_SITES + _OWN_SITES, library)
    # Vendor images put a self-made interpreter beside Debian's pip: its dist-packages counts where nothing else is.
    own = f"{root}/lib/{library}"
    return shared if os.path.isdir(f"{own}/site-packages") else (*shared, f"{own}/dist-packages")


def _named(root: str, sites: tuple[str, ...], library: str) -> tuple[str, ...]:
    """Return the site directories there may be; where lib64 is another name of lib, under the name lib."""
    names = [f"{root}/{site.format(python=library)}" for site in sites]
    return tuple(name for name in names if not os.path.islink(name[: name.find("/lib64/") + len("/lib64")]))


def _user_site(library: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    if environ.get("PYTHONNOUSERSITE"):
        return ()
    home = environ.get("HOME", "")
    base = environ.get("PYTHONUSERBASE") or (f"{home}/.local" if home else "")
    return (f"{base}/lib/{library}/site-packages",) if os.path.isabs(base) else ()


def _read_cfg(path: str) -> dict[str, str]:
    """Return the keys of a pyvenv.cfg, in lower case; an unreadable file has none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            pairs = [line.partition("=") for line in stream.read(1 << 16).split("\n")]
    except OSError:
        return {}
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}
