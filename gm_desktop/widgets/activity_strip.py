"""The bottom of the window: which store this is, and what runs beside it."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import SignalInstance
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QWidget

from gm_desktop.formatting import duration, number
from gm_desktop.i18n import tr
from gm_desktop.plain_text import as_tip
from gm_desktop.theme import SPACE, Theme
from gm_desktop.widgets.basics import ElidedLabel, Picture, icon_button, text_label

HEIGHT = 34
_LONG_S = 10.0


class ShownTask(Protocol):
    """What the strip shows of a task."""

    title: str
    what: str
    done: int
    total: int | None

    @property
    def progressed(self) -> SignalInstance:
        """Emitted when anything below changed."""

    @property
    def is_running(self) -> bool:
        """Whether it can still be cancelled."""

    @property
    def fraction(self) -> float | None:
        """Share done, None while unknown."""

    @property
    def left_s(self) -> float | None:
        """Seconds left, None while unknown."""

    def cancel(self) -> None:
        """Asks it to stop."""


class TaskLine(QWidget):
    """One running task: title, bar, time left, cancel."""

    def __init__(self, theme: Theme, task: ShownTask) -> None:
        super().__init__()
        self._task = task
        self._title = text_label(task.title, "small")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(110)
        self._bar.setAccessibleName(task.title)
        self._left = text_label("", "small")
        self._cancel = icon_button(theme, "x", tr("Cancel {task}", task=task.title), task.cancel)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SPACE)
        for widget in (self._title, self._bar, self._left, self._cancel):
            layout.addWidget(widget)
        task.progressed.connect(self._show)
        self._show()

    def _show(self) -> None:
        fraction, left_s = self._task.fraction, self._task.left_s
        self._bar.setRange(0, 0 if fraction is None else 1000)
        self._bar.setValue(round((fraction or 0.0) * 1000))
        counted = number(self._task.done) if self._task.done else ""
        if self._task.total:
            counted = tr("{done} of {total}", done=counted or "0", total=number(self._task.total))
        left = tr("{time} left", time=duration(left_s)) if left_s is not None else ""
        self._left.setText(" · ".join(part for part in (counted, left) if part))
        self.setToolTip(as_tip(self._task.what))


class ActivityStrip(QWidget):
    """Store path on the left, always; tasks and the state of embeddings on the right."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._lines: dict[int, TaskLine] = {}
        self.setFixedHeight(HEIGHT)
        self._picture = Picture(theme, "database", size=14)
        self._path = ElidedLabel(middle=True, theme=theme)
        self._badge = text_label("", "pill")
        self._indexing = text_label("", "small")
        self._tasks = QHBoxLayout()
        self._tasks.setSpacing(20)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 0, 12, 0)
        layout.setSpacing(SPACE)
        layout.addWidget(self._picture)
        layout.addWidget(self._path, 1)
        layout.addWidget(self._badge)
        layout.addStretch(1)
        layout.addWidget(self._indexing)
        layout.addSpacing(16)
        layout.addLayout(self._tasks)
        self.show_store(None)
        self.show_indexing(0, 0)

    @property
    def path_text(self) -> str:
        """The path that is shown."""
        return self._path.text()

    def show_store(self, path: str | None, *, badge: str = "") -> None:
        """Names the open store; None: none is open."""
        self._path.set_text(path or tr("No store is open"), tooltip=tr("The store this window shows"))
        self._badge.setText(badge)
        self._badge.setVisible(bool(badge))

    def show_indexing(self, embedded: int, pending: int, *, left_s: float | None = None, error: str = "") -> None:
        """Tells how many texts still wait for their vector, how long that takes, or why they wait; 0 hides it."""
        done, total = number(embedded), number(embedded + pending)
        self._indexing.setVisible(pending > 0)
        if error:
            text = tr("Learning meanings pauses at {done} of {total}", done=done, total=total)
        elif left_s is not None and left_s >= _LONG_S:
            left = duration(left_s)
            text = tr("Learning meanings: {done} of {total}, {left} left", done=done, total=total, left=left)
        else:
            text = tr("Learning meanings: {done} of {total}", done=done, total=total)
        self._indexing.setText(text)
        hint = tr("Search by words and dates already covers everything; similarity follows.")
        self._indexing.setToolTip(as_tip(f"{error}\n{hint}") if error else hint)

    @property
    def is_indexing(self) -> bool:
        """Whether the state of embeddings is shown."""
        return self._indexing.isVisibleTo(self)

    def add_task(self, task: ShownTask) -> None:
        """Shows a task until `remove_task`."""
        line = TaskLine(self._theme, task)
        self._lines[id(task)] = line
        self._tasks.addWidget(line)

    def remove_task(self, task: ShownTask) -> None:
        """Takes a task away."""
        line = self._lines.pop(id(task), None)
        if line is not None:
            line.hide()
            line.deleteLater()
