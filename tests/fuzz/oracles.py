"""What must hold for any bytes at all. Each oracle takes bytes, and raises AssertionError where the engine is wrong.

Kinds of change that are not known here (a later parser may accept more) are held to what is true of every section:
its names and the bytes of its hunks.
"""

from __future__ import annotations

import re

from patchctl.diff import ChangeKind, FileDiff, Hunk, parse_diff
from patchctl.errors import DiffError
from patchctl.match import Direction, Fit, Match, judge_fit, locate, splice
from tests.diffs import split, unified
from tests.fuzz.reader import RANGES, ReadFile, read_diff

WHOLE_FILE = {"add", "delete"}
LONGEST_STAND = 4000
"""Lines; a hunk that states a line below it is not put into a file."""

FORBIDDEN = {"", ".", "..", ".git"}
ENDINGS = (".dist-info", ".egg-info", ".pth")


def check_diff(data: bytes, strip: int = 1) -> tuple[FileDiff, ...]:
    """Parse ``data``; whatever is accepted must be what :mod:`tests.fuzz.reader` reads, and must go in and out."""
    try:
        files = parse_diff(data, strip=strip)
    except DiffError as error:
        problem = error.problem
        assert problem.message
        assert problem.line is None or 1 <= problem.line <= data.count(b"\n") + 1
        return ()
    read = read_diff(data)
    assert len(files) == len(read), f"{len(files)} sections, {len(read)} by the second reading"
    # a line of a hunk never begins like this: each belongs to a hunk that was read
    assert sum(len(file.hunks) for file in files) == len(
        re.findall(RANGES.pattern, data.removeprefix(b"\xef\xbb\xbf"), re.MULTILINE)
    )
    for file, other in zip(files, read, strict=True):
        check_path(file.path)
        check_section(file, other, strip)
        check_stand(file)
    check_written_again(files)
    assert len({file.path for file in files}) == len(files)
    return files


def check_path(path: str) -> None:
    """The rules for names, told once more."""
    parts = path.split("/")
    assert not FORBIDDEN & {part.lower() for part in parts}, path
    assert not any(part.lower().endswith(ENDINGS) for part in parts), path
    assert not any(part.lower().split(".")[0] in {"sitecustomize", "usercustomize"} for part in parts), path
    assert parts[0].lower() != ".patchctl", path
    assert "\\" not in path, path
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in path), path
    path.encode()


def check_section(file: FileDiff, read: ReadFile, strip: int) -> None:
    """The section's name and hunks are those of the second reading."""
    path = file.path.encode()
    names = [name for name in (read.old, read.new) if name is not None]
    if names:
        assert path in [b"/".join(name.split(b"/")[strip:]) for name in names]
    else:
        assert read.git is not None
        assert path in read.git or b"\\" in read.git
    shift = file.hunks[0].new_start - read.hunks[0].new_start if file.hunks and read.hunks else 0
    mine = [(hunk.old_start, hunk.new_start - shift, hunk.old_lines, hunk.new_lines) for hunk in file.hunks]
    theirs = [(h.old_start, h.new_start, tuple(split(h.old)), tuple(split(h.new))) for h in read.hunks]
    assert mine == theirs
    assert [hunk.number for hunk in file.hunks] == list(range(1, len(mine) + 1))
    if file.kind.value == "modify" and mine:
        assert read.old is not None
        assert read.new is not None
        assert file.hunks[0].new_start == file.hunks[0].old_start
    elif file.kind.value in WHOLE_FILE:
        assert not any(hunk.old if file.kind is ChangeKind.ADD else hunk.new for hunk in read.hunks)


def check_written_again(files: tuple[FileDiff, ...]) -> None:
    """The files, written as a plain diff of today's form, read as the same hunks."""
    plain = [file for file in files if file.hunks and file.kind.value in WHOLE_FILE | {"modify"}]
    if not plain or any(file.path.strip() != file.path for file in plain):
        return
    again = parse_diff(b"".join(written(file) for file in plain))
    for file, other in zip(plain, again, strict=True):
        assert (other.path, other.kind) == (file.path, file.kind)
        assert [hunk._replace(line=0, body=()) for hunk in other.hunks] == [
            hunk._replace(line=0, body=()) for hunk in file.hunks
        ]


def written(file: FileDiff) -> bytes:
    """``file`` as a plain diff; context comes from comparing both sides by their tags again."""
    path = quoted(file.path.encode())
    old = b"/dev/null" if file.kind is ChangeKind.ADD else b'"a/' + path + b'"'
    new = b"/dev/null" if file.kind is ChangeKind.DELETE else b'"b/' + path + b'"'
    out = [b"--- " + old + b"\n+++ " + new + b"\n"]
    for hunk in file.hunks:
        counts = hunk.old_start, len(hunk.old_lines), hunk.new_start, len(hunk.new_lines)
        out.append(b"@@ -%d,%d +%d,%d @@\n" % counts)
        out += hunk.body
        if not hunk.body[-1].endswith(b"\n"):
            out.append(b"\n")
    return b"".join(out)


def quoted(name: bytes) -> bytes:
    """``name`` as git writes it between quotes, every byte that is no letter or digit in octal."""
    return b"".join(b"%c" % byte if chr(byte).isascii() and chr(byte).isalnum() else b"\\%03o" % byte for byte in name)


def standing(file: FileDiff) -> tuple[bytes, bytes] | None:
    """A file with every hunk at its stated line and other lines between, before and after; None where none can be."""
    if any(hunk.trailing == 0 for hunk in file.hunks[:-1]) or file.hunks[-1].old_start > LONGEST_STAND:
        return None
    old: list[bytes] = []
    new: list[bytes] = []
    for hunk in file.hunks:
        between = [b"between %d\n" % number for number in range(len(old), hunk.old_start - 1)]
        old += [*between, *hunk.old_lines]
        new += [*between, *hunk.new_lines]
    if file.hunks[-1].trailing and old[-1].endswith(b"\n"):
        end = [b"end %d\n" % number for number in range(4)]
        old, new = old + end, new + end
    return b"".join(old), b"".join(new)


def check_stand(file: FileDiff) -> None:
    """In a file made from its own text, a diff goes in and out, and its state is told."""
    if file.kind.value not in WHOLE_FILE | {"modify"} or (file.kind is ChangeKind.MODIFY and not file.hunks):
        return
    sides: tuple[bytes | None, bytes | None] | None
    if file.kind is ChangeKind.MODIFY:
        sides = standing(file)
        if sides is None:
            return
    else:
        whole = b"".join(line for hunk in file.hunks for line in hunk.old_lines + hunk.new_lines)
        sides = (None, whole) if file.kind is ChangeKind.ADD else (whole, None)
    check_sides(file, *sides)
    for shift in (1, 7):
        if file.kind is ChangeKind.MODIFY and file.hunks[0].old_start > 1 and sides[0] is not None:
            check_content(file, b"shift\n" * shift + sides[0])
            check_content(file, b"shift\n" * shift + (sides[1] or b""))


def check_sides(file: FileDiff, old: bytes | None, new: bytes | None) -> None:
    """``file`` turns ``old`` into ``new``, at the stated lines, and back, and says so."""
    before, after = judge_fit(file, old), judge_fit(file, new)
    assert before.forward == locate(file, old)
    assert after.reverse == locate(file, new, Direction.REVERSE)
    assert before.forward.exact
    assert splice(file, old, before.forward) == new
    assert after.reverse.exact
    assert splice(file, new, after.reverse) == old
    blobs = file.old_blob is not None or file.new_blob is not None
    if before.fit is not Fit.APPLICABLE:
        # the result is there too: at its stated lines, or round the very place
        assert before.reverse.fits
        assert before.fit is Fit.UNDECIDED or blobs
    if after.fit is not Fit.PRESENT and new is not None:
        assert after.forward.fits
        assert after.fit is Fit.UNDECIDED or blobs


def check_content(file: FileDiff, content: bytes) -> Fit:
    """Whatever ``content`` is: places are true, results are right, and nothing is ever put in twice."""
    report = judge_fit(file, content)
    rows = split(content)
    for match in (report.forward, report.reverse):
        assert match == locate(file, content, match.direction)
        check_places(file, rows, match)
    if report.fit is not Fit.APPLICABLE:
        return report.fit
    if file.old_blob is None and file.new_blob is None and file.kind is ChangeKind.MODIFY:
        for hunk, place in zip(file.hunks, report.forward.hunks, strict=True):
            assert not (place.offset and occurrences(hunk.new_lines, rows)), "a file that may have it is patched"
    made = splice(file, content, report.forward)
    if file.kind is not ChangeKind.MODIFY or made is None:
        return report.fit
    again = judge_fit(file, made)
    if file.old_blob is None and file.new_blob is None and made != content:
        assert again.fit is not Fit.APPLICABLE, "would be applied twice"
    # A result that stands at two places of the file can be taken out at the other one: the stated line decides then,
    # and only the stored original knows better.
    told = report.forward.exact or all(occurrences(hunk.new_lines, split(made)) == 1 for hunk in file.hunks)
    if told and again.reverse.fits:
        assert splice(file, made, again.reverse) == content, "reverted to something else"
    return report.fit


def occurrences(block: tuple[bytes, ...], rows: list[bytes]) -> int:
    """At how many lines of ``rows`` the block stands, overlapping ones included."""
    return sum(tuple(rows[at : at + len(block)]) == block for at in range(len(rows) - len(block) + 1))


def check_places(file: FileDiff, rows: list[bytes], match: Match) -> None:
    """Every place really holds its block, in order, and splicing replaces those lines and no others."""
    if file.kind is not ChangeKind.MODIFY:
        return
    made = list(rows)
    end, grown = 0, 0
    for hunk, place in zip(file.hunks, match.hunks, strict=True):
        if place.line is None:
            assert place.reason is not None
            continue
        old, new = sides_of(hunk, match.direction)
        at = place.line - 1
        assert tuple(rows[at : at + len(old)]) == old
        assert at >= end
        end = at + len(old)
        made[at + grown : end + grown] = new
        grown += len(new) - len(old)
    if match.fits:
        assert splice(file, b"".join(rows), match) == b"".join(made)


def sides_of(hunk: Hunk, direction: Direction) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """What is looked for, and what takes its place."""
    forward = direction is Direction.FORWARD
    return (hunk.old_lines, hunk.new_lines) if forward else (hunk.new_lines, hunk.old_lines)


def check_names(data: bytes) -> None:
    """``data`` as the names of a section, in every form a header has; at most one path comes out."""
    first, _, rest = data.partition(b"\n")
    second, _, flags = rest.partition(b"\n")
    bits = flags[0] if flags else 0
    second = second if bits & 1 else first
    old, new = b"a/" + first, b"b/" + second
    if bits & 2:
        old = b'"a/' + quoted(first) + b'"'
    if bits & 4:
        new = b'"b/' + quoted(second) + b'"'
    git = b"diff --git " + old + b" " + new + b"\n"
    pair = b"--- " + old + b"\n+++ " + new + b"\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    forms = [pair, git + b"index 7a8e6a3..94c4d4b 100644\n" + pair, git + b"new file mode 100644\n"]
    forms.append(b"--- " + first + b"\n+++ " + second + b"\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n")
    for form in forms:
        for strip in (0, 1, 2):
            check_diff(form, strip)


def check_drift(data: bytes) -> None:
    """``data`` as three files of one-letter lines: a change between two, tried on the third.

    Letters make text that repeats, which is where places and states are hard to tell.
    """
    parts = [b"".join(b"%c\n" % (97 + byte % 6) for byte in part) for part in data.split(b"\xff")[:3]]
    if len(parts) < 3 or parts[0] == parts[1]:
        return
    old, new, third = parts
    context = 1 + data[0] % 4 if data else 3
    try:
        (file,) = parse_diff(unified(old, new, "x", context=context))
    except DiffError as error:
        assert error.problem.code == "no-context"  # noqa: PT017
        return
    check_sides(file, old, new)
    for content in (old, new, third, third + old, third + new, old + third, new + third):
        check_content(file, content)


def check_shift(file: FileDiff, old: bytes, new: bytes, above: bytes, below: bytes) -> bool:
    """Lines put above and below move the places and change nothing else; return whether the diff still fits.

    Args:
        file: the diff.
        old: what it was made from.
        new: what it makes.
        above: whole lines, none of which the diff has.
        below: the same; not empty only where ``old`` ends with a newline.
    """
    match = locate(file, above + old + below)
    if not match.fits:
        # a place at an end of the file is lost, or the text repeats
        tied = file.hunks[0].old_start == 1 or not all(hunk.trailing for hunk in file.hunks)
        assert tied or any(place.reason == "ambiguous" for place in match.hunks)
        return False
    shift = above.count(b"\n")
    if match.exact and shift:
        # the text repeats, and drift has put another copy at the stated lines
        assert any(occurrences(hunk.old_lines, split(old)) > 1 for hunk in file.hunks)
        return True
    assert [place.offset for place in match.hunks] == [shift] * len(file.hunks)
    assert splice(file, above + old + below, match) == above + new + below
    return True
