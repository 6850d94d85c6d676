"""The list of tools in the manual is made from the schema files. `GRAYMATTER_UPDATE_GOLDEN=1` writes it anew."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gm_engine.mcp.schemas import definitions

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "mcp.md"
MARK = "this list is made from them.\n"


def lines(tool: dict[str, Any]) -> Iterator[str]:
    wanted = tool["inputSchema"]["required"]
    kind = "Reads only." if tool["annotations"]["readOnlyHint"] else "Writes; never deletes."
    yield from ("", f"### `{tool['name']}`", "", f"{tool['description']} {kind}", "")
    yield from ("| argument | type | meaning |", "|---|---|---|")
    for name, schema in tool["inputSchema"]["properties"].items():
        type_name = "array of strings" if schema["type"] == "array" else schema["type"]
        values = " (" + ", ".join(f"`{value}`" for value in schema["enum"]) + ")" if "enum" in schema else ""
        needed = ", required" if name in wanted else ""
        yield f"| `{name}` | {type_name}{needed} | {schema['description']}{values} |"
    shapes = tool["outputSchema"].get("oneOf", [tool["outputSchema"]])
    said = [
        ", ".join(f"`{key}`" + ("" if key in shape["required"] else " (optional)") for key in shape["properties"])
        for shape in shapes
    ]
    yield from ("", f"Answer: {'; or '.join(said)}.")


def test_the_manual_lists_the_tools_as_their_schemas_say() -> None:
    head, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    page = head + mark + "\n".join(line for tool in definitions() for line in lines(tool)) + "\n"
    if os.environ.get("GRAYMATTER_UPDATE_GOLDEN"):
        PAGE.write_text(page, encoding="utf-8", newline="\n")
    assert mark == MARK
    assert page == PAGE.read_text(encoding="utf-8")
