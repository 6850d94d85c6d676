"""Links between entities that are known by name only: what an agent can say, which has no ids."""

from __future__ import annotations

from gm_engine.errors import InvalidInput
from gm_engine.graph import edit
from gm_engine.graph.records import GraphChange
from gm_engine.store.entities import name_key
from gm_engine.store.graph_edits import name_owners
from gm_engine.store.transaction import Transaction


def check_ends(from_name: str, to_name: str) -> tuple[str, str]:
    """Both names trimmed and in lower case; `InvalidInput` when one is blank or too long, or both are the same."""
    ends = edit.check_label(from_name).lower(), edit.check_label(to_name).lower()
    if name_key(ends[0]) == name_key(ends[1]):
        raise InvalidInput("An entity is not linked to itself.", field="target")
    return ends


def link_names(tx: Transaction, from_name: str, to_name: str, relation: str) -> GraphChange:
    """Links the entities with these names; one that nobody has yet becomes a concept of that name."""
    ends = check_ends(from_name, to_name)
    owners = name_owners(tx.connection, [name_key(name) for name in ends])
    ids = [owners.get(name_key(name)) or edit.add(tx, name, "concept").entities[0].id for name in ends]
    return edit.link(tx, ids[0], ids[1], relation)
