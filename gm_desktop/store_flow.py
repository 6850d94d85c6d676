"""Ways into a store: new, existing, recent, demo, import. Asks, then tells the engine host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr
from gm_desktop.notices import Notices
from gm_desktop.paths import default_data_dir, demo_data_dir, holds_store
from gm_desktop.tasks import TaskState
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.importing import FILE_SUFFIXES, Imported, ImportViewModel, can_import
from gm_desktop.views.import_dialog import ImportDialog
from gm_engine.clock import Clock
from gm_engine.progress import CancelToken, Progress
from gm_engine.records import BALANCED_WEIGHTS

if TYPE_CHECKING:
    from gm_engine import Memory


class StoreFlow(QObject):
    """Owns the dialogs that lead to an open store, and imports."""

    show_memory_wanted = Signal()
    publish_wanted = Signal()

    def __init__(
        self,
        host: EngineHost,
        notices: Notices,
        *,
        undo: UndoController,
        theme: Theme,
        clock: Clock,
        window: Callable[[], QWidget],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._host, self._notices, self._undo = host, notices, undo
        self._theme, self._clock, self._window = theme, clock, window
        self._import_after_open: Path | None = None
        self._makes_demo = False
        self._imports: list[ImportViewModel] = []
        host.store_opened.connect(self._on_opened)
        host.open_failed.connect(self._forget_import)

    # --- stores ------------------------------------------------------------------------------------------------

    def choose_new(self) -> None:
        """Asks for a folder and makes a store there, with the balanced profile."""
        if self._is_free():
            self._ask_folder(tr("Choose a folder for the new store"), self.open_new)

    def choose_existing(self) -> None:
        """Asks for the folder of a store."""
        if self._is_free():
            self._ask_folder(tr("Choose the folder of a store"), self.open_existing)

    def close(self) -> None:
        """Closes the store, unless a task still works on it."""
        if self._is_free():
            self._host.close_store()

    def reopen(self) -> None:
        """Opens the open store again, as other models were chosen; later, where a task still works on it."""
        data_dir, running = self._host.data_dir, self._host.tasks.running
        if data_dir is None or not self._host.is_open:
            return
        if running:
            task = running[0].title
            self._notices.show(tr("{task} is still running: the choice holds from the next opening on.", task=task))
        else:
            self._host.open_store(data_dir, read_only=self._host.read_only)

    def open_new(self, data_dir: Path) -> None:
        """Makes a store in `data_dir`, or opens the one that is there."""
        if holds_store(data_dir):
            self._host.open_store(data_dir)
            self._notices.show(tr("There is a store in this folder already; it was opened as it is."))
        else:
            self._host.open_store(data_dir, prepare=_use_balanced_profile)
            self._notices.show(tr("A new, empty store with the balanced profile"))

    def open_existing(self, data_dir: Path, *, read_only: bool = False) -> None:
        """Opens the store in `data_dir`; says so when there is none."""
        foreign = data_dir / "gray.db"
        if holds_store(data_dir):
            self._host.open_store(data_dir, read_only=read_only)
        elif foreign.is_file() and not read_only:
            self._notices.show(
                tr("{folder} holds the Go program's gray.db. It can be imported and stays as it is.", folder=data_dir),
                action=(tr("Import"), lambda: self.import_file(foreign)),
            )
        else:
            self._notices.show(
                tr("There is no store in {folder}.", folder=str(data_dir)),
                level="warning",
                action=(tr("Make one"), lambda: self.open_new(data_dir)),
            )

    def open_demo(self, data_dir: Path | None = None) -> None:
        """Opens the demo, building it first where it does not exist yet."""
        target = data_dir or demo_data_dir()
        if not self._is_free():
            return
        if holds_store(target):
            self._host.open_store(target)
            return
        clock = self._clock

        def build(progress: Progress, _cancel: CancelToken) -> Path:
            from gm_engine.demo import build_demo  # only the demo needs it

            build_demo(target, clock=clock, progress=progress)
            return target

        self._makes_demo = True
        task = self._host.run_alone(tr("Making up a demo"), build, self._host.open_store)
        task.ended.connect(lambda: self._on_demo_ended(task.state))

    # --- imports -----------------------------------------------------------------------------------------------

    def choose_import(self) -> None:
        """Asks for a file and looks into it."""
        dialog = QFileDialog(self._window(), tr("Import memories"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        kinds = " ".join(f"*{suffix}" for suffix in FILE_SUFFIXES)
        dialog.setNameFilters([tr("Stores, exports, notes and tables ({kinds})", kinds=kinds), tr("All files (*)")])
        dialog.fileSelected.connect(lambda path: self.import_file(Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def choose_import_folder(self) -> None:
        """Asks for a folder of notes and looks into it."""
        self._ask_folder(tr("Choose a folder of notes"), self.import_file)

    def import_file(self, path: Path) -> None:
        """Looks into `path` and offers to import it: into the open store, into the one or the demo that is on its way,
        else into the default one.
        """
        if not can_import(path):
            text = tr("{name} is not a store, and no export, table or note that can be imported.", name=path.name)
            self._notices.show(text, level="warning")
        elif self._host.data_dir is not None and self._host.read_only:
            self._notices.show(tr("This store is open for reading only, so nothing can be imported."), level="warning")
        elif self._host.is_open:
            self._begin_import(path)
        else:
            self._import_after_open = path
            if self._host.data_dir is None and not self._makes_demo:
                self._host.open_store(default_data_dir())

    def _on_demo_ended(self, state: TaskState) -> None:
        self._makes_demo = False
        if state is not TaskState.DONE:
            self._forget_import()

    def _forget_import(self) -> None:
        self._import_after_open = None  # it was for the store that did not come, not for whichever is next

    def _on_opened(self) -> None:
        path, self._import_after_open = self._import_after_open, None
        if path is not None:
            self._begin_import(path)

    def _begin_import(self, path: Path) -> None:
        viewmodel = ImportViewModel(self._host, self._undo, path, self)
        dialog = ImportDialog(
            viewmodel,
            self._theme,
            on_show_memory=self.show_memory_wanted.emit,
            on_publish=self.publish_wanted.emit,
            parent=self._window(),
        )
        self._imports.append(viewmodel)

        def ended() -> None:
            dialog.deleteLater()
            if viewmodel in self._imports:
                self._imports.remove(viewmodel)
                viewmodel.cancel()
                viewmodel.deleteLater()

        def told() -> None:
            state = viewmodel.state
            if isinstance(state, Imported) and not dialog.isVisible():
                text = tr("{name} was imported", name=path.name)
                self._notices.show(text, level="success", action=(tr("Details"), dialog.open))

        dialog.finished.connect(ended)
        viewmodel.changed.connect(told)
        viewmodel.look()
        dialog.open()

    def _is_free(self) -> bool:
        """Whether the store can be let go of; else says why not."""
        running = self._host.tasks.running
        if running:
            text = tr("{task} is still running. Wait for it or cancel it first.", task=running[0].title)
            self._notices.show(text, level="warning")
        return not running

    def _ask_folder(self, title: str, then: Callable[[Path], None]) -> None:
        dialog = QFileDialog(self._window(), title)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(lambda path: then(Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()


def _use_balanced_profile(memory: Memory) -> None:
    memory.set_settings(replace(memory.settings, signal_weights=BALANCED_WEIGHTS))
