"""`graymatter recall-adapter`: the store as one source of a Recall core, over standard input and output."""

from __future__ import annotations

import click

from gm_engine.cli.session import current, shared_options, with_embedding


@click.command("recall-adapter")
@shared_options
def recall_adapter() -> None:
    """Serve the store to a Recall core over standard input and output.

    A core starts this command itself and names the store in its handshake (`location`); without one, the store is found
    as by every command. The store is only read.
    """
    from gm_engine.recall_protocol.server import serve, standard_streams

    reader, writer = standard_streams()
    from gm_engine.recall_protocol.adapter import MAX_CONCURRENCY, StoreAdapter

    adapter = StoreAdapter(current().data_dir, config=with_embedding(None))
    try:
        serve(adapter, reader, writer, max_workers=MAX_CONCURRENCY)
    finally:
        adapter.close()
