"""Frames: one message per line, at most 8 MiB, in both directions."""

from __future__ import annotations

from threading import Lock
from typing import Protocol

from gm_engine.recall_protocol.errors import FrameTooLarge
from gm_engine.recall_protocol.messages import Message, encode_message, parse_message

MAX_FRAME_BYTES = 8 * 2**20
"""The longest line that is read or written, its newline included."""

_SKIP_BYTES = 64 * 2**10


class LineReader(Protocol):
    """What a decoder reads from: any buffered binary file, such as the stdout of a child process."""

    def readline(self, size: int = -1, /) -> bytes:
        """At most `size` bytes, up to and with the next newline; empty at the end."""


class ByteWriter(Protocol):
    """What an encoder writes to: any buffered binary file."""

    def write(self, data: bytes, /) -> object:
        """Takes all of `data`."""

    def flush(self) -> None:
        """Hands on what was written."""


class Decoder:
    """Reads messages from a stream, one line after the other. For one thread."""

    def __init__(self, reader: LineReader, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._reader = reader
        self._max_bytes = max_frame_bytes

    def read(self) -> Message | None:
        """The next message; None at the end of the stream. Blank lines are skipped; a last line needs no newline.

        Raises `FrameError` for a line that is no message and `FrameTooLarge` for one above the limit. Both were
        consumed to their newline: the next call reads the next line. `OSError` and `ValueError` (a closed file) end
        the stream.
        """
        while line := self._reader.readline(self._max_bytes):
            if len(line) == self._max_bytes and line[-1:] != b"\n":
                self._check_end(len(line))
            if not line.isspace():
                return parse_message(line)
        return None

    def _check_end(self, read_bytes: int) -> None:
        """A line that fills the limit without a newline is a frame only when the stream ends with it."""
        size = read_bytes
        while (rest := self._reader.readline(_SKIP_BYTES)) and rest[-1:] != b"\n":
            size += len(rest)
        if size + len(rest) > self._max_bytes:
            raise FrameTooLarge("it is longer than the limit", size_bytes=size + len(rest))


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
