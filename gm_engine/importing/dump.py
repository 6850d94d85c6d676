"""The lossless JSON file of a store: written by the exporter `json`, read back into an empty store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gm_engine.errors import ImportRefused
from gm_engine.progress import CancelToken, Progress
from gm_engine.records import Counts, ImportReport
from gm_engine.store.database import Ledger
from gm_engine.store.dump import columns_of, dump_rows, dumped_tables, load_rows
from gm_engine.store.tables import SCHEMA_VERSION

FORMAT = "graymatter-store"
_HEAD = f'{{"format": "{FORMAT}"'


def dump_lines(ledger: Ledger) -> Iterator[str]:
    """The file's lines with their ends: the same for the same store. One row a line."""
    with ledger.read() as connection:
        yield f'{_HEAD}, "version": 1, "schema": {SCHEMA_VERSION}, "tables": [\n'
        tables = dumped_tables()
        for number, table in enumerate(tables):
            head = json.dumps({"name": table.name, "columns": list(columns_of(table))})[:-1]
            separator = f'{head}, "rows": [\n'
            empty = True
            for row in dump_rows(connection, table):
                yield separator + json.dumps(row, ensure_ascii=False)
                separator, empty = ",\n", False
            closing = "]}" if number == len(tables) - 1 else "]},"
            yield f"{separator if empty else chr(10)}{closing}\n"
        yield "]}\n"


def is_dump(path: Path) -> bool:
    """Whether the file begins as one of ours."""
    try:
        with path.open("rb") as file:
            return file.read(len(_HEAD)) == _HEAD.encode()
    except OSError:
        return False


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ImportRefused(f"{path.name} is damaged: {error}.", path=str(path)) from error
    if not isinstance(document, dict) or not isinstance(document.get("tables"), list):
        raise ImportRefused(f"{path.name} is damaged.", path=str(path))
    return document


def _counts(document: dict[str, Any]) -> Counts:
    sizes = {str(table.get("name")): len(table.get("rows", ())) for table in document["tables"]}
    return Counts(*(sizes.get(name, 0) for name in ("facts", "checkpoints", "entities", "edges")))


def preview_dump(path: Path) -> ImportReport:
    """What the file holds. Raises `ImportRefused`."""
    counts = _counts(_read(path))
    return ImportReport(source=str(path), found=counts, imported=counts, skipped=())


def import_dump(ledger: Ledger, path: Path, *, progress: Progress, cancel: CancelToken) -> ImportReport:
    """Fills an empty store with the file, history included, in one transaction. Raises `ImportRefused`."""
    document = _read(path)
    cancel.check()
    progress(0, None, f"Importing {path.name}")
    tables = [(str(table.get("name")), table.get("columns", ()), table.get("rows", ())) for table in document["tables"]]
    try:
        with ledger.bookkeep() as connection:
            load_rows(connection, int(document.get("schema", 0)), tables)
    except (TypeError, ValueError) as error:
        raise ImportRefused(f"{path.name} is damaged: {error}.", path=str(path)) from error
    return preview_dump(path)
