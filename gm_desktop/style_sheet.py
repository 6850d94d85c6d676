"""The small style sheet on top of Fusion. Widgets choose a variant with the dynamic property `kind`."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from gm_desktop.paths import resource


def style_sheet(roles: Mapping[str, str]) -> str:
    """The style sheet for the roles of one theme."""
    values = {role: f"rgba({_rgba(value)})" if len(value) == 9 else value for role, value in roles.items()}
    template = Template(resource("themes", "style.qss").read_text(encoding="utf-8"))
    images = {"chevron": "chevron-grey", "chevron_up": "chevron-up-grey"}
    images["tick"] = "tick-white" if roles["on_accent"] == "#ffffff" else "tick-ink"
    return template.substitute(
        values, **{name: resource("icons", f"{icon}.svg").as_posix() for name, icon in images.items()}
    )


def _rgba(value: str) -> str:
    return ", ".join(str(int(value[start : start + 2], 16)) for start in (1, 3, 5, 7))
