"""The reader of bbolt files against files of every shape, real ones, and broken ones."""

from __future__ import annotations

import base64
import errno
import io
import json
import os
import struct
from pathlib import Path

import pytest

from gm_engine.errors import Cancelled, DiskFull, ImportRefused
from gm_engine.importing import bolt
from gm_engine.importing.bolt import BoltFile, open_bolt
from gm_engine.progress import CancelToken
from tests.fakes.bolt_writer import BRANCH, LEAF, BoltWriter, Tree, leaf_body, meta_bytes

FIXTURES = Path(__file__).parent.parent / "fixtures" / "graymatter"
Found = dict[tuple[tuple[bytes, ...], bytes], bytes]


def read(data: bytes) -> Found:
    return {(entry.path, entry.key): entry.value for entry in BoltFile(data, "store.db").walk()}


def flat(tree: Tree, path: tuple[bytes, ...] = ()) -> Found:
    found: Found = {}
    for key, value in tree.items():
        found.update({(path, key): value} if isinstance(value, bytes) else flat(value, (*path, key)))
    return found


def refused(data: bytes) -> ImportRefused:
    with pytest.raises(ImportRefused) as caught:
        read(data)
    return caught.value


def patched(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def page_of(data: bytes, flags: int, *, page_size: int = 1024) -> int:
    """The number of the last page of a type."""
    numbers = range(3, len(data) // page_size)
    return [n for n in numbers if struct.unpack_from("<QH", data, n * page_size) == (n, flags)][-1]


SMALL: Tree = {b"facts": {b"a": {b"1": b"x", b"2": b"y"}}}


@pytest.mark.parametrize("name", ["gray", "contract"])
def test_a_real_store_reads_as_an_independent_reader_read_it(name: str) -> None:
    with open_bolt(FIXTURES / f"{name}.db") as store:
        found = {(entry.path, entry.key): entry.value for entry in store.walk() if entry.path != (b"pending_vector",)}
    wanted: Found = {}
    for line in (FIXTURES / f"{name}.dump.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        value = row["value"]
        raw = value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])
        wanted[tuple(part.encode() for part in row["bucket"]), row["key"].encode()] = raw
    assert found == wanted


@pytest.mark.parametrize("page_size", [1024, 4096, 16384])
@pytest.mark.parametrize("inline", [True, False])
def test_branches_overflow_inline_and_nested_buckets_are_read(page_size: int, inline: bool) -> None:
    tree: Tree = {
        b"many": {b"%04d" % n: b"v%d" % n for n in range(100)},
        b"large": {b"a": b"x" * 50_000, b"b": b"", b"": b"empty key"},
        b"deep": {b"1": {b"2": {b"3": {b"4": b"leaf"}}}},
        b"empty": {},
    }
    data = BoltWriter(page_size=page_size, per_page=3, inline=inline).build(tree)
    assert read(data) == flat(tree)


def test_keys_come_in_the_order_of_the_file() -> None:
    data = BoltWriter(per_page=2).build({b"b": {b"%03d" % n: b"" for n in range(50)}})
    assert [entry.key for entry in BoltFile(data, "s").walk()] == [b"%03d" % n for n in range(50)]


@pytest.mark.parametrize("txid", [6, 7])
def test_the_valid_meta_page_with_the_higher_txid_wins(txid: int) -> None:
    data = BoltWriter().build(SMALL, txid=txid)
    assert BoltFile(data, "s").meta.txid == txid
    assert read(data) == flat(SMALL)


@pytest.mark.parametrize("page_size", [1024, 4096, 65536])
def test_a_damaged_first_meta_page_leaves_the_second(page_size: int) -> None:
    data = BoltWriter(page_size=page_size).build(SMALL, txid=7)  # the newer one is page 1
    assert read(patched(data, 16, b"\0\0\0\0")) == flat(SMALL)


def test_a_damaged_newer_meta_page_falls_back_to_the_older_state() -> None:
    data = BoltWriter().build(SMALL, txid=7)
    assert read(patched(data, 1024 + 60, b"\xff")) == {}


def test_two_failing_checksums_are_refused_with_the_place() -> None:
    data = BoltWriter().build(SMALL)
    error = refused(patched(patched(data, 16 + 20, b"\xff"), 1024 + 16 + 20, b"\xff"))
    assert error.code == "import_refused"
    assert "the checksum of the meta page at offset 0 does not match" in error.message


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it ends before the meta page at offset 0"),
        (b"SQLite format 3\0" + bytes(4096), "lacks the magic number"),
        (bytes(100_000), "lacks the magic number"),
    ],
)
def test_what_is_no_bbolt_file_is_refused(data: bytes, reason: str) -> None:
    assert reason in refused(data).message


def test_another_format_version_is_named() -> None:
    meta = meta_bytes(page_size=1024, root=3, high_water=4, txid=1, version=3)
    page = (struct.pack("<QHHI", 0, 4, 0, 0) + meta).ljust(1024, b"\0")
    assert "format version 3, only 2 is known" in refused(page * 2).message


def test_a_truncated_file_is_refused_with_the_first_missing_page() -> None:
    data = BoltWriter().build(SMALL)
    error = refused(data[:-700])
    assert "is truncated" in error.message
    assert error.fields["page"] == len(data) // 1024 - 1


def test_bytes_after_the_pages_in_use_do_not_matter() -> None:
    assert read(BoltWriter().build(SMALL) + b"\xff" * 5000) == flat(SMALL)


def test_a_page_loop_is_refused() -> None:
    data = BoltWriter(per_page=2).build({b"b": {b"%03d" % n: b"" for n in range(20)}})
    branch = page_of(data, BRANCH)
    error = refused(patched(data, branch * 1024 + 16 + 8, struct.pack("<Q", branch)))
    assert error.message == (
        f"store.db is damaged: page {branch} is reached twice (a loop), again by element 0 of branch page {branch}"
        f" (at offset {branch * 1024})."
    )


def test_a_bucket_that_contains_itself_is_refused() -> None:
    data = BoltWriter(inline=False).build({b"outer": {b"inner": {b"k": b"v"}}})
    root = page_of(data, LEAF)
    at = data.index(b"outer") + len(b"outer")
    assert "reached twice" in refused(patched(data, at, struct.pack("<Q", root))).message


@pytest.mark.parametrize(
    ("at", "new", "reason"),
    [
        (0, struct.pack("<Q", 99), "says that it is page 99"),
        (8, struct.pack("<H", 0x10), "is a freelist page, not a branch or a leaf"),
        (8, struct.pack("<H", 0x80), "of the unknown type 0x0080"),
        (10, struct.pack("<H", 60_000), "claims 60000 elements, more than fit"),
        (12, struct.pack("<I", 1 << 31), "goes on beyond the last page"),
        (16, struct.pack("<I", 2), "has the unknown flags 0x2"),
        (20, struct.pack("<I", 0), "has its data outside its place"),
        (24, struct.pack("<I", 0xFFFFFFFF), "has its data outside its place"),
        (28, struct.pack("<I", 0xFFFFFFFF), "has its data outside its place"),
    ],
)
def test_a_wrong_page_is_refused_by_number(at: int, new: bytes, reason: str) -> None:
    data = BoltWriter(inline=False).build({b"b": {b"k": b"v"}})
    root = page_of(data, LEAF)
    error = refused(patched(data, root * 1024 + at, new))
    assert reason in error.message
    assert error.fields["page"] == root
    assert f"page {root}" in error.message


@pytest.mark.parametrize("target", [0, 1, 999])
def test_a_bucket_root_outside_the_file_is_refused(target: int) -> None:
    data = BoltWriter(inline=False).build({b"bucket": {b"k": b"v"}})
    at = data.index(b"bucket") + len(b"bucket")
    error = refused(patched(data, at, struct.pack("<Q", target)))
    assert "damaged" in error.message


def test_an_empty_branch_page_is_refused() -> None:
    data = BoltWriter(per_page=2, inline=False).build({b"b": {b"%d" % n: b"" for n in range(5)}})
    branch = page_of(data, BRANCH)
    assert "is empty" in refused(patched(data, branch * 1024 + 10, b"\0\0")).message


def test_overlapping_elements_are_refused_before_they_multiply() -> None:
    inner = leaf_body([(b"k", 0, b"v")])
    bucket = struct.pack("<QQQHHI", 0, 0, 0, LEAF, 1, 0) + inner
    body = struct.pack("<IIII", 1, 48, 0, len(bucket)) + struct.pack("<IIII", 1, 32, 0, len(bucket))
    body += struct.pack("<IIII", 1, 16, 0, len(bucket)) + bucket
    assert "outside its place" in refused(file_with_root(body, 3)).message


def test_a_bucket_inside_an_inline_bucket_is_refused() -> None:
    innermost = struct.pack("<QQQHHI", 0, 0, 0, LEAF, 0, 0)
    inner = struct.pack("<QQQHHI", 0, 0, 0, LEAF, 1, 0) + leaf_body([(b"i", 1, innermost)])
    assert "holds another bucket" in refused(file_with_root(leaf_body([(b"o", 1, inner)]), 1)).message


def test_a_bucket_shorter_than_its_header_is_refused() -> None:
    assert "too short for a bucket" in refused(file_with_root(leaf_body([(b"o", 1, b"short")]), 1)).message
    assert "shorter than a page" in refused(file_with_root(leaf_body([(b"o", 1, bytes(20))]), 1)).message


def test_buckets_nested_without_end_are_refused() -> None:
    tree: Tree = {b"k": b"v"}
    for _ in range(40):
        tree = {b"b": tree}
    assert "nests buckets more than 16 deep" in refused(BoltWriter(inline=False).build(tree)).message


def file_with_root(body: bytes, count: int) -> bytes:
    """Metas, a freelist page and one leaf page with the given body as the root bucket."""
    meta = meta_bytes(page_size=4096, root=3, high_water=4, txid=1)
    pages = [struct.pack("<QHHI", number, 4, 0, 0) + meta for number in (0, 1)]
    pages.append(struct.pack("<QHHI", 2, 0x10, 0, 0))
    pages.append(struct.pack("<QHHI", 3, LEAF, count, 0) + body)
    return b"".join(page.ljust(4096, b"\0") for page in pages)


def test_the_file_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "gray.db"
    path.write_bytes(BoltWriter().build(SMALL))
    path.chmod(0o400)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    with open_bolt(path) as store:
        assert len(list(store.walk())) == 2
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_commit_while_copying_starts_the_copy_again(tmp_path: Path) -> None:
    path = tmp_path / "gray.db"
    path.write_bytes(BoltWriter().build(SMALL, txid=7))
    newer: Tree = {b"facts": {b"b": {b"9": b"new"}}}
    calls: list[int] = []

    def daemon_commits(done: int, total: int | None, what: str) -> None:
        if not calls:
            path.write_bytes(BoltWriter().build(newer, txid=9))
        calls.append(done)

    with open_bolt(path, progress=daemon_commits) as store:
        assert {(entry.path, entry.key): entry.value for entry in store.walk()} == flat(newer)
    assert len(calls) == 2


def test_a_file_that_never_rests_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gray.db"
    path.write_bytes(BoltWriter().build(SMALL, txid=7))
    txids = iter(range(8, 100))

    def daemon_commits(done: int, total: int | None, what: str) -> None:
        path.write_bytes(BoltWriter().build(SMALL, txid=next(txids)))

    with pytest.raises(ImportRefused, match="changes faster"), open_bolt(path, progress=daemon_commits):
        pass


def test_reserved_space_behind_the_pages_in_use_is_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "gray.db"
    data = BoltWriter().build(SMALL)
    path.write_bytes(data + bytes(1_000_000))
    seen: list[int | None] = []
    with open_bolt(path, progress=lambda done, total, what: seen.append(total)):
        assert seen == [len(data)]


def test_a_truncated_file_on_disk_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gray.db"
    path.write_bytes(BoltWriter().build(SMALL)[:-1])
    with pytest.raises(ImportRefused, match=r"gray.db is truncated"), open_bolt(path):
        pass


def test_an_unreadable_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match=r"cannot be read"), open_bolt(tmp_path / "missing.db"):
        pass


def test_copying_can_be_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "gray.db"
    path.write_bytes(BoltWriter().build(SMALL))
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled), open_bolt(path, cancel=cancel):
        pass


def test_the_checksum_is_fnv_1a_of_64_bits() -> None:
    assert bolt.fnv1a_64(b"") == 0xCBF29CE484222325
    assert bolt.fnv1a_64(b"foobar") == 0x85944171F73967E8


def test_meta_pages_that_say_something_impossible_are_refused_with_what_they_say() -> None:
    meta = meta_bytes(page_size=1000, root=3, high_water=4, txid=1)
    page = (struct.pack("<QHHI", 0, 4, 0, 0) + meta).ljust(1024, b"\0")
    assert "has an impossible page size, 1000" in refused(page * 2).message
    data = BoltWriter().build(SMALL)
    unmarked = patched(patched(data, 8, b"\0\0"), 1024 + 8, b"\0\0")
    assert "the page at offset 0 is not marked as a meta page" in refused(unmarked).message


def test_a_small_bucket_that_is_no_leaf_is_refused() -> None:
    data = BoltWriter().build({b"small": {b"k": b"v"}})
    flags = data.index(b"small") + len(b"small") + 16 + 8
    assert struct.unpack_from("<H", data, flags) == (LEAF,)
    assert "an inline bucket is not one leaf page" in refused(patched(data, flags, struct.pack("<H", BRANCH))).message


def test_a_file_that_shrinks_while_it_is_copied_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(BoltWriter().build(SMALL))
    monkeypatch.setattr(bolt, "_COPY_BYTES", 1024)

    def shrink(done: int, total: int | None, what: str) -> None:
        os.truncate(path, 2048)

    with (
        pytest.raises(ImportRefused, match=r"store\.db became shorter"),
        open_bolt(path, progress=shrink),
    ):
        pass


@pytest.mark.parametrize(
    ("number", "expected", "words"),
    [
        (errno.ENOSPC, DiskFull, "no room for a temporary copy"),
        (errno.EIO, ImportRefused, "cannot be read: Input/output"),
    ],
)
def test_a_disk_that_fails_while_a_file_is_copied_is_told_by_what_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: type[Exception], words: str
) -> None:
    class Failing(io.BytesIO):
        def write(self, *_: object) -> int:
            raise OSError(number, os.strerror(number))

    path = tmp_path / "store.db"
    path.write_bytes(BoltWriter().build(SMALL))
    monkeypatch.setattr("tempfile.TemporaryFile", Failing)
    with pytest.raises(expected, match=words), open_bolt(path):
        pass
