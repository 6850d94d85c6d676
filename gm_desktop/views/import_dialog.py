"""Import: shows what a file holds before anything is written, then progress, then the result with what to do next."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QComboBox, QDialog, QProgressBar, QPushButton, QVBoxLayout, QWidget

from gm_desktop.formatting import duration, number
from gm_desktop.i18n import tr, tr_count
from gm_desktop.plain_text import as_tip
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.importing import ColumnWanted, Imported, ImportViewModel, Looked, Refused, Waiting
from gm_desktop.views.fact_dialogs import AgentBox
from gm_desktop.widgets.basics import ElidedLabel, push_button, row, text_label
from gm_desktop.widgets.import_report import ImportTable


class ImportDialog(QDialog):
    """A view of one import. Hiding it leaves the import running; the window's strip shows it."""

    def __init__(
        self,
        viewmodel: ImportViewModel,
        theme: Theme,
        *,
        on_show_memory: Callable[[], None],
        on_publish: Callable[[], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._viewmodel, self._theme = viewmodel, theme
        self._on_show_memory, self._on_publish = on_show_memory, on_publish
        self._make_widgets()
        viewmodel.changed.connect(self._show_state)
        self._show_state()

    def _make_widgets(self) -> None:
        self.setWindowTitle(tr("Import"))
        self.setMinimumWidth(520)
        self._title = text_label("", "title")
        self._path = ElidedLabel(str(self._viewmodel.path), middle=True, theme=self._theme)
        self._path.setToolTip(as_tip(str(self._viewmodel.path)))
        self._body = QVBoxLayout()
        self._body.setSpacing(12)
        self._buttons = row(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        layout.setSpacing(6)
        layout.addWidget(self._title)
        layout.addWidget(self._path)
        layout.addSpacing(12)
        layout.addLayout(self._body, 1)
        layout.addSpacing(12)
        layout.addLayout(self._buttons)

    def _show_state(self) -> None:
        state = self._viewmodel.state
        match state:
            case Waiting():
                self._show_waiting(state)
            case Looked():
                self._show_looked(state)
            case ColumnWanted():
                self._show_columns(state)
            case Imported():
                self._show_imported(state)
            case Refused():
                self._title.setText(tr("Import stopped"))
                self._fill([text_label(state.sentence, wrap=True)], [push_button(tr("Close"), "primary", self.accept)])
            case None:
                self._title.setText(tr("Import"))

    def _show_waiting(self, state: Waiting) -> None:
        self._title.setText(tr("Importing") if state.is_import else tr("Looking into the file"))
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(self._title.text())
        self._progress = text_label("", "small")
        buttons = [push_button(tr("Cancel"), "", self._viewmodel.cancel)]
        if state.is_import:
            buttons.append(push_button(tr("Continue in the background"), "", self.hide))
        self._fill([self._bar, self._progress], buttons)
        state.task.progressed.connect(self._show_progress)
        self._show_progress()

    def _show_progress(self) -> None:
        state = self._viewmodel.state
        if not isinstance(state, Waiting):
            return
        task = state.task
        self._bar.setRange(0, 0 if task.fraction is None else 1000)
        self._bar.setValue(round((task.fraction or 0.0) * 1000))
        parts = []
        if task.total:
            parts.append(tr("{done} of {total}", done=number(task.done), total=number(task.total)))
        if task.left_s is not None:
            parts.append(tr("{time} left", time=duration(task.left_s)))
        self._progress.setText(" · ".join(parts) or tr("Starting"))

    def _show_looked(self, state: Looked) -> None:
        summary = state.summary
        self._title.setText(tr("Ready to import") if summary.new else tr("Nothing new in this file"))
        table = ImportTable(self._theme, summary.counts, summary.skipped, new_label=tr("New here"))
        shown: list[QWidget] = [text_label(summary.format_title, "muted")]
        if state.choices:
            shown.append(self._agent_row(state))
        shown.append(table)
        if summary.samples:
            shown.append(text_label(tr("For instance"), "section"))
            shown += [ElidedLabel(text, theme=self._theme) for text in summary.samples[:3]]
        what = tr("Records that are here already stay as they are. An import can be undone from the Edit menu.")
        start = push_button(tr("Import"), "primary", lambda: self._start(has_agents=bool(state.choices)))
        start.setEnabled(summary.new > 0)
        buttons = [push_button(tr("Cancel"), "", self.reject), start]
        self._fill([*shown, text_label(what, "small", wrap=True)], buttons, focus=start)

    def _start(self, *, has_agents: bool) -> None:
        self._viewmodel.start(self.agent.agent_id() if has_agents else "")

    def _agent_row(self, state: Looked) -> QWidget:
        choices = state.choices
        if all(state.chosen != agent_id for agent_id, _ in choices):
            choices = (*choices, (state.chosen, state.chosen))
        self.agent = AgentBox(choices, state.chosen)
        self.agent.setMinimumWidth(260)
        self.agent.activated.connect(lambda _: self._viewmodel.choose_agent(self.agent.agent_id()))
        holder = QWidget()
        holder.setLayout(row(text_label(tr("For"), "muted"), self.agent, 1))
        return holder

    def _show_columns(self, state: ColumnWanted) -> None:
        self._title.setText(tr("Which column holds the text?"))
        self.column = QComboBox()
        self.column.addItems(list(state.columns))
        self.column.setAccessibleName(tr("Column with the text"))
        go = push_button(tr("Continue"), "primary", lambda: self._viewmodel.choose_column(self.column.currentText()))
        note = text_label(
            tr("Every row becomes one fact. Agent, date and id are found by their names."), "small", wrap=True
        )
        self._fill([self.column, note], [push_button(tr("Cancel"), "", self.reject), go], focus=self.column)

    def _show_imported(self, state: Imported) -> None:
        summary = state.summary
        self._title.setText(tr_count("{count} record arrived", "{count} records arrived", summary.new))
        table = ImportTable(self._theme, summary.counts, summary.skipped, new_label=tr("Imported"))
        note = tr("Search by words and dates covers everything now; similarity follows in the background.")
        close = push_button(tr("Close"), "", self.accept)
        publish = push_button(tr("Publish to Obsidian"), "", self._then(self._on_publish))
        show = push_button(tr("Show memory"), "primary", self._then(self._on_show_memory))
        self._fill([table, text_label(note, "small", wrap=True)], [close, publish, show], focus=show)

    def _then(self, act: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            self.accept()
            act()

        return run

    def _fill(
        self, widgets: Sequence[QWidget], buttons: Sequence[QPushButton], *, focus: QWidget | None = None
    ) -> None:
        for layout in (self._body, self._buttons):
            while (item := layout.takeAt(0)) is not None:
                widget = item.widget()
                if widget is not None:
                    widget.hide()
                    widget.deleteLater()
        for widget in widgets:
            self._body.addWidget(widget, 1 if isinstance(widget, ImportTable) else 0)
        self._body.addStretch(0)
        self._buttons.addStretch(1)
        for button in buttons:
            self._buttons.addWidget(button)
            button.setDefault(button.property("kind") == "primary")
        if focus is not None:
            focus.show()  # its layout would do it later, and until then it cannot have the keyboard
            focus.setFocus()
