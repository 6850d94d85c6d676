"""The first ledger: facts, journal, terms, vectors, graph, checkpoints, settings and connected processes."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Creates the tables of schema 1."""
    for statement in Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").split(";\n"):
        if statement.strip():
            op.execute(statement)
