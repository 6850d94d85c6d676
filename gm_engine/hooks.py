"""Calls into the host program: what it asked to be told, at the moment it happens, in the thread where it happens."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import ParamSpec

Told = ParamSpec("Told")

_log = logging.getLogger(__name__)


def tell(hook: Callable[Told, object] | None, *what: Told.args, **named: Told.kwargs) -> None:
    """Calls `hook`, if there is one. A hook that fails is logged and breaks nothing: what it was told has happened."""
    if hook is None:
        return
    try:
        hook(*what, **named)
    except Exception:  # the host's own code, after our work is done
        _log.exception("a hook failed")
