"""``[[trigger]]`` and the conditions of ``[[avoid]]``: what they say, and every mistake told once with its key."""

from __future__ import annotations

import pytest

from patchctl.model import BuildRule
from patchctl.patch import Trigger
from tests.test_patch_parse import ADVISORY, parse
from tests.test_patch_schema import complaints

TRIGGER = """
[[trigger]]
model = ["*minicpm*"]
args = { "--enforce-eager" = false, "--quantization" = ["awq*", ""] }
json = { "--speculative-config" = { method = ["dspark"], "a.b" = ["1"] } }
env = { VLLM_X = ["1"] }
hardware = ["sm*"]
versions = ">=0.20"
note = "n"
doubt = "d"
"""


def test_a_trigger_says_all_of_its_conditions() -> None:
    patch, problems = parse(ADVISORY + TRIGGER + '[[trigger]]\nmodel = ["x"]\n')
    assert problems == ()
    assert patch is not None
    assert patch.triggers == (
        Trigger(
            model=("*minicpm*",),
            args={"--enforce-eager": False, "--quantization": ("awq*", "")},
            json={"--speculative-config": {"method": ("dspark",), "a.b": ("1",)}},
            env={"VLLM_X": ("1",)},
            hardware=("sm*",),
            rule=BuildRule(versions=">=0.20", label="any"),
            note="n",
            doubt="d",
        ),
        Trigger(model=("x",)),
    )


def test_an_avoidance_may_help_on_some_builds_and_hardware_alone() -> None:
    patch, problems = parse(ADVISORY + 'versions = ">=0.21"\nlabel = ["cu1*"]\nhardware = ["sm*"]\n')
    assert problems == ()
    assert patch is not None
    assert patch.avoid[0].rule == BuildRule(versions=">=0.21", label=("cu1*",))
    assert patch.avoid[0].hardware == ("sm*",)


@pytest.mark.parametrize(
    ("old", "new", "code", "key"),
    [
        ('model = ["*minicpm*"]', 'modle = ["a"]', "unknown-key", "trigger[0].modle"),
        ('model = ["*minicpm*"]', "model = 1", "wrong-type", "trigger[0].model"),
        ('"--enforce-eager" = false', '"enforce-eager" = false', "bad-option", "trigger[0].args.enforce-eager"),
        ('"--enforce-eager" = false', '"--enforce_eager" = false', "bad-option", "trigger[0].args.--enforce_eager"),
        ('["awq*", ""]', '"awq"', "wrong-type", "trigger[0].args.--quantization"),
        ('["awq*", ""]', "[]", "wrong-type", "trigger[0].args.--quantization"),
        ('{ method = ["dspark"], "a.b" = ["1"] }', '["dspark"]', "wrong-type", "trigger[0].json.--speculative-config"),
        ('["dspark"]', "[1]", "wrong-type", "trigger[0].json.--speculative-config.method"),
        ('VLLM_X = ["1"]', '"A B" = ["1"]', "bad-variable", 'trigger[0].env."A B"'),
        ('VLLM_X = ["1"]', 'VLLM_X = "1"', "wrong-type", "trigger[0].env.VLLM_X"),
        ('hardware = ["sm*"]', 'hardware = ["SM 90"]', "bad-hardware", "trigger[0].hardware[0]"),
        ('versions = ">=0.20"', 'versions = "0.20"', "bad-specifier", "trigger[0].versions"),
        ('versions = ">=0.20"', 'label = "any"', "bad-label", "trigger[0].label"),
        ('versions = ">=0.20"', 'builds = ["1"]', "unknown-key", "trigger[0].builds"),
        ('note = "n"', 'note = ""', "empty-value", "trigger[0].note"),
        (TRIGGER, '\n[[trigger]]\nnote = "n"\n', "trigger-without-condition", "trigger[0]"),
    ],
)
def test_a_mistake_is_told_with_its_key_and_the_schema_sees_it_too(old: str, new: str, code: str, key: str) -> None:
    text = ADVISORY + TRIGGER
    assert old in text
    text = text.replace(old, new, 1)
    patch, problems = parse(text)
    assert patch is None
    assert {(problem.code, (problem.key or "").replace('"', "")) for problem in problems} >= {
        (code, key.replace('"', ""))
    }
    assert all(problem.line for problem in problems)
    if code != "bad-specifier":  # the loader checks more than the schema can
        assert complaints(text) != []
