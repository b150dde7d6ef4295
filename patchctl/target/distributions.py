"""One distribution in full: RECORD, fingerprint, installer, the version its own files state, whether it is editable."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from patchctl.disk import Root, Roots, opened_roots, read_below, read_linked
from patchctl.documents import DocumentError, read_json
from patchctl.errors import TargetError
from patchctl.model.paths import place_problem
from patchctl.model.target import Distribution, row_sha256
from patchctl.target.holdings import Holding, is_directory, normal_name, open_egg_link, read_info
from patchctl.target.reading import open_site, read_metadata
from patchctl.target.record import fingerprint, is_metadata, parse_record

if TYPE_CHECKING:
    from patchctl.target.redirects import Redirect

_CODE = (".py", ".so", ".pyd")
_SMALL = 1 << 20

LARGEST_RECORD = 64 << 20
"""Bytes; a row takes about a hundred, so that this lists more than half a million files."""


def read_distribution(site: str, holding: Holding) -> Distribution:
    """Return the distribution in ``site`` (absolute) that ``holding`` is a trace of.

    Raises:
        TargetError: it is an egg, or its RECORD is there but cannot be read.
    """
    if holding.info.endswith(".egg"):
        message = (
            f"{holding.name} {holding.build} is installed as an egg ({holding.info}), which patchctl does not edit"
        )
        raise TargetError("egg-install", message, hint="install it from a wheel, with pip or uv", path=holding.info)
    root_fd = open_site(site)
    try:
        if holding.info.endswith(".egg-link"):
            return _read_egg_link(site, root_fd, holding)
        return _read(site, root_fd, holding)
    finally:
        os.close(root_fd)


def _read(site: str, root_fd: int, holding: Holding) -> Distribution:
    """Read a dist-info, or an egg-info: that one may be a plain file, and then has nothing below it."""
    below = holding.info.endswith(".dist-info")
    listed = read_metadata(root_fd, f"{holding.info}/RECORD", limit=LARGEST_RECORD) if below else None
    record = None if listed is None else parse_record(listed)
    oracle = "RECORD"
    if record is None:
        from patchctl.target.conda import conda_record  # late, as everything that most installs do not need

        record, oracle = conda_record(site, holding.info), "conda-meta"
    installer = read_info(root_fd, holding.info, "INSTALLER") if below else None
    editable = _is_editable(root_fd, holding, record)
    redirect = _redirect(site, root_fd, holding, record) if editable else None
    return Distribution(
        name=holding.name,
        build=holding.build,
        info=holding.info,
        installer=(installer or b"").decode("utf-8", "replace").strip() or None,
        record=record,
        fingerprint=None if record is None else fingerprint(record),
        source_build=_source_build(site, root_fd, holding.name, record, redirect.grafts if redirect else {}),
        editable=editable,
        grafts=redirect.grafts if redirect else {},
        obstacle=redirect.obstacle if redirect else None,
        oracle=oracle if record is not None else "RECORD",
    )


def _read_egg_link(site: str, root_fd: int, holding: Holding) -> Distribution:
    """Read a ``setup.py develop`` install: all its metadata lies in the tree that the link's first line names."""
    tree_fd = open_egg_link(root_fd, holding.info)
    if tree_fd is None:
        message = f"{holding.info} names a source tree that is not there, or that root is not led to"
        raise TargetError("unreadable-metadata", message, path=holding.info)
    try:
        infos = sorted(it for it in os.listdir(tree_fd) if it.endswith(".egg-info") and is_directory(tree_fd, it))
        stated = read_metadata(tree_fd, f"{infos[0]}/top_level.txt", limit=_SMALL) if infos else None
    finally:
        os.close(tree_fd)
    tops = _words(stated or b"") or [holding.name.replace("-", "_")]
    from patchctl.target.redirects import read_redirect

    redirect = read_redirect(site, root_fd, holding.info, [holding.info], tops)
    return Distribution(
        name=holding.name,
        build=holding.build,
        info=holding.info,
        source_build=_source_build(site, root_fd, holding.name, None, redirect.grafts),
        editable=True,
        grafts=redirect.grafts,
        obstacle=redirect.obstacle,
    )


def _redirect(site: str, root_fd: int, holding: Holding, record: Mapping[str, str | None] | None) -> Redirect:
    """Find where the modules of an editable dist-info (or egg-info) really are."""
    from patchctl.target.redirects import read_redirect

    if record is not None:
        files = [row for row in record if "/" not in row]
    else:
        files = [entry for entry in os.listdir(root_fd) if _redirects(entry, holding.name)]
    files = [name for name in files if name.endswith((".pth", "_finder.py"))]
    stated = read_info(root_fd, holding.info, "top_level.txt") if holding.info.endswith(".dist-info") else None
    tops = _words(stated or b"") or [holding.name.replace("-", "_")]
    return read_redirect(site, root_fd, holding.info, files, tops)


def _words(top_level: bytes) -> list[str]:
    return [word for word in top_level.decode("utf-8", "replace").split() if word.isidentifier()]


def parse_source_version(data: bytes) -> str | None:
    """Return the string that a ``_version.py`` binds to ``__version__`` or ``version`` at its top level.

    Build back ends write it as one line, such as ``__version__ = version = '0.20.0'`` (setuptools-scm, hatch-vcs).
    """
    for line in data.split(b"\n"):
        if not line.startswith((b"__version__", b"version")):
            continue
        *targets, value = line.split(b"=")
        names = {target.partition(b":")[0].strip() for target in targets}
        value = value.strip()
        if not names or not names <= {b"__version__", b"version"} or value[:1] not in {b"'", b'"'}:
            continue
        text, quote, _ = value[1:].partition(value[:1])
        if quote:
            return text.decode("utf-8", "replace")
    return None


def _source_build(
    site: str, root_fd: int, name: str, record: Mapping[str, str | None] | None, grafts: Mapping[str, str]
) -> str | None:
    """Return what the import package's ``_version.py`` states; a second opinion, so unreadable is the same as none."""
    usual = f"{name.replace('-', '_')}/_version.py"
    if grafts:
        try:
            with opened_roots(site, grafts) as roots:
                return _stated_version(roots, usual, None)
        except OSError:
            return None
    if record is None or usual in record:
        path = usual
    else:
        tops = [
            row for row in record if row.endswith("/_version.py") and row.count("/") == 1 and place_problem(row) is None
        ]
        if len(tops) != 1:
            return None
        path = tops[0]
    return _stated_version(root_fd, path, row_sha256((record or {}).get(path)))


def _stated_version(root: Root, path: str, listed: str | None) -> str | None:
    try:
        found = read_below(root, path, limit=_SMALL)
        return None if found is None else parse_source_version(found[0])
    except OSError:
        pass
    try:
        # Under uv's symlink mode it is a link to these very bytes.
        site = root.site if isinstance(root, Roots) else root
        owners = {os.fstat(site).st_uid}
        return parse_source_version(read_linked(root, path, {listed} if listed else (), owners, limit=_SMALL).data)
    except OSError:
        return None


def _is_editable(root_fd: int, holding: Holding, record: Mapping[str, str | None] | None) -> bool:
    """Return whether the modules lie elsewhere: PEP 610 says so, or RECORD lists a redirection, or no module at all."""
    if record is not None:
        # setuptools leaves a finder module and a .pth of this prefix, which are all the code there is.
        if not any(_is_code(path) and not path.startswith("__editable__") for path in record):
            return True
    elif any(_redirects(entry, holding.name) for entry in os.listdir(root_fd)):
        return True
    path = f"{holding.info}/direct_url.json"
    if not holding.info.endswith(".dist-info") or (record is not None and path not in record):
        return False
    return _says_editable(read_info(root_fd, holding.info, "direct_url.json"))


def _is_code(path: str) -> bool:
    return path.endswith(_CODE) and not path.startswith("../") and not is_metadata(path)


def _redirects(entry: str, name: str) -> bool:
    """Return whether a site's entry is the ``__editable__.NAME-VERSION.pth`` that setuptools writes."""
    marked = entry.startswith("__editable__.")
    return marked and normal_name(entry.removeprefix("__editable__.").partition("-")[0]) == name


def _says_editable(direct_url: bytes | None) -> bool:
    if direct_url is None:
        return False  # most installs come from an index
    try:
        stated = read_json(direct_url, limit=_SMALL)
    except DocumentError:
        return False
    info = stated.get("dir_info") if isinstance(stated, dict) else None
    return isinstance(info, dict) and info.get("editable") is True
