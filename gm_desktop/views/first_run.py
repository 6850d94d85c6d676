"""The first page: choose a store. Says what each choice does before it does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.plain_text import as_caption
from gm_desktop.theme import Theme
from gm_desktop.widgets.basics import Picture, push_button, row, text_label

COLUMN = 720
SHOWN_RECENT = 4


class Choice(QPushButton):
    """A large button: icon, name, one sentence. Enter presses it too, arrows walk."""

    chosen = Signal()

    def __init__(self, theme: Theme, icon: str, title: str, text: str) -> None:
        super().__init__()
        self.setProperty("kind", "choice")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)  # all are equally wide
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.clicked.connect(lambda _on=False: self.chosen.emit())
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)
        words = QVBoxLayout()
        words.setSpacing(3)
        words.addWidget(text_label(title, "strong"))
        words.addWidget(text_label(text, "muted", wrap=True))
        words.addStretch(1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 16)
        layout.setSpacing(14)
        layout.addWidget(Picture(theme, icon, "accent", 20), 0, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(words, 1)
        self._inside = layout

    def sizeHint(self) -> QSize:
        """Room for what is inside."""
        return self._inside.sizeHint()

    def minimumSizeHint(self) -> QSize:
        """Less would cut the sentence."""
        return self._inside.minimumSize()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter chooses as space does, arrows walk."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        elif event.key() in (Qt.Key.Key_Right, Qt.Key.Key_Down):
            self.focusNextChild()
        elif event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Up):
            self.focusPreviousChild()
        else:
            super().keyPressEvent(event)


class FirstRunView(QWidget):
    """Four ways in, and the stores opened before."""

    new_chosen = Signal()
    open_chosen = Signal()
    import_chosen = Signal()
    demo_chosen = Signal()
    recent_chosen = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._problem = text_label("", "danger", wrap=True)
        self._problem.hide()
        self._recent = QVBoxLayout()
        self._recent.setSpacing(0)
        self._choices = self._make_choices()
        self._lay_out()

    def show_problem(self, sentence: str) -> None:
        """Says why the last try failed; empty hides it."""
        self._problem.setText(sentence)
        self._problem.setVisible(bool(sentence))

    def show_recent(self, paths: Sequence[str]) -> None:
        """Lists the stores opened before."""
        while (item := self._recent.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        if paths:
            self._recent.addWidget(text_label(tr("Opened before"), "section"))
        for path in paths[:SHOWN_RECENT]:
            button = push_button(as_caption(path), "link", self._recent_opener(path))
            self._recent.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)

    def focus_first(self) -> None:
        """The first choice takes the keyboard."""
        self._choices[0].setFocus()

    def _make_choices(self) -> tuple[Choice, ...]:
        theme = self._theme
        new = Choice(
            theme,
            "plus",
            tr("New store"),
            tr("An empty memory on this computer, for your agents to write to. You choose the folder."),
        )
        existing = Choice(
            theme, "folder-open", tr("Open a store"), tr("A folder that GrayMatter already keeps memory in.")
        )
        imported = Choice(
            theme,
            "download",
            tr("Import"),
            tr("Bring in gray.db, or what other programs remember. You see what is inside before anything is written."),
        )
        demo = Choice(
            theme, "sparkles", tr("Look around in a demo"), tr("Made-up agents with facts to search and correct.")
        )
        for choice, signal in (
            (new, self.new_chosen),
            (existing, self.open_chosen),
            (imported, self.import_chosen),
            (demo, self.demo_chosen),
        ):
            choice.chosen.connect(signal)
        return new, existing, imported, demo

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setSpacing(12)
        for index, choice in enumerate(self._choices):
            grid.addWidget(choice, index // 2, index % 2)
        for column_index in (0, 1):
            grid.setColumnStretch(column_index, 1)
        column = QWidget()
        column.setFixedWidth(COLUMN)
        inner = QVBoxLayout(column)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(6)
        inner.addWidget(Picture(self._theme, "mark", "accent", 36))
        inner.addSpacing(6)
        inner.addWidget(text_label(tr("See what your agents remember"), "hero"))
        lead = tr("Browse it, ask why a fact came back, correct it, take anything back, publish it as linked notes.")
        inner.addWidget(text_label(lead, "muted", wrap=True))
        inner.addSpacing(18)
        inner.addWidget(self._problem)
        inner.addLayout(grid)
        inner.addSpacing(18)
        inner.addLayout(self._recent)
        layout = QVBoxLayout(self)
        layout.addStretch(2)
        layout.addLayout(row(1, column, 1))
        layout.addStretch(3)

    def _recent_opener(self, path: str) -> Callable[[], None]:
        return lambda: self.recent_chosen.emit(path)
