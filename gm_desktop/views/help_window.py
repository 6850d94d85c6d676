"""The help: subjects on the left, one subject on the right. It stays open beside the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.i18n import tr
from gm_desktop.theme import MARGIN, SPACE, Theme
from gm_desktop.widgets.basics import add_glass, rule, text_label
from gm_desktop.widgets.reading_view import BOLD, ReadingView

LIST_WIDTH = 220


class Subject(Protocol):
    """What the help shows."""

    @property
    def id(self) -> str:
        """By which links and pages name it."""

    @property
    def title(self) -> str:
        """The heading."""

    @property
    def text(self) -> str:
        """Markdown."""


class HelpWindow(QWidget):
    """Searchable help. `find` returns the subjects for a query, `render` turns Markdown into HTML."""

    def __init__(
        self,
        theme: Theme,
        *,
        find: Callable[[str], Sequence[Subject]],
        render: Callable[[str], str],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self._theme, self._find, self._render = theme, find, render
        self._subjects: dict[str, Subject] = {subject.id: subject for subject in find("")}
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._list_subjects("")

    def show_subject(self, subject_id: str) -> None:
        """Opens a subject; an unknown one changes nothing."""
        if subject_id not in self._subjects:
            return
        if not any(self._id_of(row) == subject_id for row in range(self.list.count())):
            self.line.clear()
        for row in range(self.list.count()):
            if self._id_of(row) == subject_id:
                self.list.setCurrentRow(row)

    @property
    def subject_id(self) -> str:
        """The subject that is read now; empty when nothing was found."""
        return self._id_of(self.list.currentRow()) if self.list.currentRow() >= 0 else ""

    def _make_widgets(self) -> None:
        self.setWindowTitle(tr("Help"))
        self.setObjectName("help")
        self.line = QLineEdit()
        self.line.setPlaceholderText(tr("Search the help"))
        self.line.setAccessibleName(tr("Search the help"))
        self.line.setClearButtonEnabled(True)
        add_glass(self.line, self._theme)
        self.list = QListWidget()
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setProperty("kind", "side")
        self.list.setAccessibleName(tr("Subjects"))
        self.nothing = text_label(tr("No subject speaks of this."), "muted", wrap=True)
        self.heading = text_label("", "title")
        self.text = ReadingView(tr("Help text"))

    def _lay_out(self) -> None:
        self.resize(940, 680)
        side = QWidget()
        side.setFixedWidth(LIST_WIDTH)
        left = QVBoxLayout(side)
        left.setContentsMargins(SPACE, MARGIN, SPACE, 0)  # lines run to the edge
        left.setSpacing(SPACE)
        left.addWidget(self.line)
        left.addWidget(self.list, 1)
        left.addWidget(self.nothing, 1, Qt.AlignmentFlag.AlignTop)
        page = QWidget()
        page.setProperty("kind", "surface")
        page.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        right = QVBoxLayout(page)
        right.setContentsMargins(MARGIN + SPACE, MARGIN, 0, 0)
        right.setSpacing(SPACE)
        right.addWidget(self.heading)
        right.addWidget(self.text, 1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(side)
        layout.addWidget(rule(vertical=True))
        layout.addWidget(page, 1)

    def _wire(self) -> None:
        self.line.textChanged.connect(self._list_subjects)
        self.line.returnPressed.connect(self.text.setFocus)
        self.list.currentRowChanged.connect(self._on_row)
        self.text.anchorClicked.connect(lambda url: self.show_subject(url.path()))
        self._theme.changed.connect(self._show_text)
        for keys, deed in (("Escape", self.close), ("Ctrl+F", self.line.setFocus)):
            QShortcut(QKeySequence(keys), self, deed)

    def _list_subjects(self, query: str) -> None:
        found = self._find(query)
        self.list.blockSignals(True)
        self.list.clear()
        for subject in found:
            item = QListWidgetItem(subject.title)
            item.setData(Qt.ItemDataRole.UserRole, subject.id)
            self.list.addItem(item)
        self.list.blockSignals(False)
        self.list.setVisible(bool(found))
        self.nothing.setVisible(not found)
        if found:
            self.list.setCurrentRow(0)
        self._show_text()

    def _on_row(self, _row: int) -> None:
        self._show_text()

    def _show_text(self) -> None:
        subject = self._subjects.get(self.subject_id)
        self.heading.setText(subject.title if subject is not None else "")
        sheet = self.text.document()
        sheet.setDefaultStyleSheet(_style(self._theme))
        html = self._render(subject.text) if subject is not None else ""
        self.text.setHtml(html.replace("<table>", "<table cellspacing='0'>"))  # the lines of a row in one piece

    def _id_of(self, row: int) -> str:
        return str(self.list.item(row).data(Qt.ItemDataRole.UserRole))


def _style(theme: Theme) -> str:
    accent, muted, line = (theme.color(role).name() for role in ("accent", "text_muted", "border"))
    return (
        f"a {{ color: {accent}; text-decoration: none; }} p, li {{ line-height: 145%; }} "
        f"{BOLD} "
        f"h2 {{ font-size: large; font-weight: 600; margin-top: 18px; margin-bottom: 6px; }} "
        f"th {{ color: {muted}; font-weight: 600; text-align: left; }} "
        f"td, th {{ padding: 5px 18px 5px 0; border-bottom: 1px solid {line}; }}"
    )
