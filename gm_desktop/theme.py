"""Colours by meaning, from tokens; the palette, a small style sheet and tinted icons made from them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QColor, QFont, QFontDatabase, QIcon, QPalette, QPixmap
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

from gm_desktop.icons import SIZE, tinted_icon, tinted_pixmap
from gm_desktop.paths import resource
from gm_desktop.style_sheet import style_sheet

Mode = Literal["system", "light", "dark"]
FontRole = Literal["body", "strong", "small", "title", "heading", "mono"]

FAMILY = "Inter"
BODY_PX, SMALL_PX, HEADING_PX, TITLE_PX = 13, 12, 15, 20
SPACE = 8
MARGIN = 24
ROW = 36
READING_WIDTH = 580  # about 90 letters: longer lines of running text are hard to follow
RADIUS = 8

# Which text colour stands on which ground somewhere in the program: the contrast test reads this.
TEXT_ON = tuple(
    (text, ground)
    for text, grounds in (
        ("text", "window surface surface_raised surface_sunken hover pressed selection match accent_soft pill"),
        ("text", "info_soft"),
        ("text_muted", "window surface surface_raised surface_sunken hover selection info_soft"),
        ("accent", "window surface surface_raised surface_sunken accent_soft selection hover"),
        ("link", "surface surface_raised window"),
        ("on_accent", "accent accent_hover"),
        ("on_danger", "danger"),
        ("selection_text", "selection"),
        ("danger", "surface surface_raised danger_soft window"),
        ("success", "surface surface_raised success_soft window"),
        ("warning", "surface surface_raised warning_soft window"),
        ("info", "surface surface_raised info_soft window"),
        ("diff_added_text", "diff_added"),
        ("diff_removed_text", "diff_removed"),
        ("pill_text", "pill"),
        ("tooltip_text", "tooltip"),
    )
    for ground in grounds.split()
)
# One colour for each type of entity; types that nobody foresaw share `entity_other`.
ENTITY_ROLES = (
    *("entity_person", "entity_organization", "entity_project", "entity_decision", "entity_preference"),
    *("entity_place", "entity_date", "entity_reference", "entity_concept", "entity_other"),
)
# Shapes that carry meaning need 3:1 against their ground.
SHAPES_ON = tuple(
    (shape, ground)
    for shape in ("signal_vector", "signal_keyword", "signal_recency", "focus", "text_faint", *ENTITY_ROLES)
    for ground in ("surface", "surface_raised")
)


@dataclass(frozen=True, slots=True)
class Tokens:
    """One theme file, resolved: role → `#rrggbb` or `#rrggbbaa` (alpha last, as in CSS)."""

    name: str
    is_dark: bool
    roles: Mapping[str, str]

    def color(self, role: str) -> QColor:
        """The colour of a role; `KeyError` for an unknown one."""
        value = self.roles[role]
        return QColor(f"#{value[7:9]}{value[1:7]}" if len(value) == 9 else value)


@lru_cache(maxsize=4)
def load_tokens(name: str) -> Tokens:
    """The tokens of resources/themes/`name`.toml."""
    data = tomllib.loads(resource("themes", f"{name}.toml").read_text(encoding="utf-8"))
    base = data["base"]
    roles = {role: value if value.startswith("#") else base[value] for role, value in data["roles"].items()}
    return Tokens(data["name"], bool(data["dark"]), roles)


def contrast(first: QColor, second: QColor) -> float:
    """The WCAG 2 contrast ratio of two opaque colours, 1 to 21."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


class Theme(QObject):
    """The look of the running program. `changed` means: fetch colours, fonts and icons again."""

    changed = Signal()

    def __init__(self, app: QApplication, *, mode: Mode = "system", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._app = app
        self._mode: Mode = mode
        self._windows: list[QWidget] = []
        load_fonts()
        app.setStyle("Fusion")
        app.styleHints().colorSchemeChanged.connect(self._on_scheme_changed)
        self._tokens = load_tokens(self._wanted())
        self._apply()

    @property
    def mode(self) -> Mode:
        """What the person chose."""
        return self._mode

    @property
    def is_dark(self) -> bool:
        """Whether the dark tokens are in use."""
        return self._tokens.is_dark

    @property
    def tokens(self) -> Tokens:
        """The tokens in use."""
        return self._tokens

    def set_mode(self, mode: Mode) -> None:
        """Switches to light or dark, or follows the system."""
        self._mode = mode
        self._switch()

    def dress(self, window: QWidget) -> None:
        """Puts the style sheet on a window and all that is in it, for good.

        The application has none: Qt would work it out anew for everything inside, each time a widget is put into
        another, which is more than half of building a page.
        """
        self._windows.append(window)
        window.setStyleSheet(style_sheet(self._tokens.roles))

    def color(self, role: str) -> QColor:
        """The colour of a role such as `accent`; `KeyError` for an unknown one."""
        return self._tokens.color(role)

    def font(self, role: FontRole = "body") -> QFont:
        """The font of a role."""
        return font(role)

    def icon(self, name: str, role: str = "text_muted", size: int = SIZE) -> QIcon:
        """The icon tinted with a role's colour. It does not follow a later theme change: see `bind_icon`."""
        return tinted_icon(name, self.color(role), self.color("border_strong"), size)

    def pixmap(self, name: str, role: str = "text_muted", size: int = SIZE, scale: float = 2.0) -> QPixmap:
        """The icon as a pixmap, for painting."""
        return tinted_pixmap(name, self.color(role), size, scale)

    def bind_icon(
        self, target: QAbstractButton | QAction, name: str, role: str = "text_muted", size: int = SIZE
    ) -> None:
        """Gives `target` the icon, now and after every theme change as long as it lives."""

        _IconBinding(target, name, role, size=size, theme=self)

    def _wanted(self) -> str:
        if self._mode == "system":
            dark = self._app.styleHints().colorScheme() == Qt.ColorScheme.Dark
            return "dark" if dark else "light"
        return self._mode

    def _on_scheme_changed(self) -> None:
        if self._mode == "system":
            self._switch()

    def _switch(self) -> None:
        tokens = load_tokens(self._wanted())
        if tokens != self._tokens:
            self._tokens = tokens
            self._apply()
            self.changed.emit()

    def _apply(self) -> None:
        self._app.setFont(font("body"))
        self._app.setPalette(palette(self._tokens))
        for window in self._windows:
            window.setStyleSheet(style_sheet(self._tokens.roles))


class _IconBinding(QObject):
    """Keeps one icon in the theme's colours. Lives and dies with its target."""

    def __init__(self, target: QAbstractButton | QAction, name: str, role: str, *, size: int, theme: Theme) -> None:
        super().__init__(target)
        self._target, self._name, self._role, self._size, self._theme = target, name, role, size, theme
        self.paint()
        theme.changed.connect(self.paint)

    def paint(self) -> None:
        """Sets the icon anew."""
        self._target.setIcon(self._theme.icon(self._name, self._role, self._size))


def load_fonts() -> None:
    """Makes the bundled font known; without it, a machine without fonts shows boxes."""
    if FAMILY not in QFontDatabase.families():
        for weight in ("Regular", "Medium", "SemiBold"):
            QFontDatabase.addApplicationFont(str(resource("fonts", f"Inter-{weight}.otf")))


def font(role: FontRole = "body") -> QFont:
    """The font of a role, in pixels (Qt scales them with the screen)."""
    if role == "mono":
        made = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        made.setPixelSize(SMALL_PX)
        return made
    made = QFont(FAMILY)
    made.setPixelSize({"small": SMALL_PX, "heading": HEADING_PX, "title": TITLE_PX}.get(role, BODY_PX))
    if role == "strong":
        made.setWeight(QFont.Weight.Medium)
    elif role in ("heading", "title"):
        made.setWeight(QFont.Weight.DemiBold)
    made.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return made


def palette(tokens: Tokens) -> QPalette:
    """Fusion's palette from the roles."""
    made = QPalette()
    for qt_role, role in _PALETTE.items():
        made.setColor(qt_role, tokens.color(role))
    for qt_role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, qt_role, tokens.color("text_faint"))
    return made


_PALETTE = {
    QPalette.ColorRole.Window: "window",
    QPalette.ColorRole.WindowText: "text",
    QPalette.ColorRole.Base: "surface",
    QPalette.ColorRole.AlternateBase: "surface_sunken",
    QPalette.ColorRole.Text: "text",
    QPalette.ColorRole.PlaceholderText: "text_muted",
    QPalette.ColorRole.Button: "surface",
    QPalette.ColorRole.ButtonText: "text",
    QPalette.ColorRole.BrightText: "danger",
    QPalette.ColorRole.Highlight: "selection",
    QPalette.ColorRole.HighlightedText: "selection_text",
    QPalette.ColorRole.Link: "link",
    QPalette.ColorRole.ToolTipBase: "tooltip",
    QPalette.ColorRole.ToolTipText: "tooltip_text",
    QPalette.ColorRole.Accent: "accent",
    QPalette.ColorRole.Light: "surface_raised",
    QPalette.ColorRole.Midlight: "hover",
    QPalette.ColorRole.Mid: "border",
    QPalette.ColorRole.Dark: "border_strong",
    QPalette.ColorRole.Shadow: "border_strong",
}


def _luminance(color: QColor) -> float:
    def linear(channel: float) -> float:
        return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)

    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF())
