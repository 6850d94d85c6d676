"""The actions of the Search page: each is one `ActionSpec`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gm_desktop.actions import ActionSpec, always
from gm_desktop.i18n import tr
from gm_desktop.viewmodels.question import Scope
from gm_desktop.viewmodels.search import SearchViewModel
from gm_desktop.viewmodels.search_models import SearchModels
from gm_desktop.views.search_inspector import Tab

HIT_MENU = "hit.revise hit.pin hit.open | hit.why_not hit.expect | hit.retire hit.block"


@dataclass(frozen=True, slots=True)
class SearchDeeds:
    """What the page does when an action runs."""

    ask: Callable[[], None]
    open_tab: Callable[[Tab], None]
    set_batch: Callable[[bool], None]
    set_eye: Callable[[bool], None]
    copy_eye: Callable[[], None]
    choose_moment: Callable[[], None]
    revise: Callable[[], None]
    open_hit: Callable[[], None]
    why_not_hit: Callable[[], None]
    expect_hit: Callable[[], None]
    save_profile: Callable[[], None]


def search_specs(models: SearchModels, deeds: SearchDeeds) -> tuple[ActionSpec, ...]:
    """In menu order: asking, hits, looking into them, the lab."""
    return (*_asking(models, deeds), *_hits(models, deeds), *_looking(models, deeds), *_lab(models, deeds))


def _asking(models: SearchModels, deeds: SearchDeeds) -> tuple[ActionSpec, ...]:
    search, batch = models.search, models.batch
    return (
        ActionSpec("query.focus", tr("Ask a question"), "search", "Ctrl+L", run=deeds.ask, words="search recall"),
        ActionSpec(
            "query.batch",
            tr("Ask several questions"),
            "list",
            "Ctrl+B",
            always,
            lambda: deeds.set_batch(not batch.is_open),
            words="batch queries many merged",
            checked=lambda: batch.is_open,
        ),
        _scope(search, "agent", tr("Search the agent's own facts"), "bot"),
        _scope(search, "shared", tr("Search shared facts"), "users"),
        _scope(search, "all", tr("Search own and shared facts"), "layers"),
        ActionSpec(
            "query.as_of",
            tr("Ask as of an earlier moment…"),
            "history",
            "",
            always,
            deeds.choose_moment,
            words="time past",
        ),
        ActionSpec(
            "query.now",
            tr("Ask as of now"),
            "clock",
            "",
            lambda: search.question.as_of_ns is not None,
            lambda: search.set_as_of(None),
        ),
    )


def _scope(search: SearchViewModel, scope: Scope, title: str, icon: str) -> ActionSpec:
    return ActionSpec(
        f"scope.{scope}",
        title,
        icon,
        "",
        lambda: scope == "shared" or bool(search.question.agent_id),
        lambda: search.set_scope(scope),
        words="agent namespace",
        checked=lambda: search.question.scope == scope,
    )


def _hits(models: SearchModels, deeds: SearchDeeds) -> tuple[ActionSpec, ...]:
    search, lab, batch = models.search, models.lab, models.batch

    def has_hit() -> bool:
        return search.selected_hit is not None and not batch.is_open

    def can_change() -> bool:
        return has_hit() and search.verbs.can_write

    def is_open() -> bool:
        return has_hit() or (batch.is_open and batch.selected_id is not None)

    return (
        ActionSpec("hit.revise", tr("Revise the hit…"), "pencil", "F2", can_change, deeds.revise),
        ActionSpec("hit.pin", tr("Pin or unpin the hit"), "pin", "P", can_change, search.toggle_pin),
        ActionSpec("hit.retire", tr("Retire the hit"), "archive", "Del", can_change, search.retire),
        ActionSpec(
            "hit.block",
            tr("Retire the hit and never store it again"),
            "shield-check",
            "Shift+Del",
            can_change,
            search.retire_for_ever,
            words="forget block forbid refuse",
        ),
        ActionSpec("hit.open", tr("Open the hit in Memory"), "brain", "Ctrl+Return", is_open, deeds.open_hit),
        ActionSpec(
            "hit.why_not",
            tr("Follow the hit in Why not that?"),
            "circle-question-mark",
            "",
            has_hit,
            deeds.why_not_hit,
            words="missing",
        ),
        ActionSpec(
            "hit.expect",
            tr("Expect the hit for this question"),
            "circle-check",
            "Ctrl+J",
            lambda: lab.can_expect,
            deeds.expect_hit,
            words="judge judged evaluation",
        ),
    )


def _looking(models: SearchModels, deeds: SearchDeeds) -> tuple[ActionSpec, ...]:
    eye = models.eye
    return (
        ActionSpec(
            "why.show",
            tr("Why this?"),
            "scale",
            "Ctrl+Y",
            always,
            lambda: deeds.open_tab("why"),
            "View",
            "explain receipt",
        ),
        ActionSpec(
            "why_not.show",
            tr("Why not that?"),
            "circle-question-mark",
            "Shift+F7",
            always,
            lambda: deeds.open_tab("why_not"),
            "View",
            "explain missing fact",
        ),
        ActionSpec(
            "lab.show",
            tr("Ranking lab"),
            "sliders",
            "Ctrl+R",
            always,
            lambda: deeds.open_tab("lab"),
            "View",
            "weights sliders tune",
        ),
        ActionSpec(
            "eye.show",
            tr("Agent's eye"),
            "eye",
            "Ctrl+E",
            always,
            lambda: deeds.set_eye(not eye.is_open),
            "View",
            "mcp client text exact",
            lambda: eye.is_open,
        ),
        ActionSpec(
            "eye.copy",
            tr("Copy what the agent receives"),
            "copy",
            "",
            lambda: bool(eye.is_open and eye.shown),
            deeds.copy_eye,
        ),
    )


def _lab(models: SearchModels, deeds: SearchDeeds) -> tuple[ActionSpec, ...]:
    lab = models.lab

    def can_keep() -> bool:
        return lab.is_trial and lab.can_write

    return (
        ActionSpec(
            "lab.reset",
            tr("Rank as the store does"),
            "undo",
            "",
            lambda: lab.is_trial,
            lab.reset,
            words="lab reset weights",
        ),
        ActionSpec(
            "lab.make_default",
            tr("Make this ranking the store's own"),
            "database",
            "",
            can_keep,
            lab.make_default,
            words="lab save default",
        ),
        ActionSpec(
            "lab.save_profile",
            tr("Save this ranking as a profile…"),
            "bookmark",
            "",
            lambda: lab.can_write,
            deeds.save_profile,
            words="lab weights",
        ),
        ActionSpec(
            "lab.run",
            tr("Run the judged questions"),
            "sparkles",
            "Ctrl+Shift+R",
            lambda: bool(lab.query_set) and not lab.is_running,
            lab.run,
            words="lab evaluate query set",
        ),
    )
