"""What is new beside everything else: taken apart piece by piece and one after the other, with the same result."""

from __future__ import annotations

import shutil
import tempfile
import unicodedata
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gm_engine import Config, EmbeddingMode, Memory
from gm_engine.consolidation import cycle, wording
from gm_engine.consolidation.candidates import VECTOR_FLOOR, Candidates, find_candidates, read_text
from gm_engine.consolidation.comparison import compare
from gm_engine.consolidation.fresh import fresh_candidates
from gm_engine.consolidation.neighbours import FactVectors
from gm_engine.consolidation.steps import run
from gm_engine.consolidation.wording import tokens
from gm_engine.progress import no_progress
from gm_engine.store.vectors import VectorRows
from gm_engine.vectors.table import VectorTable
from tests.fakes.clock import FrozenClock

PIECES = (
    *("The", "the", "gate", "Gate.", "opens", "closes!", "not", "doesn't", "can't", "at", "nine", "9", "10", "1 000"),
    *("5 %", "-3", "2.", "000", "%", "°C", "kg", "100kg", "`a b`", "`", "me@example.org", "https://x.org/a b", "#12"),
    *(
        "東京の会議は3時",
        "三",
        "ない",
        "…",
        "?",
        "\n",
        "\t",
        "\xa0",
        "",
        "",
        "l'accès",
        "café",
        "e\u0301",
        "x²",
        "٣٤٥",
        "--",
    ),
)
WRITTEN = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=12).map(" ".join)
WORDS = ("amber", "birch", "cedar", "delta", "gate", "opens", "closes", "Ana", "not", "must", "9", "10", "11", "東京都")
LONG = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)
SAME = st.builds(lambda text, dots: text + "." * dots, st.sampled_from((*WORDS, "gate 9", "")), st.integers(0, 30))
TEXTS = st.lists(st.one_of(LONG, SAME), min_size=1, max_size=60, unique=True)


def whole(text: str) -> tuple[wording.Token, ...]:
    """The tokens of a text that is read from its beginning to its end."""
    return wording._read(unicodedata.normalize("NFC", text), True)[0]


@given(st.one_of(WRITTEN, st.text(max_size=80)))
def test_a_text_read_piece_by_piece_is_the_text_read_as_a_whole(text: str) -> None:
    assert tokens(text) == whole(text)
    assert tokens(text) == tokens(text)


@given(st.one_of(WRITTEN, st.text(max_size=40)), st.one_of(WRITTEN, st.text(max_size=40)))
def test_what_is_compared_does_not_depend_on_which_tokens_are_one_object(one: str, other: str) -> None:
    assert compare(tokens(one), tokens(other)) == compare(whole(one), whole(other))


def found(texts: list[str], vectors: FactVectors | None, fresh: NDArray[np.bool_]) -> Candidates:
    return run(fresh_candidates(texts, vectors, fresh), progress=no_progress, cancel=None)


def found_with_all(texts: list[str], fresh: NDArray[np.bool_]) -> Candidates:
    """The same by words only, from all texts at once."""
    return run(find_candidates([read_text(text) for text in texts], None, fresh), progress=no_progress, cancel=None)


def pairs(candidates: Candidates) -> list[tuple[int, int]]:
    return list(zip(candidates.left.tolist(), candidates.right.tolist(), strict=True))


def same_series(candidates: Candidates) -> list[list[bool]]:
    series = candidates.series
    known: list[list[bool]] = ((series[:, None] == series[None, :]) & (series >= 0)).tolist()
    return known


@given(TEXTS, st.data())
def test_what_is_new_finds_the_pairs_and_series_that_all_texts_at_once_give(
    texts: list[str], data: st.DataObject
) -> None:
    fresh = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))), np.bool_)
    some, every = found(texts, None, fresh), found_with_all(texts, fresh)
    assert pairs(some) == pairs(every)
    assert some.series_count == every.series_count
    assert same_series(some) == same_series(every)


@given(TEXTS, st.data())
def test_what_is_new_is_found_beside_what_is_close_in_meaning_too(texts: list[str], data: st.DataObject) -> None:
    fresh = np.zeros(len(texts), np.bool_)
    fresh[data.draw(st.integers(0, len(texts) - 1))] = True
    rows = data.draw(
        st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=len(texts), max_size=len(texts))
    )
    codes = np.array(rows, np.int16) * 1000
    keys = tuple(number.to_bytes(16, "big") for number in range(len(texts)))
    table = VectorTable("scripted", 3)
    table.append(VectorRows(np.arange(1, len(keys) + 1), keys, codes))
    vectors = FactVectors(table, keys)
    (new,) = np.flatnonzero(fresh).tolist()
    scores = (vectors.at(np.array([new])) @ vectors.at(np.arange(len(texts))).T)[0]
    scores[new] = -1.0
    close = [n for n in np.argsort(-scores, kind="stable").tolist()[:8] if scores[n] >= VECTOR_FLOOR]
    hard = [read_text(text).hard for text in texts]
    by_meaning = {(min(n, new), max(n, new)) for n in close if hard[n] == hard[new]}
    assert set(pairs(found(texts, vectors, fresh))) == by_meaning | set(pairs(found_with_all(texts, fresh)))


CONFIG = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY, async_consolidate=False, consolidate_threshold=1)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "store"
    Memory.open(path, background=False, config=CONFIG).close()
    return path


def told(template: Path, old: list[str], new: list[str], *, few_of: int) -> list[object]:
    """What two cycles by themselves say and leave in the inbox, the second after `new` was written."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        shutil.copytree(template, path)
        with (
            patch.object(cycle, "FEW_OF", few_of),
            Memory.open(path, clock=FrozenClock(), config=CONFIG, background=False) as memory,
        ):
            for text in old:
                memory.remember("ops", text or "-")
            reports = [memory.maybe_consolidate("ops")]
            for text in new:
                memory.remember("ops", text or "-")
            reports.append(memory.maybe_consolidate("ops"))
            return [*reports, *memory.inbox.list("waiting")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=TEXTS, new=st.lists(st.one_of(LONG, SAME), min_size=1, max_size=4))
def test_a_later_cycle_says_the_same_whether_it_takes_all_texts_at_once_or_not(
    template: Path, old: list[str], new: list[str]
) -> None:
    assert told(template, old, new, few_of=1) == told(template, old, new, few_of=1000)
