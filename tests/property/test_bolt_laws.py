"""Laws of the bbolt reader: what was written is read back; whatever is broken is refused or skipped, never worse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gm_engine.errors import ImportRefused
from gm_engine.importing.bolt import BoltFile
from gm_engine.importing.store_file import read_store
from gm_engine.progress import CancelToken, no_progress
from gm_engine.records import Origin
from tests.fakes.bolt_writer import BoltWriter, Tree

FIXTURES = Path(__file__).parent.parent / "fixtures" / "graymatter"
KEYS = st.binary(min_size=1, max_size=12)
TREES = st.recursive(
    st.dictionaries(KEYS, st.binary(max_size=2000), max_size=12),
    lambda children: st.dictionaries(KEYS, st.one_of(st.binary(max_size=40), children), max_size=6),
    max_leaves=6,
)
CONTRACT = (FIXTURES / "contract.db").read_bytes()
USED = BoltFile(CONTRACT, "contract.db").meta.used_bytes
RECORD = {"agent_id": "a", "text": "t", "created_at": "2026-01-01T00:00:00Z", "access_count": 1, "weight": 1}
SMALL = BoltWriter(per_page=2, inline=False).build(
    {
        b"facts": {b"a": {b"%02d" % n: json.dumps({**RECORD, "id": f"{n:02d}"}).encode() for n in range(9)}},
        b"meta": {b"k": b"v"},
    }
)


def flat(tree: Tree, path: tuple[bytes, ...] = ()) -> list[tuple[tuple[bytes, ...], bytes, bytes]]:
    found: list[tuple[tuple[bytes, ...], bytes, bytes]] = []
    for key, value in sorted(tree.items()):
        found.extend([(path, key, value)] if isinstance(value, bytes) else flat(value, (*path, key)))
    return found


@settings(deadline=None, max_examples=60)
@given(tree=TREES, page_size=st.sampled_from([1024, 4096]), per_page=st.integers(2, 9), inline=st.booleans())
def test_what_was_written_is_read_back_in_order(tree: Tree, page_size: int, per_page: int, inline: bool) -> None:
    data = BoltWriter(page_size=page_size, per_page=per_page, inline=inline).build(tree)
    assert [(entry.path, entry.key, entry.value) for entry in BoltFile(data, "s").walk()] == flat(tree)


def read_or_refuse(path: Path, data: bytes) -> int:
    """Reads a store file: every record is read or skipped with a reason, or the file is refused with one."""
    path.write_bytes(data)
    try:
        store = read_store(path, origin=Origin("import"), progress=no_progress, cancel=CancelToken())
    except ImportRefused:
        return -1
    assert all(skipped.reason for skipped in store.skipped)
    assert store.counts.facts >= len(store.facts)
    return store.counts.facts


@settings(deadline=None, max_examples=150)
@given(changes=st.lists(st.tuples(st.integers(2 * 1024, len(SMALL) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_flipped_bytes_in_a_small_store_are_refused_or_skipped(changes: list[tuple[int, int]]) -> None:
    data = bytearray(SMALL)
    for at, value in changes:
        data[at] = value
    try:
        entries = sum(1 for _ in BoltFile(bytes(data), "s").walk())
    except ImportRefused:
        return
    assert entries <= len(SMALL) // 16


@settings(deadline=None, max_examples=80)
@given(length=st.integers(0, len(SMALL) - 1))
def test_every_truncation_is_refused(length: int) -> None:
    with pytest.raises(ImportRefused, match=r"truncated|not a readable bbolt file"):
        BoltFile(SMALL[:length], "s")


def test_a_real_store_with_flipped_bytes_is_refused_or_read_in_part(tmp_path: Path) -> None:
    whole = read_or_refuse(tmp_path / "gray.db", CONTRACT)

    @settings(deadline=None, max_examples=40)
    @given(changes=st.lists(st.tuples(st.integers(2 * 4096, USED - 1), st.integers(0, 255)), min_size=1, max_size=200))
    def law(changes: list[tuple[int, int]]) -> None:
        data = bytearray(CONTRACT)
        for at, value in changes:
            data[at] = value
        assert read_or_refuse(tmp_path / "gray.db", bytes(data)) <= whole

    law()
