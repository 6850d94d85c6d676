"""The actions of the Memory page: each is one `ActionSpec`, on the selection."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from gm_desktop.actions import ActionSpec
from gm_desktop.i18n import tr
from gm_desktop.viewmodels.fact_details import FactDetails
from gm_desktop.viewmodels.memory import MemoryViewModel
from gm_desktop.viewmodels.revision import RevisionViewModel
from gm_desktop.views.fact_dialogs import AddFactDialog, AgentDialog
from gm_desktop.views.made_actions import fill_menu

_MENU = (
    "fact.revise fact.pin fact.unpin | fact.label_verified fact.label_inferred fact.label_unverified |"
    " fact.move fact.copy fact.copy_text fact.why_not | fact.retire fact.block fact.restore"
)


class FactActions:
    """Specs, the context menu made of them, and the dialogs they open."""

    def __init__(self, viewmodel: MemoryViewModel, revision: RevisionViewModel, owner: QWidget) -> None:
        self._viewmodel, self._revision, self._owner = viewmodel, revision, owner

    def specs(self) -> tuple[ActionSpec, ...]:
        """In menu order. All but the first need a selection."""
        some, one = self._has_selection, self._has_one
        return (
            ActionSpec("fact.add", tr("Add fact…"), "plus", "Ctrl+N", self._can_write, self.add, words="remember new"),
            ActionSpec("fact.revise", tr("Revise…"), "pencil", "F2", one, self.revise, words="edit correct change"),
            ActionSpec("fact.pin_toggle", tr("Pin or unpin"), "pin", "P", some, self.toggle_pin),
            ActionSpec("fact.pin", tr("Pin"), "pin", "", some, self._on(self._viewmodel.verbs.pin)),
            ActionSpec("fact.unpin", tr("Unpin"), "pin-off", "", some, self._on(self._viewmodel.verbs.unpin)),
            self._label_spec("verified", tr("Label as verified"), "shield-check"),
            self._label_spec("inferred", tr("Label as inferred"), "tag"),
            self._label_spec("unverified", tr("Label as unverified"), "circle-question-mark"),
            ActionSpec("fact.move", tr("Move to agent…"), "arrow-right-left", "Ctrl+M", some, self.move),
            ActionSpec("fact.copy", tr("Copy to agent…"), "copy", "", some, self.copy),
            ActionSpec("fact.copy_text", tr("Copy text"), "copy", "Ctrl+Shift+C", self._is_shown, self.copy_text),
            ActionSpec("fact.retire", tr("Retire"), "archive", "Del", some, self.retire, words="forget delete remove"),
            ActionSpec(
                "fact.block",
                tr("Retire and never store again"),
                "shield-check",
                "Shift+Del",
                some,
                self._on(self._viewmodel.verbs.retire_for_ever),
                words="forget block forbid refuse",
            ),
            ActionSpec("fact.restore", tr("Restore"), "archive-restore", "", some, self.restore, words="bring back"),
        )

    def _label_spec(self, label: str, title: str, icon: str) -> ActionSpec:
        def run() -> None:
            self._viewmodel.verbs.label(self._viewmodel.selected, label)

        return ActionSpec(f"fact.label_{label}", title, icon, "", self._has_selection, run, words="confidence")

    def fill(self, menu: QMenu) -> None:
        """Puts the actions that the window made of the specs into a menu."""
        fill_menu(menu, self._owner, _MENU)

    # when

    def _can_write(self) -> bool:
        return self._viewmodel.verbs.can_write

    def _has_selection(self) -> bool:
        return self._can_write() and bool(self._viewmodel.selected)

    def _has_one(self) -> bool:
        return self._can_write() and len(self._viewmodel.selected) == 1

    def _is_shown(self) -> bool:
        return isinstance(self._viewmodel.details.state, FactDetails)

    # run

    def _on(self, verb: Callable[[frozenset[str]], None]) -> Callable[[], None]:
        return lambda: verb(self._viewmodel.selected)

    def add(self) -> None:
        """Asks for a new fact; what was typed and left waits there."""
        model = self._viewmodel
        dialog = AddFactDialog(model.agent_choices(), model.likely_agent, self._owner, model.left_text)
        dialog.left.connect(model.leave_text)

        def write(agent_id: str, text: str, confidence: str) -> None:
            model.leave_text("")
            model.verbs.add(agent_id, text, confidence, dialog.answer)

        dialog.accepted_fact.connect(write)
        dialog.open()

    def revise(self) -> None:
        """Opens the selected fact in the editor."""
        if self._has_one():
            self._revision.open(next(iter(self._viewmodel.selected)))

    def toggle_pin(self) -> None:
        """Pins the selection, or unpins it when all of it is pinned."""
        if self._has_selection():
            self._viewmodel.toggle_pin()

    def retire(self) -> None:
        """Retires the selection."""
        if self._has_selection():
            self._viewmodel.verbs.retire(self._viewmodel.selected)

    def restore(self) -> None:
        """Restores the selection."""
        if self._has_selection():
            self._viewmodel.verbs.restore(self._viewmodel.selected)

    def move(self) -> None:
        """Asks where to, then moves the selection."""
        selected = self._viewmodel.selected
        dialog = AgentDialog(tr("Move to agent"), tr("Move"), self._viewmodel.agent_choices(), self._owner)
        dialog.agent_chosen.connect(lambda agent_id: self._viewmodel.verbs.move(selected, agent_id))
        dialog.open()

    def copy(self) -> None:
        """Asks where to, then copies the selection."""
        selected = self._viewmodel.selected
        dialog = AgentDialog(tr("Copy to agent"), tr("Copy"), self._viewmodel.agent_choices(), self._owner)
        dialog.agent_chosen.connect(lambda agent_id: self._viewmodel.verbs.copy(selected, agent_id))
        dialog.open()

    def drop_on(self, agent_id: str, is_copy: bool) -> None:
        """Moves or copies the selection that was dragged to an agent."""
        if self._has_selection():
            verbs = self._viewmodel.verbs
            (verbs.copy if is_copy else verbs.move)(self._viewmodel.selected, agent_id)

    def copy_text(self) -> None:
        """Puts the shown fact's text on the clipboard."""
        state = self._viewmodel.details.state
        if isinstance(state, FactDetails):
            QGuiApplication.clipboard().setText(state.text)
