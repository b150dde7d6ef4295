"""What is shown of a command line has no secret in it, whatever way it was passed, and costs no time."""

from __future__ import annotations

import ast
import json
import zipfile

import pytest

from patchctl.launch.table import every_option
from patchctl.processes import HIDDEN, is_secret, shown_arguments, without_secrets
from patchctl.processes.redaction import LONGEST, redacted
from tests.wheels import RELEASES, WheelUnavailableError, slim_wheel

pytestmark = [pytest.mark.attack("proc-secrets")]

SECRET = "s3cr3t-V4lue"


@pytest.mark.parametrize(
    "arguments",
    [
        ["vllm", "serve", "--api-key", SECRET, "--port", "1"],
        ["--api-key", "first", SECRET],
        [f"--api-key={SECRET}"],
        [f"--apikey={SECRET}"],
        ["--api_key", SECRET],
        ["--hf-token", SECRET],
        ["--hfToken", SECRET],
        [f"HF_TOKEN={SECRET}"],
        ["env", f"OPENAI_API_KEY={SECRET}", "vllm"],
        [f"AWS_SECRET_ACCESS_KEY={SECRET}"],
        ["--password", f"with blanks -and dashes {SECRET}"],
        [f"--db-password=with blanks {SECRET}"],
        [f"python -m vllm --api-key {SECRET} --port 8000"],
        ["sh", "-c", f"export HF_TOKEN={SECRET}; vllm serve"],
        ["sh", "-c", f"HF_TOKEN='a b {SECRET}' vllm serve"],
        ["--config", f'{{"api_key": "{SECRET}", "port": 1}}'],
        ["--config", f"{{'token': '{SECRET}'}}"],
        ["-H", f"Authorization: Bearer {SECRET}"],
        ["-H", f"X-Api-Key: {SECRET}"],
        ["curl", f"https://user:{SECRET}@host/path"],
        ["curl", f"https://host/path?a=1&access_token={SECRET}&b=2"],
        [f"hf_{SECRET.replace('-', '')}"],
        [f"sk-{SECRET}"],
        ["--credentials", SECRET],
        ["python", "-c", f"import os; os.environ['HF_TOKEN']='{SECRET}'"],
        ["--data", f'{{\\"token\\":\\"{SECRET}\\"}}'],
        ["-H", f"Cookie: a=1; session={SECRET}"],
        [f"https://host/blob?sig={SECRET}&a=1"],
        ["--" + "x" * 120 + "-key", SECRET],
        ["curl", "-u", f"user:{SECRET}", "http://host/"],
        ["curl", f"-uuser:{SECRET}"],
        ["/usr/bin/curl", "--user", f"user:{SECRET}"],
        ["curl", "-b", f"session={SECRET}"],
        ["curl", f"-HX-Api-Key: {SECRET}"],
        ["--header", f"PRIVATE-TOKEN: {SECRET}"],
        ["mysql", f"-p{SECRET}", "db"],
        ["mysqldump", "-u", "root", f"-p{SECRET}"],
        ["redis-cli", "-a", SECRET],
        ["redis-server", "--requirepass", SECRET],
        ["redis-server", "--masterauth", SECRET],
        ["wandb", "login", SECRET],
        ["service", "--passcode", SECRET],
        ["service", "--pw", SECRET],
        ["sshpass", "-p", SECRET, "ssh", "host"],
        ["sshpass", f"-p{SECRET}", "ssh", "host"],
        ["env", f"SSHPASS={SECRET}", "sshpass", "-e"],
        ["ssh", "-o", f"ProxyCommand=sshpass -p {SECRET} ssh x"],
        ["docker", "login", "-p", SECRET, "-u", "me"],
        ["ldapsearch", "-w", SECRET],
        ["smbclient", "-U", f"user%{SECRET}"],
        ["bash", "-c", f"curl -u me:{SECRET} x && mysql -p{SECRET}"],
        ["psql", f"postgresql://user:{SECRET}@host/db"],
        ["x", f"redis://:{SECRET}@host:6379"],
        ["x", f"https://{SECRET}@github.com/x"],
        ["x", f"user:{SECRET}@host"],
        ["x", f"jdbc:mysql://h/db?user=u&password={SECRET}"],
        ["x", f"AccountKey={SECRET};EndpointSuffix=x"],
        ["openssl", "-passin", f"pass:{SECRET}"],
        ["vllm", "serve", "--api-k", SECRET],
        ["vllm", "serve", "--hf-tok", SECRET],
        ["vllm", "serve", "--api-key", f"-{SECRET}"],
        ["python", "-c", f"login(token='{SECRET}')"],
        ["--kv-transfer-config", f'{{"a":{{"redis_password":"{SECRET}"}}}}'],
        ["htpasswd", "-b", "/etc/f", "user", SECRET],
        ["htpasswd", "-nbB", "user", SECRET],
        ["htpasswd", "-c", "-b", "-C", "10", "/etc/f", "vllm", SECRET],
        ["docker", "exec", "c", "htpasswd", "-bc", "f", "user", f"-{SECRET}"],
        ["sh", "-c", f"htpasswd -cb f user {SECRET} && vllm serve m"],
        ["curl", "-sSu", f"user:{SECRET}"],
        ["curl", f"-suuser:{SECRET}"],
        ["curl", f"--user=user:{SECRET}"],
        ["curl", "--cert", f"client.pem:{SECRET}"],
        ["http", "-a", f"user:{SECRET}"],
        ["mysqlimport", f"-p{SECRET}", "db"],
        ["mysql", f"-Np{SECRET}", "db"],
        ["mariadb-check", f"-p{SECRET}"],
        ["mongosh", "-u", "me", "-p", SECRET],
        ["curl", "-H", f"Authorization: {SECRET}"],
        ["curl", "-H", f"Authorization: Token {SECRET}"],
        ["curl", "-H", f'Authorization: Digest username="x", response="{SECRET}"'],
        ["curl", f"-HProxy-Authorization: Negotiate {SECRET}"],
        ["curl", f"--header=Authorization: ApiKey {SECRET}"],
        ["sh", "-c", f"curl -H 'Authorization: Token {SECRET}' http://host"],
        ["sh", "-c", f'curl -H \'Authorization: Digest username="x", response="{SECRET}"\' http://host'],
        ["sh", "-c", f"curl -H Authorization:\\ Token\\ {SECRET} http://host"],
        ["curl", "-H", "Authorization:", "Token", SECRET],
        ["x", f"https://host/path?a=1&api%5Fkey={SECRET}&b=2"],
        ["x", f"https://host/path?%61pi_key={SECRET}"],
        ["x", f"https://host/path?api%255Fkey={SECRET}"],
        ["x", f"https://host/path?params%5Btoken%5D={SECRET}"],
        ["x", f"https://host/path?next=%2Fx%3Ftoken%3D{SECRET}%26b%3D1"],
        ["x", f"https://host/path?a=%7B%22token%22%3A%22{SECRET}%22%7D"],
        ["x", f"https://user%3A{SECRET}@host/path"],
        ["x", f"https://host/path?token={SECRET}"],
        ["x", f"https://host/path#access_token={SECRET}"],
        ["x", f"https://host/path?X-Amz-Algorithm=a&X-Amz-Signature={SECRET}"],
        ["x", f"https://host/path?X-Amz-Security-Token={SECRET}"],
        ["x", f"https://host/path?X-Goog-Signature={SECRET}"],
        ["x", f"https://hooks.slack.com/services/T000/B000/{SECRET.replace('-', '')}"],
        ["x", f"-----BEGIN PRIVATE KEY-----\nMII{SECRET}"],
        [f"HF_TOKEN=\n{SECRET}"],
        [f"HF_TOKEN=a\tb {SECRET}"],
    ],
)
def test_a_secret_is_not_shown(arguments: list[str]) -> None:
    shown = redacted(arguments)
    assert SECRET.lower().replace("-", "") not in shown.lower().replace("-", "")
    assert "***" in shown


LETTERS = "kLmNoPqRsTuVwXyZaBcDeFgHiJkLmNoPqR"
"""Thirty-four, of which a token of Hugging Face is made."""


@pytest.mark.parametrize(
    "key",
    [
        *(
            f"{start}{LETTERS}"
            for start in ("hf_", "api_org_", "sk-", "sk-proj-", "sk-ant-api03-", "sk_live_", "whsec_")
        ),
        *(f"{start}{LETTERS}" for start in ("ghp_", "gho_", "ghs_", "github_pat_", "npm_", "pypi-", "dckr_pat_")),
        *(f"{start}-{LETTERS}" for start in ("glpat", "gldt", "glrt", "glrtr", "glcbt", "glptt", "glagent", "glsoat")),
        *(f"{start}{LETTERS}" for start in ("xoxb-1234-", "xoxp-1234-", "xapp-1-A0-", "xoxe.xoxp-1-")),
        *(
            f"{start}{LETTERS}"
            for start in ("nvapi-", "gsk_", "r8_", "pplx-", "xai-", "tvly-dev-", "lsv2_pt_", "glsa_")
        ),
        *(f"{start}{LETTERS}" for start in ("AIza", "ya29.", "GOCSPX-", "LTAI", "hvs.", f"SG.{LETTERS}.")),
        f"hf_{LETTERS.lower()}",
        "AKIAIOSFODNN7EXAMPLE",
        "ASIAIOSFODNN7EXAMPLE",
        f"dop_v1_{'0123456789abcdef' * 4}",
        f"dapi{'0123456789abcdef' * 2}",
        f"AGE-SECRET-KEY-1{LETTERS.upper()}",
        f"eyJ{LETTERS}.eyJ{LETTERS}.{LETTERS}",
    ],
)
def test_what_looks_like_a_key_is_not_shown_wherever_it_stands(key: str) -> None:
    for arguments in (["x", key], [f"x={key}"], ["sh", "-c", f"x '{key}'"], [f"https://host/{key}?a=1"]):
        shown = redacted(arguments)
        assert LETTERS.lower() not in shown.lower()
        assert key not in shown
        assert HIDDEN in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["vllm", "serve", "model", "--max-num-batched-tokens", "8192"],
        ["--tokenizer", "qwen", "--max_tokens=5", "--ssl-keyfile", "/etc/key.pem"],
        ["VLLM::EngineCore"],
        ["python", "-c", "import time; time.sleep(60)"],
        ["--host", "0.0.0.0", "--url", "http://host:8000/v1"],
        ["--key-length", "8192", "--max-tokens", "5", "--num-speculative-tokens", "3", "--token-budget", "7"],
        ["--model", "/models/token-model", "--chat-template", "/x/tok.jinja", "--tokenizer-mode", "auto"],
        ["--speculative-config", '{"num_speculative_tokens":3}'],
        ["--password-file", "/etc/pw", "--api-key-file", "/etc/k", "--ssl-certfile", "/etc/c.pem"],
        ["docker", "run", "-p", "8000:8000", "-u", "1000:1000", "vllm/vllm-openai:v0.20@sha256:0123456789abcdef"],
        ["sudo", "-u", "vllm", "ssh", "-p", "2222", "user@host", "git@github.com:x/y"],
        ["mkdir", "-p", "/x/y", "--sort-key", "pid", "--monkey", "x", "--signature-version", "v4"],
        ["--eos-token-id", "77", "--pad-token-ids", "1", "--long-prefill-token-threshold", "2048"],
        ["sshpass", "-e", "ssh", "-p", "2222", "host", "vllm", "serve", "m", "-p", "80"],
        ["docker", "login", "-u", "me", "&&", "docker", "run", "-p", "80:80"],
        ["vllm", "serve", "--allow-credentials", "model", "--load-format", "basic", "--port", "1"],
        ["vllm", "serve", "model", "--hf_overrides", '{"a":1}', "--hf-config-path", "/x"],
        ["pip", "install", "hf_transfer", "pplx-7b-online", "urchade/gliner-multitask-large-v0.5"],
        ["--override-generation-config", '{"skip_special_tokens":true,"think_start_token_id":7}'],
        ["--quantization-config", '{"fp8_per_token":1}', "--compilation-config", '{"post_grad_custom_post_pass":"x"}'],
        ["htpasswd", "-b", "&&", "vllm", "serve", "model", "a", "b", "c"],
        ["curl", "-sSfL", "--unix-socket", "/run/x", "http://host/a%20b?page=%31&q=a%2Fb%3Dc"],
        ["mysql", "-h", "host", "-P", "3306", "-p", "db"],
        ["--chat-template-content-format", "openai", "--date", "%Y-%m-%dT%H:%M:%S", "--percent", "100%"],
        ["curl", "-H", "Content-Type: application/json", "-H", "Accept: a/b", "http://host:1/authorization/x"],
        ["TOKENIZERS_PARALLELISM=false", "VLLM_USE_V1=1", "NCCL_DEBUG=INFO", "-tp", "2", "-p", "8000"],
    ],
)
def test_what_is_no_secret_stays(arguments: list[str]) -> None:
    assert redacted(arguments) == " ".join(arguments)


SECRET_OPTIONS = {"--api-key", "--hf-token"}
VALUES = ("value", "5", "0.9", "auto", "/models/a-b_c.d", "http://host:8000/v1", "basic", '{"a":{"b":[1,"c"]}}')


@pytest.mark.parametrize("value", VALUES)
def test_of_all_options_of_vllm_only_those_of_secrets_lose_their_value(value: str) -> None:
    for option in every_option():
        spellings = {option, option.replace("-", "_").replace("__", "--", 1)}
        for spelled in spellings:
            config = f"{{{json.dumps(option.lstrip('-'))}:{value if value[0] == '{' else json.dumps(value)}}}"
            for given in ([spelled, value], [f"{spelled}={value}"], ["--config", config]):
                line = ["vllm", "serve", "model", *given, "--port", "8000"]
                hides = option in SECRET_OPTIONS
                assert (redacted(line) != " ".join(line)) is hides, line


@pytest.mark.wheels
def test_no_field_of_the_configuration_of_vllm_is_taken_for_a_secret() -> None:
    """Those are the keys of the JSON that ``--compilation-config`` and the like take."""
    try:
        wheel = slim_wheel(RELEASES[-1])
    except WheelUnavailableError as error:
        pytest.skip(str(error))
    fields = set()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith("vllm/config/") and name.endswith(".py"):
                owners = [it for it in ast.walk(ast.parse(archive.read(name))) if isinstance(it, ast.ClassDef)]
                kept = [it for owner in owners for it in owner.body if isinstance(it, ast.AnnAssign)]
                fields |= {ast.unparse(it.target) for it in kept}
    assert len(fields) > 300
    worked_out = {"key", "derived_max_model_len_and_key"}  # by vLLM itself; nobody gives them
    assert {name for name in fields if is_secret(f"--{name}")} - worked_out == {"hf_token"}


def test_the_other_options_stay_beside_a_secret() -> None:
    assert redacted(["vllm", "--api-key", "a", "--port", "8000"]) == "vllm --api-key *** --port 8000"


def test_each_argument_keeps_its_place() -> None:
    given = [
        "sshpass",
        "-p",
        SECRET,
        "vllm",
        "serve",
        "a b",
        "--api-key",
        SECRET,
        SECRET,
        "-tp",
        "2",
        "",
        f"X_TOKEN={SECRET}",
    ]
    shown = ["sshpass", "-p", "***", "vllm", "serve", "a b", "--api-key", "***", "***", "-tp", "2", "", "X_TOKEN=***"]
    assert shown_arguments(given) == tuple(shown)


@pytest.mark.parametrize(
    "piece",
    [
        *("token:", "x.key=", "a:", "a:b@", "curl -u ", "-----BEGIN PRIVATE KEY-----", "key ", "\n"),
        *(
            "%5F",
            "%25",
            "a%3Db ",
            "%74oken%3Dx",
            "authorization: a ",
            "'authorization:",
            'authorization: a "b, ',
            "hf_",
        ),
        *("SG.aaaaaaaaaaaaaaaaaaaa", "htpasswd -b ", "authorization:\\ "),
    ],
)
def test_a_megabyte_is_soon_looked_through(piece: str) -> None:
    """Each name took its value to the end of the text: three minutes for a megabyte of ``token:``."""
    text = piece * (1_000_000 // len(piece))
    assert "\0" not in without_secrets(text)
    assert len(redacted([text] * 3)) <= LONGEST


@pytest.mark.parametrize("word", ["-a_key-", "key ", "_", "a-", "a key = ", "-", "'", "token:", "x.key="])
def test_a_hostile_command_line_is_short_and_soon_done(word: str) -> None:
    assert len(redacted([word * 100_000])) <= LONGEST
