"""`graymatter-desktop`: flags, then one window."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from gm_desktop import quick_start

UNSEEN = ("offscreen", "minimal")  # Qt's platforms that nobody looks at: no tour there
CHILD_FLAG = "--graymatter-child"  # gm_engine.child.FLAG
SWITCH_INTERVAL_S = 0.001  # the GUI thread gets the interpreter back sooner while a lane computes


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the desktop until its window is closed; returns the exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == [CHILD_FLAG]:
        from gm_engine import child  # a frozen program has no interpreter: it starts itself

        return child.run(given) if child.is_child(given) else 2
    options = _parser().parse_args(given)
    quick_start.begin()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads wait for each other longer than one scan takes
    if options.screenshots is not None:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication  # after the platform is chosen

    from gm_desktop.app import App, Places
    from gm_desktop.paths import default_log_dir, default_preferences_dir
    from gm_engine.clock import SystemClock

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    qt = QApplication([sys.argv[0]])
    qt.setApplicationName("GrayMatter")
    qt.setDesktopFileName("graymatter-desktop")
    if options.screenshots is not None:
        quick_start.end()
        from gm_desktop.screenshots import take_screenshots

        return take_screenshots(
            qt,
            options.screenshots,
            data_dir=None if options.demo else options.data_dir,
            size=options.size,
            language=options.language or "en",
        )
    if options.self_test:
        from gm_desktop.self_test import self_test

        return self_test(qt, import_file=options.import_file)
    places = Places(options.preferences_dir or default_preferences_dir(), default_log_dir())
    app = App(qt, places=places, clock=SystemClock(), language=options.language)
    app.window.first_painted.connect(quick_start.end)
    if qt.platformName() not in UNSEEN:
        app.tour.wait_for_first_store()
    app.window.show()
    app.start(options.data_dir, read_only=options.read_only, demo=options.demo)
    if options.file is not None:
        app.flow.import_file(options.file)
    code = qt.exec()
    app.close()
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="graymatter-desktop", description="See and correct what AI agents remember.")
    parser.add_argument("file", nargs="?", type=Path, help="a store, export, table or note to look into for an import")
    parser.add_argument("--data-dir", type=Path, help="the store to open (default: the last one, or GRAYMATTER_DIR)")
    parser.add_argument("--demo", action="store_true", help="open a store with made-up agents")
    parser.add_argument("--read-only", action="store_true", help="change nothing, not even counters")
    parser.add_argument("--preferences-dir", type=Path, help="where window and theme are remembered")
    parser.add_argument("--screenshots", type=Path, metavar="DIR", help="render every page into DIR and exit")
    parser.add_argument("--language", default="", help="en, de or es (default: as chosen in Settings, or the system's)")
    parser.add_argument("--size", type=_size, default=(1280, 800), metavar="WxH", help="size of the screenshots")
    parser.add_argument("--self-test", action="store_true", help="do the main job once on a demo and exit")
    parser.add_argument(
        "--import", dest="import_file", type=Path, metavar="FILE", help="also import FILE in the self-test"
    )
    return parser


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise argparse.ArgumentTypeError(f"a size is WIDTHxHEIGHT, not {text!r}")
    return int(width), int(height)


if __name__ == "__main__":
    sys.exit(main())
