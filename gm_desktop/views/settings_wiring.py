"""Connecting programs: the clients, what would be written, and the configuration to copy."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.plain_text import as_tip
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.settings_wiring import PlannedChange, WiringSettings
from gm_desktop.views.settings_parts import ListSection, stretched
from gm_desktop.widgets.basics import ElidedLabel, push_button, row, text_label
from gm_desktop.widgets.form_card import FormCard


class WiringSection(ListSection):
    """The programs that can read and write this memory over MCP."""

    section_id, title, icon_name = "programs", "Connect programs", "link"
    intro = (
        "Programs with an agent read and write this memory once their configuration names it. "
        "What would be written is shown first."
    )

    def __init__(self, viewmodel: WiringSettings, theme: Theme) -> None:
        super().__init__(viewmodel, theme, name=tr("Programs"), grows=True, most_px=560)
        self._viewmodel, self._theme = viewmodel, theme
        self.connect_one = push_button(tr("Connect…"), "primary", self._on_connect)
        self.disconnect_one = push_button(tr("Disconnect…"), "", self._on_disconnect)
        self.copy = push_button(tr("Copy configuration"), "quiet", self._on_copy)
        self.again = push_button(tr("Look again"), "quiet", viewmodel.reload)
        card = FormCard(tr("Programs"))
        card.add_list(self.list)
        card.add_wide(row(self.connect_one, self.disconnect_one, 1, self.copy, self.again))
        stretched(self, (card,))
        self.list.opened.connect(lambda _key: self._on_connect())
        viewmodel.planned.connect(self._on_planned)
        self.show_list()

    def refresh(self) -> None:
        """What can be done with a program depends on its configuration."""
        key = self.list.key
        self.connect_one.setEnabled(self._viewmodel.can_connect(key))
        self.disconnect_one.setEnabled(self._viewmodel.can_disconnect(key))
        self.copy.setEnabled(bool(key))

    def landmark(self) -> QWidget:
        """What connects the chosen program."""
        return self.connect_one

    def _on_connect(self) -> None:
        if self._viewmodel.can_connect(self.list.key):
            self._viewmodel.plan_connect(self.list.key)

    def _on_disconnect(self) -> None:
        self._viewmodel.plan_disconnect(self.list.key)

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._viewmodel.configuration(self.list.key))

    def _on_planned(self, change: PlannedChange) -> None:
        dialog = PlanDialog(change, self._theme, parent=self.window())
        dialog.agreed.connect(self._viewmodel.carry_out)
        dialog.open()


class PlanDialog(QDialog):
    """What would be written to one file. Emits `agreed(change)`."""

    agreed = Signal(object)

    def __init__(self, change: PlannedChange, theme: Theme, *, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(True)
        self.resize(640, 440)
        self.setWindowTitle(change.title)
        self.diff = QPlainTextEdit(change.diff)
        self.diff.setReadOnly(True)
        self.diff.setFont(theme.font("mono"))
        self.diff.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.diff.setAccessibleName(tr("What would be written"))
        self.write = push_button(change.button, "primary", lambda: self._on_agreed(change))
        path = ElidedLabel(change.path, middle=True, theme=theme)
        path.setToolTip(as_tip(change.path))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 20, MARGIN, 20)
        layout.setSpacing(12)
        layout.addWidget(text_label(change.title, "title"))
        layout.addWidget(path)
        layout.addWidget(self.diff, 1)
        layout.addWidget(text_label(change.note, "small", wrap=True))
        layout.addLayout(row(1, push_button(tr("Cancel"), "", self.reject), self.write))
        self.write.setFocus()

    def _on_agreed(self, change: PlannedChange) -> None:
        self.agreed.emit(change)
        self.accept()
