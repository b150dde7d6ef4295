"""One item of evidence over base bytes: it holds, fails, is gone, has moved, or gives no answer."""

from __future__ import annotations

from patchctl.evidence.diffs import judge_diff, paths_to_find
from patchctl.evidence.findings import ItemFinding, ItemStatus, Sought
from patchctl.evidence.installed import Installed
from patchctl.evidence.source import Source, SourceError
from patchctl.model import EvidenceItem

BEST_FIRST = (ItemStatus.HOLDS, ItemStatus.UNKNOWN, ItemStatus.FAILS, ItemStatus.MOVED, ItemStatus.GONE)
"""Which alternative speaks for all. One that fails beats one that has moved: a name found in another module is no
reason to doubt code that is in its place and lacks the fix."""

EVERYWHERE = ("__init__.py", "__main__.py")
"""Names of so many files that finding one elsewhere says nothing."""


def judge_item(item: EvidenceItem, installed: Installed) -> ItemFinding:
    """Judge one item; alternatives are judged each, and the best of them speaks for the item."""
    if item.alternatives:
        return _judge_alternatives(item, installed)
    try:
        if item.diff is not None:
            return judge_diff(item, item.diff, installed)
        source = installed.source(item.file)
        if source is None or (item.symbol is not None and not source.defines(item.symbol)):
            return _gone(item, source, installed)
        if item.matches is not None:
            return _judge_pattern(item, item.matches, source, installed)
        return _judge_tokens(item, source, installed)
    except SourceError as error:
        return ItemFinding(item=item, status=ItemStatus.UNKNOWN, reason=f"{item.file} {error}")


def glance(item: EvidenceItem, installed: Installed) -> frozenset[Sought] | None:
    """Return what the item depends on and what is not in its place, as far as layout tells.

    None: it surely fails, and not for want of a file or symbol. What cannot be told without parsing reads as if it
    might hold, and then nothing is missing.
    """
    if item.alternatives:
        seen = [glance(alternative, installed) for alternative in item.alternatives]
        if frozenset() in seen:
            return frozenset()
        return None if None in seen else frozenset().union(*(missing for missing in seen if missing is not None))
    try:
        if item.diff is not None:
            return frozenset(Sought(file=path) for path in paths_to_find(item) if installed.data(path) is None)
        source = installed.source(item.file)
        if source is None or (item.symbol is not None and not source.defines(item.symbol)):
            return _sought(item, source)
        return None if item.contains is not None and _surely_lacks(source, _needle(item.contains)) else frozenset()
    except SourceError:
        return frozenset()


def _judge_alternatives(item: EvidenceItem, installed: Installed) -> ItemFinding:
    findings = [judge_item(alternative, installed) for alternative in item.alternatives]
    best = min(findings, key=lambda finding: BEST_FIRST.index(finding.status))
    if best.status is ItemStatus.HOLDS or len(findings) == 1:
        reason = best.reason
    else:
        reason = f"none of {len(findings)} alternatives holds: " + "; ".join(finding.reason for finding in findings)
    slow = tuple(pattern for finding in findings for pattern in finding.slow)
    return ItemFinding(item=item, status=best.status, reason=reason, elsewhere=best.elsewhere, slow=slow)


def _judge_tokens(item: EvidenceItem, source: Source, installed: Installed) -> ItemFinding:
    """Compare Python tokens; several definitions of one name: one that contains them decides."""
    from patchctl.evidence.tokens import contains

    wanted = item.contains if item.contains is not None else item.absent
    if wanted is None:
        return ItemFinding(item=item, status=ItemStatus.UNKNOWN, reason=f"{_where(item)}: there is nothing to look for")
    needle = _needle(wanted)
    if item.contains is not None and _surely_lacks(source, needle):
        return _tokens_finding(item, wanted, present=False)
    definitions = source.definitions(item.symbol)
    if not definitions:
        return _gone(item, source, installed)
    present = any(contains(_tokens(definition), needle) for definition in definitions)
    return _tokens_finding(item, wanted, present=present)


def _tokens_finding(item: EvidenceItem, wanted: str, *, present: bool) -> ItemFinding:
    holds = present == (item.contains is not None)
    word = "contains" if present else "does not contain"
    status = ItemStatus.HOLDS if holds else ItemStatus.FAILS
    return ItemFinding(item=item, status=status, reason=f"{_where(item)} {word} {_quoted(wanted)}")


def _judge_pattern(item: EvidenceItem, pattern: str, source: Source, installed: Installed) -> ItemFinding:
    """Search the source text as it stands, comments and strings included."""
    texts = source.definitions(item.symbol) if item.symbol is not None else (source.text,)
    if not texts:
        return _gone(item, source, installed)
    unanswered = False
    for text in texts:
        found = installed.search(pattern, text)
        if found:
            reason = f"{_where(item)} matches {_quoted(pattern)}"
            return ItemFinding(item=item, status=ItemStatus.HOLDS, reason=reason)
        unanswered = unanswered or found is None
    if unanswered:
        reason = f"{_where(item)}: searching for the pattern {_quoted(pattern)} gave no answer in time"
        return ItemFinding(item=item, status=ItemStatus.UNKNOWN, reason=reason, slow=(pattern,))
    reason = f"{_where(item)} does not match {_quoted(pattern)}"
    return ItemFinding(item=item, status=ItemStatus.FAILS, reason=reason)


def _gone(item: EvidenceItem, source: Source | None, installed: Installed) -> ItemFinding:
    reason = f"{item.file} is not there" if source is None else f"{item.file} does not define {item.symbol}"
    return installed.gone(item, _sought(item, source), reason)


def _sought(item: EvidenceItem, source: Source | None) -> frozenset[Sought]:
    """Return what to look for elsewhere: the file by its name, and the outermost class or function that is gone."""
    wanted = set()
    if source is None and item.file.rpartition("/")[2] not in EVERYWHERE:
        wanted.add(Sought(file=item.file))
    if item.symbol is not None:
        part = item.symbol.partition(".")[0] if source is None else source.missing_part(item.symbol)
        wanted.add(Sought(file=item.file, symbol=part))
    return frozenset(wanted)


def _needle(wanted: str) -> tuple[str, ...]:
    """Split what the registry looks for into tokens; anything contains no tokens at all, so that is no evidence."""
    try:
        needle = _tokens(wanted.replace("\r\n", "\n").replace("\r", "\n"))
    except SourceError as error:
        raise SourceError(f"cannot be searched for {_quoted(wanted)}, which {error}") from error
    if not needle:
        raise SourceError(f"cannot be searched for {_quoted(wanted)}, which holds no Python token")
    return needle


def _tokens(source: str) -> tuple[str, ...]:
    from patchctl.evidence.tokens import LexicalError, tokens

    try:
        return tokens(source)
    except LexicalError as error:
        raise SourceError(f"cannot be read as tokens: {error}") from error


def _surely_lacks(source: Source, needle: tuple[str, ...]) -> bool:
    from patchctl.evidence.tokens import may_contain

    return not may_contain(source.text, needle)


def _where(item: EvidenceItem) -> str:
    return f"{item.file}: {item.symbol}" if item.symbol is not None else item.file


def _quoted(text: str, limit: int = 100) -> str:
    line = " ".join(text.split())
    return f"`{line}`" if len(line) <= limit else f"`{line[: limit - 3]}...`"
