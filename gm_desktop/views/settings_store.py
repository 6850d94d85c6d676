"""Sections of the Settings page about the open store: ranking, blocked values, the dictionary."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QFileDialog

from gm_desktop.actions import ActionSpec
from gm_desktop.i18n import tr
from gm_desktop.theme import Theme
from gm_desktop.viewmodels.settings_blocked import BlockedSettings
from gm_desktop.viewmodels.settings_dictionary import DictionarySettings, EntryDraft
from gm_desktop.viewmodels.settings_store import RankingSettings
from gm_desktop.views.settings_dialogs import BlockDialog, EntryDialog
from gm_desktop.views.settings_parts import ListSection, Section, stretched
from gm_desktop.widgets.basics import push_button, row
from gm_desktop.widgets.form_card import ChoiceBox, FormCard, ResultLine, ShareBox


class RankingSection(Section):
    """How this store ranks by default."""

    section_id, title, icon_name = "recall", "Recall", "search"
    intro = (
        "How this store ranks, for every agent and program that does not say otherwise. "
        "In the ranking lab you see what a change does to your own questions before you keep it."
    )

    lab_wanted = Signal()

    def __init__(self, viewmodel: RankingSettings, theme: Theme) -> None:
        super().__init__()
        self._viewmodel = viewmodel
        self.profile = ChoiceBox(
            (
                ("default", tr("GrayMatter's own: dates count half")),
                ("balanced", tr("Balanced: dates count a tenth")),
                ("", tr("Own weights")),
            )
        )
        self.gate = ShareBox(1.0)
        self.floor = ShareBox(1.0)
        self.confidence = ShareBox(0.5)
        self.exact = QCheckBox(tr("Compare vectors one by one, never through the index"))
        self.failed = ResultLine(theme)
        self.lab = push_button(tr("Open the ranking lab"), "", self.lab_wanted.emit)
        self._lay_out()
        self.profile.activated.connect(self._on_profile)
        self.exact.clicked.connect(viewmodel.set_exact)
        self.gate.valueChanged.connect(viewmodel.set_coverage_gate)
        self.floor.valueChanged.connect(viewmodel.set_min_relevance)
        self.confidence.valueChanged.connect(viewmodel.set_confidence_weight)
        viewmodel.changed.connect(self._show)
        self._show()

    def is_settled(self) -> bool:
        """Whether it waits for no answer."""
        return not self._viewmodel.is_waiting

    def _lay_out(self) -> None:
        card = FormCard(tr("Ranking"))
        card.add_wide(self.failed)
        card.add(tr("Weights"), self.profile, tr("How much similarity, words and dates count against each other."))
        card.add(
            tr("Relevance floor"),
            self.floor,
            tr("Hits below this share of the best score are left out; 0 keeps them all."),
        )
        card.add(
            tr("Confidence"),
            self.confidence,
            tr("How much the label counts in a score, up to 0.5; 0: not at all."),
        )
        card.add(
            tr("Word gate"),
            self.gate,
            tr("How much of the question's weight in words a fact must share to be ranked by words."),
        )
        card.add_wide(self.exact)
        card.add_wide(row(self.lab, 1))
        stretched(self, (card,))

    def _on_profile(self, _at: int) -> None:
        if self.profile.chosen:
            self._viewmodel.use_profile(self.profile.chosen)
        else:
            self._show()

    def _show(self) -> None:
        model = self._viewmodel
        settings = model.settings
        self.failed.say("danger" if model.problem and settings is None else "warning", model.problem)
        for field in (self.profile, self.gate, self.floor, self.confidence, self.exact):
            field.setEnabled(model.can_write)
        self.lab.setEnabled(settings is not None)
        if settings is not None:
            self.profile.choose(model.profile)
            self.gate.show_value(settings.coverage_gate)
            self.floor.show_value(settings.min_relevance)
            self.confidence.show_value(settings.confidence_weight)
            self.exact.setChecked(settings.vector_path == "exact")


class BlockedSection(ListSection):
    """What must never be stored again."""

    section_id, title, icon_name = "blocked", "Blocked values", "shield-check"
    intro = (
        "A value on this list is refused whoever writes it, by whatever way, and the attempt is counted. "
        "Spaces and the way letters are composed make no difference; upper case and digits do."
    )

    def __init__(self, viewmodel: BlockedSettings, theme: Theme) -> None:
        super().__init__(viewmodel, theme, name=tr("Blocked values"))
        self._viewmodel = viewmodel
        self.add = push_button(tr("Block a value…"), "primary", self._on_add)
        self.edit = push_button(tr("Edit…"), "", self._on_edit)
        self.remove = push_button(tr("Allow again"), "", self._on_remove)
        card = FormCard(tr("Blocked values"))
        card.add_list(self.list)
        card.add_wide(row(self.add, self.edit, self.remove, 1))
        stretched(self, (card,))
        self.list.opened.connect(lambda _key: self._on_edit())
        self.show_list()

    def refresh(self) -> None:
        """What is refused can be changed where the store can be written."""
        can_write, key = self._viewmodel.can_write, self.list.key
        self.add.setEnabled(can_write)
        self.edit.setEnabled(can_write and bool(key))
        self.remove.setEnabled(can_write and bool(key))

    def specs(self) -> tuple[ActionSpec, ...]:
        """Adding to the list, while it shows."""
        return (
            ActionSpec(
                "value.block",
                tr("Block a value…"),
                "plus",
                when=self._may_add,
                run=self._on_add,
                words="blocked refuse never store",
            ),
        )

    def _may_add(self) -> bool:
        return self.isVisible() and self._viewmodel.can_write

    def _on_add(self) -> None:
        self._ask("", None, self._viewmodel.add)

    def _ask(
        self, text: str, agent_id: str | None, write: Callable[[str, str | None, Callable[[], None]], None]
    ) -> None:
        """Asks for a value; where it cannot be written, it can be asked for again as it was typed."""

        def chosen(text: str, agent_id: str | None) -> None:
            write(text, agent_id, lambda: self._ask(text, agent_id, write))

        dialog = BlockDialog(self._viewmodel.agents, text, agent_id, parent=self.window())
        dialog.chosen.connect(chosen)
        dialog.open()

    def _on_edit(self) -> None:
        key = self.list.key
        block = self._viewmodel.block(key)
        if block is None or not self._viewmodel.can_write:
            return
        self._ask(block.text or "", block.agent_id, partial(self._viewmodel.change, key))

    def _on_remove(self) -> None:
        self._viewmodel.remove(self.list.key)


class DictionarySection(ListSection):
    """The person's own names for the graph."""

    section_id, title, icon_name = "dictionary", "Entity dictionary", "book-open"
    intro = (
        "How names are written and what they stand for, for the graph that is read out of facts. "
        "An entry takes effect at once; one that is never an entity keeps a word out of the graph."
    )

    def __init__(self, viewmodel: DictionarySettings, theme: Theme) -> None:
        super().__init__(viewmodel, theme, name=tr("Entity dictionary"))
        self._viewmodel = viewmodel
        self.add = push_button(tr("Add a name…"), "primary", self._on_add)
        self.edit = push_button(tr("Edit…"), "", self._on_edit)
        self.remove = push_button(tr("Remove"), "", lambda: viewmodel.remove(self.list.key))
        self.take_in = push_button(tr("Import…"), "quiet", self._on_import)
        self.write_out = push_button(tr("Export…"), "quiet", self._on_export)
        card = FormCard(tr("Names"))
        card.add_list(self.list)
        card.add_wide(row(self.add, self.edit, self.remove, 1, self.take_in, self.write_out))
        stretched(self, (card,))
        self.list.opened.connect(lambda _key: self._on_edit())
        self.show_list()

    def refresh(self) -> None:
        """Names can be changed where the store can be written."""
        can_write, key = self._viewmodel.can_write, self.list.key
        self.add.setEnabled(can_write)
        self.take_in.setEnabled(can_write)
        self.edit.setEnabled(can_write and bool(key))
        self.remove.setEnabled(can_write and bool(key))
        self.write_out.setEnabled(bool(self._viewmodel.lines.lines))

    def specs(self) -> tuple[ActionSpec, ...]:
        """Adding to the list, while it shows."""
        return (
            ActionSpec(
                "name.add", tr("Add a name…"), "plus", when=self._may_add, run=self._on_add, words="entity dictionary"
            ),
        )

    def _may_add(self) -> bool:
        return self.isVisible() and self._viewmodel.can_write

    def _on_add(self) -> None:
        self._ask(self._viewmodel.draft(""), "")

    def _ask(self, draft: EntryDraft, instead_of: str) -> None:
        """Shows an entry as a form; where it cannot be written, it can be shown again as it was filled in."""

        def saved(filled: EntryDraft) -> None:
            self._viewmodel.put(filled, lambda: self._ask(filled, instead_of), instead_of=instead_of)

        dialog = EntryDialog(draft, self._viewmodel.kinds, parent=self.window())
        dialog.saved.connect(saved)
        dialog.open()

    def _on_edit(self) -> None:
        label = self.list.key
        if label and self._viewmodel.can_write:
            self._ask(self._viewmodel.draft(label), label)

    def _on_import(self) -> None:
        dialog = QFileDialog(self.window(), tr("Import a dictionary"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([tr("Dictionaries (*.json)"), tr("All files (*)")])
        dialog.fileSelected.connect(lambda path: self._viewmodel.import_file(Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _on_export(self) -> None:
        dialog = QFileDialog(self.window(), tr("Export the dictionary"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters([tr("Dictionaries (*.json)")])
        dialog.setDefaultSuffix("json")
        dialog.selectFile("dictionary.json")
        dialog.fileSelected.connect(lambda path: self._viewmodel.export_file(Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
