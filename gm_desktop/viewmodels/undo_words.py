"""Why a step could not be undone, in words: what was done later, by whom, when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gm_desktop.formatting import local_time
from gm_desktop.i18n import tr, tr_count
from gm_desktop.notices import sentence_for
from gm_desktop.viewmodels.activity_words import entry_title
from gm_desktop.viewmodels.fact_words import origin_sentence
from gm_engine.errors import UndoConflict
from gm_engine.records import ActivityQuery

if TYPE_CHECKING:
    from gm_engine import Memory


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an action was not undone, and the later action that stands on top of it, where it is known."""

    sentence: str
    seq: int | None


def refusal(memory: Memory, conflict: UndoConflict, after_seq: int, *, is_redo: bool = False) -> Refusal:
    """Names the later action: the newest one after `after_seq` that changed the target and is still in effect."""
    ids = conflict.fields.get("ids")
    target = str(ids[0]) if isinstance(ids, list) and ids else ""
    later = [
        each
        for each in memory.activity.list(ActivityQuery(target=target), limit=50)
        if each.seq > after_seq and not each.is_undone and each.undoes is None
    ]
    if not later:
        return Refusal(sentence_for(conflict), None)
    top = later[0]
    told = {"what": entry_title(top), "who": origin_sentence(top.actor), "when": local_time(top.at_ns)}
    if is_redo:
        sentence = tr("Not redone: “{what}” by {who}, {when}, came after it. Undo that first.", **told)
    else:
        sentence = tr("Not undone: “{what}” by {who}, {when}, came after it. Undo that first.", **told)
    if len(later) > 1:
        sentence += " " + tr_count(
            "{count} more action is in between.", "{count} more actions are in between.", len(later) - 1
        )
    return Refusal(sentence, top.seq)
