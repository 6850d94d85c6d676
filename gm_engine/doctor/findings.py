"""What a check says: a verdict, a sentence, and what a repair would do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

_SHOWN = 3


class Verdict(StrEnum):
    """`sound`; `notice`: works, but somebody may want to know; `broken`: something contradicts itself."""

    SOUND = "sound"
    NOTICE = "notice"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found, in a sentence; `repair` says what `repair` would do about it, empty where nothing."""

    check: str
    verdict: Verdict
    detail: str
    repair: str = ""


Outcome = tuple[Verdict, str]


def judge(problems: Iterator[str], *, sound: str, verdict: Verdict = Verdict.BROKEN) -> Outcome:
    """Sound when there is no problem; else the number of problems and the first few of them."""
    count = 0
    shown: list[str] = []
    for problem in problems:
        count += 1
        if len(shown) < _SHOWN:
            shown.append(problem)
    if count == 0:
        return Verdict.SOUND, sound
    rest = f"; and {count - len(shown):,} more" if count > len(shown) else ""
    return verdict, f"{'; '.join(shown)}{rest}"
