"""A publish profile as a form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.i18n import tr
from gm_desktop.viewmodels.publish import ProfileDraft
from gm_desktop.widgets.basics import push_button, row, text_label

_RETIRED = (("none", "No notes"), ("folder", "In a folder of their own"), ("struck", "Struck through"))
_LINKS = (("vault", "As the vault's settings say"), ("wikilink", "Wikilinks"), ("markdown", "Markdown links"))
_DATES = ("YYYY-MM-DD", "DD.MM.YYYY", "MM/DD/YYYY")
_PARTS = (
    ("shared", "Shared facts"),
    ("entities", "Entities"),
    ("checkpoints", "Checkpoints"),
    ("canvas", "The graph as a canvas"),
    ("base", "Tables of facts and entities"),
    ("colours", "Colours in the graph view (changes the vault's graph.json)"),
)
_EDITS = (
    ("revise", "Edited texts"),
    ("label", "Labels"),
    ("pin", "Pins"),
    ("write", "New notes"),
    ("retire", "Deleted notes"),
    ("link", "Added links"),
)


class ProfileDialog(QDialog):
    """Edits a profile; `saved` carries the form, `deleted` says that it is not wanted any more.

    `is_kept`: the profile is one of the store's, so that it can be deleted.
    """

    saved = Signal(object)
    deleted = Signal()

    def __init__(self, draft: ProfileDraft, parent: QWidget | None = None, *, is_kept: bool = False) -> None:
        super().__init__(parent)
        self._draft, self._is_kept = draft, is_kept
        self.setWindowTitle(tr("Publish profile"))
        self._make_widgets()
        self._lay_out()
        self.buttons.accepted.connect(self._on_save)
        self.buttons.rejected.connect(self.reject)

    def _make_widgets(self) -> None:
        draft = self._draft
        self.name, self.agents = QLineEdit(draft.name), QLineEdit(draft.agents)
        self.place = text_label(draft.place, "small", wrap=True, selectable=True)
        self.agents.setPlaceholderText(tr("All agents; or names with commas between"))
        self.retired, self.links, self.dates = QComboBox(), QComboBox(), QComboBox()
        for box, choices, value in (
            (self.retired, _RETIRED, draft.retired),
            (self.links, _LINKS, draft.links),
            (self.dates, tuple((each, each) for each in _DATES), draft.dates),
        ):
            for key, title in choices:
                box.addItem(tr(title), key)
            box.setCurrentIndex(max(0, box.findData(value, Qt.ItemDataRole.UserRole)))
        self.parts = {key: _check(tr(title), is_on=draft.parts.get(key, key != "colours")) for key, title in _PARTS}
        self.edits = {key: _check(tr(title), is_on=key in draft.accepted) for key, title in _EDITS}
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel)
        self.delete = push_button(tr("Delete the profile"), "quiet", self._on_delete)
        self.delete.setToolTip(tr("The vault stays as it is; undo brings the profile back"))
        self.delete.setVisible(self._is_kept)

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.addRow(tr("Name"), self.name)
        form.addRow(tr("Vault"), self.place)
        form.addRow(tr("Agents"), self.agents)
        form.addRow(tr("Retired facts"), self.retired)
        form.addRow(tr("Links"), self.links)
        form.addRow(tr("Days"), self.dates)
        form.addRow(tr("Publish"), _column(self.parts.values()))
        form.addRow(tr("Accept at once"), _column(self.edits.values()))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 18, 20, 16)
        layout.setSpacing(14)
        layout.addLayout(form)
        layout.addLayout(row(self.delete, 1, self.buttons))

    def _on_delete(self) -> None:
        self.deleted.emit()
        self.reject()

    def _on_save(self) -> None:
        self.saved.emit(
            replace(
                self._draft,
                name=self.name.text(),
                agents=self.agents.text(),
                retired=self.retired.currentData(),
                links=self.links.currentData(),
                dates=self.dates.currentData(),
                parts={key: box.isChecked() for key, box in self.parts.items()},
                accepted=tuple(key for key, box in self.edits.items() if box.isChecked()),
            )
        )
        self.accept()


def _check(title: str, *, is_on: bool) -> QCheckBox:
    box = QCheckBox(title)
    box.setChecked(is_on)
    return box


def _column(boxes: Iterable[QWidget]) -> QWidget:
    column = QWidget()
    layout = QVBoxLayout(column)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(4)
    for box in boxes:
        layout.addWidget(box)
    return column
