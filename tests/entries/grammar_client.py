"""The OpenAI server's answer, from a release's own code, to a request that its engine ended with an error.

Real are the serving classes, their base and the error responses; the engine's output is handed in, and the response
models write down what they were given. Nothing here knows whether the release is patched.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
import logging
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

from tests.entries.grammar_stubs import Stub, imported

_ENTRYPOINTS = "vllm/entrypoints/"
CHAT = _ENTRYPOINTS + "openai/chat_completion/serving.py"
COMPLETION = _ENTRYPOINTS + "openai/completion/serving.py"
PROTOCOL = _ENTRYPOINTS + "openai/engine/protocol.py"
OPTIONAL = (
    _ENTRYPOINTS + "openai/engine/serving.py",
    _ENTRYPOINTS + "generate/base/serving.py",
    _ENTRYPOINTS + "serve/engine/serving.py",
    _ENTRYPOINTS + "utils.py",
    _ENTRYPOINTS + "serve/utils/api_utils.py",
    _ENTRYPOINTS + "serve/utils/error_response.py",
)
"""Where the base of the serving classes and the error responses are in one release or another."""

FILES = (CHAT, COMPLETION, PROTOCOL, *OPTIONAL)


def streamed(files: Mapping[str, bytes], *, chat: bool, finish_reason: str | None = "error") -> list[Any]:
    """Return the events of a streamed answer of which the engine gave one output, without a token.

    An event is the JSON document after ``data: ``, or the text itself where it is no JSON (``[DONE]``).
    """
    result = _output(finish_reason)
    with _serving(files, chat=chat) as (server, args):
        if chat:
            generator = server.chat_completion_stream_generator(
                conversation=[], result_generator=_results(result), **args
            )
        else:
            generator = server.completion_stream_generator(
                engine_inputs=[], num_prompts=1, created_time=0, result_generator=_results((0, result)), **args
            )
        return [_event(text) for text in asyncio.run(_all(generator))]


def answered(files: Mapping[str, bytes], *, chat: bool) -> HTTPStatus:
    """Return the HTTP status of an answer that is not streamed, to a request that ended with an error."""
    result = _output("error")
    with _serving(files, chat=chat) as (server, args):
        try:
            if chat:
                results = _results(result)
                asyncio.run(server.chat_completion_full_generator(conversation=[], result_generator=results, **args))
            else:
                server.request_output_to_completion_response(final_res_batch=[result], created_time=0, **args)
        except Exception as error:
            status = getattr(error, "status_code", None)
            if status is None:
                raise
            return HTTPStatus(status)
        return HTTPStatus.OK


class _Record:
    """Stands for a pydantic model: what it was given, as a document."""

    def __init__(self, **fields: object) -> None:
        self.fields = fields

    def __setattr__(self, name: str, value: object) -> None:
        if name == "fields":
            object.__setattr__(self, name, value)
        else:
            self.fields[name] = value

    def model_dump(self, **_: object) -> Any:
        return _plain(self)

    def model_dump_json(self, **_: object) -> str:
        return json.dumps(_plain(self))


def _plain(value: object) -> Any:
    if isinstance(value, _Record):
        return {name: _plain(field) for name, field in value.fields.items() if field is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float) else str(value)


@contextlib.contextmanager
def _serving(files: Mapping[str, bytes], *, chat: bool) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield a serving object of the release, made without its constructor, and the arguments all calls share."""
    path, name = (CHAT, "OpenAIServingChat") if chat else (COMPLETION, "OpenAIServingCompletion")
    models = ("ErrorResponse", "ErrorInfo", "DeltaMessage", "UsageInfo")
    protocol: dict[str, object] = {model: _record(model) for model in models} | {
        "GenerationError": _generation_error(files)
    }
    streams = {model: _record(model) for model in _STREAM_MODELS}
    extra: dict[str, dict[str, object]] = {
        "regex": {"sub": re.sub, "compile": re.compile},
        "vllm.logger": {"init_logger": logging.getLogger},
        "vllm.entrypoints.openai.engine.protocol": protocol,
        "vllm.entrypoints.openai.chat_completion.protocol": streams,
        "vllm.entrypoints.openai.completion.protocol": streams,
    }
    for module in ("vllm.entrypoints.utils", "vllm.entrypoints.serve.utils.api_utils"):
        extra[module] = {"should_include_usage": lambda options, forced: (False, False)}
    with imported(files, [path, *(name for name in OPTIONAL if name in files)], extra) as load:
        server = object.__new__(getattr(load(path.removesuffix(".py").replace("/", ".")), name))
        server.__dict__.update(parser_cls=None, tool_parser=None, use_harmony=False, response_role="assistant")
        server.__dict__.update(enable_log_outputs=False, tool_call_id_type="random", enable_force_include_usage=False)
        server.__dict__.update(enable_prompt_tokens_details=False)
        request = Stub(n=1, stream_options=None, messages=[], max_tokens=3, add_generation_prompt=True, logprobs=None)
        request.__dict__.update(echo=False, return_token_ids=False, tool_choice="none", tools=None)
        args = {"request": request, "request_id": "id", "model_name": "m", "tokenizer": None}
        yield server, args | {"request_metadata": SimpleNamespace()}


_STREAM_MODELS = (
    "ChatCompletionResponseStreamChoice", "ChatCompletionStreamResponse",
    "CompletionResponseStreamChoice", "CompletionStreamResponse",
)  # fmt: skip


def _record(name: str) -> object:
    return type(name, (_Record,), {})


def _generation_error(files: Mapping[str, bytes]) -> type[Exception]:
    """Return the release's own exception for an error in the engine."""
    tree = ast.parse(files[PROTOCOL])
    (found,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "GenerationError")
    names: dict[str, Any] = {"HTTPStatus": HTTPStatus}
    exec(compile(ast.Module(body=[found], type_ignores=[]), PROTOCOL, "exec"), names)
    error: type[Exception] = names["GenerationError"]
    return error


def _output(finish_reason: str | None) -> SimpleNamespace:
    """What AsyncLLM yields for an ``EngineCoreOutput`` without a token."""
    output = SimpleNamespace(index=0, text="", token_ids=[], logprobs=None, stop_reason=None)
    output.finish_reason = finish_reason
    return SimpleNamespace(
        outputs=[output], prompt="p", prompt_token_ids=[1, 2], encoder_prompt_token_ids=None, prompt_logprobs=None,
        num_cached_tokens=0, finished=True, kv_transfer_params=None,
    )  # fmt: skip


async def _results(*results: object) -> AsyncIterator[Any]:
    for result in results:
        yield result


async def _all(events: AsyncIterator[str]) -> list[str]:
    return [event async for event in events]


def _event(text: str) -> Any:
    data = text.removeprefix("data: ").strip()
    return json.loads(data) if data.startswith("{") else data
