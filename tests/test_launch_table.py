"""The table of vLLM's options says what the sources of the releases say."""

from __future__ import annotations

import pytest

from patchctl.launch import find_option
from patchctl.launch.table import INTO_JSON, PER_MAKER, SHORT, Takes, every_option
from patchctl.processes import is_secret
from tests.vllm_options import MAYBE, ONE, SEVERAL, SWITCH, options_of
from tests.wheels import RELEASES, WheelUnavailableError, slim_wheel

WORDS = {SWITCH: Takes.NOTHING, ONE: Takes.ONE, MAYBE: Takes.MAYBE, SEVERAL: Takes.SEVERAL}


@pytest.mark.wheels
@pytest.mark.parametrize("release", RELEASES)
def test_every_option_of_a_release_is_known_with_all_its_spellings_and_what_it_takes(release: str) -> None:
    try:
        found = options_of(slim_wheel(release))
    except WheelUnavailableError as error:
        pytest.skip(str(error))
    assert len(found) > 200
    wrong = []
    for name, option in found.items():
        for spelled in option.names:
            known = find_option(spelled)
            if known is None or known.name != name or known.takes is not WORDS[option.takes] or known.negated:
                wrong.append((spelled, option, known))
    assert wrong == []


@pytest.mark.wheels
def test_no_option_is_in_the_table_that_no_release_has() -> None:
    try:
        named = {name for release in RELEASES for name in options_of(slim_wheel(release))}
    except WheelUnavailableError as error:
        pytest.skip(str(error))
    assert every_option() == {name for name in named if not name.endswith(PER_MAKER)}
    assert set(SHORT.values()) <= named
    assert {name for options in INTO_JSON.values() for name, _ in options} | set(INTO_JSON) <= named


@pytest.mark.parametrize(
    ("spelled", "name", "negated"),
    [
        ("--enforce-eager", "--enforce-eager", False),
        ("--no-enforce-eager", "--enforce-eager", True),
        ("--disable-prefix-caching", "--enable-prefix-caching", True),
        ("--enable-log-stats", "--disable-log-stats", True),
        ("--max-num-se", "--max-num-seqs", False),
        ("--no-enforce", "--enforce-eager", True),
        ("-tp", "--tensor-parallel-size", False),
        ("-cc", "--compilation-config", False),
    ],
)
def test_a_spelling_means_its_option(spelled: str, name: str, negated: bool) -> None:
    known = find_option(spelled)
    assert known is not None
    assert (known.name, known.negated) == (name, negated)


@pytest.mark.parametrize("spelled", ["--max-num", "--", "--nothing", "-t", "-x", "--spec"])
def test_what_means_no_option_or_several_is_none(spelled: str) -> None:
    assert find_option(spelled) is None


def test_only_the_secrets_among_the_options_count_as_secrets() -> None:
    known = [find_option(name) for name in every_option()]
    with_value = {it.name for it in known if it is not None and it.takes is not Takes.NOTHING}
    assert {name for name in with_value if is_secret(name)} == {"--api-key", "--hf-token"}
