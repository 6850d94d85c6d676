"""How well recall finds: MRR and hit@8 on judged queries, by kind of query and by setting.

    python tests/benchmarks/quality.py [FOLDER]

FOLDER holds `facts.jsonl` and `queries_dev.jsonl`; without it, `../shared/data/eval` beside the project is taken. Every
text is embedded with the bundled model, which takes about a minute. Exit code 1 when a bar is missed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from gm_engine.clock import SystemClock, parse_rfc3339  # noqa: E402 — the project's root comes first
from gm_engine.embedding.embedder import QueryVectors, quantise  # noqa: E402
from gm_engine.embedding.minilm import MiniLM  # noqa: E402
from gm_engine.ranking.recall import Ranker, RecallRequest  # noqa: E402
from gm_engine.records import Origin, SignalWeights  # noqa: E402
from gm_engine.store.database import Ledger  # noqa: E402
from gm_engine.store.facts import NewFact, insert_facts  # noqa: E402
from gm_engine.store.vectors import ensure_model, insert_vectors  # noqa: E402
from gm_engine.terms import text_key  # noqa: E402
from gm_engine.vectors.planner import VectorPlanner  # noqa: E402
from gm_engine.vectors.table import VectorTable  # noqa: E402

DATA = ROOT.parent / "shared" / "data" / "eval"
TOP_K = 8
MIN_MRR, MIN_HITS = 0.75, 0.82
LEXICAL = ("lexical", "lexical_zh")
MEASURED = "recency weight 0"


@dataclass(frozen=True, slots=True)
class Judged:
    """A query and the ids of the facts that answer it."""

    text: str
    kind: str
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to rank."""

    name: str
    weights: SignalWeights
    gate: float = 0.4


SETTINGS = (
    Setting(MEASURED, SignalWeights(1.0, 1.0, 0.0)),
    Setting("default weights", SignalWeights()),
    Setting("balanced profile", SignalWeights(1.0, 1.0, 0.1)),
    Setting("recency weight 0, no gate", SignalWeights(1.0, 1.0, 0.0), gate=0.0),
    Setting("default weights, no gate", SignalWeights(), gate=0.0),
    Setting("vector alone", SignalWeights(1.0, 0.0, 0.0)),
    Setting("keyword alone", SignalWeights(0.0, 1.0, 0.0)),
    Setting("keyword alone, no gate", SignalWeights(0.0, 1.0, 0.0), gate=0.0),
    Setting("recency alone", SignalWeights(0.0, 0.0, 1.0)),
)


@dataclass(frozen=True, slots=True)
class Quality:
    """Mean reciprocal rank within the first 8, and the share of queries with an answer there."""

    mrr: float
    hits: float
    queries: int


def read_lines(path: Path) -> list[dict[str, object]]:
    """The records of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def fill(ledger: Ledger, facts: Sequence[Mapping[str, object]]) -> None:
    """Stores the facts and their vectors."""
    origin = Origin("import")
    new = [
        NewFact(
            id=str(fact["id"]),
            agent_id="eval",
            text=str(fact["text"]),
            created_ns=parse_rfc3339(str(fact["created_at"])) or 0,
            origin=origin,
        )
        for fact in facts
    ]
    with ledger.write("import", origin=origin) as tx:
        insert_facts(tx, new, language="english")
    texts = sorted({fact.text for fact in new})
    codes = quantise(MiniLM().embed(texts))
    with ledger.bookkeep() as connection:
        model = ensure_model(connection, MiniLM.model, MiniLM.dims)
        insert_vectors(connection, model, [text_key(text) for text in texts], codes)


def measure(ranker: Ranker, queries: Sequence[Judged], setting: Setting) -> dict[str, Quality]:
    """Quality by kind, and over all as `all`."""
    found: dict[str, list[float]] = {}
    for query in queries:
        request = RecallRequest(
            agent_id="eval",
            query=query.text,
            top_k=TOP_K,
            min_confidence=None,
            confidence_weight=0.0,
            signal_weights=setting.weights,
            coverage_gate=setting.gate,
            min_relevance=0.0,
            now_ns=0,
        )
        places = [n for n, fact in enumerate(ranker.recall(request).facts(), 1) if fact.id in query.relevant]
        for kind in (query.kind, "all"):
            found.setdefault(kind, []).append(1 / places[0] if places else 0.0)
    return {
        kind: Quality(sum(values) / len(values), sum(1 for value in values if value) / len(values), len(values))
        for kind, values in found.items()
    }


def show(results: Mapping[str, Mapping[str, Quality]]) -> str:
    """A Markdown table: one row per setting, MRR / hit@8 per kind."""
    first = next(iter(results.values()))
    kinds = sorted(first, key=lambda kind: (kind != "all", kind))
    lines = [
        "| setting | " + " | ".join(f"{kind} ({first[kind].queries})" for kind in kinds) + " |",
        "|---|" + "---:|" * len(kinds),
    ]
    for name, by_kind in results.items():
        cells = (f"{by_kind[kind].mrr:.3f} / {by_kind[kind].hits:.3f}" for kind in kinds)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def missed(measured: Mapping[str, Quality]) -> list[str]:
    """The bars that the measured setting does not reach."""
    overall = measured["all"]
    problems = []
    if overall.mrr < MIN_MRR:
        problems.append(f"MRR {overall.mrr:.3f} is below {MIN_MRR}")
    if overall.hits < MIN_HITS:
        problems.append(f"hit@8 {overall.hits:.3f} is below {MIN_HITS}")
    problems += [
        f"hit@8 of {kind} is {measured[kind].hits:.3f}, not 1"
        for kind in LEXICAL
        if kind in measured and measured[kind].hits < 1
    ]
    return problems


def judged(folder: Path) -> list[Judged]:
    """The queries of a folder of judged queries."""
    return [
        Judged(str(line["query"]), str(line["kind"]), frozenset(map(str, _list(line["relevant"]))))
        for line in read_lines(folder / "queries_dev.jsonl")
    ]


def measure_all(folder: Path, data_dir: Path) -> dict[str, dict[str, Quality]]:
    """Fills a store in `data_dir` with the facts of `folder` and measures every setting; by setting and kind."""
    ledger = Ledger.open(data_dir, clock=SystemClock())
    try:
        fill(ledger, read_lines(folder / "facts.jsonl"))
        embedder = MiniLM()
        planner = VectorPlanner(VectorTable(embedder.model, embedder.dims), vector_path="exact")
        ranker = Ranker(ledger, planner, QueryVectors(embedder))
        queries = judged(folder)
        return {setting.name: measure(ranker, queries, setting) for setting in SETTINGS}
    finally:
        ledger.close()


def main(arguments: Sequence[str]) -> int:
    """Prints the table; 1 when a bar is missed, 2 when the data is not there."""
    folder = Path(arguments[0]) if arguments else DATA
    if not (folder / "facts.jsonl").is_file():
        print(f"no facts.jsonl in {folder}; name the folder of the judged queries", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="graymatter-quality-") as data:
        results = measure_all(folder, Path(data))
    print(show(results))
    problems = missed(results[MEASURED])
    print("\n".join(f"missed: {problem}" for problem in problems) or f"every bar is reached with {MEASURED}")
    return 1 if problems else 0


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
