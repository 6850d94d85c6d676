"""The table of subcommands. A subcommand's module is imported when it runs, not before: `--help` stays instant."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from gm_engine.cli.examples import with_examples

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("gm_engine.cli.store:init", "Make a new store with the balanced profile."),
    "demo": ("gm_engine.cli.store:demo", "Make a store filled with a made-up team's memory."),
    "import": ("gm_engine.cli.transfer:import_", "Bring in a GrayMatter store, or what another program remembers."),
    "export": ("gm_engine.cli.transfer:export", "Publish the store, for instance into an Obsidian vault."),
    "agents": ("gm_engine.cli.store:agents", "The namespaces and what they hold."),
    "list": ("gm_engine.cli.facts:list_", "The facts of an agent, or of all."),
    "remember": ("gm_engine.cli.facts:remember", "Keep a fact."),
    "recall": ("gm_engine.cli.search:recall", "Search an agent's memory, with reasons if asked."),
    "why-not": ("gm_engine.cli.search:why_not", "Why a fact is not in an answer, and what would bring it in."),
    "revise": ("gm_engine.cli.facts:revise", "Replace a fact; the old one stays as a tombstone."),
    "forget": ("gm_engine.cli.facts:forget", "Retire facts; they can be restored."),
    "blocked": ("gm_engine.cli.blocked:blocked", "Values that must never be stored again."),
    "purge": ("gm_engine.cli.purge:purge", "Remove a text for good, from history and backups, too."),
    "restore": ("gm_engine.cli.facts:restore", "Bring a retired fact back."),
    "pin": ("gm_engine.cli.facts:pin", "Exempt facts from fading."),
    "unpin": ("gm_engine.cli.facts:unpin", "Let facts fade again."),
    "label": ("gm_engine.cli.facts:label", "Set how sure a fact is."),
    "move": ("gm_engine.cli.facts:move", "Move facts to another agent."),
    "copy": ("gm_engine.cli.facts:copy", "Copy facts to another agent."),
    "alias": ("gm_engine.cli.facts:alias", "Teach the memory that words mean the same."),
    "consolidate": ("gm_engine.cli.consolidation:consolidate", "Run a cycle: fade, find duplicates, prune, report."),
    "inbox": ("gm_engine.cli.consolidation:inbox", "Decide on what consolidation and others propose."),
    "checkpoint": ("gm_engine.cli.checkpoints:checkpoint", "What agents saved to resume from, and its review."),
    "kg": ("gm_engine.cli.kg:kg", "The knowledge graph: entities, links, extraction."),
    "mcp": ("gm_engine.cli.mcp:mcp", "Serve this memory to agents over MCP."),
    "journal": ("gm_engine.cli.history:journal", "What was written, by whom, newest first."),
    "diff": ("gm_engine.cli.moments:diff", "What became different between two moments."),
    "undo": ("gm_engine.cli.history:undo", "Undo a journal entry, or a whole group of them."),
    "redo": ("gm_engine.cli.history:redo", "Undo an undo."),
    "status": ("gm_engine.cli.store:status", "The figures of the store."),
    "backup": ("gm_engine.cli.backups:backup", "Copy the store to a zip with checksums, now or by a schedule."),
    "restore-backup": ("gm_engine.cli.backups:restore_backup", "Check a backup and make a new store from it."),
    "sources": ("gm_engine.cli.sources:sources", "Search memory and other sources together."),
    "recall-adapter": ("gm_engine.cli.recall_adapter:recall_adapter", "Serve the store to a Recall core."),
    "doctor": ("gm_engine.cli.store:doctor", "Check that the store is sound."),
    "completion": ("gm_engine.cli.completion:completion", "Complete commands and options in a shell."),
}
GROUP = "graymatter.commands"
OTHERS_HELP = {"vault": "Read the notes of a published vault."}  # so that the list costs no import


class LazyGroup(click.Group):
    """A group that knows its commands by name and loads one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The built-in commands in their order, then those of other packages."""
        return [*COMMANDS, *sorted(set(_others()) - set(COMMANDS))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Loads the command, or None where nobody knows it."""
        if cmd_name in COMMANDS:
            module, _, name = COMMANDS[cmd_name][0].partition(":")
            return with_examples(_as_command(getattr(import_module(module), name)), cmd_name)
        other = _others().get(cmd_name)
        return None if other is None else with_examples(_as_command(other.load()), cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without loading any of the built-in ones."""
        rows = [(name, text) for name, (_, text) in COMMANDS.items()]
        others = sorted((name, other.value) for name, other in _others().items() if name not in COMMANDS)
        rows += [(name, OTHERS_HELP.get(name, f"Added by {value.partition(':')[0]}.")) for name, value in others]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _as_command(found: object) -> click.Command:
    if not isinstance(found, click.Command):
        raise TypeError(f"{found!r} is no click command")
    return found


def _others() -> dict[str, Any]:
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}
