"""Small building blocks: labels that never interpret what they show, buttons, headers, empty states."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QAction, QFontMetrics, QHelpEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QStyle,
    QTabWidget,
    QToolButton,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.plain_text import as_tip
from gm_desktop.theme import MARGIN, SPACE, Theme

HEADER_HEIGHT = 64


def text_label(text: str = "", kind: str = "", *, wrap: bool = False, selectable: bool = False) -> QLabel:
    """A plain-text label; `kind`: `title`, `heading`, `section`, `muted`, `small`, `strong` or `pill`."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(wrap)
    if kind:
        label.setProperty("kind", kind)
    if selectable:
        flags = Qt.TextInteractionFlag
        label.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
    return label


def push_button(text: str, kind: str = "", on_click: Callable[[], None] | None = None) -> QPushButton:
    """A button; `kind` is empty, `primary`, `danger`, `quiet`, `link` or `chip` (checkable)."""
    button = QPushButton(text)
    button.setProperty("kind", kind)
    button.setCheckable(kind == "chip")
    button.setAutoDefault(False)
    if on_click is not None:
        button.clicked.connect(lambda _checked=False: on_click())
    return button


def icon_button(
    theme: Theme, icon: str, name: str, on_click: Callable[[], None] | None = None, *, shortcut: str = ""
) -> QToolButton:
    """An icon-only button with an accessible name and a tooltip that tells the shortcut."""
    button = QToolButton()
    button.setAccessibleName(name)
    button.setToolTip(f"{name} ({shortcut})" if shortcut else name)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    theme.bind_icon(button, icon)
    if on_click is not None:
        button.clicked.connect(lambda _checked=False: on_click())
    return button


def add_glass(field: QLineEdit, theme: Theme) -> None:
    """A magnifying glass before the text: something is looked for here."""
    glass = QAction(field)
    theme.bind_icon(glass, "search")
    field.addAction(glass, QLineEdit.ActionPosition.LeadingPosition)


def rule(*, vertical: bool = False) -> QFrame:
    """A hairline."""
    line = QFrame()
    line.setProperty("kind", "vline" if vertical else "line")
    return line


def set_kind(widget: QWidget, kind: str) -> None:
    """Changes a widget's style variant while it is shown."""
    if widget.property("kind") != kind:
        widget.setProperty("kind", kind)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def row(*items: QWidget | int, spacing: int = SPACE, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> QHBoxLayout:
    """Widgets side by side; an int is a stretch of that weight."""
    layout = QHBoxLayout()
    layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    for item in items:
        if isinstance(item, int):
            layout.addStretch(item)
        else:
            layout.addWidget(item)
    return layout


class Picture(QLabel):
    """An icon that stands alone as decoration, in the theme's colours, now and after a change of theme."""

    def __init__(self, theme: Theme, icon: str, role: str = "text_muted", size: int = 16) -> None:
        super().__init__()
        self._theme, self._icon, self._role, self._size = theme, icon, role, size
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._paint_icon()
        theme.changed.connect(self._paint_icon)

    def show_icon(self, icon: str, role: str | None = None) -> None:
        """Changes the icon, and its colour if `role` is given."""
        self._icon, self._role = icon, role or self._role
        self._paint_icon()

    def _paint_icon(self) -> None:
        self.setPixmap(self._theme.pixmap(self._icon, self._role, self._size))


class ElidedLabel(QWidget):
    """One line of plain text that gives way: cut in the middle (paths) or at the end, whole in its tooltip."""

    def __init__(self, text: str = "", *, middle: bool = False, role: str = "text_muted", theme: Theme) -> None:
        super().__init__()
        self._text = text
        self._mode = Qt.TextElideMode.ElideMiddle if middle else Qt.TextElideMode.ElideRight
        self._role, self._theme = role, theme
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setFont(theme.font("small"))
        theme.changed.connect(self.update)

    def text(self) -> str:
        """The whole text."""
        return self._text

    def set_text(self, text: str, *, tooltip: str = "") -> None:
        """Shows another text."""
        self._text = text
        self.setToolTip(as_tip(tooltip or text))
        self.setAccessibleName(text)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Room for the whole text."""
        metrics = QFontMetrics(self.font())
        return QSize(metrics.horizontalAdvance(self._text) + 2, metrics.height() + 4)

    def minimumSizeHint(self) -> QSize:
        """A few letters are enough."""
        return QSize(40, self.sizeHint().height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draws what fits."""
        painter = QPainter(self)
        painter.setPen(self._theme.color(self._role))
        shown = painter.fontMetrics().elidedText(self._text, self._mode, self.width())
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)


class YieldingLabel(QLabel):
    """A line that gives way to what stands beside it: it ends in an ellipsis then, and is whole in its tooltip."""

    def __init__(self, text: str = "", kind: str = "") -> None:
        super().__init__(text)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("kind", kind)

    def minimumSizeHint(self) -> QSize:
        """A few letters are enough."""
        return QSize(40, super().minimumSizeHint().height())

    def event(self, event: QEvent) -> bool:
        """Tells the whole text where it is cut."""
        if isinstance(event, QHelpEvent) and self._shown() != self.text() and not self.toolTip():
            QToolTip.showText(event.globalPos(), as_tip(self.text()), self)
            return True
        return super().event(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draws what fits."""
        painter = QPainter(self)
        place = QStyle.visualAlignment(self.layoutDirection(), self.alignment())
        shown, role = self._shown(), self.foregroundRole()
        self.style().drawItemText(painter, self.contentsRect(), place, self.palette(), self.isEnabled(), shown, role)

    def _shown(self) -> str:
        room = self.contentsRect().width()
        return self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room)


class PageHeader(QWidget):
    """The top of a page: its title, one quiet line under it, buttons on the right; below where there is no room."""

    def __init__(self, title: str, subtitle: str = "", buttons: Sequence[QWidget] = ()) -> None:
        super().__init__()
        self._title, self._subtitle = text_label(title, "title"), YieldingLabel(subtitle, "muted")
        if not subtitle:  # showing it here would open a window: nothing holds it yet
            self._subtitle.hide()
        self._texts = QVBoxLayout()
        self._texts.setSpacing(2)
        self._texts.addWidget(self._title)
        self._texts.addWidget(self._subtitle)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(SPACE)
        for button in buttons:
            self._buttons.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        self._buttons.addStretch()
        self._layout = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._layout.setContentsMargins(MARGIN, 20, MARGIN, 12)
        self._layout.setSpacing(SPACE)
        self._layout.addLayout(self._texts, 1)
        self._layout.addLayout(self._buttons)

    def set_subtitle(self, text: str) -> None:
        """Changes the quiet line; empty hides it."""
        self._subtitle.setText(text)
        self._subtitle.setVisible(bool(text))

    def event(self, event: QEvent) -> bool:
        """Finds the buttons' place when the room or what stands in it changes."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            needed = self._texts.minimumSize().width() + SPACE + self._buttons.minimumSize().width() + 2 * MARGIN
            beside, below = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
            self._layout.setDirection(beside if needed <= self.width() else below)
        return super().event(event)


class EmptyState(QWidget):
    """Says why there is nothing here and what fills it."""

    ICON_PX = 32

    def __init__(
        self,
        theme: Theme,
        icon: str,
        title: str,
        text: str = "",
        buttons: Sequence[QWidget] = (),
        *,
        text_width: int = 380,
    ) -> None:
        super().__init__()
        self._picture = Picture(theme, icon, "text_faint", self.ICON_PX)
        self._title = text_label(title, "heading")
        self._text = text_label(text, "muted", wrap=True)
        self._title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._text_width = text_width
        self._room: int | None = None
        self._fit_text()
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(SPACE)
        self._build(buttons)

    def say(self, icon: str, title: str, text: str = "") -> None:
        """Changes what is said (loading, failed, nothing matches)."""
        self._picture.show_icon(icon)
        self._title.setText(title)
        self._text.setText(text)
        self._text.setVisible(bool(text))
        self._fit_text()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lines are no longer than there is room."""
        super().resizeEvent(event)
        room = max(1, self.contentsRect().width() - 2 * MARGIN)
        if room != self._room:
            self._room = room
            self._fit_text()

    def _fit_text(self) -> None:
        """A wrapped label in a centred place is given one line unless it insists on more."""
        room = self._text_width if self._room is None else min(self._room, self._text_width)
        self._text.setMinimumSize(0, 0)  # else it is never measured as narrower or lower than before
        room = even_width(self._text, room)
        self._text.setFixedWidth(room)
        self._text.setMinimumHeight(max(0, self._text.heightForWidth(room)))
        self._title.setWordWrap(False)
        self._title.setMinimumSize(0, 0)
        if self._room is not None and self._title.sizeHint().width() > self._room:
            self._title.setWordWrap(True)
            self._title.setMinimumSize(self._room, max(0, self._title.heightForWidth(self._room)))

    def _build(self, buttons: Sequence[QWidget]) -> None:
        centre = Qt.AlignmentFlag.AlignHCenter
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        layout.setSpacing(SPACE)
        layout.addStretch(2)
        for widget in (self._picture, self._title, self._text):
            layout.addWidget(widget, 0, centre)
        layout.addSpacing(SPACE)
        for button in buttons:
            self._buttons.addWidget(button)
        layout.addLayout(self._buttons)
        layout.setAlignment(self._buttons, centre)
        layout.addStretch(3)
        self._text.setVisible(bool(self._text.text()))


def document_tabs(*, overhang: int = 0) -> QTabWidget:
    """Tabs that stand on the page, without the line that the style would draw along them.

    What is below reaches `overhang` px further out than the titles: the ground of rows whose text stands under them.
    """
    tabs = QTabWidget()
    tabs.setDocumentMode(True)
    tabs.tabBar().setDrawBase(False)
    if overhang:
        spacer = QWidget()
        spacer.setLayout(row(margins=(overhang, 0, 0, 0)))
        tabs.setCornerWidget(spacer, Qt.Corner.TopLeftCorner)
    return tabs


def even_width(label: QLabel, most: int) -> int:
    """The least width at which its text takes no more lines than at `most` px, so that none is a single word."""
    words = (label.fontMetrics().horizontalAdvance(word) for word in label.text().split())
    narrow, enough = min(max(words, default=0), most), most
    while enough - narrow > 1:
        middle = (narrow + enough) // 2
        if label.heightForWidth(middle) <= label.heightForWidth(most):
            enough = middle
        else:
            narrow = middle
    return enough
