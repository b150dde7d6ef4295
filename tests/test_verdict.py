"""The decision tables: base, verdict, need and action, on values alone."""

from __future__ import annotations

import pytest

from patchctl.model import FileFact, sha256_hex
from patchctl.verdict import Base, BaseKind, base_of

OLD, OURS, NEW, THEIRS = b"old\n", b"ours\n", b"new\n", b"theirs\n"


def find(
    live: bytes | None,
    *,
    base: bytes | None = OLD,
    result: bytes | None = OURS,
    fingerprint: str = "one",
    listed: bytes | None = OLD,
    kept: bool = True,
    fact: bool = True,
) -> Base:
    """The base of a file that was patched from ``base`` to ``result`` under fingerprint ``one``."""
    recorded = FileFact(
        path="vllm/x.py",
        distribution="vllm",
        fingerprint="one",
        base=None if base is None else sha256_hex(base),
        result=None if result is None else sha256_hex(result),
    )
    return base_of(
        live=live,
        live_sha256=None if live is None else sha256_hex(live),
        fact=recorded if fact else None,
        recorded_base=base if kept else None,
        fingerprint=fingerprint,
        listed_sha256=None if listed is None else sha256_hex(listed),
    )


class TestBase:
    @pytest.mark.parametrize("live", [OLD, THEIRS, None])
    def test_without_a_record_it_is_what_is_there(self, live: bytes | None) -> None:
        assert find(live, fact=False) == Base(kind=BaseKind.LIVE, data=live)

    def test_below_our_result_lies_the_recorded_original(self) -> None:
        assert find(OURS) == Base(kind=BaseKind.RECORDED, data=OLD)

    def test_a_file_put_back_is_its_own_base_and_the_record_is_history(self) -> None:
        assert find(OLD) == Base(kind=BaseKind.LIVE, data=OLD, history=True)

    @pytest.mark.parametrize("live", [THEIRS, None])
    def test_anything_else_is_foreign(self, live: bytes | None) -> None:
        found = find(live)
        assert (found.kind, found.data) == (BaseKind.FOREIGN, None)
        assert found.reason

    def test_a_lost_original_makes_the_file_foreign(self) -> None:
        assert find(OURS, kept=False).kind is BaseKind.FOREIGN

    @pytest.mark.parametrize("live", [NEW, None])
    def test_a_new_build_is_its_own_base(self, live: bytes | None) -> None:
        assert find(live, fingerprint="two", listed=NEW) == Base(kind=BaseKind.LIVE, data=live, history=True)

    def test_a_new_build_that_ships_our_result_is_its_own_base(self) -> None:
        found = find(OURS, fingerprint="two", listed=OURS)
        assert found == Base(kind=BaseKind.LIVE, data=OURS, history=True)

    def test_a_new_build_whose_file_was_left_patched_has_the_same_original(self) -> None:
        assert find(OURS, fingerprint="two", listed=OLD) == Base(kind=BaseKind.RECORDED, data=OLD, history=True)

    def test_an_original_of_another_build_is_never_put_under_a_new_one(self) -> None:
        assert find(OURS, fingerprint="two", listed=NEW).kind is BaseKind.FOREIGN

    def test_a_file_we_added_has_no_base(self) -> None:
        assert find(OURS, base=None, listed=None) == Base(kind=BaseKind.RECORDED, data=None)
        assert find(OURS, base=None, listed=None, fingerprint="two").data is None

    def test_a_file_we_removed_has_its_recorded_base(self) -> None:
        assert find(None, result=None) == Base(kind=BaseKind.RECORDED, data=OLD)
