"""The language that the program speaks: the person's choice or the system's, for our own sentences and for Qt's."""

from __future__ import annotations

from PySide6.QtCore import QLibraryInfo, QLocale, QTranslator
from PySide6.QtWidgets import QApplication

from gm_desktop.i18n import LANGUAGES, PSEUDO, use_language


class QtWords(QTranslator):
    """What Qt says by itself (Cancel, Paste); names of keys stay as our sentences write them."""

    def translate(self, context: str, source: str, /, disambiguation: str | None = None, n: int = -1) -> str | None:
        """Nothing for keys, so that Qt keeps their own names."""
        return None if context == "QShortcut" else super().translate(context, source, disambiguation, n)


def system_language() -> str:
    """The system's language where there is a catalogue for it, else English."""
    language = QLocale.system().name().partition("_")[0]
    return language if language in LANGUAGES else "en"


def speak(app: QApplication, language: str) -> None:
    """Says everything from now on in `language`, a key of `LANGUAGES` or the pseudo-locale; "" is the system's.

    Qt itself writes numbers with a point; `i18n.decimal` writes them as the language does.
    """
    chosen = language if language in (*LANGUAGES, PSEUDO) else system_language()
    use_language(chosen)
    QLocale.setDefault(QLocale.c())
    for old in app.findChildren(QtWords):
        app.removeTranslator(old)
        old.deleteLater()
    if chosen not in ("en", PSEUDO):
        words = QtWords(app)
        words.load(f"qtbase_{chosen}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath))
        app.installTranslator(words)
