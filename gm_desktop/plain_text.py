"""Cutting text that may be a megabyte long down to what a row or a panel can draw at once."""

from __future__ import annotations

from dataclasses import dataclass

from gm_desktop.formatting import isolate, one_line

ROW_CHARS = 400
SHOWN_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The first part of a long text; `hidden` counts the characters left out (0 = all of it)."""

    text: str
    hidden: int


def row_text(text: str, limit: int = ROW_CHARS) -> str:
    """At most `limit` characters of the text on one line, in a direction of its own, `…` where it was cut."""
    line = one_line(text, limit)
    return line if line.isascii() else isolate(line)


def excerpt(text: str, limit: int = SHOWN_CHARS) -> Excerpt:
    """The start of a long text, cut between words where a blank is near."""
    if len(text) <= limit:
        return Excerpt(text, 0)
    cut = text.rfind(" ", limit - 200, limit)
    cut = limit if cut < 0 else cut
    return Excerpt(text[:cut], len(text) - cut)


def as_tip(text: str) -> str:
    """The text for a tooltip, where Qt takes for markup whatever looks like it: a word joiner keeps each `<` plain."""
    return text.replace("<", "<\u2060").replace("&lt;", "&\u2060lt;")


def as_caption(text: str) -> str:
    """The text for a button or a menu, where Qt takes a `&` for the mark before a letter of the keyboard."""
    return text.replace("&", "&&")


def as_lines(text: str) -> str:
    """The text as an editor holds it: every line end a line feed, no character that Qt keeps for itself."""
    ends = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2029", "\n")
    return ends.replace("\ufdd0", "\ufffd").replace("\ufdd1", "\ufffd")


def utf16_spans(text: str, spans: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Spans of characters as spans of UTF-16 units, which is how Qt counts. `spans` ascend and do not overlap."""
    result: list[tuple[int, int]] = []
    at, units = 0, 0
    for start, end in spans:
        units += _units(text[at:start])
        length = _units(text[start:end])
        result.append((units, units + length))
        at, units = end, units + length
    return tuple(result)


def _units(text: str) -> int:
    return len(text) + sum(1 for char in text if char > "\uffff")
