"""The actions of the Checkpoints page: each is one `ActionSpec`, on the open checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from gm_desktop.actions import ActionSpec
from gm_desktop.i18n import tr
from gm_desktop.viewmodels.checkpoints import CheckpointsViewModel

_MENU = (
    "checkpoint.compare checkpoint.make_current | checkpoint.edit_state checkpoint.edit_metadata |"
    " checkpoint.copy_json checkpoint.export checkpoint.rescue | checkpoint.delete"
)


class CheckpointActions:
    """Specs and the menu made of them. `chosen_part` gives the part of the state that is selected in the tree."""

    def __init__(
        self,
        viewmodel: CheckpointsViewModel,
        owner: QWidget,
        *,
        chosen_part: Callable[[], tuple[str | int, ...]],
        give_verdict: Callable[[str], None],
        show_changes: Callable[[], None],
    ) -> None:
        self._viewmodel, self._owner = viewmodel, owner
        self._chosen_part, self._give_verdict, self._show_changes = chosen_part, give_verdict, show_changes

    def specs(self) -> tuple[ActionSpec, ...]:
        """In menu order."""
        some, usable, writable = self._is_open, self._is_readable, self._is_readable_for_writing
        return (
            self._verdict_spec("approve", tr("Approve checkpoint"), "circle-check", "A", verdict="approved"),
            self._verdict_spec("needs_work", tr("Checkpoint needs work"), "pencil", "W", verdict="needs_work"),
            self._verdict_spec("reject", tr("Reject checkpoint"), "x", "R", verdict="rejected"),
            ActionSpec(
                "checkpoint.compare",
                tr("What changed"),
                "git-compare",
                "D",
                some,
                self._show_changes,
                words="compare diff checkpoint",
            ),
            ActionSpec(
                "checkpoint.make_current",
                tr("Make current"),
                "history",
                "Ctrl+Shift+M",
                writable,
                self.make_current,
                words="restore checkpoint",
            ),
            ActionSpec(
                "checkpoint.edit_state",
                tr("New checkpoint from edited state…"),
                "braces",
                "F2",
                writable,
                self.edit_state,
                words="change value",
            ),
            ActionSpec("checkpoint.edit_metadata", tr("Edit metadata…"), "tag", "", writable, self.edit_metadata),
            ActionSpec(
                "checkpoint.copy_json", tr("Copy checkpoint as JSON"), "copy", "Ctrl+Shift+C", usable, self.copy_json
            ),
            ActionSpec("checkpoint.export", tr("Save as JSON file…"), "download", "Ctrl+S", usable, self.export),
            ActionSpec(
                "checkpoint.rescue",
                tr("Save damaged record…"),
                "download",
                "",
                self._is_damaged,
                self.rescue,
                words="raw bytes export",
            ),
            ActionSpec(
                "checkpoint.delete", tr("Delete checkpoint"), "trash", "Del", self._is_open_for_writing, self.delete
            ),
        )

    def _verdict_spec(self, name: str, title: str, icon: str, keys: str, *, verdict: str) -> ActionSpec:
        return ActionSpec(
            f"checkpoint.{name}",
            title,
            icon,
            keys,
            self._is_open_for_writing,
            lambda: self._give_verdict(verdict),
            words="review verdict",
        )

    def fill(self, menu: QMenu) -> None:
        """Puts the actions that the window made of the specs into a menu."""
        made = self._made()
        for name in _MENU.split():
            if name == "|":
                menu.addSeparator()
            elif name in made and (name != "checkpoint.rescue" or self._is_damaged()):
                menu.addAction(made[name])

    def _made(self) -> dict[str, QAction]:
        widget: QWidget | None = self._owner
        while widget is not None:
            found = {action.objectName(): action for action in widget.actions()}
            if "checkpoint.delete" in found:
                return found
            widget = widget.parentWidget()
        return {}

    # when

    def _is_open(self) -> bool:
        return self._viewmodel.selected_id is not None

    def _is_open_for_writing(self) -> bool:
        return self._is_open() and self._viewmodel.verbs.can_write

    def _is_readable(self) -> bool:
        return self._is_open() and self._viewmodel.is_readable

    def _is_readable_for_writing(self) -> bool:
        return self._is_readable() and self._viewmodel.verbs.can_write

    def _is_damaged(self) -> bool:
        return self._is_open() and self._viewmodel.is_damaged

    # run

    def make_current(self) -> None:
        """Saves a copy of the open checkpoint as the newest one."""
        self._on_open(self._viewmodel.verbs.make_current)

    def delete(self) -> None:
        """Takes the open checkpoint off the list; undo brings it back."""
        self._on_open(self._viewmodel.verbs.delete)

    def edit_state(self) -> None:
        """Opens the selected part of the state, else all of it, in an editor."""
        self._viewmodel.edit_part(("state", *self._chosen_part()))

    def edit_metadata(self) -> None:
        """Opens the metadata in an editor."""
        self._viewmodel.edit_part(("metadata",))

    def copy_json(self) -> None:
        """Puts the checkpoint on the clipboard."""
        self._on_open(lambda each: self._viewmodel.verbs.read_json(each, QGuiApplication.clipboard().setText))

    def export(self) -> None:
        """Asks where to, then writes a JSON file."""
        self._on_open(lambda each: self._ask_file(each, raw=False))

    def rescue(self) -> None:
        """Asks where to, then writes the stored bytes as they are."""
        self._on_open(lambda each: self._ask_file(each, raw=True))

    def _on_open(self, run: Callable[[str], None]) -> None:
        if self._viewmodel.selected_id is not None:
            run(self._viewmodel.selected_id)

    def _ask_file(self, checkpoint_id: str, *, raw: bool) -> None:
        dialog = QFileDialog(self._owner, tr("Save checkpoint"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setFileMode(QFileDialog.FileMode.AnyFile)
        dialog.setNameFilters([tr("JSON files (*.json)"), tr("All files (*)")])
        dialog.setDefaultSuffix("json")
        dialog.selectFile(f"checkpoint-{checkpoint_id}.json")
        dialog.fileSelected.connect(lambda path: self._viewmodel.verbs.export(checkpoint_id, Path(path), raw=raw))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
