"""One installed file as text: how it is decoded, and where a class or function is defined in it."""

from __future__ import annotations

import gc
import tracemalloc
import warnings

import pytest

from patchctl.evidence.source import SIZE_LIMIT, Source, SourceError

MODULE = b'''\
"""class Quoted:
    def inside(self): ...
"""
import torch


class Manager(
    Base,
):
    """A docstring with

def grammar_init(self): pass
    """

    limit = 4

    # a comment
    @property
    def grammar(self):
        return self._grammar

    @grammar.setter
    def grammar(self, grammar):
        self._grammar = grammar

    async def fetch(self): return 1

    class Inner:
        def fetch(self):
            return 2

if torch.cuda:
    def pick(): return "cuda"
else:
    try:
        def pick(): return "cpu"
    except ImportError:
        def pick(): return None


def outer():
    x = "\\d"
    def inner():
        return x
    return inner
'''

PLAIN = MODULE.replace(b"\ndef grammar_init(self): pass\n", b"")
"""The same without the line in a docstring that looks like a definition outside the class."""


def first_lines(data: bytes, symbol: str) -> list[str]:
    return [text.lstrip().split("\n")[0] for text in Source(data).definitions(symbol)]


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("Manager", ["class Manager("]),
        ("Manager.fetch", ["async def fetch(self): return 1"]),
        ("Manager.Inner.fetch", ["def fetch(self):"]),
        ("outer.inner", ["def inner():"]),
        ("Manager.grammar_init", []),
        ("Manager.limit", []),
        ("Manager.fetch.x", []),
        ("Quoted", []),
        ("inner", []),
        ("torch", []),
    ],
)
def test_a_symbol_is_the_definition_of_that_dotted_name(symbol: str, expected: list[str]) -> None:
    assert first_lines(MODULE, symbol) == expected


def test_decorators_belong_to_the_symbol_and_every_definition_of_a_name_counts() -> None:
    assert first_lines(MODULE, "Manager.grammar") == ["@property", "@grammar.setter"]


def test_definitions_inside_if_try_and_except_count() -> None:
    assert first_lines(MODULE, "pick") == [
        'def pick(): return "cuda"',
        'def pick(): return "cpu"',
        "def pick(): return None",
    ]


def test_a_definition_inside_with_loops_and_match_counts() -> None:
    data = b"with a:\n  for b in c:\n    while d:\n      match e:\n        case 1:\n          def f(): return 1\n"
    assert first_lines(data, "f") == ["def f(): return 1"]


def test_a_decorator_that_opens_a_bracket_lines_above_its_expression_belongs_to_the_symbol() -> None:
    data = b"x = 1\n@(\n    # why\n    cached(1)\n)\n@plain\ndef f(): pass\n"
    assert Source(data).definitions("f") == ("@(\n    # why\n    cached(1)\n)\n@plain\ndef f(): pass",)


def test_a_definition_is_whole_lines_up_to_its_last_statement() -> None:
    (text,) = Source(MODULE).definitions("Manager.Inner")
    assert text == "    class Inner:\n        def fetch(self):\n            return 2"


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
def test_line_ends_make_no_difference(ends: bytes) -> None:
    source = Source(MODULE.replace(b"\n", ends))
    assert source.definitions("outer.inner") == ("    def inner():\n        return x",)


def test_the_whole_file_needs_no_symbol_but_must_parse() -> None:
    assert Source(b"x = 1\n").definitions(None) == ("x = 1\n",)
    with pytest.raises(SourceError, match="cannot be parsed"):
        Source(b"x = = 1\n").definitions(None)


def test_warnings_about_the_source_are_not_ours() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Source(b'def f(): return "\\d"\n').definitions("f")


@pytest.mark.parametrize(
    "symbol", ["Manager", "Manager.fetch", "Manager.Inner.fetch", "outer.inner", "Manager.grammar"]
)
def test_layout_shows_ordinary_definitions(symbol: str) -> None:
    assert Source(PLAIN).looks_to_define(symbol)


@pytest.mark.parametrize(
    "symbol", ["pick", "inside", "Manager.inner", "Manager.pick", "Manager.Inner.grammar", "Manage"]
)
def test_layout_does_not_show_other_scopes_nor_conditional_definitions(symbol: str) -> None:
    assert not Source(PLAIN).looks_to_define(symbol)


def test_what_layout_leaves_open_is_parsed() -> None:
    source = Source(MODULE)
    assert source.defines("pick")
    assert not source.looks_to_define("Manager.Inner.fetch")
    assert source.defines("Manager.Inner.fetch")
    assert not source.defines("Manager.inner")
    assert not source.defines("Manager.nowhere_at_all")


def test_a_name_that_is_nowhere_in_the_text_is_not_defined_even_where_the_file_does_not_parse() -> None:
    source = Source(b"def f(:\n")
    assert not source.defines("g")
    assert source.defines("f")
    with pytest.raises(SourceError, match="cannot be parsed"):
        Source(b"if x = 1:\n  def f(): pass\n").defines("f")


def test_the_missing_part_is_the_first_that_is_not_there() -> None:
    source = Source(PLAIN)
    assert source.missing_part("Manager.Inner.gone") == "Manager.Inner.gone"
    assert source.missing_part("Manager.Gone.fetch") == "Manager.Gone"
    assert source.missing_part("Gone.fetch") == "Gone"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"x = '\xc3\xbc'\n", "x = 'ü'\n"),
        (b"\xef\xbb\xbfx = '\xc3\xbc'\n", "x = 'ü'\n"),
        (b"# -*- coding: latin-1 -*-\nx = '\xfc'\n", "# -*- coding: latin-1 -*-\nx = 'ü'\n"),
        (
            b"#!/bin/sh\n# vim: set fileencoding=cp1252 :\nx = '\x80'",
            "#!/bin/sh\n# vim: set fileencoding=cp1252 :\nx = '€'",
        ),
        (b"\n\n# coding: latin-1\nx = 'a'\n", "\n\n# coding: latin-1\nx = 'a'\n"),
        (b"encoding = 'x'", "encoding = 'x'"),
        (b"", ""),
    ],
)
def test_a_file_is_decoded_as_it_declares(data: bytes, text: str) -> None:
    assert Source(data).text == text


@pytest.mark.parametrize(
    "data",
    [
        b"x = '\xfc'\n",
        b"# coding: latin-1\n".replace(b"latin-1", b"klingon"),
        *(
            b"# coding: " + name + b"\nx = '\\d'\n"
            for name in (
                *(b"hex", b"zlib", b"bz2", b"base64", b"uu", b"quopri", b"rot13", b"unicode_escape"),
                *(b"raw_unicode_escape", b"idna", b"punycode", b"utf-7", b"utf-16", b"utf-32-le", b"undefined"),
            )
        ),
        b"\xef\xbb\xbf# coding: latin-1\n",
    ],
)
def test_a_file_that_is_not_what_it_declares_gives_no_answer(data: bytes) -> None:
    with pytest.raises(SourceError, match="cannot be decoded"):
        Source(data)


def test_a_file_above_the_size_limit_gives_no_answer() -> None:
    assert Source(b"#" * SIZE_LIMIT).definitions("f") == ()
    with pytest.raises(SourceError, match="larger than"):
        Source(b"#" * (SIZE_LIMIT + 1))


@pytest.mark.parametrize(
    "data",
    [
        b"def f(:\n",
        b"def f(): pass\0\n",
        b"x = " + b"(" * 5000 + b")" * 5000 + b"\ndef f(): pass\n",
        b"x = " + b"-" * 100_000 + b"1\ndef f(): pass\n",
        b"".join(b" " * depth + b"if x:\n" for depth in range(300)) + b" " * 300 + b"def f(): pass\n",
    ],
)
def test_a_file_the_parser_cannot_take_gives_no_answer(data: bytes) -> None:
    with pytest.raises(SourceError, match="cannot be parsed"):
        Source(data).definitions("f")


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"def f{number}(a, b=(1, 2)): return {{a: [b]}}\n" for number in range(4_000)),
        # names that are long, one inside the other, and many names in the innermost of them
        "".join(f"{' ' * level}class {'x' * 4_000}:\n" for level in range(60))
        + "".join(f"{' ' * 60}def f{number}(): 0\n" for number in range(3_000)),
    ],
    ids=["statements", "long names"],
)
def test_what_is_kept_of_a_file_grows_with_its_text_and_is_no_tree(text: str) -> None:
    data = text.encode()
    tracemalloc.start()
    try:
        source = Source(data)
        source.definitions("f1")
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 20 * len(data)


@pytest.mark.parametrize("name", ["ascii", "latin1", "cp1252", "gbk", "euc-jp", "shift_jis", "koi8-r", "iso-8859-15"])
def test_the_character_sets_of_real_sources_are_read(name: str) -> None:
    assert Source(f"# coding: {name}\nx = 1\n".encode()).text.endswith("x = 1\n")


DEEP = [
    *("a." * 120_000 + "b", "1" + "+1" * 120_000, "f" + "()" * 120_000, "a" + "[0]" * 120_000, "a" + ".b()" * 120_000),
    "((" + "(a" + "()" * 60_000 + ")" + "()" * 60_000 + ")" + "()" * 60_000 + ")",
    "f'" + "{a}" * 60_000 + "'",
    "f'{a" + ".b()" * 120_000 + "}'",
]
"""Source of an expression; some of them end CPython 3.10, and take others seconds."""


@pytest.mark.parametrize("deep", DEEP, ids=range(len(DEEP)))
def test_an_expression_too_long_for_a_parser_gives_no_answer(deep: str) -> None:
    with pytest.raises(SourceError, match="an expression is longer than"):
        Source(f"x = {deep}\ndef f(): pass\n".encode()).definitions("f")


@pytest.mark.parametrize("line", ["import a" + ".b" * 60_000, "from a" + ".b" * 60_000 + " import c"])
def test_a_dotted_import_without_end_gives_no_answer(line: str) -> None:
    """The parser joins the parts one by one."""
    with pytest.raises(SourceError, match="an expression is longer than"):
        Source(f"def f(): pass\n{line}\n".encode()).definitions("f")


LONG = [
    "x = [" + "a.b(), " * 50_000 + "]",
    "x = {\n" + "    'a': (1, 'b'),\n" * 20_000 + "}",
    "x = (" + "\n    'text' " * 30_000 + ")",
    'x = """' + "a.b()" * 50_000 + '"""',
    "# " + "a.b()" * 50_000,
    "x = 1\n" * 50_000,
    "x = 1; " * 50_000,
    "f(" + "'a.b()', # comment\n" * 10_000 + ")",
    "x = f'{a}' # " + "{a}" * 10_000,
]
"""Long source of short expressions."""


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_long_source_of_short_expressions_is_parsed(text: str) -> None:
    assert Source(f"def f(): pass\n{text}\n".encode()).definitions("f") == ("def f(): pass",)


@pytest.mark.parametrize("prefix", ["", "r", "b", "f", "rb", "Rf", "u"])
@pytest.mark.parametrize("quotes", ["'", '"', "'''", '"' * 3])
def test_what_stands_in_a_literal_is_no_bracket_and_no_comment(prefix: str, quotes: str) -> None:
    text = f"x = g({prefix}{quotes}# (( [ ,;{quotes}); y = xf, {prefix}{quotes}){quotes}\ndef f(): pass\n"
    assert Source(text.encode()).definitions("f") == ("def f(): pass",)
    chain = "a" + ".b" * 5000
    with pytest.raises(SourceError, match="an expression is longer than"):
        Source(f"{text}x = {chain}\n".encode()).definitions("f")
