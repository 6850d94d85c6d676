"""Rich text to read: lines that are easy to follow, nothing loaded from anywhere."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QResizeEvent, QTextDocument
from PySide6.QtWidgets import QFrame, QTextBrowser

from gm_desktop.theme import MARGIN, READING_WIDTH

BOLD = "b, strong, th, h1, h2, h3, h4 { font-weight: 600; }"
"""For style sheets of texts: the boldest weight there is. What asks for a bolder one is drawn twice, beside itself."""


class ReadingView(QTextBrowser):
    """A rich-text view that never loads a resource and never follows a link.

    What a wide window has too much stays free at the right; the scroll bar stands at the edge.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.document().setDocumentMargin(0)
        self.document().setDefaultStyleSheet(BOLD)
        self.setProperty("kind", "bare")
        self.setAccessibleName(name)

    def loadResource(self, _kind: int, _name: QUrl | str) -> object:
        """Nothing: no image, no style sheet, no file, whatever the text asks for."""
        return ""

    def setSource(
        self, _name: QUrl | str, _type: QTextDocument.ResourceType = QTextDocument.ResourceType.HtmlResource
    ) -> None:
        """Links stay where they are; `anchorClicked` tells of them."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keeps the lines at most as wide as the eye can follow."""
        bar = self.verticalScrollBar().sizeHint().width()  # kept free whether it shows or not
        free = max(MARGIN, self.contentsRect().width() - bar - READING_WIDTH)
        if self.viewportMargins().right() != free:
            self.setViewportMargins(0, 0, free, 0)
        super().resizeEvent(event)  # wraps the text at the width that is left
