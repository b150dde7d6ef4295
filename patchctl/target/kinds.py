"""What kind of environment a site directory belongs to, told from files; for people, no decision rests on it."""

from __future__ import annotations

import os

from patchctl.target.layout import Environment
from patchctl.target.oracle import prefix_of


def kind_of(environment: Environment) -> str:
    """Return ``venv``, ``conda``, ``debian``, ``user``, ``system`` or ``target`` (a directory of packages).

    A virtual environment below conda is a virtual environment: what is nearest to the interpreter counts.
    """
    site = environment.sites[0]
    root = environment.root or prefix_of(site)
    if root is None:
        return "target"
    if os.path.isfile(f"{root}/pyvenv.cfg"):
        return "venv"
    if os.path.isdir(f"{root}/conda-meta"):
        return "conda"
    if os.path.realpath(site).endswith("/dist-packages"):
        return "debian"
    return "user" if os.path.basename(root) == ".local" else "system"


def shares_base(environment: Environment) -> bool:
    """Return whether its interpreter also finds what the installation below it holds (``--system-site-packages``)."""
    return bool(environment.base)


def interpreter_problem(environment: Environment) -> str | None:
    """Return why the environment has no interpreter that could run, as a phrase; None: it has, or needs none."""
    if not environment.root:
        return None
    for name in ("python3", "python"):
        path = f"{environment.root}/bin/{name}"
        if os.path.islink(path) and not os.path.exists(path):
            return f"bin/{name} leads to {os.readlink(path)}, which is gone"
    return None if environment.python is not None else "it has no bin/python3"
