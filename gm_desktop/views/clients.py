"""Activity → Clients: the programs on the left, what the open one may do on the right."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QItemSelectionModel, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.actions import ActionSpec
from gm_desktop.i18n import tr, tr_count
from gm_desktop.theme import MARGIN, SPACE, Theme
from gm_desktop.viewmodels.clients import ClientsViewModel, KnownClient, accesses
from gm_desktop.viewmodels.states import Empty, Failed, Full
from gm_desktop.widgets.basics import EmptyState, push_button, row, rule, text_label
from gm_desktop.widgets.keys import keep_keys
from gm_desktop.widgets.line_view import LineView
from gm_desktop.widgets.scrolled import scroll_area
from gm_desktop.widgets.yielding import YieldingCombo

LIST_WIDTH = 300
LEAST_WIDTH = 150
FORM_WIDTH = 560


class AccessBox(QComboBox):
    """What a program may do; `chosen(access)` when a person chose."""

    chosen = Signal(str)

    def __init__(self, name: str) -> None:
        super().__init__()
        for access, title in accesses():
            self.addItem(title, access)
        self.setAccessibleName(name)
        self.activated.connect(lambda _at: self.chosen.emit(self.currentData()))
        keep_keys(self)

    def show_access(self, access: str) -> None:
        """Shows a right, unless the person is choosing just now."""
        if not self.view().isVisible():
            with QSignalBlocker(self):
                self.setCurrentIndex(self.findData(access))


class ClientsPanel(QWidget):
    """Everything about clients; `review_wanted(name)` opens what waits, `journal_wanted(name)` what it wrote."""

    review_wanted = Signal(str)
    journal_wanted = Signal(str)

    def __init__(self, viewmodel: ClientsViewModel, theme: Theme) -> None:
        super().__init__()
        self.viewmodel, self._theme = viewmodel, theme
        self._shown_rules: tuple[str, ...] = ()
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show()

    def _make_widgets(self) -> None:
        model = self.viewmodel
        self.list = LineView(model.lines, self._theme, tr("Programs"), are_names=True)
        self.retry = push_button(tr("Try again"), "", model.look)
        self.note = EmptyState(self._theme, "users", "", "", (self.retry,))
        self.note.setContentsMargins(0, 0, MARGIN, 0)  # in the middle of the page, which has one at the left
        self.name = text_label("", "heading", selectable=True)
        self.connections = text_label("", "muted", wrap=True, selectable=True)
        self.waiting = text_label("", wrap=True)
        self.review = push_button(tr("Review"), "", lambda: self.review_wanted.emit(model.selected))
        self.accept = push_button(tr("Always accept"), "", lambda: model.always_accept(model.selected))
        self.accept.setToolTip(tr("Accept what waits, and let the program write at once from now on"))
        self.everywhere = AccessBox(tr("What it may do everywhere"))
        self.journal = push_button(tr("What it wrote"), "link", lambda: self.journal_wanted.emit(model.selected))
        self.add = YieldingCombo()
        self.add.setAccessibleName(tr("Add a rule for a namespace"))
        self.add.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.add.setMinimumContentsLength(34)
        keep_keys(self.add)
        self.rules = QGridLayout()
        self.rules.setHorizontalSpacing(SPACE)
        self.rules.setVerticalSpacing(8)
        self.rules.setColumnStretch(0, 1)
        self.rules.setColumnMinimumWidth(0, 90)

    def _lay_out(self) -> None:
        form = QWidget()
        form.setMaximumWidth(FORM_WIDTH)
        column = QVBoxLayout(form)
        column.setContentsMargins(MARGIN, 14, MARGIN, MARGIN)
        column.setSpacing(10)
        column.addLayout(row(self.name, 1, self.journal))
        column.addWidget(self.connections)
        self._waiting_row = QFrame()
        self._waiting_row.setProperty("kind", "well")
        inner = QHBoxLayout(self._waiting_row)
        inner.setContentsMargins(14, 10, 10, 10)
        inner.addWidget(self.waiting, 1)
        inner.addWidget(self.review)
        inner.addWidget(self.accept)
        column.addWidget(self._waiting_row)
        column.addSpacing(SPACE)
        column.addWidget(text_label(tr("What it may do"), "section"))
        column.addLayout(row(text_label(tr("Everywhere")), 1, self.everywhere))
        column.addLayout(self.rules)
        column.addLayout(row(1, self.add))
        note = tr("A change holds at once, for running programs too. Checkpoints never wait for review.")
        column.addWidget(text_label(note, "small", wrap=True))
        column.addStretch(1)
        scroll = scroll_area(form)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        side = QWidget()
        side.setMinimumWidth(LEAST_WIDTH)  # a small window takes from the list before it cuts the form
        side.setMaximumWidth(LIST_WIDTH)
        left = QVBoxLayout(side)
        left.setContentsMargins(0, 12, 12, 12)
        left.addWidget(self.list)
        self._full = QWidget()
        line = QHBoxLayout(self._full)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(0)
        line.addWidget(side, 1)
        line.addWidget(rule(vertical=True))
        line.addWidget(scroll, 2)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(self._full)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)

    def _wire(self) -> None:
        model = self.viewmodel
        model.changed.connect(self._show)
        model.lines.modelReset.connect(self._show_selection)
        self.list.selectionModel().currentChanged.connect(self._on_current)
        self.everywhere.chosen.connect(lambda access: model.set_access(None, access))
        self.add.activated.connect(self._on_add)

    def specs(self) -> tuple[ActionSpec, ...]:
        """What the open program may do everywhere, and the ways from it, while the panel shows."""
        model = self.viewmodel
        rights = tuple(
            ActionSpec(
                f"client.{access}",
                tr("Client everywhere: {right}", right=title),
                "shield-check",
                when=self._may_change,
                run=partial(model.set_access, None, access),
                words="program mcp access rights policy",
            )
            for access, title in accesses()
        )
        return (
            *rights,
            ActionSpec(
                "client.waiting",
                tr("Review what waits from the client"),
                "shield-check",
                when=self._has_waiting,
                run=lambda: self.review_wanted.emit(model.selected),
            ),
            ActionSpec(
                "client.journal",
                tr("Show what the client wrote"),
                "activity",
                when=self._has_client,
                run=lambda: self.journal_wanted.emit(model.selected),
            ),
        )

    def _has_client(self) -> bool:
        return self.isVisible() and self.viewmodel.client is not None

    def _has_waiting(self) -> bool:
        client = self.viewmodel.client
        return self.isVisible() and client is not None and client.waiting > 0

    def _may_change(self) -> bool:
        return self._has_client() and self.viewmodel.can_write

    def showEvent(self, event: QShowEvent) -> None:
        """Programs that come and go are watched while the panel shows."""
        super().showEvent(event)
        self.viewmodel.watch(True)

    def hideEvent(self, event: QHideEvent) -> None:
        """Nobody looks any more."""
        super().hideEvent(event)
        self.viewmodel.watch(False)

    def focus_list(self) -> None:
        """Work begins in the list."""
        self.list.setFocus()

    def _show(self) -> None:
        state = self.viewmodel.state
        self.retry.setVisible(isinstance(state, Failed))
        if isinstance(state, Empty):
            self.note.say("users", state.title, state.hint)
        elif isinstance(state, Failed):
            self.note.say("circle-alert", tr("The programs can't be read"), state.message)
        elif not isinstance(state, Full):
            self.note.say("clock", tr("Reading the store…"))
        self._stack.setCurrentWidget(self._full if isinstance(state, Full) else self.note)
        client = self.viewmodel.client
        if client is not None:
            self._show_client(client)
        self._show_selection()

    def _show_client(self, client: KnownClient) -> None:
        may_write = self.viewmodel.can_write
        self.name.setText(client.title)
        if client.connections:
            self.connections.setText("\n".join(client.connections))
        else:
            said = tr("Not connected, {wrote}.", wrote=client.last)
            self.connections.setText(said if client.last else tr("Not connected."))
        self._waiting_row.setVisible(client.waiting > 0)
        self.waiting.setText(tr_count("{count} write waits for you", "{count} writes wait for you", client.waiting))
        self.accept.setEnabled(may_write)
        self.everywhere.show_access(client.access)
        self.everywhere.setEnabled(may_write)
        self._show_rules(client, may_write=may_write)

    def _show_rules(self, client: KnownClient, *, may_write: bool) -> None:
        """One row per rule; the rows are made anew only when others are needed."""
        wanted = (client.name, *(each.agent_id for each in client.rules))
        if wanted != self._shown_rules:
            self._shown_rules = wanted
            while (item := self.rules.takeAt(0)) is not None:
                widget = item.widget()
                if widget is not None:
                    widget.deleteLater()
            self._make_rules(client)
        for at, each in enumerate(client.rules):
            shown = self._box(at)
            if shown is not None:
                shown.show_access(each.access)
                shown.setEnabled(may_write)
        self._fill_add(client, may_write=may_write)

    def _make_rules(self, client: KnownClient) -> None:
        """Rows that Tab goes through from top to bottom."""
        before: QWidget = self.everywhere
        for at, each in enumerate(client.rules):
            box = AccessBox(tr("What it may do in {agent}", agent=each.title))
            box.chosen.connect(partial(self.viewmodel.set_access, each.agent_id))
            drop = push_button(tr("Remove"), "quiet", partial(self.viewmodel.set_access, each.agent_id, None))
            drop.setAccessibleName(tr("Remove the rule for {agent}", agent=each.title))
            for column, widget in enumerate((text_label(each.title, wrap=True), box, drop)):
                self.rules.addWidget(widget, at, column)
            QWidget.setTabOrder(before, box)
            QWidget.setTabOrder(box, drop)
            before = drop
        QWidget.setTabOrder(before, self.add)

    def _box(self, at: int) -> AccessBox | None:
        item = self.rules.itemAtPosition(at, 1)
        widget = item.widget() if item is not None else None
        return widget if isinstance(widget, AccessBox) else None

    def _fill_add(self, client: KnownClient, *, may_write: bool) -> None:
        if self.add.view().isVisible():
            return
        taken = {each.agent_id for each in client.rules}
        free = [agent for agent in self.viewmodel.namespaces if agent not in taken]
        with QSignalBlocker(self.add):
            self.add.clear()
            self.add.addItem(tr("Add a rule for a namespace…"), None)
            for agent in free:
                self.add.addItem(agent, agent)
        self.add.setEnabled(may_write and bool(free))

    def _on_add(self, _at: int) -> None:
        agent = self.add.currentData()
        if agent is not None:
            client = self.viewmodel.client
            self.viewmodel.set_access(agent, client.access if client is not None else None)

    def _show_selection(self) -> None:
        at = self.viewmodel.lines.row_of(self.viewmodel.selected)
        if at is not None and not self.list.selectionModel().isRowSelected(at):
            flags = QItemSelectionModel.SelectionFlag
            self.list.selectionModel().setCurrentIndex(self.viewmodel.lines.index(at), flags.ClearAndSelect)

    def _on_current(self) -> None:
        at = self.list.currentIndex().row()
        lines = self.viewmodel.lines.lines
        if 0 <= at < len(lines):
            self.viewmodel.select(lines[at].key)
