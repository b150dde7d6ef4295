"""The keys each table of a registry file may have, each with an example for hints. What they mean is in ``parse``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Shape(NamedTuple):
    """What a table may hold.

    Attributes:
        name: the table, as messages name it.
        examples: known key -> how it is written.
    """

    name: str
    examples: Mapping[str, str]


ENTRY = Shape(
    name="the head of the file, before the first table",
    examples={
        "id": 'id = "vllm-mm-placeholder-degrade"',
        "title": 'title = "Pad a short image instead of ending the engine"',
        "kind": 'kind = "containment"',
        "severity": 'severity = "crash"',
        "revision": "revision = 1",
        "default": "default = true",
        "why": 'why = "what the bug is"',
        "how": 'how = "what the diff does, and what it costs"',
        "removal": 'removal = "when the patch may go"',
        "cve": 'cve = ["CVE-2026-1234"]',
        "requires": 'requires = ["another-id"]',
        "conflicts": 'conflicts = ["another-id"]',
        "replaces": 'replaces = ["another-id"]',
        "variant": "[[variant]]",
        "fix": "[[fix]]",
        "trigger": "[[trigger]]",
        "avoid": "[[avoid]]",
        "signal": "[signal]",
    },
)

VARIANT = Shape(
    name="[[variant]]",
    examples={
        "diff": 'diff = "0.20.diff"',
        "sha256": 'sha256 = "<the 64 digits that sha256sum prints for the diff>"',
        "strip": "strip = 1",
        "distribution": 'distribution = "vllm"',
        "builds": 'builds = ["0.20.0+das.dtk2604"]',
        "versions": 'versions = ">=0.19.1,<0.23"',
        "label": 'label = "any" or "none" or ["das*", "dtk*"]',
    },
)

FIX = Shape(
    name="[[fix]]",
    examples={
        "ref": 'ref = "vllm-project/vllm#47312"',
        "role": 'role = "fixes"',
        "claimed": 'claimed = ">=0.26.0"',
        "source": 'source = "https://github.com/vllm-project/vllm/pull/47312"',
        "note": 'note = "what it really does"',
        "distribution": 'distribution = "vllm"',
        "evidence": "[[fix.evidence]]",
    },
)

EVIDENCE = Shape(
    name="[[fix.evidence]]",
    examples={
        "file": 'file = "vllm/v1/structured_output/__init__.py"',
        "symbol": 'symbol = "StructuredOutputManager.grammar_init"',
        "contains": 'contains = "grammar.set_exception"',
        "absent": 'absent = "raise ValueError"',
        "matches": "matches = 'set_exception\\(\\w+\\)'",
        "diff": 'diff = "upstream.diff"',
        "any": 'any = [{file = "a.py", contains = "x"}, {file = "b.py", contains = "x"}]',
    },
)

AVOID = Shape(
    name="[[avoid]]",
    examples={
        "args": 'args = ["--max-num-seqs", "1"]',
        "env": 'env = {VLLM_USE_DEEP_GEMM = "0"}',
        "remove_args": 'remove_args = ["--speculative-config"]',
        "when": 'when = "MiniCPM-V with several images a request"',
        "cost": 'cost = "one request at a time"',
        "versions": 'versions = ">=0.21"',
        "label": 'label = "any" or "none" or ["cu1*"]',
        "hardware": 'hardware = ["sm*"]',
    },
)

TRIGGER = Shape(
    name="[[trigger]]",
    examples={
        "model": 'model = ["*minicpm-v*4?6*"]',
        "args": 'args = {"--quantization" = ["awq*"], "--enforce-eager" = false}',
        "json": 'json = {"--speculative-config" = {method = ["dspark"]}}',
        "env": 'env = {VLLM_BATCH_INVARIANT = ["1"]}',
        "hardware": 'hardware = ["sm80", "sm86"]',
        "versions": 'versions = ">=0.20,<0.21"',
        "label": 'label = "any" or "none" or ["das*", "dtk*"]',
        "note": 'note = "what the launch does that meets the bug"',
        "doubt": 'doubt = "why it may still not meet it"',
    },
)

SIGNAL = Shape(name="[signal]", examples={"log": "log = 'placeholder mismatch: (?P<kind>pad|truncate)'"})

REGISTRY = Shape(
    name="registry.toml",
    examples={"format": "format = 1", "name": 'name = "patchctl"', "revision": "revision = 1"},
)

SHAPES = (ENTRY, VARIANT, FIX, EVIDENCE, TRIGGER, AVOID, SIGNAL)
