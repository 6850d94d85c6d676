"""Rich text to read: lines of a width that can be followed, nothing loaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QFont, QTextBlock, QTextDocument, QTextFormat
from pytestqt.qtbot import QtBot

from gm_desktop.theme import MARGIN, READING_WIDTH, Theme
from gm_desktop.viewmodels.checkpoint_details import Said
from gm_desktop.views.help_window import HelpWindow
from gm_desktop.widgets.conversation import Conversation
from gm_desktop.widgets.reading_view import ReadingView

HTML = "<h1>One</h1><h3>Two</h3><p><b>strong</b></p><table><tr><th>a</th></tr></table>"


@pytest.mark.parametrize("width", [320, 700, 1400])
def test_lines_are_at_most_as_wide_as_the_eye_can_follow(theme: Theme, qtbot: QtBot, width: int) -> None:
    view = ReadingView("Text")
    qtbot.addWidget(view)
    theme.dress(view)
    view.setPlainText("A message that goes on and on. " * 400)
    view.resize(width, 300)
    view.show()
    bar = view.verticalScrollBar()
    qtbot.waitUntil(bar.isVisible)
    assert view.document().textWidth() == min(READING_WIDTH, width - bar.width() - MARGIN)
    assert bar.mapTo(view, bar.rect().topRight()).x() == width - 1


def test_a_conversation_keeps_to_that_width_in_a_wide_window(theme: Theme, qtbot: QtBot) -> None:
    conversation = Conversation(theme)
    qtbot.addWidget(conversation)
    conversation.show_messages((Said("user", "What is left for the afternoon? " * 40),))
    conversation.resize(1400, 600)
    conversation.show()
    qtbot.waitUntil(lambda: conversation.view.width() > 1300)
    view = conversation.view
    bar_px = view.verticalScrollBar().sizeHint().width()
    assert view.document().textWidth() == view.viewport().width() == READING_WIDTH + bar_px


def test_nothing_is_loaded_whatever_the_text_asks_for(qtbot: QtBot) -> None:
    view = ReadingView("Text")
    qtbot.addWidget(view)
    view.setHtml("<p>kept</p>")
    view.setSource(QUrl("file:///etc/hostname"))
    assert view.loadResource(QTextDocument.ResourceType.ImageResource, "file:///etc/hostname") == ""
    assert view.toPlainText() == "kept"


def test_nothing_is_bolder_than_the_boldest_weight_of_the_font(theme: Theme, qtbot: QtBot) -> None:
    """A weight that the font does not have would be drawn twice, beside itself."""
    conversation, plain = Conversation(theme), ReadingView("Text")
    pages = HelpWindow(theme, find=lambda _words: [_Subject()], render=lambda _text: HTML)
    for widget in (conversation, plain, pages):
        qtbot.addWidget(widget)
    conversation.show_messages((Said("user", "# One\n\n**strong** words\n\n| a | b |\n|---|---|\n| 1 | 2 |"),))
    plain.setHtml(HTML)
    for view in (conversation.view, plain, pages.text):
        weights = {
            span.format.fontWeight()
            for block in _blocks(view.document())
            for span in block.textFormats()
            if span.format.hasProperty(QTextFormat.Property.FontWeight)
        }
        assert weights
        assert max(weights) <= QFont.Weight.DemiBold


@dataclass(frozen=True, slots=True)
class _Subject:
    id: str = "memory"
    title: str = "Memory"
    text: str = "**strong**"


def _blocks(document: QTextDocument) -> Iterator[QTextBlock]:
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()
