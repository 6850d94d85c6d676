"""Laws of the importers: whatever is in a file, the answer is a report or a refusal; and again brings nothing new."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gm_engine import IMPORT_FORMATS, Memory
from gm_engine.errors import GrayMatterError
from gm_engine.records import Counts, FactQuery
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

FOREIGN = [known.name for known in IMPORT_FORMATS if known.name != "graymatter"]
SUFFIX = {"csv": ".csv", "jsonl": ".jsonl", "mcp-memory": ".jsonl", "markdown": ".md", "agent-instructions": ".md"}
_words = st.sampled_from(
    [
        "memory",
        "results",
        "type",
        "entity",
        "relation",
        "name",
        "observations",
        "entityType",
        "from",
        "to",
        "text",
        "content",
        "memories",
        "facts",
        "summaries",
        "learned",
        "project",
        "id",
        "created_at",
        "agent",
        "conversations_memory",
        "project_memories",
        "relations",
        "source",
        "target",
        "relationship",
        "relationType",
    ]
)
_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | _words
_json = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_words | st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)
_documents = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
    _json.map(lambda value: json.dumps(value).encode()),
    st.lists(_json, max_size=6).map(lambda values: "\n".join(map(json.dumps, values)).encode()),
    st.text(alphabet="-*#[]() \n`|:a1\t>!", max_size=120).map(str.encode),
    st.lists(st.lists(st.text(max_size=6), min_size=1, max_size=3), max_size=5).map(
        lambda rows: "\r\n".join(",".join(row) for row in rows).encode("utf-8", "surrogatepass")
    ),
)


def open_memory(folder: str) -> Memory:
    return Memory.open(Path(folder) / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False)


@given(name=st.sampled_from(FOREIGN), raw=_documents)
def test_any_file_is_imported_once_or_refused_whole(name: str, raw: bytes) -> None:
    with TemporaryDirectory() as folder, open_memory(folder) as memory:
        path = Path(folder) / f"file{SUFFIX.get(name, '.json')}"
        path.write_bytes(raw)
        try:
            looked = memory.import_preview(path, format=name)
        except GrayMatterError as refused:
            with pytest.raises(type(refused)):
                memory.import_store(path, format=name)
            assert memory.last_seq() == 0
            return
        report = memory.import_store(path, format=name)
        assert report == looked
        assert len(memory.fact_ids(FactQuery())) == report.imported.facts
        assert report.imported.facts <= report.found.facts
        assert memory.import_store(path, format=name).imported == Counts()
