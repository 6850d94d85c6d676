"""Sections of the Settings page: which models this program uses."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit, QProgressBar

from gm_desktop.engine_choices import EmbeddingChoice, LanguageChoice
from gm_desktop.i18n import tr
from gm_desktop.theme import Theme
from gm_desktop.viewmodels.settings_models import ModelSettings, NotTried, Refused, Trial, Trying, Worked
from gm_desktop.views.settings_parts import Section, stretched
from gm_desktop.widgets.basics import push_button, row, text_label
from gm_desktop.widgets.form_card import ChoiceBox, FormCard, ResultLine

_OFFLINE = {"bundled", "keyword-only"}


class _ModelForm(FormCard):
    """Where a model is: kind, address, name, the name of its key; a test and a button that takes it over."""

    def __init__(self, theme: Theme, title: str, note: str, kinds: tuple[tuple[str, str], ...]) -> None:
        super().__init__(title, note)
        self.kind = ChoiceBox(kinds)
        self.url, self.model, self.key_name = QLineEdit(), QLineEdit(), QLineEdit()
        self.decided = ResultLine(theme)
        self.result = ResultLine(theme)
        self.test = push_button(tr("Test"))
        self.use = push_button(tr("Use this model"), "primary")
        self.add_wide(self.decided)
        self.kind_hint = self.add(tr("Model"), self.kind)
        self.add(tr("Address"), self.url)
        self.add(tr("Name"), self.model)
        self.key_hint = self.add(tr("Key"), self.key_name, " ")
        self.add_wide(self.result)

    def read(self) -> tuple[str, str, str, str]:
        """Kind, address, name, name of the key."""
        return (self.kind.chosen, self.url.text().strip(), self.model.text().strip(), self.key_name.text().strip())

    def fill(self, kind: str, url: str, model: str, key_name: str) -> None:
        """Shows what is chosen."""
        self.kind.choose(kind)
        for field, value in ((self.url, url), (self.model, model), (self.key_name, key_name)):
            field.setText(value)

    def enable(self, *, is_free: bool, has_server: bool, is_trying: bool, differs: bool) -> None:
        """Nothing can be typed where the environment decides, or without a server; only another choice can be used."""
        self.kind.setEnabled(is_free)
        for field in (self.url, self.model, self.key_name):
            field.setEnabled(is_free and has_server)
        self.use.setEnabled(is_free and differs)
        self.test.setEnabled(not is_trying)

    def show_trial(self, trial: Trial) -> None:
        """How the last test ended."""
        if isinstance(trial, Trying):
            self.result.say("text_muted", tr("Asking the model…"))
        elif isinstance(trial, Worked):
            self.result.say("success", trial.message)
        elif isinstance(trial, Refused):
            self.result.say("danger", trial.message)
        elif isinstance(trial, NotTried):
            self.result.say("", "")

    def when_edited(self, act: Callable[[], None]) -> None:
        """Calls `act` after each change by the person."""
        self.kind.currentIndexChanged.connect(lambda _: act())
        for field in (self.url, self.model, self.key_name):
            field.textChanged.connect(lambda _: act())


class EmbeddingSection(Section):
    """Where vectors come from."""

    section_id, title, icon_name = "embedding", "Embedding", "brain"
    intro = (
        "Similarity search compares vectors of texts. The bundled model makes them on this machine; "
        "any other choice sends the texts of your facts to the server that you name."
    )

    def __init__(self, viewmodel: ModelSettings, theme: Theme) -> None:
        super().__init__()
        self._viewmodel = viewmodel
        kinds = (
            ("bundled", tr("Bundled, on this machine (all-MiniLM-L6-v2)")),
            ("ollama", tr("Ollama")),
            ("openai", tr("OpenAI, or any server with the same API")),
            ("voyage", tr("Voyage")),
            ("auto-remote", tr("The first that is there: Ollama, OpenAI, Voyage")),
            ("keyword-only", tr("None: words and dates alone")),
        )
        self.form = _ModelForm(theme, tr("Where vectors come from"), "", kinds)
        self.copy = push_button(tr("Copy for other programs"), "link", self._copy)
        self.copy.setToolTip(tr("The environment variables that make other programs embed with the same model"))
        self.form.add_wide(row(self.form.use, self.form.test, 1, self.copy))
        self.vectors = FormCard(tr("Vectors of this store"))
        self.progress_text = text_label("", "", wrap=True)
        self.bar = QProgressBar()
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.vectors.add_wide(self.progress_text)
        self.vectors.add_wide(self.bar)
        note = tr("After a change, texts get new vectors beside your work; until then, the previous model answers.")
        self.vectors.add_wide(text_label(note, "small", wrap=True))
        stretched(self, (self.form, self.vectors))
        self._wire()
        self._fill()
        self._show_vectors()

    def _wire(self) -> None:
        model, form = self._viewmodel, self.form
        form.use.clicked.connect(lambda _on=False: model.use_embedding(self._choice()))
        form.test.clicked.connect(lambda _on=False: model.try_embedding(self._choice()))
        form.when_edited(self._refresh)
        model.changed.connect(self._fill)
        model.trials_changed.connect(self._refresh)
        model.vectors_changed.connect(self._show_vectors)

    def is_settled(self) -> bool:
        """Whether it waits for no answer."""
        return not self._viewmodel.is_waiting

    def _choice(self) -> EmbeddingChoice:
        kind, url, name, key_name = self.form.read()
        return EmbeddingChoice(kind) if kind in _OFFLINE else EmbeddingChoice(kind, url, name, key_name)

    def _fill(self) -> None:
        choice = self._viewmodel.choices.embedding
        self.form.fill(choice.mode, choice.url, choice.model, choice.key_name)
        self._refresh()

    def _refresh(self) -> None:
        model, form = self._viewmodel, self.form
        has_server = form.kind.chosen not in _OFFLINE
        note = model.embedding_note
        form.decided.say("warning", note)
        trying = isinstance(model.embedding_trial, Trying)
        differs = self._choice() != model.choices.embedding
        form.enable(is_free=not note, has_server=has_server, is_trying=trying, differs=differs)
        own = tr("The provider's own") if has_server else tr("No server is asked")
        for field in (form.url, form.model, form.key_name):
            field.setPlaceholderText(own)
        form.key_hint.setText(model.key_note(form.key_name.text()) if has_server else "")
        form.key_hint.setVisible(has_server)
        form.show_trial(model.embedding_trial)

    def _show_vectors(self) -> None:
        share = self._viewmodel.vector_share
        self.progress_text.setText(self._viewmodel.vectors or tr("No store is open."))
        self.bar.setVisible(share is not None)
        self.bar.setValue(round(1000 * (share or 0.0)))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._viewmodel.environment_lines(self._choice()))


class LanguageSection(Section):
    """Who writes summaries."""

    section_id, title, icon_name = "language", "Language model", "sparkles"
    intro = (
        "Consolidation can ask a language model for summaries of related facts. What it writes is a card in the "
        "inbox: nothing changes before you accept it. Without a model, nothing is sent anywhere."
    )

    def __init__(self, viewmodel: ModelSettings, theme: Theme) -> None:
        super().__init__()
        self._viewmodel = viewmodel
        kinds = (
            ("", tr("None")),
            ("openai", tr("A server that speaks like OpenAI")),
            ("anthropic", tr("Anthropic")),
        )
        self.form = _ModelForm(theme, tr("Who writes summaries"), "", kinds)
        self.form.add_wide(row(self.form.use, self.form.test, 1))
        stretched(self, (self.form,))
        model, form = viewmodel, self.form
        form.use.clicked.connect(lambda _on=False: model.use_language(self._choice()))
        form.test.clicked.connect(lambda _on=False: model.try_language(self._choice()))
        form.when_edited(self._refresh)
        model.changed.connect(self._fill)
        model.trials_changed.connect(self._refresh)
        self._fill()

    def is_settled(self) -> bool:
        """Whether it waits for no answer."""
        return not self._viewmodel.is_waiting

    def _choice(self) -> LanguageChoice:
        kind, url, name, key_name = self.form.read()
        return LanguageChoice(kind, url, name, key_name) if kind else LanguageChoice()

    def _fill(self) -> None:
        choice = self._viewmodel.choices.language
        self.form.fill(choice.kind, choice.url, choice.model, choice.key_name)
        self._refresh()

    def _refresh(self) -> None:
        model, form = self._viewmodel, self.form
        kind, note = form.kind.chosen, model.language_note
        form.decided.say("warning", note)
        trying = isinstance(model.language_trial, Trying)
        differs = self._choice() != model.choices.language
        form.enable(is_free=not note, has_server=bool(kind), is_trying=trying or not kind, differs=differs)
        form.use.setText(tr("Use this model") if kind else tr("Use no model"))
        address = "https://api.anthropic.com" if kind == "anthropic" else "http://localhost:1234/v1"
        nothing = tr("No model is asked")
        form.url.setPlaceholderText(address if kind else nothing)
        form.model.setPlaceholderText(tr("As the server calls it") if kind else nothing)
        form.key_name.setPlaceholderText(model.default_key_name if kind else nothing)
        form.key_hint.setText(model.key_note(form.key_name.text() or model.default_key_name) if kind else "")
        form.key_hint.setVisible(bool(kind))
        form.show_trial(model.language_trial)
