"""The ledger's tables (SQLAlchemy Core). Times are INTEGER nanoseconds since 1970 UTC, NULL = absent.

A version is the journal seq that made a row's current state; 0 stands for "does not exist".
"""

from __future__ import annotations

from sqlalchemy import (
    REAL,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from gm_engine import version

SCHEMA_VERSION = version.SCHEMA_VERSION
metadata = MetaData()


def _text(name: str, default: str | None = None) -> Column[str]:
    return Column(name, Text, nullable=False, server_default=None if default is None else text(f"'{default}'"))


def _int(name: str, default: int | None = None) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default=None if default is None else text(str(default)))


meta = Table("meta", metadata, Column("key", Text, primary_key=True), _text("value"), sqlite_with_rowid=False)

settings = Table(
    "settings",
    metadata,
    Column("key", Text, primary_key=True),
    _text("value"),
    _int("version"),
    sqlite_with_rowid=False,
)

actors = Table(
    "actors",
    metadata,
    Column("id", Integer, primary_key=True),
    _text("channel"),
    _text("client"),
    _text("client_version"),
    _text("session"),
    UniqueConstraint("channel", "client", "client_version", "session"),
)

journal = Table(
    "journal",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    _int("at_ns"),
    _text("verb"),
    Column("agent_id", Text),
    _text("group_id"),
    Column("actor_id", Integer, ForeignKey("actors.id"), nullable=False),
    Column("undoes", Text),
    Column("detail", Text),
    Index("journal_group", "group_id"),
    Index("journal_actor", "actor_id", "seq"),
    Index("journal_at", "at_ns"),
    sqlite_autoincrement=True,
)

changes = Table(
    "changes",
    metadata,
    Column("seq", Integer, ForeignKey("journal.seq"), nullable=False),
    _int("n"),
    _text("kind"),
    _text("target"),
    Column("agent_id", Text),
    _int("version_before"),
    _int("version_after"),
    Column("before", Text),
    Column("after", Text),
    PrimaryKeyConstraint("seq", "n"),
    Index("changes_target", "kind", "target", "seq"),
    Index("changes_agent", "agent_id", "seq"),
    sqlite_with_rowid=False,
)

facts = Table(
    "facts",
    metadata,
    Column("no", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    _text("agent_id"),
    _text("text"),
    Column("text_key", LargeBinary, nullable=False),
    _int("created_ns"),
    Column("accessed_ns", Integer),
    _int("access_count"),
    Column("weight", REAL, nullable=False),
    _text("superseded_by", ""),
    _text("confidence", ""),
    _text("kind", ""),
    _text("alias_source", ""),
    _int("pinned", 0),
    Column("pinned_ns", Integer),
    _text("origin"),
    Column("actor_id", Integer, ForeignKey("actors.id"), nullable=False),
    _int("version"),
    Index("facts_list", "agent_id", "created_ns", "id"),
    Index("facts_text", "text_key"),
    Index("facts_lineage", "superseded_by", sqlite_where=text("length(superseded_by) > 0")),
)

fact_refs = Table(
    "fact_refs",
    metadata,
    _text("fact_id"),
    _text("kind"),
    _text("ref"),
    PrimaryKeyConstraint("fact_id", "kind", "ref"),
    Index("fact_refs_by_ref", "kind", "ref"),
    sqlite_with_rowid=False,
)

terms = Table(
    "terms",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("term", Text, nullable=False, unique=True),
    _text("surface"),
)

fact_terms = Table(
    "fact_terms",
    metadata,
    Column("fact_no", Integer, primary_key=True),
    _int("length"),
    _int("rules"),
    Column("data", LargeBinary, nullable=False),
)

models = Table(
    "models",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    _int("dims"),
    _text("state"),
)

vectors = Table(
    "vectors",
    metadata,
    Column("vec_seq", Integer, primary_key=True, autoincrement=True),
    Column("model_id", Integer, ForeignKey("models.id"), nullable=False),
    Column("text_key", LargeBinary, nullable=False),
    Column("data", LargeBinary, nullable=False),
    UniqueConstraint("model_id", "text_key"),
    sqlite_autoincrement=True,
)

vector_index = Table(
    "vector_index",
    metadata,
    Column("model_id", Integer, ForeignKey("models.id"), primary_key=True),
    _int("generation"),
    _int("applied_vec_seq"),
    _int("ef_search"),
    _text("library"),
)

entities = Table(
    "entities",
    metadata,
    Column("id", Text, primary_key=True),
    _text("label"),
    _text("type"),
    Column("first_seen_ns", Integer),
    Column("last_seen_ns", Integer),
    Column("weight", REAL, nullable=False),
    _text("made_by"),
    _int("version"),
)

entity_names = Table(
    "entity_names", metadata, Column("name_key", Text, primary_key=True), _text("entity_id"), sqlite_with_rowid=False
)

edges = Table(
    "edges",
    metadata,
    _text("from_id"),
    _text("to_id"),
    _text("relation"),
    Column("created_ns", Integer),
    Column("weight", REAL, nullable=False),
    _text("made_by"),
    _int("version"),
    PrimaryKeyConstraint("from_id", "to_id", "relation"),
    Index("edges_to", "to_id"),
    sqlite_with_rowid=False,
)

edge_sources = Table(
    "edge_sources",
    metadata,
    _text("from_id"),
    _text("to_id"),
    _text("relation"),
    _text("fact_id"),
    PrimaryKeyConstraint("from_id", "to_id", "relation", "fact_id"),
    Index("edge_sources_fact", "fact_id"),
    sqlite_with_rowid=False,
)

mentions = Table(
    "mentions",
    metadata,
    _text("fact_id"),
    _text("entity_id"),
    _int("rules"),
    PrimaryKeyConstraint("fact_id", "entity_id"),
    Index("mentions_entity", "entity_id"),
    sqlite_with_rowid=False,
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("id", Text, primary_key=True),
    _text("agent_id"),
    _int("created_ns"),
    Column("payload", LargeBinary, nullable=False),
    Column("message_count", Integer),
    Column("restored_from", Text),
    _int("deleted", 0),
    _int("version"),
    _text("verdict", ""),
    _text("note", ""),
    Column("reviewed_ns", Integer),
    Index("checkpoints_list", "agent_id", "deleted", "created_ns", "id"),
)

clients = Table(
    "clients",
    metadata,
    Column("id", Text, primary_key=True),
    _int("pid"),
    _text("process_started"),
    _text("program"),
    _text("version"),
    _text("client"),
    _int("since_ns"),
    _int("seen_ns"),
    _text("transport", ""),
    _int("reads", 0),
    _int("writes", 0),
)

blocked = Table(
    "blocked",
    metadata,
    Column("block_key", LargeBinary, nullable=False),
    _text("agent_id", ""),
    Column("text", Text),
    _int("created_ns"),
    _int("version"),
    PrimaryKeyConstraint("block_key", "agent_id"),
    sqlite_with_rowid=False,
)

blocked_attempts = Table(
    "blocked_attempts",
    metadata,
    Column("block_key", LargeBinary, nullable=False),
    _text("client"),
    _int("count"),
    _int("last_ns"),
    PrimaryKeyConstraint("block_key", "client"),
    sqlite_with_rowid=False,
)

proposals = Table(
    "proposals",
    metadata,
    Column("id", Text, primary_key=True),
    _text("kind"),
    _text("source"),
    Column("agent_id", Text),
    Column("actor_id", Integer, ForeignKey("actors.id"), nullable=False),
    _int("created_ns"),
    _text("payload"),
    _text("base"),
    _text("same_key"),
    _text("state"),
    Column("decided_seq", Integer),
    Index("proposals_open", "state", "source", "created_ns"),
    Index("proposals_same", "same_key"),
)

policies = Table(
    "policies",
    metadata,
    _text("client"),
    _text("agent_id"),
    _text("access"),
    _int("version"),
    PrimaryKeyConstraint("client", "agent_id"),
    sqlite_with_rowid=False,
)

recalls_daily = Table(
    "recalls_daily",
    metadata,
    _text("day"),
    _text("agent_id"),
    _text("client"),
    _int("count"),
    PrimaryKeyConstraint("day", "agent_id", "client"),
    sqlite_with_rowid=False,
)

positions = Table(
    "positions",
    metadata,
    Column("entity_id", Text, primary_key=True),
    Column("x", REAL, nullable=False),
    Column("y", REAL, nullable=False),
    sqlite_with_rowid=False,
)

extractions = Table(
    "extractions",
    metadata,
    Column("fact_id", Text, primary_key=True),
    Column("text_key", LargeBinary, nullable=False),
    _int("rules"),
    sqlite_with_rowid=False,
)
