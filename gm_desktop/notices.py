"""What the program tells the person in passing: a sentence, a level, at most one action."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QObject, Signal

from gm_desktop.i18n import tr
from gm_engine.errors import GrayMatterError

Level = Literal["info", "success", "warning", "error"]


@dataclass(frozen=True, slots=True)
class NoticeAction:
    """The one thing a notice offers to do."""

    label: str
    run: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Notice:
    """One message. `lasting` ones stay until they are closed."""

    text: str
    level: Level
    action: NoticeAction | None = None
    lasting: bool = False


class Notices(QObject):
    """Collects notices; the window shows them as toasts."""

    shown = Signal(object)  # Notice
    withdrawn = Signal(str)

    def show(self, text: str, *, level: Level = "info", action: tuple[str, Callable[[], None]] | None = None) -> None:
        """Says `text`, with a button `action[0]` that calls `action[1]`."""
        offer = NoticeAction(*action) if action is not None else None
        self.shown.emit(Notice(text, level, offer, lasting=level == "error"))

    def withdraw(self, text: str) -> None:
        """Takes back what was said: its button would do nothing any more."""
        self.withdrawn.emit(text)

    def show_failure(self, error: GrayMatterError) -> None:
        """Says what an expected failure means for the person."""
        self.show(sentence_for(error), level="warning" if error.code in _MILD else "error")


def sentence_for(error: GrayMatterError) -> str:
    """A sentence for the person; codes without one keep the engine's own words."""
    if error.code == "disk_full" and "path" in error.fields:
        return tr("The disk of {path} is full. Free some space there and try again.", path=error.fields["path"])
    if error.code == "store_unavailable" and error.fields.get("is_gone"):
        return tr(
            "{path} was moved, deleted or replaced. Nothing was written;"
            " put it back, or open the store where it is now.",
            path=error.fields["path"],
        )
    sentence = _SENTENCES.get(error.code)
    return tr(sentence, message=error.message) if sentence is not None else error.message


_MILD = frozenset(
    {"fact_changed", "undo_conflict", "read_only", "store_busy", "not_found", "invalid_input", "proposal_decided"}
)
_SENTENCES = {
    "fact_changed": "This fact was changed meanwhile. Nothing was written; look at its current text and try again.",
    "undo_conflict": "A later change stands on top of this step, so it was not undone. Undo the later change first.",
    "read_only": "This store is open for reading only, so nothing can be changed here.",
    "store_busy": "Another program is writing to this store. Nothing was changed; try again in a moment.",
    "store_too_new": "This store was written by a newer GrayMatter. Update GrayMatter, then open it again.",
    "store_damaged": "The store can't be read and was left as it is. {message}",
    "store_unavailable": "The store can't be opened. {message}",
    "disk_full": "The disk is full. Nothing was changed; free some space and try again.",
    "proposal_decided": "This card was decided already, here or in another program. Nothing was written.",
    "language_model_failed": "The language model could not help. {message}",
    "import_refused": "Nothing was imported. {message}",
    "embedding_failed": "Similarity search is off: the embedding model did not load. Words and dates still work.",
    "recall_refused": "The source refused: {message}.",
    "recall_timeout": "The source did not answer in time.",
    "recall_closed": "The source's program ended before it answered.",
    "recall_schema": "The source broke the protocol. {message}",
    "publish_refused": "Nothing was published. {message}",
    "child_ended": "The work ended early: its process was stopped, by a person or for want of memory. Try again.",
    "bug": "Something went wrong inside GrayMatter. No committed work is lost; the report has the details.",
}
