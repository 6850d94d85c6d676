"""Seeded stores of any size for benchmarks: facts and their vectors, without embedding every fact.

A fact is a real sentence, varied; its vector is the real vector of that sentence plus noise. Random directions would
not do: an approximate index behaves quite differently on them. The few hundred real vectors are made once and cached.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gm_engine import Memory
from gm_engine.clock import encode_ulid, format_ns
from gm_engine.embedding.minilm import MiniLM
from gm_engine.resources import resource
from tests.fakes.clock import instant

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = Path(tempfile.gettempdir()) / "graymatter-benchmarks"
NOISE = 0.35
_START_NS = instant("2025-01-01T00:00:00Z")
_STEP_NS = 97_000_000_000
_PEOPLE = ("Ana", "Ben", "Chidi", "Dana", "Emre", "Fatima", "Goran", "Hana", "Ivo", "Jun", "Kofi", "Lena", "Mateo")
_PLACES = ("Accra", "Bergen", "Cádiz", "Dublin", "Essen", "Faro", "Graz", "Helsinki", "İzmir", "Jena", "Kyiv", "Oslo")
_THINGS = ("invoice", "ticket", "deployment", "contract", "survey", "shipment", "interview", "backup", "migration")
_AGENTS = ("alpha", "beta", "gamma", "delta")


def base_texts() -> list[str]:
    """The real sentences: the demo's and those of the fixture store."""
    demo = tomllib.loads(resource("demo", "memory.toml").read_text(encoding="utf-8"))
    lines = [line for agent in demo["agents"] for line in agent["facts"].splitlines() if line.strip()]
    texts = [line.split("|", 3)[3].strip() for line in lines]
    fixture = ROOT / "tests" / "fixtures" / "graymatter" / "memories.json"
    texts += [fact["text"] for fact in json.loads(fixture.read_text(encoding="utf-8"))]
    return list(dict.fromkeys(texts))


def base_vectors() -> NDArray[np.float32]:
    """The vectors of `base_texts`, from the cache where it fits."""
    texts = base_texts()
    path = CACHE / f"base-{len(texts)}-{hash_of(texts)}.npy"
    if path.exists():
        cached: NDArray[np.float32] = np.load(path)
        return cached
    vectors = MiniLM().embed(texts)
    CACHE.mkdir(parents=True, exist_ok=True)
    np.save(path, vectors)
    return vectors


def hash_of(texts: Sequence[str]) -> str:
    """A short name for a list of texts."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


class Generator:
    """The facts of one seed; fact `number` is the same in every run and for every size."""

    def __init__(self, seed: int = 7, *, agents: int = 1) -> None:
        self.seed = seed
        self._agents = _AGENTS[:agents]
        self._texts = base_texts()

    def text(self, number: int) -> str:
        """The text of a fact: a real sentence with particulars of its own."""
        rng = np.random.default_rng((self.seed, number))
        base = self._texts[self.base(number)].rstrip(".")
        who, where, what = (str(rng.choice(words)) for words in (_PEOPLE, _PLACES, _THINGS))
        forms = (
            f"{base}; {who} confirmed it for {what} {number} in {where}.",
            f"{what.capitalize()} {number} ({where}): {base}.",
            f"{base}. Noted by {who} in {where}, {what} no. {number}.",
        )
        return forms[int(rng.integers(len(forms)))]

    def base(self, number: int) -> int:
        """Which real sentence a fact varies."""
        return int(np.random.default_rng((self.seed, number, 1)).integers(len(self._texts)))

    def record(self, number: int) -> dict[str, object]:
        """A fact as the Go program's export writes it."""
        rng = np.random.default_rng((self.seed, number, 2))
        at_ns = _START_NS + number * _STEP_NS
        return {
            "id": encode_ulid(at_ns // 1_000_000, number + 1),
            "agent_id": self._agents[number % len(self._agents)],
            "text": self.text(number),
            "created_at": format_ns(at_ns),
            "accessed_at": format_ns(at_ns + int(rng.integers(1, 10**15))),
            "access_count": int(rng.integers(0, 40)),
            "weight": round(float(rng.random()), 6),
        }

    def records(self, count: int) -> Iterator[dict[str, object]]:
        """The first `count` facts."""
        return (self.record(number) for number in range(count))

    def queries(self, count: int) -> list[str]:
        """Questions that share words with some facts."""
        rng = np.random.default_rng((self.seed, 3))
        found = []
        for index in rng.integers(0, len(self._texts), count):
            words = self._texts[int(index)].split()
            start = int(rng.integers(0, max(1, len(words) - 6)))
            found.append(" ".join(words[start : start + 6]))
        return found


class GeneratedEmbedder:
    """An embedder that knows the generated texts: real vector plus noise; every other text goes to the real model."""

    def __init__(self, generator: Generator, count: int) -> None:
        self._real = MiniLM()
        self.model = self._real.model
        self.dims = self._real.dims
        self._generator = generator
        self._vectors = base_vectors()
        self._numbers = {generator.text(number): number for number in range(count)}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One normalised row per text."""
        rows = np.zeros((len(texts), self.dims), np.float32)
        unknown = [row for row, text in enumerate(texts) if text not in self._numbers]
        if unknown:
            rows[unknown] = self._real.embed([texts[row] for row in unknown])
        for row, text in enumerate(texts):
            number = self._numbers.get(text)
            if number is not None:
                noise = np.random.default_rng((self._generator.seed, number, 4)).standard_normal(self.dims)
                mixed = self._vectors[self._generator.base(number)] + NOISE * noise / np.linalg.norm(noise)
                rows[row] = mixed / np.linalg.norm(mixed)
        return rows


def write_export(path: Path, count: int, *, generator: Generator) -> Path:
    """Writes `count` facts as `memories.json`."""
    path.write_text(json.dumps(list(generator.records(count)), ensure_ascii=False), encoding="utf-8")
    return path


def build_store(data_dir: Path, count: int, *, vectors: bool = True) -> Path:
    """A store with `count` generated facts, and their vectors unless told otherwise; made once per directory."""
    if (data_dir / "complete").exists():
        return data_dir
    generator = Generator()
    data_dir.mkdir(parents=True, exist_ok=True)
    export = write_export(data_dir / "memories.json", count, generator=generator)
    embedder = GeneratedEmbedder(generator, count) if vectors else None
    with Memory.open(data_dir, background=False, embedder=embedder) as memory:
        memory.import_store(export)
        if vectors:
            memory.wait_for_embeddings()
    (data_dir / "complete").touch()
    return data_dir
