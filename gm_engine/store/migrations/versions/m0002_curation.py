"""Curation: blocked values, the inbox, reviews of checkpoints, who may write what, and the graph's bookkeeping."""

from pathlib import Path

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Adds the tables and columns of schema 2."""
    for statement in Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").split(";\n"):
        if statement.strip():
            op.execute(statement)
