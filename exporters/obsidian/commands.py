"""The subcommand `graymatter vault`."""

from __future__ import annotations

from pathlib import Path

import click

from exporters.obsidian.reading import read_note
from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, shared_options
from gm_engine.records import JsonValue


@click.group()
@shared_options
def vault() -> None:
    """Look at a published vault."""


@vault.command()
@click.argument("note", type=click.Path(path_type=Path))
@shared_options
def read(note: Path) -> None:
    """Give back the exact text of the fact in the file NOTE."""
    found = read_note(note)
    payload: dict[str, JsonValue] = {
        "path": found.path,
        "id": found.fact_id,
        "agent_id": found.agent_id,
        "kind": found.kind,
        "text": found.text,
    }
    current().answer(payload, [plain(line) for line in found.text.split("\n")])
