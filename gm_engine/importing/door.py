"""Which importer a path belongs to: the one way from `Memory` into this room."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from gm_engine.errors import InvalidInput
from gm_engine.importing.foreign import import_foreign, preview_foreign
from gm_engine.importing.formats import reader_for
from gm_engine.importing.found import Request
from gm_engine.importing.graymatter import import_store, preview_store
from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.records import ImportReport, Origin
from gm_engine.store.database import Ledger


class ImportOptions(TypedDict, total=False):
    """How to import.

    `format` names one of `IMPORT_FORMATS` (else it is detected), `agent_id` is the namespace of every text, `columns`
    maps text, agent, created, confidence and id to a table's columns.
    """

    format: str | None
    agent_id: str | None
    columns: Mapping[str, str]
    progress: Progress
    cancel: CancelToken | None


def preview(ledger: Ledger, path: Path, options: ImportOptions) -> ImportReport:
    """What `bring_in` would report; nothing is written."""
    progress, cancel = options.get("progress", no_progress), options.get("cancel") or CancelToken()
    reader, agent_id = reader_for(path, name=options.get("format")), options.get("agent_id")
    request = Request(path, options.get("columns", {}))
    if reader is None:
        _check_whole(agent_id, request)
        return preview_store(ledger, path, progress=progress, cancel=cancel)
    return preview_foreign(ledger, reader, request, agent_id=agent_id, progress=progress, cancel=cancel)


def bring_in(ledger: Ledger, path: Path, options: ImportOptions, *, origin: Origin) -> ImportReport:
    """Imports what the store does not have yet."""
    progress, cancel = options.get("progress", no_progress), options.get("cancel") or CancelToken()
    reader, agent_id = reader_for(path, name=options.get("format")), options.get("agent_id")
    request = Request(path, options.get("columns", {}))
    if reader is None:
        _check_whole(agent_id, request)
        return import_store(ledger, path, origin=origin, progress=progress, cancel=cancel)
    return import_foreign(ledger, reader, request, agent_id=agent_id, origin=origin, progress=progress, cancel=cancel)


def _check_whole(agent_id: str | None, request: Request) -> None:
    """A GrayMatter store is taken over with its namespaces, times and history."""
    if agent_id is not None:
        raise InvalidInput("A GrayMatter store keeps its own agents; leave out the agent.", field="agent_id")
    if request.columns:
        raise InvalidInput("A GrayMatter store has no columns to map.", field="columns")
