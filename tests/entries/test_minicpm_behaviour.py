"""What the diffs for ``minicpmv4_6.py`` do, run by its own methods: placeholders against what the encoder makes.

The releases that are mended are the oracle as well: a patched one must write what 0.25.0 or 0.32.0 writes.
"""

from __future__ import annotations

import functools

import pytest

from tests.entries.minicpm_entry import AFFECTED, GRID, SIZE, SLICES
from tests.entries.minicpm_model import IMAGE, VIDEO, Model, encoded

pytestmark = pytest.mark.wheels

SIZES = [
    (1084, 820),
    (820, 1084),
    (1688, 244),
    (244, 1688),
    (1240, 1754),
    (3508, 2480),
    (595, 842),
    (640, 480),
    (480, 640),
    (1920, 1080),
    (1080, 1920),
    (300, 200),
    (200, 300),
    (1523, 2154),
    (742, 2793),
    (4032, 3024),
    (3024, 4032),
    (2000, 200),
    *[(first, second) for first in range(100, 2500, 340) for second in range(130, 2500, 370)],
]
"""(width, height) of images, none of them square."""

SQUARES = [(side, side) for side in (64, 448, 449, 640, 800, 1000, 1100, 1280, 1344, 2000)]

WRONG = {
    (1084, 820): (495, 441),
    (1688, 244): (327, 303),
    (1240, 1754): (623, 630),
    (3508, 2480): (574, 623),
}
"""(width, height) of an image -> placeholders counted by the faulty releases, and its embeddings.

The first was met by intel/llm-scaler#472, the second has the counts of the message by which the fault was found.
"""

STEP = (1, 2, 3, 4, 6, 9, 16, 36)
"""Largest numbers of slices that a request may ask for."""


@functools.cache
def model(release: str, *ids: str) -> Model:
    return Model(release, ids)


@pytest.mark.parametrize("release", AFFECTED[SIZE])
def test_without_the_diff_images_are_counted_as_if_transposed(release: str) -> None:
    for (width, height), (placeholders, embeddings) in WRONG.items():
        assert encoded(width, height).embeddings == embeddings
        assert model(release).image_text(width, height).count(IMAGE) == placeholders
    assert any(model(release).image_text(*size).count(IMAGE) > encoded(*size).embeddings for size in SIZES)
    assert any(model(release).image_text(*size).count(IMAGE) < encoded(*size).embeddings for size in SIZES)


@pytest.mark.parametrize("release", AFFECTED[SIZE])
def test_with_the_size_turned_every_overview_and_slice_has_the_encoders_count(release: str) -> None:
    for width, height in [*SIZES, *SQUARES]:
        expected = encoded(width, height)
        assert model(release, SIZE).image_text(width, height).count(IMAGE) == expected.embeddings
        assert model(release, GRID, SIZE).image_text(width, height) == expected.text()
        video = model(release, GRID, SIZE).video_text(width, height, 3)
        assert video.count(VIDEO) == 3 * expected.embeddings
        assert model(release).video_text(width, height, 3).count(VIDEO) == 3 * model(release).image_text(
            width, height
        ).count(IMAGE)


@pytest.mark.parametrize("release", AFFECTED[SIZE])
def test_a_right_text_stays_what_it_is(release: str) -> None:
    kept = 0
    for width, height in [*SIZES, *SQUARES]:
        before = model(release).image_text(width, height)
        if before == encoded(width, height).text():
            kept += 1
            assert model(release, GRID).image_text(width, height) == before
            assert model(release, GRID, SIZE).image_text(width, height) == before
    assert kept > len(SIZES) // 2


@pytest.mark.parametrize("release", AFFECTED[SIZE])
def test_square_images_have_the_same_count_with_and_without_the_diff(release: str) -> None:
    for side, _ in SQUARES:
        before = model(release).image_text(side, side)
        assert model(release, SIZE).image_text(side, side) == before
        assert before.count(IMAGE) == encoded(side, side).embeddings


@pytest.mark.parametrize("release", AFFECTED[SIZE])
def test_the_size_alone_leaves_the_lines_as_they_were(release: str) -> None:
    """The two faults of these releases cancel out in the lines; mending one must not show the other."""
    for width, height in SIZES:
        assert model(release, SIZE).image_text(width, height) == encoded(width, height).text()
    assert model("0.24.0").image_text(1920, 1080).count("\n") == 3
    assert encoded(1920, 1080).text().count("\n") == 1


def test_in_0_24_0_every_grid_that_is_not_square_is_written_the_wrong_way_round() -> None:
    for width, height in [*SIZES, *SQUARES]:
        expected = encoded(width, height)
        before = model("0.24.0").image_text(width, height)
        assert before.count(IMAGE) == expected.embeddings
        assert (before == expected.text()) == (expected.grid[0] == expected.grid[1])


@pytest.mark.parametrize("release", AFFECTED[SIZE])
def test_before_that_only_square_images_with_such_a_grid_are(release: str) -> None:
    expected = encoded(1100, 1100)

    assert expected.grid == (2, 3)
    assert model(release).image_text(1100, 1100) != expected.text()
    assert model(release, GRID).image_text(1100, 1100) == expected.text()


@pytest.mark.parametrize("release", AFFECTED[GRID])
def test_with_the_diff_lines_are_rows_whatever_the_size_order(release: str) -> None:
    for width, height in [*SIZES, *SQUARES]:
        expected, before = encoded(width, height), model(release).image_text(width, height)
        after = model(release, GRID).image_text(width, height)
        assert after.count(IMAGE) == before.count(IMAGE)
        if before.count(IMAGE) == expected.embeddings and before.count("<slice>") == after.count("<slice>"):
            assert after.count("\n") == max(expected.grid[0] - 1, 0)


@pytest.mark.parametrize("release", AFFECTED[GRID])
def test_frames_of_videos_are_written_like_images(release: str) -> None:
    ids = [id_ for id_ in (GRID, SIZE) if release in AFFECTED[id_]]
    for width, height in [(1920, 1080), (1080, 1920), (1100, 1100), (300, 200)]:
        head, _, frame = encoded(width, height).text(token=VIDEO).partition("</image_id>")
        assert model(release, *ids).video_text(width, height, 2) == f"{head}</image_id>{frame}{frame}"


@pytest.mark.parametrize("release", AFFECTED[GRID])
def test_patched_releases_write_what_0_25_0_writes(release: str) -> None:
    ids = [id_ for id_ in (GRID, SIZE) if release in AFFECTED[id_]]
    for width, height in [*SIZES, *SQUARES]:
        assert model(release, *ids).image_text(width, height) == model("0.25.0").image_text(width, height)
        assert model(release, *ids).video_text(width, height, 2) == model("0.25.0").video_text(width, height, 2)


def ids_for(release: str) -> list[str]:
    return [id_ for id_ in (GRID, SIZE, SLICES) if release in AFFECTED[id_]]


@pytest.mark.parametrize("release", AFFECTED[SLICES])
def test_without_the_diff_a_requests_number_of_slices_is_not_counted(release: str) -> None:
    text = model(release).image_text(1920, 1080, max_slice_nums=1)

    assert (text.count(IMAGE), encoded(1920, 1080, 1).embeddings) == (578, 66)


@pytest.mark.parametrize("release", AFFECTED[SLICES])
def test_with_the_diff_it_is_and_requests_without_it_are_counted_as_before(release: str) -> None:
    others = [id_ for id_ in ids_for(release) if id_ != SLICES]
    for width, height in SIZES[:18]:
        for number in STEP:
            text = model(release, *ids_for(release)).image_text(width, height, max_slice_nums=number)
            assert text == encoded(width, height, number).text(), (width, height, number)
        for options in ({}, {"use_image_id": True}):
            before = model(release, *others).image_text(width, height, **options)
            assert model(release, *ids_for(release)).image_text(width, height, **options) == before
        before = model(release, *others).video_text(width, height, 2)
        assert model(release, *ids_for(release)).video_text(width, height, 2) == before


@pytest.mark.parametrize("release", AFFECTED[SLICES])
def test_the_text_is_the_one_of_0_32_0(release: str) -> None:
    fixed, mended = model("0.32.0"), model(release, *ids_for(release))
    for width, height in SIZES[:18]:
        for number in (None, *STEP):
            size = fixed.image_size(width=width, height=height)
            theirs = fixed.processor.get_image_prompt_texts(size, 0, max_slice_nums=number)
            ours = mended.processor.get_image_prompt_texts(size, 0, max_slice_nums=number)
            assert ours == theirs


@pytest.mark.parametrize("release", AFFECTED[SLICES])
def test_each_alone_mends_its_own_cause(release: str) -> None:
    """A size whose count does not hang on the order shows the number of slices alone, in every release."""
    for number in STEP:
        text = model(release, SLICES).image_text(1920, 1080, max_slice_nums=number)
        assert text.count(IMAGE) == encoded(1920, 1080, number).embeddings


@pytest.mark.torch
@pytest.mark.parametrize("release", AFFECTED[SLICES])
def test_the_encoder_gets_as_many_as_are_counted(release: str) -> None:
    """Both sides are the release's own: ``process_images`` and ``_get_prompt_updates``."""
    pytest.importorskip("torch", reason="runs vLLM's functions with CPU torch")
    before, after = model(release), model(release, *ids_for(release))
    for width, height in (*WRONG, (300, 200), (1100, 1100)):
        for options in ({}, *({"max_slice_nums": number} for number in (1, 4, 16))):
            found = after.embeddings(width, height, **options)
            assert found == before.embeddings(width, height, **options)
            assert found == after.image_text(width, height, **options).count(IMAGE)
    assert before.image_text(1920, 1080, max_slice_nums=4).count(IMAGE) != before.embeddings(
        1920, 1080, max_slice_nums=4
    )
