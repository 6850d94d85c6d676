"""The Search page on a real store: ranked hits, the reasons in digits that add up, nothing counted as use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from pytestqt.qtbot import QtBot

from gm_desktop.engine_host import EngineHost
from gm_desktop.notices import Notices
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.agent_eye import AgentEyeViewModel
from gm_desktop.viewmodels.answers import coverage_sentence
from gm_desktop.viewmodels.batch import BatchViewModel
from gm_desktop.viewmodels.fact_verbs import FactVerbs
from gm_desktop.viewmodels.lab import LabViewModel
from gm_desktop.viewmodels.search import SearchViewModel
from gm_desktop.viewmodels.states import Empty, Full
from gm_desktop.viewmodels.why import WhyDetails
from gm_desktop.viewmodels.why_not import WhyNotViewModel
from gm_desktop.views.search import SearchPage
from gm_desktop.views.search_actions import SearchModels
from gm_engine import Memory
from gm_engine.records import Coverage, StoreSettings
from tests.fakes.clock import FrozenClock

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal
ASK = Callable[[EngineHost, Callable[[Memory], object]], object]


@dataclass
class Desk:
    host: EngineHost
    model: SearchViewModel
    page: SearchPage
    qtbot: QtBot

    def write(self, job: Callable[[Memory], object]) -> None:
        with self.qtbot.waitSignal(self.host.changed):
            self.host.write(job, lambda _: None)

    def ask(self, query: str) -> None:
        """Types a question and waits for its answer."""
        self.page.query.setText(query)
        self.qtbot.waitUntil(lambda: not self.model.is_waiting)

    def texts(self) -> list[str]:
        return [hit.text for hit in self.model.hits.hits]

    def why(self) -> WhyDetails:
        assert self.model.why is not None
        return self.model.why


@pytest.fixture
def desk(open_host: EngineHost, undo: UndoController, notices: Notices, theme: Theme, qtbot: QtBot) -> Desk:
    verbs = FactVerbs(open_host, undo, notices, open_host)
    model = SearchViewModel(open_host, verbs, FrozenClock(tick_s=0), open_host)
    for each in (model.hits, model.agents):
        QAbstractItemModelTester(each, FATAL, each)
    batch = BatchViewModel(open_host, model, FrozenClock(tick_s=0), open_host)
    models = SearchModels(
        model,
        batch,
        AgentEyeViewModel(open_host, model, batch, open_host),
        WhyNotViewModel(open_host, model, batch, open_host),
        LabViewModel(open_host, model, batch, undo=undo, notices=notices, parent=open_host),
    )
    page = SearchPage(models, theme)
    page.inspector().setParent(page)
    page.resize(1000, 700)
    qtbot.addWidget(page)
    page.show()
    desk = Desk(open_host, model, page, qtbot)
    open_host.store_opened.emit()
    desk.write(remember_some)
    qtbot.waitUntil(lambda: bool(model.question.agent_id))
    return desk


def remember_some(memory: Memory) -> None:
    memory.remember("sales", "The revised quote goes to Ms Ito on Monday", confidence="verified")
    memory.remember("sales", "Quotes are kept for two years")
    memory.remember("sales", "The office closes at six", confidence="unverified")
    memory.remember_shared("Holidays are announced in March")
    memory.wait_for_embeddings()


def test_before_a_question_the_page_says_what_to_do(desk: Desk) -> None:
    assert isinstance(desk.model.state, Empty)
    assert desk.model.state.reason == "ask"


def test_hits_come_ranked_with_the_best_one_explained(desk: Desk) -> None:
    desk.ask("who gets the revised quote")
    assert desk.texts()[0] == "The revised quote goes to Ms Ito on Monday"
    assert desk.model.state == Full(3)
    assert desk.why().position == 1
    assert {"revised", "quote"} <= {word.strip("\u2068\u2069") for word in desk.why().matched}


def test_the_panel_shows_digits_that_add_up(desk: Desk) -> None:
    desk.ask("revised quote")
    shown = desk.page.panel.sum
    values = [Decimal(label.text()) for label in shown.values]
    assert sum(values) == Decimal(shown.base.text())
    assert shown.final.text() == shown.base.text()
    vector = desk.why().signals[0]
    assert vector.division == f"1 ÷ (60 + {vector.rank})"


def test_a_confidence_factor_is_spelled_out(desk: Desk) -> None:
    desk.write(lambda memory: memory.set_settings(StoreSettings(confidence_weight=0.2)))
    desk.ask("revised quote")
    assert desk.why().factor_note == "Verified: 1 + 0.2 = 1.2"
    base, factor, final = (Decimal(each) for each in (desk.why().base, desk.why().factor, desk.why().final))
    assert (base * factor).quantize(final) == final
    desk.model.select(desk.model.hits.hits[-1].id)
    assert desk.why().factor_note == "Unverified: 1 − 0.2 = 0.8"


def test_matched_words_are_marked_in_every_form_they_take(desk: Desk) -> None:
    desk.ask("quote")
    hit = next(each for each in desk.model.hits.hits if each.text.startswith("Quotes"))
    assert [hit.text[start:end] for start, end in hit.spans] == ["Quotes"]
    desk.model.select(hit.id)
    assert desk.page.panel.text.pane.tinted_texts() == ("Quotes",)


def test_looking_never_counts_as_use(desk: Desk, asked: ASK) -> None:
    desk.ask("revised quote")
    fact_id = desk.model.hits.hits[0].id
    assert asked(desk.host, lambda memory: memory.get(fact_id).access_count) == 0


def test_of_two_questions_only_the_newer_one_is_answered(desk: Desk) -> None:
    answers: list[str] = []
    desk.model.state_changed.connect(
        lambda: answers.append(desk.model.answer.question.query) if desk.model.answer else None
    )
    desk.model.set_query("office")
    desk.model.ask()
    desk.model.set_query("years")
    desk.model.ask()
    desk.qtbot.waitUntil(lambda: answers == ["years"])


def test_a_fact_written_elsewhere_joins_the_answer_and_the_selected_hit_stays(desk: Desk) -> None:
    desk.ask("quote")
    chosen = desk.model.hits.hits[1].id
    desk.model.select(chosen)
    desk.write(lambda memory: memory.remember("sales", "A quote needs two signatures"))
    desk.qtbot.waitUntil(lambda: "A quote needs two signatures" in desk.texts())
    assert desk.model.selected_id == chosen
    assert desk.page.hits.currentIndex().row() == desk.model.hits.row_of(chosen)


def test_a_weak_match_is_said(desk: Desk) -> None:
    desk.ask("quantum zebra")
    assert desk.page.answer.feedback.isVisible()
    assert "zebra" in desk.page.answer.feedback_text.text()
    desk.ask("quote")
    assert not desk.page.answer.feedback.isVisible()


def test_other_agents_and_fewer_hits_can_be_asked(desk: Desk) -> None:
    desk.ask("quote")
    desk.model.set_top_k(1)
    desk.qtbot.waitUntil(lambda: len(desk.model.hits.hits) == 1)
    desk.model.set_agent("__shared__")
    desk.qtbot.waitUntil(lambda: desk.texts() == ["Holidays are announced in March"])
    assert desk.page.options.scopes["shared"].isChecked()


def test_replaced_texts_are_listed_and_can_be_opened(desk: Desk) -> None:
    desk.ask("office closes")
    old = desk.model.hits.hits[0].id
    desk.write(lambda memory: memory.revise("sales", [old], "The office closes at seven"))
    desk.qtbot.waitUntil(lambda: desk.texts()[0] == "The office closes at seven")
    desk.model.select(desk.model.hits.hits[0].id)
    assert [each.text for each in desk.why().replaced] == ["The office closes at six"]
    with desk.qtbot.waitSignal(desk.page.fact_wanted) as wanted:
        desk.page.panel.replaced.chosen.emit(old)
    assert wanted.args == [old]


def test_a_question_comes_back_with_the_next_start(desk: Desk) -> None:
    desk.ask("office")
    state = desk.page.save_state()
    desk.ask("")
    desk.page.restore_state(state)
    desk.qtbot.waitUntil(lambda: bool(desk.texts()))
    assert desk.page.query.text() == "office"


def test_the_keyboard_walks_through_the_hits(desk: Desk) -> None:
    desk.ask("quote")
    desk.page.hits.setFocus()
    QTest.keyClick(desk.page.hits, Qt.Key.Key_Down)
    assert desk.why().position == 2


def test_enter_on_a_hit_asks_to_revise_it_and_its_replacement_is_selected(desk: Desk) -> None:
    desk.ask("quote")
    desk.page.hits.setFocus()
    chosen = desk.model.hits.hits[0].id
    with desk.qtbot.waitSignal(desk.page.revise_wanted) as wanted:
        QTest.keyClick(desk.page.hits, Qt.Key.Key_Return)
    assert wanted.args == [chosen]
    new: list[str] = []

    def revise(memory: Memory) -> None:
        new.append(memory.revise("sales", [chosen], "Nothing but a few words on a quote").id)

    desk.host.write(revise, lambda _: desk.model.prefer(new[0]))
    desk.qtbot.waitUntil(lambda: bool(new) and desk.model.selected_id == new[0])


def test_a_hit_is_pinned_and_retired_where_it_is_met(desk: Desk) -> None:
    desk.ask("quote")
    chosen = desk.model.hits.hits[0].id
    desk.model.toggle_pin()
    desk.qtbot.waitUntil(lambda: desk.model.hits.hits[0].is_pinned)
    desk.model.retire()
    desk.qtbot.waitUntil(lambda: desk.model.hits.row_of(chosen) is None)


@pytest.mark.parametrize(
    ("coverage", "sentence"),
    [
        (Coverage(100, 100, "exact"), "100 facts searched; meaning compared by an exact scan."),
        (
            Coverage(1000, 880, "chroma"),
            "1,000 facts searched; 12 % of facts have no vector yet. Meaning compared by the vector index.",
        ),
        (
            Coverage(10_000, 9_999, "exact"),
            "10,000 facts searched; under 1 % of facts have no vector yet. Meaning compared by an exact scan.",
        ),
        (Coverage(3, 0, "none", "No vectors yet."), "3 facts searched by words and date only. No vectors yet."),
        (Coverage(0, 0, "none", "x"), "There was nothing to search."),
    ],
)
def test_coverage_is_said_in_words(coverage: Coverage, sentence: str) -> None:
    assert coverage_sentence(coverage) == sentence
