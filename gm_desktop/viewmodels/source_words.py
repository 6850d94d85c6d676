"""Sources, their answers and their health in words and lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gm_desktop.formatting import number
from gm_desktop.i18n import decimal, tr, tr_count
from gm_desktop.models.line_list import Line

if TYPE_CHECKING:
    from gm_engine.recall_protocol.joint_answer import JointAnswer, JointHit, SourceOutcome
    from gm_engine.recall_protocol.payloads import Health
    from gm_engine.recall_protocol.source_config import SourceConfig
    from gm_engine.recall_protocol.sources import SourceHealth
    from gm_engine.records import JsonValue

MEMORY = "memory"
_REASONS = {
    "timeout": "it did not answer in time",
    "closed": "it ended in the middle",
    "not_started": "its command cannot be started",
    "handshake": "its greeting failed",
    "restarts": "it was started too often lately",
    "cancelled": "the search was given up",
    "partial": "it saw only a part",
    "source_denied": "it refused",
    "source_unavailable": "what it reads cannot be reached",
    "as_of_unsupported": "it knows no past",
    "deadline_exceeded": "it did not answer in time",
    "record_type_mismatch": "it has no such records",
    "filter_unsupported": "it cannot apply the filter",
    "not_applicable": "it does not apply",
    "recall_schema": "its answer breaks the protocol",
}
_KINDS = {"fact": "Fact", "entity": "Entity", "checkpoint": "Checkpoint", "note": "Note"}
_MODES = {
    "exact": "Identifiers",
    "lexical": "Words",
    "semantic": "Meaning",
    "structured": "Fields",
    "temporal": "Dates",
}
_PASTS = {"none": "Not kept", "filter": "By date", "snapshot": "Any moment"}
_SENSITIVITIES = {
    "public": "Public",
    "internal": "Internal",
    "confidential": "Confidential",
    "restricted": "Restricted",
}
_STATES = {
    "healthy": ("Healthy", "success"),
    "degraded": ("Degraded", "warning"),
    "unavailable": ("Unavailable", "danger"),
    "denied": ("Denied", "danger"),
}
_GAPS = {
    "facts_without_vector": "Facts without a vector: {count}",
    "facts_not_compared_by_meaning": "Facts not compared by meaning: {count}",
    "checkpoints_unread": "Checkpoints that cannot be read: {count}",
    "mentions_behind_by_entries": "Journal entries not yet searched for entities: {count}",
}


@dataclass(frozen=True, slots=True)
class OutcomeChip:
    """What became of one source in the last search: a word on a pill, and the whole sentence."""

    source_id: str
    text: str
    tone: str
    sentence: str


def reason_words(reason: str) -> str:
    """A stable reason as part of a sentence."""
    if reason.startswith("same_store"):
        return tr("it reads the same store as {names}", names=reason.partition(": ")[2])
    return tr(_REASONS[reason]) if reason in _REASONS else reason.replace("_", " ")


def source_line(source_id: str, config: SourceConfig | None, found: SourceHealth | None) -> Line:
    """One line of the list of sources."""
    name = _name(source_id)
    if config is not None and not config.enabled:
        return Line(source_id, name, config.command, tr("Off"))
    if found is None:
        return Line(source_id, name, tr("Not asked yet"))
    display = "" if found.manifest is None else found.manifest.display_name
    if found.health is None or found.error:
        return Line(source_id, name, _sentence(reason_words(found.error)), tr("Failed"), "danger")
    word, tone = _STATES[found.health.status]
    coverage = _coverage(found.health)
    note = f"{display}  ·  {coverage}" if display and source_id != MEMORY else _sentence(coverage)
    return Line(source_id, name, note, tr(word), tone)


def _name(source_id: str) -> str:
    return tr("Memory") if source_id == MEMORY else source_id


def _word(known: Mapping[str, str], word: str) -> str:
    """A word of the protocol as people say it; one that another program brought along stays as it is."""
    return tr(known[word]) if word in known else word


def _coverage(health: Health) -> str:
    known = {"complete": tr("complete"), "partial": tr("seen in part"), "unknown": tr("coverage unknown")}
    return known[health.coverage]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def chips(answer: JointAnswer) -> tuple[OutcomeChip, ...]:
    """One chip per source, in order."""
    return tuple(_chip(outcome) for outcome in answer.outcomes)


def _chip(outcome: SourceOutcome) -> OutcomeChip:
    name = _name(outcome.source_id)
    why = reason_words(outcome.reason) if outcome.reason else ""
    hits = tr_count("{count} hit", "{count} hits", outcome.found)
    match outcome.state:
        case "answered":
            word, tone = hits, "live"
        case "degraded":
            word, tone = tr("{hits}, in part", hits=hits), "unverified"
        case "abstained":
            word, tone = tr("abstained"), "retired"
        case "failed":
            word, tone = tr("failed"), "danger"
    dropped = tr_count("{count} above its ceiling", "{count} above its ceiling", outcome.dropped)
    took = tr("{ms} ms", ms=number(round(outcome.took_s * 1000)))
    parts = [why, dropped if outcome.dropped else "", took]
    return OutcomeChip(
        outcome.source_id, f"{name}: {word}", tone, f"{name}: {'; '.join(part for part in (word, *parts) if part)}"
    )


def verdict(answer: JointAnswer) -> str:
    """The sentence above the hits."""
    failed = [_name(each.source_id) for each in answer.outcomes if each.state == "failed"]
    partly = [_name(each.source_id) for each in answer.outcomes if each.state == "degraded"]
    if answer.found_nothing:
        return tr("Nothing found: every source has looked.")
    parts = [_hits(answer)]
    if failed:
        parts.append(tr("no answer from {names}", names=", ".join(failed)))
    if partly:
        parts.append(tr("only a part of {names} was seen", names=", ".join(partly)))
    if not answer.hits and not failed and not partly:
        parts.append(tr("but not every source has looked"))
    return "; ".join(parts) + "."


def _hits(answer: JointAnswer) -> str:
    """How many are shown, and of how many where the list ends early; the same hit of two sources is one."""
    shown = len(answer.hits)
    found = sum(each.found for each in answer.outcomes) - sum(len(hit.also_in) for hit in answer.hits)
    if not shown:
        return tr("No hits")
    if found > shown:
        return tr("{count} of {total} hits", count=number(shown), total=number(found))
    return tr_count("{count} hit", "{count} hits", shown)


def hit_line(hit: JointHit) -> Line:
    """One hit of a joint answer."""
    candidate = hit.candidate
    where = _name(hit.source_id)
    excerpt = candidate.excerpt if candidate.excerpt != candidate.title else ""
    also = tr("also in {names}", names=", ".join(each.partition(":")[0] for each in hit.also_in)) if hit.also_in else ""
    note = "  ·  ".join(part for part in (_word(_KINDS, candidate.record_type), also, excerpt) if part)
    return Line(candidate.locator, candidate.title, note, where)


def details(config: SourceConfig | None, found: SourceHealth | None) -> tuple[tuple[str, str, str], ...]:
    """What is known about a source, as (name, value, hover) rows."""
    rows: list[tuple[str, str]] = []
    if found is not None:
        rows += [*_health(found), *_manifest(found), *_process(found)]
    if config is not None:
        rows.append((tr("Command"), " ".join((config.command, *config.args))))
        if config.location:
            rows.append((tr("Location"), config.location))
        rows.append((tr("Ceiling"), _word(_SENSITIVITIES, config.ceiling)))
        rows.append((tr("Prior"), decimal(f"{config.prior:g}")))
        rows.append((tr("Waits"), tr("{seconds} s for an answer", seconds=decimal(f"{config.deadline_s:g}"))))
    return tuple((name, value, "") for name, value in rows)


def _health(found: SourceHealth) -> list[tuple[str, str]]:
    rows = [(tr("Last error"), _sentence(reason_words(found.error)))] if found.error else []
    health = found.health
    if health is None:
        return rows
    rows += [
        (tr("State"), tr(_STATES[health.status][0])),
        (tr("Coverage"), _sentence(_coverage(health))),
        *_counts(found),
    ]
    gaps = [_gap(name, value) for name, value in (health.diagnostics or {}).items() if _tells(name)]
    return [*rows, *((tr("Note"), gap) for gap in gaps)]


def _manifest(found: SourceHealth) -> list[tuple[str, str]]:
    manifest = found.manifest
    if manifest is None:
        return []
    return [
        (tr("Adapter"), f"{manifest.display_name} ({manifest.adapter_id})"),
        (tr("Protocol"), tr("Version {number}", number=manifest.protocol_version)),
        (tr("Records"), ", ".join(_word(_KINDS, each) for each in manifest.record_types)),
        (tr("Searches"), ", ".join(_word(_MODES, each) for each in manifest.query_modes)),
        (tr("Past"), _word(_PASTS, manifest.as_of_support)),
        (tr("Sensitivity"), _word(_SENSITIVITIES, manifest.sensitivity)),
    ]


def _gap(name: str, value: JsonValue) -> str:
    """What a source reports about itself; a word that another program brought along stays as it is."""
    if name in _GAPS and isinstance(value, int):
        return tr(_GAPS[name], count=number(value))
    return f"{name.replace('_', ' ')}: {value}"


def _tells(name: str) -> bool:
    return name != "store_identity"


def _counts(found: SourceHealth) -> list[tuple[str, str]]:
    health = found.health
    if health is None or health.record_count is None:
        return []
    rows = [(tr("Holds"), number(health.record_count))]
    if health.indexed_count is not None and health.indexed_count != health.record_count:
        rows.append((tr("Indexed"), number(health.indexed_count)))
    if health.failed_count:
        rows.append((tr("Unreadable"), number(health.failed_count)))
    return rows


def _process(found: SourceHealth) -> list[tuple[str, str]]:
    status = found.status
    if status is None:
        return []
    rows = []
    if status.cold_start_ns is not None:
        rows.append((tr("Cold start"), tr("{ms} ms", ms=number(status.cold_start_ns // 1_000_000))))
    rows.append((tr("Started"), tr_count("{count} time", "{count} times", status.starts)))
    if status.last_error and not found.error:
        rows.append((tr("Last error"), status.last_error))
    if status.diagnostics.violations:
        rows.append((tr("Violations"), f"{number(status.diagnostics.violations)}: {status.diagnostics.last_violation}"))
    return rows
