"""The picture of an X server: read from its file, looked at, and kept as PNG."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from types import ModuleType

import pytest

from tests.fakes.packaging_modules import load

ROOT = Path(__file__).resolve().parents[2]
NAME = b"screen\0"
WIDTH, HEIGHT, PADDED = 3, 2, 16  # a line is longer than its pixels


@pytest.fixture(scope="module")
def xwd() -> ModuleType:
    """`packaging/xwd.py`, which is no part of a package."""
    return load("xwd")


def picture(bits: int = 32) -> bytes:
    """Two lines: red, green, blue; and three times the accent."""
    fields = [0] * 25
    fields[0], fields[4], fields[5], fields[11], fields[12], fields[19] = (
        100 + len(NAME),
        WIDTH,
        HEIGHT,
        bits,
        PADDED,
        2,
    )
    colours = bytes(12 * 2)
    first = bytes.fromhex("0000ff00 00ff0000 ff000000".replace(" ", ""))
    second = bytes.fromhex("d1525700") * 3
    return (
        struct.pack(">25I", *fields) + NAME + colours + b"".join(line.ljust(PADDED, b"?") for line in (first, second))
    )


def test_a_screen_is_read_and_its_colours_are_counted(xwd: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "screen").write_bytes(picture())
    screen = xwd.read_screen(tmp_path / "screen")
    assert screen.rows() == [bytes.fromhex("ff000000ff000000ff"), bytes.fromhex("5752d1") * 3]
    assert screen.count("#5752d1", (0, 0, WIDTH, HEIGHT)) == 3
    assert screen.count("#5752d1", (1, 1, 1, 1)) == 1
    assert screen.count("#5752d1", (0, 0, WIDTH, 1)) == 0
    assert screen.count("#00ff00", (0, 0, WIDTH, 1)) == 1


def test_a_screen_becomes_a_png(xwd: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "screen").write_bytes(picture())
    xwd.read_screen(tmp_path / "screen").save(tmp_path / "screen.png")
    data = (tmp_path / "screen.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size)[0] == zlib.crc32(kind + body)
        chunks[kind], at = body, at + 12 + size
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    assert struct.unpack(">2I5B", chunks[b"IHDR"]) == (WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    assert zlib.decompress(chunks[b"IDAT"]) == b"\0" + bytes.fromhex("ff000000ff000000ff") + b"\0" + b"\x57\x52\xd1" * 3


def test_a_screen_of_other_pixels_is_refused(xwd: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "screen").write_bytes(picture(bits=16))
    with pytest.raises(ValueError, match="16 bits"):
        xwd.read_screen(tmp_path / "screen")
