"""What is shown of a command line has no secret in it, whatever way it was passed, and costs no time."""

from __future__ import annotations

import pytest

from patchctl.processes import shown_arguments, without_secrets
from patchctl.processes.redaction import LONGEST, redacted

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
        ["x", f"-----BEGIN PRIVATE KEY-----\nMII{SECRET}"],
        [f"HF_TOKEN=\n{SECRET}"],
        [f"HF_TOKEN=a\tb {SECRET}"],
        *(
            [f"{start}{SECRET.replace('-', '')}12345678"]
            for start in ("github_pat_", "nvapi-", "sk_live_", "npm_", "whsec_")
        ),
        *([f"{start}{SECRET.replace('-', '')}12345678"] for start in ("glpat-", "AIza", "dckr_pat_", "pypi-", "ya29.")),
    ],
)
def test_a_secret_is_not_shown(arguments: list[str]) -> None:
    shown = redacted(arguments)
    assert SECRET.lower().replace("-", "") not in shown.lower().replace("-", "")
    assert "***" in shown


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
        ["TOKENIZERS_PARALLELISM=false", "VLLM_USE_V1=1", "NCCL_DEBUG=INFO", "-tp", "2", "-p", "8000"],
    ],
)
def test_what_is_no_secret_stays(arguments: list[str]) -> None:
    assert redacted(arguments) == " ".join(arguments)


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
    "piece", ["token:", "x.key=", "a:", "a:b@", "curl -u ", "-----BEGIN PRIVATE KEY-----", "key ", "\n"]
)
def test_a_megabyte_is_soon_looked_through(piece: str) -> None:
    """Each name took its value to the end of the text: three minutes for a megabyte of ``token:``."""
    text = piece * (1_000_000 // len(piece))
    assert "\0" not in without_secrets(text)
    assert len(redacted([text] * 3)) <= LONGEST


@pytest.mark.parametrize("word", ["-a_key-", "key ", "_", "a-", "a key = ", "-", "'", "token:", "x.key="])
def test_a_hostile_command_line_is_short_and_soon_done(word: str) -> None:
    assert len(redacted([word * 100_000])) <= LONGEST
