"""The entry point of `graymatter`: output that survives any text, one-line errors, exit codes."""

from __future__ import annotations

import gc
import io
import json
import os
import sys
from collections.abc import Sequence

import click
from click.exceptions import NoArgsIsHelpError

from gm_engine.cli.commands import LazyGroup
from gm_engine.cli.plain import plain
from gm_engine.cli.session import PROGRAM, Session, shared_options
from gm_engine.errors import (
    BlockedValue,
    Cancelled,
    FactChanged,
    GrayMatterError,
    InvalidInput,
    NotFound,
    ProposalDecided,
    UndoConflict,
)
from gm_engine.version import SCHEMA_VERSION, __version__

_COLLECT_EVERY = 50_000  # objects; importing the libraries makes many and leaves no garbage: a tenth of a short run
CHILD_FLAG = "--graymatter-child"  # gm_engine.child.FLAG, without loading what lies around it
EXIT_OK, EXIT_ERROR, EXIT_USAGE, EXIT_NOT_FOUND, EXIT_CONFLICT, EXIT_INTERRUPTED = 0, 1, 2, 3, 4, 130
_SHOWN_PACKAGES = {"chromadb": "chromadb", "qt": "PySide6_Essentials", "mcp": "mcp"}
_HELP = """See, search, correct and publish what AI agents remember.

TARGET is a fact's id or its exact text. Exit codes: 0 done, 1 error, 2 usage, 3 not found, 4 conflict, 130 interrupted.
Errors are one line on standard error; with --json they are {"error": {"code", "message"}}.
"""


def _show_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if not value:
        return
    from importlib.metadata import PackageNotFoundError, version  # says it without loading what it speaks of

    found = {"engine": __version__, "schema": str(SCHEMA_VERSION), "python": ".".join(map(str, sys.version_info[:3]))}
    for name, package in _SHOWN_PACKAGES.items():
        try:
            found[name] = version(package)
        except PackageNotFoundError:
            found[name] = "not installed"
    session = context.ensure_object(Session)
    session.json = session.json or "--json" in session.given
    lines = [f"{PROGRAM} {__version__}", *(f"{name} {text}" for name, text in found.items() if name != "engine")]
    session.answer({"program": PROGRAM, **found}, lines)
    context.exit()


@click.group(PROGRAM, cls=LazyGroup, help=_HELP, context_settings={"max_content_width": 100})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help="Print the versions."
)
@shared_options
def cli() -> None:
    """The root of all commands."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; the console script exits with it."""
    _stand_in_for_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    gc.set_threshold(_COLLECT_EVERY)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads wait for each other longer than one scan takes
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == [CHILD_FLAG]:
        return _run_child(given)
    session = Session(given=tuple(given))
    try:
        code = _run(given, session)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return EXIT_ERROR
    return code


def _stand_in_for_closed_streams() -> None:
    """Whoever started us may have closed standard streams: then there is nothing to read, and nobody who listens."""
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _run_child(given: list[str]) -> int:
    """A frozen program has no interpreter to start its child processes with; it starts itself."""
    from gm_engine import child

    return child.run(given) if child.is_child(given) else EXIT_USAGE


def _run(given: list[str], session: Session) -> int:
    try:
        result = cli.main(args=given, prog_name=PROGRAM, standalone_mode=False, obj=session)
    except NoArgsIsHelpError as error:
        sys.stdout.write(f"{error.message}\n")
        return EXIT_USAGE
    except BrokenPipeError:
        raise
    except (click.ClickException, click.Abort, KeyboardInterrupt, GrayMatterError, OSError) as error:
        return _fail(session, given, error)
    return result if isinstance(result, int) else EXIT_OK


def _told(error: BaseException) -> tuple[str, str, int]:
    """The stable code, the sentence and the exit code of an expected failure."""
    match error:
        case click.UsageError():
            where = error.ctx.command_path if error.ctx is not None else PROGRAM
            return "usage", f"{error.format_message()} See `{where} --help`.", EXIT_USAGE
        case click.ClickException():
            return "error", error.format_message(), EXIT_ERROR
        case GrayMatterError():
            return error.code, error.message, exit_code(error)
        case OSError():
            said = error.strerror or str(error)
            return "io_error", said if error.filename is None else f"{error.filename}: {said}", EXIT_ERROR
        case _:
            return Cancelled.code, "Interrupted; what was finished before is kept.", EXIT_INTERRUPTED


def exit_code(error: GrayMatterError) -> int:
    """2 for an argument that breaks the contract, 3 not found, 4 conflict, 1 everything else."""
    match error:
        case InvalidInput():
            return EXIT_USAGE
        case NotFound():
            return EXIT_NOT_FOUND
        case FactChanged() | UndoConflict() | BlockedValue() | ProposalDecided():
            return EXIT_CONFLICT
        case _:
            return EXIT_ERROR


def _fail(session: Session, given: list[str], error: BaseException) -> int:
    code, message, exit_with = _told(error)
    asked = given[: given.index("--")] if "--" in given else given
    if session.json or "--json" in asked:
        line = json.dumps({"error": {"code": code, "message": message}}, ensure_ascii=False)
    else:
        line = f"{PROGRAM}: {plain(message)}"
    sys.stdout.flush()
    sys.stderr.write(f"{line}\n")
    return exit_with


def _drop_output() -> None:
    """Nobody reads any more: the rest goes nowhere, so that the interpreter's last flush is quiet as well."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
