"""`graymatter mcp`: serve the store to agents over MCP, and the token that HTTP clients send."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec

import click

from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, shared_options, with_embedding
from gm_engine.config import Config
from gm_engine.errors import InvalidInput

_MORE = {
    "install": ("gm_engine.cli.mcp_install:install", "Add GrayMatter to the configuration of MCP clients."),
    "uninstall": ("gm_engine.cli.mcp_install:uninstall", "Remove it from there."),
    "status": ("gm_engine.cli.mcp_install:status", "Which MCP clients are here, and which use this memory."),
}


class _Group(click.Group):
    """`install` writes other programs' files and is loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *(name for name in _MORE if _is_there(name))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _MORE and _is_there(cmd_name):
            module, _, name = _MORE[cmd_name][0].partition(":")
            found = getattr(import_module(module), name)
            return found if isinstance(found, click.Command) else None
        return super().get_command(ctx, cmd_name)


def _is_there(name: str) -> bool:
    return find_spec(_MORE[name][0].partition(":")[0]) is not None


@click.group(cls=_Group)
@shared_options
def mcp() -> None:
    """Agents read and write this memory over MCP, the Model Context Protocol.

    \b
    graymatter mcp serve                          for a client that starts the server itself
    graymatter mcp serve --http 127.0.0.1:8080    for clients that connect to http://127.0.0.1:8080/mcp
    graymatter mcp token                          what these send as `Authorization: Bearer TOKEN`
    """


@mcp.command()
@click.option("--http", "address", metavar="HOST:PORT", help="Serve streamable HTTP there instead of stdio.")
@click.option("--no-token", is_flag=True, help="Ask HTTP clients for no token; only on a loopback address.")
@click.option("--kg", is_flag=True, help="Append names from the knowledge graph to searches (also GRAYMATTER_KG=1).")
@shared_options
def serve(*, address: str | None, no_token: bool, kg: bool) -> None:
    """Serve the store until the client hangs up; a store that does not exist yet is made.

    On stdio, standard output carries protocol frames only. Over HTTP every request needs the token of
    `graymatter mcp token`, except GET /health. An address that other machines can reach needs a token, too.
    """
    session = current()
    config = with_embedding(Config(graph_hints=kg or os.environ.get("GRAYMATTER_KG", "") == "1"))
    if address is None:
        if no_token:
            raise InvalidInput("--no-token belongs to --http.", field="no_token")
        from gm_engine.mcp.stdio import serve_stdio

        serve_stdio(session.data_dir, config=config)
        return
    from gm_engine.mcp.address import parse_address
    from gm_engine.mcp.http import serve_http

    parsed = parse_address(address)
    if no_token and not parsed.is_loopback:
        raise InvalidInput(f"{address} can be reached from other machines: it needs a token.", field="no_token")
    serve_http(session.data_dir, parsed, config=config, needs_token=not no_token, say=_say)


def _say(line: str) -> None:
    sys.stderr.write(f"{plain(line)}\n")
    sys.stderr.flush()


@mcp.command()
@click.option("--new", is_flag=True, help="Make a new token; the old one is refused by servers started from now on.")
@shared_options
def token(*, new: bool) -> None:
    """Print the token that HTTP clients send; it is made when there is none."""
    from gm_engine.mcp.token import new_token, own_token, token_path

    data_dir = current().data_dir
    made = new_token(data_dir) if new else own_token(data_dir)
    current().answer({"token": made, "path": str(token_path(data_dir))}, [made])
