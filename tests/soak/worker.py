"""One process of a soak: writes and recalls on a store that others use too, and says what was acknowledged.

    python -m tests.soak.worker STORE JOB SEED

A line `ready` comes first, then one line per acknowledged write: `kept ID`, `retired ID`, `revised OLD NEW`. A job
`mixed` ends when a line arrives on standard input and then answers the fixed queries as `answer JSON`; the jobs
`write`, `index` and `build` go on until they are killed. Anything unexpected ends the process with its traceback.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from threading import Event, Thread

from gm_engine import FactChanged, Memory, NotFound, Origin, StoreBusy
from gm_engine.vectors import feed
from tests.fakes.embedder import ScriptedEmbedder

DIMS = 48
AGENTS = ("ops", "sales")
_WORDS = """rollback deploy invoice quote staging cluster wiki owner night shift backup restore ticket contract survey
shipment interview migration Okafor Ana Ben Graz Oslo 当番 証明 café naïve red blue green"""
WORDS = tuple(_WORDS.split())
QUERIES = (*WORDS, "who owns the wiki", "night shift backup", "Okafor contract Graz", "unknown zebra", "")


def embedder() -> ScriptedEmbedder:
    """The model that every process of a soak uses."""
    return ScriptedEmbedder(dims=DIMS, model="soak")


def sentence(rng: random.Random) -> str:
    """A text of a few words; some texts come twice."""
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(2, 6)))


def say(*words: str) -> None:
    """One line, at once: what is said before a kill counts."""
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


class Writer:
    """Writes at random, remembers its own facts."""

    def __init__(self, memory: Memory, seed: int) -> None:
        self._memory = memory
        self._rng = random.Random(seed)
        self._own: list[tuple[str, str]] = []

    def step(self) -> None:
        """One write, acknowledged by a line; what another process changed meanwhile is left alone."""
        agent = self._rng.choice(AGENTS)
        act = self._rng.random()
        try:
            if act < 0.7 or not self._own:
                fact = self._memory.remember(
                    agent, sentence(self._rng), confidence=self._rng.choice([None, "verified"])
                )
                self._own.append((agent, fact.id))
                say("kept", fact.id)
                self._must_be_found(agent, fact.id, fact.text)
            elif act < 0.85:
                owner, fact_id = self._own.pop(self._rng.randrange(len(self._own)))
                self._memory.retire(owner, [fact_id])
                say("retired", fact_id)
            else:
                place = self._rng.randrange(len(self._own))
                owner, fact_id = self._own[place]
                fact = self._memory.revise(owner, [fact_id], sentence(self._rng))
                self._own[place] = (owner, fact.id)
                say("revised", fact_id, fact.id)
        except (FactChanged, NotFound):
            return

    def _must_be_found(self, agent: str, fact_id: str, text: str) -> None:
        """A write is in the writer's next recall, or a copy of it is."""
        answer = self._memory.recall(agent, text, top_k=1000, preview=True)
        if not any(fact.id == fact_id or fact.text == text for fact in answer.facts):
            raise AssertionError(f"{fact_id} is not in the recall after it was written")

    def recall(self) -> None:
        """One recall that counts."""
        self._memory.recall(self._rng.choice(AGENTS), self._rng.choice(QUERIES))


def answers(memory: Memory) -> list[list[str]]:
    """The ids that every fixed query gives, agent by agent."""
    return [
        [fact.id for fact in memory.recall(agent, query, top_k=top_k, preview=True).facts]
        for agent in AGENTS
        for query in QUERIES
        for top_k in (3, 20)
    ]


def mixed(memory: Memory, seed: int) -> None:
    """Writes and recalls until told to stop, then answers."""
    stop = Event()
    Thread(target=_stop_when_told, args=(stop,), daemon=True).start()
    writer, done, busy = Writer(memory, seed), 0, 0
    while not stop.is_set():
        try:
            writer.step()
        except StoreBusy:
            busy += 1
        writer.recall()
        done += 1
    say("stopped", str(done), str(busy))
    sys.stdin.readline()
    memory.wait_for_embeddings()
    say("answer", json.dumps(answers(memory)))


def _stop_when_told(stop: Event) -> None:
    sys.stdin.readline()
    stop.set()


def write(memory: Memory, seed: int) -> None:
    """Writes until killed."""
    writer = Writer(memory, seed)
    while True:
        writer.step()


def index(memory: Memory, seed: int) -> None:
    """Writes, embeds and fills the vector index until killed."""
    writer = Writer(memory, seed)
    while True:
        for _ in range(20):
            writer.step()
        memory.index_step(0.2)


def build(memory: Memory, seed: int) -> None:
    """Writes, and has large indexes built by child processes until killed; fifty vectors are many here."""
    feed.BULK_ROWS, feed.SMALL_ROWS = 50, 60
    writer = Writer(memory, seed)
    while True:
        for _ in range(30):
            writer.step()
        memory.wait_for_embeddings()
        for _ in range(40):
            if not memory.index_step(0.1):
                break
            writer.step()


def main(arguments: list[str]) -> int:
    """Opens the store and does the job."""
    store, job, seed = arguments
    background = job == "mixed"
    with Memory.open(
        Path(store), background=background, embedder=embedder(), origin=Origin("library", client=f"soak-{seed}")
    ) as memory:
        memory.recall(AGENTS[0], "warm", preview=True)
        say("ready")
        {"mixed": mixed, "write": write, "index": index, "build": build}[job](memory, int(seed))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
