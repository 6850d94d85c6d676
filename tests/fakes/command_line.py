"""Runs `graymatter` in this process or in one of its own, and keeps what it said."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from gm_engine.cli.main import main

ROOT = Path(__file__).resolve().parent.parent.parent
_START = "import sys; from gm_engine.cli.main import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """The error object that `--json` promises, from the one line on standard error."""
        (line,) = self.err.splitlines()
        error: dict[str, str] = json.loads(line)["error"]
        return error


def run(*arguments: object, stdin: bytes = b"") -> Answer:
    """One command in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    with redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "stdin", given):
        code = main([str(argument) for argument in arguments])
    return Answer(code, _said(out), _said(err))


def _said(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")


def command(*arguments: object) -> list[str]:
    """The command line of a process that runs `graymatter`."""
    return [sys.executable, "-W", "error", "-c", _START, *(str(argument) for argument in arguments)]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment in which no store of the person who tests can be found."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GRAYMATTER")}
    return {**env, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **(extra or {})}


def run_process(*arguments: object, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Answer:
    """One command in a process of its own."""
    done = subprocess.run(command(*arguments), input=stdin, capture_output=True, env=environment(env), check=False)
    return Answer(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))
