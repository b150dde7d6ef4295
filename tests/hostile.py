"""Inputs made to take long: for each reader of bytes, shapes that would cost more than linear time if it were careless.

A shape makes an action from a size, about the number of bytes of its input; what the action answers does not matter.
``tests/test_linear.py`` counts their work in lines of Python, ``tests.bench.limits`` in instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from patchctl.build.labels import glob_fits
from patchctl.diff import FileDiff, parse_diff
from patchctl.documents.toml_keys import locate_keys
from patchctl.evidence.nesting import chains_too_long
from patchctl.evidence.source import Source
from patchctl.evidence.tokens import contains, may_contain, tokens
from patchctl.ledger.codec import decode_ledger
from patchctl.match import judge_fit
from patchctl.match.text import Text
from patchctl.model import EditKind, FileEdit
from patchctl.patch import parse_entry
from patchctl.render.diffs import edits_as_diff
from patchctl.target import find_target, read_snapshot
from patchctl.target.holdings import parse_headers
from patchctl.target.record import parse_record
from patchctl.target.wheel import wheel_tree
from patchctl.transaction.journal import decode_journal
from tests.sites import install
from tests.small_wheels import make_wheel

Made = TypeVar("Made")
Action = Callable[[], object]
Shape = Callable[[int], Action]

PAIR = b"--- a/x\n+++ b/x\n"
SECTION = PAIR + b"@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n"
LARGEST_ENTRY = 240_000
"""What is larger is not read; see MAX_BYTES of ``patch.document``."""
HEAD = b'id = "x"\ntitle = "t"\nkind = "advisory"\nseverity = "crash"\nwhy = "w"\nremoval = "r"\n'
TAIL = b'[[variant]]\ndistribution = "vllm"\nversions = ">=0"\n[[avoid]]\nargs = ["x"]\n'
EVIDENCE = b'[[fix]]\nref = "a"\nrole = "fixes"\n[[fix.evidence]]\n'


def diff(make: Callable[[int], bytes]) -> Shape:
    def shape(size: int) -> Action:
        data = make(size)
        return lambda: parse_diff(data)

    return shape


def sections(make: Callable[[int], bytes], each: int) -> Shape:
    """As many sections as go into the size, of ``each`` bytes or so."""
    return diff(lambda size: b"".join(make(number) for number in range(max(1, size // each))))


def entry(make: Callable[[int], bytes]) -> Shape:
    def shape(size: int) -> Action:
        data = make(min(size, LARGEST_ENTRY))
        place = {"file": "f/x/patch.toml", "folder": "f/x"}
        return lambda: parse_entry(data, **place, read_file=lambda _name: b"", split_tokens=tokens)

    return shape


def source(make: Callable[[int], str]) -> list[Shape]:
    """The three ways in which text of an installed file is read before it is parsed."""

    def as_tokens(size: int) -> Action:
        text = make(size)
        return lambda: tokens(text)

    def as_chains(size: int) -> Action:
        text = make(size)
        return lambda: chains_too_long(text)

    def as_layout(size: int) -> Action:
        text = Source(f"class a:\n{make(size)}\n".encode())
        return lambda: text.missing_part("a.b.c.d.e.f")

    return [as_tokens, as_chains, as_layout]


def fit(make: Callable[[int], tuple[bytes, bytes]]) -> Shape:
    def shape(size: int) -> Action:
        data, content = make(size)
        files: list[FileDiff] = list(parse_diff(data))
        return lambda: judge_fit(files[0], content)

    return shape


def found(make: Callable[[int], tuple[bytes, tuple[bytes, ...]]]) -> Shape:
    def shape(size: int) -> Action:
        content, block = make(size)
        text = Text(content)
        return lambda: text.find([block], 0, text.count)

    return shape


def planned(make: Callable[[int], tuple[bytes, bytes]]) -> Shape:
    def shape(size: int) -> Action:
        before, after = make(size)
        edits = [FileEdit(path="x", kind=EditKind.MODIFY, before=before, after=after)]
        return lambda: edits_as_diff(edits)

    return shape


def call(make: Callable[[int], Made], action: Callable[[Made], object]) -> Shape:
    def shape(size: int) -> Action:
        made = make(size)
        return lambda: action(made)

    return shape


def modules(size: int) -> dict[str, bytes]:
    """Small files beside one another, about 60 bytes of an archive each."""
    return {f"vllm/m{number}.py": b"" for number in range(size // 60)}


def read_wheel(files: Mapping[str, bytes]) -> object:
    """Read every file of a wheel."""
    with TemporaryDirectory() as where, wheel_tree(str(make_wheel(Path(where), list(files.items())))) as opened:
        return opened.read(files)


def read_site(files: Mapping[str, bytes]) -> object:
    """Read every file of a site."""
    with TemporaryDirectory() as where:
        install(Path(where), files)
        return read_snapshot(find_target(site=where, python=None, environ={}, names={"vllm"}), files)


def nearly_repeats(size: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return ("a",) * size, ("a",) * (size // 2) + ("b",)


def shifted_copies(size: int) -> tuple[bytes, bytes]:
    """Many hunks, all a line away from where they say, in a file that holds none of their results."""
    count = size // 60
    hunks = [b"@@ -%d,2 +%d,2 @@\n a%d\n-b\n+c\n" % (3 * at + 1, 3 * at + 1, at) for at in range(count)]
    return PAIR + b"".join(hunks), b"x\n" + b"".join(b"a%d\nb\nx\n" % at for at in range(count))


def numbered(size: int, factor: int, lines: int) -> bytes:
    return b"".join(b"%d\n" % (number * factor % lines) for number in range(size // 4))


SHAPES: dict[str, Shape] = {
    "a long line in a hunk": diff(lambda n: SECTION.replace(b"+c", b"+c" + b"x" * n)),
    "a long heading": diff(lambda n: SECTION.replace(b"@@\n", b"@@ " + b"1," * (n // 2) + b"\n")),
    "a version below a signature": diff(lambda n: SECTION + b"-- \n1." + b"1" * n + b"!\n"),
    "digits for prose": diff(lambda n: b"1" * n + b"\n" + SECTION),
    "an ed command without end": diff(lambda n: b"1" * (n // 2) + b"c" + b"1" * (n // 2) + b"x\n" + SECTION),
    "a header key without end": diff(lambda n: b"a-" * (n // 2) + b"\n" + SECTION),
    "many signatures": diff(lambda n: SECTION + b"-- \n1.1\n" * (n // 8)),
    "many announcements": diff(lambda n: b"Index: x\n===\n" * (n // 13)),
    "many markers": diff(lambda n: PAIR + b"@@ -1,%d +1 @@\n" % (n // 8) + b"-a\n\\ x\n" * (n // 8) + b"+a\n\\ x\n"),
    "many hunks": diff(
        lambda n: PAIR + b"".join(b"@@ -%d,2 +%d,2 @@\n a\n-b\n+c\n" % (2 * i + 1, 2 * i + 1) for i in range(n // 30))
    ),
    "many sections": sections(lambda i: SECTION.replace(b"/x", b"/%d" % i), 50),
    "deep names": sections(lambda i: SECTION.replace(b"/x", b"/" + b"a/" * 500 + b"%d" % i), 2100),
    "quoted names": sections(
        lambda i: SECTION.replace(b"a/x", b'"a/%s%d"' % (b"\\303\\244" * 120, i)).replace(
            b"b/x", b'"b/%s%d"' % (b"\\303\\244" * 120, i)
        ),
        2000,
    ),
    "names of blanks": sections(
        lambda i: (
            b"diff --git a/%s%d b/%s%d\nnew file mode 100644\nindex 0000000..e69de29\n"
            % (b"x " * 400, i, b"x " * 400, i)
        ),
        1700,
    ),
    "names of blanks and quotes": diff(
        lambda n: b"diff --git a/%s\nnew file mode 100644\n" % (b' "' * min(n // 2, 8000)) + b"\n" * n
    ),
    "hunks that moved": fit(shifted_copies),
    "an end without newline that repeats": found(lambda n: (b"a\n" * (n // 2), (b"a\n",) * (n // 4) + (b"a",))),
    "a block that nearly repeats": found(lambda n: (b"a\n" * (n // 2), (b"a\n",) * (n // 4) + (b"b\n",))),
    "a block that repeats": found(lambda n: (b"a\n" * (n // 2), (b"a\n",) * (n // 4))),
    "a needle that nearly repeats": call(nearly_repeats, lambda both: contains(*both)),
    "a needle that nearly repeats, at a glance": call(
        nearly_repeats, lambda both: may_contain("a " * len(both[0]), both[1])
    ),
    "a long word that repeats": call(
        lambda n: ("a" * n, ("a" * (n // 10), "b")), lambda both: may_contain(both[0], both[1])
    ),
    "comments between the words of a needle": call(
        lambda n: ("a #\n" * (n // 4), ("a",) * (n // 8) + ("bb",)), lambda both: may_contain(both[0], both[1])
    ),
    "a dry run on lines that repeat": planned(lambda n: (numbered(n, 1, 300), numbered(n, 7, 300))),
    "a dry run on lines in reverse": planned(
        lambda n: (b"".join(b"%d\n" % i for i in range(n // 8)), b"".join(b"%d\n" % i for i in range(n // 8, 0, -1)))
    ),
    "unknown keys": entry(lambda n: HEAD + b"".join(b"k%d = 1\n" % i for i in range(n // 10)) + TAIL),
    "ids that are none": entry(lambda n: HEAD + b"requires = [" + b"1," * (n // 2) + b"]\n" + TAIL),
    "many variants": entry(lambda n: HEAD + TAIL + b"[[variant]]\n" * (n // 12)),
    "many builds": entry(
        lambda n: HEAD + TAIL.replace(b"versions", b"builds = [%s]\nversions" % b",".join([b'"1.0"'] * (n // 6)))
    ),
    "a version without end": entry(lambda n: HEAD + TAIL.replace(b">=0", b">=" + b"1." * (n // 2) + b"x")),
    "many tables": entry(lambda n: HEAD + TAIL + b"".join(b"[a.b%d]\n" % i for i in range(n // 10))),
    "much evidence": entry(
        lambda n: HEAD + TAIL + EVIDENCE + b"any = [%s]\n" % (b'{file = "a", contains = "a"},' * (n // 29))
    ),
    "a string of escapes": entry(lambda n: HEAD.replace(b'"w"', b'"' + b"\\t" * (n // 2) + b'"') + TAIL),
    "an integer of digits": entry(lambda n: HEAD + b"revision = " + b"1" * n + b"\n" + TAIL),
    "brackets without end in an entry": entry(lambda n: HEAD + b"requires = " + b"[" * n + b"\n" + TAIL),
    "places of many keys": call(
        lambda n: ("requires = [" + '"a",' * (n // 4) + "]\n", [f"requires[{i}]" for i in range(n // 4)]),
        lambda both: locate_keys(both[0]).lines_of(both[1]),
    ),
    "modules of a wheel, all in one directory": call(modules, read_wheel),
    "modules of a site, all in one directory": call(modules, read_site),
    "rows of RECORD": call(lambda n: b"".join(b"a%d,,\n" % i for i in range(n // 8)), parse_record),
    "a quoted row of RECORD without end": call(lambda n: b'"' + b'""' * (n // 2), parse_record),
    "headers of METADATA": call(lambda n: b"a: b\n" * (n // 5), parse_headers),
    "a ledger of brackets": call(lambda n: b"[" * n, decode_ledger),
    "a ledger of objects": call(lambda n: b'{"a":' * (n // 5), decode_ledger),
    "a ledger of digits": call(lambda n: b"1" * n, decode_ledger),
    "a journal of brackets": call(lambda n: b"[" * n, decode_journal),
    "a glob of stars": call(lambda n: "*a" * (n // 2), lambda glob: glob_fits(glob, "a" * 512)),
    **{
        f"{name} as {way}": shape
        for name, make in {
            "literals": lambda n: "'a' " * (n // 4),
            "formatted literals": lambda n: "f'{a}' " * (n // 7),
            "one formatted literal": lambda n: "f'" + "{a:{b}}" * (n // 7) + "'",
            "formatted literals without end": lambda n: "f'{" * (n // 3),
            "names of characters without end": lambda n: "f'" + "\\N{" * (n // 3) + "'",
            "quotes": lambda n: "'" * n,
            "a literal without end": lambda n: '"""' + '""x' * (n // 3),
            "comments": lambda n: "# x\n    " * (n // 8),
            "a number": lambda n: "1_" * (n // 2),
            "a word": lambda n: "a" * n,
            "prefixes": lambda n: "r" * n + "'a'",
            "brackets": lambda n: "(" * n,
            "definitions on one line": lambda n: "    x = 1;" + "def b;def b " * (n // 12),
            "definitions that begin alike": lambda n: "    def b_c(): pass\n" * (n // 20),
            "blocks deep in blanks": lambda n: (
                "    class b:\n        class c:\n            class d:\n                class e:\n"
                + (" " * 40 + "\n" + " " * 30 + ")\n") * (n // 73)
            ),
        }.items()
        for way, shape in zip(("tokens", "chains", "layout"), source(make), strict=True)
    },
}
"""What it is -> how it is made."""
