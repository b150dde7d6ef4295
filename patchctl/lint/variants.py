"""Which builds an entry is for: variants that tie, ranges that hold for no version, builds that nobody has.

A variant is never shadowed as a whole by a better one: exact names and labels take single builds out of a range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from patchctl.build import admitted_version, parse_build, tied_build
from patchctl.build.labels import glob_fits, normal_label
from patchctl.lint.values import Finding, error, warning
from patchctl.patch import Patch, Variant

_MOST_TIES = 10
_MOST_WORK = 2_000_000
"""Characters of globs times characters of globs; real entries have some hundreds."""


def variant_findings(patch: Patch) -> Iterator[Finding]:
    """Return what is wrong with the builds that an entry names."""
    for distribution in patch.distributions:
        numbers = [at for at, variant in enumerate(patch.variants) if variant.distribution == distribution]
        yield from _ties(patch.variants, numbers)
    for number, variant in enumerate(patch.variants):
        yield from _unreachable(variant, f"variant[{number}]")
    yield from _claims(patch)
    folder = patch.folder.split("/")[-2:-1]
    if folder and normal_name(folder[0]) not in patch.distributions:
        names = ", ".join(patch.distributions)
        message = f"the entry lies in the folder {folder[0]}, but is for {names}"
        yield warning("other-folder", message, "variant[0].distribution", "move it below a folder of that name")


def normal_name(name: str) -> str:
    """Return the name of a distribution with hyphens alone, lower case."""
    return name.lower().replace("_", "-").replace(".", "-")


def _ties(variants: Sequence[Variant], numbers: Sequence[int]) -> Iterator[Finding]:
    """Between two variants of equal rank nothing decides: a build that falls into both gets neither.

    Told are the first ones: whoever mends those looks again.
    """
    rules = [variants[number].rule for number in numbers]
    work = found = 0
    for first, second in combinations(range(len(rules)), 2):
        work += _length(rules[first].label) * _length(rules[second].label)
        if work > _MOST_WORK:
            message = "its labels are too many and too long to be compared with those of the variants behind it"
            yield error("overlapping-variants", message, f"variant[{numbers[first]}].label", "shorten the globs")
            return
        build = tied_build(rules, first, second)
        if build is not None:
            found += 1
            message = f"{build} would fit variant[{numbers[first]}] and variant[{numbers[second]}] equally well"
            message += ", and then neither is chosen"
            hint = f"let only one of the two ranges hold it, or name {build} in `builds` of one"
            yield error("overlapping-variants", message, f"variant[{numbers[second]}].versions", hint)
        if found == _MOST_TIES:
            return


def _length(label: str | Sequence[str]) -> int:
    """The time of a comparison grows with the product of these."""
    return 1 if isinstance(label, str) else sum(map(len, label))


def _unreachable(variant: Variant, key: str) -> Iterator[Finding]:
    rule = variant.rule
    if rule.versions is not None and admitted_version(rule.versions) is None:
        yield error("empty-range", f"no version is in {rule.versions}", f"{key}.versions", "turn the bounds around")
    for index, build in enumerate(rule.builds):
        if not parse_build(build).valid:
            message = f"{build!r} is no PEP 440 version: it is only met where METADATA says exactly this"
            yield warning("odd-build", message, f"{key}.builds[{index}]")
    globs = () if isinstance(rule.label, str) else rule.label
    for index, glob in enumerate(globs):
        others = [other for at, other in enumerate(globs) if at != index and _covers(other, glob, later=at > index)]
        if others:
            message = f"{glob} adds nothing to {others[0]}, which covers the same labels"
            yield warning("covered-label", message, f"{key}.label[{index}]", "leave it out")


def _covers(wide: str, narrow: str, *, later: bool) -> bool:
    """Whether one glob covers all that another does; of two that cover each other the later one is the idle one."""
    if normal_label(wide) == normal_label(narrow):
        return not later
    return glob_fits(wide, normal_label(narrow))


def _claims(patch: Patch) -> Iterator[Finding]:
    for number, fix in enumerate(patch.fixes):
        if fix.claimed is not None and admitted_version(fix.claimed) is None:
            key = f"fix[{number}].claimed"
            yield error("empty-range", f"no version is in {fix.claimed}", key, "turn the bounds around")
