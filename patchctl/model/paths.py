"""The one checker of a path below a site, in two grades: what may be looked at, and what a patch may change.

What an installer lists is looked at (``place_problem``); what a patch, a ledger or a journal names is edited, so that
more of it is refused (``path_problem``). Both judge the spelling alone. Whether something is a link, and whether a
distribution owns the file, is seen where the file is opened. A second checker that read names differently from the
writer is how such tools were broken before (CVE-2010-4651, CVE-2015-1196, CVE-2015-1395).
"""

from __future__ import annotations

LONGEST_COMPONENT = 255
"""Bytes; NAME_MAX of the file systems we meet."""

LONGEST_PATH = 1024
"""Bytes; leaves room for the site's own path within PATH_MAX."""

_STARTUP_MODULES = ("sitecustomize", "usercustomize")
_HOOKS = ("_distutils_hack", "_virtualenv", "__editable__", "_editable_impl_")
"""How modules begin that the ``.pth`` files of setuptools, virtualenv and build back ends start."""

TOOL_MODULES = frozenset(
    {
        *("pip", "uv", "pipx", "pipenv", "piptools", "poetry", "pdm", "hatch", "rye", "pixi", "pex", "installer"),
        *("conda", "conda_build", "conda_libmamba_solver", "conda_package_handling", "conda_package_streaming"),
        *("mamba", "libmambapy", "virtualenv", "easy_install", "pkg_resources", "distlib", "ensurepip"),
        *("build", "pyproject_hooks", "setuptools", "setuptools_scm", "setuptools_rust", "wheel", "distutils"),
        *("hatchling", "flit", "flit_core", "flit_scm", "maturin", "mesonpy", "skbuild", "scikit_build_core"),
        *("uv_build", "editables", "pbr", "versioneer", "patchctl"),
    }
)
"""Top-level modules of what installs and builds packages, and patchctl's own: its code runs as whoever installs."""

_BYTE_CODE = (".pyc", ".pyo")
_METADATA_ENDINGS = (".dist-info", ".egg-info")


def place_problem(path: str) -> str | None:
    """Return why ``path`` names no place below a directory, or None.

    Args:
        path: POSIX, relative.

    Returns:
        One phrase that continues a sentence beginning with the path, such as ``contains '..'``.
    """
    if not path:
        return "is empty"
    if path[0] == "/":
        return "is absolute"
    if "\0" in path:
        return "contains a control character"
    if not path.isascii():
        try:
            path.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return "is not valid UTF-8"
    if "." in path or "//" in path or path[-1] == "/":
        for part in path.split("/"):
            if part in {"", ".", ".."}:
                return f"contains '{part}'" if part else "has an empty component"
    return None


def path_problem(path: str) -> str | None:
    """Return why ``path`` must not be touched, or None when its spelling is harmless.

    Args:
        path: POSIX, relative to a site, already unquoted and stripped of leading components.

    Returns:
        One phrase that continues a sentence beginning with the path, such as ``contains '..'``.
    """
    return _spelling_problem(path) or _meaning_problem(path.split("/"))


def _spelling_problem(path: str) -> str | None:
    if not path:
        return "is empty"
    if path.startswith("/"):
        return "is absolute"
    if "\\" in path:
        return "contains a backslash"
    if not (path.isascii() and path.isprintable()):
        if any(character < " " or "\x7f" <= character <= "\x9f" for character in path):
            return "contains a control character"
        if any("\ud800" <= character <= "\udfff" for character in path):
            return "is not valid UTF-8"
    return _length_problem(path)


def _length_problem(path: str) -> str | None:
    if len(path) <= LONGEST_COMPONENT and path.isascii():
        return None
    if len(path.encode()) > LONGEST_PATH:
        return f"is longer than {LONGEST_PATH} bytes"
    if any(len(part.encode()) > LONGEST_COMPONENT for part in path.split("/")):
        return f"has a component longer than {LONGEST_COMPONENT} bytes"
    return None


def _meaning_problem(parts: list[str]) -> str | None:
    for part in parts:
        problem = _component_problem(part)
        if problem is not None:
            return problem
    if any(part.lower() == "__pycache__" or part.lower().endswith(_BYTE_CODE) for part in parts):
        return "is byte code, which is made from a source and removed when that changes"
    top = parts[0].lower()
    if top.startswith(_HOOKS):
        return f"is '{top.partition('.')[0]}', which a '.pth' file runs at every interpreter start"
    if top.partition(".")[0] in TOOL_MODULES:
        return f"is of '{top.partition('.')[0]}', which installs or builds packages, or is patchctl itself"
    if len(parts) == 1 and top.endswith(".start"):
        return "is a '.start' file, which every interpreter start reads"  # PEP 829
    if top == ".patchctl":
        return "lies in patchctl's own state"
    return None


def _component_problem(part: str) -> str | None:
    lowered = part.lower()
    if part == "":
        return "has an empty component"
    if part in {".", ".."}:
        return f"contains '{part}'"
    if lowered == ".git":
        return "lies in a '.git' directory"
    if lowered.endswith(_METADATA_ENDINGS):
        return "belongs to the installer ('*.dist-info', '*.egg-info')"
    if lowered.endswith(".pth"):
        return "is a '.pth' file, which every interpreter start runs"
    # the import system takes the stem: a package, a .py, a .so and a cached .pyc of that name all run at start-up
    if lowered.partition(".")[0] in _STARTUP_MODULES:
        return f"is '{lowered.partition('.')[0]}', which every interpreter start runs"
    return None
