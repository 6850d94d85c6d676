"""`graymatter mcp install`, `uninstall` and `status`: our server in other programs' configuration."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gm_engine.cli.examples import with_examples
from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, shared_options
from gm_engine.config import DATA_DIR_VARIABLE
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
_yes = click.option("--yes", is_flag=True, help="Write without asking (a script is never asked).")


@click.command()
@_clients
@_scope
@_dry_run
@_yes
@shared_options
def install(names: tuple[str, ...], *, scope: Scope, dry_run: bool, yes: bool) -> None:
    """Add this memory to the configuration of MCP clients: those found here, or those named with --client.

    Only our own entry is written: other entries, comments and layout stay as they are, and a copy of the file is kept
    beside it. On a terminal the change is shown and asked about before it is written. A file that is no valid
    configuration is left alone. NAME is claude-code, claude-desktop, cursor,
    vscode, codex, opencode, windsurf or zed.
    """
    from gm_engine.wiring import plan_connect

    places, server = _here(scope)
    made = partial(plan_connect, places=places, server=server, scope=scope)
    _change(made, names, places, scope, dry_run=dry_run, yes=yes)


@click.command()
@_clients
@_scope
@_dry_run
@_yes
@shared_options
def uninstall(names: tuple[str, ...], *, scope: Scope, dry_run: bool, yes: bool) -> None:
    """Remove this memory from the configuration of MCP clients; everything else in it stays."""
    from gm_engine.wiring import plan_disconnect

    places, _ = _here(scope)
    made = partial(plan_disconnect, places=places, scope=scope)
    _change(made, names, places, scope, dry_run=dry_run, yes=yes)


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

    is_shared = scope == "project"
    data_dir = current().named_dir
    if data_dir is None and not is_shared and os.environ.get(DATA_DIR_VARIABLE):
        data_dir = current().data_dir  # clients with windows do not know what a terminal's environment says
    return Places.here(project=Path.cwd() if is_shared else None), Server.here(data_dir=data_dir, is_shared=is_shared)


def _change(
    plan: Callable[[Client], Plan], names: Sequence[str], places: Places, scope: Scope, *, dry_run: bool, yes: bool
) -> None:
    """Plans every change, shows it, then carries it out; what one client refuses does not stop the others."""
    from gm_engine.clock import SystemClock
    from gm_engine.wiring import carry_out

    plans: list[Plan] = []
    refused: list[tuple[Client, WiringRefused]] = []
    for client in _chosen(names, places, scope):
        try:
            plans.append(plan(client))
        except WiringRefused as error:
            refused.append((client, error))
    asks = not (dry_run or yes or current().json) and _has_person() and any(one.diff for one in plans)
    if asks:
        sys.stderr.write("".join(f"{line}\n" for one in plans for line in _lines(one, None, dry_run=True)))
        click.confirm("Write this?", abort=True, err=True)
    done: list[tuple[Plan, Path | None]] = []
    for made in plans:
        try:
            done.append((made, None if dry_run else carry_out(made, clock=SystemClock()).backup))
        except WiringRefused as error:
            refused.append((made.client, error))
    _tell(done, refused, dry_run=dry_run, was_shown=asks)


def _has_person() -> bool:
    return sys.stdin.isatty()


def _tell(
    done: Sequence[tuple[Plan, Path | None]],
    refused: Sequence[tuple[Client, WiringRefused]],
    *,
    dry_run: bool,
    was_shown: bool,
) -> None:
    payload: list[JsonValue] = [
        {
            "client": made.client.name,
            "action": made.action,
            "path": str(made.path),
            "backup": None if backup is None else str(backup),
            "written": not dry_run and made.action != "nothing",
            "diff": made.diff,
        }
        for made, backup in done
    ]
    payload += [{"client": one.name, "action": "refused", "reason": error.message} for one, error in refused]
    lines = [line for made, backup in done for line in _lines(made, backup, dry_run=dry_run, with_diff=not was_shown)]
    current().answer(payload, [*lines, *(f"{one.name}: {plain(error.message)}" for one, error in refused)])
    if refused:
        raise refused[0][1]


def _lines(made: Plan, backup: Path | None, *, dry_run: bool, with_diff: bool = True) -> list[str]:
    where = plain(str(made.path))
    if made.action == "nothing":
        return [f"{made.client.name}: nothing to do in {where}"]
    words = {"create": "create", "add": "add to", "replace": "correct", "remove": "remove from"}[made.action]
    lines = [f"{made.client.name}: {'would ' if dry_run else ''}{words} {where}"]
    if with_diff:
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
