"""Dates as numbers. No clock and no zone database: a core room reads neither.

The day numbers are those of the proleptic Gregorian calendar, counted from 1970-01-01.
"""

from __future__ import annotations

from patchctl.signals.values import Stamp

DAY = 86_400
HOUR = 3_600
MINUTE = 60
_SLACK = DAY
"""A clock in another zone may be ahead of the file's own time by most of a day."""
_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MARCH = 3
_FEBRUARY = 2
_LEAP_DAY = 29
_YEARS_BACK = 8
"""Between two leap days lie eight years at most, where a century has none."""


def days_from(year: int, month: int, day: int) -> int:
    """Return the number of the day."""
    year -= month < _MARCH
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def date_of(days: int) -> tuple[int, int, int]:
    """Return year, month and day of the number of a day."""
    era, of_era = divmod(days + 719_468, 146_097)
    years = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * years + years // 4 - years // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9  # noqa: PLR2004  # ten months from March to December
    return era * 400 + years + (month < _MARCH), month, of_year - (153 * shifted + 2) // 5 + 1


def second_of(year: int, month: int, day: int, time: tuple[int, int, int]) -> int | None:
    """Return the seconds since 1970-01-01 00:00; None: there is no such date or time."""
    hour, minute, second = time
    if not (1 <= month <= len(_LENGTHS) and 1 <= day <= _LENGTHS[month - 1]):
        return None
    if month == _FEBRUARY and day == _LEAP_DAY and (year % 4 or (year % 100 == 0 and year % 400)):
        return None
    if hour >= 24 or minute >= MINUTE or second > MINUTE:  # noqa: PLR2004  # hours of a day; 60 is a leap second
        return None
    return days_from(year, month, day) * DAY + hour * HOUR + minute * MINUTE + second


def stamp_without_year(month: int, day: int, time: tuple[int, int, int], latest: int) -> Stamp | None:
    """Return the last such moment that is not after ``latest``, give or take the zones; None: there is no such date.

    Args:
        month: from 1.
        day: of the month.
        time: hours, minutes, seconds.
        latest: seconds since 1970 in UTC: when the log was last written.
    """
    year = date_of((latest + _SLACK) // DAY)[0]
    for earlier in range(_YEARS_BACK + 1):
        second = second_of(year - earlier, month, day, time)
        if second is not None and second <= latest + _SLACK:
            return Stamp(second=second, utc=False)
    return None


def stamp_with_zone(date: tuple[int, int, int], time: tuple[int, int, int], zone: bytes | None) -> Stamp | None:
    """Return the moment that a full date means; ``zone`` is ``Z``, ``UTC``, ``+08:00``, ``+0800`` or None."""
    second = second_of(*date, time)
    if second is None or not zone:
        return None if second is None else Stamp(second=second, utc=False)
    if zone in {b"Z", b"z", b"UTC"}:
        return Stamp(second=second, utc=True)
    digits = zone[1:].replace(b":", b"")
    offset = int(digits[:2]) * HOUR + int(digits[2:4] or b"0") * MINUTE
    return Stamp(second=second + offset if zone[:1] == b"-" else second - offset, utc=True)
