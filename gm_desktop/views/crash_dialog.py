"""The crash report: what happened, in full, ready to copy."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.widgets.basics import push_button, row, text_label


class CrashDialog(QDialog):
    """Shows one report. Never modal: the rest of the window keeps working."""

    def __init__(self, theme: Theme, report: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Something went wrong"))
        self.resize(720, 460)
        self._text = QPlainTextEdit(report)
        self._text.setReadOnly(True)
        self._text.setFont(theme.font("mono"))
        self._text.setAccessibleName(tr("Report"))
        self._copy = push_button(tr("Copy report"), "primary", self.copy_report)
        close = push_button(tr("Close"), "", self.accept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        layout.setSpacing(12)
        layout.addWidget(text_label(tr("Something went wrong"), "title"))
        explain = tr("This is a fault in GrayMatter, not in your data: everything that was saved is still there.")
        layout.addWidget(text_label(explain, "muted", wrap=True))
        layout.addWidget(self._text, 1)
        layout.addLayout(row(1, close, self._copy))

    def copy_report(self) -> None:
        """Puts the whole report on the clipboard."""
        QGuiApplication.clipboard().setText(self._text.toPlainText())
        self._copy.setText(tr("Copied"))
