"""The revise editor: the text as it is, the new one beside it, what changed between them."""

from __future__ import annotations

from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut, QTextCursor
from PySide6.QtWidgets import QComboBox, QDialog, QFrame, QHBoxLayout, QVBoxLayout, QWidget

from gm_desktop.i18n import tr, tr_count
from gm_desktop.plain_text import as_lines
from gm_desktop.theme import MARGIN, SPACE, Theme
from gm_desktop.viewmodels.fact_words import confidence_title
from gm_desktop.viewmodels.revision import RevisionViewModel
from gm_desktop.widgets.basics import push_button, row, text_label
from gm_desktop.widgets.word_diff import WordDiff

_LABELS = ("", "verified", "inferred", "unverified")


class ReviseDialog(QDialog):
    """One dialog for the page; it opens when the view-model has read a fact and closes with its draft."""

    def __init__(self, revision: RevisionViewModel, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._revision = revision
        self._shown_before = ""
        self.setWindowTitle(tr("Revise fact"))
        self.setModal(True)
        self.resize(880, 520)
        self._make_widgets(theme)
        self._lay_out()
        self._wire()

    def _make_widgets(self, theme: Theme) -> None:
        self.diff = WordDiff(theme, before_title=tr("Now"), after_title=tr("Revised"))
        self.label = QComboBox()
        self.label.setAccessibleName(tr("Label of the revised fact"))
        for each in _LABELS:
            self.label.addItem(
                confidence_title(each) if each else tr("Label: as sure as before, at most inferred"), each
            )
        self.summary = text_label("", "small")
        revision = self._revision
        self.earlier = push_button(tr("Earlier part"), "quiet", lambda: revision.show_part(revision.part - 1))
        self.later = push_button(tr("Later part"), "quiet", lambda: revision.show_part(revision.part + 1))
        self.part = text_label("", "small")
        self.problem = text_label("", "danger", wrap=True)
        self.save = push_button(tr("Save revision"), "primary", self._revision.save)
        self.save.setToolTip(tr("Save revision (Ctrl+Enter)"))
        self.cancel = push_button(tr("Cancel"), "", self.reject)
        self.conflict = QFrame()
        self.conflict.setProperty("kind", "card")
        self.conflict_text = text_label("", "", wrap=True)
        self.take_newer = push_button(tr("Compare my draft with it"), "", self._revision.take_newer)
        self.discard = push_button(tr("Discard my draft"), "quiet", self._discard)

    def _lay_out(self) -> None:
        inner = QHBoxLayout(self.conflict)
        inner.setContentsMargins(14, 10, 10, 10)
        inner.addWidget(self.conflict_text, 1)
        inner.addWidget(self.take_newer)
        inner.addWidget(self.discard)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 20, MARGIN, 20)
        layout.setSpacing(14)
        layout.addWidget(text_label(tr("Revise fact"), "title"))
        layout.addWidget(self.conflict)
        layout.addWidget(self.diff, 1)
        layout.addLayout(row(self.earlier, self.part, self.later, 1, spacing=SPACE))
        layout.addWidget(self.problem)
        layout.addLayout(row(self.summary, 1, self.label, self.cancel, self.save, spacing=SPACE))

    def _wire(self) -> None:
        revision = self._revision
        revision.opened.connect(self._open)
        revision.closed.connect(self.hide)
        revision.changes_changed.connect(self._show_changes)
        revision.conflict_changed.connect(self._show_conflict)
        revision.failed.connect(self._show_problem)
        self.diff.edited.connect(self._on_edited)
        self.label.activated.connect(lambda _at: revision.set_confidence(str(self.label.currentData())))
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys), self, self.save.click)

    def _open(self) -> None:
        before, draft = self._revision.shown
        self._shown_before = as_lines(before)
        self.diff.show_texts(self._shown_before, as_lines(draft))
        self._show_part()
        self.label.setCurrentIndex(0)
        self._show_problem("")
        self._show_conflict()
        self._show_changes()
        self.open()
        self.diff.after.setFocus()
        self.diff.after.moveCursor(QTextCursor.MoveOperation.End)

    def _on_edited(self, text: str) -> None:
        """An untouched text is the stored one, line ends and all: the editor may not change it behind one's back."""
        self._show_problem("")
        self._revision.set_draft(self._revision.shown[0] if text == self._shown_before else text)
        self.save.setEnabled(self._revision.can_save)

    def _show_part(self) -> None:
        """A very long text is edited in parts; what is saved is all of it."""
        at, count = self._revision.part, self._revision.part_count
        for each in (self.earlier, self.part, self.later):
            each.setVisible(count > 1)
        self.part.setText(tr("Part {part} of {count}", part=at + 1, count=count))
        self.earlier.setEnabled(at > 0)
        self.later.setEnabled(at + 1 < count)

    def _show_changes(self) -> None:
        before = as_lines(self._revision.shown[0])
        if self._shown_before != before:
            self._shown_before = before
            self.diff.show_before(self._shown_before)
        changes = self._revision.changes
        self.diff.show_changes(
            tuple((each.start, each.end) for each in changes.removed),
            tuple((each.start, each.end) for each in changes.added),
        )
        places = max(len(changes.removed), len(changes.added))
        self.summary.setText(
            tr("No change yet")
            if changes.is_empty
            else tr_count("{count} place changed", "{count} places changed", places)
        )
        self.save.setEnabled(self._revision.can_save)
        self.diff.after.setReadOnly(self._revision.is_saving)  # a letter more would not be in what is written

    def _show_conflict(self) -> None:
        newer = self._revision.conflict
        self.conflict.setVisible(newer is not None)
        if newer is None:
            self.diff.before_title.setText(tr("Now"))
        elif newer:
            self.conflict_text.setText(
                tr("Somebody changed this fact while you were writing. Nothing was saved. It now says:")
                + "\n"
                + as_lines(newer[:600])
            )
        else:
            self.conflict_text.setText(tr("Somebody retired this fact while you were writing. Nothing was saved."))
        self.take_newer.setVisible(bool(newer))
        self.save.setEnabled(self._revision.can_save)

    def _show_problem(self, text: str) -> None:
        self.problem.setText(text)
        self.problem.setVisible(bool(text))

    def _discard(self) -> None:
        self._revision.discard()

    def reject(self) -> None:
        """Esc and Cancel: the draft is kept for the next time this fact is revised."""
        self._revision.close()
        super().reject()

    def closeEvent(self, event: QCloseEvent) -> None:
        """The window's cross is Cancel."""
        event.ignore()
        self.reject()
