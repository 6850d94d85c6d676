"""One step of the tour: a card beside what it speaks of, and the line around that."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QFrame, QGraphicsDropShadowEffect, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import RADIUS, SPACE, Theme
from gm_desktop.widgets.basics import push_button, row, text_label

WIDTH = 340
GAP = 12  # between the card, what it speaks of, and the edges
LINE, AWAY = 2, 4  # width of the line, and how far outside it stands
_PLAIN = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)


def place(card: QSize, target: QRect, room: QRect, *, is_mirrored: bool = False) -> QPoint:
    """The card's corner: after the target, before, below or above it, wherever there is room first.

    Where there is none, it stands in the last corner of `room`; so it does for an empty target. Mirrored is for text
    from right to left.
    """
    room = room.adjusted(GAP, GAP, -GAP, -GAP)
    right, bottom = room.right() + 1 - card.width(), room.bottom() + 1 - card.height()
    middle = min(max(target.center().y() - card.height() // 2, room.top()), bottom)
    start = target.right() + 1 - card.width() if is_mirrored else target.left()
    start = min(max(start, room.left()), right)
    sides = [
        QPoint(target.right() + 1 + GAP, middle),
        QPoint(target.left() - GAP - card.width(), middle),
    ]
    spots = [
        *(reversed(sides) if is_mirrored else sides),
        QPoint(start, target.bottom() + 1 + GAP),
        QPoint(start, target.top() - GAP - card.height()),
    ]
    corner = QPoint(room.left() if is_mirrored else right, bottom)
    fitting = (spot for spot in spots if room.contains(QRect(spot, card)))
    return corner if target.isEmpty() else next(fitting, corner)


class TourCard(QFrame):
    """Where one is, a heading, a sentence or two, and three buttons.

    It is no dialog: the window behind it can be used. The keys are the card's while one of its buttons has the focus:
    the arrows step (mirrored where text runs from right to left), Enter presses the button, Escape leaves.
    """

    stepped = Signal(int)  # 1 or -1
    left = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("kind", "popup")
        self._where = text_label("", "small")
        self._title = text_label("", "heading", wrap=True)
        self._text = text_label("", wrap=True)
        self.skip = push_button(tr("Skip the tour"), "link", self.left.emit)
        self.back = push_button(tr("Back"), "", lambda: self.stepped.emit(-1))
        self.next = push_button(tr("Next"), "primary", lambda: self.stepped.emit(1))
        for button in (self.skip, self.back, self.next):
            button.installEventFilter(self)
        self._lay_out()
        shadow = QGraphicsDropShadowEffect(self, blurRadius=32, color=theme.color("shadow"))
        shadow.setOffset(0, 8)
        self.setGraphicsEffect(shadow)

    def show_step(self, number: int, count: int, title: str, text: str) -> None:
        """Says what the step `number` of `count` is about, to eyes and to ears, and takes the keyboard."""
        self._where.setText(tr("Step {number} of {count}", number=number, count=count))
        self._title.setText(title)
        self._text.setText(text)
        is_last = number == count
        self.back.setVisible(number > 1)
        self.skip.setVisible(not is_last)
        self.next.setText(tr("Done") if is_last else tr("Next"))
        self.setAccessibleName(tr("Tour"))
        self.setAccessibleDescription(f"{self._where.text()}. {title}. {text}")
        width = max(WIDTH, self.minimumSizeHint().width())
        self.resize(width, self.heightForWidth(width))
        self.show()
        self.raise_()
        self.next.setFocus(Qt.FocusReason.OtherFocusReason)
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, self.accessibleDescription()))

    def stand_beside(self, target: QRect, room: QRect) -> None:
        """Moves beside what it speaks of, above everything."""
        self.move(place(self.size(), target, room, is_mirrored=self.isRightToLeft()))
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The keys of the card, before the buttons and the window's shortcuts see them."""
        kinds = (QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress)
        if isinstance(event, QKeyEvent) and event.type() in kinds and isinstance(watched, QAbstractButton):
            deed = self._deeds(watched).get(Qt.Key(event.key())) if event.modifiers() in _PLAIN else None
            if deed is not None:
                event.accept()
                if event.type() == QEvent.Type.KeyPress:
                    deed()
                return True
        return super().eventFilter(watched, event)

    def _deeds(self, button: QAbstractButton) -> dict[Qt.Key, Callable[[], None]]:
        ahead, behind = Qt.Key.Key_Right, Qt.Key.Key_Left
        if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            ahead, behind = behind, ahead
        return {
            ahead: self.next.click,
            behind: self.back.click if self.back.isVisible() else _stay,
            Qt.Key.Key_Return: button.click,
            Qt.Key.Key_Enter: button.click,
            Qt.Key.Key_Escape: self.left.emit,
        }

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(SPACE)
        for label in (self._where, self._title, self._text):
            layout.addWidget(label)
        layout.addSpacing(SPACE)
        layout.addLayout(row(self.skip, 1, self.back, self.next))


def _stay() -> None:
    """There is no step before the first."""


class TourOutline(QWidget):
    """A line around what the card speaks of. It lets everything through and dims nothing."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        theme.changed.connect(self.update)

    def surround(self, target: QRect, room: QRect) -> None:
        """Stands around `target`, but not outside `room`; around nothing it hides."""
        self.setVisible(not target.isEmpty())
        self.setGeometry(target.adjusted(-AWAY, -AWAY, AWAY, AWAY) & room)
        self.raise_()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The line."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.color("accent"), LINE))
        inset = LINE / 2
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), RADIUS, RADIUS)
