"""What the client of a request sees whose grammar did not compile, from the release's own server code."""

from __future__ import annotations

from http import HTTPStatus

import pytest

from tests.entries.grammar_client import answered, streamed
from tests.entries.grammar_entry import AFFECTED, patched_files, wheel_files

pytestmark = [pytest.mark.wheels, pytest.mark.parametrize("version", AFFECTED)]

APIS = pytest.mark.parametrize("chat", [True, False], ids=["chat", "completions"])
ERROR = {"error": {"message": "Internal server error", "type": "InternalServerError", "code": 500}}


@APIS
def test_an_answer_in_one_piece_is_http_500(version: str, chat: bool) -> None:
    assert answered(patched_files(version), chat=chat) is HTTPStatus.INTERNAL_SERVER_ERROR


@APIS
def test_a_streamed_answer_ends_with_an_error_event(version: str, chat: bool) -> None:
    events = streamed(patched_files(version), chat=chat)
    assert events[-2:] == [ERROR, "[DONE]"]
    assert len(events) == (3 if chat else 2)
    assert not chat or events[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}


@APIS
def test_without_the_patch_a_streamed_answer_ends_as_if_nothing_had_happened(version: str, chat: bool) -> None:
    events = streamed(wheel_files(version), chat=chat)
    assert events[-1] == "[DONE]"
    assert not any("error" in event for event in events)


@APIS
def test_an_empty_chunk_that_is_no_error_is_still_skipped(version: str, chat: bool) -> None:
    chunks = [streamed(files(version), chat=chat, finish_reason=None) for files in (wheel_files, patched_files)]
    assert _timeless(chunks[0]) == _timeless(chunks[1])
    assert not any("error" in event for event in chunks[1])


def _timeless(events: list[object]) -> list[object]:
    return [
        {k: v for k, v in event.items() if k != "created"} if isinstance(event, dict) else event for event in events
    ]
