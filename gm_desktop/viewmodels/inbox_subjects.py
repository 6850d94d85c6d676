"""What the inboxes of the desktop are about: consolidation, edits in the vault, what programs want to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gm_desktop.i18n import tr, tr_count
from gm_desktop.plain_text import row_text
from gm_desktop.viewmodels.inbox_listing import InboxSubject

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gm_engine import Memory, Proposal


def consolidation() -> InboxSubject:
    """Everything that waits, by agent; exact duplicates are merged together."""
    return InboxSubject(
        sources=None,
        empty_title=tr("Nothing waits for you"),
        empty_hint=tr(
            "Duplicates, contradictions and faded facts appear here as cards after a cycle. Run one, or look at a dry "
            "run first: it changes nothing."
        ),
        all_groups=tr("All agents"),
        bulk_title=lambda count: tr_count("Merge {count} exact duplicate", "Merge all {count} exact duplicates", count),
        bulk_said=lambda count: tr_count("Merged {count} exact duplicate", "Merged {count} exact duplicates", count),
        in_bulk=lambda proposal: proposal.kind == "exact_duplicate",
        groups=_agents,
    )


def vault_edits() -> InboxSubject:
    """What was edited in the vault, by agent; all that is no conflict is accepted together."""
    return InboxSubject(
        sources=("vault",),
        empty_title=tr("No edits wait"),
        empty_hint=tr("Change a note in Obsidian, and the change waits here until you accept it."),
        all_groups=tr("All agents"),
        bulk_title=lambda count: tr_count("Accept {count} edit", "Accept all {count} edits", count),
        bulk_said=lambda count: tr_count(
            "Took {count} edit from the vault", "Took {count} edits from the vault", count
        ),
        in_bulk=lambda proposal: not proposal.details.get("conflict"),
    )


def review_writes() -> InboxSubject:
    """What programs under review want to write, by program; what was rightly asked is accepted together."""
    return InboxSubject(
        sources=("review",),
        empty_title=tr("No writes wait"),
        empty_hint=tr(
            "Give a program the right “Writes wait for review” under Activity → Clients, and what it writes waits here."
        ),
        all_groups=tr("All programs"),
        bulk_title=lambda count: tr_count("Accept {count} write", "Accept all {count} writes", count),
        bulk_said=lambda count: tr_count("Accepted {count} write", "Accepted {count} writes", count),
        in_bulk=lambda _proposal: True,
        group_of=_client,
        group_title=lambda client: row_text(client, 80),
        group_icon="user",
        groups=lambda memory: (each.client for each in memory.clients.waiting()),
    )


def _client(proposal: Proposal) -> str | None:
    name = proposal.details.get("client")
    return name if isinstance(name, str) else None


def _agents(memory: Memory) -> Iterable[str]:
    return (each.agent_id for each in memory.agents() if each.live)
