"""The person's own dictionary of names for the graph: list, change, import, export. Without widgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr
from gm_desktop.models.graph_picture import KINDS
from gm_desktop.models.line_list import Line
from gm_desktop.notices import Notices
from gm_desktop.plain_text import row_text
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.graph_data import kind_title
from gm_desktop.viewmodels.settings_list import StoreList, offer_again
from gm_desktop.viewmodels.states import Empty, Full
from gm_engine.errors import InvalidInput
from gm_engine.graph.records import DictionaryEntry, GraphChange

if TYPE_CHECKING:
    from gm_engine import Memory

SHOWN = 2_000
MAX_FILE_BYTES = 50_000_000


@dataclass(frozen=True, slots=True)
class EntryDraft:
    """An entry as a form: its name, what it is, other spellings, and whether it must never be an entity."""

    label: str = ""
    kind: str = "concept"
    names: tuple[str, ...] = ()
    ignore: bool = False


class DictionarySettings(StoreList):
    """Entries by name; each write is one step that can be undone."""

    def __init__(self, host: EngineHost, undo: UndoController, notices: Notices, parent: QObject | None = None) -> None:
        super().__init__(host, kind="setting", job=_read, on_read=self._on_read, parent=parent)
        self._undo, self._notices = undo, notices
        self._entries: dict[str, DictionaryEntry] = {}

    @property
    def kinds(self) -> tuple[tuple[str, str], ...]:
        """What an entry can be: a type and its title, in the language that is spoken now."""
        return tuple((kind, kind_title(kind)) for kind in KINDS)

    def draft(self, label: str) -> EntryDraft:
        """The entry behind a line as a form; a new one for an empty label."""
        found = self._entries.get(label)
        return EntryDraft() if found is None else EntryDraft(found.label, found.type, found.names, found.ignore)

    def put(self, draft: EntryDraft, again: Callable[[], None], *, instead_of: str = "") -> None:
        """Writes an entry; `instead_of` names the one that it replaces under another label.

        `again` shows what was typed once more where that fails.
        """
        entry = DictionaryEntry(draft.label, draft.kind, draft.names, draft.ignore)
        old = [instead_of] if instead_of and instead_of != entry.label else []
        said = tr("Wrote {name}", name=row_text(entry.label, 60))
        self._host.write(
            lambda memory: memory.graph.define(entry, instead_of=old),
            lambda change: self._note(change, said),
            partial(offer_again, self._notices, again),
        )

    def remove(self, label: str) -> None:
        """Takes an entry out; the entities stay."""
        said = tr("Took {name} out of the dictionary", name=row_text(label, 60))
        self._host.write(lambda memory: memory.graph.undefine(label), lambda change: self._note(change, said))

    def import_file(self, path: Path) -> None:
        """Takes in a file of entries; those of the same name are replaced."""

        def job(memory: Memory) -> GraphChange:
            return memory.graph.import_dictionary(_file_text(path))

        self._host.write(job, lambda change: self._note(change, tr("Took in {file}", file=path.name)))

    def export_file(self, path: Path) -> None:
        """Writes the dictionary to a file that can be edited and taken in again."""

        def job(memory: Memory) -> None:
            try:
                path.write_text(memory.graph.export_dictionary(), encoding="utf-8")
            except OSError as error:
                raise InvalidInput(f"{path} can't be written: {error.strerror}.", path=str(path)) from error

        self._host.read(job, lambda _: self._notices.show(tr("Wrote {file}", file=path), level="success"))

    def _note(self, change: GraphChange, said: str) -> None:
        if change.seq is None:
            self._notices.show(tr("Nothing to change: it already is that way."))
        else:
            self._undo.did(said, change.seq)

    def _on_read(self, entries: tuple[DictionaryEntry, ...]) -> None:
        self._entries = {each.label: each for each in entries[:SHOWN]}
        self.lines.set_lines([_line(each) for each in self._entries.values()])
        hint = tr("Add how a name is written and what it stands for: the graph follows at once.")
        self.state = Full(len(entries)) if entries else Empty("none", tr("The dictionary is empty"), hint)
        self.changed.emit()

    def _on_closed(self) -> None:
        self._entries = {}
        super()._on_closed()


def _read(memory: Memory) -> tuple[DictionaryEntry, ...]:
    return memory.graph.dictionary()


def _file_text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InvalidInput(f"{path.name} is too large to be a dictionary.", path=str(path))
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path.name} can't be read: {error.strerror}.", path=str(path)) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path.name} is no text in UTF-8.", path=str(path)) from error


def _line(entry: DictionaryEntry) -> Line:
    names = ", ".join(row_text(each, 60) for each in entry.names[:8])
    also = tr("also written {names}", names=names) if names else ""
    if entry.ignore:
        return Line(entry.label, row_text(entry.label, 200), also, tr("never an entity"), "warning")
    return Line(entry.label, row_text(entry.label, 200), also, kind_title(entry.type))
