"""The section of the Settings page that keeps the store: backups, their schedule, restoring, purging, examining."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import Theme
from gm_desktop.viewmodels.settings_keeping import KeepingSettings
from gm_desktop.views.purge_dialog import PurgeDialog
from gm_desktop.views.settings_parts import ListedLines, Section, stretched
from gm_desktop.widgets.basics import ElidedLabel, push_button, row
from gm_desktop.widgets.flow_layout import flowing
from gm_desktop.widgets.form_card import ChoiceBox, CountBox, FormCard

_EVERY = (("0", "Never"), ("6", "Every 6 hours"), ("24", "Every day"), ("168", "Every week"), ("720", "Every 30 days"))


class KeepingSection(Section):
    """Copies of the store, and what must not be kept."""

    section_id, title, icon_name = "keeping", "Store maintenance", "archive"
    intro = "A backup is one file with checksums. Nobody has to stop writing while it is made."

    examine_wanted = Signal()

    def __init__(self, viewmodel: KeepingSettings, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self.list = ListedLines(viewmodel.lines, theme, tr("Backups"), "archive", most_px=220)
        self.now = push_button(tr("Back up now"), "primary", viewmodel.back_up)
        self.to_folder = push_button(tr("To a folder…"), "", self.back_up_to_folder)
        self.restore = push_button(tr("Restore to a copy…"), "", self._on_restore)
        self.restore_other = push_button(tr("Restore from a file…"), "quiet", self.restore_from_file)
        self.every = ChoiceBox(tuple((hours, tr(title)) for hours, title in _EVERY))
        self.kept = CountBox(1, 1_000)
        self.folder = ElidedLabel(middle=True, role="text", theme=theme)
        self.folder.setFont(theme.font())  # a value among values
        self.choose_folder = push_button(tr("Choose…"), "", self._on_folder)
        self.own_folder = push_button(tr("The store's own"), "quiet", lambda: self._set_schedule(folder=""))
        self.purge = push_button(tr("Remove a text…"), "", self.open_purge)
        self.examine = push_button(tr("Examine the store"), "", self.examine_wanted.emit)
        self._lay_out()
        self._wire()
        self._show()

    def _lay_out(self) -> None:
        backups = FormCard(tr("Backups"))
        backups.add_list(self.list)
        backups.add_wide(flowing(self.now, self.to_folder, self.restore, self.restore_other))
        schedule = FormCard(tr("Backups by themselves"))
        schedule.add(tr("When"), self.every, tr("While this program, or another one that does so, has the store open."))
        where = QWidget()
        line = row(self.folder, self.choose_folder, self.own_folder)
        line.setStretchFactor(self.folder, 1)
        where.setLayout(line)
        schedule.add(tr("Where"), where)
        schedule.add(tr("Keep"), self.kept, tr("Older scheduled ones are deleted. Backups made by hand always stay."))
        gone = FormCard(
            tr("Remove a text for good"),
            tr("Facts, journal, indexes, inbox and backups forget it; the bytes are nowhere in the folder afterwards."),
        )
        gone.add_wide(row(self.purge, 1))
        health = FormCard(
            tr("Health"), tr("The doctor compares facts, journal, indexes and backups, and offers repairs.")
        )
        health.add_wide(row(self.examine, 1))
        stretched(self, (backups, schedule, gone, health))

    def _wire(self) -> None:
        model = self._viewmodel
        self.every.activated.connect(lambda _: self._set_schedule())
        self.kept.valueChanged.connect(lambda _: self._set_schedule())
        self.list.picked.connect(self._refresh)
        self.list.retry_wanted.connect(model.reload)
        model.changed.connect(self._show)
        model.running_changed.connect(self._refresh)

    def look(self, is_looked_at: bool) -> None:
        """Another program may have made a backup."""
        if is_looked_at:
            self._viewmodel.reload()

    def is_settled(self) -> bool:
        """Whether it waits for no answer."""
        return not self._viewmodel.is_waiting

    def _show(self) -> None:
        model = self._viewmodel
        self.list.show_state(model.state)
        every = str(model.schedule.every_h)
        if self.every.findData(every) < 0:
            self.every.addItem(tr("Every {hours} hours", hours=every), every)
        self.every.choose(every)
        with QSignalBlocker(self.kept):
            self.kept.setValue(model.schedule.kept)
        self.folder.set_text(model.schedule.folder or tr("In the store's own folder"))
        self._refresh()

    def _refresh(self) -> None:
        model = self._viewmodel
        self.now.setEnabled(model.can_back_up)
        self.to_folder.setEnabled(model.can_back_up)
        self.restore.setEnabled(not model.is_running and model.is_sound(self.list.key))
        self.restore_other.setEnabled(not model.is_running)
        self.every.setEnabled(model.can_write)
        self.kept.setEnabled(model.can_write and model.schedule.every_h > 0)
        self.choose_folder.setEnabled(model.can_write)
        self.own_folder.setEnabled(model.can_write and bool(model.schedule.folder))
        self.purge.setEnabled(model.can_write)
        self.examine.setEnabled(model.can_back_up)

    def _set_schedule(self, *, folder: str | None = None) -> None:
        self._viewmodel.set_schedule(int(self.every.chosen), self.kept.value(), folder)
        self._show()

    def _on_folder(self) -> None:
        dialog = _folder_dialog(self, tr("Choose a folder for scheduled backups"))
        dialog.fileSelected.connect(lambda path: self._set_schedule(folder=path))
        dialog.open()

    # --- dialogs; the actions of the window open them, too ---------------------------------------------------------

    def back_up_to_folder(self) -> None:
        """Asks for a folder and makes a backup in it."""
        dialog = _folder_dialog(self, tr("Choose a folder for the backup"))
        dialog.fileSelected.connect(lambda path: self._viewmodel.back_up(Path(path)))
        dialog.open()

    def restore_from_file(self) -> None:
        """Asks for a backup file, then for the folder of the copy."""
        dialog = QFileDialog(self.window(), tr("Restore a backup"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([tr("Backups (*.zip)"), tr("All files (*)")])
        dialog.fileSelected.connect(lambda path: self._ask_target(Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def open_purge(self) -> None:
        """Opens the dialog that removes a text for good."""
        PurgeDialog(self._viewmodel, self._theme, self.window()).open()

    def _on_restore(self) -> None:
        self._ask_target(Path(self.list.key))

    def _ask_target(self, backup: Path) -> None:
        dialog = _folder_dialog(self, tr("Choose an empty folder for the restored copy"))
        dialog.fileSelected.connect(lambda path: self._viewmodel.restore_file(backup, Path(path)))
        dialog.open()


def _folder_dialog(section: KeepingSection, title: str) -> QFileDialog:
    dialog = QFileDialog(section.window(), title)
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly)
    dialog.finished.connect(dialog.deleteLater)
    return dialog
