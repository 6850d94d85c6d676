"""A new checkpoint out of an edited one: a part of the state, or the metadata, as JSON in an editor."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr, tr_count
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.tickets import Latest
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.checkpoint_words import path_text
from gm_desktop.viewmodels.kept_drafts import KeptDrafts
from gm_engine.errors import GrayMatterError
from gm_engine.records import CheckpointSummary, JsonChange, JsonPath, JsonValue

if TYPE_CHECKING:
    from gm_engine import Memory

MOST_CHARS = 200_000
LOOK_PAUSE_MS = 250


@dataclass(frozen=True, slots=True)
class Draft:
    """What is edited: the part of the checkpoint at `path` (which begins with `state` or `metadata`)."""

    checkpoint_id: str
    path: JsonPath
    title: str
    text: str


class CheckpointEdit(QObject):
    """One open draft. `problem` says why it cannot be saved, `summary` what saving it would change.

    One that is left waits until the same part is edited again.
    """

    opened = Signal()
    changed = Signal()
    closed = Signal()
    made = Signal(str)

    def __init__(self, host: EngineHost, undo: UndoController, notices: Notices, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host, self._undo, self._notices = host, undo, notices
        self.draft: Draft | None = None
        self.problem = ""
        self.summary = ""
        self._saving: Draft | None = None
        self._kept = KeptDrafts[tuple[str, JsonPath]]()
        self._value: JsonValue = None
        self._text = ""
        self._can_save = False
        self._opening = Latest()
        self._looking = Latest()
        self._look_soon = QTimer(self, singleShot=True, interval=LOOK_PAUSE_MS)
        self._look_soon.timeout.connect(self._look)
        host.store_closed.connect(self._on_store_closed)

    @property
    def text(self) -> str:
        """What the person has typed so far."""
        return self._text

    @property
    def is_saving(self) -> bool:
        """Whether the open draft is being written."""
        return self._saving is not None

    @property
    def can_save(self) -> bool:
        """Whether the draft can be read, differs, and nothing is on its way."""
        return self._can_save and not self.is_saving

    def open(self, checkpoint_id: str, path: JsonPath) -> None:
        """Reads the part and opens a draft of it; a part that is too large for an editor is refused with a notice."""

        def done(text: str | None) -> None:
            if text is None:
                self._notices.show(
                    tr("This part is too large for an editor. Choose a smaller part of the state."), level="warning"
                )
                return
            self.draft, self._saving = Draft(checkpoint_id, path, path_text(path), text), None
            self._text, self.problem = self._kept.take((checkpoint_id, path), text), ""
            self.summary, self._can_save = tr("No change yet"), False
            self.opened.emit()
            if self._text != text:
                self._look()

        self._opening.take(self._host.read(partial(_part, checkpoint_id, path), done, self._notices.show_failure))

    def set_text(self, text: str) -> None:
        """Takes what the person typed; what it comes to follows after a pause."""
        if self.draft is None or text == self._text:
            return
        self._text = text
        self._can_save = False
        self._look_soon.start()
        self.changed.emit()

    def _look(self) -> None:
        draft = self.draft
        if draft is None:
            return
        self._looking.cancel()
        try:
            self._value = parse(self._text)
        except ValueError as error:
            self._say(problem=str(error))
            return
        value = self._value
        self._looking.take(
            self._host.read(
                lambda memory: _preview(memory, draft, value),
                self._on_previewed,
                lambda error: self._say(problem=sentence_for(error)),
            )
        )

    def _on_previewed(self, changes: tuple[JsonChange, ...]) -> None:
        text = tr_count("{count} value changes", "{count} values change", len(changes)) if changes else ""
        self._say(summary=text or tr("No change yet"), can_save=bool(changes))

    def _say(self, *, problem: str = "", summary: str = "", can_save: bool = False) -> None:
        self.problem, self.summary, self._can_save = problem, summary, can_save
        self.changed.emit()

    def save(self) -> None:
        """Saves the new checkpoint; the draft stays when that fails, also when the editor was left meanwhile."""
        draft, value, text = self.draft, self._value, self._text
        if draft is None or not self.can_save:
            return
        self._saving = draft
        self.changed.emit()

        def done(summary: CheckpointSummary) -> None:
            self._undo.did(tr("Saved an edited checkpoint"), summary.version)
            if self._saving is draft:
                self.close()
            self._kept.was_written((draft.checkpoint_id, draft.path), text)
            self.made.emit(summary.id)

        def failed(error: GrayMatterError) -> None:
            if self._saving is draft:
                self._saving = None
                self._say(problem=sentence_for(error))
            else:
                self._host.failed.emit(error)

        self._host.write(lambda memory: _save(memory, draft, value), done, failed)

    def _on_store_closed(self) -> None:
        self.close()
        self._kept.clear()

    def close(self) -> None:
        """Leaves the editor."""
        self._opening.cancel()
        self._looking.cancel()
        self._look_soon.stop()
        draft = self.draft
        if draft is not None:
            if self._text != draft.text:
                self._kept.keep((draft.checkpoint_id, draft.path), self._text)
            self.draft = self._saving = None
            self._can_save = False
            self.closed.emit()


def parse(text: str) -> JsonValue:
    """The JSON value in `text`. Raises `ValueError` with a sentence that says where it goes wrong."""
    try:
        value: JsonValue = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ValueError(
            tr("Line {line}, column {column}: {reason}", line=error.lineno, column=error.colno, reason=error.msg)
        ) from None
    except RecursionError:
        raise ValueError(tr("The values are nested too deeply.")) from None
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(tr("{name} is no number in JSON.", name=name))


def _part(checkpoint_id: str, path: JsonPath, memory: Memory) -> str | None:
    """The JSON of one part, None where it is too large. Raises what loading the checkpoint raises."""
    checkpoint = memory.checkpoints.load(checkpoint_id)
    value: Any = {"state": dict(checkpoint.state), "metadata": dict(checkpoint.metadata)}
    for step in path:
        value = value[step]
    length = 0
    parts: list[str] = []
    for part in json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(value):
        length += len(part)
        if length > MOST_CHARS:
            return None
        parts.append(part)
    return "".join(parts)


def replaced(document: JsonValue, path: JsonPath, value: JsonValue) -> JsonValue:
    """`document` with another value at `path`; what is not on the way there is shared, nothing is changed in place."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(document, list) and isinstance(step, int):
        return [*document[:step], replaced(document[step], rest, value), *document[step + 1 :]]
    if isinstance(document, dict):
        return {key: replaced(old, rest, value) if key == step else old for key, old in document.items()}
    return document


def _edits(memory: Memory, draft: Draft, value: JsonValue) -> dict[str, Any]:
    """The arguments of an edit. `state` and `metadata` themselves must stay objects: the engine says so otherwise."""
    checkpoint = memory.checkpoints.load(draft.checkpoint_id)
    name = str(draft.path[0])
    whole: JsonValue = dict(checkpoint.state) if name == "state" else dict(checkpoint.metadata)
    edited = replaced(whole, draft.path[1:], value)
    if not isinstance(edited, dict):
        raise _NotAnObject(tr("This must stay an object with names and values."))
    return {name: edited}


class _NotAnObject(GrayMatterError):
    """The person replaced an object that must stay one."""

    code = "not_an_object"


def _preview(memory: Memory, draft: Draft, value: JsonValue) -> tuple[JsonChange, ...]:
    return memory.checkpoints.preview_edit(draft.checkpoint_id, **_edits(memory, draft, value))


def _save(memory: Memory, draft: Draft, value: JsonValue) -> CheckpointSummary:
    made = memory.checkpoints.edit(draft.checkpoint_id, **_edits(memory, draft, value))
    return memory.checkpoints.summary(made.id)
