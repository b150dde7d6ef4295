"""Probe diffs, one line of intent each: applied to exactly these bytes and back, or refused with exactly this code."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from patchctl.diff import ChangeKind, parse_diff
from patchctl.errors import DiffError
from patchctl.match import Direction, Fit, judge_fit, locate, splice

Tree = dict[str, bytes]

BASE = b"a\nb\nc\nd\ne\n"
DONE = b"a\nb\nC\nd\ne\n"
PAIR = b"--- a/x.py\n+++ b/x.py\n"
HUNK = b"@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n"
PLAIN = PAIR + HUNK
GIT = b"diff --git a/x.py b/x.py\nindex 7a8e6a3..94c4d4b 100644\n" + PLAIN
NEW = b"@@ -0,0 +1,2 @@\n+one\n+two\n"
GONE = b"@@ -1,2 +0,0 @@\n-one\n-two\n"
TWO = b"one\ntwo\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Works:
    """The diff turns ``before`` into ``after``, every hunk at its stated line, and back."""

    intent: str
    diff: bytes
    before: Tree
    after: Tree
    strip: int = 1
    executable_before: tuple[str, ...] = ()
    executable_after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The diff is refused with ``code``; ``line`` is that of the diff, where it matters to the intent."""

    intent: str
    diff: bytes
    code: str
    line: int | None = None
    strip: int = 1


Probe = Works | Refused


def modifies(intent: str, diff: bytes, before: bytes = BASE, after: bytes = DONE, path: str = "x.py") -> Works:
    return Works(intent=intent, diff=diff, before={path: before}, after={path: after})


def adds(intent: str, diff: bytes, content: bytes = TWO, path: str = "x.py", strip: int = 1) -> Works:
    return Works(intent=intent, diff=diff, before={}, after={path: content}, strip=strip)


def deletes(intent: str, diff: bytes, content: bytes = TWO, path: str = "x.py") -> Works:
    return Works(intent=intent, diff=diff, before={path: content}, after={})


def refused(intent: str, diff: bytes, code: str, line: int | None = None, strip: int = 1) -> Refused:
    return Refused(intent=intent, diff=diff, code=code, line=line, strip=strip)


def body(old: bytes, new: bytes, *context: bytes) -> bytes:
    """A diff that turns line two of three into another; the outer lines are ``context``."""
    first, last = context or (b"a\n", b"z\n")
    return PAIR + b"@@ -1,3 +1,3 @@\n " + first + b"-" + old + b"+" + new + b" " + last


FORMS: list[Probe] = [
    modifies("a plain diff", PLAIN),
    modifies("git headers", GIT),
    modifies("git without index line", b"diff --git a/x.py b/x.py\n" + PLAIN),
    modifies("git with a sha256 index line", GIT.replace(b"7a8e6a3", b"7" * 64)),
    modifies("git with a dissimilarity line", GIT.replace(b"index ", b"dissimilarity index 60%\nindex ", 1)),
    modifies("diff -u with time stamps", PLAIN.replace(b".py\n", b".py\t2026-01-02 03:04:05.678901234 +0100\n")),
    modifies("diff -ru with its command line", b"diff -ru a/x.py b/x.py\n" + PLAIN),
    modifies("svn", b"Index: a/x.py\n" + b"=" * 67 + b"\n" + PLAIN.replace(b".py\n", b".py\t(revision 7)\n")),
    modifies("quilt with an Index line", b"Index: b/x.py\n" + b"=" * 67 + b"\n" + PLAIN),
    modifies("quilt's --- between text and diffstat", b"Fix c\n---\n x.py | 2 +-\n\n" + PLAIN),
    modifies("hg with its command line", b"diff -r 0123456789ab x.py\n" + PLAIN),
    modifies("hg export", b"# HG changeset patch\n# User u\n\nText\n- item\n\n" + GIT),
    modifies("bzr", b"=== modified file 'x.py'\n" + PLAIN),
    modifies("a heading behind the second @@", PLAIN.replace(b" @@\n", b" @@ def f(x):\n")),
    modifies("a heading that ends in a carriage return", PLAIN.replace(b" @@\n", b" @@ def f(x):\r\n")),
    modifies("counts of one may be left out", PAIR + b"@@ -1 +1,2 @@\n a\n+b\n", b"a\n", b"a\nb\n"),
    modifies("mnemonic prefixes", GIT.replace(b"a/x", b"i/x").replace(b"b/x", b"w/x")),
    modifies("prefixes of --no-index", GIT.replace(b"a/x", b"1/x").replace(b"b/x", b"2/x")),
    modifies("custom prefixes", GIT.replace(b"a/x", b"vllm-0.20.0/x").replace(b"b/x", b"vllm-new/x")),
    Works(
        intent="no prefix",
        diff=GIT.replace(b"a/x", b"x").replace(b"b/x", b"x"),
        strip=0,
        before={"x.py": BASE},
        after={"x.py": DONE},
    ),
    Works(
        intent="three components to strip",
        diff=PLAIN.replace(b"a/x", b"old/lib/site/x").replace(b"b/x", b"new/lib/site/x"),
        strip=3,
        before={"x.py": BASE},
        after={"x.py": DONE},
    ),
    modifies("a real directory named a", GIT.replace(b"/x.py", b"/a/x.py"), path="a/x.py"),
    modifies("a real directory named b", GIT.replace(b"/x.py", b"/b/x.py"), path="b/x.py"),
    modifies("a byte order mark in front", b"\xef\xbb\xbf" + GIT),
    modifies(
        "an empty context line without its blank", PAIR + b"@@ -1,3 +1,3 @@\n\n-a\n+b\n\n", b"\na\n\n", b"\nb\n\n"
    ),
    modifies("a removed line that looks like a header", body(b"-- a/y\n", b"z\n"), b"a\n-- a/y\nz\n", b"a\nz\nz\n"),
    modifies(
        "an added line that looks like a hunk", body(b"b\n", b"@@ -1 +1 @@\n"), b"a\nb\nz\n", b"a\n@@ -1 +1 @@\nz\n"
    ),
    modifies("a first hunk whose new start is shifted, cut from a longer diff", PLAIN.replace(b"+2,3", b"+40,3")),
    modifies(
        "two hunks that touch",
        PAIR + b"@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -3,2 +3,2 @@\n c\n-d\n+D\n",
        b"a\nb\nc\nd\n",
        b"A\nb\nc\nD\n",
    ),
    modifies("removed lines only", PAIR + b"@@ -1,3 +1,1 @@\n a\n-b\n-c\n", b"a\nb\nc\n", b"a\n"),
    modifies(
        "a line of 100,000 bytes", body(b"b" * 10**5 + b"\n", b"c\n"), b"a\n" + b"b" * 10**5 + b"\nz\n", b"a\nc\nz\n"
    ),
    Works(
        intent="two files",
        diff=GIT + GIT.replace(b"x.py", b"y.py"),
        before={"x.py": BASE, "y.py": BASE},
        after={"x.py": DONE, "y.py": DONE},
    ),
    Works(
        intent="two plain files with a blank line between",
        diff=PLAIN + b"\n" + PLAIN.replace(b"x.py", b"y.py"),
        before={"x.py": BASE, "y.py": BASE},
        after={"x.py": DONE, "y.py": DONE},
    ),
]

BYTES: list[Probe] = [
    modifies(
        "CRLF content, changed", body(b"b\r\n", b"c\r\n", b"a\r\n", b"z\r\n"), b"a\r\nb\r\nz\r\n", b"a\r\nc\r\nz\r\n"
    ),
    modifies("only the line end changes", body(b"b\r\n", b"b\n"), b"a\nb\r\nz\n", b"a\nb\nz\n"),
    modifies("mixed line ends", body(b"b\n", b"c\r\n", b"a\r\n", b"z\n"), b"a\r\nb\nz\n", b"a\r\nc\r\nz\n"),
    modifies("a lone carriage return", body(b"b\rb\n", b"c\rc\n"), b"a\nb\rb\nz\n", b"a\nc\rc\nz\n"),
    modifies("form feed and vertical tab", body(b"b\fb\vb\n", b"c\fc\n"), b"a\nb\fb\vb\nz\n", b"a\nc\fc\nz\n"),
    modifies(
        "separators of str.splitlines", body(b"b\x1cb\x1db\x1e\n", b"c\n"), b"a\nb\x1cb\x1db\x1e\nz\n", b"a\nc\nz\n"
    ),
    modifies("NEL as latin-1", body(b"b\x85b\n", b"c\x85\n"), b"a\nb\x85b\nz\n", b"a\nc\x85\nz\n"),
    modifies("U+2028 and U+0085", body("b\u2028\x85\n".encode(), b"c\n"), "a\nb\u2028\x85\nz\n".encode(), b"a\nc\nz\n"),
    modifies("NUL bytes", body(b"b\x00b\n", b"\x00\n"), b"a\nb\x00b\nz\n", b"a\n\x00\nz\n"),
    modifies("bytes that are not UTF-8", body(b"b\xff\xfe\n", b"\xc3\n"), b"a\nb\xff\xfe\nz\n", b"a\n\xc3\nz\n"),
    modifies(
        "digits that are not ASCII", body("b\u0663\n".encode(), b"\xb2\n"), "a\nb\u0663\nz\n".encode(), b"a\n\xb2\nz\n"
    ),
    modifies(
        "a byte order mark in the content",
        body(b"b\n", b"c\n", b"\xef\xbb\xbfa\n", b"z\n"),
        b"\xef\xbb\xbfa\nb\nz\n",
        b"\xef\xbb\xbfa\nc\nz\n",
    ),
    modifies("blanks at the end of a line", body(b"b\n", b"b \t\n"), b"a\nb\nz\n", b"a\nb \t\nz\n"),
    modifies("a tab as the content", body(b"\t\n", b"\t\t\n"), b"a\n\t\nz\n", b"a\n\t\t\nz\n"),
    modifies(
        "no newline at the end, before and after",
        PAIR + b"@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
        b"a\nb",
        b"a\nc",
    ),
    modifies(
        "the newline at the end is added",
        PAIR + b"@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
        b"a\nb",
        b"a\nb\n",
    ),
    modifies(
        "the newline at the end is taken away",
        PAIR + b"@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n",
        b"a\nb\n",
        b"a\nb",
    ),
    modifies(
        "the last context line has no newline",
        PAIR + b"@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n",
        b"a\nb",
        b"A\nb",
    ),
    modifies(
        "a localised marker below the last line",
        PAIR + b"@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ Kein Zeilenumbruch am Dateiende.\n",
        b"a\nb\n",
        b"a\nb",
    ),
    modifies(
        "a Chinese marker in the middle",
        PAIR + "@@ -1,2 +1,2 @@\n a\n-b\n\\ 文件尾没有换行符\n+b\n".encode(),
        b"a\nb",
        b"a\nb\n",
    ),
    modifies(
        "the marker is the last line and has no newline itself",
        PAIR + b"@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file",
        b"a\nb\n",
        b"a\nb",
    ),
    modifies(
        "a marker, then another file",
        PAIR + b"@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n-- \n2.39.5\n\n",
        b"a\nb\n",
        b"a\nb",
    ),
]

NAMES: list[Probe] = [
    modifies("blanks in a name", GIT.replace(b"x.py", b"x y.py").replace(b"y.py\n@", b"y.py\t\n@"), path="x y.py"),
    modifies("' b/' in a name", GIT.replace(b"x.py", b"x b/x b/y.py"), path="x b/x b/y.py"),
    modifies(
        "octal escapes",
        GIT.replace(b"a/x.py", b'"a/\\303\\251.py"').replace(b"b/x.py", b'"b/\\303\\251.py"'),
        path="é.py",
    ),
    modifies("a quoted quote", GIT.replace(b"a/x.py", b'"a/\\".py"').replace(b"b/x.py", b'"b/\\".py"'), path='".py'),
    modifies("raw UTF-8", GIT.replace(b"x.py", "é.py".encode()), path="é.py"),
    modifies("one side quoted only", GIT.replace(b"+++ b/x.py", b'+++ "b/x.py"'), path="x.py"),
    modifies("commas and equals signs", GIT.replace(b"x.py", b"E=8,N=1.json"), path="E=8,N=1.json"),
    refused("a climbing name", GIT.replace(b"x.py", b"../x.py"), "unsafe-path"),
    refused("a climbing name in --- alone", PLAIN.replace(b"--- a/x.py", b"--- a/../x.py"), "unsafe-path", 1),
    refused("a climbing name in +++ alone", PLAIN.replace(b"+++ b/x.py", b"+++ b/../x.py"), "unsafe-path", 2),
    refused("a climbing name in the stripped part", PLAIN.replace(b"a/x", b"../x"), "unsafe-path"),
    refused("a climbing name hidden by quoting", PLAIN.replace(b"a/x.py", b'"a/\\056\\056/x.py"'), "unsafe-path"),
    refused(
        "a climbing name in an empty file's git header",
        b"diff --git a/../x b/../x\nnew file mode 100644\n",
        "unsafe-path",
    ),
    refused("an absolute name", PLAIN.replace(b"a/x.py", b"/etc/x").replace(b"b/x.py", b"/etc/x"), "unsafe-path"),
    refused(
        "an absolute name after stripping", PLAIN.replace(b"a/x.py", b"a//x").replace(b"b/x.py", b"b//x"), "unsafe-path"
    ),
    refused("a backslash", PLAIN.replace(b"x.py", b"..\\x.py"), "unsafe-path"),
    refused(
        "a quoted newline", PLAIN.replace(b"a/x.py", b'"a/x\\n.py"').replace(b"b/x.py", b'"b/x\\n.py"'), "unsafe-path"
    ),
    refused("an escape sequence", PLAIN.replace(b"x.py", b"x\x1b[2J.py"), "unsafe-path"),
    refused("a NUL", PLAIN.replace(b"x.py", b"x\x00.py"), "unsafe-path"),
    refused("git's own directory", GIT.replace(b"x.py", b".Git/hooks/x"), "unsafe-path"),
    refused("the installer's records", GIT.replace(b"x.py", b"vllm-1.dist-info/RECORD"), "unsafe-path"),
    refused("a start-up hook", GIT.replace(b"x.py", b"x.pth"), "unsafe-path"),
    refused("a start-up module", GIT.replace(b"x.py", b"sitecustomize.py"), "unsafe-path"),
    refused("our own state", GIT.replace(b"x.py", b".patchctl/ledger.json"), "unsafe-path"),
    refused("a name that is not UTF-8", GIT.replace(b"x.py", b"x\xff.py"), "bad-name"),
    refused("an overlong octal escape", PLAIN.replace(b"a/x.py", b'"a/\\777.py"'), "bad-name"),
    refused("a quote that does not close", PLAIN.replace(b"a/x.py", b'"a/x.py'), "bad-name", 1),
    refused("an unknown escape", PLAIN.replace(b"a/x.py", b'"a/\\x41.py"'), "bad-name"),
    refused("text behind the closing quote", PLAIN.replace(b"a/x.py", b'"a/x.py" y'), "bad-name"),
    refused("too little to strip", PLAIN.replace(b"a/x", b"x").replace(b"b/x", b"x"), "strip"),
    refused("too little to strip, level 2", PLAIN, "strip", strip=2),
    refused("--- and +++ disagree", PLAIN.replace(b"+++ b/x.py", b"+++ b/y.py"), "names-disagree"),
    refused("x.py.orig against x.py", PLAIN.replace(b"a/x.py", b"a/x.py.orig"), "names-disagree"),
    refused("the git header names another file", GIT.replace(b"a/x.py b/x.py", b"a/y.py b/y.py"), "names-disagree"),
    refused("one half of the git header differs", GIT.replace(b"a/x.py b/x.py", b"a/x.py b/y.py"), "names-disagree"),
    refused("a git header without a second name", GIT.replace(b"a/x.py b/x.py", b"a/x.py"), "names-disagree"),
    refused(
        "a quoted git header of another file", GIT.replace(b"a/x.py b/x.py", b'"a/y.py" "b/y.py"'), "names-disagree"
    ),
    refused(
        "an empty file whose git header disagrees", b"diff --git a/x b/y\nnew file mode 100644\n", "names-disagree"
    ),
    refused("an empty file with too little to strip", b"diff --git x x\nnew file mode 100644\n", "names-disagree"),
    refused("text behind a git header", GIT.replace(b"a/x.py b/x.py", b'"a/x.py" "b/x.py" y'), "names-disagree"),
    refused("both names are /dev/null", b"--- /dev/null\n+++ /dev/null\n" + NEW, "names-disagree"),
    refused("two sections for one file", GIT + GIT, "repeated-file", 10),
    refused("a file below a file", GIT + GIT.replace(b"x.py", b"x.py/y.py"), "path-conflict"),
]

WHOLE: list[Probe] = [
    adds(
        "a new file, git",
        b"diff --git a/x.py b/x.py\nnew file mode 100644\nindex 0000000..814f4a4\n--- /dev/null\n+++ b/x.py\n" + NEW,
    ),
    adds("a new file, plain", b"--- /dev/null\n+++ b/x.py\n" + NEW),
    adds("a new file, git header without mode", b"diff --git a/x.py b/x.py\n--- /dev/null\n+++ b/x.py\n" + NEW),
    adds(
        "a new file by time stamp, UTC",
        b"--- a/x.py\t1970-01-01 00:00:00.000000000 +0000\n+++ b/x.py\t2026-01-01 00:00:00 +0000\n" + NEW,
    ),
    adds("a new file by time stamp, west", b"--- a/x.py\t1969-12-31 19:00:00.000000000 -0500\n+++ b/x.py\n" + NEW),
    adds("a new file by time stamp, east", b"--- a/x.py\t1970-01-01 05:30:00 +0530\n+++ b/x.py\n" + NEW),
    adds(
        "a new file by time stamp, hg",
        b"--- /dev/null\tThu Jan 01 00:00:00 1970 +0000\n+++ b/x.py\tFri Jan 02 03:04:05 2026 +0000\n" + NEW,
    ),
    adds("a new file by time stamp, C", b"--- a/x.py\tThu Jan  1 00:00:00 1970\n+++ b/x.py\n" + NEW),
    adds(
        "a new file, svn",
        b"Index: x.py\n" + b"=" * 67 + b"\n--- x.py\t(nonexistent)\n+++ x.py\t(working copy)\n" + NEW,
        strip=0,
    ),
    adds("a new file of one line", b"--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n+one\n", b"one\n"),
    adds(
        "a new file without final newline",
        b"--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n+one\n\\ No newline at end of file\n",
        b"one",
    ),
    adds("a new empty file", b"diff --git a/x.py b/x.py\nnew file mode 100644\nindex 0000000..e69de29\n", b""),
    adds("a new empty file, no index line", b"diff --git a/x.py b/x.py\nnew file mode 100644\n", b""),
    adds(
        "a new empty file with blanks in its name",
        b"diff --git a/x y x y b/x y x y\nnew file mode 100644\n",
        b"",
        "x y x y",
    ),
    adds(
        "a new empty file with a quoted name",
        b'diff --git "a/\\303\\251" "b/\\303\\251"\nnew file mode 100644\n',
        b"",
        "é",
    ),
    adds("a new empty file, no prefix", b"diff --git d/x d/x\nnew file mode 100644\n", b"", "d/x", strip=0),
    Works(
        intent="a new empty file, then another section",
        diff=b"diff --git a/y b/y\nnew file mode 100644\nindex 0000000..e69de29\n" + GIT,
        before={"x.py": BASE},
        after={"x.py": DONE, "y": b""},
    ),
    deletes(
        "a deleted file, git",
        b"diff --git a/x.py b/x.py\ndeleted file mode 100644\nindex 814f4a4..0000000\n--- a/x.py\n+++ /dev/null\n"
        + GONE,
    ),
    deletes("a deleted file, plain", b"--- a/x.py\n+++ /dev/null\n" + GONE),
    deletes("a deleted file, git header without mode", b"diff --git a/x.py b/x.py\n--- a/x.py\n+++ /dev/null\n" + GONE),
    deletes("a deleted file by time stamp", b"--- a/x.py\n+++ b/x.py\t1970-01-01 01:00:00.000000000 +0100\n" + GONE),
    deletes("a deleted file, svn", b"--- a/x.py\t(revision 3)\n+++ b/x.py\t(nonexistent)\n" + GONE),
    deletes(
        "a deleted empty file", b"diff --git a/x.py b/x.py\ndeleted file mode 100755\nindex e69de29..0000000\n", b""
    ),
    modifies(
        "a tree whose time stamps all are the epoch", PLAIN.replace(b".py\n", b".py\t1970-01-01 00:00:00 +0000\n")
    ),
    modifies("almost the epoch", PLAIN.replace(b".py\n", b".py\t1970-01-01 00:00:00 +0100\n")),
    refused("a new file with old lines", b"--- /dev/null\n+++ b/x.py\n" + HUNK, "kind-disagrees"),
    refused("a deleted file with new lines", b"--- a/x.py\n+++ /dev/null\n" + HUNK, "kind-disagrees"),
    refused(
        "a new file in two hunks", b"--- /dev/null\n+++ b/x.py\n" + NEW + b"@@ -0,0 +3,1 @@\n+three\n", "kind-disagrees"
    ),
    refused(
        "a new file from line 2 on", b"--- /dev/null\n+++ b/x.py\n" + NEW.replace(b"+1,2", b"+2,2"), "kind-disagrees"
    ),
    refused(
        "a deleted file from line 2 on",
        b"--- a/x.py\n+++ /dev/null\n" + GONE.replace(b"-1,2", b"-2,2"),
        "kind-disagrees",
    ),
    refused(
        "the header adds, the names do not",
        b"diff --git a/x.py b/x.py\nnew file mode 100644\n" + PLAIN,
        "kind-disagrees",
    ),
    refused(
        "the header deletes, the names do not",
        b"diff --git a/x.py b/x.py\ndeleted file mode 100644\n" + PLAIN,
        "kind-disagrees",
    ),
    refused(
        "the header adds, the hunk too, the names do not",
        b"diff --git a/x b/x\nnew file mode 100644\n--- a/x\n+++ b/x\n" + NEW,
        "kind-disagrees",
        1,
    ),
    refused(
        "the header deletes, the hunk too, the names do not",
        b"diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ b/x\n" + GONE,
        "kind-disagrees",
        1,
    ),
    refused(
        "the header deletes, the names add",
        b"diff --git a/x.py b/x.py\ndeleted file mode 100644\n--- /dev/null\n+++ b/x.py\n" + NEW,
        "kind-disagrees",
    ),
    refused(
        "added and deleted at once",
        b"diff --git a/x b/x\nnew file mode 100644\ndeleted file mode 100644\n",
        "kind-disagrees",
    ),
    refused(
        "a new file whose hunk was lost",
        b"diff --git a/x.py b/x.py\nnew file mode 100644\nindex 0000000..814f4a4\n",
        "no-hunks",
    ),
    refused(
        "an irreversible delete",
        b"diff --git a/x.py b/x.py\ndeleted file mode 100644\nindex 814f4a4..0000000\n",
        "no-hunks",
    ),
    refused(
        "a new file with names and no hunk",
        b"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n",
        "no-hunks",
    ),
]

HUNKS: list[Probe] = [
    refused("a count too small, added line left over", PLAIN.replace(b"+C\n d", b"+C\n+D\n d"), "wrong-count", 8),
    refused("a count too small, context left over", PLAIN + b" e\n", "wrong-count", 8),
    refused("a count too small, blank context line left over", PLAIN + b" \n", "wrong-count", 8),
    refused("a count too small, removed line left over", PLAIN + b"-e\n", "wrong-count", 8),
    refused("a count too large at the end", PLAIN.replace(b"-2,3 +2,3", b"-2,4 +2,4"), "wrong-count"),
    refused("a count too large before another hunk", PLAIN.replace(b"-2,3 +2,3", b"-2,4 +2,4") + HUNK, "wrong-count"),
    refused("a count too large before another file", PLAIN.replace(b"-2,3 +2,3", b"-2,4 +2,4") + GIT, "wrong-count"),
    refused("old count alone too small", PLAIN.replace(b"-2,3", b"-2,2"), "wrong-count"),
    refused("new count alone too large", PLAIN.replace(b"+2,3", b"+2,4"), "wrong-count"),
    refused("counts of zero", PAIR + b"@@ -2,0 +2,0 @@\n", "no-op"),
    refused("start 0 with lines", PLAIN.replace(b"-2,3", b"-0,3"), "bad-hunk-header"),
    refused("a negative start", PLAIN.replace(b"-2,3", b"--2,3"), "bad-hunk-header"),
    refused("a start of 5,000 digits", PLAIN.replace(b"-2,3", b"-" + b"2" * 5000 + b",3"), "bad-hunk-header"),
    refused("digits that are not ASCII in a header", PLAIN.replace(b"-2,3", "-\u0662,3".encode()), "bad-hunk-header"),
    refused("no second @@", PLAIN.replace(b" @@\n", b"\n"), "bad-hunk-header"),
    refused("something glued to the second @@", PLAIN.replace(b" @@\n", b" @@x\n"), "bad-hunk-header"),
    refused("a wrapped line inside a hunk", PLAIN.replace(b"+C\n", b"+C\nwrapped\n"), "bad-hunk-line", 7),
    refused("a wrapped last line", PLAIN.replace(b" d\n", b" d\nwrapped\n"), "leftover", 8),
    refused("a tab instead of the blank", PLAIN.replace(b" d\n", b"\td\n"), "bad-hunk-line"),
    refused("an empty CRLF line in a hunk", PLAIN.replace(b" d\n", b"\r\n"), "bad-hunk-line"),
    refused("the diff ends in the middle of a line", PLAIN[:-1], "truncated", 7),
    refused("a hunk that changes nothing", PAIR + b"@@ -1,2 +1,2 @@\n a\n b\n", "no-op", 3),
    refused("a line replaced by itself", body(b"b\n", b"b\n"), "no-op"),
    refused("no context", PAIR + b"@@ -3 +3 @@\n-c\n+C\n", "no-context", 3),
    refused("an insertion without context", PAIR + b"@@ -3,0 +4 @@\n+C\n", "no-context"),
    refused("a file that is emptied", PAIR + b"@@ -1,2 +0,0 @@\n-a\n-b\n", "no-context"),
    refused("an empty file that is filled", PAIR + b"@@ -0,0 +1,2 @@\n+a\n+b\n", "no-context"),
    refused("one of two hunks has no context", PLAIN + b"@@ -9 +9 @@\n-i\n+I\n", "no-context", 8),
    refused("hunks that overlap", PLAIN + b"@@ -4,2 +4,2 @@\n d\n-e\n+E\n", "overlap", 8),
    refused("hunks out of order", PAIR + b"@@ -9,2 +9,2 @@\n i\n-j\n+J\n" + HUNK, "disorder", 7),
    refused("the same hunk twice", PLAIN + HUNK, "overlap"),
    refused("a hunk between is missing", PLAIN + b"@@ -20,2 +25,2 @@\n t\n-u\n+U\n", "wrong-start", 8),
    refused("a blank line between hunks", PLAIN + b"\n@@ -9,2 +9,2 @@\n i\n-j\n+J\n", "leftover", 9),
    refused("text between hunks", PLAIN + b"\ntext\n@@ -9,2 +9,2 @@\n i\n-j\n+J\n", "leftover", 10),
    refused("a hunk without any file", HUNK, "leftover", 1),
    refused("a hunk in front of the first file", HUNK + b"\n" + PLAIN, "leftover", 1),
    refused(
        "a git header and a hunk, no names",
        b"diff --git a/x.py b/x.py\nindex 7a8e6a3..94c4d4b 100644\n" + HUNK,
        "leftover",
        3,
    ),
    refused("names without a hunk", PAIR, "no-hunks", 1),
    refused("names without a hunk, then a file", PAIR + GIT.replace(b"x.py", b"y.py"), "no-hunks", 1),
    refused("a git header without anything", b"diff --git a/x.py b/x.py\nindex 7a8e6a3..94c4d4b 100644\n", "no-hunks"),
    refused("a bare git header, then a file", b"diff --git a/y.py b/y.py\n" + GIT, "no-hunks", 1),
    refused("--- without +++", b"--- a/x.py\n" + HUNK, "leftover", 1),
    refused("+++ without ---", b"+++ b/x.py\n" + HUNK, "leftover", 1),
    refused("git header, then --- without +++", b"diff --git a/x.py b/x.py\n--- a/x.py\n" + HUNK, "leftover", 2),
    refused("a blank line between --- and +++", b"--- a/x.py\n\n+++ b/x.py\n" + HUNK, "leftover", 1),
    refused("a text line inside a git header", GIT.replace(b"--- a", b"text\n--- a"), "no-hunks", 1),
    refused("a marker without text", PLAIN + b"\\\n", "unknown-marker", 8),
    refused("a marker without its blank", PLAIN + b"\\No newline at end of file\n", "unknown-marker", 8),
    refused(
        "a marker below the header of an empty file",
        b"diff --git a/x b/x\nnew file mode 100644\n\\ No newline at end of file\n",
        "unknown-marker",
        3,
    ),
    refused("a marker after a blank line", PLAIN + b"\n\\ No newline at end of file\n", "leftover", 9),
    refused(
        "a marker in front of the first line",
        PLAIN.replace(b"\n b\n", b"\n\\ No newline at end of file\n b\n"),
        "misplaced-marker",
    ),
    refused("two markers in a row", PLAIN + b"\\ No newline at end of file\n" * 2, "misplaced-marker", 9),
    refused(
        "a marker with more context below",
        PLAIN.replace(b" b\n", b" b\n\\ No newline at end of file\n"),
        "misplaced-marker",
        5,
    ),
    refused(
        "a marker with a stripped blank line below",
        PAIR + b"@@ -1,3 +1,3 @@\n-a\n+A\n b\n\\ No newline at end of file\n\n",
        "misplaced-marker",
        7,
    ),
    refused(
        "a marker with more old lines below",
        PLAIN.replace(b"-c\n", b"-c\n\\ No newline at end of file\n"),
        "misplaced-marker",
    ),
    refused(
        "a marker on an empty line",
        body(b"b\n", b"\n").removesuffix(b" z\n").replace(b"3 +1,3", b"2 +1,2") + b"\\ No newline at end of file\n",
        "misplaced-marker",
    ),
    refused(
        "a marker, then another hunk",
        PLAIN + b"\\ No newline at end of file\n@@ -9,2 +9,2 @@\n i\n-j\n+J\n",
        "misplaced-marker",
    ),
]

SCOPE: list[Probe] = [
    refused("a copy", b"diff --git a/x.py b/y.py\nsimilarity index 100%\ncopy from x.py\ncopy to y.py\n", "copy"),
    refused(
        "a new symbolic link",
        b"diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/shadow\n",
        "symlink",
        2,
    ),
    refused("a changed symbolic link", GIT.replace(b"100644", b"120000"), "symlink"),
    refused(
        "a deleted symbolic link",
        b"diff --git a/x b/x\ndeleted file mode 120000\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n",
        "symlink",
    ),
    refused("a file that becomes a link", b"diff --git a/x b/x\nold mode 100644\nnew mode 120000\n", "symlink", 3),
    refused("a submodule", GIT.replace(b"100644", b"160000"), "submodule"),
    refused("a mode with set-id bits", b"diff --git a/x b/x\nnew file mode 104755\n", "bad-mode"),
    refused("a group-writable mode", b"diff --git a/x b/x\nnew file mode 100664\n", "bad-mode"),
    refused("a mode that is no number", b"diff --git a/x b/x\nnew file mode rwxr-xr-x\n", "bad-mode"),
    refused(
        "a binary patch",
        b"diff --git a/x b/x\nindex 7a8e6a3..94c4d4b 100644\nGIT binary patch\nliteral 1\nIc${MZ00Ia8\n",
        "binary",
        3,
    ),
    refused(
        "binary files, git",
        b"diff --git a/x b/x\nindex 7a8e6a3..94c4d4b 100644\nBinary files a/x and b/x differ\n",
        "binary",
    ),
    refused("binary files, diff", b"diff -ru a/x b/x\nBinary files a/x and b/x differ\n", "binary"),
    refused("binary files after a good section", PLAIN + b"Binary files a/y and b/y differ\n", "binary", 8),
    refused(
        "binary file, svn", b"Index: x\n" + b"=" * 67 + b"\nCannot display: file marked as a binary type.\n", "binary"
    ),
    refused("files that differ, diff -q", b"Files a/x and b/x differ\n", "binary"),
    refused("a file on one side only", PLAIN + b"Only in b: new.py\n", "incomplete", 8),
    refused(
        "svn properties",
        PLAIN + b"\nProperty changes on: x.py\n" + b"_" * 67 + b"\nAdded: svn:executable\n## -0,0 +1 ##\n+*\n",
        "mode-change",
    ),
    refused("an empty file, svn", b"Index: x.py\n" + b"=" * 67 + b"\n", "no-hunks"),
    refused("an empty file, diff -ruN", b"diff -ruN a/x b/x\ndiff -ru a/y b/y\n" + PLAIN, "no-hunks", 1),
    refused(
        "a combined diff",
        b"diff --cc x.py\nindex 1,2..3\n--- a/x.py\n+++ b/x.py\n@@@ -1,2 -1,2 +1,2 @@@\n  a\n- b\n -c\n++d\n",
        "combined",
        1,
    ),
    refused("a combined hunk in a git section", GIT.replace(b"@@ -2,3 +2,3 @@", b"@@@ -2,3 -2,3 +2,3 @@@"), "combined"),
    refused("a combined index line", GIT.replace(b"7a8e6a3..", b"7a8e6a3,7a8e6a3.."), "combined"),
    refused("a broken index line", GIT.replace(b"7a8e6a3..", b"xyz.."), "unknown-header"),
    refused("two index lines", GIT.replace(b"--- a", b"index 7a8e6a3..94c4d4b 100644\n--- a"), "unknown-header"),
    refused(
        "a context diff",
        b"*** a/x.py\n--- b/x.py\n***************\n*** 1,3 ****\n  a\n! b\n  c\n--- 1,3 ----\n  a\n! B\n  c\n",
        "context",
    ),
    refused("an ed script", b"3c\nC\n.\n", "ed"),
    refused("a normal diff", b"3c3\n< c\n---\n> C\n", "ed"),
    refused("an RCS diff", b"d3 1\na3 1\nC\n", "ed"),
    refused("nothing", b"", "empty"),
    refused("blank lines only", b"\n\n", "empty"),
    refused("prose only", b"Description: text\n\nNo diff here.\n", "empty"),
    refused("UTF-16", PLAIN.decode().encode("utf-16"), "utf-16"),
    refused("CRLF headers, plain", PLAIN.replace(b"\n", b"\r\n"), "crlf-headers", 1),
    refused("CRLF headers, git", GIT.replace(b"\n", b"\r\n"), "crlf-headers", 1),
    refused("a CRLF +++ line", PLAIN.replace(b"b/x.py\n", b"b/x.py\r\n"), "crlf-headers", 2),
    refused("a CRLF hunk header", PLAIN.replace(b" @@\n", b" @@\r\n"), "crlf-headers", 3),
    refused("a CRLF mode line", b"diff --git a/x b/x\nnew file mode 100644\r\n", "crlf-headers", 2),
]

MAIL = b"""From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001
From: A <a@example.org>
Date: Thu, 1 Jan 2026 00:00:00 +0000
Subject: [PATCH] Fix c

- a list
+ of points
+++ loud +++
--- quoted ---
@@ -not a hunk
diff --git is a command

---
 x.py | 2 +-
 1 file changed, 1 insertion(+), 1 deletion(-)

"""

PROSE: list[Probe] = [
    modifies("git format-patch", MAIL + GIT + b"-- \n2.39.5\n\n"),
    modifies("a signature whose blank was stripped", MAIL + GIT + b"--\n2.43.0.windows.1\n\n"),
    modifies("the footer of a mailing list", MAIL + GIT + b"-- \n2.39.5\n\n_______\nlist mailing list\n"),
    modifies("git show", b"commit 0123456789\nAuthor: A\n\n    Fix c\n\n    - list\n\n" + GIT),
    modifies("a DEP-3 header", b"Description: Fix c\n - list\n.\n- list\nOrigin: upstream\n\n" + PLAIN),
    modifies("a comment on top", b"# patchctl: fixes c\n#\n" + PLAIN),
    modifies("plain text on top", b"Fix c.\n  indented\n\n" + PLAIN),
    modifies("text after a blank line at the end", PLAIN + b"\nThat is all.\n"),
    Works(
        intent="a mailbox of two patches",
        diff=MAIL + GIT + b"-- \n2.39.5\n\n" + MAIL + GIT.replace(b"x.py", b"y.py") + b"-- \n2.39.5\n\n",
        before={"x.py": BASE, "y.py": BASE},
        after={"x.py": DONE, "y.py": DONE},
    ),
    Works(
        intent="git log -p of two commits",
        diff=b"commit "
        + b"0" * 40
        + b"\n\n    One\n\n"
        + GIT
        + b"\ncommit "
        + b"1" * 40
        + b"\n\n    Two\n\n"
        + GIT.replace(b"x.py", b"y.py"),
        before={"x.py": BASE, "y.py": BASE},
        after={"x.py": DONE, "y.py": DONE},
    ),
    modifies("text that begins like an Index line", b"Fix c.\nIndex: none\n\n" + PLAIN),
    refused("a list in undeclared text", b"Fix c.\n\n- list\n\n" + PLAIN, "leftover", 3),
    refused("the end of a lost section in front", b"+lost\n lost\n" + PLAIN, "leftover", 1),
    refused("a whole hunk in a mail", MAIL + HUNK + b"\n" + GIT, "leftover"),
    refused("a mail whose names lost their hunk", MAIL + PAIR + b"\n" + GIT.replace(b"x.py", b"y.py"), "no-hunks"),
    refused("a binary file in a mail", MAIL + b"Binary files a/y and b/y differ\n" + GIT, "binary"),
    refused("a mail with a merge", MAIL + b"diff --cc y.py\n" + GIT, "combined"),
    refused("a removed line left over before the signature", MAIL + GIT + b"-- \n", "wrong-count"),
    refused("a second signature line that is no version", MAIL + GIT + b"-- \nAlice\n", "wrong-count"),
    refused("an added line after a blank line at the end", PLAIN + b"\n+x\n", "leftover", 9),
    refused("a context line after a blank line at the end", PLAIN + b"\n x\n", "leftover", 9),
    refused("quilt's separator after a section", PLAIN + b"\n---\n", "leftover", 9),
    refused("text right below a hunk", PLAIN + b"That is all.\n", "leftover", 8),
    refused("a rename without its git header", PLAIN + b"\nrename from x\nrename to y\n", "leftover"),
    refused("a command line without a section at the end", PLAIN + b"diff -ru a/y b/y\n", "no-hunks", 8),
]

SIMILAR = b"diff --git a/x.py b/d/y.py\nsimilarity index 90%\nrename from x.py\nrename to d/y.py\n"
MOVED = SIMILAR.replace(b"90%", b"100%")
EDITED = SIMILAR + b"index 7a8e6a3..94c4d4b 100644\n--- a/x.py\n+++ b/d/y.py\n" + HUNK
TO_755 = b"diff --git a/x.py b/x.py\nold mode 100644\nnew mode 100755\n"


def renames(intent: str, diff: bytes, after: bytes = BASE, *, old: str = "x.py", new: str = "d/y.py") -> Works:
    return Works(intent=intent, diff=diff, before={old: BASE}, after={new: after})


RENAMES: list[Probe] = [
    renames("a rename", MOVED),
    renames("a rename without a similarity line, hg", MOVED.replace(b"similarity index 100%\n", b"")),
    renames("a rename with edits", EDITED, DONE),
    renames("a rename with edits, no index line", EDITED.replace(b"index 7a8e6a3..94c4d4b 100644\n", b""), DONE),
    renames("a rename with prose in front", b"Subject: move it\n\n" + MOVED),
    Works(
        intent="a rename, no prefix",
        diff=MOVED.replace(b"a/x.py b/d", b"x.py d"),
        strip=0,
        before={"x.py": BASE},
        after={"d/y.py": BASE},
    ),
    Works(
        intent="a rename with edits, no prefix",
        diff=EDITED.replace(b"a/x.py b/d", b"x.py d").replace(b"- a/", b"- ").replace(b"+ b/", b"+ "),
        strip=0,
        before={"x.py": BASE},
        after={"d/y.py": DONE},
    ),
    Works(
        intent="a rename with two components to strip loses one from its own lines",
        diff=MOVED.replace(b"a/x.py b/d", b"a/src/x.py b/src/d")
        .replace(b"from x", b"from src/x")
        .replace(b"to d", b"to src/d"),
        strip=2,
        before={"x.py": BASE},
        after={"d/y.py": BASE},
    ),
    renames(
        "a rename between quoted names",
        b'diff --git "a/\\303\\251" "b/\\303\\250"\nrename from "\\303\\251"\nrename to "\\303\\250"\n',
        old="\u00e9",
        new="\u00e8",
    ),
    renames(
        "a rename of which one name is quoted",
        b'diff --git a/x.py "b/\\303\\250"\nrename from x.py\nrename to "\\303\\250"\n',
        new="\u00e8",
    ),
    renames(
        "a rename between names with blanks and ' b/'",
        b"diff --git a/x b/y b/z b/w\nrename from x b/y\nrename to z b/w\n",
        old="x b/y",
        new="z b/w",
    ),
    renames(
        "a rename from a directory that is really called a",
        b"diff --git a/a/x b/b/x\nrename from a/x\nrename to b/x\n",
        old="a/x",
        new="b/x",
    ),
    Works(
        intent="a change of mode",
        diff=TO_755,
        before={"x.py": BASE},
        after={"x.py": BASE},
        executable_after=("x.py",),
    ),
    Works(
        intent="a mode that is taken back",
        diff=b"diff --git a/x.py b/x.py\nold mode 100755\nnew mode 100644\n",
        before={"x.py": BASE},
        after={"x.py": BASE},
        executable_before=("x.py",),
    ),
    Works(
        intent="a change of mode with content",
        diff=TO_755 + GIT.partition(b"\n")[2].replace(b" 100644\n", b"\n"),
        before={"x.py": BASE},
        after={"x.py": DONE},
        executable_after=("x.py",),
    ),
    Works(
        intent="a change of mode with a rename and edits",
        diff=EDITED.replace(b"similarity", b"old mode 100644\nnew mode 100755\nsimilarity").replace(
            b" 100644\n-", b"\n-"
        ),
        before={"x.py": BASE},
        after={"d/y.py": DONE},
        executable_after=("d/y.py",),
    ),
    refused("half of a rename", MOVED.replace(b"rename to d/y.py\n", b""), "unknown-header"),
    refused("the other half of a rename", MOVED.replace(b"rename from x.py\n", b""), "unknown-header"),
    refused("half of a change of mode", TO_755.replace(b"old mode 100644\n", b""), "unknown-header"),
    refused("the other half of a change of mode", TO_755.replace(b"new mode 100755\n", b""), "unknown-header"),
    refused("a mode changed to itself", TO_755.replace(b"755", b"644"), "no-op"),
    refused("a mode changed from set-id bits", TO_755.replace(b"100644", b"104755"), "bad-mode"),
    refused("a mode changed to group-writable", TO_755.replace(b"100755", b"100775"), "bad-mode"),
    refused("a rename to itself", b"diff --git a/x b/x\nrename from x\nrename to x\n", "no-op"),
    refused("a rename that git's header does not know", MOVED.replace(b"b/d/y", b"b/d/z"), "names-disagree"),
    refused("a rename from another name than git's header", MOVED.replace(b"a/x", b"a/z"), "names-disagree"),
    refused("a rename that '---' does not know", EDITED.replace(b"--- a/x", b"--- a/z"), "names-disagree"),
    refused("a rename that '+++' does not know", EDITED.replace(b"+++ b/d/y", b"+++ b/d/z"), "names-disagree"),
    refused("a rename to /dev/null", EDITED.replace(b"+++ b/d/y.py", b"+++ /dev/null"), "names-disagree"),
    refused("a rename to an absolute name", MOVED.replace(b"to d/", b"to /d/"), "unsafe-path"),
    refused("a rename out of the site", MOVED.replace(b"to d/y", b"to ../y"), "unsafe-path"),
    refused("a rename from outside the site", MOVED.replace(b"from x", b"from ../x"), "unsafe-path"),
    refused("a rename into .git", MOVED.replace(b"d/y.py", b".git/y"), "unsafe-path"),
    refused("a rename to a .pth file", MOVED.replace(b"d/y.py", b"y.pth"), "unsafe-path"),
    refused("a rename of metadata", MOVED.replace(b"x.py", b"v.dist-info/RECORD"), "unsafe-path"),
    refused("a similar file without its hunks", SIMILAR, "no-hunks"),
    refused("a rename whose blobs differ, without hunks", MOVED + b"index 7a8e6a3..94c4d4b 100644\n", "no-hunks"),
    refused("an unchanged file with hunks", EDITED.replace(b"90%", b"100%"), "kind-disagrees"),
    refused("a similarity that is no figure", MOVED.replace(b"100%", b"all"), "unknown-header", 2),
    refused("a similarity beyond the whole", MOVED.replace(b"100%", b"101%"), "unknown-header", 2),
    refused("a rename with names in front of no hunks", SIMILAR + b"--- a/x.py\n+++ b/d/y.py\n", "no-hunks"),
    refused("a change of mode whose blobs differ, without hunks", TO_755 + b"index 7a8e6a3..94c4d4b\n", "no-hunks"),
    refused("a rename that adds", MOVED + b"new file mode 100644\n", "kind-disagrees"),
    refused("a change of mode that deletes", TO_755 + b"deleted file mode 100755\n", "kind-disagrees"),
    refused(
        "two files that change names", MOVED + MOVED.replace(b"x.py", b"t").replace(b"d/y.py", b"x.py"), "repeated-file"
    ),
    refused("a rename beside a change of its old name", GIT + MOVED, "repeated-file"),
    refused(
        "a rename onto a file that another section changes", MOVED + GIT.replace(b"x.py", b"d/y.py"), "repeated-file"
    ),
    refused("a rename below its own name", MOVED.replace(b"d/y.py", b"x.py/y"), "path-conflict"),
    refused("a hunk below a rename without names", MOVED + HUNK, "leftover"),
    refused("a rename with a CRLF line", MOVED.replace(b"to d/y.py\n", b"to d/y.py\r\n"), "crlf-headers", 4),
]

PROBES: list[Probe] = [*FORMS, *BYTES, *NAMES, *WHOLE, *HUNKS, *SCOPE, *RENAMES, *PROSE]


def named(probe: Probe) -> str:
    return probe.intent


@pytest.mark.parametrize("probe", [probe for probe in PROBES if isinstance(probe, Works)], ids=named)
def test_a_good_diff_gives_exactly_these_bytes_and_back(probe: Works) -> None:
    files = parse_diff(probe.diff, strip=probe.strip)
    assert {path for file in files for path in file.paths} == {
        path
        for path in probe.before | probe.after
        if probe.before.get(path) != probe.after.get(path)
        or (path in probe.executable_before) != (path in probe.executable_after)
    }
    tree = dict(probe.before)
    for file in files:
        (first, *_), last = file.paths, file.path
        content = tree.pop(first, None)
        old, new = first in probe.executable_before, last in probe.executable_after
        match = locate(file, content, executable=old)
        assert match.exact
        made = splice(file, content, match)
        if made is not None:
            tree[last] = made
        back = locate(file, made, Direction.REVERSE, executable=new)
        assert back.exact
        assert splice(file, made, back) == content
        before, after = (None, content) if file.old_path else (content, None), (made, None)
        assert judge_fit(file, before[0], source=before[1], executable=old).fit is Fit.APPLICABLE
        fit = judge_fit(file, after[0], source=after[1], executable=new).fit
        assert fit is (Fit.MISSING if made is None else Fit.PRESENT)
    assert tree == probe.after


@pytest.mark.parametrize("probe", [probe for probe in PROBES if isinstance(probe, Refused)], ids=named)
def test_a_bad_diff_is_refused_with_exactly_this_code(probe: Refused) -> None:
    with pytest.raises(DiffError) as caught:
        parse_diff(probe.diff, strip=probe.strip)
    assert caught.value.problem.code == probe.code
    if probe.line is not None:
        assert caught.value.problem.line == probe.line


def test_every_probe_has_its_own_intent_and_both_outcomes_are_probed(capsys: pytest.CaptureFixture[str]) -> None:
    intents = [probe.intent for probe in PROBES]
    assert len(set(intents)) == len(intents)
    applied = sum(isinstance(probe, Works) for probe in PROBES)
    with capsys.disabled():
        print(f"\n{len(PROBES)} probe diffs: {applied} applied and taken out again, {len(PROBES) - applied} refused")
    assert applied >= 100
    assert len(PROBES) - applied >= 150


def test_the_kinds_are_told_apart() -> None:
    diff = (
        GIT
        + GIT.replace(b"x.py", b"y.py")
        + b"--- /dev/null\n+++ b/n.py\n"
        + NEW
        + b"--- a/g.py\n+++ /dev/null\n"
        + GONE
    )
    kinds = [(file.path, file.kind) for file in parse_diff(diff)]
    assert kinds == [
        ("x.py", ChangeKind.MODIFY),
        ("y.py", ChangeKind.MODIFY),
        ("n.py", ChangeKind.ADD),
        ("g.py", ChangeKind.DELETE),
    ]


def test_counts_decide_what_is_a_header() -> None:
    """``---`` and ``+++`` inside a hunk are content, even right above the next ``@@``."""
    (file,) = parse_diff(PAIR + b"@@ -1,2 +1,2 @@\n a\n--- y\n+++ y\n@@ -8,2 +8,2 @@\n h\n-i\n+I\n")
    assert [hunk.old_lines for hunk in file.hunks] == [(b"a\n", b"-- y\n"), (b"h\n", b"i\n")]
    assert [hunk.new_lines for hunk in file.hunks] == [(b"a\n", b"++ y\n"), (b"h\n", b"I\n")]
