"""Where an environment keeps its site directories, read from its files: no interpreter is started to ask.

Known are virtual environments (PEP 405), conda, plain installations, Debian's dist-packages, Fedora's lib64 and
/usr/local, and the user site. The order is that of the interpreter's own path.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from patchctl.disk import is_open_to, leads_out, open_regular, open_root, owner_to_heed, read_named
from patchctl.errors import TargetError

_NAME_IT = "name the interpreter with --python PATH, or the site directory with --site DIR"

_LARGEST_CFG = 1 << 16
"""Bytes."""
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
        script = _is_script(real)
    except OSError as error:
        raise TargetError("no-interpreter", f"{python} cannot be read: {error.strerror}", hint=_NAME_IT) from None
    if script:
        message = (
            f"{python} (from {origin}) is a script, such as a shim of pyenv or asdf: what it would start is unknown"
        )
        raise TargetError("interpreter-is-script", message, hint=_NAME_IT)
    return _plain(os.path.dirname(os.path.dirname(real)), python, origin=origin, environ=environ)


def _is_script(program: str) -> bool:
    """Tell whether a program (absolute, its links resolved) begins as a script does; OSError: it cannot be read."""
    directory, _, name = program.rpartition("/")
    parent = open_root(directory or "/")
    try:
        fd, _ = open_regular(parent, name, program)
    finally:
        os.close(parent)
    try:
        return os.read(fd, 2) == b"#!"
    finally:
        os.close(fd)


def existing(candidates: Iterable[str]) -> tuple[str, ...]:
    """Return the directories among ``candidates`` in their order; of several names of one directory, the first."""
    found: dict[str, str] = {}
    for path in candidates:
        if os.path.isdir(path):
            found.setdefault(os.path.realpath(path), path)
    return tuple(found.values())


def _virtual(root: str, python: str | None, *, origin: str, environ: Mapping[str, str]) -> Environment:
    keys, owner = _read_cfg(root)
    # venv writes `version`, virtualenv and uv `version_info`.
    stated = ".".join((keys.get("version") or keys.get("version_info") or "").split(".")[:2])
    library = _library(root, f"python{stated}", python)
    sites = existing(_named(root, _OWN_SITES, library))
    if not sites:
        raise TargetError("no-site", f"the environment {root} has no site-packages directory", hint=_NAME_IT)
    _refuse_led(root, sites)
    base: tuple[str, ...] = ()
    if keys.get("include-system-site-packages", "").lower() == "true":
        system = _plain_sites(_base_root(keys.get("home", ""), library), library)
        shared = (path for path in system if is_open_to(owner, path))  # the owner wrote which installation it is
        base = tuple(path for path in existing([*sites, *_user_site(library, environ), *shared]) if path not in sites)
    return Environment(root=root, python=python, origin=origin, sites=sites, base=base)


def _plain(root: str, python: str | None, *, origin: str, environ: Mapping[str, str]) -> Environment:
    library = _library(root, "", python)
    sites = existing([*_user_site(library, environ), *_plain_sites(root, library)])
    if not sites:
        message = f"the installation {root} has no site-packages or dist-packages directory for {library}"
        raise TargetError("no-site", message, hint=_NAME_IT)
    _refuse_led(root, sites)
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
        _refuse_led(root, (f"{root}/lib",))
        raise TargetError("no-site", f"{root} has no lib/pythonX.Y directory", hint=_NAME_IT)
    several = ", ".join(present)
    message = f"{root} has the libraries of several Pythons ({several}), and nothing tells which one is meant"
    raise TargetError("ambiguous-python", message, hint=_NAME_IT)


def _libraries(root: str) -> list[str]:
    found: set[str] = set()
    for parent in ("lib", "lib64", "local/lib"):
        if leads_out(root, parent):
            continue
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


def _refuse_led(root: str, sites: Iterable[str]) -> None:
    """As root, refuse an environment whose owner has its modules behind a link of his: root may read what he may not.

    An environment that root owns has links of root.
    """
    for site in sites:
        if site.startswith(f"{root}/") and leads_out(root, site[len(root) + 1 :]):
            message = f"{site} is behind a link of another user, which root does not follow"
            raise TargetError("no-site", message, hint="name the directory that it leads to with --site DIR")


def _read_cfg(root: str) -> tuple[dict[str, str], int | None]:
    """Return the keys of the pyvenv.cfg of ``root``, in lower case, and whom root has to heed there, if anybody.

    One that is not read has no keys: that is one of more than 64 KiB, one that is no file any more (its owner can put a
    FIFO in its place after it was looked at), and, as root, one behind a link of another user.
    """
    owner = None
    try:
        root_fd = open_root(root)
        try:
            owner = owner_to_heed(root_fd)
            data = read_named(root_fd, "pyvenv.cfg", limit=_LARGEST_CFG) or b""
        finally:
            os.close(root_fd)
    except OSError:
        return {}, owner
    pairs = [line.partition("=") for line in data.decode("utf-8", "replace").split("\n")]
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}, owner
