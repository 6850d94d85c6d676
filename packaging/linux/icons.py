"""Draws the program's icon in the sizes that desktops ask for: `icons.py HICOLOR SIZE…`; also as SVG."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from gm_engine.resources import resource

GROUND, MARK = "#5752d1", "#ffffff"


def icon_svg() -> str:
    """The mark in white on a rounded ground of the accent colour."""
    mark = resource("icons", "mark.svg").read_text(encoding="utf-8")
    inner = mark[mark.index(">") + 1 : mark.rindex("</svg>")].replace("currentColor", MARK)
    style = f'fill="none" stroke="{MARK}" stroke-width="2.2" stroke-linecap="round"'
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64" viewBox="0 0 64 64">'
        f'<rect x="2" y="2" width="60" height="60" rx="15" fill="{GROUND}"/>'
        f'<g transform="translate(10.4 10.4) scale(1.8)" {style}>{inner}</g></svg>'
    )


def main(target: Path, sizes: list[int]) -> None:
    """Writes `SIZExSIZE/apps/graymatter-desktop.png` for each size, and the SVG."""
    QGuiApplication(["icons"])
    svg = icon_svg()
    renderer = QSvgRenderer(QByteArray(svg.encode()))
    for size in sizes:
        image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        renderer.render(painter)
        painter.end()
        folder = target / f"{size}x{size}" / "apps"
        folder.mkdir(parents=True, exist_ok=True)
        if not image.save(str(folder / "graymatter-desktop.png")):
            raise SystemExit(f"the icon of {size} pixels could not be written")
    folder = target / "scalable" / "apps"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "graymatter-desktop.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(size) for size in sys.argv[2:]])
