"""The only parsers of TOML, JSON and YAML: what they take, and every reason why they take something not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchctl.disk import NotRegularError, look_below, open_parent, open_root, read_below, walk_below
from patchctl.documents import DEPTH, DocumentError, Flaw, members_of, read_json
from patchctl.documents.nesting import depth_of
from patchctl.documents.toml import read_toml
from patchctl.documents.yaml import read_yaml
from patchctl.model.paths import path_problem, place_problem
from patchctl.target.unlisted import find_unlisted
from tests.fuzz.readers import height
from tests.sites import Content, make_site

MIB = 1 << 20
TREES = st.recursive(
    st.none() | st.text(st.sampled_from('[]{}"\\,:a\u20ac'), max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.sampled_from('[{"\\'), max_size=3), inner),
    max_leaves=25,
)


def refusal(data: bytes | str, *, limit: int = MIB, depth: int = DEPTH, strict: bool = True) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        read_json(data, limit=limit, depth=depth, strict=strict)
    return caught.value


class TestJson:
    @given(TREES, st.booleans())
    def test_the_depth_is_known_before_the_parser_sees_it_strings_and_all(self, value: object, escaped: bool) -> None:
        text = json.dumps(value, ensure_ascii=escaped)
        assert depth_of(text) == depth_of(text.encode()) == height(value)

    @pytest.mark.parametrize("depth", [1, 5, 64])
    def test_the_depth_that_a_caller_gives_is_the_deepest(self, depth: int) -> None:
        assert height(read_json("[" * depth + "]" * depth, limit=MIB, depth=depth)) == depth
        assert refusal("[" * (depth + 1) + "]" * (depth + 1), depth=depth).flaw is Flaw.TOO_DEEP

    @pytest.mark.parametrize(
        ("data", "flaw", "what"),
        [
            (b"[1, 2, 3]", Flaw.TOO_LARGE, "is larger than 8 bytes"),
            ("[1, 2, 3]", Flaw.TOO_LARGE, "is larger than 8 characters"),
            (b"\xef\xbb\xbf{}", Flaw.BYTE_ORDER_MARK, "begins with a byte order mark"),
            ("\ufeff{}", Flaw.BYTE_ORDER_MARK, "begins with a byte order mark"),
            (b"\n\n\xff", Flaw.NOT_UTF8, "is not UTF-8 (byte 0xff)"),
            (b"\xed\xa0\x80", Flaw.NOT_UTF8, "is not UTF-8 (byte 0xed)"),
            (b"{", Flaw.SYNTAX, "is not readable as JSON (Expecting property name"),
            (b"[1]\0", Flaw.SYNTAX, "is not readable as JSON (Extra data"),
        ],
    )
    def test_a_refusal_says_what(self, data: bytes | str, flaw: Flaw, what: str) -> None:
        error = refusal(data, limit=8)
        assert error.flaw is flaw
        assert error.what.startswith(what)

    @pytest.mark.parametrize(
        ("data", "line"), [(b"\n\n\xff", 3), (b"{\n\n}}", 3), (b"[\n1\n2]", 3), (b"\xef\xbb\xbf", 1)]
    )
    def test_a_refusal_says_where(self, data: bytes, line: int) -> None:
        assert refusal(data).line == line

    @pytest.mark.parametrize(
        "data",
        [
            '{"a": 1, "a": 2}',
            "NaN",
            "[-Infinity]",
            "1e999",
            "-1e999",
            '"\\ud800"',
            '{"\\udfff": 1}',
            '["a\\udbff\\u0041"]',
        ],
    )
    def test_only_a_strict_reader_refuses_what_others_might_believe_otherwise(self, data: str) -> None:
        assert refusal(data).flaw is Flaw.SYNTAX
        assert repr(read_json(data, limit=MIB)) == repr(json.loads(data))

    def test_bytes_of_a_name_that_are_no_utf8_come_through(self) -> None:
        assert read_json(json.dumps("\udcff"), limit=MIB, strict=True) == "\udcff"
        assert read_json('"\\ud83d\\ude00"', limit=MIB, strict=True) == "\U0001f600"

    @pytest.mark.parametrize("strict", [True, False])
    def test_an_integer_has_a_hundred_digits_at_most(self, strict: bool) -> None:
        assert read_json("9" * 100, limit=MIB, strict=strict) == 10**100 - 1
        assert "more than 100 digits" in refusal("9" * 101, strict=strict).what

    def test_lists_take_more_memory_than_their_text_and_are_counted(self) -> None:
        assert refusal(b"[" + b"[]," * MIB + b"[]]", limit=16 * MIB).flaw is Flaw.TOO_LARGE

    def test_members_are_told_with_their_places(self) -> None:
        text = ' { "a" : [1, {"b": "}"}] ,"c":null}'
        members, end = members_of(text)
        assert [(it.key, text[it.start : it.end]) for it in members] == [("a", '[1, {"b": "}"}]'), ("c", "null")]
        assert text[end] == "}"


class TestToml:
    @pytest.mark.parametrize(
        ("data", "flaw", "line"),
        [
            (b"a = 1\nb = \n", Flaw.SYNTAX, 2),
            (b"a = " + b"9" * 5000, Flaw.SYNTAX, None),
            (b"a = 1\nb = " + b"[" * 1000, Flaw.TOO_DEEP, 2),
            (b"\n" + b".".join([b"a"] * 1000) + b" = 1", Flaw.TOO_DEEP, 2),
            (b"#" * (MIB + 1), Flaw.TOO_LARGE, None),
            (b"a = 1\n\n# \xff", Flaw.NOT_UTF8, 3),
            (b"\xef\xbb\xbfa = 1", Flaw.BYTE_ORDER_MARK, 1),
        ],
    )
    def test_a_refusal_says_what_and_where(self, data: bytes, flaw: Flaw, line: int | None) -> None:
        with pytest.raises(DocumentError) as caught:
            read_toml(data, limit=MIB)
        assert (caught.value.flaw, caught.value.line) == (flaw, line)

    def test_what_a_parser_repeats_of_the_document_is_cut(self) -> None:
        with pytest.raises(DocumentError) as caught:
            read_toml((b"k" * 100_000 + b" = 1\n") * 2, limit=MIB)
        assert len(caught.value.what) < 300


class TestYaml:
    def test_of_several_that_are_merged_the_first_counts_and_what_is_written_counts_most(self) -> None:
        text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc:\n  <<: [*a, *b]\n  z: 3\n"
        (document,) = read_yaml(text, limit=MIB)
        assert isinstance(document, dict)
        assert document["c"] == {"x": 1, "y": 1, "z": 3}

    def test_an_alias_costs_what_it_stands_for_before_anything_is_made(self) -> None:
        laughs = "a0: &a0 [x, x]\n" + "".join(
            f"a{at + 1}: &a{at + 1} [{', '.join([f'*a{at}'] * 9)}]\n" for at in range(9)
        )
        with pytest.raises(DocumentError, match="comes to too much"):
            read_yaml(laughs, limit=MIB)

    def test_depth_is_counted_through_aliases(self) -> None:
        def chain(levels: int) -> str:
            return "a0: &a0 [x]\n" + "".join(f"a{at + 1}: &a{at + 1} [*a{at}]\n" for at in range(levels - 1))

        (document,) = read_yaml(chain(5), limit=MIB, depth=6)
        assert height(document) == 6
        with pytest.raises(DocumentError) as caught:
            read_yaml(chain(6), limit=MIB, depth=6)
        assert caught.value.flaw is Flaw.TOO_DEEP

    def test_anchors_end_with_their_document(self) -> None:
        with pytest.raises(DocumentError, match="undefined alias"):
            read_yaml("&a x\n---\n*a\n", limit=MIB)
        assert read_yaml("&a x\n---\n&a y\n---\n", limit=MIB) == ("x", "y", None)

    @pytest.mark.parametrize(
        "text",
        [
            "9" * 101,
            "0x" + "f" * 100,
            ":".join(["1"] * 60),
            ":".join(["1"] * 400) + ".5",
            "!!bool maybe",
            '!!int ""',
            "!!int x",
            "!!float x",
            "!!timestamp x",
            "!!binary \u20ac",
            "2001-99-99",
        ],
    )
    def test_a_scalar_that_is_not_what_it_says_is_refused_with_its_line(self, text: str) -> None:
        with pytest.raises(DocumentError) as caught:
            read_yaml(f"a: 1\nb: {text}\n", limit=MIB)
        assert (caught.value.flaw, caught.value.line) == (Flaw.SYNTAX, 2)


class TestPaths:
    @given(st.text(st.characters() | st.sampled_from("/.\\\x00\ud800\udc80"), max_size=40))
    def test_what_may_be_changed_may_be_looked_at(self, path: str) -> None:
        if path_problem(path) is None:
            assert place_problem(path) is None
        if place_problem(path) is None:
            assert not {"", ".", ".."} & set(path.split("/"))
            assert b"\0" not in os.fsencode(path)

    @pytest.mark.parametrize(
        "path",
        [
            "",
            "..",
            "../x",
            "a/../x",
            "a/..",
            "/etc/passwd",
            "//x",
            "a//b",
            "a/",
            "a/./b",
            "a\0b",
            "a/\0",
            "\ud800",
            "../.",
        ],
    )
    def test_a_walk_takes_nothing_that_could_lead_elsewhere(self, path: str, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        assert place_problem(path.removesuffix("/.")) is not None
        root = open_root(str(tmp_path / "a"))
        try:
            for walk in (open_parent, read_below, lambda fd, it: list(walk_below(fd, it))):
                with pytest.raises(NotRegularError):
                    walk(root, path)
        finally:
            os.close(root)
        assert look_below(str(tmp_path / "a"), path) is None

    @pytest.mark.attack("links")
    def test_a_list_of_files_leads_no_walk_through_a_link(self, tmp_path: Path) -> None:
        """RECORD names a directory whose parent is a link: what lies behind it is nobody's extra file."""
        site = make_site(tmp_path, {"vllm/a.py": b"", "vllm/b.py": Content(data=b"", listed=False)})
        (tmp_path / "secret/keys").mkdir(parents=True)
        (tmp_path / "secret/keys/id_rsa").write_bytes(b"x")
        (site / "linked").symlink_to(tmp_path / "secret")
        assert find_unlisted(str(site), "x.dist-info", ["linked/keys/known.py", "vllm/a.py"], []) == ("vllm/b.py",)
        assert look_below(str(site), "linked/keys/id_rsa") is None
        status = look_below(str(site), "linked")
        assert status is not None
        assert status.st_ino == (site / "linked").lstat().st_ino
