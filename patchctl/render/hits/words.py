"""Times, numbers and sentences about hits that several shapes use."""

from __future__ import annotations

from collections.abc import Iterator

from patchctl.commands.hits import Incidence
from patchctl.signals import EntryCount, Mismatch, Stamp, date_of

_DAY = 86_400
_HOUR = 3_600
_MINUTE = 60
_HOURS = 24
_KILO = 1000
_CLOCKS = {
    "utc": "times are UTC",
    "as-written": "times are as the logs write them: their zone is not known, and an hour that a clock change repeats"
    " counts twice as long",
    "mixed": "some logs say their zone (counted in UTC), some do not (counted as written): their hours do not compare",
}
_REASONS = {
    "other-source": "logged by a source file that the patch does not change",
    "not-at-start": "not at the start of a message of vLLM's logger, or cut off",
    "continuation": "on a later line of a message of several lines",
    "too-slow": "not judged: the regular expression took too long",
}


def day_text(day: int) -> str:
    """Return the date of a day's number."""
    year, month, of_month = date_of(day)
    return f"{year:04}-{month:02}-{of_month:02}"


def hour_text(hour: int) -> str:
    """Return date and hour of an hour's number."""
    day, of_day = divmod(hour, _HOURS)
    return f"{day_text(day)}T{of_day:02}:00"


def stamp_text(stamp: Stamp | None) -> str | None:
    """Return a time as ISO 8601, with ``Z`` where it is UTC and without a zone where nobody knows it."""
    if stamp is None:
        return None
    day, rest = divmod(stamp.second, _DAY)
    clock = f"{rest // _HOUR:02}:{rest % _HOUR // _MINUTE:02}:{rest % _MINUTE:02}"
    return f"{day_text(day)}T{clock}{'Z' if stamp.utc else ''}"


def days_of(count: EntryCount) -> tuple[tuple[int, int], ...]:
    """Return the number of each day -> lines."""
    days: dict[int, int] = {}
    for hour, lines in count.hours:
        days[hour // _HOURS] = days.get(hour // _HOURS, 0) + lines
    return tuple(days.items())


def number_text(value: float) -> str:
    """Return a count for people: grouped, with one decimal where it is no whole number."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def hits_text(count: EntryCount, found: Incidence) -> str:
    """Say how many hits there were, and at what rate."""
    said = f"{number_text(count.hits)} hit{'' if count.hits == 1 else 's'}"
    said = said if count.complete else f"at least {said}"
    return f"{said}, {rate_text(found.rate(count.hits))}" if count.lines else said


def rate_text(rate: float | None) -> str:
    """Return a rate for people."""
    if rate is None:
        return "rate unknown"
    return f"{rate:,.2f} per 1,000 requests" if rate >= 0.01 or rate == 0 else f"{rate:.1e} per 1,000 requests"  # noqa: PLR2004  # two decimals


def size_text(size: int) -> str:
    """Return a number of bytes for people."""
    value, units = float(size), ["B", "kB", "MB", "GB", "TB"]
    while value >= _KILO and len(units) > 1:
        value, units = value / _KILO, units[1:]
    return f"{value:,.0f} {units[0]}" if units[0] == "B" else f"{value:,.1f} {units[0]}"


def requests_text(found: Incidence) -> str:
    """Say how many requests there were, and who says so."""
    if found.given_requests is not None:
        return f"{found.given_requests:,} requests (--requests)"
    if found.requests is None:
        return "no access line was found: say --requests N for a rate"
    return f"{found.requests:,} requests (access lines)"


def ranks_text(count: EntryCount) -> str | None:
    """Say how lines became hits, where that is not one for one."""
    if count.ranks_from == "none":
        untold = any(name == "-" for name, _ in count.writers)
        return (
            "one line counts as one hit; with tensor parallelism each rank writes its own: --ranks N"
            if untold
            else None
        )
    who = "--ranks says so" if count.ranks_from == "given" else "as the names of the processes show"
    return f"{count.lines:,} lines of {count.ranks} tensor-parallel ranks, each of which writes its own ({who})"


def mismatch_text(found: Mismatch) -> str:
    """Say what the largest difference is."""
    when = stamp_text(found.stamp)
    (one, other), (value, second) = found.names, found.values
    return f"{found.difference:+,} ({other} {second:,} less {one} {value:,}{f', {when}' if when else ''})"


def remarks(found: Incidence) -> Iterator[str]:
    """Say what a reader of the counts must know."""
    counted = found.counted
    if counted.clock in _CLOCKS:
        yield _CLOCKS[counted.clock]
    if any(entry.spikes for entry in counted.entries):
        yield "a spike is an hour of at least 5 lines with more than mean + 3 * sqrt(mean) of the other hours"
    if counted.long_lines:
        are, their = ("is", "its") if counted.long_lines == 1 else ("are", "their")
        yield f"{lines_text(counted.long_lines)} {are} longer than 256 KiB: only {their} beginning was read"
    if found.scope == "registry":
        yield "every entry of the registry that has a signal was counted, applied or not"


def lines_text(lines: int) -> str:
    """Return a number of lines in words."""
    return f"{lines:,} line{'' if lines == 1 else 's'}"


def passed_text(reason: str) -> str:
    """Say why a line that has the text does not count."""
    return _REASONS.get(reason, reason)
