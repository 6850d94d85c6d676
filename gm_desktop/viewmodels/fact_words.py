"""Facts, origins and journal entries in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC

from gm_desktop.formatting import local_date
from gm_desktop.i18n import decimal, tr
from gm_desktop.models.fact_row import agent_title
from gm_desktop.plain_text import row_text
from gm_desktop.viewmodels.fact_filter import FactFilter
from gm_engine.records import Fact, JournalEntry, JsonValue, Origin

_CHANNELS = {
    "desktop": "Desktop",
    "cli": "Command line",
    "mcp": "MCP",
    "vault": "Vault",
    "import": "Import",
    "consolidation": "Consolidation",
    "library": "Library",
}
_CONFIDENCE = {"verified": "Verified", "inferred": "Inferred", "unverified": "Unverified"}
_STATUS = {"live": "Live", "retired": "Retired", "replaced": "Replaced"}
_VERBS = {
    "remember": "Remembered",
    "remember_shared": "Remembered for all",
    "import": "Imported",
    "retire": "Retired",
    "restore": "Restored",
    "pin": "Pinned",
    "unpin": "Unpinned",
    "alias": "Written as an alias",
    "accept": "Accepted a proposal",
    "consolidate": "Consolidated",
    "prune": "Pruned",
    "repair": "Repaired",
}


def channel_title(channel: str) -> str:
    """The name of a channel."""
    return tr(_CHANNELS.get(channel, channel))


def confidence_title(effective: str) -> str:
    """The name of an effective confidence label."""
    return tr(_CONFIDENCE.get(effective, effective))


def status_title(status: str) -> str:
    """The name of a status as `fact_status` gives it."""
    return tr(_STATUS.get(status, status))


def confidence_sentence(fact: Fact) -> str:
    """The label and, where it says something else, what it counts as."""
    effective = confidence_title(fact.effective_confidence.value)
    if fact.confidence == "":
        return tr("No label, counts as {label}", label=effective.lower())
    if fact.confidence != fact.effective_confidence.value:
        return tr("{raw}, counts as {label}", raw=row_text(fact.confidence, 40), label=effective.lower())
    return effective


def origin_sentence(origin: Origin) -> str:
    """Who wrote, through what: `MCP, claude-code 2.1`."""
    client = " ".join(part for part in (origin.client, origin.client_version) if part)
    channel = channel_title(origin.channel)
    return f"{channel}, {row_text(client, 80)}" if client else channel


def entry_sentence(entry: JournalEntry, fact_id: str) -> str:
    """What one journal entry did to one fact, in the past tense."""
    change = next((each for each in entry.changes if each.target == fact_id), None)
    after: Mapping[str, JsonValue] = (change.after if change else None) or {}
    before: Mapping[str, JsonValue] = (change.before if change else None) or {}
    prefix = tr("Undo: ") if entry.undoes and entry.verb != "undo" else ""
    return prefix + _change_sentence(entry, before, after, is_new=bool(change and not change.version_before))


def _change_sentence(
    entry: JournalEntry, before: Mapping[str, JsonValue], after: Mapping[str, JsonValue], *, is_new: bool
) -> str:
    if entry.verb == "revise":
        return tr("Written as a revision") if is_new else tr("Replaced by a revision")
    if entry.verb == "label" and not is_new:
        return _label_sentence(before, after)
    if entry.verb == "move" and "agent_id" in after and "agent_id" in before:
        return tr(
            "Moved from {before} to {after}",
            before=agent_title(str(before["agent_id"])),
            after=agent_title(str(after["agent_id"])),
        )
    if entry.verb == "copy":
        return tr("Copied from another agent") if is_new else tr("Copied")
    if entry.verb in ("undo", "redo"):
        return _undo_sentence(entry.verb, before, after, is_new=is_new)
    return tr(_VERBS[entry.verb]) if entry.verb in _VERBS else row_text(entry.verb, 60)


def _label_sentence(before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]) -> str:
    old, new = str(before.get("confidence", "")), str(after.get("confidence", ""))
    if old:
        return tr("Label changed from {before} to {after}", before=row_text(old, 40), after=row_text(new, 40))
    return tr("Labelled {label}", label=row_text(new, 40))


def _undo_sentence(verb: str, before: Mapping[str, JsonValue], after: Mapping[str, JsonValue], *, is_new: bool) -> str:
    said = tr("Undone") if verb == "undo" else tr("Redone")
    if is_new:
        return tr("{said}: written again", said=said)
    if "superseded_by" in after:
        live = not after["superseded_by"]
        return tr("{said}: live again", said=said) if live else tr("{said}: retired", said=said)
    if "pinned" in after:
        return tr("{said}: pinned", said=said) if after["pinned"] else tr("{said}: unpinned", said=said)
    if "confidence" in after:
        label = row_text(str(after["confidence"]), 40) or tr("none")
        return tr("{said}: label {label}", said=said, label=label)
    if "agent_id" in after:
        return tr("{said}: back to {agent}", said=said, agent=agent_title(str(after["agent_id"])))
    return said if before or after else tr("{said}: removed", said=said)


def extras_title(wanted: FactFilter) -> str:
    """What a filter from the Overview page says beyond the chips; empty where nothing."""
    parts = []
    if wanted.written is not None:
        first, last = (local_date(at_ns, zone=UTC) for at_ns in (wanted.written[0], wanted.written[1] - 1))
        parts.append(
            tr("Written on {day}", day=first)
            if first == last
            else tr("Written {first} to {last}", first=first, last=last)
        )
    if wanted.weight is not None:
        low, high = wanted.weight
        parts.append(
            tr(
                "Weight {low} to {high}",
                low=decimal(f"{low:.1f}"),
                high=decimal(f"{1.0 if high is None else high:.1f}"),
            )
        )
    if wanted.unused:
        parts.append(tr("Never recalled"))
    if wanted.without_vector:
        parts.append(tr("Not embedded yet"))
    if wanted.kind == "alias":
        parts.append(tr("Aliases only"))
    elif wanted.kind == "content" and not parts:
        parts.append(tr("Without aliases"))
    return ", ".join(parts)
