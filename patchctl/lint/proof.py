"""Evidence that could never be judged as it is meant: files that are no Python, or lie outside the distribution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from patchctl.lint.sections import top_level_problem
from patchctl.lint.values import Finding, ParsedDiff, in_diff, warning
from patchctl.lint.variants import normal_name
from patchctl.model import EvidenceItem
from patchctl.patch import Patch

_PYTHON = (".py", ".pyi")


def items_of(patch: Patch) -> Iterator[tuple[int, str, EvidenceItem]]:
    """Return every piece of evidence with the index of its fix and its key; of alternatives each."""
    for number, fix in enumerate(patch.fixes):
        for index, item in enumerate(fix.evidence):
            key = f"fix[{number}].evidence[{index}]"
            if not item.alternatives:
                yield number, key, item
            for at, part in enumerate(item.alternatives):
                yield number, f"{key}.any[{at}]", part


def proof_findings(patch: Patch, parsed: Sequence[ParsedDiff]) -> Iterator[Finding]:
    """Return what is odd about the files that evidence names, and about diffs that leave the distribution.

    Args:
        patch: the entry.
        parsed: every diff that it names, those of evidence included.
    """
    for _, key, item in items_of(patch):
        if not item.file:
            continue
        problem = top_level_problem(item.file)
        if problem is not None:
            hint = "name files as they lie below site-packages"
            yield warning("outside-package", f"{item.file} {problem}", f"{key}.file", hint)
        if not item.file.endswith(_PYTHON) and (item.symbol is not None or item.matches is None):
            message = f"{item.file} is no Python file: symbols and tokens are looked for in Python source alone"
            yield warning("evidence-not-python", message, f"{key}.file", "use `matches` without a symbol")
    yield from _strangers(patch, parsed)


def _strangers(patch: Patch, parsed: Sequence[ParsedDiff]) -> Iterator[Finding]:
    """Files in another package than all the others: right for a distribution of several, often a slip elsewhere.

    Said only where a package is called like the distribution.
    """
    named = [
        (one.given.distribution, path, in_diff(warning("other-package", ""), one.given, file.line))
        for one in parsed
        for file in one.files
        for path in file.paths
    ]
    named += [
        (patch.fixes[number].distribution, item.file, warning("other-package", "", f"{key}.file"))
        for number, key, item in items_of(patch)
        if item.file
    ]
    tops = ((distribution, path.partition("/")[0]) for distribution, path, _ in named)
    homes = {distribution: top for distribution, top in tops if normal_name(top) == distribution}
    for distribution, path, finding in named:
        top, home = path.partition("/")[0].removesuffix(".py"), homes.get(distribution)
        if home is not None and top != home and top_level_problem(path) is None:
            message = f"{path} is in another package than {home}: does the distribution {distribution} install it?"
            yield finding._replace(message=message, hint="a file of another distribution is refused when it is applied")
