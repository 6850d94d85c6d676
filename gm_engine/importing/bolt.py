"""A read-only reader of bbolt files, format version 2.

A bbolt file is an array of pages. Two meta pages point at the root of a B+ tree whose leaves hold keys with values or
with further buckets. A writer never touches a page that the current meta page can reach: it writes new pages, then the
other meta page. So the pages below one meta page are consistent as long as that meta page is still the newest.

Nothing in a file is believed: every offset is checked, every page may be visited once, and data of one page may not
overlap, so that the work is bounded by the size of the file. Whatever breaks a rule is an `ImportRefused` that names
the page and the offset.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import BinaryIO, NoReturn

from gm_engine.errors import DiskFull, ImportRefused
from gm_engine.progress import CancelToken, Progress, no_progress

MAGIC = 0xED0CDAED
VERSION = 2
_BRANCH, _LEAF, _META = 0x01, 0x02, 0x04
_PAGE_TYPES = {_BRANCH: "a branch page", _LEAF: "a leaf page", _META: "a meta page", 0x10: "a freelist page"}
_BUCKET = 0x01
_PAGE = Struct("<QHHI")  # id, flags, count, overflow
_META_FIELDS = Struct(
    "<IIIIQQQQQQ"
)  # magic, version, page size, flags, root, sequence, freelist, high water, txid, checksum
_BRANCH_ELEMENT = Struct("<IIQ")  # pos, key size, page
_LEAF_ELEMENT = Struct("<IIII")  # flags, pos, key size, value size
_BUCKET_HEADER = Struct("<QQ")  # root page, sequence
_FIRST_PAGE_SIZE, _PAGE_SIZES = 1024, 16  # 1 KiB … 32 MiB, as bbolt itself looks for the second meta page
_MAX_BUCKET_DEPTH = 16
_COPY_BYTES = 4 << 20
_COPY_ATTEMPTS = 5

Buffer = bytes | mmap.mmap


@dataclass(frozen=True, slots=True)
class Meta:
    """What the newest valid meta page says. `high_water` is the number of pages in use."""

    page_size: int
    root: int
    high_water: int
    txid: int

    @property
    def used_bytes(self) -> int:
        """How much of the file belongs to pages in use; what follows was only reserved."""
        return self.page_size * self.high_water


@dataclass(frozen=True, slots=True)
class Entry:
    """One key below the buckets `path`. The value is copied out of the file when it is asked for."""

    path: tuple[bytes, ...]
    key: bytes
    data: Buffer
    start: int
    size: int

    @property
    def value(self) -> bytes:
        """The value's bytes."""
        return self.data[self.start : self.start + self.size]


@dataclass(frozen=True, slots=True)
class _Page:
    """A page, or an inline bucket's page, that was checked to lie inside the file: `[start, end)`."""

    number: int
    start: int
    end: int
    is_branch: bool
    count: int
    is_inline: bool


def fnv1a_64(data: bytes) -> int:
    """The FNV-1a hash of 64 bits that seals a meta page."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


class BoltFile:
    """The bytes of a bbolt file. `walk` yields every key once; a damaged file is an `ImportRefused`."""

    def __init__(self, data: Buffer, name: str) -> None:
        self._data = data
        self._name = name
        self._seen: set[int] = set()
        self.meta = find_meta(data, name)
        if self.meta.used_bytes > len(data):
            _refuse_truncated(name, self.meta, len(data))

    def walk(self) -> Iterator[Entry]:
        """Every key that has a value, in the order of the file, depth first."""
        self._seen = {0, 1}
        stack = [self._page_entries(self._page(self.meta.root, "the root bucket"), ())]
        while stack:
            found = next(stack[-1], None)
            if found is None:
                stack.pop()
            elif isinstance(found, Entry):
                yield found
            else:
                page, path = found
                stack.append(self._page_entries(page, path))

    def _page(self, number: int, wanted_by: str) -> _Page:
        """The page `number`, checked and marked as visited together with its overflow pages."""
        size, high_water = self.meta.page_size, self.meta.high_water
        if not 2 <= number < high_water:
            self._refuse(f"{wanted_by} points at page {number}; the file has pages 2 to {high_water - 1}", page=number)
        start = number * size
        own_number, flags, count, overflow = _PAGE.unpack_from(self._data, start)
        if own_number != number:
            self._refuse(f"page {number} says that it is page {own_number}", page=number, offset=start)
        if flags not in (_BRANCH, _LEAF):
            kind = _PAGE_TYPES.get(flags, f"of the unknown type {flags:#06x}")
            self._refuse(f"page {number} is {kind}, not a branch or a leaf", page=number, offset=start)
        if number + overflow >= high_water:
            self._refuse(f"page {number} goes on beyond the last page ({overflow} more)", page=number, offset=start)
        for part in range(number, number + overflow + 1):
            if part in self._seen:
                self._refuse(f"page {part} is reached twice (a loop), again by {wanted_by}", page=part, offset=start)
            self._seen.add(part)
        return self._checked(_Page(number, start, start + size * (overflow + 1), flags == _BRANCH, count, False))

    def _inline_page(self, outer: _Page, start: int, end: int) -> _Page:
        """The page of a bucket small enough to live inside its parent's value, `[start, end)`."""
        if outer.is_inline:
            self._refuse("an inline bucket holds another bucket", page=outer.number, offset=start)
        if end - start < _PAGE.size:
            self._refuse("an inline bucket is shorter than a page header", page=outer.number, offset=start)
        _, flags, count, overflow = _PAGE.unpack_from(self._data, start)
        if flags != _LEAF or overflow != 0:
            self._refuse("an inline bucket is not one leaf page", page=outer.number, offset=start)
        return self._checked(_Page(outer.number, start, end, False, count, True))

    def _checked(self, page: _Page) -> _Page:
        if page.is_branch and page.count == 0:
            self._refuse(f"branch page {page.number} is empty", page=page.number, offset=page.start)
        if page.start + _PAGE.size + page.count * _LEAF_ELEMENT.size > page.end:
            text = f"page {page.number} claims {page.count} elements, more than fit"
            self._refuse(text, page=page.number, offset=page.start)
        return page

    def _page_entries(self, page: _Page, path: tuple[bytes, ...]) -> Iterator[Entry | tuple[_Page, tuple[bytes, ...]]]:
        return self._branch_entries(page, path) if page.is_branch else self._leaf_entries(page, path)

    def _branch_entries(self, page: _Page, path: tuple[bytes, ...]) -> Iterator[tuple[_Page, tuple[bytes, ...]]]:
        free_from = page.start + _PAGE.size + page.count * _BRANCH_ELEMENT.size
        for n in range(page.count):
            element = page.start + _PAGE.size + n * _BRANCH_ELEMENT.size
            pos, key_size, child = _BRANCH_ELEMENT.unpack_from(self._data, element)
            free_from = self._claim(page, n, element, (element + pos, key_size), free_from)
            yield self._page(child, f"element {n} of branch page {page.number}"), path

    def _leaf_entries(self, page: _Page, path: tuple[bytes, ...]) -> Iterator[Entry | tuple[_Page, tuple[bytes, ...]]]:
        free_from = page.start + _PAGE.size + page.count * _LEAF_ELEMENT.size
        for n in range(page.count):
            element = page.start + _PAGE.size + n * _LEAF_ELEMENT.size
            flags, pos, key_size, value_size = _LEAF_ELEMENT.unpack_from(self._data, element)
            key_start = element + pos
            free_from = self._claim(page, n, element, (key_start, key_size + value_size), free_from)
            key = self._data[key_start : key_start + key_size]
            if flags == 0:
                yield Entry(path, key, self._data, key_start + key_size, value_size)
            elif flags == _BUCKET:
                yield self._bucket_page(page, n, (key_start + key_size, free_from), (*path, key))
            else:
                text = f"element {n} of page {page.number} has the unknown flags {flags:#x}"
                self._refuse(text, page=page.number, offset=element)

    def _bucket_page(
        self, outer: _Page, n: int, span: tuple[int, int], path: tuple[bytes, ...]
    ) -> tuple[_Page, tuple[bytes, ...]]:
        start, end = span
        if end - start < _BUCKET_HEADER.size:
            text = f"element {n} of page {outer.number} is too short for a bucket"
            self._refuse(text, page=outer.number, offset=start)
        if len(path) > _MAX_BUCKET_DEPTH:
            text = f"page {outer.number} nests buckets more than {_MAX_BUCKET_DEPTH} deep"
            self._refuse(text, page=outer.number, offset=start)
        root, _ = _BUCKET_HEADER.unpack_from(self._data, start)
        if root == 0:
            return self._inline_page(outer, start + _BUCKET_HEADER.size, end), path
        return self._page(root, f"bucket {n} of page {outer.number}"), path

    def _claim(self, page: _Page, n: int, element: int, span: tuple[int, int], free_from: int) -> int:
        """The end of the element's data, which must follow that of the one before it and lie inside the page."""
        start, size = span
        if start < free_from or start + size > page.end:
            text = f"element {n} of page {page.number} has its data outside its place ({size} bytes at offset {start})"
            self._refuse(text, page=page.number, offset=element)
        return start + size

    def _refuse(self, problem: str, *, page: int, offset: int | None = None) -> NoReturn:
        where = "" if offset is None else f" (at offset {offset})"
        raise ImportRefused(f"{self._name} is damaged: {problem}{where}.", file=self._name, page=page, offset=offset)


def find_meta(data: Buffer, name: str) -> Meta:
    """The valid meta page with the higher txid. `data` needs to hold the first two pages only.

    Raises `ImportRefused` that says why neither page will do.
    """
    problems: list[str] = []
    metas: list[Meta] = []
    first = _read_meta(data, 0, problems)
    positions = [_FIRST_PAGE_SIZE << n for n in range(_PAGE_SIZES)]
    if first is not None:
        metas.append(first)
        positions = [first.page_size]
    for position in positions:
        second = _read_meta(data, position, problems if first is not None else [])
        if second is not None and second.page_size == position:
            metas.append(second)
            break
    if not metas:
        reason = problems[0] if problems else "it is shorter than a meta page"
        raise ImportRefused(f"{name} is not a readable bbolt file: {reason}.", file=name, page=0, offset=0)
    return max(metas, key=lambda meta: meta.txid)


def _read_meta(data: Buffer, position: int, problems: list[str]) -> Meta | None:
    if position + _PAGE.size + _META_FIELDS.size > len(data):
        problems.append(f"it ends before the meta page at offset {position} does")
        return None
    start = position + _PAGE.size
    fields = _META_FIELDS.unpack_from(data, start)
    magic, version, page_size, _, root, _, _, high_water, txid, checksum = fields
    problem = ""
    if magic != MAGIC:
        problem = f"the meta page at offset {position} lacks the magic number"
    elif version != VERSION:
        problem = f"the meta page at offset {position} has format version {version}, only {VERSION} is known"
    elif fnv1a_64(data[start : start + _META_FIELDS.size - 8]) != checksum:
        problem = f"the checksum of the meta page at offset {position} does not match"
    elif page_size not in {_FIRST_PAGE_SIZE << n for n in range(_PAGE_SIZES)}:
        problem = f"the meta page at offset {position} has an impossible page size, {page_size}"
    elif not _PAGE.unpack_from(data, position)[1] & _META:
        problem = f"the page at offset {position} is not marked as a meta page"
    if problem:
        problems.append(problem)
        return None
    return Meta(page_size, root, high_water, txid)


def _refuse_truncated(name: str, meta: Meta, size_bytes: int) -> NoReturn:
    raise ImportRefused(
        f"{name} is truncated: it has {size_bytes} bytes, its {meta.high_water} pages need {meta.used_bytes} "
        f"(page {size_bytes // meta.page_size} is the first that is incomplete).",
        file=name,
        page=size_bytes // meta.page_size,
        offset=size_bytes,
    )


@contextmanager
def open_bolt(path: Path, *, progress: Progress = no_progress, cancel: CancelToken | None = None) -> Iterator[BoltFile]:
    """A consistent private copy of the pages in use, so that a program may go on writing to the file.

    The copy is a nameless temporary file. Raises `ImportRefused` when the file cannot be read, is damaged, or keeps
    changing faster than it can be copied, and `DiskFull` when there is no room for the copy.
    """
    with _opened(path) as source, tempfile.TemporaryFile() as copy:
        _copy_consistently(source, copy, path.name, progress=progress, cancel=cancel)
        with mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield BoltFile(data, path.name)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        source = path.open("rb")
    except OSError as error:
        raise ImportRefused(f"{path.name} cannot be read: {error.strerror}.", file=path.name) from error
    with source:
        yield source


def _copy_consistently(
    source: BinaryIO, copy: BinaryIO, name: str, *, progress: Progress, cancel: CancelToken | None
) -> None:
    """Copies the pages in use, again if a transaction was committed meanwhile (it may have reused one of them)."""
    meta = _live_meta(source, name)
    for _ in range(_COPY_ATTEMPTS):
        size = os.fstat(source.fileno()).st_size
        if meta.used_bytes > size:
            _refuse_truncated(name, meta, size)
        _copy_pages(source, copy, name, size_bytes=meta.used_bytes, progress=progress, cancel=cancel)
        after = _live_meta(source, name)
        if after.txid == meta.txid:
            return
        meta = after
    raise ImportRefused(f"{name} changes faster than it can be copied; stop the program that writes it.", file=name)


def _live_meta(source: BinaryIO, name: str) -> Meta:
    source.seek(0)
    start = source.read(_FIRST_PAGE_SIZE)
    problems: list[str] = []
    first = _read_meta(start, 0, problems)
    size = first.page_size if first is not None else _FIRST_PAGE_SIZE << (_PAGE_SIZES - 1)
    return find_meta(start + source.read(size), name)


def _copy_pages(
    source: BinaryIO, copy: BinaryIO, name: str, *, size_bytes: int, progress: Progress, cancel: CancelToken | None
) -> None:
    try:
        source.seek(0)
        copy.seek(0)
        left = size_bytes
        while left:
            if cancel is not None:
                cancel.check()
            chunk = source.read(min(left, _COPY_BYTES))
            if not chunk:
                raise ImportRefused(f"{name} became shorter while it was read.", file=name)
            copy.write(chunk)
            left -= len(chunk)
            progress(size_bytes - left, size_bytes, f"Copying {name}")
        copy.truncate()
        copy.flush()
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(f"There is no room for a temporary copy of {name}.", file=name) from error
        raise ImportRefused(f"{name} cannot be read: {error.strerror}.", file=name) from error
