"""Evidence that could never be judged as it is meant: files that are no Python, or lie outside the distribution."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from patchctl.lint.sections import top_level_problem
from patchctl.lint.values import Finding, ParsedDiff, error, in_diff, warning
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
    short = {one.given.name for one in parsed if _lacks_prefixes(one)}
    yield from _strangers(patch, [one for one in parsed if one.given.name not in short])
    known = {item.file.partition("/")[0] for _, _, item in items_of(patch) if item.file}
    for one in parsed:
        if one.given.name in short:
            yield _stripped(one, known)


def _lacks_prefixes(parsed: ParsedDiff) -> bool:
    """Whether what is stripped of every name in a diff is the package itself, ``a/`` and ``b/`` not being there."""
    dropped = {name.split("/")[0] for name in _names(parsed)} if parsed.given.strip == 1 else set()
    return len(dropped) == 1 and all(
        top.isidentifier()
        and normal_name(top) == parsed.given.distribution
        and not any(path.startswith(f"{top}/") for file in parsed.files for path in file.paths)
        for top in dropped
    )


def _names(parsed: ParsedDiff) -> Iterator[str]:
    """The names in a diff's headers as they are written, with what is stripped of them."""
    lines = parsed.given.data.split(b"\n")
    for file in parsed.files:
        for line in lines[file.line - 1 : file.hunks[0].line - 1 if file.hunks else file.line - 1]:
            if line.startswith((b"--- ", b"+++ ")) and not line[4:].startswith(b"/dev/null"):
                yield line[4:].partition(b"\t")[0].rstrip(b"\r").decode("utf-8", "replace")


def _stripped(parsed: ParsedDiff, known: Collection[str]) -> Finding:
    """An error where evidence of the entry shows that this is the package; else it may be a folder around it."""
    top = next(_names(parsed)).split("/")[0]
    message = f"of {top}/... no more than {parsed.files[0].path} is left: the names have no a/ and b/ to strip"
    hint = "write `strip = 0`, or cut it with `diff --label a/FILE --label b/FILE`"
    finding = warning("other-package", message, hint=hint)
    if top in known:
        finding = error("stripped-package", message, hint=hint)
    return in_diff(finding, parsed.given, parsed.files[0].line)


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
