"""Launch lines against vLLM's own parser: the file of the release is run, with the options that the release has."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import types
import zipfile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchctl.launch import Command, Launch, State, json_option, launches_of, model_of, option, plain
from tests.test_launch_lines import LINES, Line, only
from tests.vllm_options import MAYBE, SEVERAL, SWITCH, options_of
from tests.wheels import WheelUnavailableError, slim_wheel

RELEASES = ("0.20.0", "0.33.0")
FILE = "vllm/utils/argparse_utils.py"
OBJECTS = ("--speculative-config", "--compilation-config", "--structured-outputs-config")


def make_parser(release: str) -> Any:
    """vLLM's parser with all options of a release; what is JSON stays text."""
    try:
        wheel = slim_wheel(release)
    except WheelUnavailableError as error:
        pytest.skip(str(error))
    pytest.importorskip("regex")
    with zipfile.ZipFile(wheel) as archive:
        source = archive.read(FILE)
    log = types.ModuleType("vllm.logger")
    log.init_logger = logging.getLogger  # type: ignore[attr-defined]
    stubs = {"vllm": types.ModuleType("vllm"), "vllm.logger": log}
    before = {name: sys.modules.get(name) for name in stubs}
    sys.modules.update(stubs)
    try:
        names: dict[str, Any] = {"__name__": "argparse_utils"}
        exec(compile(source, FILE, "exec"), names)
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    parser = names["FlexibleArgumentParser"](prog=release, exit_on_error=False)
    parser.add_argument("model_tag", nargs="?")
    for found in options_of(wheel).values():
        how: dict[str, Any] = {"dest": found.names[0]}
        if found.takes == SWITCH:
            how["action"] = argparse.BooleanOptionalAction
        elif found.takes == SEVERAL:
            how["nargs"] = "+"
        elif found.takes == MAYBE:
            how |= {"nargs": "?", "const": True}
        parser.add_argument(*found.names, default=None, **how)
    return parser


@pytest.fixture(scope="module", params=RELEASES)
def parser(request: pytest.FixtureRequest) -> Any:
    return make_parser(str(request.param))


def meant(parser: Any, arguments: list[str]) -> dict[str, Any] | None:
    """What vLLM makes of the words; None: it refuses them."""
    try:
        return dict(vars(parser.parse_args(arguments)))
    except (SystemExit, argparse.ArgumentError, IndexError):
        return None


def differences(arguments: list[str], theirs: dict[str, Any]) -> list[tuple[str, object, object]]:
    """(name, what vLLM makes of it, what we make of it) where the two differ."""
    (launch,) = launches_of(Command(words=plain(["vllm", "serve", *arguments])))
    pairs = [("model", theirs["model_tag"] or theirs["--model"], model_of(launch).value)]
    for name, value in theirs.items():
        if name not in {"model_tag", "--model", *OBJECTS}:
            pairs.append((name, value, our_value(launch, name, value)))
    if not any(theirs.get(name) for name in ("--spec-method", "--spec-model", "--spec-tokens")):
        pairs += [(name, as_object(theirs[name]), our_object(launch, name)) for name in OBJECTS]
    return [pair for pair in pairs if pair[1] != pair[2]]


def our_value(launch: Launch, name: str, like: object) -> object:
    seen = option(launch, name)
    if seen.state is not State.GIVEN:
        return None
    values = list(seen.value) if isinstance(seen.value, tuple) else []
    if isinstance(like, bool) and not values:
        return not seen.off
    return values[0] if isinstance(like, str) and len(values) == 1 else values


def our_object(launch: Launch, name: str) -> object:
    found = json_option(launch, name)
    return None if found.state is State.UNKNOWN else found.value


def as_object(text: str | None) -> object:
    """The object that vLLM gets, None where it gets none that it could use."""
    try:
        value = json.loads(text) if text not in {None, "", "None"} and text is not None else {}
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


@pytest.mark.wheels
@pytest.mark.parametrize("row", [row for row in LINES if only(row.line).serve], ids=lambda row: row.line[:60])
def test_every_line_comes_to_what_vllms_own_parser_makes_of_it(row: Line, parser: Any) -> None:
    launch = only(row.line)
    arguments = [word.text for item in launch.items for word in item.words]
    theirs = meant(parser, arguments)
    if theirs is None:
        assert row.warned or parser.prog == "0.20.0", "only an old release may refuse what the table has"
        return
    assert differences(arguments, theirs) == []


VALUES = st.sampled_from(
    ["1", "0.5", "-1", "m", "awq", "true", '{"a": 1}', '{"a": {"b": [1]}}', "80g", "", "a b", "FULL"]
)
# fmt: off
OPTIONS = st.sampled_from([
    "--max-num-seqs", "--max_num_seqs", "--max-num-s", "--enforce-eager", "--no-enforce-eager", "--port", "-tp",
    "-q", "-O3", "--api-key", "--hf-token", "--served-model-name", "--speculative-config", "-sc", "-cc",
    "-cc.mode", "--compilation-config.mode", "--speculative-config.method", "--compilation_config.pass_config.a",
    "--structured-outputs-config.backend", "--structured-outputs-config", "--enable-prefix-caching",
])
# fmt: on
PIECES = st.one_of(
    OPTIONS.map(lambda name: [name]),
    st.tuples(OPTIONS, VALUES).map(list),
    st.tuples(OPTIONS, VALUES).map(lambda pair: [f"{pair[0]}={pair[1]}"]),
    VALUES.map(lambda value: [value]),
)


@pytest.mark.wheels
def test_any_words_that_vllm_accepts_are_read_as_it_reads_them_or_warned_about() -> None:
    parser = make_parser("0.33.0")

    @given(st.lists(PIECES, max_size=6))
    @settings(max_examples=1500, deadline=None)
    def check(pieces: list[list[str]]) -> None:
        arguments = ["m", *(word for piece in pieces for word in piece)]
        theirs = meant(parser, arguments)
        (launch,) = launches_of(Command(words=plain(["vllm", "serve", *arguments])))
        if theirs is not None and not launch.warnings:
            assert differences(arguments, theirs) == [], arguments

    check()
