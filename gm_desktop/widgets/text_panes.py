"""Plain text in panes: never markup, spans tinted, long texts shown a part at a time."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent, QTextCharFormat, QTextCursor, QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QTextEdit, QVBoxLayout, QWidget

from gm_desktop.formatting import number, undisguised
from gm_desktop.i18n import tr
from gm_desktop.plain_text import SHOWN_CHARS, as_lines, excerpt, utf16_spans
from gm_desktop.theme import Theme
from gm_desktop.widgets.basics import push_button

Spans = tuple[tuple[int, int], ...]


def raw_text(field: QPlainTextEdit) -> str:
    """What was typed, character for character: `toPlainText` would fold no-break spaces."""
    return field.document().toRawText().replace("\u2029", "\n")


class TextPane(QPlainTextEdit):
    """A plain-text pane whose spans can be tinted. Read-only panes grow with their text up to `most_px`."""

    def __init__(self, theme: Theme, *, most_px: int | None = None, editable: bool = False) -> None:
        super().__init__()
        self._theme = theme
        self._most_px = most_px
        self._spans: Spans = ()
        self._roles = ("match", "text")
        self.setReadOnly(not editable)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)  # lines are broken anywhere
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(4 if editable else 0)
        self.setProperty("kind", "" if editable else "bare")
        if not editable:
            self.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
        if most_px is not None:
            self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            self.document().documentLayout().documentSizeChanged.connect(self._fit)
        theme.changed.connect(self._tint)

    def raw_text(self) -> str:
        """The text as it stands, no-break spaces included."""
        return raw_text(self)

    def show_text(self, text: str, spans: Spans = ()) -> None:
        """Shows a text with tinted spans (in characters)."""
        self._spans = ()
        self.setPlainText(text)
        self.tint(spans)

    def tint(self, spans: Spans, *, ground: str = "match", ink: str = "text") -> None:
        """Tints spans of the present text with two theme colours."""
        self._spans = utf16_spans(self.raw_text(), spans) if spans else ()
        self._roles = (ground, ink)
        self._tint()

    def tinted_texts(self) -> tuple[str, ...]:
        """The words that are tinted now."""
        return tuple(each.cursor.selectedText() for each in self.extraSelections())

    def _tint(self) -> None:
        look = QTextCharFormat()
        look.setBackground(self._theme.color(self._roles[0]))
        look.setForeground(self._theme.color(self._roles[1]))
        self.setExtraSelections(list(self._selections(look)))

    def _selections(self, look: QTextCharFormat) -> Iterable[QTextEdit.ExtraSelection]:
        for start, end in self._spans:
            selection = QTextEdit.ExtraSelection()
            selection.cursor = QTextCursor(self.document())
            selection.cursor.setPosition(start)
            selection.cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            selection.format = look
            yield selection

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wrapping changes the height."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        if self._most_px is not None:
            height = self.sizeHint().height()
            policy = Qt.ScrollBarPolicy
            self.setHorizontalScrollBarPolicy(policy.ScrollBarAlwaysOff)  # long words wrap, too
            is_cut = height >= self._most_px
            self.setVerticalScrollBarPolicy(policy.ScrollBarAsNeeded if is_cut else policy.ScrollBarAlwaysOff)
            if height != self.height():
                self.setFixedHeight(height)

    def sizeHint(self) -> QSize:
        """The text's height where the pane grows with it."""
        base = super().sizeHint()
        if self._most_px is None:
            return base
        lines = max(1, int(self.document().documentLayout().documentSize().height()))
        height = lines * self.fontMetrics().lineSpacing() + 2 * int(self.document().documentMargin()) + 6
        return QSize(base.width(), min(self._most_px, height))


class LongText(QWidget):
    """A text of any length: its first 20,000 characters, and more on demand: a megabyte never stops the window."""

    grew = Signal()

    def __init__(self, theme: Theme, *, most_px: int = 320) -> None:
        super().__init__()
        self._text = ""
        self._shown = 0
        self._spans: Spans = ()
        self.pane = TextPane(theme, most_px=most_px)
        self._more = push_button("", "link", self._show_more)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self.pane)
        layout.addWidget(self._more, 0, Qt.AlignmentFlag.AlignLeft)

    @property
    def text(self) -> str:
        """The whole text."""
        return self._text

    def show_text(self, text: str, spans: Spans = ()) -> None:
        """Shows the start of a text."""
        self._text, self._spans, self._shown = text, spans, SHOWN_CHARS
        self._draw()

    def _show_more(self) -> None:
        self._shown += 5 * SHOWN_CHARS
        self._draw()
        self.grew.emit()

    def _draw(self) -> None:
        part = excerpt(self._text, self._shown)
        shown = undisguised(as_lines(part.text))
        is_same_length = len(shown) == len(part.text)
        self.pane.show_text(shown, self._spans if is_same_length else ())
        self._more.setVisible(part.hidden > 0)
        self._more.setText(tr("Show more of {count} characters", count=number(len(self._text))))
