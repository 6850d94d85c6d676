"""The Search page on a real store, with everything beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QMimeData, QPointF, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.engine_host import EngineHost
from gm_desktop.notices import Notices
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.agent_eye import AgentEyeViewModel
from gm_desktop.viewmodels.batch import BatchViewModel
from gm_desktop.viewmodels.fact_verbs import FactVerbs
from gm_desktop.viewmodels.lab import LabViewModel
from gm_desktop.viewmodels.search import SearchViewModel
from gm_desktop.viewmodels.search_models import SearchModels
from gm_desktop.viewmodels.why import WhyDetails
from gm_desktop.viewmodels.why_not import WhyNotViewModel
from gm_desktop.views.search import SearchPage
from gm_desktop.widgets.fact_drag import fact_data
from gm_engine import Memory
from tests.fakes.clock import FrozenClock
from tests.widget.writing import write_beside

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal


@dataclass
class Desk:
    host: EngineHost
    models: SearchModels
    page: SearchPage
    undo: UndoController
    qtbot: QtBot

    @property
    def model(self) -> SearchViewModel:
        return self.models.search

    def write(self, job: Callable[[Memory], object]) -> None:
        """Writes, and waits until everybody heard of all of it."""
        write_beside(self.host, self.qtbot, job)

    def read(self, job: Callable[[Memory], object]) -> object:
        answers: list[object] = []
        self.host.read(job, answers.append)
        self.qtbot.waitUntil(lambda: bool(answers))
        return answers[0]

    def settle(self) -> None:
        """Waits until every answer has come."""
        self.qtbot.waitUntil(self.page.is_settled)

    def ask(self, query: str) -> None:
        """Types a question and waits for its answer."""
        self.page.query.setText(query)
        self.settle()

    def texts(self) -> list[str]:
        return [hit.text for hit in self.model.hits.hits]

    def id_of(self, text: str) -> str:
        return str(self.read(lambda memory: memory.resolve("sales", text, live_only=False)[0]))

    def why(self) -> WhyDetails:
        assert self.model.why is not None
        return self.model.why


def remember_some(memory: Memory) -> None:
    memory.remember("sales", "The revised quote goes to Ms Ito on Monday", confidence="verified")
    memory.remember("sales", "Quotes are kept for two years")
    memory.remember("sales", "The office closes at six", confidence="unverified")
    memory.remember_shared("Holidays are announced in March")
    memory.wait_for_embeddings()


def make_desk(host: EngineHost, undo: UndoController, notices: Notices, *, theme: Theme, qtbot: QtBot) -> Desk:
    """A shown page over a store with a few facts, its first answer awaited."""
    clock = FrozenClock(tick_s=0)
    search = SearchViewModel(host, FactVerbs(host, undo, notices, host), clock, host)
    batch = BatchViewModel(host, search, clock, host)
    models = SearchModels(
        search,
        batch,
        AgentEyeViewModel(host, search, batch, host),
        WhyNotViewModel(host, search, batch, host),
        LabViewModel(host, search, batch, undo=undo, notices=notices, parent=host),
    )
    listed = (search.hits, search.agents, batch.hits, batch.lines, models.why_not.choices, models.lab.outcomes)
    for each in (*listed, models.lab.left_lines):
        QAbstractItemModelTester(each, FATAL, each)
    page = SearchPage(models, theme)
    page.inspector().setParent(page)
    page.resize(1000, 700)
    qtbot.addWidget(page)
    page.show()
    page.inspector().setGeometry(680, 0, 320, 700)
    desk = Desk(host, models, page, undo, qtbot)
    host.store_opened.emit()
    desk.write(remember_some)
    qtbot.waitUntil(lambda: bool(search.question.agent_id))
    return desk


def drop_facts(target: QWidget, *fact_ids: str) -> bool:
    """Drops facts in the middle of a widget; whether it took them in."""
    data = fact_data(fact_ids)  # an event only borrows it
    return drop(target, data)


def drop(target: QWidget, data: QMimeData) -> bool:
    copy, left, no_key = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    at = target.rect().center()
    enter = QDragEnterEvent(at, copy, data, left, no_key)
    target.dragEnterEvent(enter)
    if not enter.isAccepted():
        return False
    target.dropEvent(QDropEvent(QPointF(at), copy, data, left, no_key))
    return True


def hover_fact(target: QWidget, fact_id: str) -> None:
    """Drags a fact over a widget and waits there."""
    data = fact_data((fact_id,))
    no_key = Qt.KeyboardModifier.NoModifier
    target.dragEnterEvent(
        QDragEnterEvent(target.rect().center(), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, no_key)
    )
