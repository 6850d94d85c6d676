"""The Review page: what programs under review want to write, beside what is known already."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gm_desktop.actions import ActionSpec
from gm_desktop.i18n import tr
from gm_desktop.page import Page
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.clients import ClientsViewModel
from gm_desktop.viewmodels.inbox import InboxViewModel
from gm_desktop.views.inbox import InboxView, InboxWords
from gm_desktop.widgets.basics import PageHeader, push_button


class ReviewPage(Page):
    """The inbox of writes. Nothing in it is returned by a recall before it was accepted."""

    page_id = "review"
    fact_wanted = Signal(str)
    clients_wanted = Signal()

    def __init__(self, viewmodel: InboxViewModel, clients: ClientsViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._clients = viewmodel, clients
        self.always = push_button(tr("Always accept from this program"), "", self._always_accept)
        self.always.setToolTip(tr("Accept what waits from it, and let it write at once (Ctrl+Shift+A)"))
        self.header = PageHeader(
            tr("Review"),
            tr("What programs want to write, where you said that it waits for you. No recall returns it before."),
            (self.always,),
        )
        self.choose = push_button(tr("Choose who waits for review"), "", self.clients_wanted.emit)
        self.inbox = InboxView(viewmodel, theme, _words(), (self.choose,))
        self.inbox.fact_wanted.connect(self.fact_wanted)
        for signal in (viewmodel.state_changed, viewmodel.group_changed, viewmodel.card_changed):
            signal.connect(self._show_group)
        self._lay_out()
        self._show_group()

    def _lay_out(self) -> None:
        wrap = QWidget()
        inner = QVBoxLayout(wrap)
        inner.setContentsMargins(MARGIN, 0, 0, 0)
        inner.addWidget(self.inbox)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        layout.addWidget(wrap, 1)
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    # Page

    def action_specs(self) -> tuple[ActionSpec, ...]:
        """What can be done with a write, and with all of a program."""
        return (
            *self.inbox.specs(),
            ActionSpec(
                "review.always",
                tr("Always accept from this program"),
                "shield-check",
                "Ctrl+Shift+A",
                self._may_always,
                self._always_accept,
                words="client trust bulk",
            ),
        )

    def activate(self) -> None:
        """Work begins in the list."""
        self.inbox.focus_list()

    def show_client(self, name: str) -> None:
        """Shows what waits from one program."""
        self._viewmodel.set_group(name)

    def save_state(self) -> dict[str, str]:
        """The program."""
        return {"client": self._viewmodel.group or ""}

    def restore_state(self, state: dict[str, str]) -> None:
        """Takes the program back."""
        self._viewmodel.set_group(state.get("client") or None)

    def be_looked_at(self, is_looked_at: bool) -> None:
        """Cards are read while the page shows."""
        self._viewmodel.look(is_looked_at)

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        return self.inbox.is_settled()

    # state

    def _client(self) -> str | None:
        """The program that is filtered by, or that asked for the open card."""
        return self._viewmodel.group or self._viewmodel.card_group

    def _may_always(self) -> bool:
        return self._clients.can_write and self._client() is not None

    def _show_group(self) -> None:
        self.always.setEnabled(self._may_always())

    def _always_accept(self) -> None:
        name = self._client()
        if name is not None:
            self._clients.always_accept(name)


def _words() -> InboxWords:
    return InboxWords(
        prefix="write",
        icon="shield-check",
        cards=tr("Writes that wait"),
        groups=tr("Program"),
        accept=tr("Accept the write"),
        reject=tr("Reject the write"),
        later=tr("Put the write off"),
        edit=tr("Edit the write…"),
        never=tr("Never accept this write"),
        following=tr("Next write"),
        previous=tr("Previous write"),
        bulk=tr("Accept all writes of the program"),
        bulk_keys="Ctrl+Shift+M",
    )
