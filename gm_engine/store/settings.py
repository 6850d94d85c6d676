"""Settings of the store, journalled, shared by every program that opens it; and the figures in `meta`."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import Connection

from gm_engine.config import check_confidence_weight, check_fraction, check_signal_weights
from gm_engine.errors import InvalidInput
from gm_engine.records import SignalWeights, StoreSettings
from gm_engine.store.transaction import Transaction, canonical_json


def load_settings(connection: Connection) -> StoreSettings:
    """The stored settings, the library's defaults where none are stored; unknown keys are left alone."""
    known = {field.name for field in fields(StoreSettings)}
    rows = connection.exec_driver_sql("SELECT key, value FROM settings").all()
    values: dict[str, Any] = {key: json.loads(value) for key, value in rows if key in known}
    if "signal_weights" in values:
        values["signal_weights"] = SignalWeights(**values["signal_weights"])
    return StoreSettings(**values)


def save_settings(tx: Transaction, wanted: StoreSettings) -> None:
    """Stores and journals what differs from the present settings. `InvalidInput` names a bad value."""
    check_signal_weights(wanted.signal_weights)
    check_fraction("coverage_gate", wanted.coverage_gate)
    check_fraction("min_relevance", wanted.min_relevance)
    check_confidence_weight(wanted.confidence_weight)
    if wanted.vector_path not in ("auto", "exact"):
        raise InvalidInput(f"vector_path must be auto or exact, not {wanted.vector_path!r}", field="vector_path")
    current = asdict(load_settings(tx.connection))
    for key, value in asdict(wanted).items():
        if value != current[key]:
            write_setting(tx, key, value)


def write_setting(tx: Transaction, key: str, value: Any) -> None:
    """Stores and journals one value as JSON."""
    row = tx.connection.exec_driver_sql("SELECT value, version FROM settings WHERE key = ?", (key,)).first()
    tx.connection.exec_driver_sql(
        "INSERT INTO settings(key, value, version) VALUES (?, ?, ?)"
        " ON CONFLICT(key) DO UPDATE SET value = excluded.value, version = excluded.version",
        (key, canonical_json(value), tx.seq),
    )
    tx.record(
        "setting",
        key,
        agent_id=None,
        version_before=0 if row is None else row[1],
        before=None if row is None else {"value": row[0]},
        after={"value": canonical_json(value)},
    )


def remove_setting(tx: Transaction, key: str) -> bool:
    """Removes and journals one value; whether there was one."""
    row = tx.connection.exec_driver_sql("SELECT value, version FROM settings WHERE key = ?", (key,)).first()
    if row is None:
        return False
    tx.connection.exec_driver_sql("DELETE FROM settings WHERE key = ?", (key,))
    tx.record(
        "setting", key, agent_id=None, version_before=row[1], version_after=0, before={"value": row[0]}, after=None
    )
    return True


def settings_under(connection: Connection, prefix: str) -> dict[str, Any]:
    """The values whose key begins with `prefix`, by the rest of the key, in order."""
    rows = connection.exec_driver_sql(
        "SELECT key, value FROM settings WHERE substr(key, 1, ?) = ? ORDER BY key", (len(prefix), prefix)
    )
    return {key[len(prefix) :]: json.loads(value) for key, value in rows}
