"""Frames: one message per line, at most 8 MiB, in both directions."""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import Protocol

from gm_engine.recall_protocol.errors import FrameTooLarge
from gm_engine.recall_protocol.messages import Message, encode_message, parse_message

MAX_FRAME_BYTES = 8 * 2**20
"""The longest line that is read or written, its newline included."""

_CHUNK_BYTES = 64 * 2**10


class ByteReader(Protocol):
    """What a decoder reads from: any buffered binary file, such as the stdin of a child process."""

    def read1(self, size: int = -1, /) -> bytes:
        """What is there, at most `size` bytes, as soon as there is anything; empty at the end."""


class ByteWriter(Protocol):
    """What an encoder writes to: any buffered binary file."""

    def write(self, data: bytes, /) -> object:
        """Takes all of `data`."""

    def flush(self) -> None:
        """Hands on what was written."""


class Assembler:
    """Puts messages together from the pieces a stream comes in. For one thread at a time."""

    def __init__(self, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_bytes = max_frame_bytes
        self._lines: deque[bytes | FrameTooLarge] = deque()
        self._held = bytearray()  # the beginning of a line; nothing once it is longer than a frame may be
        self._held_bytes = 0  # how long that line is so far

    def feed(self, data: bytes) -> None:
        """Takes the next piece of the stream."""
        start = 0
        while end := data.find(b"\n", start) + 1:
            self._end_line(data[start:end])
            start = end
        if start < len(data):
            self._hold(data[start:])

    def finish(self) -> None:
        """The stream has ended: what is held is the last line, which needs no newline."""
        if self._held_bytes:
            self._end_line(b"")

    def message(self) -> Message | None:
        """The next message of what was fed; None when there is none yet. Blank lines are skipped.

        Raises `FrameError` for a line that is no message and `FrameTooLarge` for one above the limit; the next call
        goes on with the next line.
        """
        while self._lines:
            line = self._lines.popleft()
            if isinstance(line, FrameTooLarge):
                raise line
            if not line.isspace():
                return parse_message(line)
        return None

    def _hold(self, part: bytes) -> None:
        self._held_bytes += len(part)
        if self._held_bytes > self._max_bytes:
            self._held.clear()
        else:
            self._held += part

    def _end_line(self, part: bytes) -> None:
        size = self._held_bytes + len(part)
        if size > self._max_bytes:
            self._lines.append(FrameTooLarge("it is longer than the limit", size_bytes=size))
        else:
            self._lines.append(bytes(self._held) + part if self._held else part)
        self._held.clear()
        self._held_bytes = 0


class Decoder:
    """Reads messages from a stream, one line after the other. For one thread at a time."""

    def __init__(self, reader: ByteReader, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._reader = reader
        self._assembler = Assembler(max_frame_bytes=max_frame_bytes)

    def read(self) -> Message | None:
        """The next message; None at the end of the stream. Blank lines are skipped; a last line needs no newline.

        Raises `FrameError` for a line that is no message and `FrameTooLarge` for one above the limit. Both were
        consumed to their newline: the next call reads the next line. `OSError` and `ValueError` (a closed file) end
        the stream.
        """
        while (message := self._assembler.message()) is None:
            data = self._reader.read1(_CHUNK_BYTES)
            if not data:
                self._assembler.finish()
                return self._assembler.message()
            self._assembler.feed(data)
        return message


class Encoder:
    """Writes messages to a stream, each as one line that no other write can split. Safe from any thread."""

    def __init__(self, writer: ByteWriter, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._writer = writer
        self._max_bytes = max_frame_bytes
        self._lock = Lock()

    def write(self, message: Message) -> None:
        """Writes and flushes one message.

        Raises `FrameTooLarge` before anything is written, `ValueError` or `TypeError` when a payload is no JSON value,
        and `OSError` when the other end is gone.
        """
        self.write_line(self.line_of(message))

    def line_of(self, message: Message) -> bytes:
        """The bytes of a message, newline included. Raises `FrameTooLarge`, `ValueError` or `TypeError`."""
        line = encode_message(message)
        if len(line) > self._max_bytes:
            raise FrameTooLarge("it is longer than the limit", size_bytes=len(line))
        return line

    def write_line(self, line: bytes) -> None:
        """Writes and flushes what `line_of` returned. Raises `OSError` when the other end is gone."""
        with self._lock:
            self._writer.write(line)
            self._writer.flush()
