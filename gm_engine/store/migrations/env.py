"""Alembic's entry: runs the steps on the connection, and in the transaction, that the ledger hands over."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=False)
context.run_migrations()
