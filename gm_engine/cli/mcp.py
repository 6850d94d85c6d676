"""`graymatter mcp`: serve the store to agents over MCP, the token of HTTP clients, and what each client may do."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from gm_engine.cli.payloads import time_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, minute, shared_options, with_embedding
from gm_engine.config import Config
from gm_engine.errors import InvalidInput
from gm_engine.records import ACCESSES, Access, Client, JsonValue

_INSTALL = {name: f"gm_engine.cli.mcp_install:{name}" for name in ("install", "uninstall", "status")}
_NO_RULE = "default"


class _Group(click.Group):
    """What writes other programs' files is loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_INSTALL]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _INSTALL:
            return super().get_command(ctx, cmd_name)
        module, _, name = _INSTALL[cmd_name].partition(":")
        found = getattr(import_module(module), name)
        return found if isinstance(found, click.Command) else None


@click.group(cls=_Group)
@shared_options
def mcp() -> None:
    """Agents read and write this memory over MCP, the Model Context Protocol.

    \b
    graymatter mcp serve                          for a client that starts the server itself
    graymatter mcp serve --http 127.0.0.1:8080    for clients that connect to http://127.0.0.1:8080/mcp
    graymatter mcp token                          what these send as `Authorization: Bearer TOKEN`
    graymatter mcp allow codex review             what codex writes waits for you in the inbox
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

    serve_http(session.data_dir, parse_address(address), config=config, needs_token=not no_token, say=_say)


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


@mcp.command()
@shared_options
def clients() -> None:
    """The clients that are connected, what was said about any, and how much of theirs waits for review."""
    with current().reading() as memory:
        live, rules, waiting = memory.clients.list(), memory.clients.policies(), memory.clients.waiting()
    payload: dict[str, JsonValue] = {
        "connected": [_client_payload(client) for client in live],
        "rules": [{"client": rule.client, "agent_id": rule.agent_id, "access": rule.access} for rule in rules],
        "waiting": [{"client": each.client, "count": each.count} for each in waiting],
    }
    lines = [
        f"{plain(each.name)} {plain(each.version)}  {each.transport}, process {each.pid}, since {minute(each.since_ns)}"
        f", {each.reads:,} reads, {each.writes:,} writes, may {_MAY[each.access]}"
        for each in live
    ]
    lines += [f"{plain(rule.client)} may {_MAY[rule.access]} {_where(rule.agent_id)}" for rule in rules]
    lines += [f"{plain(each.client)}: {each.count:,} waiting in the inbox" for each in waiting]
    current().answer(payload, lines)


def _client_payload(client: Client) -> dict[str, JsonValue]:
    times: dict[str, JsonValue] = {"since": time_payload(client.since_ns), "seen": time_payload(client.seen_ns)}
    return {
        "name": client.name,
        "version": client.version,
        "transport": client.transport,
        "pid": client.pid,
        **times,
        "reads": client.reads,
        "writes": client.writes,
        "access": client.access,
    }


@mcp.command()
@click.argument("client")
@click.argument("access", type=click.Choice([*ACCESSES, _NO_RULE]))
@click.option("--agent", metavar="AGENT", help="Only in this namespace; otherwise where nothing else is said.")
@shared_options
def allow(client: str, access: str, *, agent: str | None) -> None:
    """Say what CLIENT may do: read, write, write with review, none, or default (no rule of its own).

    CLIENT is the name that `graymatter mcp clients` shows. It holds at once, for servers that run, too.
    """
    wanted = next((each for each in ACCESSES if each == access), None)
    with current().writing() as memory:
        seq = memory.clients.set_access(client, agent, wanted)
        now = memory.clients.access(client, agent)
    payload: dict[str, JsonValue] = {"client": client, "agent_id": agent, "access": now, "seq": seq}
    current().answer(payload, [f"{plain(client)} may {_MAY[now]} {_where(agent)}"])


_MAY: dict[Access, str] = {
    "read": "read",
    "write": "read and write",
    "review": "read, and write with review",
    "none": "do nothing",
}


def _where(agent_id: str | None) -> str:
    return "everywhere" if agent_id is None else f"in {plain(agent_id)}"
