"""Messages as a conversation: Markdown without HTML, without links that open, without anything loaded from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gm_desktop.formatting import number, undisguised
from gm_desktop.i18n import tr
from gm_desktop.plain_text import as_lines, excerpt
from gm_desktop.theme import Theme
from gm_desktop.widgets.basics import push_button
from gm_desktop.widgets.reading_view import BOLD, ReadingView

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

FIRST_MESSAGES = 60
MESSAGE_CHARS = 8_000
FIRST_CHARS = 20_000  # what can be set as Markdown and laid out while the window waits


class ShownMessage(Protocol):
    """What is shown of a message."""

    @property
    def role(self) -> str:
        """Who said it."""

    @property
    def content(self) -> str:
        """What was said, Markdown or not."""


class Conversation(QWidget):
    """Shows messages from the last ones back; older ones on demand."""

    grew = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._messages: Sequence[ShownMessage] = ()
        self._shown = FIRST_MESSAGES
        self.view = ReadingView(tr("Conversation"))
        self._older = push_button("", "link", self._show_older)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._older)
        layout.addWidget(self.view, 1)
        theme.changed.connect(self._draw)

    def show_messages(self, messages: Sequence[ShownMessage]) -> None:
        """Shows another conversation."""
        self._messages = messages
        self._shown = self._fitting(0)
        self._draw()

    def _fitting(self, shown: int) -> int:
        """How many messages from the end back can be drawn at once, beyond those that are shown."""
        room, at_most = FIRST_CHARS, shown + FIRST_MESSAGES
        for message in reversed(self._messages[: len(self._messages) - shown]):
            room -= min(len(message.content), MESSAGE_CHARS)
            if shown >= at_most or (room < 0 and shown):
                break
            shown += 1
        return shown

    def _show_older(self) -> None:
        self._shown = self._fitting(self._shown)
        self._draw()
        self.grew.emit()

    def _draw(self) -> None:
        hidden = max(0, len(self._messages) - self._shown)
        self._older.setVisible(hidden > 0)
        self._older.setText(tr("Show {count} earlier messages", count=number(hidden)))
        parts = [self._html(message) for message in self._messages[hidden:]]
        self.view.document().setDefaultStyleSheet(self._style())
        self.view.setHtml("".join(parts))

    def _html(self, message: ShownMessage) -> str:
        part = excerpt(message.content, MESSAGE_CHARS)
        body = _markdown().render(undisguised(as_lines(part.text)))
        rest = ""
        if part.hidden:
            rest = f"<p class='rest'>{escape(tr('{count} more characters', count=number(part.hidden)))}</p>"
        role = message.role.casefold()
        ground = self._theme.color("accent_soft" if role == "user" else "surface_sunken").name()
        who = escape(undisguised(message.role[:60])) or escape(tr("unknown"))
        return (
            "<table width='100%' cellspacing='0' cellpadding='12' style='margin-bottom: 10px'>"
            f"<tr><td bgcolor='{ground}'><p class='who' dir='auto'>{who}</p>{body}{rest}</td></tr></table>"
        )

    def _style(self) -> str:
        color = self._theme.color
        return (
            f"body, p, li, td {{ color: {color('text').name()}; }}"
            f".who {{ color: {color('text_muted').name()}; font-size: 12px; font-weight: 600; margin: 0 0 4px 0; }}"
            f"{BOLD} "
            f".rest {{ color: {color('text_muted').name()}; }}"
            "p { margin: 0 0 6px 0; } h1 { font-size: 17px; } h2 { font-size: 15px; } h3 { font-size: 13px; }"
            f"code, pre {{ font-family: monospace; font-size: 12px; color: {color('text').name()}; }}"
            f"a {{ color: {color('link').name()}; text-decoration: none; }}"
            f"blockquote {{ color: {color('text_muted').name()}; margin-left: 12px; }}"
        )


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # only who reads a conversation pays for it

    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable(["image"])
