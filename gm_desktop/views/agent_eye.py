"""*Agent's eye*: what an MCP client receives, to the byte."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QButtonGroup, QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.formatting import number, undisguised
from gm_desktop.i18n import tr
from gm_desktop.plain_text import SHOWN_CHARS, as_lines, excerpt
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.agent_eye import AgentEyeViewModel, EyeText
from gm_desktop.viewmodels.states import Failed
from gm_desktop.widgets.basics import EmptyState, push_button, row, text_label
from gm_desktop.widgets.text_panes import TextPane


class AgentEyeView(QWidget):
    """Text or structured payload, their sizes, and a copy of the exact bytes."""

    def __init__(self, viewmodel: AgentEyeViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self._shown = SHOWN_CHARS
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show()

    def _make_widgets(self) -> None:
        model = self._viewmodel
        self.text_chip, self.payload_chip = push_button(tr("Text"), "chip"), push_button(tr("Structured"), "chip")
        self._group = QButtonGroup(self)
        for chip in (self.text_chip, self.payload_chip):
            self._group.addButton(chip)
        self.receipts = push_button(tr("With receipts"), "chip")
        self.receipts.setToolTip(tr("What a client gets that asks for the reasons, too"))
        self.copy = push_button(tr("Copy"), "", self.copy_shown)
        self.sizes = text_label("", "small", wrap=True)
        self.pane = TextPane(self._theme)
        self.pane.setFont(self._theme.font("mono"))
        self.pane.setProperty("kind", "well")
        self.pane.document().setDocumentMargin(12)
        self.pane.setAccessibleName(tr("What the agent receives"))
        self.more = push_button("", "link", self._show_more)
        self.note = EmptyState(self._theme, "eye", "", "")
        self.text_chip.clicked.connect(lambda: model.set_structured(False))
        self.payload_chip.clicked.connect(lambda: model.set_structured(True))
        self.receipts.clicked.connect(model.set_with_receipts)

    def _lay_out(self) -> None:
        self._full = QWidget()
        full = QVBoxLayout(self._full)
        full.setContentsMargins(MARGIN, 0, MARGIN, 16)
        full.setSpacing(8)
        full.addLayout(row(self.text_chip, self.payload_chip, self.receipts, 1, self.copy))
        full.addWidget(self.sizes)
        full.addWidget(self.pane, 1)
        full.addLayout(row(self.more, 1))
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(self._full)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)

    def _wire(self) -> None:
        self._viewmodel.changed.connect(self._show)

    def focus(self) -> None:
        """The keyboard reads the text, now or once it is there."""
        self.pane.setFocus()

    def copy_shown(self) -> None:
        """Puts exactly what is shown on the clipboard."""
        if self._viewmodel.shown:
            QGuiApplication.clipboard().setText(self._viewmodel.shown)

    def _show_more(self) -> None:
        self._shown += 5 * SHOWN_CHARS
        self._show()

    def _show(self) -> None:
        model, state = self._viewmodel, self._viewmodel.state
        self.text_chip.setChecked(not model.is_structured)
        self.payload_chip.setChecked(model.is_structured)
        self.receipts.setChecked(model.with_receipts)
        self.receipts.setVisible(model.can_explain)
        if isinstance(state, EyeText):
            part = excerpt(model.shown, self._shown)
            shown = undisguised(as_lines(part.text))
            if self.pane.raw_text() != shown:
                self.pane.show_text(shown)
            self.more.setVisible(part.hidden > 0)
            self.more.setText(tr("Show more of {count} characters", count=number(len(model.shown))))
            self.sizes.setText(
                tr(
                    "{tool}: {words} of text, {structure} of structured content",
                    tool=state.tool,
                    words=state.text_size,
                    structure=state.payload_size,
                )
            )
        elif isinstance(state, Failed):
            self.note.say("circle-alert", tr("The agent would get an error"), state.message)
        else:
            self.note.say("clock", tr("Reading the store…"))
        self._stack.setCurrentWidget(self._full if isinstance(state, EyeText) else self.note)
