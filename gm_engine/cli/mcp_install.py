"""`graymatter mcp install`, `uninstall` and `status`: our server in other programs' configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gm_engine.cli.examples import with_examples
from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, shared_options
from gm_engine.errors import NotFound, WiringRefused
from gm_engine.records import JsonValue

if TYPE_CHECKING:
    from gm_engine.wiring import Client, Connection, Places, Plan, Scope, Server

_clients = click.option(
    "--client", "names", multiple=True, metavar="NAME", help="Only this client; may be given many times."
)
_scope = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="The person's configuration, or that of the project in the current folder.",
)
_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would be written.")


@click.command()
@_clients
@_scope
@_dry_run
@shared_options
def install(names: tuple[str, ...], *, scope: Scope, dry_run: bool) -> None:
    """Add this memory to the configuration of MCP clients: those found here, or those named with --client.

    Only our own entry is written: other entries, comments and layout stay as they are, and a copy of the file is kept
    beside it. A file that is no valid configuration is left alone. NAME is claude-code, claude-desktop, cursor,
    vscode, codex, opencode, windsurf or zed.
    """
    from gm_engine.wiring import plan_connect

    places, server = _here(scope)
    _change(lambda client: plan_connect(client, places, server, scope=scope), names, places, scope, dry_run=dry_run)


@click.command()
@_clients
@_scope
@_dry_run
@shared_options
def uninstall(names: tuple[str, ...], *, scope: Scope, dry_run: bool) -> None:
    """Remove this memory from the configuration of MCP clients; everything else in it stays."""
    from gm_engine.wiring import plan_disconnect

    places, _ = _here(scope)
    _change(lambda client: plan_disconnect(client, places, scope=scope), names, places, scope, dry_run=dry_run)


@click.command()
@_scope
@shared_options
def status(*, scope: Scope) -> None:
    """The MCP clients that are known, which of them are here, and whether they use this memory."""
    from gm_engine.wiring import survey

    places, server = _here(scope)
    found = survey(places, server, scope=scope)
    payload: list[JsonValue] = [
        {
            "client": one.client.name,
            "title": one.client.title,
            "scope": one.scope,
            "path": str(one.path),
            "present": one.is_present,
            "state": one.state,
            **({"problem": one.problem} if one.problem else {}),
        }
        for one in found
    ]
    current().answer(payload, map(_status_line, found))


def _status_line(one: Connection) -> str:
    words = {
        "connected": "connected",
        "differs": "connected with another command",
        "not_connected": "not connected" if one.is_present else "not found here",
        "unreadable": f"not readable: {one.problem}",
    }
    return f"{one.client.name:<15} {plain(words[one.state])}  ({plain(str(one.path))})"


def _here(scope: Scope) -> tuple[Places, Server]:
    from gm_engine.wiring import Places, Server

    project = Path.cwd() if scope == "project" else None
    return Places.here(project=project), Server.here(data_dir=current().named_dir, is_shared=scope == "project")


def _change(
    plan: Callable[[Client], Plan], names: Sequence[str], places: Places, scope: Scope, *, dry_run: bool
) -> None:
    """Plans every change, then carries them out; what one client refuses does not stop the others."""
    from gm_engine.clock import SystemClock
    from gm_engine.wiring import carry_out

    payload: list[JsonValue] = []
    lines: list[str] = []
    refused: WiringRefused | None = None
    for client in _chosen(names, places, scope):
        try:
            made = plan(client)
            backup = None if dry_run else carry_out(made, clock=SystemClock()).backup
        except WiringRefused as error:
            refused = refused or error
            payload.append({"client": client.name, "action": "refused", "reason": error.message})
            lines.append(f"{client.name}: {plain(error.message)}")
            continue
        payload.append(
            {
                "client": client.name,
                "action": made.action,
                "path": str(made.path),
                "backup": None if backup is None else str(backup),
                "written": not dry_run and made.action != "nothing",
                "diff": made.diff,
            }
        )
        lines += _lines(made, backup, dry_run=dry_run)
    current().answer(payload, lines)
    if refused is not None:
        raise refused


def _lines(made: Plan, backup: Path | None, *, dry_run: bool) -> list[str]:
    where = plain(str(made.path))
    if made.action == "nothing":
        return [f"{made.client.name}: nothing to do in {where}"]
    words = {"create": "create", "add": "add to", "replace": "correct", "remove": "remove from"}[made.action]
    lines = [f"{made.client.name}: {'would ' if dry_run else ''}{words} {where}"]
    lines += [f"    {plain(line)}" for line in made.diff.splitlines()]
    if backup is not None:
        lines.append(f"    the file as it was: {plain(str(backup))}")
    return lines


def _chosen(names: Sequence[str], places: Places, scope: Scope) -> tuple[Client, ...]:
    from gm_engine.wiring import CLIENTS, client

    if names:
        return tuple(client(name) for name in dict.fromkeys(names))
    found = tuple(one for one in CLIENTS if one.is_present(places) and one.path(scope, places) is not None)
    if not found:
        raise NotFound("No MCP client was found here; name one with --client.")
    return found


for _name, _command in (("install", install), ("uninstall", uninstall), ("status", status)):
    with_examples(_command, f"mcp {_name}")  # the group loads them one by one
