"""Filter chips above the journal: agent, what was done, when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from gm_desktop.formatting import number
from gm_desktop.i18n import tr, tr_count
from gm_desktop.plain_text import as_caption
from gm_desktop.theme import MARGIN, SPACE
from gm_desktop.viewmodels.activity import ActivityViewModel
from gm_desktop.viewmodels.activity_filter import ActivityFilter
from gm_desktop.viewmodels.activity_words import verb_title
from gm_desktop.widgets.basics import push_button
from gm_desktop.widgets.flow_layout import FlowLayout

_DAYS = (None, 1, 7, 30, 365)


class ActivityFilters(QWidget):
    """Reads and writes the view-model's filter; the menus are made as they open."""

    def __init__(self, viewmodel: ActivityViewModel) -> None:
        super().__init__()
        self._viewmodel = viewmodel
        self.agent, self.verbs, self.days = (push_button("", "chip") for _ in range(3))
        self.clear = push_button(tr("Clear"), "link", lambda: viewmodel.set_filter(ActivityFilter()))
        for chip, fill in (
            (self.agent, self._fill_agents),
            (self.verbs, self._fill_verbs),
            (self.days, self._fill_days),
        ):
            menu = QMenu(chip)
            menu.aboutToShow.connect(fill)
            chip.setMenu(menu)
        layout = FlowLayout(self, margins=(MARGIN, 0, MARGIN, 12), gap=SPACE)
        for widget in (self.agent, self.verbs, self.days, self.clear):
            layout.addWidget(widget)
        viewmodel.filter_changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        wanted = self._viewmodel.filter
        titles = dict(self._viewmodel.agents)
        agent = titles.get(wanted.agent_id or "", wanted.agent_id or "")
        verbs = ", ".join(verb_title(each) for each in sorted(wanted.verbs)[:2])
        if len(wanted.verbs) > 2:
            verbs = tr_count("{count} kind of action", "{count} kinds of action", len(wanted.verbs))
        self._say(self.agent, agent or tr("Agent"), is_on=wanted.agent_id is not None)
        self._say(self.verbs, verbs or tr("What was done"), is_on=bool(wanted.verbs))
        self._say(self.days, _days_text(wanted.days) if wanted.days else tr("When"), is_on=wanted.days is not None)
        self.clear.setVisible(wanted.narrows)

    @staticmethod
    def _say(chip: QPushButton, title: str, *, is_on: bool) -> None:
        chip.setText(f"{as_caption(title)} ▾")
        chip.setAccessibleName(title)
        chip.setChecked(is_on)

    def _fill_agents(self) -> None:
        wanted = self._viewmodel.filter
        agents: Sequence[tuple[str | None, str]] = ((None, tr("All agents")), *self._viewmodel.agents)
        menu = self.agent.menu()
        menu.clear()
        group = QActionGroup(menu)
        for agent_id, title in agents:
            action = menu.addAction(as_caption(title))
            action.setCheckable(True)
            action.setChecked(agent_id == wanted.agent_id)
            group.addAction(action)
            action.triggered.connect(
                lambda _on=False, agent_id=agent_id: self._viewmodel.set_filter(
                    replace(self._viewmodel.filter, agent_id=agent_id)
                )
            )

    def _fill_verbs(self) -> None:
        menu = self.verbs.menu()
        menu.clear()
        for verb, count in self._viewmodel.verbs:
            action = menu.addAction(f"{verb_title(verb)}  ({number(count)})")
            action.setCheckable(True)
            action.setChecked(verb in self._viewmodel.filter.verbs)
            action.triggered.connect(
                lambda is_on, verb=verb: self._viewmodel.set_filter(
                    self._viewmodel.filter.with_verb(verb, wanted=is_on)
                )
            )

    def _fill_days(self) -> None:
        menu = self.days.menu()
        menu.clear()
        group = QActionGroup(menu)
        for days in _DAYS:
            action = menu.addAction(_days_text(days))
            action.setCheckable(True)
            action.setChecked(days == self._viewmodel.filter.days)
            group.addAction(action)
            action.triggered.connect(
                lambda _on=False, days=days: self._viewmodel.set_filter(replace(self._viewmodel.filter, days=days))
            )


def _days_text(days: int | None) -> str:
    if days is None:
        return tr("Any time")
    return tr("Last 24 hours") if days == 1 else tr("Last {days} days", days=days)
