"""Token comparison: formatting, comments and interpreter version make no difference; everything else does."""

from __future__ import annotations

import ast
import io
import sysconfig
import tokenize
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchctl.evidence.tokens import LexicalError, contains, tokens

LAYOUT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("grammar.set_exception(e)", ["grammar", ".", "set_exception", "(", "e", ")"]),
        ("a=b", ["a", "=", "b"]),
        ("a  =\tb  # why\n\n", ["a", "=", "b"]),
        ("f(\n    a,\n    b,\n)", ["f", "(", "a", ",", "b", ",", ")"]),
        ("a + \\\n b", ["a", "+", "b"]),
        ("x: int | None = 0x_fF", ["x", ":", "int", "|", "None", "=", "0x_fF"]),
        ("1.5e-3+.5j-1_000.", ["1.5e-3", "+", ".5j", "-", "1_000."]),
        ("1if x else 2", ["1", "if", "x", "else", "2"]),
        ("a//=b**c>>d!=e->f:=g...", ["a", "//=", "b", "**", "c", ">>", "d", "!=", "e", "->", "f", ":=", "g", "..."]),
        ("größe = 'ü'", ["größe", "=", "'ü'"]),
        ('b"x" Rb\'y\' u"z"', ['b"x"', "Rb'y'", 'u"z"']),
        (r"'it\'s' r'\''", [r"'it\'s'", r"r'\''"]),
        ('"""a "quoted" # not a comment\nline\\""""', ['"""a "quoted" # not a comment\nline\\""""']),
        ("''''a'''", ["''''a'''"]),
        ("x = '' \"\"", ["x", "=", "''", '""']),
    ],
)
def test_source_splits_into_token_texts(source: str, expected: list[str]) -> None:
    assert list(tokens(source)) == expected


@pytest.mark.parametrize(
    "literal",
    [
        'f"{id_start}{image_idx}{id_end}"',
        "f'{x!r:>{width}.{precision}}'",
        "f'{{literal}} {x}'",
        'rf"\\{x}\\N{y}"',
        'f"\\N{LEFT CURLY BRACKET}{x}"',
        "f'{a[\"k\"]}'",
        'f"{a["k"]}"',
        'f"{x != y}{x:=^10}{x = }"',
        "f'{ {1: 2}[1]:{w}}'",
        'f"{f"{f"{1}"}"}"',
        'f"""{x:\n%Y # no comment\n}"""',
        'f"""{\n    x  # a comment with a quote "\n}"""',
        'f"{lambda_(lambda x: x)}"',
        "F'{3.4:10}}}'",
        't"{x!s}"',
        "fR'\\''",
    ],
)
def test_a_formatted_string_is_one_token_whatever_stands_in_its_fields(literal: str) -> None:
    assert tokens(f"x = {literal} ; y") == ("x", "=", literal, ";", "y")


def test_the_golden_list_of_a_placeholder_line_is_the_same_under_every_interpreter() -> None:
    source = 'placeholder = f"{id_start}{image_idx}{id_end}" + placeholder\n'
    expected = ("placeholder", "=", 'f"{id_start}{image_idx}{id_end}"', "+", "placeholder")
    assert tokens(source) == expected


@pytest.mark.parametrize("piece", ["foo(bar,", "], x)", "if a:", "except Exception as e: self._grammar = e", "}", ")"])
def test_a_piece_of_source_with_open_brackets_splits_all_the_same(piece: str) -> None:
    assert "".join(tokens(piece)) == piece.replace(" ", "")


@pytest.mark.parametrize(
    "text", ["a ? b", "$x", "'open", '"""open', "f'{x", "f'{x!r", "f'{x:>10", "f'a\n'", "'a\nb'", "\0"]
)
def test_text_that_is_no_python_is_refused(text: str) -> None:
    with pytest.raises(LexicalError):
        tokens(text)


def test_formatted_strings_nested_beyond_any_interpreter_are_refused() -> None:
    with pytest.raises(LexicalError, match="too deep"):
        tokens("f'{" * 20_000)


def test_a_needle_stands_in_order_and_next_to_each_other() -> None:
    haystack = tokens("a.b(c, d); a.b(d)")
    assert contains(haystack, tokens("a.b(d"))
    assert contains(haystack, tokens("(d)"))
    assert contains(haystack, haystack)
    assert not contains(haystack, tokens("b(d, c"))
    assert not contains(haystack, tokens("a b"))
    assert not contains(tokens("a"), tokens("a a"))


def test_quotes_and_prefixes_count_as_they_are_written() -> None:
    assert not contains(tokens("get('key')"), tokens('get("key")'))
    assert not contains(tokens("get(rb'key')"), tokens("get(b'key')"))


def test_a_part_of_a_name_or_of_a_string_is_not_found() -> None:
    assert not contains(tokens("grammar.set_exception_later(e)"), tokens("grammar.set_exception"))
    assert not contains(tokens('"""grammar.set_exception(e)"""'), tokens("grammar.set_exception"))
    assert not contains(tokens('f"{grammar.set_exception(e)}"'), tokens("grammar.set_exception"))
    assert not contains(tokens("x = 1  # grammar.set_exception(e)"), tokens("grammar.set_exception"))


def standard_tokens(source: str) -> tuple[str, ...]:
    """What the standard tokenizer says, each formatted string put together again from the source (3.12 and later)."""
    starts = {getattr(tokenize, name) for name in ("FSTRING_START", "TSTRING_START") if hasattr(tokenize, name)}
    ends = {getattr(tokenize, name) for name in ("FSTRING_END", "TSTRING_END") if hasattr(tokenize, name)}
    lines = source.split("\n")
    offsets = [sum(len(line) + 1 for line in lines[:row]) for row in range(len(lines) + 1)]
    found: list[str] = []
    begun: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in starts:
            begun.append(offsets[token.start[0] - 1] + token.start[1])
        elif token.type in ends:
            start = begun.pop()
            if not begun:
                found.append(source[start : offsets[token.end[0] - 1] + token.end[1]])
        elif not begun and token.type not in LAYOUT:
            found.append(token.string)
    return tuple(found)


@pytest.mark.parametrize("module", ["_pydecimal", "argparse", "dataclasses", "inspect", "tarfile", "turtle", "typing"])
def test_the_standard_tokenizer_of_this_interpreter_agrees(module: str) -> None:
    source = (Path(sysconfig.get_path("stdlib")) / f"{module}.py").read_bytes().decode()
    assert tokens(source) == standard_tokens(source)


@given(st.text(alphabet="ab1.\"'\\{}[]():!#fr \n=,", max_size=40))
def test_text_splits_or_is_refused_and_never_loses_a_character(text: str) -> None:
    try:
        found = tokens(text)
    except LexicalError:
        return
    rest = text
    for token in found:
        before, token_there, rest = rest.partition(token)
        assert token_there == token
        assert all(line.strip(" \\").startswith("#") or not line.strip(" \\") for line in before.split("\n"))


@given(st.lists(st.sampled_from(["x", "1", "+", "(", ")", "'s'", 'f"{x}"', ".", "name", ","]), max_size=12))
def test_what_parses_here_splits_as_the_standard_tokenizer_does(parts: list[str]) -> None:
    source = " ".join(parts)
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return
    assert tokens(source) == standard_tokens(source)
