"""How numbers, times and stored text look: one rule for every page."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

from gm_desktop.i18n import decimal, digits, tr, tr_count
from gm_engine.clock import parse_rfc3339
from gm_engine.errors import InvalidInput

_NS = 1_000_000_000
_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
_CONTROL_PICTURES = {code: 0x2400 + code for code in range(32)} | {0x7F: 0x2421}
_VISIBLE = {code: mark for code, mark in _CONTROL_PICTURES.items() if code not in (9, 10)}
_INVISIBLE = dict.fromkeys([0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069])
_UNDISGUISED = _VISIBLE | dict.fromkeys(_INVISIBLE, 0x2426)
_INSTANT = re.compile(r"(?<![\w.-])\d\d\d\d-\d\d-\d\d[T]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)(?![\w:])", re.ASCII)


def local_time(at_ns: int | None, *, zone: tzinfo | None = None) -> str:
    """`12 Mar 2026, 14:05` in the person's zone (or `zone`); an en dash for no time."""
    if at_ns is None:
        return "–"
    moment = _moment(at_ns).astimezone(zone)
    return f"{_date(moment)}, {moment:%H:%M}"


def local_date(at_ns: int | None, *, zone: tzinfo | None = None) -> str:
    """`12 Mar 2026` in the person's zone (or `zone`); an en dash for no time."""
    return "–" if at_ns is None else _date(_moment(at_ns).astimezone(zone))


def utc_time(at_ns: int | None) -> str:
    """The same instant for a tooltip: `2026-03-12 13:05:09 UTC`."""
    return tr("No time recorded") if at_ns is None else f"{_moment(at_ns):%Y-%m-%d %H:%M:%S} UTC"


def with_local_times(text: str, *, zone: tzinfo | None = None) -> str:
    """`text` of a program with every RFC 3339 instant in it as `local_time` shows it."""

    def shown(found: re.Match[str]) -> str:
        try:
            return local_time(parse_rfc3339(found[0]), zone=zone)
        except InvalidInput:
            return found[0]

    return _INSTANT.sub(shown, text)


def instants_in(text: str) -> tuple[str, ...]:
    """What `with_local_times` replaces, as it stands there."""
    return tuple(_INSTANT.findall(text))


def age(at_ns: int | None, now_ns: int) -> str:
    """How long ago, in one unit: `now`, `5 min`, `3 h`, `12 d`, `8 mo`, `2 y`."""
    if at_ns is None:
        return "–"
    seconds = max(0, (now_ns - at_ns) // _NS)
    for limit, size, text in _AGES:
        if seconds < limit:
            return tr(text, n=seconds // size)
    return tr("{n} y", n=seconds // 31_557_600)


def number(value: int) -> str:
    """Digits in groups of three."""
    return digits(value)


def size(size_bytes: int) -> str:
    """A size in the largest unit that keeps it at or above one."""
    if size_bytes < 1000:
        return tr("{count} bytes", count=size_bytes)
    value = size_bytes / 1000
    for unit in ("kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if value >= 100 else decimal(f"{value:.1f} {unit}")
        value /= 1000
    return decimal(f"{value:.1f} TB")


def duration(seconds: float) -> str:
    """A span for a progress line: `a few seconds`, `40 seconds`, `3 minutes`."""
    if seconds < 5:
        return tr("a few seconds")
    if seconds < 90:
        return tr("{n} seconds", n=round(seconds / 5) * 5)
    return tr_count("{count} minute", "{count} minutes", max(1, round(seconds / 60)))


def isolate(text: str) -> str:
    """`text` in a directional isolate, so that a right-to-left text never reorders what stands beside it."""
    return f"{_FIRST_STRONG_ISOLATE}{text.translate(_INVISIBLE)}{_POP_ISOLATE}"


def one_line(text: str, limit: int = 300) -> str:
    """`text` as one line for a table cell: white space folded, control characters shown, cut after `limit`."""
    line = " ".join(text[: limit * 4].split())
    cut = line[:limit].rstrip() + "…" if len(line) > limit or len(text) > limit * 4 else line
    return visible(cut)


def visible(text: str) -> str:
    """`text` with control characters (but for tab and line feed) as pictures, so that nothing hides."""
    return text.translate(_VISIBLE)


def undisguised(text: str) -> str:
    """`visible`, and ␦ for each mark that turns the reading direction: the text stands as an agent reads it."""
    return text.translate(_UNDISGUISED)


def _date(moment: datetime) -> str:
    return tr("{day} {month} {year}", day=moment.day, month=tr(_MONTHS[moment.month - 1]), year=moment.year)


def _moment(at_ns: int) -> datetime:
    seconds, rest = divmod(at_ns, _NS)
    clamped = min(max(seconds, -62_135_596_800 + 172_800), 253_402_300_799 - 172_800)
    return datetime.fromtimestamp(clamped, UTC).replace(microsecond=rest // 1000)


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_AGES = (
    (60, 1, "now"),
    (3_600, 60, "{n} min"),
    (86_400, 3_600, "{n} h"),
    (5_259_600, 86_400, "{n} d"),
    (63_115_200, 2_629_800, "{n} mo"),
)
