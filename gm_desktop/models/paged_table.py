"""A table of any length: every id in order, bodies by page of 256 with a bounded cache.

The model asks for bodies with `rows_wanted` and is answered through `deliver`; who reads them, and on which thread,
is not its business. One request is under way at a time and the page looked at last goes first, so that dragging the
scroll bar through 100,000 rows never queues what nobody sees any more. Sorting is announced, not done: SQL sorts.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, QTimer, Signal

from gm_desktop.models.fact_row import FactRow
from gm_desktop.plain_text import as_tip

PAGE_ROWS = 256
CACHED_ROWS = 48 * PAGE_ROWS
WAITING_PAGES = 3
_FEW = 4  # looking for so many one by one is quicker than looking through all ids once
_MOST_EDITS = 16
_FARTHEST = 64  # rows that one edit may take out or put in where something else is edited, too

ID_ROLE = Qt.ItemDataRole.UserRole + 1
TONE_ROLE = Qt.ItemDataRole.UserRole + 2
MUTED_ROLE = Qt.ItemDataRole.UserRole + 3
SHARE_ROLE = Qt.ItemDataRole.UserRole + 4

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell shows. `tone` names a meaning that may be coloured; `spoken` is for ears and tooltips.

    `share` is how much of a meter is full, from 0 to 1.
    """

    text: str
    tone: str = ""
    spoken: str = ""
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its title, the key SQL sorts by, how a row fills it, and whether it aligns to the right."""

    title: str
    key: str
    cell: Callable[[FactRow], Cell]
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """So many rows go at one place of the old ids, and new ones come there."""

    at: int
    removed: int
    new: Sequence[str]


class PagedTable(QAbstractTableModel):
    """See the module. Ids are unique; a body that could not be read any more shows as an empty, muted row."""

    rows_wanted = Signal(tuple)
    sort_wanted = Signal(str, bool)
    about_to_change = Signal()
    changed = Signal()

    def __init__(self, columns: Sequence[Column], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
        self._ids: list[str] = []
        self._cache: OrderedDict[str, FactRow | None] = OrderedDict()
        self._stale: set[str] = set()
        self._last: tuple[Column, FactRow, Cell] | None = None
        self._wanted: list[int] = []
        self._asked: frozenset[str] = frozenset()
        self._ask_later = QTimer(self, interval=0, singleShot=True)
        self._ask_later.timeout.connect(self._ask)

    @property
    def ids(self) -> Sequence[str]:
        """All ids in order. Not to be changed."""
        return self._ids

    @property
    def is_waiting(self) -> bool:
        """Whether somebody looks at rows whose bodies are still to come."""
        return bool(self._asked or self._wanted)

    def id_at(self, row: int) -> str:
        """The id of a row."""
        return self._ids[row]

    def row_of(self, fact_id: str) -> int | None:
        """The row of an id, None where it is not in the result. Looks through the ids, a millisecond or two for many.

        A dictionary of all rows would answer at once, but would have to be made anew with every fact that is written.
        """
        try:
            return self._ids.index(fact_id)
        except ValueError:
            return None

    def rows_of(self, ids: Set[str]) -> list[int]:
        """The rows of those ids that are in the result, in order."""
        if len(ids) > _FEW:
            return [row for row, each in enumerate(self._ids) if each in ids]
        return sorted(row for row in map(self.row_of, ids) if row is not None)

    def body(self, fact_id: str) -> FactRow | None:
        """The body of an id when it is cached."""
        return self._cache.get(fact_id)

    def set_ids(self, ids: list[str]) -> None:
        """Replaces the result. Where few edits make it of the former one, rows that stay are not touched.

        `about_to_change` and `changed` enclose it, also where the result is the same.
        """
        self.about_to_change.emit()
        if ids != self._ids:
            self._wanted.clear()
            edits = edits_between(self._ids, ids)
            if edits is None:
                self.beginResetModel()
                self._ids = ids
                self.endResetModel()
            else:
                self._apply(edits, ids)
        self.changed.emit()

    def _apply(self, edits: Sequence[Edit], ids: list[str]) -> None:
        """Takes rows out and puts rows in, the last ones first, so that the places of the others still hold."""
        rows = list(self._ids)  # whoever gave the ids may keep them
        for edit in reversed(edits):
            if edit.removed:
                self.beginRemoveRows(QModelIndex(), edit.at, edit.at + edit.removed - 1)
                del rows[edit.at : edit.at + edit.removed]
                self._ids = rows
                self.endRemoveRows()
            if edit.new:
                self.beginInsertRows(QModelIndex(), edit.at, edit.at + len(edit.new) - 1)
                rows[edit.at : edit.at] = edit.new
                self._ids = rows
                self.endInsertRows()
        self._ids = ids

    def forget(self, ids: Iterable[str]) -> None:
        """Marks bodies as out of date: they stay on screen until the new ones arrive."""
        touched = {each for each in ids if each in self._cache}
        self._stale.update(touched)
        if touched and self._ids:
            self._announce(0, len(self._ids) - 1)

    def forget_all(self) -> None:
        """Marks every body as out of date (another store, or ages that moved on)."""
        self._stale.update(self._cache)
        self._last = None
        if self._ids:
            self._announce(0, len(self._ids) - 1)

    def learn(self, rows: Iterable[FactRow]) -> None:
        """Bodies that came unasked, just before the ids that have them: the rows need not be drawn twice."""
        are_shown = False
        for row in rows:
            are_shown = are_shown or row.id in self._cache
            self._cache[row.id] = row
            self._stale.discard(row.id)
        self._drop_oldest()
        if are_shown and self._ids:
            self._announce(0, len(self._ids) - 1)

    def deliver(self, asked: Sequence[str], rows: Sequence[FactRow]) -> None:
        """The answer to `rows_wanted`; ids that were asked for and are not among the rows no longer exist."""
        found = {row.id: row for row in rows}
        for each in asked:
            self._cache[each] = found.get(each)
            self._cache.move_to_end(each)
            self._stale.discard(each)
        self._drop_oldest()
        self._asked = frozenset()
        if self._ids:
            self._announce(0, len(self._ids) - 1)  # views draw what is in sight, wherever the rows are by now
        self._ask_later.start()

    def _drop_oldest(self) -> None:
        while len(self._cache) > CACHED_ROWS:
            gone, _ = self._cache.popitem(last=False)
            self._stale.discard(gone)

    def give_up(self) -> None:
        """The request failed or was dropped; the pages are asked for again when somebody looks at them."""
        self._asked = frozenset()
        self._wanted.clear()

    def _announce(self, first: int, last: int) -> None:
        self.dataChanged.emit(self.index(first, 0), self.index(last, len(self._columns) - 1))

    def _want(self, row: int) -> None:
        page = row // PAGE_ROWS
        if self._ids[row] in self._asked:
            return
        if page in self._wanted:
            self._wanted.remove(page)
        self._wanted.append(page)
        del self._wanted[:-WAITING_PAGES]
        if not self._asked and not self._ask_later.isActive():
            self._ask_later.start()

    def _ask(self) -> None:
        while self._wanted and not self._asked:
            page = self._wanted.pop()
            ids = self._ids[page * PAGE_ROWS : (page + 1) * PAGE_ROWS]
            missing = tuple(each for each in ids if each not in self._cache or each in self._stale)
            if missing:
                self._asked = frozenset(missing)
                self.rows_wanted.emit(missing)

    # Qt's side

    def rowCount(self, parent: Index = ROOT) -> int:
        """Rows of the result."""
        return 0 if parent.isValid() else len(self._ids)

    def columnCount(self, parent: Index = ROOT) -> int:
        """Columns of the table."""
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """A cell; asks for the page of a body that is not there yet."""
        if not index.isValid() or not 0 <= index.row() < len(self._ids):
            return None
        fact_id, column = self._ids[index.row()], self._columns[index.column()]
        if role == ID_ROLE:
            return fact_id
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column.is_number else _LEFT
        if role not in _BODY_ROLES:
            return None
        if fact_id not in self._cache or fact_id in self._stale:
            self._want(index.row())
        row = self._cache.get(fact_id)
        if role == MUTED_ROLE:
            return row is None or row.status != "live"
        return None if row is None else _cell_data(self._cell(column, row), role)

    def _cell(self, column: Column, row: FactRow) -> Cell:
        """The cell of a row. Whoever draws it asks for its roles in turn, so that the last one is kept meanwhile."""
        if self._last is None or self._last[0] is not column or self._last[1] is not row:
            self._last = column, row, column.cell(row)
        return self._last[2]

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Column titles; rows have none."""
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(self._columns):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._columns[section].title
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if self._columns[section].is_number else _LEFT
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Announces the wish; whoever owns the query answers with `set_ids`."""
        if 0 <= column < len(self._columns):
            self.sort_wanted.emit(self._columns[column].key, order is Qt.SortOrder.DescendingOrder)


_BODY_ROLES = frozenset(
    (
        Qt.ItemDataRole.DisplayRole,
        Qt.ItemDataRole.ToolTipRole,
        Qt.ItemDataRole.AccessibleTextRole,
        TONE_ROLE,
        MUTED_ROLE,
        SHARE_ROLE,
    )
)


def _cell_data(cell: Cell, role: int) -> object:
    if role == Qt.ItemDataRole.DisplayRole:
        return cell.text
    if role == TONE_ROLE:
        return cell.tone
    if role == SHARE_ROLE:
        return cell.share
    return (as_tip(cell.spoken) if role == Qt.ItemDataRole.ToolTipRole else cell.spoken) or None


def edits_between(old: Sequence[str], new: Sequence[str]) -> list[Edit] | None:
    """Few edits that make `new` of `old`, in order; None where it takes many: then everything is another list.

    A run of rows that comes or goes at one place is one edit, however long. Rows that stay are compared in C.
    """
    edits: list[Edit] = []
    at = place = 0
    while True:
        same = _common(old, at, new, place)
        at, place = at + same, place + same
        left, right = len(old) - at, len(new) - place
        if not left or not right:
            step = left, right
        else:
            found = _next_step(old, at, new, place)
            if found is None:
                return None
            step = found
        if step != (0, 0):
            edits.append(Edit(at, step[0], new[place : place + step[1]]))
        at, place = at + step[0], place + step[1]
        if at == len(old) and place == len(new):
            return edits
        if len(edits) == _MOST_EDITS:
            return None


def _next_step(old: Sequence[str], at: int, new: Sequence[str], place: int) -> tuple[int, int] | None:
    """How many rows go here and how many come, until both lists go on alike."""
    longer = len(new) - place - (len(old) - at)
    if longer > 0 and old[at:] == new[place + longer :]:
        return 0, longer  # the rest of the old ids stays, however many come before it
    if longer < 0 and old[at - longer :] == new[place:]:
        return -longer, 0
    nearest = {fact_id: far for far, fact_id in enumerate(new[place : place + _FARTHEST])}
    steps = [(far, nearest[fact_id]) for far, fact_id in enumerate(old[at : at + _FARTHEST]) if fact_id in nearest]
    if not steps and at and max(len(old) - at, len(new) - place) <= _FARTHEST:
        return len(old) - at, len(new) - place  # nothing but the last few rows is another
    return min(steps, key=sum, default=None)


def _common(left: Sequence[str], left_at: int, right: Sequence[str], right_at: int) -> int:
    """How many items are the same from there on: longer and longer pieces are compared, then halves of the last."""
    most = min(len(left) - left_at, len(right) - right_at)

    def are_same(first: int, end: int) -> bool:
        return left[left_at + first : left_at + end] == right[right_at + first : right_at + end]

    count, piece = 0, 64
    while count < most and are_same(count, min(count + piece, most)):
        count, piece = min(count + piece, most), 2 * piece
    while piece:
        end = min(count + piece, most)
        count = end if are_same(count, end) else count
        piece //= 2
    return count
