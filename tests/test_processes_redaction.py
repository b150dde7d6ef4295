"""What is shown of a command line has no secret in it, whatever way it was passed, and costs no time."""

from __future__ import annotations

import pytest

from patchctl.processes.redaction import LONGEST, redacted

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
    ],
)
def test_what_is_no_secret_stays(arguments: list[str]) -> None:
    assert redacted(arguments) == " ".join(arguments)


def test_the_other_options_stay_beside_a_secret() -> None:
    assert redacted(["vllm", "--api-key", "a", "--port", "8000"]) == "vllm --api-key *** --port 8000"


@pytest.mark.parametrize("word", ["-a_key-", "key ", "_", "a-", "a key = ", "-", "'", "token:", "x.key="])
def test_a_hostile_command_line_is_short_and_soon_done(word: str) -> None:
    assert len(redacted([word * 100_000])) <= LONGEST
