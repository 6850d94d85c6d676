"""Edits of a vault as proposals, and putting them into the inbox when a caller says so."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from exporters.obsidian.edits import VaultEdit, VaultEdits
from exporters.profiles import PublishProfile
from gm_engine import BulkDecision, Memory, NewProposal, ProposalKind, ProposalSource
from gm_engine.records import JsonValue

SOURCE: ProposalSource = "vault"


def scope_of(edits: VaultEdits) -> str:
    """What names the published folder in the inbox."""
    return f"{spelt(edits.vault)}::{edits.folder}"


def spelt(vault: str) -> str:
    """The path of a vault as it is compared: one spelling, wherever it is named from."""
    return os.path.normpath(Path(vault).absolute())


def to_proposals(edits: VaultEdits) -> tuple[NewProposal, ...]:
    """One proposal an edit, in the order of the notes."""
    return tuple(_proposal(edit) for edit in _in_order(edits.edits))


def _in_order(edits: Iterable[VaultEdit]) -> list[VaultEdit]:
    return sorted(edits, key=lambda edit: (edit.note, edit.kind, edit.key))


def _proposal(edit: VaultEdit) -> NewProposal:
    details: dict[str, JsonValue] = {"note": edit.note, "conflict": edit.is_conflict}
    if edit.pinned is not None:
        details["pinned"] = edit.pinned
    if edit.confidence is not None:
        details["confidence"] = edit.confidence
    if edit.link is not None:
        details |= dict(zip(("from", "relation", "to"), edit.link, strict=True))
    return NewProposal(
        kind=kind_of(edit),
        source=SOURCE,
        agent_id=edit.agent_id,
        facts=(edit.fact_id,) if edit.fact_id else (),
        same_key=edit.key,
        text=edit.text or "",
        reason=reason_of(edit),
        base={edit.fact_id: edit.version} if edit.fact_id else {},
        details=details,
    )


def kind_of(edit: VaultEdit) -> ProposalKind:
    """What accepting the edit does."""
    match edit.kind:
        case "text":
            return "revise"
        case "deleted":
            return "retire"
        case "new":
            return "write"
        case "link":
            return "link"
        case _:
            return "pin" if edit.confidence is None else "label"


def reason_of(edit: VaultEdit) -> str:
    """Why it is proposed, in words."""
    said = {
        "text": "its text was edited in the vault",
        "deleted": "its note was deleted in the vault",
        "new": "a note was written in the vault",
        "link": "a link to an entity was added in the vault",
        "properties": _property_words(edit),
    }[edit.kind]
    clash = "; the store changed as well: accept keeps the vault's, reject keeps the store's"
    return f"{said}{clash if edit.is_conflict else ''}: {edit.note}"


def _property_words(edit: VaultEdit) -> str:
    words = []
    if edit.pinned is not None:
        words.append("pinned" if edit.pinned else "unpinned")
    if edit.confidence is not None:
        words.append(f"labelled {edit.confidence}")
    return f"it was {' and '.join(words)} in the vault"


def take_in(memory: Memory, edits: VaultEdits, aim: PublishProfile) -> BulkDecision | None:
    """Brings the inbox up to date with a vault and accepts at once what the profile says; None when that is nothing."""
    refreshed = memory.inbox.refresh(SOURCE, scope_of(edits), to_proposals(edits))
    sure = [card.id for card in refreshed.added if aim.accepts(card)]
    return memory.inbox.accept_many(sure) if sure else None
