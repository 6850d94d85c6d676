"""Sections of the Settings page about the program itself: its look, its shortcuts, cycles that run by themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QButtonGroup, QCheckBox, QVBoxLayout, QWidget

from gm_desktop.actions import KeyLine
from gm_desktop.engine_choices import UpkeepChoice
from gm_desktop.i18n import LANGUAGES, tr
from gm_desktop.models.line_list import Line, LineList
from gm_desktop.theme import Mode, Theme
from gm_desktop.viewmodels.settings_models import ModelSettings
from gm_desktop.views.settings_parts import Section, stretched
from gm_desktop.widgets.basics import push_button, row
from gm_desktop.widgets.form_card import FIELD_HEIGHT, ChoiceBox, CountBox, FormCard
from gm_desktop.widgets.line_view import LineView

_MODES: tuple[tuple[Mode, str], ...] = (("system", "As the system"), ("light", "Light"), ("dark", "Dark"))


class AppearanceSection(Section):
    """The theme, and the language from the next start on."""

    section_id, title, icon_name = "appearance", "Appearance", "sun"

    def __init__(
        self,
        theme: Theme,
        set_theme: Callable[[Mode], None],
        *,
        language: str,
        set_language: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._theme = theme
        card = FormCard(tr("Colours"))
        self.modes = {mode: push_button(tr(name), "chip") for mode, name in _MODES}
        group = QButtonGroup(self)
        for mode, button in self.modes.items():
            group.addButton(button)
            button.clicked.connect(lambda _on=False, mode=mode: set_theme(mode))
        holder = QWidget()
        holder.setAccessibleName(tr("Theme"))
        holder.setLayout(row(*self.modes.values(), 1))
        holder.setMinimumHeight(FIELD_HEIGHT)  # its name stands beside them as beside a field
        card.add(tr("Theme"), holder, tr("Text and spacing follow the system's scaling, up to 200 %."))
        self.language = ChoiceBox((("", tr("As the system")), *LANGUAGES.items()))
        self.language.setAccessibleName(tr("Language"))
        self.language.choose(language)
        self.language.activated.connect(lambda _at: set_language(self.language.chosen))
        words = FormCard(tr("Language"))
        words.add(tr("Interface"), self.language, tr("From the next start on. Facts stay as they are written."))
        stretched(self, (card, words))
        theme.changed.connect(self._show)
        self._show()

    def look(self, _is_looked_at: bool) -> None:
        """The theme may have been chosen in the menu."""
        self._show()

    def _show(self) -> None:
        self.modes[self._theme.mode].setChecked(True)


class ShortcutsSection(Section):
    """Every action that has keys."""

    section_id, title, icon_name = "shortcuts", "Shortcuts", "keyboard"
    intro = "Everything that can be done has a place in the command palette (Ctrl+K), with its keys where it has some."

    def __init__(self, theme: Theme, keys: Callable[[], Sequence[KeyLine]], show: Callable[[], None]) -> None:
        super().__init__()
        self._keys = keys
        self.lines = LineList(self)
        self.view = LineView(self.lines, theme, tr("Keyboard shortcuts"), grows=True, most_px=4_000)
        card = FormCard(tr("Keyboard shortcuts"))
        card.add_list(self.view)
        stretched(self, (card,))
        card.add_wide(row(push_button(tr("Open in a window of its own"), "link", show), 1))

    def look(self, is_looked_at: bool) -> None:
        """Reads the actions when somebody looks."""
        if is_looked_at:
            found = self._keys()
            self.lines.set_lines([Line(str(at), each.title, mark=each.keys) for at, each in enumerate(found)])


class UpkeepSection(Section):
    """Cycles of consolidation that run by themselves."""

    section_id, title, icon_name = "consolidation", "Consolidation", "git-merge"
    intro = (
        "A cycle lets weights fade and puts duplicates, contradictions and summaries into the inbox. "
        "These rules are this program's; other programs that open the store have their own."
    )

    def __init__(self, viewmodel: ModelSettings) -> None:
        super().__init__()
        self._viewmodel = viewmodel
        self.by_itself = QCheckBox(tr("Run a cycle by itself after a write"))
        self.threshold = CountBox(1, 1_000_000)
        self.half_life = CountBox(1, 36_500, suffix=tr(" days"))
        self.kinds = {
            kind: QCheckBox(tr(name))
            for kind, name in (
                ("exact_duplicate", "Merge exact duplicates"),
                ("near_duplicate", "Merge near duplicates"),
                ("contradiction", "Settle contradictions"),
                ("summary", "Take summaries"),
            )
        }
        self.prune = QCheckBox(tr("Prune what has faded"))
        self.save = push_button(tr("Use these rules"), "primary", self._on_save)
        self._lay_out()
        viewmodel.changed.connect(self._fill)
        self._fill()
        for box in (self.by_itself, self.prune, *self.kinds.values()):
            box.toggled.connect(self._refresh)
        for count in (self.threshold, self.half_life):
            count.valueChanged.connect(self._refresh)

    def _lay_out(self) -> None:
        cycles = FormCard(tr("Cycles"))
        cycles.add_wide(self.by_itself)
        cycles.add(tr("Fewest facts"), self.threshold, tr("An agent with fewer facts is left alone."))
        cycles.add(tr("Half-life"), self.half_life, tr("After this time without a recall, a fact's weight is half."))
        alone = FormCard(
            tr("Without asking"), tr("What a cycle that runs by itself carries out at once. It can be undone.")
        )
        boxes = QVBoxLayout()
        boxes.setSpacing(8)
        for box in (*self.kinds.values(), self.prune):
            boxes.addWidget(box)
        alone.add_wide(boxes)
        bottom = QWidget()
        bottom.setLayout(row(self.save, 1))
        stretched(self, (cycles, alone, bottom))

    def _choice(self) -> UpkeepChoice:
        kept = self._viewmodel.choices.upkeep
        days = self.half_life.value()
        return self._viewmodel.upkeep(
            by_itself=self.by_itself.isChecked(),
            threshold=self.threshold.value(),
            half_life_h=kept.half_life_h if days == max(1, round(kept.half_life_h / 24)) else days * 24.0,
            auto_apply=[kind for kind, box in self.kinds.items() if box.isChecked()],
            auto_prune=self.prune.isChecked(),
        )

    def _fill(self) -> None:
        choice = self._viewmodel.choices.upkeep
        self.by_itself.setChecked(choice.by_itself)
        self.threshold.setValue(choice.threshold)
        self.half_life.setValue(max(1, round(choice.half_life_h / 24)))
        for kind, box in self.kinds.items():
            box.setChecked(kind in choice.auto_apply)
        self.prune.setChecked(choice.auto_prune)
        self._refresh()

    def _refresh(self) -> None:
        self.threshold.setEnabled(self.by_itself.isChecked())
        self.save.setEnabled(self._choice() != self._viewmodel.choices.upkeep)

    def _on_save(self) -> None:
        self._viewmodel.use_upkeep(self._choice())
