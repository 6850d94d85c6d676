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

PAGE_ROWS = 256
CACHED_ROWS = 48 * PAGE_ROWS
WAITING_PAGES = 3

ID_ROLE = Qt.ItemDataRole.UserRole + 1
TONE_ROLE = Qt.ItemDataRole.UserRole + 2
MUTED_ROLE = Qt.ItemDataRole.UserRole + 3

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell shows. `tone` names a meaning that may be coloured; `spoken` is for ears and tooltips."""

    text: str
    tone: str = ""
    spoken: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its title, the key SQL sorts by, how a row fills it, and whether it aligns to the right."""

    title: str
    key: str
    cell: Callable[[FactRow], Cell]
    is_number: bool = False


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
        self._row_of: dict[str, int] | None = None
        self._cache: OrderedDict[str, FactRow | None] = OrderedDict()
        self._stale: set[str] = set()
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
        """The row of an id, None where it is not in the result."""
        return self._rows().get(fact_id)

    def rows_of(self, ids: Set[str]) -> list[int]:
        """The rows of those ids that are in the result, in order."""
        if len(ids) * 4 > len(self._ids):
            return [row for row, each in enumerate(self._ids) if each in ids]  # sorted already
        return sorted(row for row in map(self._rows().get, ids) if row is not None)

    def _rows(self) -> dict[str, int]:
        if self._row_of is None:
            self._row_of = {each: row for row, each in enumerate(self._ids)}
        return self._row_of

    def body(self, fact_id: str) -> FactRow | None:
        """The body of an id when it is cached."""
        return self._cache.get(fact_id)

    def set_ids(self, ids: list[str]) -> None:
        """Replaces the result. Rows that stay at the start and the end are not touched: views keep their place."""
        if ids == self._ids:
            return
        self.about_to_change.emit()
        head = _common(self._ids, ids)
        tail = _common(self._ids[: head - 1 if head else None : -1], ids[: head - 1 if head else None : -1])
        old_end, new_end = len(self._ids) - tail, len(ids) - tail
        if old_end > head and new_end > head:
            self.beginResetModel()
            self._replace(ids)
            self.endResetModel()
        elif new_end > head:
            self.beginInsertRows(QModelIndex(), head, new_end - 1)
            self._replace(ids)
            self.endInsertRows()
        else:
            self.beginRemoveRows(QModelIndex(), head, old_end - 1)
            self._replace(ids)
            self.endRemoveRows()
        self.changed.emit()

    def _replace(self, ids: list[str]) -> None:
        self._ids = ids
        self._row_of = None
        self._wanted.clear()

    def forget(self, ids: Iterable[str]) -> None:
        """Marks bodies as out of date: they stay on screen until the new ones arrive."""
        touched = [row for each in ids if each in self._cache and (row := self.row_of(each)) is not None]
        self._stale.update(self._ids[row] for row in touched)
        if touched:
            self._announce(min(touched), max(touched))

    def forget_all(self) -> None:
        """Marks every body as out of date (another store, or ages that moved on)."""
        self._stale.update(self._cache)
        if self._ids:
            self._announce(0, len(self._ids) - 1)

    def deliver(self, asked: Sequence[str], rows: Sequence[FactRow]) -> None:
        """The answer to `rows_wanted`; ids that were asked for and are not among the rows no longer exist."""
        found = {row.id: row for row in rows}
        for each in asked:
            self._cache[each] = found.get(each)
            self._cache.move_to_end(each)
            self._stale.discard(each)
        while len(self._cache) > CACHED_ROWS:
            gone, _ = self._cache.popitem(last=False)
            self._stale.discard(gone)
        self._asked = frozenset()
        places = [row for each in asked if (row := self.row_of(each)) is not None]
        if places:
            self._announce(min(places), max(places))
        self._ask_later.start()

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
            side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role not in _BODY_ROLES:
            return None
        if fact_id not in self._cache or fact_id in self._stale:
            self._want(index.row())
        row = self._cache.get(fact_id)
        if row is None:
            return True if role == MUTED_ROLE else None
        return _cell_data(column.cell(row), row, role)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Column titles; rows have none."""
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(self._columns):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._columns[section].title
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if self._columns[section].is_number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
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
    )
)


def _cell_data(cell: Cell, row: FactRow, role: int) -> object:
    if role == Qt.ItemDataRole.DisplayRole:
        return cell.text
    if role == TONE_ROLE:
        return cell.tone
    if role == MUTED_ROLE:
        return row.status != "live"
    return cell.spoken or None


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """How many items at the start are the same."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
