"""The ledger's schema history. Each version is a named step that runs in one transaction."""

from __future__ import annotations

from pathlib import Path
from threading import Lock

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from gm_engine.store.tables import SCHEMA_VERSION

_ONE_AT_A_TIME = Lock()  # what a migration works on is a module's global in alembic


def upgrade(connection: Connection) -> None:
    """Brings the store behind `connection` to the newest schema, inside the caller's write transaction.

    Does nothing when another process was faster.
    """
    if connection.exec_driver_sql("PRAGMA user_version").scalar() == SCHEMA_VERSION:
        return
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    with _ONE_AT_A_TIME:
        command.upgrade(config, "head")
    connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA_VERSION}")
