"""The first net of ``vllm-mm-placeholder-degrade``: both runners' gather, taken from really patched releases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.entries.mm_code import Item, Log, Request, Runner, V1Runner, V2Runner, Window, load_merge, watch_operations
from tests.entries.mm_patched import entry

torch: Any = pytest.importorskip("torch", reason="runs vLLM's functions with CPU torch")
pytest.importorskip("numpy", reason="the runners hand numpy arrays about")

pytestmark = [pytest.mark.torch, pytest.mark.wheels]

RELEASES = ("0.19.1", "0.20.0", "0.23.0", "0.24.0", "0.25.1", "0.26.0", "0.27.0", "0.33.0")
"""Both ends of every variant, and the releases around each change of the two functions."""

WIDTH = 8
RUNNERS = {"v1": V1Runner, "v2": V2Runner}


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=sorted(RUNNERS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def rows(count: int, seed: int, dtype: Any = torch.float32) -> Any:
    """Return ``count`` embeddings of which no value is zero."""
    return (torch.rand(count, WIDTH, generator=torch.Generator().manual_seed(seed)) + 1).to(dtype)


def image(
    offset: int, placeholders: int, *, given: int | None = None, seed: int = 1, dtype: Any = torch.float32
) -> Item:
    """Return an item whose encoder output has ``given`` rows, the first ones of the full output."""
    return Item(offset=offset, length=placeholders, rows=rows(placeholders, seed, dtype)[:given])


def whole(*requests: Request) -> list[Window]:
    """Return the step that does all of the requests' prompts."""
    return [Window(request=request, computed=0, scheduled=request.tokens) for request in requests]


def merged(
    release: str, runner: Runner, step: Sequence[Window], *, ahead: int = 0, dtype: Any = torch.float32
) -> list[Any]:
    """Gather a step, merge it into token embeddings of -1 with the release's merge, and return each request's part."""
    embeds, mask = runner.gather(step, ahead=ahead)
    log = Log()
    tokens = torch.full((len(mask), WIDTH), -1.0, dtype=dtype)
    out = load_merge(release, log)(tokens, embeds, mask)
    assert log.warnings == []
    return list(out.split([window.scheduled for window in step]))


def padded(item: Item, length: int) -> Any:
    """Return the item's rows with zero rows at the tail."""
    return torch.cat([item.rows, item.rows.new_zeros(length - len(item.rows), WIDTH)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["fp32", "bf16"])
def test_a_short_item_is_padded_at_its_own_tail_and_no_other_request_moves(release: str, kind: str, dtype: Any) -> None:
    def step_of(given: int | None) -> tuple[list[Any], list[str]]:
        requests = (
            Request(name="a", tokens=120, items=(image(5, 100, seed=1, dtype=dtype),)),
            Request(name="b", tokens=350, items=(image(14, 327, given=given, seed=2, dtype=dtype),)),
            Request(name="c", tokens=110, items=(image(1, 100, seed=3, dtype=dtype),)),
        )
        log = Log()
        parts = merged(release, RUNNERS[kind](release, requests, log), whole(*requests), dtype=dtype)
        return parts, log.warnings

    faultless, none = step_of(None)
    faulty, warnings = step_of(303)

    assert none == []
    assert torch.equal(faulty[0], faultless[0])
    assert torch.equal(faulty[2], faultless[2])
    assert torch.equal(faulty[1][: 14 + 303], faultless[1][: 14 + 303])
    assert torch.count_nonzero(faulty[1][14 + 303 : 14 + 327]) == 0
    assert torch.equal(faulty[1][14 + 327 :], faultless[1][14 + 327 :])
    assert warnings == [
        "mm placeholder mismatch: pad 303 embeddings to 327 placeholders (item at token 14 of request b)"
    ]


def test_without_the_patch_the_same_step_is_refused() -> None:
    requests = (
        Request(name="b", tokens=350, items=(image(14, 327, given=303),)),
        Request(name="c", tokens=110, items=(image(1, 100),)),
    )
    embeds, mask = V1Runner("0.20.0", requests, Log(), patched=False).gather(whole(*requests))

    with pytest.raises(ValueError, match="403 multimodal tokens to 427 placeholders"):
        load_merge("0.20.0", Log(), patched=False)(torch.zeros(len(mask), WIDTH), embeds, mask)


@pytest.mark.parametrize("split", [15, 160, 316, 317, 318, 340])
def test_an_item_split_over_two_steps_is_padded_and_counted_once(release: str, kind: str, split: int) -> None:
    request = Request(name="b", tokens=350, items=(image(14, 327, given=303),))
    other = Request(name="c", tokens=110, items=(image(1, 100, seed=3),))
    log = Log()
    runner = RUNNERS[kind](release, (request, other), log)
    first = merged(release, runner, [Window(request=request, computed=0, scheduled=split)])
    last = Window(request=request, computed=split, scheduled=350 - split)
    second = merged(release, runner, [last, *whole(other)])

    item = torch.cat([first[0], second[0]])[14 : 14 + 327]
    assert torch.equal(item, padded(request.items[0], 327))
    assert torch.equal(second[1][1:101], other.items[0].rows)
    assert len(log.warnings) == 1
    assert "pad 303 embeddings to 327 placeholders" in log.warnings[0]


@pytest.mark.parametrize("split", [15, 160, 316, 317, 318, 340, 350])
def test_the_drafters_gather_is_padded_and_not_counted_again(release: str, kind: str, split: int) -> None:
    request = Request(name="b", tokens=350, items=(image(14, 327, given=303),))
    other = Request(name="c", tokens=110, items=(image(3, 100, seed=3),))
    log = Log()
    runner = RUNNERS[kind](release, (request, other), log)
    expected = torch.full((351, WIDTH), -1.0)
    expected[14 : 14 + 327] = padded(request.items[0], 327)
    for computed, scheduled in [(0, split), (split, 350 - split)]:
        step = [Window(request=request, computed=computed, scheduled=scheduled), *whole(other)]
        for ahead in (0, 1) if scheduled else ():
            parts = merged(release, runner, step, ahead=ahead)
            assert torch.equal(parts[0], expected[computed + ahead : computed + ahead + scheduled])
            assert torch.equal(parts[1][3 - ahead : 103 - ahead], other.items[0].rows)

    assert len(log.warnings) == 1


def test_a_mask_over_the_items_tokens_decides_where_rows_and_zeros_go(release: str, kind: str) -> None:
    is_embed = torch.arange(490) % 3 != 0
    placeholders = int(is_embed.sum())
    item = Item(offset=7, length=490, rows=rows(placeholders - 24, 2), is_embed=is_embed)
    request = Request(name="b", tokens=500, items=(item,))
    log = Log()
    runner = RUNNERS[kind](release, (request,), log)
    parts = [
        merged(release, runner, [Window(request=request, computed=start, scheduled=end - start)])[0]
        for start, end in [(0, 100), (100, 470), (470, 500)]
    ]

    taken = torch.cat(parts)[7 : 7 + 490]
    assert torch.equal(taken[is_embed], padded(item, placeholders))
    assert torch.all(taken[~is_embed] == -1)
    assert len(log.warnings) == 1
    assert f"pad {placeholders - 24} embeddings to {placeholders} placeholders" in log.warnings[0]


def test_each_short_item_of_a_request_is_padded_and_counted(release: str, kind: str) -> None:
    items = (image(2, 50, given=49, seed=1), image(60, 50, seed=2), image(120, 50, given=0, seed=3))
    request = Request(name="b", tokens=180, items=items)
    log = Log()
    (part,) = merged(release, RUNNERS[kind](release, (request,), log), whole(request))

    for item in items:
        assert torch.equal(part[item.offset : item.offset + 50], padded(item, 50))
    assert [re.findall(r"\d+", warning)[:3] for warning in log.warnings] == [["49", "50", "2"], ["0", "50", "120"]]


def test_the_same_short_image_counts_wherever_it_stands(release: str, kind: str) -> None:
    twice = tuple(Item(offset=offset, length=50, rows=rows(40, 2), name="image") for offset in (2, 60))
    requests = [Request(name="b", tokens=120, items=twice), Request(name="c", tokens=60, items=twice[:1])]
    log = Log()
    merged(release, RUNNERS[kind](release, requests, log), whole(*requests))

    places = [re.findall(r"item at token (\d+) of request (\w)", warning) for warning in log.warnings]
    assert places == [[("2", "b")], [("60", "b")], [("2", "c")]]


def test_rows_that_no_step_asks_for_are_left_out_in_silence(release: str, kind: str) -> None:
    long = Item(offset=5, length=100, rows=rows(124, 2))
    requests = (Request(name="b", tokens=110, items=(long,)), Request(name="c", tokens=110, items=(image(1, 100),)))
    log = Log()
    parts = merged(release, RUNNERS[kind](release, requests, log), whole(*requests))

    assert torch.equal(parts[0][5:105], long.rows[:100])
    assert torch.equal(parts[1][1:101], requests[1].items[0].rows)
    assert log.warnings == []


def test_the_encoder_cache_keeps_what_the_encoder_gave(release: str, kind: str) -> None:
    request = Request(name="b", tokens=350, items=(image(14, 327, given=303),))
    runner = RUNNERS[kind](release, (request,), Log())
    runner.gather(whole(request))

    assert runner.outputs["b@14"] is request.items[0].rows


def test_items_of_finished_requests_are_forgotten() -> None:
    requests = [Request(name=name, tokens=60, items=(image(2, 50, given=40),)) for name in ("b", "c")]
    runner = V2Runner("0.20.0", requests, Log())
    runner.gather(whole(requests[0]))
    del runner.features["b"]
    runner.gather(whole(requests[1]))

    assert {name for name, *_ in runner.this.short_mm_items} == {"c"}


def test_complete_items_take_the_operations_of_the_unpatched_runner(release: str, kind: str) -> None:
    mask = torch.arange(90) % 3 != 0
    items = (image(2, 50), Item(offset=60, length=90, rows=rows(60, 4), is_embed=mask))
    request = Request(name="b", tokens=180, items=items)

    def run(*, patched: bool) -> tuple[list[str], list[int], list[str]]:
        log = Log()
        runner = RUNNERS[kind](release, (request,), log, patched=patched)
        with watch_operations() as operations:
            embeds, _ = runner.gather(whole(request))
        return operations.names, [embed.data_ptr() for embed in embeds], log.warnings

    operations, places, warnings = run(patched=True)
    assert (operations, places, warnings) == run(patched=False)
    assert places == [item.rows.data_ptr() for item in items]
    assert warnings == []


def _plans(seed: int) -> Iterator[tuple[Request, list[int], bool]]:
    """Yield requests with masks, gaps and short items, and the lengths of the steps that do them."""
    generator = torch.Generator().manual_seed(seed)

    def number(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (1,), generator=generator))

    for _ in range(20):
        items, end = [], number(0, 3)
        for _ in range(number(1, 3)):
            length = number(1, 12)
            mask = None if number(0, 1) else torch.rand(length, generator=generator) < 0.7
            placeholders = length if mask is None else int(mask.sum())
            given = max(0, placeholders - number(0, 4))
            items.append(Item(offset=end, length=length, rows=rows(given, number(0, 999)), is_embed=mask))
            end += length + number(0, 3)
        request = Request(name="b", tokens=end + number(1, 4), items=tuple(items))
        steps: list[int] = []
        while sum(steps) < request.tokens:
            steps.append(min(number(1, 9), request.tokens - sum(steps)))
        yield request, steps, bool(number(0, 1))


def test_any_split_of_any_items_gives_the_rows_of_the_whole_and_one_warning_a_short_item(
    release: str, kind: str
) -> None:
    for request, steps, drafts in _plans(seed=20):
        expected = torch.full((request.tokens + 1, WIDTH), -1.0)
        short = 0
        for item in request.items:
            places = torch.arange(item.offset, item.offset + item.length)
            places = places if item.is_embed is None else places[item.is_embed]
            expected[places] = padded(item, len(places))
            short += len(item.rows) < len(places)
        log = Log()
        runner = RUNNERS[kind](release, (request,), log)
        computed = 0
        for scheduled in steps:
            step = [Window(request=request, computed=computed, scheduled=scheduled)]
            for ahead in (0, 1) if drafts else (0,):
                (part,) = merged(release, runner, step, ahead=ahead)
                assert torch.equal(part, expected[computed + ahead : computed + ahead + scheduled])
            computed += scheduled
        assert len(log.warnings) == short


def test_the_signal_reads_the_warning(kind: str) -> None:
    request = Request(name="b", tokens=350, items=(image(14, 327, given=303),))
    log = Log()
    RUNNERS[kind]("0.20.0", (request,), log).gather(whole(request))
    signal = entry().signal

    assert signal is not None
    found = re.search(signal.log, log.warnings[0])
    assert found is not None
    assert found.groupdict() == {"kind": "pad", "embeddings": "303", "placeholders": "327"}
