"""What ``doctor`` sees of an installation: interpreter, distributions, links, mounts, owners, byte code. Reads only."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence

from patchctl.commands.diagnosis import Finding, Installed
from patchctl.disk import look_below
from patchctl.errors import TargetError
from patchctl.model import Distribution, Target
from patchctl.model.paths import path_problem
from patchctl.model.shell import shell_word
from patchctl.target import read_snapshot
from patchctl.target.catalogue import Shelf, nameless
from patchctl.target.ground import Ground, stand, unchecked_byte_code
from patchctl.target.kinds import interpreter_problem, shares_base
from patchctl.target.layout import Environment
from patchctl.target.oracle import read_oracle

_CLOSING = 0o044
_WRITABLE = 0o002


def of_environment(environment: Environment, umask: int | None) -> Iterator[Finding]:
    """Say what is odd about the environment as a whole."""
    problem = interpreter_problem(environment)
    if problem is not None:
        remedy = "make the environment anew, or name another with --python"
        yield Finding("no-interpreter", f"{environment.root}: {problem}", remedy, needed=True)
    if shares_base(environment):
        message = f"it also finds what its base installation holds: {', '.join(environment.base)}"
        remedy = "what lies there is patched for every user of the base: name it with --site"
        yield Finding("shared-base", message, remedy, needed=False)
    if umask is not None and umask & _CLOSING:
        message = f"the umask here is {umask:03o}: what an installer writes now cannot be read by a service user"
        remedy = "umask 022 before pip or uv; patchctl's own files are readable whatever the umask"
        yield Finding("closing-umask", message, remedy, needed=False)


def of_settings(environ_names: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """Say what the byte-code settings mean."""
    for name, value in environ_names:
        if name == "PYTHONPYCACHEPREFIX":
            message = f"byte code is kept below {value}, as this shell has it"
            remedy = "give patchctl the same PYTHONPYCACHEPREFIX as the service has (sudo drops it)"
            yield Finding("pycache-prefix", message, remedy, needed=False)
        else:
            message = "PYTHONDONTWRITEBYTECODE is set here: an interpreter with it compiles at every start"
            yield Finding("no-byte-code", message, "unset it where start-up time counts", needed=False)


def installed(site: str, shelves: Iterable[Shelf], concerned: Collection[str]) -> tuple[Installed, ...]:
    """Return what is installed in ``site``, and who lists its files."""
    found = []
    for shelf in shelves:
        kind = None
        if shelf.distribution is not None:
            # The oracle of 300 distributions is read only for those that matter; a RECORD shows without that.
            has_record = shelf.distribution.record is not None and shelf.distribution.oracle == "RECORD"
            kind = "record" if has_record else _oracle_kind(site, shelf.distribution)
        installer = shelf.distribution.installer if shelf.distribution is not None else None
        found.append(Installed(shelf.name, shelf.build, installer, kind, shelf.name in concerned))
    return tuple(found)


def _oracle_kind(site: str, distribution: Distribution) -> str | None:
    try:
        return read_oracle(site, distribution).kind
    except TargetError:
        return None


def of_distributions(site: str, shelves: Iterable[Shelf], found: Sequence[Installed]) -> Iterator[Finding]:
    """Say which distributions are recorded twice, cannot be read, or have nobody who lists their files."""
    for shelf in shelves:
        if len(shelf.infos) > 1:
            older = " or ".join(shelf.infos)
            remedy = f"remove the metadata directory of the build that is not there any more: {older}"
            yield Finding("ambiguous-distribution", f"{shelf.name}: {shelf.reason}", remedy, needed=True, site=site)
        elif shelf.reason is not None:
            remedy = "install it from a wheel with pip or uv, as copies"
            needed = shelf.name in {it.name for it in found if it.concerned}
            yield Finding("unreadable-distribution", shelf.reason, remedy, needed=needed, site=site)
    debian = os.path.realpath(site).endswith("/dist-packages")
    for it in found:
        if it.concerned and it.oracle is None:
            message = (
                f"{it.name} {it.build} has no RECORD that can be used: nothing tells which of its files are pristine"
            )
            remedy = "reinstall it from a wheel with pip or uv"
            if debian:
                remedy = "if apt installed it, an upgrade overwrites patches: dpkg-divert keeps a file"
            yield Finding("no-record", message, remedy, needed=False, site=site)


def of_leftovers(site: str) -> Iterator[Finding]:
    """Say what an interrupted install left: directories that pip renamed with ``~``, metadata without a name."""
    for entry in nameless(site):
        what = "a leftover of an interrupted install" if entry.startswith("~") else "metadata without name and version"
        remedy = f"look into it, then remove it: rm -r {shell_word(f'{site}/{entry}')}"
        if look_below(site, f"{entry}/RECORD") is not None:
            # What lost its name alone may be the last that tells which files the distribution has.
            remedy = "reinstall the distribution it belongs to: its RECORD may be all that tells which files it has"
        yield Finding("leftover", f"{entry} is {what}", remedy, needed=True, site=site, path=entry)


def of_ground(site: str, ground: Ground, *, has_state: bool) -> Iterator[Finding]:
    """Say what mounts, owners and permissions mean for patching here."""
    if ground.read_only:
        remedy = "remount it read-write before a change; with nothing to do patchctl works all the same"
        yield Finding("read-only", f"{site} is mounted read-only", remedy, needed=False, site=site)
    if ground.file_system in {"overlay", "aufs"}:
        message = f"{site} lies on {ground.file_system}: what is patched here goes with the container"
        remedy = "apply when the image is built"
        yield Finding("container-layer", message, remedy, needed=False, site=site)
    if ground.mode & _WRITABLE:
        message = f"{site} is writable by everybody, who can change installed code; root refuses to work here"
        yield Finding("writable-site", message, f"chmod o-w {site}", needed=True, site=site)
    if has_state and os.geteuid() not in {0, ground.uid}:
        message = f"{site} belongs to uid {ground.uid}, and you are uid {os.geteuid()}: changes will be refused"
        remedy = f"run what writes as its owner: sudo -u '#{ground.uid}' patchctl ..."
        yield Finding("not-owner", message, remedy, needed=False, site=site)


def of_patched_files(target: Target, ground: Ground, paths: Collection[str]) -> Iterator[Finding]:
    """Say which of the files that patches change cannot be edited, or have other names.

    Args:
        target: the site with its distributions, whose RECORDs say which links are read through.
        ground: what it stands on.
        paths: relative to the site: what the ledger records and the registry's diffs for these builds name.
    """
    inside = [path for path in paths if path_problem(path) is None]
    site = target.site
    files = stand(site, inside)
    linked = [file.path for file in files if file.kind != "file"]
    unusable = read_snapshot(target, linked).problems if linked else {}
    for path in unusable:
        remedy = "install with copies (uv: --link-mode=copy); patchctl does not write through links"
        message = f"{path} is a link, or lies behind one, and does not lead to the bytes that RECORD lists for it"
        yield Finding("linked-file", message, remedy, needed=True, site=site, path=path)
    usable = [path for path in linked if path not in unusable]
    if usable:
        message = f"{len(usable)} of the files that patches change are links to what RECORD lists, as uv can make them"
        remedy = "nothing: patchctl puts a file in the link's place, and the link back; the cache keeps its bytes"
        yield Finding("linked-files", message, remedy, needed=False, site=site, path=usable[0])
    shared = [file for file in files if file.kind == "file" and file.names > 1]
    if shared:
        message = f"{len(shared)} of the files that patches change have other names (hard links), as uv and conda make"
        remedy = "nothing: patchctl gives the patched file an inode of its own, the other names keep the old bytes"
        yield Finding("hard-linked-files", message, remedy, needed=False, site=site, path=shared[0].path)
    for point in ground.mounts:
        needed = point in inside
        remedy = "patch what is mounted there, or take the mount away" if needed else "nothing, unless it hides files"
        code = "mounted-file" if needed else "mount-below"
        yield Finding(code, f"{point} is a mount point of its own", remedy, needed=needed, site=site, path=point)
    for path in unchecked_byte_code(site, inside):
        message = f"{path} runs without a look at its source (unchecked-hash byte code)"
        remedy = "nothing: patchctl removes it with a change of its source; after an edit by hand remove it"
        yield Finding("unchecked-byte-code", message, remedy, needed=False, site=site, path=path)
