"""What the options before and after a subcommand say, and how a command opens the store and answers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gm_engine.cli.plain import ProgressLine, plain
from gm_engine.clock import format_ns
from gm_engine.config import Config, default_data_dir, embedding_from
from gm_engine.errors import InvalidInput, NotFound
from gm_engine.records import JsonValue, Origin
from gm_engine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gm_engine.memory import Memory
    from gm_engine.progress import Progress

LEDGER_NAME = "ledger.sqlite"
PROGRAM = "graymatter"
_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(slots=True)
class Session:
    """One run of the command line: where the store is and how to answer. `given` are the arguments as typed."""

    named_dir: Path | None = None
    json: bool = False
    given: tuple[str, ...] = ()

    @property
    def data_dir(self) -> Path:
        """`--data-dir`, else `GRAYMATTER_DIR`, else the user's data directory.

        Raises `InvalidInput` where its name is no UTF-8 text: SQLite and Chroma know no other.
        """
        found = self.named_dir if self.named_dir is not None else default_data_dir(os.environ)
        try:
            str(found).encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidInput(f"The name of the data directory is no UTF-8 text: {found}", field="data_dir") from error
        return found

    @property
    def has_store(self) -> bool:
        """Whether the data directory holds a store."""
        return (self.data_dir / LEDGER_NAME).exists()

    def require_store(self) -> None:
        """Raises `NotFound` where there is no store: a question is never answered from an empty one."""
        if not self.has_store:
            raise NotFound(
                f"There is no store in {self.data_dir}. Make one with `graymatter init`, or name one with --data-dir.",
                data_dir=str(self.data_dir),
            )

    @contextmanager
    def reading(self, *, config: Config | None = None) -> Iterator[Memory]:
        """The store, open for reading; it must exist."""
        from gm_engine.memory import Memory

        self.require_store()
        config = with_embedding(config)
        with Memory.open(self.data_dir, config=config, read_only=True, background=False, origin=origin()) as memory:
            yield memory

    @contextmanager
    def writing(self, *, create: bool = False, config: Config | None = None) -> Iterator[Memory]:
        """The store, open for writing; made if need be with `create`, else it must exist."""
        from gm_engine.memory import Memory

        if not create:
            self.require_store()
        with Memory.open(self.data_dir, config=with_embedding(config), background=False, origin=origin()) as memory:
            yield memory

    def progress(self) -> ProgressLine:
        """Progress on standard error; silent with `--json` unless somebody watches a terminal."""
        return ProgressLine(quiet=self.json)

    def answer(self, payload: JsonValue, lines: Iterable[str]) -> None:
        """Prints `payload` with `--json`, else `lines` (which must be plain already)."""
        if self.json:
            write_json(payload)
        else:
            for line in lines:
                sys.stdout.write(f"{line}\n")


def with_embedding(config: Config | None) -> Config:
    """The configuration of a command, with the embedding model that the environment names."""
    mode, server = embedding_from(os.environ)
    return replace(config or Config(), embedding_mode=mode, embedding_server=server)


def finish_index(memory: Memory, progress: Progress) -> None:
    """Gives every live text its vector, then brings Chroma up to date, as far as both can be had here."""
    memory.wait_for_embeddings(progress=progress)
    while memory.index_step():
        state = memory.index_progress()
        progress(state.done, state.total, state.stage)


def write_json(payload: JsonValue) -> None:
    """Writes one JSON document to standard output."""
    sys.stdout.write(json.dumps(payload, ensure_ascii=False, indent=2))
    sys.stdout.write("\n")


def write_json_array(items: Iterable[dict[str, JsonValue]]) -> None:
    """Writes a JSON array item by item, so that its length costs no memory."""
    separator = "[\n"
    for item in items:
        sys.stdout.write(separator)
        sys.stdout.write(json.dumps(item, ensure_ascii=False, indent=2))
        separator = ",\n"
    sys.stdout.write("[]\n" if separator == "[\n" else "\n]\n")


def origin() -> Origin:
    """Who writes when the command line does."""
    return Origin("cli", client=PROGRAM, client_version=__version__)


def current() -> Session:
    """The session of the running command."""
    return click.get_current_context().ensure_object(Session)


def _take_data_dir(context: click.Context, _: click.Parameter, value: Path | None) -> None:
    session = context.ensure_object(Session)
    if value is not None:
        session.named_dir = value


def _take_json(context: click.Context, _: click.Parameter, value: bool) -> None:
    session = context.ensure_object(Session)
    session.json = session.json or value


def shared_options(command: _Command) -> _Command:
    """Adds `--data-dir` and `--json`, which stand before or after the subcommand."""
    command = click.option(
        "--json", is_flag=True, expose_value=False, callback=_take_json, help="Print JSON on standard output."
    )(command)
    return click.option(
        "--data-dir",
        type=click.Path(path_type=Path),
        metavar="DIR",
        expose_value=False,
        callback=_take_data_dir,
        help="The store's directory (else GRAYMATTER_DIR, else the user's data directory).",
    )(command)


def minute(at_ns: int) -> str:
    """A time for a reader, in UTC to the minute: `2026-11-30 09:14Z`."""
    return format_ns(at_ns)[:16].replace("T", " ") + "Z"


def short(text: str, *, width: int = 160) -> str:
    """`text` on one line, cut at `width` characters."""
    line = plain(text[: width + 1])
    return line if len(text) <= width else f"{line[: width - 1]}…"
