"""Real miniature installations: what pip, uv, Debian and editable installs leave behind, in a few files.

``make_site`` makes a bare site directory with one distribution; ``install`` puts a further one beside it;
``make_venv_layout`` makes an environment around a site. Nothing here needs an installer or the network.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

MTIME = 1_700_000_000
"""Modification time (seconds since 1970) of every file that does not ask for another."""

INTERPRETER = b"\x7fELF\x02\x01\x01" + bytes(9)
"""Enough of an executable to be told from a script; nothing ever runs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A file that differs from the usual: mode, modification time (seconds), or a RECORD row without hash or at all."""

    data: bytes
    mode: int = 0o644
    mtime: float = MTIME
    hashed: bool = True
    listed: bool = True


Files = Mapping[str, bytes | Content]


def make_site(
    where: Path,
    files: Files,
    *,
    name: str = "vllm",
    build: str = "0.20.0",
    installer: str | None = "pip",
    record: bool = True,
) -> Path:
    """Make ``where/site`` with one distribution in it and return it; arguments as :func:`install`."""
    site = where / "site"
    install(site, files, name=name, build=build, installer=installer, record=record)
    return site


def install(
    site: Path,
    files: Files,
    *,
    name: str = "vllm",
    build: str = "0.20.0",
    installer: str | None = "pip",
    record: bool = True,
    extra_rows: Iterable[tuple[str, str, str]] = (),
    info_files: Files | None = None,
) -> str:
    """Write a distribution as ``installer`` would, and return the name of its dist-info directory.

    Args:
        site: the site directory; made when it is not there.
        files: POSIX path relative to the site -> content.
        name: distribution name as METADATA spells it.
        build: full version string as METADATA spells it.
        installer: ``pip`` ends RECORD's lines in CRLF and lists a script and byte code, ``uv`` ends them in LF; None:
            no INSTALLER file.
        record: whether there is a RECORD.
        extra_rows: further (path, hash, size) rows of RECORD.
        info_files: further files of the dist-info directory, by name, such as ``direct_url.json``.
    """
    info = f"{name.replace('-', '_')}-{build}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {build}\nSummary: small\n\nVersion: 9.9 in the text\n"
    members: dict[str, bytes | Content] = dict(files)
    members[f"{info}/METADATA"] = metadata.encode()
    members[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    if installer is not None:
        members[f"{info}/INSTALLER"] = installer.encode() + (b"\n" if installer == "pip" else b"")
    members.update({f"{info}/{key}": value for key, value in (info_files or {}).items()})
    for path, content in members.items():
        write(site / path, content)
    if record:
        rows = [record_row(path, content) for path, content in members.items() if _listed(content)]
        if installer == "pip":
            rows += [("../../../bin/" + name, "sha256=" + "A" * 43, "216")]
            rows += [(_pyc(path), "", "") for path in files if path.endswith(".py")]
        rows += [*extra_rows, (f"{info}/RECORD", "", "")]
        write(site / info / "RECORD", record_bytes(sorted(rows), crlf=installer == "pip"))
    return info


def make_venv_layout(
    root: Path,
    *,
    python: str = "3.11",
    cfg: Mapping[str, str] | None = None,
    lib64: bool = True,
) -> Path:
    """Make a virtual environment at ``root`` without any distribution and return its site directory.

    Beside it, ``root.base`` is the base installation its ``bin/python`` links to.

    Args:
        root: the environment; must not exist yet.
        python: X.Y.
        cfg: keys of pyvenv.cfg that differ from the usual.
        lib64: whether ``lib64`` is a link to ``lib``, as on 64-bit Linux.
    """
    base = make_base_layout(root.with_name(root.name + ".base"), python=python)
    site = root / "lib" / f"python{python}" / "site-packages"
    site.mkdir(parents=True)
    if lib64:
        (root / "lib64").symlink_to("lib")
    (root / "bin").mkdir()
    (root / "bin" / "python").symlink_to(base / "bin" / f"python{python}")
    (root / "bin" / "python3").symlink_to("python")
    keys = {"home": str(base / "bin"), "include-system-site-packages": "false", "version": f"{python}.4"}
    write(root / "pyvenv.cfg", "".join(f"{k} = {v}\n" for k, v in (keys | dict(cfg or {})).items()).encode())
    return site


def make_base_layout(
    prefix: Path, *, python: str = "3.11", sites: Iterable[str] = ("lib/python{v}/site-packages",)
) -> Path:
    """Make an installation that is no virtual environment below ``prefix`` and return ``prefix``.

    Args:
        prefix: what ``sys.prefix`` would be, such as ``.../usr``.
        python: X.Y.
        sites: site directories relative to ``prefix``; ``{v}`` stands for X.Y.
    """
    write(prefix / "lib" / f"python{python}" / "os.py", b"")
    write(prefix / "bin" / f"python{python}", Content(data=INTERPRETER, mode=0o755))
    (prefix / "bin" / "python3").symlink_to(f"python{python}")
    for site in sites:
        (prefix / site.format(v=python)).mkdir(parents=True, exist_ok=True)
    return prefix


def write(path: Path, content: bytes | Content) -> None:
    """Write one file with its mode and modification time, whatever the umask; missing directories are made."""
    wanted = content if isinstance(content, Content) else Content(data=content)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(wanted.data)
    path.chmod(wanted.mode)
    os.utime(path, (wanted.mtime, wanted.mtime))


def record_row(path: str, content: bytes | Content) -> tuple[str, str, str]:
    """Return the RECORD row of a file: path, ``sha256=<urlsafe base64 without padding>``, size in bytes."""
    wanted = content if isinstance(content, Content) else Content(data=content)
    if not wanted.hashed:
        return path, "", ""
    digest = base64.urlsafe_b64encode(hashlib.sha256(wanted.data).digest()).rstrip(b"=").decode()
    return path, f"sha256={digest}", str(len(wanted.data))


def record_bytes(rows: Iterable[tuple[str, str, str]], *, crlf: bool) -> bytes:
    """Return RECORD's bytes as pip (CRLF) or uv (LF) writes them, fields with commas quoted."""
    end = "\r\n" if crlf else "\n"
    return "".join(",".join(map(_field, row)) + end for row in rows).encode()


def _field(text: str) -> str:
    """As the csv module writes it, which refuses a NUL before Python 3.11."""
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


def tree_state(root: Path) -> dict[str, tuple[str, int, int]]:
    """Return relative path -> (content, mode, mtime_ns) of everything below ``root``: equal means nothing was written.

    Content is a regular file's sha256, a link's text, or ``dir``.
    """
    state = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = "dir"
        if path.is_symlink():
            content = f"-> {path.readlink()}"
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        state[path.relative_to(root).as_posix()] = (content, status.st_mode, status.st_mtime_ns)
    return state


def _listed(content: bytes | Content) -> bool:
    return not isinstance(content, Content) or content.listed


def _pyc(path: str) -> str:
    parent, _, name = path.rpartition("/")
    return f"{parent}/__pycache__/{name[:-3]}.cpython-311.pyc".lstrip("/")
