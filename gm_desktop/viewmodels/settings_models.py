"""Which models this program uses: trying one, choosing one, and how far embedding is. Without widgets."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_choices import (
    MODEL_KEY_NAME,
    EmbeddingChoice,
    EngineChoices,
    LanguageChoice,
    UpkeepChoice,
    config_of,
    embedding_config,
    environment_embeds,
    environment_speaks,
    language_config,
)
from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import duration, number
from gm_desktop.i18n import decimal, tr, tr_count
from gm_desktop.notices import Notices
from gm_desktop.plain_text import row_text
from gm_desktop.preferences import Preferences
from gm_desktop.tasks import Task
from gm_desktop.tickets import Latest
from gm_engine.config import EMBEDDING_VARIABLES, MODEL_VARIABLES, Config
from gm_engine.errors import GrayMatterError
from gm_engine.progress import CancelToken, Progress
from gm_engine.proposals import APPLICABLE_KINDS
from gm_engine.records import VectorStatus

if TYPE_CHECKING:
    from gm_engine import Memory
    from gm_engine.embedding.trial import EmbeddingTrial
    from gm_engine.language.trial import LanguageTrial

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NotTried:
    """Nobody asked the model yet."""


@dataclass(frozen=True, slots=True)
class Trying:
    """The model was asked."""


@dataclass(frozen=True, slots=True)
class Worked:
    """It answered: a sentence about that."""

    message: str


@dataclass(frozen=True, slots=True)
class Refused:
    """It did not: a sentence that says what to do."""

    message: str


Trial = NotTried | Trying | Worked | Refused


class ModelSettings(QObject):
    """The embedding model, the language model, and when cycles run by themselves."""

    default_key_name = MODEL_KEY_NAME
    changed = Signal()  # the choices
    trials_changed = Signal()
    vectors_changed = Signal()
    reopen_wanted = Signal()  # the store has to be opened again with the new choices

    def __init__(
        self,
        host: EngineHost,
        notices: Notices,
        preferences: Preferences,
        *,
        environ: Mapping[str, str] = os.environ,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._host, self._notices, self._preferences, self._environ = host, notices, preferences, environ
        self.choices = preferences.engine
        self.embedding_trial: Trial = NotTried()
        self.language_trial: Trial = NotTried()
        self.vectors = ""
        self.vector_share: float | None = None
        self._tasks: dict[str, Task] = {}
        self._reading = Latest()
        host.store_opened.connect(self._read_vectors)
        host.store_closed.connect(self._on_closed)
        host.indexed.connect(self._show_vectors)

    # --- what decides ----------------------------------------------------------------------------------------------

    @property
    def embedding_note(self) -> str:
        """Why a choice of embedding model is not used; empty when it is."""
        if environment_embeds(self._environ):
            names = ", ".join(each for each in EMBEDDING_VARIABLES.values() if self._environ.get(each))
            return tr("The environment names the model ({names}), so the choice here is not used.", names=names)
        return ""

    @property
    def language_note(self) -> str:
        """Why a choice of language model is not used; empty when it is."""
        if environment_speaks(self._environ):
            name = MODEL_VARIABLES["url"]
            return tr("The environment names the model ({names}), so the choice here is not used.", names=name)
        return ""

    def key_note(self, name: str) -> str:
        """Whether a key of that name is in the environment. The key itself is neither shown nor kept."""
        if not name.strip():
            return tr("The name of an environment variable, or of an entry of the keyring's service graymatter.")
        if self._environ.get(name.strip()):
            return tr("Found in the environment.")
        return tr("Not in the environment; the keyring is asked when the model is.")

    @staticmethod
    def environment_lines(choice: EmbeddingChoice) -> str:
        """What makes other programs use the same embedding model: lines for a shell's profile."""
        values = {"mode": choice.mode, "url": choice.url, "model": choice.model, "key_name": choice.key_name}
        return "\n".join(f"{EMBEDDING_VARIABLES[name]}={value}" for name, value in values.items() if value)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._reading.is_awaited or bool(self._tasks)

    # --- choosing --------------------------------------------------------------------------------------------------

    def use_embedding(self, choice: EmbeddingChoice) -> None:
        """Embeds with another model from now on: the store is opened again, and texts get new vectors meanwhile."""
        self._use(replace(self.choices, embedding=choice), tr("Embedding with another model from now on"))

    def use_language(self, choice: LanguageChoice) -> None:
        """Asks another language model from now on, or none."""
        said = tr("Summaries come from {model} now", model=row_text(choice.model, 60))
        self._use(replace(self.choices, language=choice), said if choice.kind else tr("No language model is asked now"))

    def upkeep(
        self, *, by_itself: bool, threshold: int, half_life_h: float, auto_apply: Sequence[str], auto_prune: bool
    ) -> UpkeepChoice:
        """The rules that a form describes."""
        kinds = tuple(kind for kind in APPLICABLE_KINDS if kind in auto_apply)
        return UpkeepChoice(by_itself, threshold, half_life_h, kinds, auto_prune)

    def use_upkeep(self, choice: UpkeepChoice) -> None:
        """Other rules for cycles that run by themselves."""
        self._use(replace(self.choices, upkeep=choice), tr("Cycles follow the new rules from now on"))

    def _use(self, choices: EngineChoices, said: str) -> None:
        if choices == self.choices:
            self._notices.show(tr("Nothing to change: it already is that way."))
            return
        try:
            config_of(choices, {})
        except GrayMatterError as error:
            self._notices.show(error.message, level="warning")
            return
        self.choices = self._preferences.engine = choices
        self.changed.emit()
        self._notices.show(said, level="success")
        self.reopen_wanted.emit()

    # --- trying ----------------------------------------------------------------------------------------------------

    def try_embedding(self, choice: EmbeddingChoice) -> None:
        """Asks an embedding model for two vectors, beside the window."""

        def job(_progress: Progress, _cancel: CancelToken) -> EmbeddingTrial:
            from gm_engine.embedding.trial import try_embedding  # numpy and onnxruntime: only when asked for

            mode, server = embedding_config(choice)
            return try_embedding(Config(embedding_mode=mode, embedding_server=server), self._environ)

        def took(trial: Trial) -> None:
            self.embedding_trial = trial

        self._try("embedding", tr("Asking the embedding model"), job, lambda found: Worked(_embedded(found)), took)

    def try_language(self, choice: LanguageChoice) -> None:
        """Asks a language model for a summary of two made-up facts, beside the window."""

        def job(_progress: Progress, cancel: CancelToken) -> LanguageTrial:
            from gm_engine.language.trial import try_language_model

            config = language_config(choice, self._environ)
            if config is None:
                raise GrayMatterError(tr("No language model is chosen."))
            return try_language_model(config, cancel=cancel)

        def took(trial: Trial) -> None:
            self.language_trial = trial

        self._try("language", tr("Asking the language model"), job, lambda found: Worked(_summed_up(found)), took)

    def _try(
        self,
        name: str,
        title: str,
        job: Callable[[Progress, CancelToken], T],
        said: Callable[[T], Trial],
        take: Callable[[Trial], None],
    ) -> None:
        if name in self._tasks:
            return

        def tell(trial: Trial) -> None:
            take(trial)
            self.trials_changed.emit()

        def ended() -> None:
            task = self._tasks.pop(name)
            if task.state.value == "cancelled":
                tell(NotTried())

        tell(Trying())
        task = self._host.run_alone(
            title, job, lambda found: tell(said(found)), lambda error: tell(Refused(error.message))
        )
        self._tasks[name] = task
        task.ended.connect(ended)

    # --- vectors ---------------------------------------------------------------------------------------------------

    def _read_vectors(self) -> None:
        self._reading.take(self._host.read(_vectors, self._show_vectors, lambda _: None))

    def _show_vectors(self, status: VectorStatus) -> None:
        said, total = _progress(status), status.embedded + status.pending
        if said != self.vectors:
            self.vectors = said
            self.vector_share = status.embedded / total if status.pending else None
            self.vectors_changed.emit()

    def _on_closed(self) -> None:
        self._reading.cancel()
        self.vectors, self.vector_share = "", None
        self.vectors_changed.emit()


def _vectors(memory: Memory) -> VectorStatus:
    return memory.status().vectors


def _progress(status: VectorStatus) -> str:
    """One sentence on how far embedding is."""
    if status.error:
        return row_text(status.error, 300)
    if not status.model:
        return tr("This store is searched by words and dates alone.")
    if not status.pending:
        return tr_count(
            "{count} text has its vector ({model}).",
            "{count} texts have their vectors ({model}).",
            status.embedded,
            model=status.model,
        )
    left = tr(", about {time} left", time=duration(status.left_s)) if status.left_s is not None else ""
    total = number(status.embedded + status.pending)
    said = tr(
        "Embedding with {model}: {done} of {total}{left}.",
        model=status.model,
        done=number(status.embedded),
        total=total,
        left=left,
    )
    if status.answering and status.answering != status.model:
        said += " " + tr("Until then {model} answers.", model=status.answering)
    return said


def _embedded(found: EmbeddingTrial) -> str:
    if not found.model:
        return tr("No vectors: recall goes by words and dates alone.")
    return tr(
        "{model} answers: {dims} dimensions, two texts in {ms} ms. Two sentences that mean the same are {alike} alike.",
        model=found.model,
        dims=found.dims,
        ms=round(found.took_s * 1000),
        alike=decimal(f"{found.similarity:.2f}"),
    )


def _summed_up(found: LanguageTrial) -> str:
    return tr(
        "{model} answers after {seconds} s: {summary}",
        model=found.model,
        seconds=decimal(f"{found.took_s:.1f}"),
        summary=row_text(found.summary, 200),
    )
