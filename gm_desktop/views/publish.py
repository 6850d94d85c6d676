"""The Vault page: choose a vault and a folder, publish, read what came of it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, urlencode

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QFileDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QProgressBar,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.actions import ActionSpec
from gm_desktop.formatting import duration, number
from gm_desktop.i18n import tr
from gm_desktop.page import Page
from gm_desktop.theme import MARGIN, SPACE, Theme
from gm_desktop.viewmodels.publish import Published, Publishing, Ready, Stopped
from gm_desktop.viewmodels.vault import VaultModels
from gm_desktop.views.profile_dialog import ProfileDialog
from gm_desktop.views.vault_inbox import VaultInboxPanel
from gm_desktop.views.vault_links import VaultLinksPanel
from gm_desktop.views.vault_plan import VaultPlanPanel
from gm_desktop.widgets.basics import PageHeader, Picture, document_tabs, push_button, row, text_label
from gm_desktop.widgets.keys import begin_when_clicked, keep_keys
from gm_desktop.widgets.scrolled import scroll_area

COLUMN = 720
_PARTS = (
    ("file-text", "A note for every fact", "with its agent, confidence and history as properties, linked both ways"),
    ("users", "A note for every agent and entity", "so that the graph view shows who knows what about whom"),
    ("history", "Checkpoints and an index", "the newest states, and Memory as the page to start from"),
    (
        "shield-check",
        "Your own notes stay untouched",
        "only the chosen folder is written; unchanged notes are left alone",
    ),
)


class PublishPage(Page):
    """A form, and below it the state of the run."""

    page_id = "vault"

    def __init__(self, models: VaultModels, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = models.publishing, theme
        self.plan = VaultPlanPanel(models.plan, theme)
        self.inbox = VaultInboxPanel(models.cards, models.watch, theme)
        self.links = VaultLinksPanel(models.links, theme)
        self._links = models.links
        self._shown: object = None
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_state()

    def action_specs(self) -> tuple[ActionSpec, ...]:
        """Publishing again is one key."""
        run, can = self._publish_now, lambda: self._viewmodel.can_publish
        return (
            ActionSpec("vault.publish", tr("Publish"), "upload", "Ctrl+Return", can, run, words="obsidian export"),
            ActionSpec("vault.compare", tr("Compare with the vault"), "", "Ctrl+D", self._may_compare, self._compare),
            ActionSpec("vault.inbox", tr("Show edits from the vault"), "", "Ctrl+J", run=self._show_inbox),
            ActionSpec(
                "vault.check_links",
                tr("Check the links of the published notes"),
                "",
                "Ctrl+Shift+L",
                lambda: self._links.can_check,
                self._check_links,
                words="broken obsidian",
            ),
            *self.inbox.specs(),
        )

    def activate(self) -> None:
        """The next thing to do on the open tab has the focus."""
        if self.tabs.currentWidget() is self.inbox:
            self.inbox.cards.focus_list()
        elif self.tabs.currentWidget() is self.plan:
            self.plan.focus()
        else:
            (self._publish if self._publish.isEnabled() else self._vault).setFocus()

    def be_looked_at(self, is_looked_at: bool) -> None:
        """Cards are read while the page shows; a vault that is not watched is tried again."""
        self.inbox.viewmodel.look(is_looked_at)
        if is_looked_at:
            self.inbox.watch.check()

    def is_settled(self) -> bool:
        """Whether no run is on its way."""
        return not self._viewmodel.is_publishing and self._are_parts_settled()

    def _are_parts_settled(self) -> bool:
        return self.plan.is_settled() and self.inbox.is_settled() and not self._links.is_waiting

    def landmark(self) -> QWidget:
        """Where and what to publish."""
        self.tabs.setCurrentIndex(0)
        return self._form

    def prepare_screenshot(self) -> None:
        """Publishes to the vault that was chosen."""
        if isinstance(self._viewmodel.state, Ready):
            self._viewmodel.publish()

    def _publish_now(self) -> None:
        self._viewmodel.publish()

    def _show_inbox(self) -> None:
        self.tabs.setCurrentWidget(self.inbox)
        self.inbox.cards.focus_list()

    def _check_links(self) -> None:
        self.tabs.setCurrentIndex(0)
        self._links.check()

    def _may_compare(self) -> bool:
        return self.plan.can_compare

    def _compare(self) -> None:
        self.tabs.setCurrentWidget(self.plan)
        self.plan.run()

    def save_state(self) -> dict[str, str]:
        """The tab."""
        return {"tab": str(self.tabs.currentIndex())}

    def restore_state(self, state: dict[str, str]) -> None:
        """Takes the tab back."""
        if state.get("tab", "").isdecimal():
            self.tabs.setCurrentIndex(int(state["tab"]))

    def _make_widgets(self) -> None:
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._vault, self._folder = QLineEdit(self._viewmodel.vault), QLineEdit(self._viewmodel.folder)
        self._vault.setPlaceholderText(tr("The folder that Obsidian opens"))
        self._vault.setAccessibleName(tr("Vault"))
        self._folder.setAccessibleName(tr("Folder in the vault"))
        self._profiles = QComboBox()
        self._profiles.setAccessibleName(tr("Profile"))
        self._choose = push_button(tr("Choose…"), "", self._on_choose)
        self._edit_profile = push_button(tr("Profile…"), "", self._on_edit_profile)
        self._edit_profile.setToolTip(tr("What to publish, and which edits to accept at once"))
        self._publish = push_button(tr("Publish"), "primary", self._publish_now)
        self._publish.setToolTip(tr("Publish ({shortcut})", shortcut="Ctrl+Enter"))
        self._result = QVBoxLayout()
        self._result.setSpacing(14)

    def _lay_out(self) -> None:
        self._form = QFrame()
        self._form.setProperty("kind", "card")
        grid = QGridLayout(self._form)
        grid.setContentsMargins(20, 18, 20, 18)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(10)
        grid.setColumnStretch(1, 1)
        rows = (
            (tr("Vault"), self._vault, self._choose),
            (tr("Folder"), self._folder, None),
            (tr("Profile"), self._profiles, self._edit_profile),
        )
        for line, (label, field, beside) in enumerate(rows):
            name = text_label(label, "muted")
            name.setBuddy(field)
            grid.addWidget(name, line, 0)
            grid.addWidget(field, line, 1)
            if beside is not None:
                grid.addWidget(beside, line, 2)
        grid.addLayout(row(self._publish, 1, margins=(0, SPACE, 0, 0)), len(rows), 1)
        column = QWidget()
        inner = QVBoxLayout(column)
        inner.setContentsMargins(0, 16, MARGIN, MARGIN)
        inner.setSpacing(24)
        inner.addWidget(self._form)
        inner.addLayout(self._result)
        inner.addWidget(self.links)
        inner.addStretch(1)
        column.setMaximumWidth(COLUMN + 2 * MARGIN)
        scroll = scroll_area(column)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(PageHeader(tr("Vault"), tr("Your memory as linked notes in an Obsidian vault")))
        self.tabs = document_tabs()
        self.tabs.addTab(scroll, tr("Publish"))
        self.tabs.addTab(self.plan, tr("Plan"))
        self.tabs.addTab(self.inbox, tr("Inbox"))
        keep_keys(self.tabs.tabBar(), self._profiles)
        wrap = QVBoxLayout()
        wrap.setContentsMargins(MARGIN, 0, 0, 0)
        wrap.addWidget(self.tabs)
        layout.addLayout(wrap, 1)

    def _wire(self) -> None:
        begin_when_clicked(self.tabs.tabBar(), self.activate)
        self._vault.textEdited.connect(lambda text: self._viewmodel.choose(vault=text))
        self._folder.textEdited.connect(lambda text: self._viewmodel.choose(folder=text))
        self._vault.returnPressed.connect(self._folder.setFocus)  # what is typed counts already; Enter only goes on
        self._folder.returnPressed.connect(self._publish.setFocus)
        self._viewmodel.changed.connect(self._show_state)
        self._profiles.activated.connect(lambda _at: self._viewmodel.choose_profile(self._profiles.currentData()))
        self.inbox.viewmodel.state_changed.connect(self._show_tabs)

    def _on_choose(self) -> None:
        dialog = QFileDialog(self, tr("Choose a vault"), self._viewmodel.vault)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(self._on_chosen)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _on_chosen(self, path: str) -> None:
        self._viewmodel.choose(vault=path)

    def _on_edit_profile(self) -> None:
        dialog = ProfileDialog(self._viewmodel.draft(), self, is_kept=bool(self._viewmodel.profile_name))
        dialog.saved.connect(self._viewmodel.save_draft)
        dialog.deleted.connect(self._viewmodel.delete_profile)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _show_tabs(self) -> None:
        waiting = len(self.inbox.viewmodel.cards.lines)
        self.tabs.setTabText(2, tr("Inbox ({count})", count=number(waiting)) if waiting else tr("Inbox"))

    def _show_profiles(self) -> None:
        names = ["", *self._viewmodel.profile_names]
        if [self._profiles.itemData(at) for at in range(self._profiles.count())] != names:
            self._profiles.clear()
            for name in names:
                self._profiles.addItem(name or tr("Everything"), name)
        self._profiles.setCurrentIndex(max(0, names.index(self._viewmodel.profile_name)))
        self._edit_profile.setEnabled(self._viewmodel.can_save)

    def _show_state(self) -> None:
        self._show_profiles()
        self.plan.refresh()
        self.links.refresh()
        focused = QApplication.focusWidget()
        had_focus = focused is not None and self.isAncestorOf(focused)
        self._publish.setEnabled(self._viewmodel.can_publish)
        for field, text in ((self._vault, self._viewmodel.vault), (self._folder, self._viewmodel.folder)):
            if field.text() != text:
                field.setText(text)
        state = self._viewmodel.state
        if state is self._shown:
            return
        self._shown = state
        if had_focus and not isinstance(state, Publishing):
            self._publish.setFocus()
        _clear(self._result)
        match state:
            case Ready():
                self._result.addWidget(_promises(self._theme))
            case Publishing():
                self._show_progress_of(state, take_focus=had_focus)
            case Published():
                self._show_published(state)
            case Stopped():
                self._result.addWidget(text_label(state.sentence, "danger", wrap=True))

    def _show_progress_of(self, state: Publishing, *, take_focus: bool) -> None:
        bar, words = QProgressBar(), text_label(tr("Starting"), "small")
        bar.setTextVisible(False)
        bar.setAccessibleName(tr("Publishing"))
        task = state.task

        def show() -> None:
            if not task.is_running or self._shown is not state:
                return
            bar.setRange(0, 0 if task.fraction is None else 1000)
            bar.setValue(round((task.fraction or 0.0) * 1000))
            counted = tr("{done} of {total}", done=number(task.done), total=number(task.total)) if task.total else ""
            left = tr("{time} left", time=duration(task.left_s)) if task.left_s is not None else ""
            words.setText(" · ".join(part for part in (counted, left) if part) or tr("Starting"))

        task.progressed.connect(show)
        self._result.addWidget(text_label(tr("Publishing"), "heading"))
        self._result.addWidget(bar)
        self._result.addWidget(words)
        cancel = push_button(tr("Cancel"), "", self._viewmodel.cancel)
        self._result.addLayout(row(cancel, 1))
        if take_focus:
            cancel.setFocus()  # the button that began it is disabled now
        show()

    def _show_published(self, state: Published) -> None:
        title = tr("Published") if state.has_changed else tr("Nothing had changed")
        figures = [_figure(count, label) for count, label in state.figures]
        note = state.vault / state.folder / "Memory.md"
        open_note = push_button(tr("Open in Obsidian"), "", lambda: open_in_obsidian(note))
        show_folder = push_button(tr("Show folder"), "", lambda: show_folder(note.parent))
        self._result.addWidget(text_label(title, "heading"))
        self._result.addLayout(row(*figures, 1, spacing=40))
        if not state.broken_links:
            fine = text_label(tr("Every link was checked and leads to a note"))
            self._result.addLayout(row(Picture(self._theme, "circle-check", "success"), fine, 1))
        for part in state.notes:
            self._result.addLayout(
                row(Picture(self._theme, "triangle-alert", "warning"), text_label(part.title, "strong"), 1)
            )
            self._result.addWidget(text_label("\n".join(part.lines), "small", wrap=True, selectable=True))
        buttons = [open_note, show_folder]
        if state.orphaned:
            trash = push_button(tr("Move to the vault's trash"), "", self._viewmodel.remove_orphans)
            trash.setToolTip(tr("Notes of retired facts go to .trash in the vault; nothing is deleted"))
            buttons.append(trash)
        self._result.addLayout(row(*buttons, 1))


def _promises(theme: Theme) -> QWidget:
    box = QWidget()
    layout = QVBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(16)
    layout.addWidget(text_label(tr("What publishing writes"), "heading"))
    for icon, title, text in _PARTS:
        picture = Picture(theme, icon, "accent", 18)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(text_label(tr(title), "strong"))
        words.addWidget(text_label(tr(text), "muted", wrap=True))
        line = QHBoxLayout()
        line.setSpacing(14)
        line.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(words, 1)
        layout.addLayout(line)
    return box


def _figure(value: int, label: str) -> QWidget:
    box = QWidget()
    layout = QVBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    layout.addWidget(text_label(number(value), "figure"))
    layout.addWidget(text_label(label, "muted"))
    return box


def open_in_obsidian(note: Path) -> None:
    """Opens a note in Obsidian; where nothing answers to its addresses, the file manager shows the folder."""
    url = QUrl("obsidian://open")
    url.setQuery(urlencode({"path": str(note)}, quote_via=quote))
    if not QDesktopServices.openUrl(url):
        show_folder(note.parent)


def show_folder(folder: Path) -> None:
    """Opens a folder in the file manager."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))


def _clear(layout: QVBoxLayout | QHBoxLayout) -> None:
    while (item := layout.takeAt(0)) is not None:
        widget, inner = item.widget(), item.layout()
        if widget is not None:
            widget.hide()
            widget.deleteLater()
        elif isinstance(inner, QVBoxLayout | QHBoxLayout):
            _clear(inner)
            inner.deleteLater()
