"""Reads the picture of an X server that keeps its screen in a file (`Xvfb -fbdir`), and writes it as PNG."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

HEADER = struct.Struct(">25I")  # X11/XWDFile.h: everything is big-endian, whatever the pixels are
COLOUR_BYTES = 12
Box = tuple[int, int, int, int]  # left, top, width, height


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen of 32 bits a pixel: blue, green, red, nothing."""

    width: int
    height: int
    pixels: bytes

    def rows(self) -> list[bytes]:
        """The lines from above, as RGB."""
        lines = []
        for top in range(self.height):
            line = self.pixels[top * self.width * 4 : (top + 1) * self.width * 4]
            rgb = bytearray(self.width * 3)
            rgb[0::3], rgb[1::3], rgb[2::3] = line[2::4], line[1::4], line[0::4]
            lines.append(bytes(rgb))
        return lines

    def count(self, colour: str, box: Box) -> int:
        """How many pixels inside `box` have exactly this colour (`#5752d1`)."""
        left, top, width, height = box
        wanted = bytes.fromhex(colour.removeprefix("#"))
        found = 0
        for line in self.rows()[top : top + height]:
            part = line[left * 3 : (left + width) * 3]
            found += sum(part[at : at + 3] == wanted for at in range(0, len(part), 3))
        return found

    def save(self, path: Path) -> None:
        """Writes a PNG."""
        raw = b"".join(b"\0" + line for line in self.rows())
        header = struct.pack(">2I5B", self.width, self.height, 8, 2, 0, 0, 0)
        chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(raw)), (b"IEND", b""))
        body = b"".join(
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
            for kind, data in chunks
        )
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


def read_screen(path: Path) -> Screen:
    """The screen as it is now. Raises `ValueError` for another depth than 32 bits a pixel."""
    data = path.read_bytes()
    fields = HEADER.unpack_from(data)
    header_bytes, width, height, bits, line_bytes, colours = fields[0], *fields[4:6], fields[11], fields[12], fields[19]
    if bits != 32:
        raise ValueError(f"a pixel has {bits} bits, not 32")
    start = header_bytes + colours * COLOUR_BYTES
    lines = (data[start + top * line_bytes : start + top * line_bytes + width * 4] for top in range(height))
    return Screen(width, height, b"".join(lines))
