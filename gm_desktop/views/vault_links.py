"""The links of the published notes: a button, and what came of it."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import Theme
from gm_desktop.viewmodels.states import Failed, Loading
from gm_desktop.viewmodels.vault_links import Checked, VaultLinks
from gm_desktop.widgets.basics import Picture, push_button, row, text_label
from gm_desktop.widgets.text_panes import TextPane

_LIST_PX = 180


class VaultLinksPanel(QWidget):
    """Checks links when asked."""

    def __init__(self, viewmodel: VaultLinks, theme: Theme) -> None:
        super().__init__()
        self._viewmodel = viewmodel
        self.check = push_button(tr("Check links"), "", viewmodel.check)
        self.check.setToolTip(tr("Follow every link of the published notes (Ctrl+Shift+L)"))
        self.sentence = text_label("", "muted", wrap=True)
        self.fine = Picture(theme, "circle-check", "success")
        self.wrong = Picture(theme, "triangle-alert", "warning")
        self.list = TextPane(theme, most_px=_LIST_PX)
        self.list.setAccessibleName(tr("Links that lead nowhere"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(10)
        layout.addWidget(text_label(tr("Links"), "heading"))
        line = row(self.check, self.fine, self.wrong, self.sentence, spacing=12)
        line.setStretch(3, 1)
        layout.addLayout(line)
        layout.addWidget(self.list)
        viewmodel.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Shows what is known now."""
        state = self._viewmodel.state
        self.check.setEnabled(self._viewmodel.can_check)
        lines = state.lines if isinstance(state, Checked) else ()
        self.fine.setVisible(isinstance(state, Checked) and not lines)
        self.wrong.setVisible(isinstance(state, Failed) or bool(lines))
        self.list.setVisible(bool(lines))
        self.list.show_text("\n".join(lines))
        match state:
            case Checked(sentence=sentence):
                self.sentence.setText(sentence)
            case Failed(message=message):
                self.sentence.setText(message)
            case Loading():
                self.sentence.setText(tr("Checking…"))
            case _:
                self.sentence.setText(tr("Every link that was published, against the notes that are there now"))
