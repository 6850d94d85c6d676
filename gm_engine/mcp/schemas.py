"""The tools as clients see them: one JSON file each in `resources/schemas/mcp`, for server, tests and docs."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from gm_engine.mcp import tools
from gm_engine.resources import resource

TOOLS = tuple(tools.TOOLS)


@cache
def definitions() -> tuple[dict[str, Any], ...]:
    """Every tool as `tools/list` sends it: name, title, description, inputSchema, outputSchema, annotations."""
    return tuple(json.loads(resource("schemas", "mcp", f"{name}.json").read_text(encoding="utf-8")) for name in TOOLS)
