"""What became different from one checkpoint to another: which two, the changes, and one of them in full."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import digits, tr, tr_count
from gm_desktop.models.change_table import ChangeTable
from gm_desktop.models.checkpoint_list import CheckpointLine
from gm_desktop.models.word_changes import word_changes
from gm_desktop.notices import sentence_for
from gm_desktop.tickets import Latest
from gm_desktop.viewmodels.checkpoint_words import path_text
from gm_engine.errors import GrayMatterError
from gm_engine.records import CheckpointComparison, JsonChange, JsonValue

SHOWN_CHARS = 20_000
_KINDS = (
    ("changed", "{count} changed"),
    ("added", "{count} added"),
    ("removed", "{count} removed"),
    ("moved", "{count} moved"),
)

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class NothingToCompare:
    """The agent has no other checkpoint, or none is open. `can_choose`: other agents have some."""

    can_choose: bool = False


@dataclass(frozen=True, slots=True)
class Comparing:
    """The answer is on its way."""


@dataclass(frozen=True, slots=True)
class CompareFailed:
    """One of the two cannot be read: a sentence."""

    message: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The changes are in the table; `summary` counts them by kind."""

    count: int
    summary: str


CompareState = NothingToCompare | Comparing | CompareFailed | Compared


@dataclass(frozen=True, slots=True)
class ChangeDetails:
    """One change in full: its place, both values, and the characters that only one of them has.

    `is_text` says that the values are texts as they are, not JSON.
    """

    where: str
    before: str
    after: str
    removed: Spans
    added: Spans
    is_text: bool


class CheckpointCompare(QObject):
    """Compares the open checkpoint with another one, while somebody looks."""

    changed = Signal()
    choices_changed = Signal()
    details_changed = Signal()

    def __init__(self, host: EngineHost, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host = host
        self.table = ChangeTable(path_text, self)
        self.state: CompareState = NothingToCompare()
        self.details: ChangeDetails | None = None
        self.choices: tuple[tuple[str, str], ...] = ()
        self.base_id: str | None = None
        self._open: CheckpointLine | None = None
        self._lines: Sequence[CheckpointLine] = ()
        self._is_looked_at = False
        self._shown: tuple[str, str] | None = None
        self._asking = Latest()
        self._explaining = Latest()

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return isinstance(self.state, Comparing)

    def look(self, is_looked_at: bool) -> None:
        """Somebody looks at the comparison, or no longer does: only then is it made."""
        self._is_looked_at = is_looked_at
        self._compare()

    def show(self, line: CheckpointLine | None, lines: Sequence[CheckpointLine]) -> None:
        """Another checkpoint is open, or the list is another. The one before it, of the same agent, is the base."""
        is_another = line is None or self._open is None or line.id != self._open.id
        self._open, self._lines = line, lines
        others = [] if line is None else [each for each in lines if each.id != line.id]
        if line is not None:
            others.sort(key=lambda each: each.agent_id != line.agent_id)
        choices = tuple((each.id, f"{each.when}  ·  {each.agent}") for each in others)
        if is_another or self.base_id not in {each.id for each in others}:
            self.base_id = self._before(line, lines)
        if choices != self.choices:
            self.choices = choices
        self.choices_changed.emit()
        self._compare()

    @staticmethod
    def _before(line: CheckpointLine | None, lines: Sequence[CheckpointLine]) -> str | None:
        """The checkpoint that the agent saved before; for its first one the next, None where it is the only one."""
        if line is None:
            return None
        same = [each.id for each in lines if each.agent_id == line.agent_id]
        at = same.index(line.id) if line.id in same else -1
        if 0 <= at < len(same) - 1:
            return same[at + 1]
        return same[at - 1] if at > 0 else None

    def set_base(self, checkpoint_id: str) -> None:
        """Compares with another checkpoint."""
        if checkpoint_id != self.base_id:
            self.base_id = checkpoint_id
            self.choices_changed.emit()
            self._compare()

    def refresh(self) -> None:
        """Compares again: a record may have been damaged or repaired."""
        self._shown = None
        self._compare()

    def _compare(self) -> None:
        if not self._is_looked_at:
            return
        if self._open is None or self.base_id is None:
            self._asking.cancel()
            self._shown = None
            self._take(NothingToCompare(can_choose=bool(self.choices)), ())
            return
        pair = (self.base_id, self._open.id)
        if pair == self._shown:
            return
        self._shown = pair
        self.state = Comparing()
        self.changed.emit()
        self._asking.take(
            self._host.read(lambda memory: memory.checkpoints.compare(*pair), self._on_compared, self._on_failed)
        )

    def _on_compared(self, found: CheckpointComparison) -> None:
        self._take(Compared(len(found.changes), _summary(found.changes)), found.changes)

    def _on_failed(self, error: GrayMatterError) -> None:
        self._take(CompareFailed(sentence_for(error)), ())

    def _take(self, state: CompareState, changes: Sequence[JsonChange]) -> None:
        self.state = state
        self.table.set_changes(changes)
        self.explain(None)
        self.changed.emit()

    def explain(self, row: int | None) -> None:
        """Shows one change in full; the words are compared away from the window."""
        self._explaining.cancel()
        if row is None or not 0 <= row < len(self.table.changes):
            if self.details is not None:
                self.details = None
                self.details_changed.emit()
            return
        change = self.table.changes[row]
        self._explaining.take(self._host.read(lambda _memory: explained(change), self._on_explained))

    def _on_explained(self, details: ChangeDetails) -> None:
        self.details = details
        self.details_changed.emit()


def _summary(changes: Sequence[JsonChange]) -> str:
    counts = Counter[str](change.kind for change in changes)
    parts = [tr(text, count=digits(counts[kind])) for kind, text in _KINDS if counts[kind]]
    return ", ".join(parts) or tr("Nothing differs")


def explained(change: JsonChange) -> ChangeDetails:
    """One change in full, its values as indented JSON, long ones cut; texts as themselves."""
    both_texts = isinstance(change.before, str) and isinstance(change.after, str)
    before = "" if change.kind == "added" else full_text(change.before, as_itself=both_texts)
    after = "" if change.kind == "removed" else full_text(change.after, as_itself=both_texts)
    found = word_changes(before, after) if change.kind == "changed" else None
    return ChangeDetails(
        where=path_text(change.path),
        before=before,
        after=after,
        removed=tuple((span.start, span.end) for span in found.removed) if found else (),
        added=tuple((span.start, span.end) for span in found.added) if found else (),
        is_text=both_texts,
    )


def full_text(value: JsonValue, *, as_itself: bool) -> str:
    """At most 20,000 characters of a value."""
    if as_itself and isinstance(value, str):
        return _cut(value)
    parts: list[str] = []
    length = 0
    for part in json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(value):
        parts.append(part)
        length += len(part)
        if length > SHOWN_CHARS:
            break
    return _cut("".join(parts))


def _cut(text: str) -> str:
    if len(text) <= SHOWN_CHARS:
        return text
    more = tr_count("… {count} character more", "… {count} characters more", len(text) - SHOWN_CHARS)
    return f"{text[:SHOWN_CHARS]}\n{more}"
