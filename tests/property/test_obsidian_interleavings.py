"""Law: whatever store, person, publishes and kills do in turns, nothing that a person wrote is lost."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exporters.obsidian.proposals import scope_of, to_proposals
from exporters.obsidian.publish import publish
from exporters.obsidian.reading import read_note
from exporters.obsidian.round_trip import read_edits
from gm_engine import FactQuery, Memory
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

ACTIONS = (
    *("publish", "publish", "killed", "remember", "pin", "retire", "move", "revise"),
    *("accept", "accept", "reject"),
    *("write below", "add a key", "edit text", "rename", "copy", "delete", "lose manifest", "own note", "trash"),
)
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 9)), min_size=3, max_size=25)
_MARK = re.compile(r"mine\d+")


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed_after(writes: int) -> Iterator[None]:
    """Every further replacement of a file ends the process."""
    replace, left = Path.replace, [writes]

    def replace_or_die(self: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        return replace(self, target)

    with mock.patch.object(Path, "replace", replace_or_die):
        try:
            yield
        except Killed:
            return


class World:
    """A store, a vault, and what a person has written into the vault so far."""

    def __init__(self, memory: Memory, vault: Path) -> None:
        self.memory = memory
        self.vault = vault
        self.written: set[str] = set()
        self.count = 0

    def notes(self) -> list[Path]:
        return sorted(path for path in (self.vault / "Memory").rglob("*.md") if "Facts" in path.parts)

    def mark(self) -> str:
        self.count += 1
        self.written.add(f"mine{self.count:04}")
        return f"mine{self.count:04}"

    def act(self, action: str, number: int) -> None:
        if action in ("publish", "killed", "trash"):
            with killed_after(number if action == "killed" else 1_000_000):
                report = publish(self.memory, self.vault, remove_orphans=action == "trash")
                assert report.broken_links == ()
        elif action in ("accept", "reject"):
            self.review(action)
        elif action in ("remember", "pin", "retire", "move", "revise"):
            self.store(action, number)
        elif action == "own note":
            path = self.vault / "Memory" / "Facts" / "a" / f"text {number}.md"
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self.mark())
        elif action == "lose manifest":
            (self.vault / "Memory" / ".graymatter" / "manifest.json").unlink(missing_ok=True)
        elif notes := self.notes():
            self.edit(action, notes[number % len(notes)])

    def review(self, action: str) -> None:
        edits = read_edits(self.memory, self.vault)
        self.memory.inbox.refresh("vault", scope_of(edits), to_proposals(edits))
        ids = [card.id for card in self.memory.inbox.list(source="vault")]
        if action == "accept":
            self.memory.inbox.accept_many(ids)
        else:
            self.memory.inbox.reject(ids)

    def store(self, action: str, number: int) -> None:
        memory = self.memory
        if action == "remember":
            memory.remember("a", f"text {number}")
            return
        ids = memory.fact_ids(FactQuery())
        if not ids:
            return
        fact = memory.get(ids[number % len(ids)])
        if action == "pin":
            (memory.unpin if fact.pinned else memory.pin)(fact.agent_id, [fact.id])
        elif action == "retire":
            memory.retire(fact.agent_id, [fact.id])
        elif action == "move":
            memory.move(fact.agent_id, [fact.id], "b" if fact.agent_id == "a" else "a")
        else:
            memory.revise(fact.agent_id, [fact.id], f"{fact.text} again")

    def edit(self, action: str, path: Path) -> None:
        text = path.read_text()
        if action == "write below":
            path.write_text(f"{text}{self.mark()}\n")
        elif action == "add a key" and text.startswith("---\n"):
            path.write_text(f"---\nkey{self.count}: {self.mark()}\n{text[4:]}")
        elif action == "edit text" and "> text" in text:
            path.write_text(text.replace("> text", f"> text {self.mark()}", 1))
        elif action == "rename":
            self.count += 1
            path.rename(path.with_name(f"named {self.count}.md"))
        elif action == "copy":
            path.with_name(f"{path.stem} (Conflicted copy).md").write_text(text)
        elif action == "delete":
            gone = set(_MARK.findall(text))
            path.unlink()
            self.written -= gone - self.marks()

    def accepted(self) -> set[str]:
        """What a person wrote into notes and the store holds since: its notes say it, whatever became of the first."""
        facts = self.memory.facts(self.memory.fact_ids(FactQuery(status="all")))
        return {mark for fact in facts for mark in _MARK.findall(fact.text)}

    def marks(self) -> set[str]:
        return {mark for path in self.vault.rglob("*.md") for mark in _MARK.findall(path.read_text())}


@settings(max_examples=settings().max_examples // 2)  # 500 where the profile is thorough
@given(STEPS)
@example([("publish", 0), ("edit text", 0), ("accept", 0), ("copy", 0)])  # the copy becomes the old text's note
def test_nothing_that_a_person_wrote_is_lost_and_a_publish_with_nothing_to_do_writes_nothing(
    steps: list[tuple[str, int]],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        with Memory.open(place / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as memory:
            memory.remember("a", "text 0")
            world = World(memory, place / "vault")
            world.vault.mkdir()
            for action, number in steps:
                world.act(action, number)
                assert world.written <= world.marks() <= world.written | world.accepted()
            publish(memory, world.vault)
            before = {
                path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in place.joinpath("vault").rglob("*")
            }
            last = publish(memory, world.vault)
            after = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in place.joinpath("vault").rglob("*")}
            facts = {fact.id: fact for fact in memory.facts(memory.fact_ids(FactQuery()))}
        assert before == after
        left = {place / "vault" / note.note for note in last.left}
        published = {}
        for path in world.notes():
            properties = (
                yaml.safe_load(path.read_text().split("---\n")[1]) if path.read_text().startswith("---") else {}
            )
            if "mem_id" in properties and path not in left:
                published[properties["mem_id"]] = path
        assert last.broken_links == ()
        for fact_id, fact in facts.items():
            if fact_id in published:
                assert read_note(published[fact_id]).text == fact.text
            else:
                assert left
