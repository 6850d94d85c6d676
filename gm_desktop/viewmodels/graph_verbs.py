"""What a person can do to entities and links: one write, one step to undo, one sentence about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import in_sentence, tr, tr_count
from gm_desktop.notices import Notices
from gm_desktop.plain_text import row_text
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.graph_data import kind_title
from gm_engine.graph.records import ExtractionReport, GraphChange

if TYPE_CHECKING:
    from gm_engine import Memory
    from gm_engine.progress import CancelToken, Progress


class GraphVerbs(QObject):
    """The verbs. `changed` names the entity that a verb leaves in the person's hands."""

    changed = Signal(str)

    def __init__(self, host: EngineHost, undo: UndoController, notices: Notices, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host = host
        self._undo = undo
        self._notices = notices

    @property
    def can_write(self) -> bool:
        """Whether a store is open for writing."""
        return self._host.is_open and not self._host.read_only

    def add(self, label: str, kind: str) -> None:
        """A new entity."""
        self._run(lambda memory: memory.graph.add(label, kind), lambda _: tr("Added {name}", name=_short(label)))

    def rename(self, entity_id: str, label: str) -> None:
        """Another label."""
        self._run(
            lambda memory: memory.graph.rename(entity_id, label), lambda _: tr("Renamed to {name}", name=_short(label))
        )

    def retype(self, ids: Sequence[str], kind: str) -> None:
        """Another type."""
        self._run(
            lambda memory: memory.graph.retype(list(ids), kind),
            lambda change: tr(
                "{name} is a {kind} now", name=_short(change.entities[0].label), kind=in_sentence(kind_title(kind))
            ),
        )

    def merge(self, ids: Sequence[str], into: str) -> None:
        """Makes entities one."""
        self._run(
            lambda memory: memory.graph.merge(list(ids), into),
            lambda change: tr("Merged into {name}", name=_short(change.entities[0].label)),
        )

    def split(self, entity_id: str, label: str, facts: Sequence[str]) -> None:
        """Parts an entity."""
        self._run(
            lambda memory: memory.graph.split(entity_id, label, facts=list(facts)),
            lambda change: tr(
                "Split {new} from {old}",
                new=_short(change.entities[-1].label),
                old=_short(change.entities[0].label),
            ),
            keep_last=True,
        )

    def link(self, from_id: str, to_id: str, relation: str) -> None:
        """Links two entities."""
        self._run(
            lambda memory: memory.graph.link(from_id, to_id, relation),
            lambda change: tr("Linked {one} and {other}", **_ends(change)),
        )

    def unlink(self, from_id: str, to_id: str, relation: str | None) -> None:
        """Takes links between two entities away."""
        self._run(
            lambda memory: memory.graph.unlink(from_id, to_id, relation),
            lambda change: tr("Unlinked {one} and {other}", **_ends(change)),
        )

    def delete(self, ids: Sequence[str]) -> None:
        """Takes entities away."""
        self._run(
            lambda memory: memory.graph.delete(list(ids)),
            lambda change: tr_count(
                "Deleted {name}", "Deleted {count} entities", len(ids), name=_short(change.entities[0].label)
            ),
            keep_last=None,
        )

    def extract(self) -> None:
        """Reads the facts that have not fed the graph yet, beside the window."""

        def job(memory: Memory, progress: Progress, cancel: CancelToken) -> ExtractionReport:
            return memory.graph.extract(progress=progress, cancel=cancel)

        def done(report: ExtractionReport) -> None:
            facts = tr_count("Read {count} fact", "Read {count} facts", report.facts)
            new = tr_count("{count} new entity", "{count} new entities", report.entities)
            self._notices.show(f"{facts}: {new}.", level="success")

        self._host.run_task(tr("Extract entities"), job, done)

    def _run(
        self,
        job: Callable[[Memory], GraphChange],
        sentence: Callable[[GraphChange], str],
        *,
        keep_last: bool | None = False,
    ) -> None:
        """Writes; `keep_last`: the last entity of the change stays in hand instead of the first, None: none does."""

        def done(change: GraphChange) -> None:
            if change.seq is None:
                self._notices.show(tr("Nothing to change: it already is that way."))
                return
            self._undo.did(sentence(change), change.seq)
            if change.entities and keep_last is not None:
                self.changed.emit(change.entities[-1 if keep_last else 0].id)

        self._host.write(job, done)


def _short(label: str) -> str:
    return row_text(label, 40)


def _ends(change: GraphChange) -> dict[str, str]:
    return {"one": _short(change.entities[0].label), "other": _short(change.entities[-1].label)}
