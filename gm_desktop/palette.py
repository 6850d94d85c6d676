"""What the command palette finds: actions and agents, by letters in any loose order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

SHOWN = 12
MIN_SCORE, LIKE_SCORE = 55.0, 65.0  # where the letters stand as they were typed, and where they do not
_CHUNK = 2_000  # one call holds the interpreter lock: keep it short


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """One thing to run. `hint` stands on the right (a shortcut, a count); `words` help finding, unseen."""

    title: str
    group: str
    icon: str
    hint: str
    run: Callable[[], None]
    words: str = ""

    @property
    def haystack(self) -> str:
        """What a query is compared with."""
        return f"{self.title} {self.words}".casefold()


def find(query: str, entries: Sequence[PaletteEntry], *, limit: int = SHOWN) -> tuple[PaletteEntry, ...]:
    """The best `limit` entries for `query`, best first; all in their own order while it is empty.

    A whole title comes first; whole and beginning words count before letters that are merely somewhere inside.
    """
    wanted = " ".join(query.casefold().split())
    if not wanted:
        return tuple(entries[:limit])
    scored: list[tuple[float, int]] = []
    haystacks = [entry.haystack for entry in entries]
    for start in range(0, len(haystacks), _CHUNK):
        chunk = haystacks[start : start + _CHUNK]
        found = process.extract(wanted, chunk, scorer=fuzz.WRatio, limit=limit * 2, score_cutoff=MIN_SCORE)
        for _, score, at in found:
            bonus = _bonus(wanted, entries[start + at])
            if bonus or score >= LIKE_SCORE:
                scored.append((-(score + bonus), start + at))
    return tuple(entries[index] for _, index in sorted(scored)[:limit])


def _bonus(wanted: str, entry: PaletteEntry) -> float:
    text = entry.haystack
    if entry.title.rstrip("…").casefold() == wanted:
        return 90.0
    if text.startswith(wanted):
        return 60.0
    if f" {wanted}" in text:
        return 40.0
    return 20.0 if wanted in text else 0.0
