"""Is there a build that a rule admits, or that two rules admit equally well? Told by trying, and shown by a witness.

Specifiers are intervals between the versions they name, so that it is enough to try these versions, what lies right
above and below each, and the kinds of pre- and post-releases around it. A witness is always a build that really fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from patchctl.build.identity import parse_build
from patchctl.build.labels import common_label
from patchctl.build.matching import choose
from patchctl.build.versions import clause_bound, read_specifier, read_version, refusing
from patchctl.model.entry import BuildRule

if TYPE_CHECKING:
    from packaging.version import Version

_HIGH = 99999
"""A number that no release has: what is right below 1.0 is 0.99999, what is above everything is 99999."""


def admitted_version(*specifiers: str) -> str | None:
    """Return a public version that all ``specifiers`` hold for, a plain release where there is one; None: none is."""
    return next(_admitted(specifiers), None)


def tied_build(rules: Sequence[BuildRule], first: int, second: int) -> str | None:
    """Return a build string between whose rules ``first`` and ``second`` nothing decides; None: there is none.

    Args:
        rules: all rules of one distribution; a better one that takes the build settles it.
        first: index of a rule.
        second: index of another.
    """
    one, other = rules[first], rules[second]
    labels = tuple(_common_labels(one.label, other.label))
    if one.versions is None or other.versions is None or not labels:
        return None
    for version in _admitted((one.versions, other.versions)):
        for label in labels:
            build = f"{version}+{label}" if label else version
            if {first, second} <= set(choose(rules, parse_build(build))[1].tie):
                return build
    return None


def _common_labels(one: str | tuple[str, ...], other: str | tuple[str, ...]) -> Iterator[str]:
    """Return labels on which the two have equal rank, the empty one for no label."""
    if isinstance(one, str) and isinstance(other, str):
        yield ""
        if one == other == "any":
            yield "x"
    elif not isinstance(one, str) and not isinstance(other, str):
        pairs = ((mine, theirs) for mine in one for theirs in other)
        yield from dict.fromkeys(label for pair in pairs if (label := common_label(*pair)) is not None)


def _admitted(specifiers: Sequence[str]) -> Iterator[str]:
    read = [specifier for specifier in map(read_specifier, specifiers) if specifier is not None]
    bounds = [bound for specifier in read for clause in specifier if (bound := clause_bound(clause)) is not None]
    longest = max((len(bound.release) for bound in bounds), default=1)
    texts = dict.fromkeys(("0", str(_HIGH), *(text for bound in bounds for text in _around(bound, longest))))
    versions = {version for text in texts if (version := read_version(text)) is not None}
    for version in sorted(versions, key=_plainness):
        if not any(refusing(specifier, version) for specifier in read):
            yield str(version)


def _plainness(version: Version) -> tuple[bool, bool, int, Version]:
    """Order versions by how much they look like a release that somebody could have."""
    odd = version.is_prerelease or version.is_postrelease
    return odd, _HIGH in version.release, len(str(version)), version


def _around(bound: Version, longest: int) -> Iterator[str]:
    """Return versions at, right above and right below a bound; ``longest``: components of the longest release."""
    epoch = f"{bound.epoch}!" if bound.epoch else ""
    release = [*bound.release, *[0] * (longest - len(bound.release))]
    final = epoch + ".".join(map(str, release))
    yield str(bound)
    yield from (final, f"{final}.1")
    for index, number in enumerate(release):
        yield epoch + ".".join(map(str, [*release[:index], number + 1]))
        if number:
            yield epoch + ".".join(map(str, [*release[:index], number - 1, _HIGH]))
            yield epoch + ".".join(map(str, [*release[:index], number - 1]))
    for kind in ("a0", "rc0", f"rc{_HIGH}", ".post0", f".post{_HIGH}"):
        yield from (f"{final}{kind}", f"{final}{kind}.dev0")
    yield f"{final}.dev0"
    yield from _near(bound, final)


def _near(bound: Version, final: str) -> Iterator[str]:
    """Return the neighbours of a pre-, post- or development release among those of its own kind."""
    if bound.dev is None:
        yield f"{bound}.dev0"
    pre = "".join(map(str, bound.pre)) if bound.pre is not None else ""
    post = f".post{bound.post}" if bound.post is not None else ""
    if bound.dev is not None:
        yield from (f"{final}{pre}{post}", f"{final}{pre}{post}.dev{bound.dev + 1}")
        yield from (f"{final}{pre}{post}.dev{bound.dev - 1}",) if bound.dev else ()
    for number in (bound.post - 1, bound.post + 1) if bound.post else ():
        yield from (f"{final}{pre}.post{number}", f"{final}{pre}.post{number}.dev0")
    if bound.pre is not None:
        kind, number = bound.pre
        for near in (number + 1, max(number - 1, 0)):
            yield from (f"{final}{kind}{near}", f"{final}{kind}{near}.dev0")
        yield from (f"{final}{kind}{number}.post0", f"{final}{kind}{number}.post{_HIGH}")
