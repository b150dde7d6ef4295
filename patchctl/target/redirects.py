"""Where the modules of an editable install really lie: read from what the installer left in the site, never run.

A ``.pth`` file with directories, the finder that setuptools generates, and the ``egg-link`` of ``setup.py develop`` say
it in so many words. What they leave to code of their own (other build back ends' import hooks, namespace packages,
setuptools' strict mode with its tree of links) is not supported, and the answer says which it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from patchctl.disk import NotRegularError, look_below, open_named, owner_to_heed
from patchctl.errors import Problem, TargetError
from patchctl.target.reading import read_metadata, why_unreadable

_SMALL = 1 << 20
_HINT = "install it as a wheel (pip install . without -e), then run patchctl again"
_AS_OWNER = "run patchctl as the owner of the site, who may follow it"


class Redirect(NamedTuple):
    """Where an editable install's packages are.

    Attributes:
        grafts: top-level package, or module file such as ``one.py`` -> the absolute directory that holds it.
        obstacle: why that cannot be told, or must not be edited; then there are no grafts.
    """

    grafts: Mapping[str, str]
    obstacle: Problem | None = None


def read_redirect(site: str, root_fd: int, info: str, files: Iterable[str], tops: Iterable[str]) -> Redirect:
    """Find the packages of an editable install.

    Args:
        site: absolute path of the site directory.
        root_fd: its descriptor.
        info: the dist-info directory or egg-link that records it, for messages.
        files: the top-level files that belong to it (``.pth`` files, a finder module, an egg-link).
        tops: its top-level names as its metadata states them, without ``.py``.
    """
    names = sorted(files)
    try:
        finder = [name for name in names if name.startswith("__editable__") and name.endswith("_finder.py")]
        if finder:
            grafts = _of_finder(read_metadata(root_fd, finder[0], limit=_SMALL) or b"")
        else:
            grafts = _of_directories(_directories(site, root_fd, names), tops)
        _refuse_unsafe(site, root_fd, info, grafts)
    except _UnsupportedError as error:
        message = f"{info} is an editable install of a kind that patchctl does not edit: {error}"
        return Redirect(grafts={}, obstacle=Problem(code="editable-layout", message=message, hint=_HINT, path=info))
    except TargetError as error:
        return Redirect(grafts={}, obstacle=error.problem)
    return Redirect(grafts=grafts)


class _UnsupportedError(Exception):
    """A layout that is not read, or must not be edited."""


def _of_finder(source: bytes) -> dict[str, str]:
    """Read MAPPING (top-level name -> path) of setuptools' finder module; its code is parsed, never run."""
    import ast

    from patchctl.evidence.source import Source, parse_python

    found: dict[str, object] = {}
    try:
        for node in parse_python(Source(source).text).body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            value = getattr(node, "value", None)
            if isinstance(target, ast.Name) and target.id in {"MAPPING", "NAMESPACES"} and value is not None:
                found[target.id] = ast.literal_eval(value)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise _UnsupportedError("its finder module cannot be read") from None
    mapping = found.get("MAPPING")
    if not isinstance(mapping, dict) or not all(isinstance(it, str) for pair in mapping.items() for it in pair):
        raise _UnsupportedError("its finder module states no mapping")
    if found.get("NAMESPACES") or any("." in name for name in mapping):
        raise _UnsupportedError("it is spread over a namespace package")
    return dict(_graft_of(name, path) for name, path in mapping.items())


def _graft_of(name: str, path: str) -> tuple[str, str]:
    directory, _, last = path.rpartition("/")
    if last != name or not name.isidentifier():
        raise _UnsupportedError(f"{name} is mapped to {path}, a directory of another name")
    if os.path.isdir(path):
        return name, directory
    if os.path.isfile(f"{path}.py"):
        return f"{name}.py", directory
    raise _UnsupportedError(f"{name} is mapped to {path}, and nothing is there")


def _directories(site: str, root_fd: int, names: list[str]) -> list[str]:
    """Return the directories that ``.pth`` files and egg-links put on the import path."""
    found = []
    for name in names:
        lines = (read_metadata(root_fd, name, limit=_SMALL) or b"").split(b"\n")
        if name.endswith(".egg-link"):
            lines = lines[:1]
        for line in (os.fsdecode(it.strip()) for it in lines):
            if line.startswith(("import ", "import\t")):
                raise _UnsupportedError(f"{name} runs code that finds its modules")
            if line and not line.startswith("#"):
                found.append(os.path.normpath(os.path.join(site, line)))
    return list(dict.fromkeys(it for it in found if os.path.isdir(it)))


def _of_directories(directories: list[str], tops: Iterable[str]) -> dict[str, str]:
    grafts: dict[str, str] = {}
    for top in tops:
        places = [(name, it) for it in directories for name in (top, f"{top}.py") if os.path.exists(f"{it}/{name}")]
        if len(places) > 1:
            raise _UnsupportedError(f"{top} is in several places: {' and '.join(it for _, it in places)}")
        grafts.update(places)
    if not grafts:
        where = ", ".join(directories) or "the directories it names, which are gone"
        raise _UnsupportedError(f"none of its packages is in {where}")
    return grafts


def _refuse_unsafe(site: str, root_fd: int, info: str, grafts: Mapping[str, str]) -> None:
    for top, directory in grafts.items():
        if not os.path.isabs(directory):
            raise _UnsupportedError(f"{directory}/{top} is a link")
        try:
            # The answer for whoever is led; what is read later is judged again, by what was opened.
            os.close(open_named(directory, owner_to_heed(root_fd), top))
        except NotRegularError as error:
            message = f"{directory}/{top}, which {info} names, {why_unreadable(error)}"
            raise TargetError("editable-layout", message, hint=_AS_OWNER, path=info) from None
        except OSError:
            pass  # gone, or closed to us, which whoever reads it says
        if "/__editable__." in f"{directory}/":
            raise _UnsupportedError(f"{directory} is a tree of links that setuptools' strict mode made")
        if os.path.islink(f"{directory}/{top}"):
            raise _UnsupportedError(f"{directory}/{top} is a link")
        if look_below(site, top) is not None:
            raise _UnsupportedError(f"{top} is in the site as well, and that one comes first")
