"""Several questions at once, and what an agent receives, to the byte."""

from __future__ import annotations

import json
from functools import partial

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from gm_desktop.viewmodels.agent_eye import EyeText
from gm_desktop.viewmodels.batch import MERGED, MOST_CHARS, MOST_QUERIES
from gm_desktop.viewmodels.states import Empty, Full
from gm_desktop.viewmodels.why_not_words import WhyNotReport
from gm_engine import AgentAnswer, Fact, Memory, batch_answer, explain_answer, search_answer
from tests.widget.search_desk import Desk

QUERIES = ("revised quote", "office", "quantum zebra")


@pytest.fixture
def batch(desk: Desk) -> Desk:
    """The desk with three questions asked at once."""
    desk.page.set_batch(is_batch=True)
    desk.page.batch.questions.setPlainText("\n\n".join(QUERIES))
    desk.settle()
    return desk


def recalled(query: str, memory: Memory) -> tuple[Fact, ...]:
    return memory.recall("sales", query, preview=True).facts


def eye(desk: Desk) -> EyeText:
    desk.settle()
    assert isinstance(desk.models.eye.state, EyeText)
    return desk.models.eye.state


def test_without_questions_the_page_says_what_to_do(desk: Desk) -> None:
    desk.page.set_batch(is_batch=True)
    desk.settle()
    assert isinstance(desk.models.batch.state, Empty)
    assert desk.page.batch.note.isVisible()


def test_every_question_is_answered_as_if_alone(batch: Desk) -> None:
    assert batch.models.batch.queries == QUERIES
    lines = batch.models.batch.lines.lines
    assert [line.text for line in lines[1:]] == list(QUERIES)
    assert lines[3].note == "Weak match"
    for at, query in enumerate(QUERIES):
        batch.models.batch.choose(str(at))
        batch.settle()
        alone = batch.read(partial(recalled, query))
        assert isinstance(alone, tuple)
        assert [hit.id for hit in batch.models.batch.hits.hits] == [fact.id for fact in alone]
        assert batch.models.batch.why is not None
        assert batch.models.batch.why.id == batch.models.batch.selected_id


def test_the_merged_view_holds_every_fact_once_and_who_found_it(batch: Desk) -> None:
    hits = batch.models.batch.hits.hits
    assert len({hit.id for hit in hits}) == len(hits) == 3
    assert batch.models.batch.state == Full(3)
    assert batch.models.batch.line_key == MERGED
    merged = batch.models.batch.merged_hit
    assert merged is not None
    assert merged.found[0].query == "revised quote"
    batch.page.side.found_by.finding_wanted.emit(merged.found[1])
    batch.settle()
    assert batch.models.batch.line_key == merged.found[1].key


def test_questions_are_walked_with_the_keyboard(batch: Desk) -> None:
    QTest.keyClick(batch.page.batch.lines, Qt.Key.Key_Down)
    batch.settle()
    assert batch.models.batch.line_key == "0"
    assert batch.models.batch.why is not None


def test_why_not_follows_the_chosen_question(batch: Desk) -> None:
    batch.model.set_top_k(1)
    batch.settle()
    batch.models.batch.choose("1")
    batch.models.why_not.pick(batch.id_of("Quotes are kept for two years"))
    batch.settle()
    state = batch.models.why_not.state
    assert isinstance(state, WhyNotReport)
    assert state.reason == "outranked"
    assert state.question.query == "office"


def test_a_batch_asks_one_namespace(batch: Desk) -> None:
    batch.model.set_scope("all")
    batch.settle()
    assert isinstance(batch.models.batch.state, Empty)
    assert batch.models.batch.state.reason == "scope"
    batch.model.set_scope("shared")
    batch.settle()
    assert [hit.text for hit in batch.models.batch.hits.hits] == ["Holidays are announced in March"]


def test_a_fact_written_elsewhere_joins_the_batch(batch: Desk) -> None:
    batch.write(lambda memory: memory.remember("sales", "The office has a back door"))
    batch.qtbot.waitUntil(lambda: batch.models.batch.state == Full(4))


def test_the_eye_shows_what_a_client_gets_to_the_byte(desk: Desk) -> None:
    desk.ask("revised quote")
    desk.page.set_eye(is_open=True)
    said = eye(desk)
    answer = desk.read(
        lambda memory: search_answer("sales", "revised quote", memory.recall("sales", "revised quote", preview=True))
    )
    assert isinstance(answer, AgentAnswer)
    assert said.text == answer.text
    assert json.loads(said.payload) == answer.payload
    assert said.text_size == f"{answer.text_bytes} bytes"
    assert desk.page.eye.pane.raw_text() == answer.text
    assert desk.page.eye.isVisible()
    assert desk.page.focusWidget() is desk.page.eye.pane
    desk.page.eye.payload_chip.click()
    assert json.loads(desk.page.eye.pane.raw_text()) == answer.payload
    desk.page.eye.copy_shown()
    assert json.loads(QGuiApplication.clipboard().text()) == answer.payload
    desk.page.set_eye(is_open=False)
    assert desk.page.focusWidget() is desk.page.query


def test_the_eye_with_receipts_and_options(desk: Desk) -> None:
    desk.ask("quote")
    desk.page.set_eye(is_open=True)
    desk.page.eye.receipts.click()
    desk.model.set_knob("min_confidence", "verified")
    said = eye(desk)
    answer = desk.read(
        lambda memory: explain_answer(
            "sales", "quote", memory.recall_explain("sales", "quote", preview=True, min_confidence="verified")
        )
    )
    assert isinstance(answer, AgentAnswer)
    assert said.text == answer.text
    assert "Policy confidence-v1" in said.text
    desk.model.set_scope("all")
    desk.settle()
    assert not desk.page.eye.receipts.isVisible()  # no client can ask for receipts of a merged answer


def test_the_eye_on_a_batch(batch: Desk) -> None:
    batch.page.set_eye(is_open=True)
    said = eye(batch)
    answer = batch.read(lambda memory: batch_answer("sales", memory.batch_recall("sales", QUERIES, preview=True)))
    assert isinstance(answer, AgentAnswer)
    assert said.text == answer.text
    batch.page.set_eye(is_open=False)
    assert batch.page.batch.isVisible()


def test_control_characters_are_seen_and_copied_as_they_are(desk: Desk) -> None:
    desk.write(lambda memory: memory.remember("sales", "A bell\x07 and a nul\x00 about zebras"))
    desk.ask("zebras")
    desk.page.set_eye(is_open=True)
    eye(desk)
    assert "bell␇ and a nul␀" in desk.page.eye.pane.raw_text()
    desk.page.eye.copy_shown()
    assert "bell\x07" in QGuiApplication.clipboard().text()


def test_a_book_pasted_into_the_questions_is_cut_and_said(desk: Desk) -> None:
    desk.page.set_batch(is_batch=True)
    data = QMimeData()
    data.setText("office " * 200_000 + "\r\n" + "\n".join(f"question {number}" for number in range(210)))
    desk.page.batch.questions.insertFromMimeData(data)
    assert len(desk.models.batch.queries) == MOST_QUERIES
    assert len(desk.models.batch.queries[0]) <= MOST_CHARS
    desk.page.batch.questions.setPlainText("\n".join(f"question {number}" for number in range(MOST_QUERIES + 3)))
    assert desk.models.batch.left_out == "3 questions more than a batch takes are left out."
    desk.page.batch.questions.setPlainText("office")
    desk.settle()
    assert desk.models.batch.left_out == "Very long questions were cut."
    assert "were cut" in desk.page.batch.coverage.text()
    desk.page.batch.questions.setPlainText("")
    assert desk.models.batch.left_out == ""
    desk.settle()
