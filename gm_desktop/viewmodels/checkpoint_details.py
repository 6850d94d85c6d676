"""One checkpoint as the page shows it: readable, damaged, or out of reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gm_desktop.formatting import local_time, number, size, utc_time
from gm_desktop.i18n import tr
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.state_tree import Document, document
from gm_desktop.plain_text import row_text
from gm_desktop.viewmodels.checkpoint_words import verdict_title
from gm_engine.errors import CheckpointDamaged
from gm_engine.records import Checkpoint, CheckpointSummary

if TYPE_CHECKING:
    from gm_engine import Memory

_ORIGINS = ("restored_from", "edited_from")


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a conversation."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Review:
    """What a person thought of a checkpoint; `when` is empty until then."""

    verdict: str = ""
    title: str = ""
    note: str = ""
    when: str = ""
    when_utc: str = ""


@dataclass(frozen=True, slots=True)
class CheckpointDetails:
    """One checkpoint that could be read. `metadata` is (name, value, hover); `origin` says what it was made from."""

    id: str
    agent: str
    when: str
    when_utc: str
    size: str
    origin: str
    state_keys: int
    messages: tuple[Said, ...]
    metadata: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class DamagedCheckpoint:
    """One that exists and cannot be read: why."""

    id: str
    agent: str
    when: str
    when_utc: str
    reason: str


@dataclass(frozen=True, slots=True)
class NoCheckpoint:
    """None is selected."""


@dataclass(frozen=True, slots=True)
class CheckpointUnread:
    """It could not be loaded (it is absent, or the store is out of reach): a sentence."""

    message: str


CheckpointState = NoCheckpoint | CheckpointUnread | DamagedCheckpoint | CheckpointDetails


@dataclass(frozen=True, slots=True)
class OpenCheckpoint:
    """What the read lane found: the words, the state made ready for the tree, whose it is and when it was saved."""

    details: CheckpointState
    state: Document
    agent_id: str
    created_ns: int


def review_of(summary: CheckpointSummary) -> Review:
    """The verdict in words."""
    if summary.reviewed_ns is None:
        return Review()
    return Review(
        verdict=summary.verdict,
        title=verdict_title(summary.verdict),
        note=summary.note,
        when=local_time(summary.reviewed_ns),
        when_utc=utc_time(summary.reviewed_ns),
    )


def open_checkpoint(memory: Memory, checkpoint_id: str) -> OpenCheckpoint:
    """Reads a checkpoint; a damaged one is an answer, too. Raises `NotFound` and what the store raises."""
    summary = memory.checkpoints.summary(checkpoint_id)
    try:
        found = memory.checkpoints.load(checkpoint_id)
    except CheckpointDamaged as error:
        reason = str(error.fields.get("reason") or error.message)
        damaged = DamagedCheckpoint(
            id=summary.id,
            agent=agent_title(summary.agent_id),
            when=local_time(summary.created_ns),
            when_utc=utc_time(summary.created_ns),
            reason=row_text(reason, 400),
        )
        return OpenCheckpoint(damaged, document({}), summary.agent_id, summary.created_ns)
    details = _details(memory, found, summary)
    return OpenCheckpoint(details, document(dict(found.state)), found.agent_id, found.created_ns)


def _details(memory: Memory, found: Checkpoint, summary: CheckpointSummary) -> CheckpointDetails:
    when, agent = local_time(found.created_ns), agent_title(found.agent_id)
    metadata = [
        (tr("Agent"), agent, ""),
        (tr("Saved"), when, utc_time(found.created_ns)),
        (tr("Messages"), number(len(found.messages)), ""),
        (tr("Size"), size(summary.size_bytes), tr("{count} bytes", count=number(summary.size_bytes))),
        (tr("Id"), found.id, ""),
        *((row_text(key, 60), row_text(value, 400), "") for key, value in sorted(found.metadata.items())),
    ]
    return CheckpointDetails(
        id=found.id,
        agent=agent,
        when=when,
        when_utc=utc_time(found.created_ns),
        size=size(summary.size_bytes),
        origin=_origin(memory, found),
        state_keys=len(found.state),
        messages=tuple(Said(each.role, each.content) for each in found.messages),
        metadata=tuple(metadata),
    )


def _origin(memory: Memory, found: Checkpoint) -> str:
    """What this checkpoint was made from, by its metadata."""
    named = next((name for name in _ORIGINS if found.metadata.get(name)), None)
    if named is None:
        return ""
    source_id = found.metadata[named]
    times = [each.created_ns for each in memory.checkpoints.list(found.agent_id) if each.id == source_id]
    when = local_time(times[0]) if times else row_text(source_id, 40)
    if named == "restored_from":
        return tr("Restored from {when}", when=when)
    return tr("Edited from {when}", when=when)
