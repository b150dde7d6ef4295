"""The whole diff: sections in order, text between them, and what must hold within one file and between files."""

from __future__ import annotations

from itertools import pairwise

from patchctl.diff.headers import IDENTICAL, Header, read_header
from patchctl.diff.hunks import read_hunks
from patchctl.diff.names import agree_with_git_header, name_of_git_header, stripped_path
from patchctl.diff.prose import opens_prose, pass_text, starts_section
from patchctl.diff.source import shown, split_lines
from patchctl.diff.values import ChangeKind, FileDiff, Hunk
from patchctl.errors import DiffError

_EMPTY_BLOBS = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
"""Git's ids of the empty file, sha1 and sha256."""


def parse_diff(data: bytes, *, strip: int = 1) -> tuple[FileDiff, ...]:
    """Parse a unified diff, as bytes, into one value per file, in the order of the diff.

    Args:
        data: the diff, with or without git headers, mail or DEP-3 header and signature.
        strip: leading components to drop from every name.

    Raises:
        DiffError: the diff is out of scope (copy, binary, link, submodule, combined, context, ed), or anything in it
            could be lost or mistaken. ``problem.line`` counts in the diff, from 1.
        ValueError: ``strip`` is negative.
    """
    if strip < 0:
        raise ValueError("strip must not be negative")
    lines = split_lines(data)
    files: list[FileDiff] = []
    declared, tight, at = opens_prose(lines), False, 0
    while at < len(lines):
        if starts_section(lines, at):
            file, at = _read_section(lines, at, strip)
            files.append(file)
            declared, tight = False, True
        else:
            at, declared = pass_text(lines, at, declared=declared, after_section=bool(files), tight=tight)
            tight = False
    if not files:
        raise DiffError("empty", "there is no file section in the diff")
    _check_paths(files)
    return tuple(files)


def _read_section(lines: list[bytes], at: int, strip: int) -> tuple[FileDiff, int]:
    header, at = read_header(lines, at)
    old_path, path = _paths_of(header, strip)
    if header.old is None and at < len(lines) and lines[at].startswith(b"@@"):
        raise DiffError("leftover", f"a hunk of {path} without '---' and '+++' lines", line=at + 1)
    hunks, at = read_hunks(lines, at)
    kind = _kind_of(header, hunks, path)
    if kind in {ChangeKind.ADD, ChangeKind.DELETE}:
        _check_whole_file(kind, hunks, path, header)
        return _file_diff(header, path, old_path, kind, hunks), at
    _check_hunks(hunks, path, header)
    # a hunk cut out of a longer diff keeps the shift of the hunks that are not here any more
    shift = hunks[0].new_start - hunks[0].old_start if hunks else 0
    if shift:
        hunks = tuple(hunk._replace(new_start=hunk.new_start - shift) for hunk in hunks)
    return _file_diff(header, path, old_path, kind, hunks)._replace(shift=shift), at


def _file_diff(header: Header, path: str, old_path: str | None, kind: ChangeKind, hunks: tuple[Hunk, ...]) -> FileDiff:
    # an id of zeros means "no such file" or "not looked at"
    old_blob, new_blob = (blob if blob.strip("0") else None for blob in header.blobs or ("", ""))
    return FileDiff(
        path=path,
        kind=kind,
        hunks=hunks,
        mode=header.mode,
        old_blob=old_blob,
        new_blob=new_blob,
        old_mode=header.old_mode,
        old_path=old_path,
        line=header.at + 1,
    )


def _paths_of(header: Header, strip: int) -> tuple[str | None, str]:
    """Return the old path, which only a rename has, and the path."""
    if header.rename_from is None or header.rename_to is None:
        return None, _path_of(header, strip)
    # git writes these two without the prefix that the other names of the section have
    pairs = [(header.rename_from, header.rename_to, max(strip - 1, 0))]
    if header.old is not None and header.new is not None:
        pairs.append((header.old, header.new, strip))
    found = []
    for old, new, level in pairs:
        if old.raw is None or new.raw is None:
            raise DiffError("names-disagree", "a rename from or to /dev/null", line=old.at + 1)
        found.append((stripped_path(old.raw, level, old.at), stripped_path(new.raw, level, new.at)))
    old_path, path = found[0]
    if old_path == path:
        raise DiffError("no-op", f"the section renames {path} to itself", line=header.rename_from.at + 1)
    if found[-1] != found[0]:
        message = f"'---' and '+++' name other files than the rename of {old_path} to {path}"
        raise DiffError("names-disagree", message, line=pairs[-1][0].at + 1)
    if not agree_with_git_header(header.git_names or b"", old_path, path, strip, header.at):
        message = f"'diff --git' names other files than the rename of {old_path} to {path}"
        raise DiffError("names-disagree", message, line=header.at + 1)
    return old_path, path


def _path_of(header: Header, strip: int) -> str:
    """Return the one path all names of the section agree on."""
    names = [name for name in (header.old, header.new) if name is not None and name.raw is not None]
    paths = [stripped_path(name.raw, strip, name.at) for name in names if name.raw is not None]
    if header.old is not None and not paths:
        raise DiffError("names-disagree", "both names of the section are /dev/null", line=header.at + 1)
    if len(set(paths)) > 1:
        hint = "a rename needs git's header: make the diff with git diff -M, or with --no-renames"
        message = f"the names of the section disagree: {paths[0]} and {paths[1]}"
        raise DiffError("names-disagree", message, hint=hint, line=names[0].at + 1)
    if header.git_names is None:
        return paths[0]
    if paths:
        if not agree_with_git_header(header.git_names, paths[0], paths[0], strip, header.at):
            message = f"'diff --git' names another file than {paths[0]}: {shown(header.git_names)}"
            raise DiffError("names-disagree", message, line=header.at + 1)
        return paths[0]
    name = name_of_git_header(header.git_names, strip, header.at)
    if name is None:
        message = f"the names of the section disagree: {shown(header.git_names)}"
        raise DiffError("names-disagree", message, line=header.at + 1)
    return stripped_path(name, strip, header.at)


def _kind_of(header: Header, hunks: tuple[Hunk, ...], path: str) -> ChangeKind:
    old, new = header.old, header.new
    no_old, no_new = old is not None and old.raw is None, new is not None and new.raw is None
    if header.git_names is None and old is not None and new is not None and not (no_old or no_new):
        # a tree may really carry the epoch as time stamp, so the hunks have to say the same
        no_old = old.absent and not any(hunk.old_lines for hunk in hunks)
        no_new = new.absent and not any(hunk.new_lines for hunk in hunks)
    elif old is not None and ((header.added and not no_old) or (header.deleted and not no_new)):
        message = f"the git header adds or deletes {path}, but '---' and '+++' do not say so"
        raise DiffError("kind-disagrees", message, line=header.at + 1)
    adds, deletes = header.added or no_old, header.deleted or no_new
    if adds and deletes:
        raise DiffError("kind-disagrees", f"the section both adds and deletes {path}", line=header.at + 1)
    if (adds or deletes) and (header.rename_from is not None or header.changes_mode):
        message = f"the section changes the name or mode of {path}, and adds or deletes it too"
        raise DiffError("kind-disagrees", message, line=header.at + 1)
    if adds or deletes:
        return ChangeKind.ADD if adds else ChangeKind.DELETE
    return ChangeKind.MODIFY if header.rename_from is None else ChangeKind.RENAME


def _check_whole_file(kind: ChangeKind, hunks: tuple[Hunk, ...], path: str, header: Header) -> None:
    """Adding and deleting speak of the whole file: one hunk with nothing on the other side, or an empty file."""
    word = "adds" if kind is ChangeKind.ADD else "deletes"
    if not hunks:
        blob = (header.blobs or ("", ""))[kind is ChangeKind.ADD]
        if header.old is not None or not any(empty.startswith(blob) for empty in _EMPTY_BLOBS):
            message = f"the section {word} {path}, which is not empty, without a hunk"
            raise DiffError("no-hunks", message, line=header.at + 1)
        return
    first = hunks[0]
    figures = (first.old_start, len(first.old_lines), first.new_start, len(first.new_lines))
    absent, present = (figures[:2], figures[2:]) if kind is ChangeKind.ADD else (figures[2:], figures[:2])
    if len(hunks) != 1 or absent != (0, 0) or present[0] != 1:
        message = f"the section {word} {path}, but its hunks do not speak of the whole file"
        raise DiffError("kind-disagrees", message, line=hunks[-1].line)


def _check_hunks(hunks: tuple[Hunk, ...], path: str, header: Header) -> None:
    """Every hunk of a file that stays must say something, and follow the one before it."""
    if not hunks:
        _check_absence(path, header)
        return
    if header.similarity == IDENTICAL:
        message = f"the header says that the content of {path} stays as it is, but hunks follow"
        raise DiffError("kind-disagrees", message, line=hunks[0].line)
    for hunk in hunks:
        _check_hunk(hunk, path)
    for before, hunk in pairwise(hunks):
        _check_sequence(before, hunk, path)


def _check_absence(path: str, header: Header) -> None:
    """A name or a mode may change alone; then nothing in the header may speak of another content."""
    changes = header.rename_from is not None or header.changes_mode
    if not (changes and header.keeps_content):
        raise DiffError("no-hunks", f"the section of {path} has no hunks", line=header.at + 1)


def _check_hunk(hunk: Hunk, path: str) -> None:
    if hunk.old_lines == hunk.new_lines:
        raise DiffError("no-op", f"hunk {hunk.number} of {path} changes nothing", line=hunk.line)
    if not any(line.startswith((b" ", b"\n")) for line in hunk.body):
        message = f"hunk {hunk.number} of {path} has no context line, so its place cannot be proven"
        raise DiffError("no-context", message, hint="make the diff with three lines of context", line=hunk.line)


def _check_sequence(before: Hunk, hunk: Hunk, path: str) -> None:
    old_gap = hunk.old_start - before.old_start - len(before.old_lines)
    new_gap = hunk.new_start - before.new_start - len(before.new_lines)
    if hunk.old_start < before.old_start:
        raise DiffError("disorder", f"hunk {hunk.number} of {path} lies before the hunk above it", line=hunk.line)
    if not (before.old_lines[-1].endswith(b"\n") and before.new_lines[-1].endswith(b"\n")):
        message = f"a marker says that {path} ends above hunk {hunk.number}"
        raise DiffError("misplaced-marker", message, line=hunk.line)
    if old_gap < 0:
        raise DiffError("overlap", f"hunk {hunk.number} of {path} overlaps the hunk above it", line=hunk.line)
    if old_gap != new_gap:
        message = f"hunk {hunk.number} of {path} starts at another new line than the hunk above it leaves room for"
        hint = "a hunk is missing, or a header was not adjusted: make the diff again"
        raise DiffError("wrong-start", message, hint=hint, line=hunk.line)


def _check_paths(files: list[FileDiff]) -> None:
    paths: set[str] = set()
    named = [(path, file.line) for file in files for path in file.paths]
    for path, line in named:
        if path in paths:
            raise DiffError("repeated-file", f"a second section for {path}", line=line)
        paths.add(path)
    for path, line in named:
        slash = path.find("/")
        while slash != -1:
            if path[:slash] in paths:
                message = f"{path} lies below a path that is a file in the same diff"
                raise DiffError("path-conflict", message, line=line)
            slash = path.find("/", slash + 1)
