"""What the readers of other programs' files find, and how a format introduces itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from gm_engine.clock import NS_PER_S

MAX_TEXT_CHARS = 1 << 20
_LARGEST = (1 << 63) - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Text:
    """One thing to remember. `place` says where it stands in the source, `key` is the source's own id for it."""

    text: str
    place: str
    agent_id: str = ""
    created_ns: int | None = None
    confidence: str = ""
    key: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Thing:
    """An entity of a graph."""

    label: str
    type: str
    place: str


@dataclass(frozen=True, slots=True)
class Link:
    """A relation between two entities, by their labels."""

    source: str
    target: str
    relation: str
    place: str


@dataclass(frozen=True, slots=True)
class Left:
    """Something that stays out, and why. `kind` is what it would have been."""

    kind: str
    place: str
    reason: str


Item = Text | Thing | Link | Left


@dataclass(frozen=True, slots=True)
class Request:
    """What to read. `columns` maps our fields (text, agent, created, confidence, id) to the source's names."""

    path: Path
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Start:
    """The beginning of a file, decoded as far as it can be, for telling formats apart."""

    path: Path
    text: str

    @property
    def is_folder(self) -> bool:
        """Whether the path is a folder."""
        return self.path.is_dir()

    def holds(self, *words: str) -> bool:
        """Whether every one of these JSON keys stands in the beginning."""
        return all(f'"{word}"' in self.text for word in words)


@dataclass(frozen=True, slots=True)
class Reader:
    """One format: how it is told from others, how it is read, and what its texts get where they say nothing.

    `agent_id` is the namespace of texts that name none. Texts that a model wrote are labelled `unverified`.
    """

    name: str
    title: str
    agent_id: str
    recognises: Callable[[Start], bool]
    read: Callable[[Request], Iterator[Item]]
    confidence: str = ""
    takes_columns: bool = False


def moment(value: object) -> int | None:
    """Nanoseconds since 1970 of an ISO 8601 time, a date, or a number of seconds, milli- or microseconds; else None.

    A time without a zone counts as UTC.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _from_number(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    try:
        return _from_number(float(text))
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return _from_datetime(found)


def _from_datetime(found: datetime) -> int | None:
    aware = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    delta = aware - _EPOCH
    at_ns = (delta.days * 86_400 + delta.seconds) * NS_PER_S + delta.microseconds * 1000
    return at_ns if 0 < at_ns < _LARGEST - NS_PER_S else None


def _from_number(value: float) -> int | None:
    if not math.isfinite(value) or value <= 0:
        return None
    for largest, unit_ns in ((1e11, NS_PER_S), (1e14, 1_000_000), (1e17, 1_000)):
        if value < largest:
            return int(value * unit_ns)
    return None
