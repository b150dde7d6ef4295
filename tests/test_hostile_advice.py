"""Advice of a registry, and launch files of strangers: nothing is run, nothing is opened, and no word means more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchctl.launch import Launch, Word, advice_problem, launches_in, launches_of, plain
from patchctl.launch.launches import Command
from patchctl.launch.table import every_option
from tests.registries import add_entry, make_registry
from tests.running import Desk, Done
from tests.sites import make_site, tree_state

pytestmark = [pytest.mark.attack("hostile-advice")]

BAD = "vllm serve org/bad"

VARIABLES = """
LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT GCONV_PATH PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONUSERBASE PATH BASH_ENV ENV IFS
HOME TMPDIR SHELL PROMPT_COMMAND http_proxy NO_PROXY SSL_CERT_FILE REQUESTS_CA_BUNDLE VLLM_API_KEY HF_TOKEN
VLLM_PLUGINS VLLM_LOGGING_CONFIG_PATH VLLM_CONFIGURE_LOGGING VLLM_SERVER_DEV_MODE VLLM_ALLOW_INSECURE_SERIALIZATION
VLLM_ALLOW_RUNTIME_LORA_UPDATING VLLM_PORT VLLM_HOST_IP VLLM_NCCL_SO_PATH VLLM_CUDART_SO_PATH VLLM_CACHE_ROOT
VLLM_USE_MODELSCOPE VLLM_MEDIA_URL_ALLOW_REDIRECTS VLLM_USAGE_STATS_SERVER VLLM_DEBUG_LOG_API_SERVER_RESPONSE
NCCL_NET_PLUGIN NCCL_TUNER_PLUGIN NCCL_PROFILER_PLUGIN NCCL_CONF_FILE CUDA_INJECTION64_PATH TRITON_PTXAS_PATH
TRITON_CACHE_DIR TRITON_LIBCUDA_PATH TORCHINDUCTOR_CACHE_DIR TORCH_EXTENSIONS_DIR TORCH_TRACE TORCH_LOGS_OUT
RAY_RUNTIME_ENV_HOOK RAY_ADDRESS UCX_MODULE_DIR HSA_TOOLS_LIB OMP_TOOL_LIBRARIES CUBLAS_LOGDEST_DBG
DG_JIT_NVCC_COMPILER FLASHINFER_NVCC FLASHINFER_CUBIN_DIR HF_HUB_ENDPOINT ASCEND_CUSTOM_OPP_PATH
"""
OPTIONS = (
    ["--api-key", "x"],
    ["--host", "0.0.0.0"],
    ["--host=0.0.0.0"],
    ["--port", "1"],
    ["--uds", "x"],
    ["--trust-remote-code"],
    ["--trust-rem"],
    ["--trust_remote_code"],
    ["--allowed-origins", "[]"],
    ["--allow-credentials"],
    ["--allowed-local-media-path", "/"],
    ["--allowed-media-domains", "x"],
    ["--middleware", "x"],
    ["--tool-parser-plugin", "x"],
    ["--reasoning-parser-plugin", "x"],
    ["--io-processor-plugin", "x"],
    ["--logits-processors", "x"],
    ["--worker-cls", "x"],
    ["--worker-extension-cls", "x"],
    ["--scheduler-cls", "x"],
    ["--distributed-executor-backend", "a.b"],
    ["--download-dir", "x"],
    ["--model", "x"],
    ["x"],
    ["--max-num-seqs", "1", "x"],
    ["--", "x"],
    ["--tokenizer", "x"],
    ["--revision", "x"],
    ["--hf-config-path", "x"],
    ["--hf-overrides", "{}"],
    ["--load-format", "x"],
    ["--ssl-keyfile", "x"],
    ["--ssl-cert-reqs", "0"],
    ["--config", "x"],
    ["--config=x"],
    ["--chat-template", "x"],
    ["--lora-modules", "a=b"],
    ["--log-config-file", "x"],
    ["--enable-log-requests"],
    ["--no-disable-fastapi-docs"],
    ["--enable-prompt-embeds"],
    ["--additional-config.x", "1"],
    ["--additional-config", "{}"],
    ["--kv-transfer-config.kv_connector_module_path", "x"],
    ["--speculative-config", '{"model":"x"}'],
    ["--speculative-config.model", "x"],
    ["--speculative_config.model=x"],
    ["-sc", '{"a":{"draft_tokenizer":"x"}}'],
    ["-sc.model", "x"],
    ["--compilation-config", '{"backend":"a.b"}'],
    ["--compilation-config", '{"inductor_passes":{"x":"y"}}'],
    ["--compilation-config.cache_dir", "x"],
    ["-cc.backend=a.b"],
    ["--mm-processor-kwargs", '{"x":"/etc/passwd"}'],
    ["--mm-processor-kwargs", '{"x":["http://a"]}'],
    ["--otlp-traces-endpoint", "x"],
    ["--no-such-option-at-all"],
    ["--max-num-seqs 1"],
    ["--max-num-seqs\t1"],
)
DROPPED = """
--api-key --api-k --api_key --api-key=x --ssl-keyfile --ssl-key --ssl-ca-certs --host --uds --port --middleware
--allowed-origins --allowed-media-domains --allowed-local-media-path --config --root-path --revision --code-revision
--h11-max-header-count --disable-fastapi-docs --model --tokenizer --no-such-option x -- - --max-num-seqs=1
"""
CHARACTERS = [
    "a;b",
    "$(x)",
    "`x`",
    "a\nb",
    "%i",
    "${x}",
    "$x",
    "*",
    "~",
    "#x",
    "!x",
    "a\\b",
    "'",
    "a\tb",
    "\x1b[1m",
    "\u202e",
    "é",
]


def told(*, args: Any = (), env: Any = None, remove: Any = ()) -> str | None:
    return advice_problem(args, env or {}, remove, ["vllm"])


class TestLists:
    @pytest.mark.parametrize("name", VARIABLES.split())
    def test_a_variable_that_does_more_than_switch_is_refused(self, name: str) -> None:
        for value in ("1", "x", "/tmp/x.so", "/usr/../tmp/x", "a.b"):
            assert told(env={name: value}) is not None

    @pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
    def test_an_option_that_does_more_than_switch_is_refused(self, words: list[str]) -> None:
        assert told(args=words) is not None

    @pytest.mark.parametrize("word", DROPPED.split())
    def test_what_protects_is_not_left_out(self, word: str) -> None:
        assert told(remove=[word]) is not None

    @pytest.mark.parametrize("text", CHARACTERS)
    def test_a_character_that_means_more_is_refused(self, text: str) -> None:
        assert told(args=["--attention-backend", text]) is not None
        assert told(env={"VLLM_X": text}) is not None

    def test_every_option_is_refused_with_a_path_and_most_with_anything(self) -> None:
        options = sorted(every_option())
        assert [name for name in options if told(args=[name, "/tmp/x"]) is None] == []
        assert [name for name in options if told(args=[name, "pkg.module"]) is None] == []
        allowed = [name for name in options if told(args=[name]) is None or told(args=[name, "1"]) is None]
        assert len(allowed) < 0.65 * len(options)

    @pytest.mark.parametrize(
        "advice",
        [
            {"args": ["--enforce-eager"]},
            {"args": ["--no-enable-prefix-caching", "-tp", "2"]},
            {"args": ["--compilation-config", '{"cudagraph_mode":"FULL_DECODE_ONLY"}']},
            {"args": ["--speculative-config", '{"method":"dspark","num_speculative_tokens":5}']},
            {"args": ["--structured-outputs-config.backend", "xgrammar"]},
            {"args": ["--limit-mm-per-prompt", '{"image": 0, "video": 0}', "--gpu-memory-utilization", "0.9"]},
            {"env": {"VLLM_USE_DEEP_GEMM": "0", "CUDA_HOME": "/usr/local/cuda", "NCCL_IB_HCA": "mlx5_0:1"}},
            {"env": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "TOKENIZERS_PARALLELISM": "false"}},
            {"remove": ["--speculative-config", "--spec-model", "--trust-remote-code", "-tp"]},
        ],
    )
    def test_what_switches_a_feature_is_allowed(self, advice: dict[str, Any]) -> None:
        assert told(**advice) is None


@pytest.fixture
def hostile(tmp_path: Path) -> Desk:
    """An environment, and an entry whose advice takes over whoever follows it."""
    registry = make_registry(tmp_path / "registry")
    avoid = [
        {"env": {"LD_PRELOAD": "/tmp/evil.so"}, "args": ["--config", "/tmp/evil.yaml"], "remove_args": ["--api-key"]}
    ]
    folder = add_entry(registry, "one", None, kind="advisory", cve=["CVE-2026-12345"], avoid=avoid)
    with (folder / "patch.toml").open("a") as file:
        file.write('\n[[trigger]]\nmodel = ["*bad*"]\n')
    return Desk(site=make_site(tmp_path, {"vllm/a.py": b"a = 1\n"}, build="0.25.1"), registry=registry)


class TestTheVerbs:
    def test_no_verb_makes_it_a_command(self, hostile: Desk) -> None:
        done = hostile.json("advise", "--command", f"{BAD} --api-key k")
        (launch,) = done.document["advice"]["launches"]
        (way,) = launch["entries"][0]["avoidances"]
        assert (done.code, launch["corrected"], way["command"]) == (1, None, None)
        assert "LD_PRELOAD" in way["problem"]
        shown = hostile.run("show", "one")
        assert "problem=advice may not set LD_PRELOAD" in shown.out
        for form in ("html", "openvex"):
            page = hostile.run("report", "--format", form)
            assert page.code == 0
            assert "/tmp/evil" not in page.out

    def test_lint_tells_each_part(self, hostile: Desk) -> None:
        done = hostile.json("lint")
        keys = {it["key"] for it in done.document["lint"]["findings"] if it["code"] == "unsafe-advice"}
        assert keys == {"avoid[0].env.LD_PRELOAD", "avoid[0].args[0]", "avoid[0].remove_args[0]"}


def printed(launch: Launch) -> list[str]:
    """What a shell makes of the printed line: its words as a program gets them, after its assignments."""
    line = launch.line()
    script = f"printf '%s\\0' {line}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True, timeout=20)
    return done.stdout.decode().split("\0")[:-1]


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


class TestQuoting:
    @given(st.lists(TEXTS, max_size=4))
    def test_a_shell_gets_the_very_words_that_were_read(self, words: list[str]) -> None:
        given_words = ["vllm", "serve", "m", *words]
        (launch,) = launches_of(Command(words=plain(given_words)))
        assert printed(launch) == given_words

    @given(TEXTS)
    def test_a_shell_sets_a_variable_to_the_very_value(self, value: str) -> None:
        (launch,) = launches_of(Command(words=plain([f"VLLM_X={value}", "vllm", "serve", "m"])))
        head = launch.line().partition(" vllm ")[0] if " vllm " not in value else launch.line().rpartition(" vllm ")[0]
        script = f"{head} env -0"
        done = subprocess.run(["bash", "-c", script], capture_output=True, check=True, timeout=20)
        assert f"VLLM_X={value}".encode() in done.stdout.split(b"\0")
        assert "\n" not in launch.line()

    @pytest.mark.parametrize(
        "text", ["$(touch {m})", "`touch {m}`", "; touch {m}", "| touch {m}", "\ntouch {m}\n", "' ; touch {m} '"]
    )
    def test_nothing_in_a_word_runs_when_the_line_is_pasted(self, text: str, tmp_path: Path) -> None:
        mark = tmp_path / "ran"
        words = ["true", "vllm", "serve", text.format(m=mark), f"--served-model-name={text.format(m=mark)}"]
        for launch in launches_of(Command(words=plain([f"VLLM_X={text.format(m=mark)}", *words]))):
            for shell in ("bash", "sh"):
                subprocess.run([shell, "-c", launch.line()], capture_output=True, check=False, timeout=20, cwd=tmp_path)
        assert not mark.exists()

    def test_variables_that_a_shell_puts_in_stay_one_word(self) -> None:
        (launch,) = launches_in('vllm serve "$MODEL" --served-model-name "${A}x"')
        assert launch.line() == 'vllm serve "$MODEL" --served-model-name "${A}x"'
        assert all(isinstance(word, Word) for word in launch.words)


COMMANDS = ["$(touch {m})", "`touch {m}`", "$$(touch {m})", "${{X:-$(touch {m})}}", "; touch {m}", "%N", "& touch {m}"]


class TestLaunchFiles:
    """A file that an operator was sent is read; nothing in it is run, loaded or followed."""

    @pytest.mark.parametrize("text", COMMANDS)
    @pytest.mark.parametrize("kind", ["compose", "kubernetes", "unit", "command"])
    def test_run_nothing(self, text: str, kind: str, hostile: Desk, tmp_path: Path) -> None:
        mark = tmp_path / "work" / "ran"
        mark.parent.mkdir()
        evil = text.format(m=mark)
        file = mark.parent / "launch"
        line = f"vllm serve org/bad --served-model-name {evil}"
        quoted = json.dumps(line)
        file.write_text(
            {
                "compose": f"services:\n  a:\n    entrypoint: [sh, -c, {quoted}]\n"
                f"    environment: {{X: {json.dumps(evil)}}}\n",
                "kubernetes": "kind: Pod\nspec:\n  containers:\n  - name: a\n"
                f"    command: [sh, -c]\n    args: [{quoted}]\n    env: [{{name: X, value: {json.dumps(evil)}}}]\n",
                "unit": f"[Service]\nEnvironment={json.dumps('X=' + evil)}\nExecStart=sh -c {quoted}\n",
                "command": line,
            }[kind]
        )
        before = tree_state(tmp_path)
        source = ("--command", line) if kind == "command" else (f"--{kind}", str(file))
        done = run(hostile, "advise", *source)
        assert done.code in {0, 1, 3}
        assert "Traceback" not in done.err
        assert tree_state(tmp_path) == before

    @pytest.mark.parametrize(
        "text",
        [
            "!!python/object/apply:os.system ['touch {m}']",
            "services: !!python/object/new:subprocess.check_output [[touch, {m}]]",
            "services: {{a: {{command: !!python/name:os.system , image: x}}}}",
            "services: {{a: {{env_file: [{m}/../secret, /proc/self/environ], command: vllm serve org/bad}}}}",
            "services: {{a: {{extends: {{file: {m}, service: b}}, command: vllm serve org/bad}}}}",
            "include: [{m}]\nservices: {{a: {{command: vllm serve org/bad}}}}",
        ],
    )
    def test_load_nothing_and_show_no_other_file(self, text: str, hostile: Desk, tmp_path: Path) -> None:
        pytest.importorskip("yaml")
        mark = tmp_path / "work" / "ran"
        mark.parent.mkdir()
        (tmp_path / "secret").write_text("ROW=do-not-show-me\n")
        (mark.parent / "c.yaml").write_text(text.format(m=mark))
        before = tree_state(tmp_path)
        done = run(hostile, "advise", "--compose", str(mark.parent / "c.yaml"))
        assert done.code in {0, 1, 3}
        assert "do-not-show-me" not in done.out + done.err
        assert "Traceback" not in done.err
        assert tree_state(tmp_path) == before

    @pytest.mark.parametrize(
        "word", ["--a ", "-a ", "a=b ", "--api-key ", "token:", "'x' ", "--x.y={ ", "$A ", "sh -c "]
    )
    def test_a_megabyte_of_anything_is_soon_read(self, word: str, hostile: Desk, tmp_path: Path) -> None:
        unit = tmp_path / "v.service"
        unit.write_text(f"[Service]\nExecStart=/bin/vllm serve org/bad {word * (900_000 // len(word))}\n")
        done = run(hostile, "advise", "--unit", str(unit))
        assert done.code in {0, 1, 3}
        assert "Traceback" not in done.err


def run(desk: Desk, *arguments: str) -> Done:
    """Run the command line as a process of its own, in an empty environment: what hangs is a failure."""
    command = [sys.executable, "-m", "patchctl", *arguments, "--site", str(desk.site), "--registry", str(desk.registry)]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(desk.site.parent)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env)
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


class TestWhatMatters:
    @pytest.fixture
    def desk(self, tmp_path: Path) -> Desk:
        registry = make_registry(tmp_path / "registry")
        avoid = [{"args": ["--max-num-seqs", "1"]}]
        folder = add_entry(registry, "one", None, kind="advisory", avoid=avoid)
        with (folder / "patch.toml").open("a") as file:
            file.write('\n[[trigger]]\njson = {"--speculative-config" = {"method" = ["mtp"]}}\n')
            file.write('\n[[trigger]]\nmodel = ["*bad*"]\nenv = {VLLM_USE_DEEP_GEMM = ["", "1"]}\n')
        return Desk(site=make_site(tmp_path, {"vllm/a.py": b"a = 1\n"}, build="0.25.1"), registry=registry)

    def test_an_object_that_cannot_be_read_is_no_answer_where_it_matters(self, desk: Desk) -> None:
        done = desk.json("advise", "--command", "vllm serve org/m --speculative-config '{\"method\": '")
        (problem,) = done.document["errors"]
        assert (done.code, problem["code"], problem["patch"]) == (3, "unread-option", "one")
        assert "--speculative-config" in problem["message"]
        elsewhere = desk.json("advise", "--command", "vllm serve org/m --compilation-config '{\"a\": '")
        assert (elsewhere.code, elsewhere.document["errors"]) == (0, [])

    def test_a_variable_that_is_set_to_nothing_is_told_as_that(self, desk: Desk) -> None:
        for line, words in (("VLLM_USE_DEEP_GEMM= ", "is set to nothing"), ("", "is not set")):
            (launch,) = desk.json("advise", "--command", f"{line}{BAD}").document["advice"]["launches"]
            assert f"VLLM_USE_DEEP_GEMM {words}" in launch["entries"][0]["reason"]

    def test_variables_that_stand_for_secrets_are_told(self, desk: Desk) -> None:
        line = f"HF_TOKEN=hf_abcdefghij sshpass -p s3cr3t ssh host {BAD} --api-key s3cr3t2"
        for done in (desk.run("advise", "--command", line), desk.json("advise", "--command", line)):
            assert "s3cr3t" not in done.out + done.err
            assert "hf_abc" not in done.out + done.err
            assert "sshpass -p '***' ssh host vllm serve" in done.out
            assert "$HF_TOKEN, $VLLM_API_KEY in a command stand for what is secret: set first" in done.out + done.err
