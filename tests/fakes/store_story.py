"""Builds a store from a JSON story, always with the same ids and times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gm_engine import Config, Memory, Message, Origin
from gm_engine.config import EmbeddingMode
from gm_engine.store.database import Ledger
from gm_engine.store.mentions import refresh_mentions
from tests.fakes.clock import FrozenClock

KEYWORDS = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)


def build_story(story: Path, data_dir: Path) -> None:
    """Plays the steps of a story, a second apart; a step names its verb as `do`."""
    told: dict[str, Any] = json.loads(story.read_text(encoding="utf-8"))
    clock = FrozenClock(told["from"])
    with Memory.open(data_dir, config=KEYWORDS, background=False, clock=clock, origin=Origin("library")) as memory:
        for step in told["steps"]:
            _play(memory, dict(step), clock)
    with Ledger.open(data_dir, clock=clock) as ledger:
        refresh_mentions(ledger)
        for agent_id in told.get("damaged_checkpoints", ()):
            _damage(ledger, agent_id)
        assert ledger.empty_log()


def _play(memory: Memory, step: dict[str, Any], clock: FrozenClock) -> None:
    match step.pop("do"):
        case "remember":
            memory.remember(step["agent"], step["text"], confidence=step.get("confidence"))
        case "revise":
            memory.revise(step["agent"], step["old"], step["text"])
        case "retire":
            memory.retire(step["agent"], memory.resolve(step["agent"], step["text"]))
        case "checkpoint":
            messages = [Message(*each) for each in step.get("messages", ())]
            memory.checkpoints.save(step["agent"], state=step["state"], messages=messages)
        case "entity":
            memory.graph.add(step["label"], step["type"])
        case "link":
            from_id, to_id = (memory.graph.resolve(step[end]).id for end in ("from", "to"))
            memory.graph.link(from_id, to_id, step["relation"])
        case "wait":
            clock.advance(step["seconds"])
        case other:
            raise ValueError(f"no such step: {other}")


def _damage(ledger: Ledger, agent_id: str) -> None:
    """What an import leaves of a record that cannot be read."""
    with ledger.bookkeep() as connection:
        connection.exec_driver_sql(
            "UPDATE checkpoints SET payload = ?, message_count = NULL WHERE agent_id = ?", (b"{not json", agent_id)
        )
