"""The four states every page can be in, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loading:
    """The first answer is on its way."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The answer did not come: a sentence for the person."""

    message: str


@dataclass(frozen=True, slots=True)
class Empty:
    """There is nothing to show: what is so, and what would fill the page. `reason` is for programs."""

    reason: str
    title: str
    hint: str


@dataclass(frozen=True, slots=True)
class Full:
    """There are `count` things to show."""

    count: int


PageState = Loading | Failed | Empty | Full
