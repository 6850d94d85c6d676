"""The navigation rail: pages above, a few actions below."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAction,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QIcon,
    QMoveEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QSizePolicy, QStyle, QToolButton, QVBoxLayout, QWidget

from gm_desktop.formatting import number
from gm_desktop.i18n import tr_count
from gm_desktop.theme import SPACE, Theme
from gm_desktop.widgets.basics import Picture, text_label
from gm_desktop.widgets.fact_drag import dragged_fact

WIDTH = 184
_MARK_PX = 18
SPRING_MS = 600


class RailButton(QToolButton):
    """One entry: icon, text, a soft ground while it is open or under the pointer.

    Where it accepts drops, a fact that hovers for a moment opens the page, and one that is dropped is handed on.
    """

    fact_dropped = Signal(str)

    def __init__(self, theme: Theme, text: str) -> None:
        super().__init__()
        self._theme = theme
        self._is_target = False
        self._spring = QTimer(self, singleShot=True, interval=SPRING_MS)
        self._spring.timeout.connect(self.click)
        self._count = 0
        self.setText(text)
        self.setAccessibleName(text)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(34)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def show_count(self, count: int) -> None:
        """Says how many things wait on the page; 0 says nothing."""
        if count != self._count:
            self._count = count
            waiting = tr_count("{count} waits", "{count} wait", count)
            self.setAccessibleName(f"{self.text()}, {waiting}" if count else self.text())
            self.update()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """One fact may hover here."""
        if dragged_fact(event.mimeData()) is None or not self.isEnabled():
            event.ignore()
            return
        event.acceptProposedAction()
        self._spring.start()
        self._mark(is_target=True)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """It went on."""
        self._spring.stop()
        self._mark(is_target=False)
        event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        """Hands the fact on."""
        self._spring.stop()
        self._mark(is_target=False)
        fact_id = dragged_fact(event.mimeData())
        if fact_id is not None:
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self.fact_dropped.emit(fact_id)

    def _mark(self, *, is_target: bool) -> None:
        self._is_target = is_target
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draws the entry in the theme's colours."""
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        ground = "accent_soft" if self.isChecked() else "hover" if self.underMouse() and self.isEnabled() else ""
        is_framed = self.hasFocus() or self._is_target
        painter.setPen(QPen(theme.color("focus"), 2) if is_framed else Qt.PenStyle.NoPen)
        painter.setBrush(theme.color(ground) if ground else Qt.BrushStyle.NoBrush)
        if ground or is_framed:
            painter.drawRoundedRect(box, 7, 7)
        mode = QIcon.Mode.Normal if self.isEnabled() else QIcon.Mode.Disabled
        picture = self._mirrored(QRect(11, (self.height() - 16) // 2, 16, 16))
        self.icon().paint(painter, picture, Qt.AlignmentFlag.AlignCenter, mode)
        role = "text_faint" if not self.isEnabled() else "accent" if self.isChecked() else "text_muted"
        painter.setPen(theme.color(role))
        painter.setFont(theme.font("strong"))
        text = self.text().rstrip("….")
        painter.drawText(self._mirrored(self.rect().adjusted(38, 0, -8, 0)), Qt.AlignmentFlag.AlignVCenter, text)
        if self._count:
            self._paint_count(painter)

    def _mirrored(self, rect: QRect) -> QRect:
        return QStyle.visualRect(self.layoutDirection(), self.rect(), rect)

    def _paint_count(self, painter: QPainter) -> None:
        shown = number(self._count) if self._count < 1_000 else "999+"
        painter.setFont(self._theme.font("small"))
        width = max(20, painter.fontMetrics().horizontalAdvance(shown) + 12)
        pill = QRectF(self._mirrored(QRect(self.width() - width - 8, (self.height() - 18) // 2, width, 18)))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("accent"))
        painter.drawRoundedRect(pill, 9, 9)
        painter.setPen(self._theme.color("on_accent"))
        painter.drawText(pill, Qt.AlignmentFlag.AlignCenter, shown)


class NavigationRail(QWidget):
    """Emits `chosen(page_id)`; shows which page is open.

    `fact_dropped` comes from a page that accepts facts; `gap_moved` says that `gap` or the rail stands elsewhere.
    """

    chosen = Signal(str)
    fact_dropped = Signal(str)
    gap_moved = Signal()

    def __init__(self, theme: Theme, title: str) -> None:
        super().__init__()
        self._theme = theme
        self._buttons: dict[str, RailButton] = {}
        self._icons: dict[str, str] = {}
        self._group = QButtonGroup(self)
        self._gap = QWidget()
        self._gap.installEventFilter(self)
        self._mark = Picture(theme, "mark", "accent", _MARK_PX)
        self.setFixedWidth(WIDTH)
        self._pages, self._actions = QVBoxLayout(), QVBoxLayout()
        self._build(title)
        theme.changed.connect(self._paint_icons)
        self._paint_icons()

    def add_page(self, page_id: str, title: str, icon: str, *, shortcut: str) -> None:
        """Adds an entry for a page."""
        button = RailButton(self._theme, title)
        button.setCheckable(True)
        button.setToolTip(f"{title} ({shortcut})")
        button.clicked.connect(lambda _checked=False: self.chosen.emit(page_id))
        self._group.addButton(button)
        self._buttons[page_id], self._icons[page_id] = button, icon
        self._pages.addWidget(button)
        self._paint_icons()

    def show_entry(self, page_id: str, *, is_shown: bool) -> None:
        """Shows or hides the entry of a page."""
        self._buttons[page_id].setVisible(is_shown)

    def show_count(self, page_id: str, count: int) -> None:
        """Says on the entry of a page how many things wait there."""
        self._buttons[page_id].show_count(count)

    def add_action(self, action: QAction) -> None:
        """Adds an entry at the bottom that follows `action` (text, icon, enabled)."""
        button = RailButton(self._theme, action.text())
        button.setDefaultAction(action)
        self._actions.addWidget(button)

    @property
    def gap(self) -> QRect:
        """Where it is empty, between the pages and the actions."""
        return self._gap.geometry()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Notices what the layout does to the gap."""
        if event.type() in (QEvent.Type.Move, QEvent.Type.Resize):
            self.gap_moved.emit()
        return super().eventFilter(watched, event)

    def moveEvent(self, event: QMoveEvent) -> None:
        """The gap moves along."""
        super().moveEvent(event)
        self.gap_moved.emit()

    def accept_facts(self, page_id: str) -> None:
        """Lets a dragged fact be dropped on the entry of this page."""
        button = self._buttons[page_id]
        button.setAcceptDrops(True)
        button.fact_dropped.connect(self.fact_dropped)

    def show_page(self, page_id: str | None) -> None:
        """Marks the open page; None: no page is open."""
        self._group.setExclusive(False)
        for known, button in self._buttons.items():
            button.setChecked(known == page_id)
        self._group.setExclusive(True)
        self._paint_icons()

    def set_pages_enabled(self, is_enabled: bool) -> None:
        """Pages need an open store."""
        for button in self._buttons.values():
            button.setEnabled(is_enabled)

    def _build(self, title: str) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(10, 2, 0, 14)
        head.setSpacing(SPACE + 2)
        head.addWidget(self._mark)
        head.addWidget(text_label(title, "strong"), 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 16, 10, 10)
        layout.setSpacing(0)
        for column in (self._pages, self._actions):
            column.setSpacing(2)
        layout.addLayout(head)
        layout.addLayout(self._pages)
        layout.addWidget(self._gap, 1)
        layout.addLayout(self._actions)

    def _paint_icons(self) -> None:
        for page_id, button in self._buttons.items():
            button.setIcon(self._theme.icon(self._icons[page_id], "accent" if button.isChecked() else "text_muted"))
