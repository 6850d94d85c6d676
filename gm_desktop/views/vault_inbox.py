"""What was edited in the vault: the inbox of edits, and below it what the watch on the vault says."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gm_desktop.actions import ActionSpec
from gm_desktop.i18n import tr, tr_count
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.inbox import InboxViewModel
from gm_desktop.viewmodels.vault_watch import VaultWatch
from gm_desktop.views.inbox import InboxView, InboxWords
from gm_desktop.widgets.basics import push_button, text_label

_SHOWN_PROBLEMS = 4


class VaultInboxPanel(QWidget):
    """The cards of edits; notes that could not be understood; whether the vault is being watched."""

    fact_wanted = Signal(str)

    def __init__(self, viewmodel: InboxViewModel, watch: VaultWatch, theme: Theme) -> None:
        super().__init__()
        self.viewmodel, self.watch = viewmodel, watch
        self.look = push_button(tr("Look for edits"), "", watch.look)
        self.cards = InboxView(viewmodel, theme, _words(), (self.look,))
        self.problems = text_label("", "small", wrap=True, selectable=True)
        self.watching = text_label("", "small", wrap=True)
        self._lay_out()
        self.watch.changed.connect(self._show_watch)
        self.cards.fact_wanted.connect(self.fact_wanted)
        self._show_watch()

    def _lay_out(self) -> None:
        foot = QVBoxLayout()
        foot.setContentsMargins(0, 0, MARGIN, 10)
        foot.addWidget(self.problems)
        foot.addWidget(self.watching)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.cards, 1)
        layout.addLayout(foot)

    def specs(self) -> tuple[ActionSpec, ...]:
        """What can be done with an edit, while this panel shows."""
        return (
            *self.cards.specs(),
            ActionSpec(
                "vault.look", tr("Look for edits in the vault"), "search", "Ctrl+L", self.isVisible, self.watch.look
            ),
        )

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        return self.cards.is_settled() and not self.watch.is_waiting

    def _show_watch(self) -> None:
        problems = self.watch.problems
        shown = [tr_count("{count} note needs a look", "{count} notes need a look", len(problems))]
        shown += problems[:_SHOWN_PROBLEMS]
        self.problems.setText("\n".join(shown))
        self.problems.setVisible(bool(problems))
        self.watching.setText(_sentence(self.watch))


def _sentence(watch: VaultWatch) -> str:
    """Whether edits are noticed; nothing while that is still to be seen."""
    if watch.is_beginning:
        return ""
    if watch.is_watching:
        return tr("Watching the vault: edits appear here by themselves")
    return tr("Not watching: publish to a vault first")


def _words() -> InboxWords:
    return InboxWords(
        prefix="edit",
        icon="circle-check",
        cards=tr("Edits from the vault"),
        groups=tr("Agent"),
        accept=tr("Accept the edit"),
        reject=tr("Reject the edit"),
        later=tr("Put the edit off"),
        edit=tr("Merge the edit by hand…"),
        never=tr("Never propose this edit again"),
        following=tr("Next edit"),
        previous=tr("Previous edit"),
        bulk=tr("Accept all edits"),
        bulk_keys="Ctrl+Shift+M",
    )
