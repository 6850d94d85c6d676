"""Adding a source: its command, a try, and the settings that the adapter itself declares."""

from __future__ import annotations

import shlex

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFormLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.i18n import tr
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.source_settings import SettingField, settings_from
from gm_desktop.viewmodels.sources import Greeting, SourceDraft, SourcesViewModel
from gm_desktop.widgets.basics import push_button, row, set_kind, text_label
from gm_desktop.widgets.form_card import FIELD_INSET, DecimalBox
from gm_desktop.widgets.scrolled import SCROLL_BAR, scroll_area

WIDTH, TALL = 600, 720
_ABOVE = 8  # a line of text beside a field stands in the middle of it
_CEILINGS = (
    ("public", "Public"),
    ("internal", "Internal"),
    ("confidential", "Confidential"),
    ("restricted", "Restricted"),
)


class SourceDialog(QDialog):
    """A form that grows by the adapter's settings once the adapter has answered."""

    def __init__(self, viewmodel: SourcesViewModel, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._viewmodel, self._theme = viewmodel, theme
        self._fields: tuple[SettingField, ...] = ()
        self.settings: dict[str, QLineEdit | QComboBox] = {}
        self.setWindowTitle(tr("Add a source"))
        self.setModal(True)
        self.setMinimumWidth(WIDTH)
        self._make_widgets()
        self._lay_out()
        viewmodel.greeted.connect(self._on_greeted)
        viewmodel.added.connect(self._on_added)
        viewmodel.add_failed.connect(self._on_add_failed)
        for field in (self.name, self.command):
            field.textChanged.connect(self._refresh)
        self._refresh()

    def _make_widgets(self) -> None:
        self.name, self.command, self.arguments, self.location = (QLineEdit() for _ in range(4))
        self.name.setPlaceholderText(tr("Small letters, digits, dots and dashes"))
        self.command.setPlaceholderText(tr("The program that speaks the Recall adapter protocol"))
        self.arguments.setPlaceholderText(tr("As in a shell; none without it"))
        self.location.setPlaceholderText(tr("A path or an address, where the adapter needs one"))
        self.ceiling = QComboBox()
        for key, title in _CEILINGS:
            self.ceiling.addItem(tr(title), key)
        self.ceiling.setCurrentIndex(self.ceiling.findData("confidential"))
        self.prior, self.waits = _number(0.0, 10.0, 1.0), _number(0.1, 60.0, 5.0)
        self.prior.setToolTip(tr("How much its places count against those of others"))
        self.try_out = push_button(tr("Try it"), "", self._on_try)
        self.said = text_label(tr("A try starts the program and asks what it is."), "small", wrap=True, selectable=True)
        self.said.setContentsMargins(0, _ABOVE, 0, 0)
        self.said.setMinimumHeight(36 + _ABOVE)
        self.said.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.save = push_button(tr("Add source"), "primary", self._on_save)
        self._form = QFormLayout()
        self._form.setHorizontalSpacing(16)
        self._form.setVerticalSpacing(8)

    def _lay_out(self) -> None:
        for title, field in (
            (tr("Name"), self.name),
            (tr("Command"), self.command),
            (tr("Arguments"), self.arguments),
            (tr("Location"), self.location),
            (tr("Show nothing above"), self.ceiling),
            (tr("Prior"), self.prior),
            (tr("Seconds to wait"), self.waits),
        ):
            field.setAccessibleName(title)
            self._form.addRow(_label(title), field)
        self._own = QFormLayout()
        self._own.setHorizontalSpacing(16)
        self._own.setVerticalSpacing(6)
        body = QWidget()
        inner = QVBoxLayout(body)
        inner.setContentsMargins(0, 0, SCROLL_BAR, 0)
        inner.setSpacing(12)
        inner.addLayout(self._form)
        tried = row(self.try_out, self.said, spacing=12)
        tried.setStretch(1, 1)
        inner.addLayout(tried)
        self._heading = text_label(tr("Settings of the adapter"), "heading")
        self._heading.hide()
        inner.addWidget(self._heading)
        inner.addLayout(self._own)
        inner.addStretch(1)
        area = scroll_area(body)
        area.setMinimumHeight(430)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 20, MARGIN - SCROLL_BAR, 20)
        layout.setSpacing(14)
        layout.addWidget(text_label(tr("Add a source"), "title"))
        layout.addWidget(area, 1)
        cancel = push_button(tr("Cancel"), "", self.reject)
        layout.addLayout(row(1, cancel, self.save, margins=(0, 0, SCROLL_BAR, 0)))

    def draft(self) -> SourceDraft | None:
        """What the form holds; None where something in it cannot be read, which is said."""
        settings, wrong = settings_from(self._fields, {name: _text(field) for name, field in self.settings.items()})
        try:
            arguments = tuple(shlex.split(self.arguments.text()))
        except ValueError:
            wrong = tr("The arguments have a quote that is not closed.")
            arguments = ()
        if wrong:
            self._say(wrong, is_wrong=True)
            return None
        return SourceDraft(
            name=self.name.text().strip(),
            command=self.command.text().strip(),
            arguments=arguments,
            location=self.location.text().strip(),
            ceiling=str(self.ceiling.currentData()),
            prior=self.prior.value(),
            deadline_s=self.waits.value(),
            settings=settings,
        )

    def _refresh(self) -> None:
        has_command = bool(self.command.text().strip())
        self.try_out.setEnabled(has_command)
        self.save.setEnabled(has_command and bool(self.name.text().strip()))

    def _on_try(self) -> None:
        draft = self.draft()
        if draft is not None:
            self.try_out.setEnabled(False)
            self._say(tr("Asking it…"))
            self._viewmodel.try_out(draft)

    def _on_greeted(self, greeting: Greeting) -> None:
        self._refresh()
        self._say(greeting.sentence, is_wrong=greeting.has_failed)
        if not greeting.has_failed:
            self._show_settings(greeting.fields)

    def _say(self, text: str, *, is_wrong: bool = False) -> None:
        self.said.setText(text)
        set_kind(self.said, "danger" if is_wrong else "small")

    def _show_settings(self, fields: tuple[SettingField, ...]) -> None:
        """The adapter's own settings; what was filled in stays where the field is the same."""
        before = {name: _text(field) for name, field in self.settings.items()}
        while self._own.rowCount():
            self._own.removeRow(0)
        self._fields, self.settings = fields, {}
        self._heading.setVisible(bool(fields))
        for field in fields:
            made = _made(field, before.get(field.name, field.value))
            made.setAccessibleName(field.title)
            self.settings[field.name] = made
            cell = QWidget()
            column = QVBoxLayout(cell)
            column.setContentsMargins(0, 0, 0, 0)
            column.setSpacing(3)
            column.addWidget(made)
            if field.hint:
                column.addWidget(text_label(field.hint, "small", wrap=True))
            self._own.addRow(_label(field.title), cell)
        if fields:
            self.resize(max(self.width(), WIDTH), max(self.height(), TALL))

    def _on_save(self) -> None:
        draft = self.draft()
        if draft is not None:
            self.save.setEnabled(False)
            self._viewmodel.add(draft)

    def _on_added(self) -> None:
        if self.isVisible():
            self.accept()

    def _on_add_failed(self, reason: str) -> None:
        """The form stays as it was filled in."""
        self._refresh()
        self._say(reason, is_wrong=True)


def _label(title: str) -> QLabel:
    """Wide enough that both forms stand in line."""
    label = text_label(title, wrap=True)
    label.setFixedWidth(140)
    label.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
    label.setContentsMargins(0, _ABOVE, 0, 0)
    return label


def _number(low: float, high: float, value: float) -> DecimalBox:
    box = DecimalBox()
    box.setRange(low, high)
    box.setDecimals(1)
    box.setSingleStep(0.5)
    box.setValue(value)
    box.lineEdit().setTextMargins(*FIELD_INSET)
    return box


def _made(field: SettingField, value: str) -> QLineEdit | QComboBox:
    choices = field.choices if field.kind == "choice" else ("true", "false") if field.kind == "switch" else ()
    if not choices:
        line = QLineEdit(value)
        if field.kind == "several":
            line.setPlaceholderText(tr("With commas between"))
        return line
    box = QComboBox()
    titles = {"true": tr("Yes"), "false": tr("No")}
    box.addItem(tr("As the adapter does by itself"), "")
    for choice in choices:
        box.addItem(titles.get(choice, choice) if field.kind == "switch" else choice, choice)
    box.setCurrentIndex(max(0, box.findData(value)))
    return box


def _text(field: QLineEdit | QComboBox) -> str:
    return field.text() if isinstance(field, QLineEdit) else str(field.currentData())
