"""The manifest and the stamps of a vault as files."""

from __future__ import annotations

import json

import pytest

from exporters.obsidian.manifest import AgentNames, Base, Entry, Manifest, Stamp, dump_files, load_files, load_manifest

HOSTILE = ('a "quoted", \\ path.md', "zwei\nZeilen.md", "]}.md", "\u2028 line separator.md", "emoji 🦉.md", "{.md")


def manifest() -> Manifest:
    base = Base("text", "verified", True, "0123abcd")
    notes = {
        f"note {n}": Entry(path, "wanted", n, "c", "m", "s", n % 2 == 0, base if n % 2 else None)
        for n, path in enumerate(HOSTILE)
    }
    return Manifest(notes, {"sales": AgentNames("Sales", "sales")}, "complete", {"Graph.canvas": "hash"})


@pytest.mark.parametrize("made", [manifest(), Manifest(), Manifest(complete='"notes": [')])
def test_a_manifest_comes_back_as_it_was_and_is_plain_json(made: Manifest) -> None:
    data = made.dump(7)
    assert load_manifest(data) == made
    assert [note["id"] for note in json.loads(data)["notes"]] == sorted(made.notes)
    assert load_manifest(json.dumps(json.loads(data), indent=1).encode()) == made


@pytest.mark.parametrize("paths", [HOSTILE, ()])
def test_stamps_come_back_as_they_were_and_are_plain_json(paths: tuple[str, ...]) -> None:
    stamps = {path: Stamp(n, 2, 3, 4) for n, path in enumerate(paths)}
    data = dump_files(stamps)
    assert load_files(data) == stamps
    assert json.loads(data) == {path: list(stamp) for path, stamp in stamps.items()}
    assert load_files(json.dumps(stamps).encode()) == stamps


@pytest.mark.parametrize("cut", range(1, len(dump_files({"a.md": Stamp(1, 2, 3, 4), "b.md": Stamp(1, 2, 3, 4)}))))
def test_a_file_of_stamps_that_was_cut_off_says_nothing(cut: int) -> None:
    data = dump_files({"a.md": Stamp(1, 2, 3, 4), "b.md": Stamp(1, 2, 3, 4)})
    assert load_files(data[:-cut]) in ({}, load_files(data))


def test_what_is_no_text_or_no_object_says_nothing() -> None:
    for data in (b"", b"\xff\n\n", b"{\n[1]\n}\n", b"[\n1\n]\n", b'{"notes": [\n{"id"\n]}\n'):
        assert load_files(data) == {}
        assert load_manifest(data) == Manifest()
