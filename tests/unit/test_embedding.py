"""The bundled model, the port's checks and the kept query vectors."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gm_engine import Memory
from gm_engine.embedding.embedder import QueryVectors, quantise, similarity_of
from gm_engine.embedding.minilm import DIMS, MAX_TOKENS, MiniLM
from gm_engine.errors import EmbeddingFailed
from gm_engine.resources import resource
from tests.fakes.embedder import ScriptedEmbedder


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


def test_the_shipped_model_is_the_one_that_was_built(minilm: MiniLM) -> None:
    minilm.verify()
    model = resource("models", "minilm-l6", "model_w8.onnx").read_bytes()
    assert hashlib.sha256(model).hexdigest() == "690b191f9920602f04269af2315c7bcc3e9914588ff9598ce532851627365a03"


def test_meaning_beats_words(minilm: MiniLM) -> None:
    query, paraphrase, other = minilm.embed(
        ["how do I get my money back?", "Refunds are paid within two weeks.", "The back of the shop is full of boxes."]
    )
    assert query @ paraphrase > query @ other + 0.2


def test_vectors_are_normalised_and_come_in_the_order_of_the_texts(minilm: MiniLM) -> None:
    texts = ["a much longer text than the others " * 20, "short", "of middling length, or so", ""]
    together = minilm.embed(texts)
    assert together.shape == (4, DIMS)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    for text, vector in zip(texts, together, strict=True):
        assert minilm.embed([text])[0] @ vector > 0.9999


def test_the_same_text_gives_the_same_bytes_in_another_session(minilm: MiniLM) -> None:
    text = "The gate opens at nine."
    assert minilm.embed([text]).tobytes() == MiniLM().embed([text]).tobytes()


def test_the_form_of_an_accent_makes_no_difference(minilm: MiniLM) -> None:
    assert minilm.embed(["Cafe\u0301"]).tobytes() == minilm.embed(["Caf\u00e9"]).tobytes()


def test_only_the_first_tokens_of_a_long_text_count(minilm: MiniLM) -> None:
    words = ["gate"] * (MAX_TOKENS - 2)
    one, other = minilm.embed([" ".join([*words, "opens"]), " ".join([*words, "closes", "never"])])
    assert one @ other > 0.99999


def test_hostile_texts_get_finite_vectors(minilm: MiniLM) -> None:
    texts = [
        "\0",
        "a\0b",
        "\u202eevil",
        "👩‍🚀" * 300,
        "x" * 1_000_000,
        "[[x]]",
        "---",
        "<b>&amp;</b>",
        "代理" * 500,
        "\n",
    ]
    vectors = minilm.embed(texts)
    assert np.isfinite(vectors).all()
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_need_no_model(tmp_path: Path) -> None:
    assert MiniLM(tmp_path).embed([]).shape == (0, DIMS)


def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingFailed, match=r"model_w8\.onnx is missing"):
        MiniLM(tmp_path).embed(["x"])
    with pytest.raises(EmbeddingFailed, match="cannot be read"):
        MiniLM(tmp_path).verify()


def test_a_model_that_cannot_be_loaded_ahead_is_told_of_when_it_is_needed(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store", background=False, embedder=MiniLM(tmp_path / "empty")) as memory:
        memory.load_model()
        memory.remember("scout", "The gate opens at nine.")
        assert not memory.index_step()
        assert memory.vector_status().error


def test_a_model_loaded_ahead_needs_its_files_no_longer(tmp_path: Path) -> None:
    files = shutil.copytree(resource("models", "minilm-l6"), tmp_path / "model")
    with Memory.open(tmp_path / "store", background=False, embedder=MiniLM(files)) as memory:
        memory.load_model()
        shutil.rmtree(files)
        memory.remember("scout", "The gate opens at nine.")
        memory.index_step(is_calm=False)
        assert memory.vector_status().embedded == 1


def test_a_truncated_model_file_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(resource("models", "minilm-l6"), folder)
    with (folder / "model_w8.onnx").open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(EmbeddingFailed, match="1000 bytes"):
        MiniLM(folder).embed(["x"])
    with pytest.raises(EmbeddingFailed, match="not the file that was shipped"):
        MiniLM(folder).verify()


def test_a_damaged_model_file_of_the_right_size_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(resource("models", "minilm-l6"), folder)
    model = folder / "model_w8.onnx"
    model.write_bytes(b"\xff" * model.stat().st_size)
    with pytest.raises(EmbeddingFailed, match="cannot be loaded"):
        MiniLM(folder).embed(["x"])


def test_an_onnxruntime_that_does_not_load_is_an_embedding_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EmbeddingFailed, match="onnxruntime"):
        MiniLM().embed(["x"])


def test_codes_are_rounded_and_stay_in_range() -> None:
    codes = quantise(np.array([[1.0, -1.0, 0.0, 1.00001, 0.5 / 32767, 1.6 / 32767]], dtype=np.float32))
    assert codes.dtype == np.int16
    assert codes.tolist() == [[32767, -32767, 0, 32767, 0, 2]]
    assert similarity_of(32767 * 32767) == 1.0


def test_a_query_is_embedded_once_however_it_is_written() -> None:
    embedder = ScriptedEmbedder()
    queries = QueryVectors(embedder)
    first = queries.codes("caf\u00e9")
    assert queries.codes("cafe\u0301") is first
    assert embedder.calls == [("caf\u00e9",)]
    assert not first.flags.writeable


def test_the_oldest_query_is_forgotten_first() -> None:
    embedder = ScriptedEmbedder()
    queries = QueryVectors(embedder, kept=2)
    for query in ("a", "b", "a", "c", "a", "b"):
        queries.codes(query)
    assert [call[0] for call in embedder.calls] == ["a", "b", "c", "b"]


def test_a_query_vector_that_is_not_finite_is_refused() -> None:
    class Broken(ScriptedEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return np.full((len(texts), self.dims), np.nan, dtype=np.float32)

    with pytest.raises(EmbeddingFailed, match="not finite"):
        QueryVectors(Broken()).codes("x")
