"""Launch lines of many shapes: the model, what counts of each option, the variables, and what is warned about."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchctl.launch import (
    Command,
    Launch,
    ShellError,
    State,
    Word,
    json_option,
    launches_in,
    launches_of,
    model_of,
    option,
    plain,
    variable,
)
from patchctl.launch.table import every_option

OFF = "off"
JSON = '{"method": "dspark", "num_speculative_tokens": 5, "deep": {"a": [1, {"b": null}]}}'


class Line(NamedTuple):
    """A line and what it comes to.

    ``options``: what counts of plain options; True: a switch; OFF: switched off. ``objects``: JSON options.
    """

    line: str
    model: str | None = "m"
    options: Mapping[str, object] = {}
    objects: Mapping[str, object] = {}
    variables: Mapping[str, str] = {}
    warned: tuple[str, ...] = ()


SPEC, COMPILE = "--speculative-config", "--compilation-config"
LINES = [
    Line("vllm serve m"),
    Line("vllm serve m --port 80 --port=81", options={"--port": "81"}),
    Line("vllm serve --port 80 m --enforce-eager", options={"--port": "80", "--enforce-eager": True}),
    Line("/opt/venv/bin/vllm serve m --max_num_seqs 4", options={"--max-num-seqs": "4"}),
    Line(
        "vllm serve m -tp 2 -q awq -dp=4",
        options={"--tensor-parallel-size": "2", "--quantization": "awq", "--data-parallel-size": "4"},
    ),
    Line("vllm serve m -qawq", options={"--quantization": "awq"}),
    Line("vllm serve m -O3", options={"--optimization-level": "3"}),
    Line("vllm serve m -O 0 --port 80", options={"--optimization-level": "0", "--port": "80"}),
    Line("vllm serve m -O=2", options={"--optimization-level": "2"}),
    Line("vllm serve m --no-enable-prefix-caching", options={"--enable-prefix-caching": OFF}),
    Line("vllm serve m --enforce-eager --no-enforce-eager", options={"--enforce-eager": OFF}),
    Line("vllm serve m --disable-log-stats --enable-log-stats", options={"--disable-log-stats": OFF}),
    Line("vllm serve m --max-num-b 8192", options={"--max-num-batched-tokens": "8192"}),
    Line("vllm serve m --seed -1 --port 80", options={"--seed": "-1", "--port": "80"}),
    Line("vllm serve m --served-model-name a b --port 80", options={"--served-model-name": ("a", "b")}),
    Line("vllm serve m --hf-token --port 80", options={"--hf-token": True, "--port": "80"}),
    Line(
        f"vllm serve m {SPEC} '{JSON}'",
        objects={SPEC: {"method": "dspark", "num_speculative_tokens": 5, "deep": {"a": [1, {"b": None}]}}},
    ),
    Line(
        f"vllm serve m '{SPEC}={JSON}' --port 80",
        options={"--port": "80"},
        objects={SPEC: {"method": "dspark", "num_speculative_tokens": 5, "deep": {"a": [1, {"b": None}]}}},
    ),
    Line('vllm serve m --speculative-config "{\\"method\\":\\"dspark\\"}"', objects={SPEC: {"method": "dspark"}}),
    Line(f"vllm serve m {SPEC} '{{\"a\": 1}}' {SPEC}='{{\"b\": 2}}'", objects={SPEC: {"b": 2}}),
    Line(
        "vllm serve m --speculative-config.method dspark --speculative_config.num_speculative_tokens=5",
        objects={SPEC: {"method": "dspark", "num_speculative_tokens": 5}},
    ),
    Line(f'vllm serve m {SPEC}.method dspark {SPEC} \'{{"method": "ngram"}}\'', objects={SPEC: {"method": "dspark"}}),
    Line(
        "vllm serve m -cc.cudagraph_mode FULL -cc.pass_config '{\"a\": true}' -cc.pass_config.b 80g",
        objects={COMPILE: {"cudagraph_mode": "FULL", "pass_config": {"a": True, "b": 80_000_000_000}}},
    ),
    Line("vllm serve m -cc.mode 3 --compilation-config.mode 2", objects={COMPILE: {"mode": 2}}),
    Line("vllm serve m -cc.sizes+ 1,2 -cc.sizes+=4", objects={COMPILE: {"sizes": ["1", "2", "4"]}}),
    Line(
        "vllm serve m --spec-method dspark --spec-tokens 3",
        objects={SPEC: {"method": "dspark", "num_speculative_tokens": 3}},
    ),
    Line(
        f'vllm serve m --spec-method dspark {SPEC} \'{{"model": "d"}}\'',
        objects={SPEC: {"method": "dspark", "model": "d"}},
    ),
    Line(f"vllm serve m {SPEC} None", objects={SPEC: {}}),
    Line("python -m vllm.entrypoints.openai.api_server --model m --port 80", options={"--port": "80"}),
    Line("python3.12 -u -X dev -m vllm.entrypoints.openai.api_server --model=m"),
    Line("python3 -m vllm.entrypoints.cli.main serve m --port 80", options={"--port": "80"}),
    Line("/v/bin/python /v/bin/vllm serve m"),
    Line("python /src/vllm/entrypoints/openai/api_server.py --model m"),
    Line("vllm serve --model m --port 80", options={"--port": "80"}),
    Line("A=1 B='x y' vllm serve m", variables={"A": "1", "B": "x y"}),
    Line("A=1 env -u C B=2 A=3 vllm serve m", variables={"A": "3", "B": "2"}),
    Line("sudo -u vllm A=1 /opt/bin/vllm serve m", variables={"A": "1"}),
    Line("nohup nice -n 5 numactl -N 0 -m 0 vllm serve m --port 80", options={"--port": "80"}),
    Line("exec stdbuf -oL timeout 60 taskset -c 0-7 vllm serve m"),
    Line("uv run --python 3.12 vllm serve m"),
    Line("torchrun --nproc-per-node 2 -m vllm.entrypoints.openai.api_server --model m"),
    Line("conda run -n vllm vllm serve m"),
    Line("frobnicate --fast vllm serve m", warned=("'frobnicate' is taken for a wrapper",)),
    Line("docker run -e A=1 image vllm serve m", warned=("docker starts it in another environment",)),
    Line("bash -lc 'exec vllm serve m --port 80'", options={"--port": "80"}),
    Line("A=1 sh -c 'B=2 vllm serve m'", variables={"A": "1", "B": "2"}),
    Line(
        "set -e; export A=1; cd /srv && vllm serve m --port 80 > log 2>&1 &",
        options={"--port": "80"},
        variables={"A": "1"},
        warned=("the line also runs set, cd", "the redirections"),
    ),
    Line("vllm serve m --port 80 | tee -a log", options={"--port": "80"}, warned=("the line also runs tee",)),
    Line("if true; then vllm serve m; fi", warned=("the line also runs true",)),
    Line(
        "vllm serve m \\\n  --port 80 \\\n  --enforce-eager # in the night",
        options={"--port": "80", "--enforce-eager": True},
    ),
    Line(
        "vllm serve m --port 80 -- --enforce-eager",
        options={"--port": "80", "--enforce-eager": None},
        warned=("'--enforce-eager' belongs to no option",),
    ),
    Line(
        "vllm serve m --brand-new-flag --port 80", options={"--port": "80"}, warned=("--brand-new-flag is no option",)
    ),
    Line("vllm serve m --brand-new 7 --port 80", options={"--port": "80"}, warned=("taken for its value",)),
    Line("vllm serve --brand-new m --port 80", model=None, options={"--port": "80"}, warned=("taken for its value",)),
    Line("vllm serve m --brand-new=7 --port 80", options={"--port": "80"}, warned=("left as it is",)),
    Line("vllm serve m --enforce-eager=true", warned=("takes no value",)),
    Line("vllm serve m --port", warned=("--port has no value",)),
    Line("vllm serve m --compilation-config '{\"mode\": 3,}'", warned=("--compilation-config is broken JSON",)),
    Line("vllm serve m --lora-modules '{\"name\": ' a=b", warned=("--lora-modules is broken JSON",)),
    Line("vllm serve m -cc.pass_config='{bad'", warned=("-cc.pass_config is broken JSON",)),
    Line("vllm serve m --chat-template '{{ messages }}'", options={"--chat-template": "{{ messages }}"}),
    Line("vllm serve m --chat-template '{% if a %}{% endif %}'"),
    Line("vllm serve m stray", warned=("'stray' belongs to no option",)),
    Line("vllm serve", model=None),
]


def only(line: str) -> Launch:
    (launch,) = launches_in(line)
    return launch


@pytest.mark.parametrize("row", LINES, ids=lambda row: row.line[:60])
class TestALine:
    def test_comes_to_what_vllm_makes_of_it(self, row: Line) -> None:
        launch = only(row.line)
        assert model_of(launch).value == row.model
        for name, value in row.options.items():
            seen = option(launch, name)
            got: object = None
            if seen.state is State.GIVEN:
                values = seen.value
                assert isinstance(values, tuple)
                got = OFF if seen.off else True if not values else values[0] if len(values) == 1 else values
            assert got == value, name
        for name, wanted in row.objects.items():
            assert json_option(launch, name).value == wanted
        for name, text in row.variables.items():
            assert variable(launch, name).value == text

    def test_is_warned_about_where_something_cannot_be_told(self, row: Line) -> None:
        told = only(row.line).warnings
        assert len(told) == len(row.warned), told
        for text, wanted in zip(told, row.warned, strict=True):
            assert wanted in text

    def test_is_printed_with_the_words_it_was_read_with(self, row: Line) -> None:
        launch = only(row.line)
        again = only(launch.line())
        assert again.words == launch.words
        assert again.line() == launch.line()
        texts = [word.text for word in launch.words]
        assert shlex.split(launch.line()) == texts
        (from_words,) = launches_of(Command(words=plain(texts)))
        assert from_words.items == launch.items


def test_there_are_at_least_25_lines() -> None:
    assert len({row.line for row in LINES}) >= 25


@pytest.mark.parametrize(
    "line",
    [
        "vllm serve $(cat model)",
        "vllm serve `cat model`",
        "vllm serve ${MODEL//a/b}",
        "vllm serve 'm",
        'vllm serve "m',
        "vllm serve m <<EOF\nx\nEOF",
        "vllm serve $((1+1))",
        "vllm serve $'m",
        "vllm serve $'m\\q'",
        'vllm serve $"m"',
    ],
)
def test_what_would_run_another_command_or_does_not_end_is_refused(line: str) -> None:
    with pytest.raises(ShellError):
        launches_in(line)


def test_a_word_with_line_ends_is_printed_on_one_line_and_read_again() -> None:
    text = '{"method": "dspark",\n\t"it\'s": "a\\\\b"}\x07'
    word = Word(text)
    assert word.printed == """$'{"method": "dspark",\\n\\t"it\\'s": "a\\\\\\\\b"}\\x07'"""
    (found,) = launches_in(f"vllm serve m --speculative-config {word.printed}")
    assert found.items[-1].words[-1] == word
    shown = subprocess.run(["bash", "-c", f"printf %s {word.printed}"], capture_output=True, text=True, check=True)
    assert shown.stdout == text


@pytest.mark.parametrize("line", ["ls -l", "vllm bench serve m", "echo vllm; serve m", "pip install vllm", ""])
def test_what_starts_no_server_is_no_launch(line: str) -> None:
    assert launches_in(line) == ()


@pytest.mark.parametrize(
    ("line", "raw"),
    [
        ('vllm serve "$MODEL" --port 80', '"$MODEL"'),
        ("vllm serve ${MODEL:-m} --port 80", "${MODEL:-m}"),
        ("vllm serve ~/m --port 80", "~/m"),
        ("vllm serve m --port ${PORT}", "${PORT}"),
        ('vllm serve m --port="${PORT}"', '--port="${PORT}"'),
    ],
)
def test_what_the_shell_puts_in_stays_as_it_was_written_and_is_not_known(line: str, raw: str) -> None:
    launch = only(line)
    assert launch.line() == line
    assert raw in [word.raw for word in launch.words]
    unknown = model_of(launch) if "PORT" not in line else option(launch, "--port")
    assert unknown.state is State.UNKNOWN
    assert not launch.open_options


@pytest.mark.parametrize("line", ["vllm serve m $ARGS", 'vllm serve m "$@"', "vllm serve m --port 80 ${ARGS}"])
def test_options_that_a_shell_may_put_in_are_not_taken_for_absent(line: str) -> None:
    launch = only(line)
    assert launch.open_options
    assert option(launch, "--enforce-eager").state is State.UNKNOWN
    assert "may hold further options" in "".join(launch.warnings)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("{bad", "broken JSON"),
        ('{"a": 1,}', "broken JSON"),
        ("[1]", "no JSON object"),
        ("3", "no JSON object"),
        ("[" * 100_000, "broken JSON"),
        ('{"a": ' * 5_000 + "1" + "}" * 5_000, "broken JSON"),
    ],
)
def test_a_value_that_is_no_object_is_not_known(value: str, why: str) -> None:
    (launch,) = launches_of(Command(words=plain(["vllm", "serve", "m", SPEC, value])))
    found = json_option(launch, SPEC)
    assert (found.state, found.why.split(" is ")[-1]) == (State.UNKNOWN, why)


WORDS = st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
SPELLED = st.sampled_from(sorted(every_option())).map(lambda name: name)
ARGUMENTS = st.lists(
    st.one_of(WORDS, SPELLED, st.builds(lambda name, value: f"{name}={value}", SPELLED, WORDS), st.just("--")),
    max_size=12,
)


@given(ARGUMENTS)
@settings(max_examples=300, deadline=None)
def test_any_words_are_read_and_printed_back_unchanged(arguments: list[str]) -> None:
    words = ["vllm", "serve", *arguments]
    (launch,) = launches_of(Command(words=plain(words)))
    assert [word.text for word in launch.words] == words
    if not any(character < " " or character == "\x7f" for word in words for character in word):
        assert shlex.split(launch.line()) == words  # which knows no $'...'
    (again,) = launches_in(launch.line())
    assert [(word.text, word.raw) for word in again.words] == [(word, None) for word in words]
    assert again.items == launch.items


@given(st.text(max_size=80))
@settings(max_examples=300, deadline=None)
def test_no_line_is_too_strange_to_be_read_or_refused(line: str) -> None:
    try:
        found = launches_in(f"vllm serve m {line}")
    except ShellError:
        return
    for launch in found:
        assert launches_in(launch.line())[0].words == launch.words


def test_a_word_is_printed_for_a_shell_or_as_the_shell_read_it() -> None:
    assert Word("a b").printed == "'a b'"
    assert Word("$A", '"$A"').printed == '"$A"'
