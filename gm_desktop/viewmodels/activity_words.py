"""The journal in words: what an action did, to what, by whom."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from gm_desktop.formatting import age, local_time, utc_time
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.activity_list import ActivityLine
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.line_list import Line
from gm_desktop.plain_text import row_text
from gm_desktop.viewmodels.checkpoint_words import verdict_title
from gm_desktop.viewmodels.fact_words import origin_sentence
from gm_engine.records import ActivityEntry, ActivityTarget, JsonValue


@dataclass(frozen=True, slots=True)
class _Verb:
    """How a verb is told: for one change, for many, as a noun in a list of verbs, and its icon."""

    one: str
    many: str
    title: str
    icon: str


_VERBS = {
    "remember": _Verb("Remembered a fact", "Remembered {count} facts", "Remembered", "plus"),
    "revise": _Verb("Revised a fact", "Revised {count} facts", "Revised", "pencil"),
    "retire": _Verb("Retired a fact", "Retired {count} facts", "Retired", "archive"),
    "restore": _Verb("Restored a fact", "Restored {count} facts", "Restored", "archive-restore"),
    "pin": _Verb("Pinned a fact", "Pinned {count} facts", "Pinned", "pin"),
    "unpin": _Verb("Unpinned a fact", "Unpinned {count} facts", "Unpinned", "pin-off"),
    "label": _Verb("Labelled a fact", "Labelled {count} facts", "Labelled", "tag"),
    "move": _Verb("Moved a fact", "Moved {count} facts", "Moved", "arrow-right-left"),
    "copy": _Verb("Copied a fact", "Copied {count} facts", "Copied", "copy"),
    "alias": _Verb("Wrote an alias", "Wrote {count} aliases", "Wrote an alias", "link"),
    "import": _Verb("Imported a record", "Imported {count} records", "Imported", "download"),
    "checkpoint": _Verb("Saved a checkpoint", "Saved {count} checkpoints", "Saved a checkpoint", "bookmark"),
    "make_current": _Verb("Made a checkpoint current", "", "Made a checkpoint current", "history"),
    "edit_checkpoint": _Verb("Saved an edited checkpoint", "", "Edited a checkpoint", "braces"),
    "review_checkpoint": _Verb("Reviewed a checkpoint", "", "Reviewed a checkpoint", "shield-check"),
    "delete_checkpoint": _Verb("Deleted a checkpoint", "", "Deleted a checkpoint", "trash"),
    "settings": _Verb("Changed a setting", "Changed {count} settings", "Changed settings", "scale"),
    "block": _Verb("Blocked a value", "Blocked {count} values", "Blocked", "shield-check"),
    "unblock": _Verb("Allowed a value again", "Allowed {count} values again", "Unblocked", "shield-check"),
    "purge": _Verb("Purged a text", "Purged a text from {count} records", "Purged", "trash"),
    "consolidate": _Verb("Ran a consolidation cycle", "Ran a consolidation cycle", "Consolidated", "sparkles"),
    "prune": _Verb("Pruned a fact", "Pruned {count} facts", "Pruned", "archive"),
    "propose": _Verb("Proposed a change", "Proposed {count} changes", "Proposed", "sparkles"),
    "accept": _Verb("Accepted a proposal", "Accepted a proposal", "Accepted", "circle-check"),
    "reject": _Verb("Rejected a proposal", "Rejected {count} proposals", "Rejected", "x"),
    "never_again": _Verb(
        "Rejected a proposal for good", "Rejected {count} proposals for good", "Rejected for good", "x"
    ),
    "later": _Verb("Put a proposal off", "Put {count} proposals off", "Put off", "clock"),
    "reopen": _Verb("Reopened a proposal", "Reopened {count} proposals", "Reopened", "undo"),
    "access": _Verb("Changed what a program may do", "Changed what a program may do", "Changed rights", "users"),
    "extract": _Verb("Extracted an entity or link", "Extracted {count} entities and links", "Extracted", "sparkles"),
    "link": _Verb("Linked entities", "Linked entities: {count} changes", "Linked", "link"),
    "unlink": _Verb("Unlinked entities", "Unlinked entities: {count} changes", "Unlinked", "link"),
    "dictionary": _Verb("Changed the dictionary", "Changed the dictionary", "Dictionary", "book-open"),
    "entity-add": _Verb("Added an entity", "Added {count} entities", "Added an entity", "plus"),
    "entity-rename": _Verb("Renamed an entity", "Renamed an entity", "Renamed an entity", "pencil"),
    "entity-retype": _Verb("Retyped an entity", "Retyped {count} entities", "Retyped an entity", "tag"),
    "entity-merge": _Verb("Merged entities", "Merged entities: {count} changes", "Merged entities", "arrow-right-left"),
    "entity-split": _Verb("Split an entity", "Split an entity: {count} changes", "Split an entity", "arrow-right-left"),
    "entity-delete": _Verb("Deleted an entity", "Deleted an entity: {count} changes", "Deleted an entity", "trash"),
    "repair": _Verb("Repaired the store", "Repaired the store: {count} changes", "Repaired", "shield-check"),
    "undo": _Verb("Undid an action", "Undid an action", "Undone", "undo"),
}
_KINDS = {
    "fact": "Fact",
    "checkpoint": "Checkpoint",
    "entity": "Entity",
    "edge": "Link",
    "setting": "Setting",
    "blocked": "Blocked value",
    "proposal": "Proposal",
    "policy": "Right",
}
_COLUMNS = {
    "confidence": "Label",
    "agent_id": "Agent",
    "pinned": "Pinned",
    "superseded_by": "Replaced by",
    "label": "Name",
    "type": "Type",
    "verdict": "Verdict",
    "note": "Note",
    "state": "State",
    "access": "Right",
    "value": "Value",
}


def verb_title(verb: str) -> str:
    """A verb as an entry of a menu."""
    return (
        tr(_VERBS[verb].title)
        if verb in _VERBS
        else row_text(verb.replace("_", " ").replace("-", " "), 40).capitalize()
    )


def verb_icon(verb: str) -> str:
    """The icon of a verb."""
    return _VERBS[verb].icon if verb in _VERBS else "history"


def entry_title(entry: ActivityEntry) -> str:
    """What an action did: `Retired 3 facts`, `Undid: Retired 3 facts`."""
    if entry.undoes is None:
        return _title(entry.verb, entry)
    what = _title(entry.undone_verb, entry) if entry.undone_verb else tr("an action")
    return tr("Redid: {what}", what=what) if entry.is_redo else tr("Undid: {what}", what=what)


def _title(verb: str, entry: ActivityEntry) -> str:
    after: Mapping[str, JsonValue] = entry.targets[0].after if entry.targets else {}
    count = entry.changes
    if verb == "revise":
        count = max(1, count - 1)  # the new fact is no replaced one
    if verb == "label" and after.get("confidence"):
        label = row_text(str(after["confidence"]), 40)
        return tr_count("Labelled a fact {label}", "Labelled {count} facts {label}", count, label=label)
    if verb == "move" and "agent_id" in after:
        to = agent_title(str(after["agent_id"]))
        return tr_count("Moved a fact to {agent}", "Moved {count} facts to {agent}", count, agent=to)
    if verb == "review_checkpoint" and "verdict" in after:
        verdict = verdict_title(str(after["verdict"]))
        return tr("Reviewed a checkpoint: {verdict}", verdict=verdict) if verdict else tr("Took a verdict back")
    told = _VERBS.get(verb)
    if told is None:
        return tr_count("{verb}", "{verb}: {count} changes", count, verb=verb_title(verb))
    return tr_count(told.one, told.many or told.one, count)


def activity_line(entry: ActivityEntry, now_ns: int) -> ActivityLine:
    """One row of the list."""
    return ActivityLine(
        seq=entry.seq,
        icon="redo" if entry.is_redo else verb_icon(entry.verb),
        what=entry_title(entry),
        sample=_sample(entry),
        who=origin_sentence(entry.actor),
        when=local_time(entry.at_ns),
        when_utc=utc_time(entry.at_ns),
        age=age(entry.at_ns, now_ns),
        is_undone=entry.is_undone,
    )


def _sample(entry: ActivityEntry) -> str:
    """Whose facts, and the first text."""
    agents = list(dict.fromkeys(each.agent_id for each in entry.targets if each.agent_id is not None))
    where = ", ".join(agent_title(each) for each in agents[:2]) or (
        agent_title(entry.agent_id) if entry.agent_id else ""
    )
    text = next((row_text(each.text, 200) for each in entry.targets if each.text), "")
    if not text and entry.targets:
        text = target_text(entry.targets[0])
    return "  ·  ".join(part for part in (where, text) if part)


def target_text(target: ActivityTarget) -> str:
    """What a changed thing is called."""
    if target.text:
        return row_text(target.text, 240)
    match target.kind:
        case "edge":
            name = row_text(" → ".join(part for part in _names(target.target)[:2] if part), 160)
        case "policy":
            client, agent = _names(target.target)[:2]
            name = f"{row_text(client, 80)}  ·  {agent_title(agent) if agent else tr('everywhere')}"
        case "fact":
            name = tr("A text that is gone for good")
        case "checkpoint":
            name = tr("Checkpoint {id}", id=target.target[-8:])
        case "proposal":
            name = tr("Proposal {id}", id=target.target[-8:])
        case "setting":
            name = _setting(target.target)
        case _:
            name = row_text(target.target, 80)
    return name


def _setting(key: str) -> str:
    kind, _, name = key.partition(":")
    match kind if name else "":
        case "query_set":
            return tr("Judged questions: {name}", name=row_text(name, 80))
        case "profile":
            return tr("Ranking profile: {name}", name=row_text(name, 80))
        case _:
            return row_text(key.replace("_", " "), 60)


def _names(target: str) -> list[str]:
    """The parts of a link's or a right's key; the key itself where it has none."""
    try:
        parts = json.loads(target)
    except ValueError:
        parts = None
    return [str(part) for part in parts] if isinstance(parts, list) and len(parts) > 1 else [target, ""]


def target_line(target: ActivityTarget) -> Line:
    """One changed thing: its name, what changed, whether it came or went."""
    parts = [tr(_KINDS.get(target.kind, target.kind))]
    if target.agent_id is not None:
        parts.append(agent_title(target.agent_id))
    parts.extend(_differences(target))
    mark, tone = "", "text_muted"
    if target.is_new:
        mark, tone = tr("New"), "success"
    elif target.is_gone:
        mark, tone = tr("Gone"), "danger"
    return Line(f"{target.kind}:{target.target}", target_text(target), "  ·  ".join(parts), mark, tone)


def _differences(target: ActivityTarget) -> list[str]:
    if target.is_new or target.is_gone:
        return []
    names = [name for name in _COLUMNS if name in target.after and target.before.get(name) != target.after[name]]
    return [
        tr(
            "{name}: {before} → {after}",
            name=tr(_COLUMNS[name]),
            before=_word(target.before.get(name)),
            after=_word(target.after[name]),
        )
        for name in names[:3]
    ]


def _word(value: JsonValue) -> str:
    if value is None or value == "":
        return tr("none")
    if isinstance(value, bool) or value in (0, 1):
        return tr("yes") if value else tr("no")
    if value == "agent":
        return tr("nothing")
    return row_text(str(value), 40)
