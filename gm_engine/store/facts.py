"""Facts in the ledger: writing with terms, sources and journal in one transaction; reading bodies; listing ids.

`insert_facts` and `patch_facts` are the only ways a fact row comes to be or changes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, cast

from sqlalchemy import Connection

from gm_engine.clock import NS_PER_S
from gm_engine.errors import FactChanged, InvalidInput, NotFound
from gm_engine.records import CONFIDENCE_LABELS, Channel, Fact, JsonValue, Origin, SourceRef
from gm_engine.store.blocked import refuse_blocked
from gm_engine.store.rows import fetch
from gm_engine.store.transaction import Transaction, actor_id, canonical_json
from gm_engine.terms import TERMS_RULES, term_counts, text_key, text_terms

BOOKKEEPING = ("accessed_ns", "access_count", "weight")
_COLUMNS = (
    "id, agent_id, text, created_ns, accessed_ns, access_count, weight, superseded_by, confidence, kind, alias_source,"
    " pinned, pinned_ns, origin, version"
)
_INSERT = f"INSERT INTO facts(no, text_key, actor_id, {_COLUMNS}) VALUES ({', '.join('?' * 18)})"
_LATEST_NS = (1 << 63) - 1
REVIVING = ("superseded_by", "agent_id")


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact that is not in the ledger yet: every field of `Fact` but its version."""

    id: str
    agent_id: str
    text: str
    created_ns: int
    origin: Origin
    accessed_ns: int | None = None
    access_count: int = 0
    weight: float = 1.0
    superseded_by: str = ""
    confidence: str = ""
    kind: str = ""
    alias_source: str = ""
    pinned: bool = False
    pinned_ns: int | None = None


def check_text(text: str) -> str:
    """The text itself; `InvalidInput` when it is blank or holds a lone surrogate (no UTF-8 can carry one)."""
    if not text or text.isspace():
        raise InvalidInput("The text is empty.", field="text")
    _check_unicode("text", text)
    return text


def check_agent_id(agent_id: str) -> str:
    """The identity itself, untouched; `InvalidInput` when it is blank or no Unicode text."""
    if not agent_id or agent_id.isspace():
        raise InvalidInput("The agent's name is empty.", field="agent_id")
    _check_unicode("agent_id", agent_id)
    return agent_id


def check_label(confidence: str) -> str:
    """The explicit label itself; anything but the three known ones is `InvalidInput`."""
    if confidence not in CONFIDENCE_LABELS:
        raise InvalidInput(
            f"confidence must be one of {', '.join(CONFIDENCE_LABELS)}, not {confidence!r}", field="confidence"
        )
    return confidence


def _check_unicode(name: str, value: str) -> None:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(f"The {name} holds a lone surrogate at character {error.start}.", field=name) from error


def insert_facts(tx: Transaction, new: Sequence[NewFact], *, language: str) -> tuple[Fact, ...]:
    """Writes facts with term index, sources and journal. Ids must be new in the whole store.

    Raises `InvalidInput` for a bad text, agent or time, `BlockedValue` for a blocked text, before anything is written.
    """
    for fact in new:
        check_text(fact.text)
        check_agent_id(fact.agent_id)
        if abs(fact.created_ns) > _LATEST_NS - NS_PER_S:
            raise InvalidInput(f"The time of fact {fact.id} is outside what the ledger can hold.", field="created_ns")
    refuse_blocked(tx.connection, [(fact.agent_id, fact.text) for fact in new])
    written = tuple(Fact(**_values(fact), version=tx.seq) for fact in new)
    _insert_rows(tx, written, language=language)
    for row in written:
        tx.record("fact", row.id, agent_id=row.agent_id, version_before=0, before=None, after=fact_image(row))
    return written


def _values(new: NewFact) -> dict[str, Any]:
    return {field.name: getattr(new, field.name) for field in fields(NewFact)}


def _insert_rows(tx: Transaction, facts: Sequence[Fact], *, language: str) -> None:
    connection = tx.connection
    first = int(connection.exec_driver_sql("SELECT coalesce(max(no), 0) + 1 FROM facts").scalar_one())
    actors: dict[tuple[str, ...], int] = {}
    rows: list[tuple[object, ...]] = []
    refs: list[tuple[str, str, str]] = []
    for no, fact in enumerate(facts, first):
        who = fact.origin
        writer = (who.channel, who.client, who.client_version, who.session)
        if writer not in actors:
            actors[writer] = actor_id(connection, who)
        rows.append((no, text_key(fact.text), actors[writer], *_row(fact)))
        refs.extend((fact.id, source.kind, source.ref) for source in fact.origin.sources)
    connection.exec_driver_sql(_INSERT, rows)
    if refs:
        connection.exec_driver_sql("INSERT OR IGNORE INTO fact_refs(fact_id, kind, ref) VALUES (?, ?, ?)", refs)
    index_terms(connection, [(no, fact.text) for no, fact in enumerate(facts, first)], language=language)


def _row(fact: Fact) -> tuple[object, ...]:
    return (
        fact.id,
        fact.agent_id,
        fact.text,
        fact.created_ns,
        fact.accessed_ns,
        fact.access_count,
        fact.weight,
        fact.superseded_by,
        fact.confidence,
        fact.kind,
        fact.alias_source,
        int(fact.pinned),
        fact.pinned_ns,
        _origin_text(fact.origin),
        fact.version,
    )


@lru_cache(maxsize=256)
def _origin_text(origin: Origin) -> str:
    return canonical_json(origin_image(origin))


def index_terms(connection: Connection, texts: Sequence[tuple[int, str]], *, language: str) -> None:
    """Writes the keyword index of facts, given by row number and text; one of a fact that is gone gives way."""
    found = [(no, text, term_counts(text, language)) for no, text in texts]
    ids = _term_ids(connection, found, language)
    rows = []
    for no, _, counts in found:
        pairs = sorted([ids[term] << 16 | min(count, 65535) for term, count in counts.items()])
        number = len(pairs)
        data = struct.pack(f"<{number}I{number}H", *[pair >> 16 for pair in pairs], *[pair & 65535 for pair in pairs])
        rows.append((no, sum(counts.values()), TERMS_RULES, data))
    connection.exec_driver_sql(
        "INSERT OR REPLACE INTO fact_terms(fact_no, length, rules, data) VALUES (?, ?, ?, ?)", rows
    )


def _term_ids(
    connection: Connection, found: Sequence[tuple[int, str, Mapping[str, int]]], language: str
) -> dict[str, int]:
    """The ids of all terms; unknown ones are written as the last text that has them writes them first."""
    known = "SELECT term, id FROM terms WHERE term IN (SELECT value FROM json_each(?))"
    wanted: dict[str, int] = {}
    for _, _, counts in found:
        wanted.update(counts)
    rows = connection.exec_driver_sql(known, (json.dumps(list(wanted)),))
    ids: dict[str, int] = {row[0]: row[1] for row in rows}
    missing = wanted.keys() - ids.keys()
    if missing:
        new = [text for _, text, counts in found if not missing.isdisjoint(counts)]
        surfaces = {term.term: term.surface for text in new for term in text_terms(text, language)}
        fresh = [(term, surfaces[term]) for term in wanted if term in missing]
        connection.exec_driver_sql("INSERT INTO terms(term, surface) VALUES (?, ?)", fresh)
        named = (json.dumps([term for term, _ in fresh]),)
        ids.update((row[0], row[1]) for row in connection.exec_driver_sql(known, named))
    return ids


def patch_facts(
    tx: Transaction, facts: Iterable[Fact], patch: Mapping[str, JsonValue], *, version_after: int | None = None
) -> tuple[Fact, ...]:
    """Sets the columns of `patch` (journalled fields of `Fact`, as stored) and journals what really changed.

    Facts that already are as asked stay untouched and are not returned. Raises `BlockedValue` when a fact would become
    live, or live for another agent, with a blocked text.
    """
    changed: list[Fact] = []
    writes: dict[tuple[str, ...], list[tuple[JsonValue, ...]]] = {}
    for fact in facts:
        after = {name: value for name, value in patch.items() if _stored(fact, name) != value}
        if not after:
            continue
        version = tx.seq if version_after is None else version_after
        tx.record(
            "fact",
            fact.id,
            agent_id=str(after.get("agent_id", fact.agent_id)),
            version_before=fact.version,
            version_after=version,
            before={name: _stored(fact, name) for name in after},
            after=after,
        )
        writes.setdefault(tuple(after), []).append((*after.values(), version, fact.id))
        changed.append(fact)
    for names, rows in writes.items():
        write_columns(tx.connection, (*names, "version"), rows)
    loaded = load_facts(tx.connection, [fact.id for fact in changed])
    if not patch.keys().isdisjoint(REVIVING):
        refuse_revived(tx.connection, loaded.values())
    return tuple(loaded[fact.id] for fact in changed)


def refuse_revived(connection: Connection, facts: Iterable[Fact]) -> None:
    """Raises `BlockedValue` when one of these facts is live with a blocked text."""
    refuse_blocked(connection, [(fact.agent_id, fact.text) for fact in facts if not fact.is_superseded])


def _stored(fact: Fact, column: str) -> JsonValue:
    if column == "origin":
        return cast("JsonValue", origin_image(fact.origin))
    value = getattr(fact, column)
    return int(value) if column == "pinned" else cast("JsonValue", value)


def write_columns(connection: Connection, names: Sequence[str], rows: Sequence[tuple[JsonValue, ...]]) -> None:
    """Overwrites the named columns of facts; each row holds their values and a fact's id. Not journalled here."""
    assignments = ", ".join(f"{name} = ?" for name in names)
    if "origin" in names:
        at = list(names).index("origin")
        _write_refs(connection, [(str(row[-1]), row[at]) for row in rows])
        rows = [(*row[:at], canonical_json(row[at]), *row[at + 1 :]) for row in rows]
    connection.exec_driver_sql(f"UPDATE facts SET {assignments} WHERE id = ?", list(rows))


def _write_refs(connection: Connection, origins: Sequence[tuple[str, JsonValue]]) -> None:
    """The sources of facts, as their origins (images) name them."""
    connection.exec_driver_sql("DELETE FROM fact_refs WHERE fact_id = ?", [(fact_id,) for fact_id, _ in origins])
    refs = [
        (fact_id, source.kind, source.ref)
        for fact_id, image in origins
        for source in origin_from_image(cast("Mapping[str, JsonValue]", image)).sources
    ]
    if refs:
        connection.exec_driver_sql("INSERT OR IGNORE INTO fact_refs(fact_id, kind, ref) VALUES (?, ?, ?)", refs)


def add_sources(tx: Transaction, fact: Fact, sources: Iterable[SourceRef]) -> None:
    """Adds where a merged text came from to the fact that stays, journalled; nothing when it names them already."""
    united = tuple(dict.fromkeys((*fact.origin.sources, *sources)))
    patch_facts(tx, [fact], {"origin": origin_image(replace(fact.origin, sources=united))})


def remove_facts(connection: Connection, ids: Sequence[str]) -> None:
    """Takes rows with their terms and sources out of the ledger; journalling is the caller's business."""
    these = (json.dumps(list(ids)),)
    where = "IN (SELECT value FROM json_each(?))"
    connection.exec_driver_sql(
        f"DELETE FROM fact_terms WHERE fact_no IN (SELECT no FROM facts WHERE id {where})", these
    )
    for table in ("fact_refs", "mentions", "extractions"):
        connection.exec_driver_sql(f"DELETE FROM {table} WHERE fact_id {where}", these)
    connection.exec_driver_sql(f"DELETE FROM facts WHERE id {where}", these)


def recreate_facts(
    tx: Transaction, images: Mapping[str, tuple[Mapping[str, JsonValue], int]], *, language: str
) -> tuple[Fact, ...]:
    """Puts removed rows back from their journal images and versions; journalling is the caller's business."""
    facts = []
    for fact_id, (image, version) in images.items():
        values: dict[str, Any] = {**image, "id": fact_id, "version": version}
        values["origin"] = origin_from_image(cast("Mapping[str, JsonValue]", image["origin"]))
        values["pinned"] = bool(image["pinned"])
        facts.append(Fact(**values))
    facts.sort(key=lambda fact: (fact.created_ns, fact.id))
    _insert_rows(tx, facts, language=language)
    return tuple(facts)


def fact_image(fact: Fact) -> dict[str, JsonValue]:
    """Every column of a fact but id and version, as the journal keeps a created or removed row."""
    image = {field.name: getattr(fact, field.name) for field in fields(Fact)}
    del image["id"], image["version"]
    return {**image, "pinned": int(fact.pinned), "origin": origin_image(fact.origin)}


def origin_image(origin: Origin) -> dict[str, JsonValue]:
    """An origin as JSON, empty fields left out."""
    image: dict[str, JsonValue] = {"channel": origin.channel}
    for name in ("client", "client_version", "session"):
        if value := getattr(origin, name):
            image[name] = value
    if origin.sources:
        image["sources"] = [[source.kind, source.ref] for source in origin.sources]
    return image


def origin_from_image(image: Mapping[str, JsonValue]) -> Origin:
    """The origin that `origin_image` wrote."""
    sources = cast("list[list[str]]", image.get("sources", []))
    return Origin(
        channel=cast("Channel", image["channel"]),
        client=str(image.get("client", "")),
        client_version=str(image.get("client_version", "")),
        session=str(image.get("session", "")),
        sources=tuple(SourceRef(kind, ref) for kind, ref in sources),
    )


def load_facts(connection: Connection, ids: Sequence[str]) -> dict[str, Fact]:
    """Bodies by id; ids that do not exist are missing from the answer."""
    return {fact.id: fact for fact in _load(connection, "id", ids)}


def load_facts_by_no(connection: Connection, nos: Sequence[int]) -> dict[int, Fact]:
    """Bodies by row number; numbers that do not exist are missing from the answer."""
    sql = f"SELECT no, {_COLUMNS} FROM facts WHERE no IN (SELECT value FROM json_each(?))"
    rows = fetch(connection, sql, (json.dumps(list(nos)),))
    return {row[0]: _fact(row[1:]) for row in rows}


def _load(connection: Connection, column: str, values: Sequence[str]) -> Iterable[Fact]:
    rows = connection.exec_driver_sql(
        f"SELECT {_COLUMNS} FROM facts WHERE {column} IN (SELECT value FROM json_each(?))", (json.dumps(list(values)),)
    ).all()
    return (_fact(row) for row in rows)


def _fact(row: Sequence[Any]) -> Fact:
    values: tuple[Any, ...] = (*row[:11], bool(row[11]), row[12], _origin(row[13]), row[14])
    return Fact(*values)  # the columns stand in the order of the record's fields


@lru_cache(maxsize=256)
def _origin(stored: str) -> Origin:
    """Most facts of a store share a few origins."""
    return origin_from_image(json.loads(stored))


def existing_ids(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Which of `ids` are facts of this store."""
    rows = connection.exec_driver_sql(
        "SELECT id FROM facts WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
    )
    return {row[0] for row in rows}


def live_ids_with_text(connection: Connection, agent_id: str, text: str, *, live_only: bool = True) -> tuple[str, ...]:
    """Ids of an agent's facts with exactly this text, oldest first."""
    live = " AND superseded_by = ''" if live_only else ""
    rows = connection.exec_driver_sql(
        f"SELECT id FROM facts WHERE text_key = ? AND agent_id = ? AND text = ?{live} ORDER BY created_ns, id",
        (text_key(text), agent_id, text),
    )
    return tuple(row[0] for row in rows)


def load_versions(connection: Connection, ids: Sequence[str]) -> dict[str, int]:
    """The versions of those of `ids` that are facts."""
    rows = connection.exec_driver_sql(
        "SELECT id, version FROM facts WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
    ).all()
    return {row[0]: row[1] for row in rows}


def have_versions(connection: Connection, versions: Mapping[str, int]) -> bool:
    """Whether all of these are facts, and each has the version that is given for it."""
    found = connection.exec_driver_sql(
        "SELECT count(*) FROM json_each(?) AS wanted"
        " JOIN facts ON facts.id = wanted.key AND facts.version = wanted.value",
        (json.dumps(dict(versions)),),
    ).scalar_one()
    return int(found) == len(versions)


def targets(
    connection: Connection, agent_id: str, ids: Sequence[str], *, expected: Mapping[str, int] | None = None
) -> tuple[Fact, ...]:
    """The agent's facts with these ids, in order, each once.

    Raises `NotFound` for an id that is no fact of the agent, `FactChanged` where a version is not the expected one.
    """
    wanted = tuple(dict.fromkeys(ids))
    if not wanted:
        raise InvalidInput("No fact was named.", field="ids")
    found = load_facts(connection, wanted)
    missing = [fact_id for fact_id in wanted if fact_id not in found or found[fact_id].agent_id != agent_id]
    if missing:
        raise NotFound(f"{agent_id!r} has no fact {missing[0]}.", agent_id=agent_id, ids=missing)
    stale = [i for i in wanted if expected is not None and i in expected and expected[i] != found[i].version]
    if stale:
        raise FactChanged(f"Fact {stale[0]} was changed by somebody else; nothing was written.", ids=stale)
    return tuple(found[fact_id] for fact_id in wanted)
