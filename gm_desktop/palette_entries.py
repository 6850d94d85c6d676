"""What the command palette can find now: every action that can run, and every agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from gm_desktop.action_table import ActionTable
from gm_desktop.i18n import tr, tr_count
from gm_desktop.palette import PaletteEntry
from gm_engine.records import AgentSummary


def palette_entries(
    actions: ActionTable,
    agents: Sequence[AgentSummary],
    *,
    open_agent: Callable[[str], None],
    subjects: Sequence[PaletteEntry] = (),
) -> list[PaletteEntry]:
    """Pages first, then the other actions, then the agents, then the help's subjects."""
    specs = sorted(actions.specs(), key=lambda spec: not spec.id.startswith("page."))
    entries = [
        PaletteEntry(spec.title, tr(spec.menu), spec.icon, spec.shortcut, partial(actions.run, spec.id), spec.words)
        for spec in specs
        if spec.when() and spec.id != "palette.open"
    ]
    entries += [
        PaletteEntry(
            agent.agent_id,
            tr("Agent"),
            "bot",
            tr_count("{count} fact", "{count} facts", agent.live),
            partial(open_agent, agent.agent_id),
        )
        for agent in agents
    ]
    return [*entries, *subjects]
