"""Edits of launches are exact: what is not meant stays, and what cannot be done exactly is not done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchctl.launch import edited, launches_in, read_object, unread_config, with_config
from patchctl.launch.json_text import leaves, looked_up, with_value
from tests.test_launch_lines import only

SPEC, COMPILE = "--speculative-config", "--compilation-config"
OFF = (SPEC, '{"enable_adaptive_verification":false}')
DECODE = (COMPILE, '{"cudagraph_mode":"FULL_DECODE_ONLY"}')
ONE = ("--max-num-seqs", "1", "--mm-processor-cache-gb", "0")
XGRAMMAR = ("--structured-outputs-config.backend", "xgrammar")


class Edit(NamedTuple):
    """A line, an edit, and the line that comes of it; None: the edit is refused, with a word of the reason."""

    line: str
    after: str | None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    remove: tuple[str, ...] = ()
    why: str = ""


EDITS = [
    Edit("vllm serve m", "vllm serve m --max-num-seqs 1 --mm-processor-cache-gb 0", ONE),
    Edit(
        "vllm serve m --max_num_seqs=16 --port 80",
        "vllm serve m --max_num_seqs=1 --port 80 --mm-processor-cache-gb 0",
        ONE,
    ),
    Edit(
        "vllm serve m --max-num-seqs 4 --max-num-seqs 16 --mm-processor-cache-gb 0.0",
        "vllm serve m --max-num-seqs 4 --max-num-seqs 1 --mm-processor-cache-gb 0.0",
        ONE,
    ),
    Edit("vllm serve m -- stray", "vllm serve m --enforce-eager -- stray", ("--enforce-eager",)),
    Edit("vllm serve m --no-enforce-eager", "vllm serve m --enforce-eager", ("--enforce-eager",)),
    Edit("vllm serve m -qawq", "vllm serve m --quantization gptq", ("--quantization", "gptq")),
    Edit("vllm serve m -O3", "vllm serve m --optimization-level 0", ("--optimization-level", "0")),
    Edit("vllm serve m --api-key a b", "vllm serve m --api-key a b --enforce-eager", ("--enforce-eager",)),
    Edit(
        f'vllm serve m {SPEC} \'{{"method": "dspark", "x": 1e-5, "enable_adaptive_verification": true}}\' -O3',
        f'vllm serve m {SPEC} \'{{"method": "dspark", "x": 1e-5, "enable_adaptive_verification": false}}\' -O3',
        OFF,
    ),
    Edit(
        f'vllm serve m {SPEC} \'{{"method":"dspark"}}\'',
        f'vllm serve m {SPEC} \'{{"method":"dspark","enable_adaptive_verification":false}}\'',
        OFF,
    ),
    Edit(f"vllm serve m {SPEC} '{{}}'", f"vllm serve m {SPEC} '{{\"enable_adaptive_verification\":false}}'", OFF),
    Edit(
        'vllm serve m \'-sc={"method": "dspark"}\'',
        'vllm serve m \'-sc={"method": "dspark", "enable_adaptive_verification": false}\'',
        OFF,
    ),
    Edit(
        f"vllm serve m {SPEC}.method dspark --port 80",
        f"vllm serve m {SPEC}.method dspark {SPEC}.enable_adaptive_verification false --port 80",
        OFF,
    ),
    Edit(
        f"vllm serve m {SPEC}.enable-adaptive-verification=true {SPEC}.method dspark",
        f"vllm serve m {SPEC}.enable-adaptive-verification=false {SPEC}.method dspark",
        OFF,
    ),
    Edit(
        "vllm serve m -cc.mode 3 --port 80",
        "vllm serve m -cc.mode 3 -cc.cudagraph_mode FULL_DECODE_ONLY --port 80",
        DECODE,
    ),
    Edit(
        "vllm serve m -cc '{\"mode\":3}' -cc.mode 3",
        "vllm serve m -cc '{\"mode\":3}' -cc.mode 3 -cc.cudagraph_mode FULL_DECODE_ONLY",
        DECODE,
    ),
    Edit(
        "vllm serve m --spec-method dspark",
        f"vllm serve m --spec-method dspark {SPEC} '{{\"enable_adaptive_verification\":false}}'",
        OFF,
    ),
    Edit(
        'vllm serve m --structured-outputs-config \'{"backend": "auto", "z": 1}\'',
        'vllm serve m --structured-outputs-config \'{"backend": "xgrammar", "z": 1}\'',
        XGRAMMAR,
    ),
    Edit("vllm serve m", "vllm serve m --structured-outputs-config.backend xgrammar", XGRAMMAR),
    Edit(f"vllm serve m {SPEC} '{{bad'", None, OFF, why="broken JSON"),
    Edit(f'vllm serve m {SPEC} "$SPEC"', None, OFF, why="put in by the shell"),
    Edit("vllm serve m $ARGS", None, OFF, why="cannot be seen"),
    Edit("vllm serve m --max-num-seqs $N", None, ONE, why="put in by the shell"),
    Edit("vllm serve m", None, ("--no-such-option", "1"), why="the advice itself cannot be read"),
    Edit(
        f"vllm serve m {SPEC}.method dspark -sc '{{}}' --port 80 --foo",
        "vllm serve m --port 80 --foo",
        remove=(SPEC, "--spec-method"),
    ),
    Edit("A=1 B=2 vllm serve m", "A=1 B='x y' vllm serve m", env={"B": "x y"}),
    Edit("A=1 nohup vllm serve m", "A=1 B=0 nohup vllm serve m", env={"B": "0"}),
    Edit("env -i -u X A=1 vllm serve m", "env -i -u X A=1 B=0 vllm serve m", env={"B": "0"}),
    Edit("env -i vllm serve m", "env -i B=0 vllm serve m", env={"B": "0"}),
    Edit("sudo -u vllm vllm serve m", "sudo -u vllm B=0 vllm serve m", env={"B": "0"}),
    Edit("docker run image vllm serve m", None, env={"B": "0"}, why="has to be set in the environment"),
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{edit.line[:50]} {edit.args or edit.remove or edit.env}")
def test_an_edit_changes_what_is_meant_and_nothing_else(edit: Edit) -> None:
    launch = only(edit.line)
    done = edited(launch, args=edit.args, env=edit.env, remove=edit.remove)
    if edit.after is None:
        assert edit.why in (done.problem or "")
        assert done.launch is launch
        return
    assert done.problem is None
    assert done.launch.line() == edit.after
    again = edited(done.launch, args=edit.args, env=edit.env, remove=edit.remove)
    assert again.launch == done.launch
    parsed_again = edited(only(edit.after), args=edit.args, env=edit.env, remove=edit.remove)
    assert parsed_again.launch.line() == edit.after


class TestAConfigFile:
    def test_is_beaten_by_the_command_line(self) -> None:
        launch = with_config(only("vllm serve m --config c.yaml"), "c.yaml", {"max-num-seqs": 4})
        assert edited(launch, args=ONE).launch.line() == (
            "vllm serve m --config c.yaml --max-num-seqs 1 --mm-processor-cache-gb 0"
        )

    def test_an_object_in_it_goes_to_the_command_line_whole(self) -> None:
        value = {"speculative-config": {"method": "dspark", "num_speculative_tokens": 3}}
        launch = with_config(only("vllm serve m --config c.yaml"), "c.yaml", value)
        spec = '{"method": "dspark", "num_speculative_tokens": 3, "enable_adaptive_verification": false}'
        assert edited(launch, args=OFF).launch.line() == f"vllm serve m --config c.yaml {SPEC} '{spec}'"

    def test_what_it_gives_is_not_left_out_by_a_command_line(self) -> None:
        launch = with_config(only("vllm serve m --config c.yaml"), "c.yaml", {"speculative-config": {}})
        assert "take it out there" in (edited(launch, remove=(SPEC,)).problem or "")

    def test_what_it_gives_already_needs_no_edit(self) -> None:
        value = {"enforce-eager": True, "max-num-seqs": 1, "mm-processor-cache-gb": 0}
        launch = with_config(only("vllm serve m --config c.yaml"), "c.yaml", value)
        assert edited(launch, args=("--enforce-eager", *ONE)).launch is launch

    def test_one_that_cannot_be_read_leaves_objects_alone(self) -> None:
        launch = unread_config(only("vllm serve m --config c.yaml"), "it is gone")
        assert edited(launch, args=OFF).problem is not None
        assert launch.warnings == ("it is gone",)


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=8,
)
KEYS = st.sampled_from(["a", "b_c", "d"])
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=3)


@given(OBJECTS, st.lists(KEYS, min_size=1, max_size=3), VALUES, st.sampled_from([None, 1, 4]))
@settings(max_examples=300, deadline=None)
def test_setting_a_key_sets_it_and_keeps_every_other_letter(
    value: dict[str, object], path: list[str], new: object, indent: int | None
) -> None:
    text = json.dumps(value, indent=indent)
    after = with_value(text, path, new)
    assert looked_up(read_object(after), path) == (True, json.loads(json.dumps(new)))
    kept = {where: it for where, it in leaves(value) if where[0] != path[0]}
    assert {where: it for where, it in leaves(read_object(after) or {}) if where[0] != path[0]} == kept
    others = [it for where, it in leaves(value) if where[0] != path[0]]
    untouched = [json.dumps(it) for it in others if not isinstance(it, list | dict)]
    assert all(it in after for it in untouched)


def test_of_a_key_that_is_there_twice_the_last_is_set() -> None:
    assert with_value('{"a": 1, "a": 2}', ["a"], 3) == '{"a": 1, "a": 3}'


def test_an_edit_of_two_launches_in_a_line_is_of_each() -> None:
    first, second = launches_in("vllm serve a & vllm serve b")
    assert edited(first, args=("--enforce-eager",)).launch.line() == "vllm serve a --enforce-eager"
    assert edited(second, args=("--enforce-eager",)).launch.line() == "vllm serve b --enforce-eager"
