"""Where keys stand in a TOML document; tomllib is the judge of what the keys are."""

from __future__ import annotations

import sys
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from patchctl.documents.toml_keys import key_text, locate_keys
from patchctl.patch import KeyPath

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def located(text: str) -> dict[str, int]:
    return {key_text(path): line for path, line in locate_keys(text).lines.items()}


def paths(value: object, path: KeyPath = ()) -> list[KeyPath]:
    """Every key path below a parsed value."""
    if isinstance(value, dict):
        children = [((*path, name), child) for name, child in value.items()]
    elif isinstance(value, list):
        children = [((*path, index), child) for index, child in enumerate(value)]
    else:
        return []
    return [below for child_path, child in children for below in (child_path, *paths(child, child_path))]


def test_plain_keys_comments_and_blank_lines() -> None:
    text = "# first\n\nid = \"a\" # id = 2\n\n  title = 'b'\nrevision=1"
    assert located(text) == {"id": 3, "title": 5, "revision": 6}


def test_tables_and_arrays_of_tables_are_counted() -> None:
    evidence = "[[fix.evidence]]\nfile = 1\n"
    text = f"[[fix]]\nref = 1\n{evidence}{evidence}[[fix]]\nref = 2\n{evidence}"
    assert located(text) == {
        "fix": 1,
        "fix[0]": 1,
        "fix[0].ref": 2,
        "fix[0].evidence": 3,
        "fix[0].evidence[0]": 3,
        "fix[0].evidence[0].file": 4,
        "fix[0].evidence[1]": 5,
        "fix[0].evidence[1].file": 6,
        "fix[1]": 7,
        "fix[1].ref": 8,
        "fix[1].evidence": 9,
        "fix[1].evidence[0]": 9,
        "fix[1].evidence[0].file": 10,
    }


def test_a_plain_header_below_an_array_of_tables_belongs_to_its_last_table() -> None:
    text = "[[avoid]]\n[avoid.env]\nA = '1'\n[[avoid]]\n[ avoid . 'env' ]  # again\nB = '2'\n"
    found = located(text)
    assert found["avoid[0].env.A"] == 3
    assert found["avoid[1].env"] == 5
    assert found["avoid[1].env.B"] == 6


def test_dotted_and_quoted_keys() -> None:
    text = 'a.b."c.d" = 1\n"" = 2\n\'x y\' = 3\n"tab\\tkey" = 4\n"\\u00e9" = 5\na.b.e = 6\n'
    found = locate_keys(text).lines
    assert found["a",] == found["a", "b"] == found["a", "b", "c.d"] == 1
    assert found["",] == 2
    assert found["x y",] == 3
    assert found["tab\tkey",] == 4
    assert found["é",] == 5
    assert found["a", "b", "e"] == 6


def test_arrays_and_inline_tables_that_span_lines() -> None:
    alternatives = 'any = [ # one\n  {file = "a", contains = "]"},\n\n  {file = "b"}, # {file = "c"}\n]\n'
    text = alternatives + 'args = [\n  "x", "y",\n  "z" ]\n'
    assert located(text) == {
        "any": 1,
        "any[0]": 2,
        "any[0].file": 2,
        "any[0].contains": 2,
        "any[1]": 4,
        "any[1].file": 4,
        "args": 6,
        "args[0]": 7,
        "args[1]": 7,
        "args[2]": 8,
    }


@pytest.mark.parametrize(
    "value",
    [
        '"""\nid = 2\n[[fix]]\n\\""" id = 3\n"""',
        '"""\nid = 2 ""\n"""""',
        '""""quoted" start\n[fix]\n"""',
        "'''\nid = 2\n\\''''",
        "'''\n''two''\n[a]\n'''''",
        '"[[fix]] \\" id = 2"',
        "'[[fix]] \\'",
        '""',
        "''",
        '""""""',
        "1979-05-27 07:32:00",
        "1979-05-27T07:32:00Z # id = 2",
        "[[1, 2], ['a', \"]\"], []]",
        "{}",
        "{ a = { b = 1 }, 'c' = [ 1 ] }",
        "-inf",
        "0xdead_beef",
        "6.02e23",
    ],
)
def test_what_stands_in_a_value_is_never_taken_for_a_key(value: str) -> None:
    text = f"id = {value}\nlast = 1\n"
    found = locate_keys(text).lines
    assert set(found) == set(paths(tomllib.loads(text)))
    assert found["last",] == text.count("\n")


def test_windows_line_ends_count_once() -> None:
    assert located('a = """\r\nx\r\n"""\r\nb = 1\r\n') == {"a": 1, "b": 4}


def test_the_part_before_a_syntax_error_is_located() -> None:
    assert located("a = 1\nb = 2\n= 3\nc = 4\n") == {"a": 1, "b": 2}


def test_a_key_that_is_not_there_has_the_line_of_what_is_around_it() -> None:
    positions = locate_keys("id = 1\n\n[[fix]]\nref = 1\n")
    assert positions.line(("fix", 0, "role")) == 3
    assert positions.line(("title",)) == 1
    assert positions.line_of("fix[0].ref") == 4
    assert positions.line_of("fix[0].evidence[2].file") == 3
    assert positions.line_of("fixes") == 1


def test_key_text_quotes_what_toml_would_quote() -> None:
    assert key_text(("fix", 1, "evidence", 0, "contains")) == "fix[1].evidence[0].contains"
    assert key_text(("env", 'A "b"\\')) == 'env."A \\"b\\"\\\\"'
    assert key_text(()) == ""


@pytest.mark.parametrize(
    "text",
    [
        "a = 1\nb = " + "[" * 40 + "]" * 40,
        "a = 1\n" + ".".join("b" * 40) + " = 1",
        "a = 1\n[" + ".".join("b" * 40) + "]",
        "a = 1\nb = " + "{c = " * 40 + "1" + "}" * 40,
        "a = 1\n" + "b" * 300 + " = 1",
    ],
)
def test_nesting_past_the_cap_is_told_with_its_line(text: str) -> None:
    assert locate_keys(text).too_deep == 2


@pytest.mark.parametrize(
    "text",
    [
        "a." * 120_000 + "a = 1",
        "[" * 240_000,
        'a = "' + "\\" * 240_000,
        "a = '''" + "''" * 120_000,
        "#" * 240_000,
        "a = [" + "1," * 120_000 + "]",
        "a = [" + "#\n" * 120_000,
        '"' + 'x"' * 120_000,
        "a = 1 " * 40_000,
        "[[a]]\n" * 40_000,
    ],
)
def test_no_text_of_a_permitted_size_stalls_the_pass(text: str) -> None:
    start = time.process_time()
    locate_keys(text)
    assert time.process_time() - start < 5


class Writer:
    """Writes a TOML document and remembers where it put each key."""

    def __init__(self) -> None:
        self.text = ""
        self.expected: dict[KeyPath, int] = {}

    def note(self, path: KeyPath) -> None:
        self.expected.setdefault(path, self.text.count("\n") + 1)


HOSTILE = ["", "[[fix]]", "id = 1", "a.b = '''", "# no", "]", "}", ",", "key0 = 'x'", "\\\\", "tail \\n"]
NAMES = ["id", "fix", "key0", "a-b", "7", "_"]


@st.composite
def keys(draw: st.DrawFn) -> tuple[str, str]:
    """A key and how it is written."""
    name = draw(st.sampled_from(NAMES) | st.text("ab .\"'[]=#\\é\t", max_size=4))
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    written = [f'"{escaped}"']
    if "'" not in name:
        written.append(f"'{name}'")
    if name.replace("-", "").replace("_", "").isascii() and name and name.replace("-", "a").replace("_", "a").isalnum():
        written.append(name)
    return name, draw(st.sampled_from(written))


@st.composite
def strings(draw: st.DrawFn, *, lines: bool) -> str:
    content = draw(st.lists(st.sampled_from(HOSTILE), max_size=4))
    if not lines:
        joined = " ".join(content)
        return draw(st.sampled_from([f'"{joined}"', "'" + joined.replace("'", "") + "'"]))
    joined = "\n".join(content)
    return draw(st.sampled_from([f'"""{joined} """', "'''" + joined.replace("'", '"') + " '''"]))


def write_value(draw: st.DrawFn, writer: Writer, path: KeyPath, depth: int, *, one_line: bool) -> None:
    kind = draw(st.sampled_from(["scalar", "string", "array", "table"] if depth else ["scalar", "string"]))
    if kind == "scalar":
        writer.text += draw(st.sampled_from(["1", "true", "1.5", "-7", "1979-05-27"]))
    elif kind == "string":
        writer.text += draw(strings(lines=not one_line and draw(st.booleans())))
    elif kind == "array":
        writer.text += "["
        for index in range(draw(st.integers(0, 3))):
            writer.text += "" if one_line else draw(st.sampled_from(["", " ", "\n", " # , ]\n\n"]))
            writer.note((*path, index))
            write_value(draw, writer, (*path, index), depth - 1, one_line=one_line)
            writer.text += ","
        writer.text += "]"
    else:
        writer.text += "{"
        table = draw(st.dictionaries(keys().map(lambda key: key[0]), st.none(), max_size=3))
        for position, name in enumerate(table):
            writer.text += ", " if position else ""
            writer.note((*path, name))
            writer.text += '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '" = '
            write_value(draw, writer, (*path, name), depth - 1, one_line=True)
        writer.text += "}"


def write_assignments(draw: st.DrawFn, writer: Writer, path: KeyPath) -> None:
    used = set()
    for _ in range(draw(st.integers(0, 3))):
        name, written = draw(keys())
        if name in used or name.startswith("t-"):
            continue
        used.add(name)
        writer.text += draw(st.sampled_from(["", "\n", "# [[a]]\n", "  "]))
        writer.note((*path, name))
        writer.text += f"{written} = "
        write_value(draw, writer, (*path, name), 2, one_line=False)
        writer.text += draw(st.sampled_from(["\n", " # id = 1\n", "\t\n"]))


@st.composite
def documents(draw: st.DrawFn) -> Writer:
    writer = Writer()
    write_assignments(draw, writer, ())
    for number in range(draw(st.integers(0, 3))):
        name = f"t-{number}"
        if draw(st.booleans()):
            writer.note((name,))
            writer.text += f"[{name}]\n"
            write_assignments(draw, writer, (name,))
            continue
        for index in range(draw(st.integers(1, 3))):
            writer.note((name,))
            writer.note((name, index))
            writer.text += f"[[ {name} ]]\n"
            write_assignments(draw, writer, (name, index))
            if draw(st.booleans()):
                writer.note((name, index, "t-sub"))
                writer.note((name, index, "t-sub", 0))
                writer.text += f"[[{name}.t-sub]]\n"
                write_assignments(draw, writer, (name, index, "t-sub", 0))
    return writer


@settings(deadline=None)
@given(documents())
def test_every_key_of_a_generated_document_is_located_where_it_was_written(writer: Writer) -> None:
    found = locate_keys(writer.text)
    assert set(writer.expected) == set(paths(tomllib.loads(writer.text)))
    assert dict(found.lines) == writer.expected
    lines = writer.text.split("\n")
    for path, line in found.lines.items():
        if isinstance(path[-1], str):
            assert path[-1].replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") in lines[line - 1] or (
                path[-1] in lines[line - 1]
            )


FRAGMENTS = [
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ",",
    ".",
    '"',
    "'",
    '"""',
    "'''",
    "\n",
    "\r\n",
    "#",
    "\\",
    " ",
    "a",
    "b",
    "1",
    "\t",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join))
@example('a = """\\\n  """\nb = 1')
@example("a = '''\n''''\nb = 1")
def test_whatever_tomllib_accepts_is_located_completely(text: str) -> None:
    found = locate_keys(text)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert set(paths(values)) <= set(found.lines)


@settings(deadline=None)
@given(st.text(max_size=200))
def test_no_text_makes_the_pass_raise(text: str) -> None:
    locate_keys(text)
