"""What the window asks of a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from gm_desktop.actions import ActionSpec


class Page(QWidget):
    """The middle of the window. A page brings its own inspector, actions and remembered state.

    What it is called, and where it stands on the rail, is said in `pages.py` before it is built.
    """

    page_id: ClassVar[str]
    inspector_changed = Signal()
    """`uses_inspector` may answer otherwise from now on."""

    def inspector(self) -> QWidget | None:
        """The widget for the right-hand side, owned by the page; None: no inspector."""
        return None

    def uses_inspector(self) -> bool:
        """Whether what the page shows now has anything to say there."""
        return True

    def action_specs(self) -> tuple[ActionSpec, ...]:
        """What can be done here; shortcuts work while the focus is inside the page or its inspector."""
        return ()

    def activate(self) -> None:
        """The page became visible: put the focus where work begins."""

    def be_looked_at(self, is_looked_at: bool) -> None:
        """Somebody looks at the page, or no longer does: what changes is followed only for somebody."""

    def showEvent(self, event: QShowEvent) -> None:
        """Somebody looks from now on."""
        super().showEvent(event)
        self.be_looked_at(True)

    def hideEvent(self, event: QHideEvent) -> None:
        """Nobody looks any more."""
        super().hideEvent(event)
        self.be_looked_at(False)

    def open_agent(self, agent_id: str) -> None:
        """Narrows the page to one namespace; pages without namespaces ignore it."""

    def save_state(self) -> dict[str, str]:
        """What to remember until the next start."""
        return {}

    def restore_state(self, state: dict[str, str]) -> None:
        """Takes back what `save_state` returned; unknown keys are ignored."""

    def landmark(self) -> QWidget:
        """Brings into view what the tour points at on this page."""
        return self

    def prepare_screenshot(self) -> None:
        """Brings the page into a telling state (a selection, a performed search) for `--screenshots`."""

    def prepare_empty_screenshot(self) -> None:
        """Brings the page into view as it is for a store with nothing in it."""

    def screenshot_scenes(self) -> tuple[tuple[str, Callable[[], None]], ...]:
        """More states worth a picture: (name, how to get there), each from where the one before ended."""
        return ()

    def is_settled(self) -> bool:
        """Whether the page waits for no answer; `--screenshots` takes the picture then."""
        return True
