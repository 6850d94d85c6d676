"""An editor for a part of a checkpoint: JSON on the left margin, what is wrong with it, what saving would change."""

from __future__ import annotations

from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import MARGIN, SPACE, Theme
from gm_desktop.viewmodels.checkpoint_edit import CheckpointEdit
from gm_desktop.widgets.basics import push_button, row, text_label
from gm_desktop.widgets.text_panes import raw_text


class JsonDialog(QDialog):
    """Opens when the view-model has read the part, closes with its draft."""

    def __init__(self, edit: CheckpointEdit, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._edit = edit
        self.setWindowTitle(tr("New checkpoint from an edited one"))
        self.setModal(True)
        self.resize(720, 560)
        self._make_widgets(theme)
        self._lay_out()
        self._wire()

    def _make_widgets(self, theme: Theme) -> None:
        self.where = text_label("", "muted")
        self.text = QPlainTextEdit()
        self.text.setFont(theme.font("mono"))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName(tr("JSON"))
        self.problem = text_label("", "danger", wrap=True)
        self.summary = text_label("", "small")
        self.save = push_button(tr("Save as new checkpoint"), "primary", self._edit.save)
        self.save.setToolTip(tr("Save as new checkpoint (Ctrl+Enter)"))
        self.cancel = push_button(tr("Cancel"), "", self.reject)

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 20, MARGIN, 20)
        layout.setSpacing(12)
        layout.addWidget(text_label(tr("New checkpoint from an edited one"), "title"))
        layout.addWidget(self.where)
        layout.addWidget(self.text, 1)
        layout.addWidget(self.problem)
        layout.addLayout(row(self.summary, 1, self.cancel, self.save, spacing=SPACE))

    def _wire(self) -> None:
        self._edit.opened.connect(self._open)
        self._edit.changed.connect(self._show)
        self._edit.closed.connect(self.hide)
        self.text.textChanged.connect(self._on_typed)
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys), self, self.save.click)

    def _open(self) -> None:
        draft = self._edit.draft
        if draft is not None:
            self.where.setText(tr("{part}. The checkpoint that you edit stays as it is.", part=draft.title))
            self.text.setPlainText(self._edit.text)
            self._show()
            self.open()
            self.text.setFocus()

    def _on_typed(self) -> None:
        self._edit.set_text(raw_text(self.text))

    def _show(self) -> None:
        self.problem.setText(self._edit.problem)
        self.problem.setVisible(bool(self._edit.problem))
        self.summary.setText(self._edit.summary)
        self.save.setEnabled(self._edit.can_save)
        self.text.setReadOnly(self._edit.is_saving)  # a letter more would not be in what is written

    def reject(self) -> None:
        """Esc and Cancel: what was typed waits until the same part is edited again."""
        self._edit.close()
        super().reject()

    def closeEvent(self, event: QCloseEvent) -> None:
        """The window's cross is Cancel."""
        event.ignore()
        self.reject()
