"""``advise``: the six bugs of the field with their launches, every source, exit codes, and what must not be shown."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.running import Done, patchctl
from tests.wheels import WheelUnavailableError, relabelled, slim_wheel

DCU = "0.20.0+das.dtk2604"


@pytest.fixture(scope="session")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Give the site of a real build, unpacked once."""
    made: dict[str, Path] = {}

    def site(build: str) -> Path:
        if build not in made:
            folder = tmp_path_factory.mktemp("site")
            try:
                upstream = slim_wheel(build.partition("+")[0])
                wheel = relabelled(build.partition("+")[0], build, folder) if "+" in build else upstream
            except WheelUnavailableError as error:
                pytest.skip(str(error))
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder / "site")
            made[build] = folder / "site"
        return made[build]

    return site


class Bug(NamedTuple):
    """A bug of the field and a launch that meets it; ``kept``: what the corrected line must still have."""

    id: str
    build: str
    gpu: str
    line: str
    ways: int
    kept: tuple[str, ...] = ()


SPEC = '{"method": "dspark", "num_speculative_tokens": 3, "enable_adaptive_verification": true, "x": [1, 2]}'
BUGS = [
    Bug("vllm-mm-placeholder-degrade", DCU, "rocm", "vllm serve openbmb/MiniCPM-V-4_6 --max-num-seqs 4", 1),
    Bug(
        "vllm-awq-batch-invariant",
        "0.24.0",
        "sm86",
        "VLLM_BATCH_INVARIANT=1 vllm serve Qwen/Qwen3-8B-AWQ",
        1,
        ("VLLM_BATCH_INVARIANT=1",),
    ),
    Bug("vllm-deepgemm-toolchain-gate", "0.31.0", "sm120", "vllm serve Qwen/Qwen3-30B-A3B-FP8", 1),
    Bug("vllm-grammar-compile-containment", "0.20.0", "sm90", "vllm serve Qwen/Qwen3-8B", 1),
    Bug(
        "vllm-dsv41-cudagraph-uniform-batch",
        "0.31.0",
        "sm90",
        f"vllm serve deepseek-ai/DeepSeek-V4.1 --speculative-config '{SPEC}'",
        2,
        ('"num_speculative_tokens": 3', '"x": [1, 2]'),
    ),
    Bug(
        "vllm-dspark-1017-degenerate",
        "0.32.0",
        "sm90",
        "vllm serve deepseek-ai/DeepSeek-V4.1-Flash-1017 --speculative-config.method dspark --port 80",
        1,
        ("--port 80",),
    ),
]


def advise(site: Path, *arguments: str) -> Done:
    return patchctl("advise", "--site", str(site), "--json", *arguments)


def launches(done: Done) -> list[dict[str, Any]]:
    return list(done.document["advice"]["launches"])


def entry(done: Done, id_: str) -> dict[str, Any]:
    (launch,) = launches(done)
    (found,) = (it for it in launch["entries"] if it["id"] == id_)
    return dict(found)


@pytest.mark.wheels
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
class TestABugOfTheField:
    def test_is_named_with_its_cost_and_a_line_that_is_covered(self, bug: Bug, sites: Any) -> None:
        site = sites(bug.build)
        done = advise(site, "--gpu", bug.gpu, "--command", bug.line)
        found = entry(done, bug.id)
        assert (done.code, found["exposure"], found["coverage"]) == (1, "exposed", "uncovered")
        lines = [way["command"] for way in found["avoidances"] if way["command"] is not None]
        assert len(lines) == bug.ways
        for way in found["avoidances"]:
            assert way["cost"]
        for line in lines:
            assert all(kept in line for kept in bug.kept)
            again = entry(advise(site, "--gpu", bug.gpu, "--command", line), bug.id)
            assert (again["covered"], again["coverage"]) == (True, "avoided")

    def test_is_covered_by_the_line_that_corrects_everything(self, bug: Bug, sites: Any) -> None:
        site = sites(bug.build)
        done = advise(site, "--gpu", bug.gpu, "--command", bug.line)
        (launch,) = launches(done)
        assert launch["remaining"] == []
        again = advise(site, "--gpu", bug.gpu, "--command", launch["corrected"])
        assert again.code == 0
        assert launches(again)[0]["corrected"] is None

    def test_is_possible_where_no_launch_is_given(self, bug: Bug, sites: Any) -> None:
        done = advise(sites(bug.build), "--gpu", bug.gpu)
        found = entry(done, bug.id)
        assert (done.code, found["exposure"], found["coverage"]) == (0, "possible", "uncovered")
        assert advise(sites(bug.build), "--gpu", bug.gpu, "--strict").code == 1


@pytest.mark.wheels
class TestOtherLaunches:
    @pytest.mark.parametrize(
        ("gpu", "line", "exposure"),
        [
            ("sm86", "VLLM_BATCH_INVARIANT=1 vllm serve Qwen/Qwen3-8B", "not-exposed"),
            ("sm86", "VLLM_BATCH_INVARIANT=1 vllm serve Qwen/Qwen3-8B -q awq", "exposed"),
            ("sm86", "VLLM_BATCH_INVARIANT=1 vllm serve /models/current", "possible"),
            ("sm86", "VLLM_BATCH_INVARIANT=$B vllm serve Qwen/Qwen3-8B-AWQ", "possible"),
            ("sm86", 'VLLM_BATCH_INVARIANT=1 vllm serve "$MODEL"', "possible"),
            ("sm90", "VLLM_BATCH_INVARIANT=1 vllm serve Qwen/Qwen3-8B-AWQ", "not-exposed"),
            ("sm86", "vllm serve Qwen/Qwen3-8B-AWQ", "not-exposed"),
            (None, "VLLM_BATCH_INVARIANT=1 vllm serve Qwen/Qwen3-8B-AWQ", "possible"),
        ],
    )
    def test_what_cannot_be_known_is_possible(self, gpu: str | None, line: str, exposure: str, sites: Any) -> None:
        given = ("--gpu", gpu) if gpu else ()
        done = advise(sites("0.24.0"), *given, "--command", line)
        assert entry(done, "vllm-awq-batch-invariant")["exposure"] == exposure

    def test_a_fix_that_is_proven_covers(self, sites: Any) -> None:
        done = advise(sites("0.31.0"), "--gpu", "sm80", "--", "vllm", "serve", "Qwen/Qwen3-8B")
        assert entry(done, "vllm-grammar-compile-containment")["coverage"] == "fixed"
        assert done.code == 0

    def test_a_platform_on_which_an_avoidance_does_not_help_is_not_offered_it(self, sites: Any) -> None:
        line = "VLLM_BATCH_INVARIANT=1 vllm serve Qwen/Qwen3-8B-AWQ --enforce-eager"
        found = entry(advise(sites(DCU), "--command", line), "vllm-awq-batch-invariant")
        assert (found["exposure"], found["coverage"], found["avoidances"]) == ("exposed", "uncovered", [])

    def test_the_configuration_beside_the_weights_tells_the_model(self, sites: Any, tmp_path: Path) -> None:
        site, id_ = sites("0.24.0"), "vllm-mm-placeholder-degrade"
        config = tmp_path / "config.json"
        line = f"vllm serve {tmp_path}"
        assert entry(advise(site, "--command", line), id_)["exposure"] == "possible"
        config.write_text(json.dumps({"architectures": ["MiniCPMV4_6ForConditionalGeneration"]}))
        assert entry(advise(site, "--command", line), id_)["exposure"] == "exposed"
        config.write_text(json.dumps({"architectures": ["Qwen3ForCausalLM"]}))
        assert entry(advise(site, "--command", line), id_)["exposure"] == "not-exposed"

    def test_broken_json_is_warned_about_and_never_edited(self, sites: Any) -> None:
        line = "vllm serve deepseek-ai/DeepSeek-V4.1 --speculative-config '{\"method\": ' --new-flag 1"
        done = advise(sites("0.31.0"), "--gpu", "sm80", "--command", line)
        found = entry(done, "vllm-dsv41-cudagraph-uniform-batch")
        assert found["exposure"] == "possible"
        assert "broken JSON" in found["reason"]
        assert found["avoidances"][0]["command"] is None
        assert "broken JSON" in found["avoidances"][0]["problem"]
        assert "--new-flag is no option" in str(done.document["warnings"])
        assert "the value of --speculative-config is broken JSON" in str(done.document["warnings"])


ENVIRONMENT = "VLLM_BATCH_INVARIANT=1"
UNIT = f"""[Service]
Environment={ENVIRONMENT}
ExecStart=/usr/bin/env vllm serve Qwen/Qwen3-8B-AWQ --port 80 \\
    --speculative-config '{{"method": "ngram", "k": [1, 2]}}'
"""
COMPOSE = """services:
  web: {image: nginx}
  llm:
    environment: {VLLM_BATCH_INVARIANT: "1"}
    command: >-
      /usr/bin/env vllm serve Qwen/Qwen3-8B-AWQ --port 80
      --speculative-config '{"method": "ngram", "k": [1, 2]}'
"""
MANIFEST = """kind: Deployment
metadata: {name: llm}
spec:
  template:
    spec:
      containers:
      - {name: side, command: [sleep, inf]}
      - name: vllm
        env: [{name: VLLM_BATCH_INVARIANT, value: "1"}]
        command: [/usr/bin/env, vllm, serve]
        args: [Qwen/Qwen3-8B-AWQ, --port, "80", --speculative-config, '{"method": "ngram", "k": [1, 2]}']
"""


@pytest.mark.wheels
def test_one_launch_from_every_source_gets_the_same_advice(sites: Any, tmp_path: Path) -> None:
    (tmp_path / "vllm.service").write_text(UNIT)
    (tmp_path / "compose.yaml").write_text(COMPOSE)
    (tmp_path / "k8s.yaml").write_text(MANIFEST)
    spec = ' --speculative-config \'{"method": "ngram", "k": [1, 2]}\''
    sources = (
        ("--command", f"{ENVIRONMENT} /usr/bin/env vllm serve Qwen/Qwen3-8B-AWQ --port 80{spec}"),
        ("--unit", str(tmp_path / "vllm.service")),
        ("--compose", str(tmp_path / "compose.yaml")),
        ("--compose", str(tmp_path / "compose.yaml"), "--service", "llm"),
        ("--kubernetes", str(tmp_path / "k8s.yaml"), "--container", "vllm"),
        (
            "--",
            ENVIRONMENT,
            "/usr/bin/env",
            "vllm",
            "serve",
            "Qwen/Qwen3-8B-AWQ",
            "--port",
            "80",
            "--speculative-config",
            '{"method": "ngram", "k": [1, 2]}',
        ),
    )
    answers = []
    for source in sources:
        done = advise(sites("0.24.0"), "--gpu", "sm86", *source)
        (launch,) = launches(done)
        del launch["source"]
        answers.append((done.code, launch))
    assert answers[0][0] == 1
    assert answers[0][1]["corrected"].startswith("VLLM_BATCH_INVARIANT=1 /usr/bin/env vllm serve Qwen/Qwen3-8B-AWQ")
    assert answers[1:] == answers[:1] * (len(answers) - 1)
