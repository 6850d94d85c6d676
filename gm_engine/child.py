"""Programs of ours that run as a child process: how they are started, in a checkout as in a frozen build.

A frozen build has no interpreter: there the program starts itself with `FLAG`, and its entry points call `run` first.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module

FLAG = "--graymatter-child"
PROBE = "gm_engine.vectors.probe"
BUILD = "gm_engine.vectors.bulk_child"
_PROGRAM = re.compile(rf"(?:{re.escape(PROBE)}|(?:gm_engine|exporters)(?:\.\w+)*\.\w+_child)")


def command(program: str, *arguments: str) -> list[str]:
    """The command line that runs `program`: `PROBE`, or a module of ours whose name ends in `_child`.

    It takes no code from the folder in which it is started, which may be anybody's. Raises `OSError` where nothing can
    be started.
    """
    if not sys.executable:
        raise OSError("this program does not know its own interpreter")
    start = (FLAG,) if getattr(sys, "frozen", False) else ("-P", "-m")
    return [sys.executable, *start, program, *arguments]


def environment() -> dict[str, str]:
    """Our environment, with the packages where we found them."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def is_child(arguments: Sequence[str]) -> bool:
    """Whether a program was started by `command`, given its arguments without its name."""
    return len(arguments) >= 2 and arguments[0] == FLAG and _PROGRAM.fullmatch(arguments[1]) is not None


def run(arguments: Sequence[str]) -> int:
    """Runs what `is_child` recognised, and returns its exit code."""
    code = import_module(arguments[1]).main(list(arguments[2:]))
    return int(code)
