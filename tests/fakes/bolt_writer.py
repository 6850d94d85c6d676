"""Builds bbolt files of any shape for the reader's tests: branch, leaf, overflow, inline and nested buckets."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Union

from gm_engine.importing.bolt import MAGIC, VERSION, fnv1a_64

Tree = Mapping[bytes, Union[bytes, "Tree"]]
BRANCH, LEAF, META, FREELIST = 0x01, 0x02, 0x04, 0x10
_Element = tuple[bytes, int, bytes]  # key, flags, value


def meta_bytes(
    *, page_size: int, root: int, high_water: int, txid: int, version: int = VERSION, magic: int = MAGIC
) -> bytes:
    """The fields of a meta page with their checksum."""
    fields = struct.pack("<IIIIQQQQQ", magic, version, page_size, 0, root, 0, 2, high_water, txid)
    return fields + struct.pack("<Q", fnv1a_64(fields))


class BoltWriter:
    """`per_page` elements go on a page before a branch page is needed; larger values overflow."""

    def __init__(self, *, page_size: int = 1024, per_page: int = 4, inline: bool = True) -> None:
        self.page_size = page_size
        self.per_page = per_page
        self.inline = inline
        self._pages: dict[int, bytes] = {}
        self._next = 3

    def build(self, tree: Tree, *, txid: int = 7) -> bytes:
        """The whole file; the older meta page points at an empty root."""
        self._pages, self._next = {}, 3
        empty = self._place(LEAF, [])
        root = self._bucket(tree)
        self._pages[2] = self._page(2, FREELIST, 0, b"")
        for number, meta_txid, meta_root in ((txid % 2, txid, root), ((txid + 1) % 2, txid - 1, empty)):
            meta = meta_bytes(page_size=self.page_size, root=meta_root, high_water=self._next, txid=meta_txid)
            self._pages[number] = self._page(number, META, 0, meta)
        return b"".join(self._pages[number] for number in sorted(self._pages))

    def _bucket(self, tree: Tree) -> int:
        elements: list[_Element] = []
        for key in sorted(tree):
            value = tree[key]
            elements.append((key, 0, value) if isinstance(value, bytes) else (key, 1, self._bucket_value(value)))
        level = [(group[0][0] if group else b"", self._place(LEAF, group)) for group in self._groups(elements)]
        while len(level) > 1:
            branches = [level[n : n + self.per_page] for n in range(0, len(level), self.per_page)]
            level = [(branch[0][0], self._place_branch(branch)) for branch in branches]
        return level[0][1]

    def _groups(self, elements: list[_Element]) -> list[list[_Element]]:
        return [elements[n : n + self.per_page] for n in range(0, len(elements), self.per_page)] or [[]]

    def _bucket_value(self, tree: Tree) -> bytes:
        flat = [(key, 0, value) for key, value in sorted(tree.items()) if isinstance(value, bytes)]
        body = leaf_body(flat)
        if self.inline and len(flat) == len(tree) and len(body) + 16 <= self.page_size // 4:
            return struct.pack("<QQ", 0, 0) + struct.pack("<QHHI", 0, LEAF, len(flat), 0) + body
        return struct.pack("<QQ", self._bucket(tree), 0)

    def _place(self, flags: int, elements: Sequence[_Element]) -> int:
        return self._add(flags, len(elements), leaf_body(elements))

    def _place_branch(self, children: Sequence[tuple[bytes, int]]) -> int:
        headers, data = b"", b""
        for n, (key, page) in enumerate(children):
            headers += struct.pack("<IIQ", 16 * (len(children) - n) + len(data), len(key), page)
            data += key
        return self._add(BRANCH, len(children), headers + data)

    def _add(self, flags: int, count: int, body: bytes) -> int:
        number = self._next
        page = self._page(number, flags, count, body)
        self._pages[number] = page
        self._next += len(page) // self.page_size
        return number

    def _page(self, number: int, flags: int, count: int, body: bytes) -> bytes:
        pages = -(-(16 + len(body)) // self.page_size)
        return (struct.pack("<QHHI", number, flags, count, pages - 1) + body).ljust(pages * self.page_size, b"\0")


def leaf_body(elements: Sequence[_Element]) -> bytes:
    """Element headers, then keys and values."""
    headers, data = b"", b""
    for n, (key, flags, value) in enumerate(elements):
        headers += struct.pack("<IIII", flags, 16 * (len(elements) - n) + len(data), len(key), len(value))
        data += key + value
    return headers + data
