"""Embedding servers over HTTP, against a real server on this machine that answers in recorded shapes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gm_engine import Config, EmbeddingMode, EmbeddingServer, Memory, embedding_from
from gm_engine.embedding.embedder import Embedder
from gm_engine.embedding.http import Address, HttpServer, is_loopback
from gm_engine.embedding.minilm import MODEL_ID, MiniLM
from gm_engine.embedding.providers import find_embedder, find_key, first_remote, make_embedder
from gm_engine.embedding.remote import MAX_CHARS, RemoteEmbedder
from gm_engine.errors import EmbeddingFailed, InvalidInput
from tests.fakes.clock import FrozenClock
from tests.fakes.model_server import ModelServer, Reply, model_server

DIMS = 4
KEY = "sk-secret-0123456789"


def vector(seed: int) -> list[float]:
    return [float(x) for x in np.random.default_rng(seed).standard_normal(DIMS).round(6)]


def openai(vectors: Sequence[Sequence[float]], *, reverse: bool = False) -> Reply:
    """An answer as OpenAI, Ollama, LM Studio, vLLM, llama.cpp and Voyage give it, but for fields that nobody reads."""
    data = [{"object": "embedding", "index": n, "embedding": list(v)} for n, v in enumerate(vectors)]
    usage = {"prompt_tokens": 8, "total_tokens": 8}
    return Reply(
        json.dumps({"object": "list", "data": data[::-1] if reverse else data, "model": "m", "usage": usage}).encode()
    )


def error(status: int, message: str, **headers: str) -> Reply:
    """A refusal in OpenAI's form."""
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": "some_code"}}
    return Reply(json.dumps(body).encode(), status, headers)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(openai([vector(1)])) as running:
        yield running


def embedder_of(server: ModelServer, *, timeout_s: float = 20.0, batch_size: int = 32, key: str = "") -> RemoteEmbedder:
    address = Address("The server", f"{server.url}/v1", "SOME_KEY" if key else "", key, "Is it running?")
    http = HttpServer(address, timeout_s=timeout_s, retry_pause_s=0.0)
    return RemoteEmbedder(http, kind="openai", model="small", batch_size=batch_size)


@pytest.fixture
def embedder(server: ModelServer) -> Iterator[RemoteEmbedder]:
    made = embedder_of(server, key=KEY)
    yield made
    made.close()


def test_texts_become_normalised_vectors_in_their_order(server: ModelServer, embedder: RemoteEmbedder) -> None:
    vectors = [vector(1), vector(2), vector(3)]
    server.answer(openai(vectors, reverse=True))
    found = embedder.embed(["a", "b\0", "👩‍🚀"])
    expected = np.array(vectors) / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert np.allclose(found, expected, atol=1e-6)
    assert (embedder.model, embedder.dims) == ("openai/small", DIMS)
    (asked,) = server.asked
    assert asked.path == "/v1/embeddings"
    assert asked.body == {"model": "small", "input": ["a", "b\0", "👩‍🚀"]}
    assert asked.headers["authorization"] == f"Bearer {KEY}"


def test_no_texts_ask_nobody(server: ModelServer, embedder: RemoteEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 0)
    assert server.asked == []


def test_many_texts_are_sent_in_batches(server: ModelServer) -> None:
    server.answer(openai([vector(1)] * 3), openai([vector(2)] * 3), openai([vector(3)]))
    embedder = embedder_of(server, batch_size=3)
    assert embedder.embed([str(n) for n in range(7)]).shape == (7, DIMS)
    assert [asked.body["input"] for asked in server.asked] == [["0", "1", "2"], ["3", "4", "5"], ["6"]]
    embedder.close()


def test_a_book_is_cut_before_it_is_sent(server: ModelServer, embedder: RemoteEmbedder) -> None:
    embedder.embed(["x" * 1_000_000])
    assert len(server.asked[0].body["input"][0]) == MAX_CHARS


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_one_retry_hides_a_passing_failure(server: ModelServer, embedder: RemoteEmbedder, status: int) -> None:
    server.answer(error(status, "try again"), openai([vector(1)]))
    assert embedder.embed(["a"]).shape == (1, DIMS)
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("status", "message", "words", "tries"),
    [
        (401, "Incorrect API key provided: sk-secret-0123456789.", "refused the key (401). Check SOME_KEY.", 1),
        (403, "Country not supported", "refused the key (403). Check SOME_KEY.", 1),
        (404, 'model "small" not found, try pulling it first', "does not know the model", 1),
        (429, "Rate limit reached for requests", "takes no more requests now (429)", 2),
        (500, "The server had an error", "failed twice (500)", 2),
        (503, "overloaded", "failed twice (503)", 2),
        (302, "elsewhere", "gave an answer that is not expected (302)", 1),
        (418, "teapot", "gave an answer that is not expected (418)", 1),
    ],
)
def test_a_refusal_says_its_status_and_what_to_do(
    server: ModelServer, embedder: RemoteEmbedder, status: int, message: str, words: str, tries: int
) -> None:
    server.answer(error(status, message))
    with pytest.raises(EmbeddingFailed) as caught:
        embedder.embed(["a"])
    assert words in caught.value.message
    assert message[:12] in caught.value.message
    assert KEY not in str(caught.value)
    assert KEY not in repr(embedder._server.address)
    assert len(server.asked) == tries


def test_a_server_that_asks_for_a_long_pause_is_not_waited_for(server: ModelServer, embedder: RemoteEmbedder) -> None:
    server.answer(error(429, "slow down", **{"retry-after": "120"}))
    with pytest.raises(EmbeddingFailed, match="for 120 s"):
        embedder.embed(["a"])
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(b"<html>It works!</html>"), "no JSON"),
        (Reply(b""), "no JSON"),
        (Reply(b"[" * 100_000), "no JSON"),
        (Reply(b"[]"), "form that is not known"),
        (Reply(b'{"data": {"embedding": [1, 2]}}'), "form that is not known"),
        (Reply(b'{"data": [{"index": 0}]}'), "form that is not known"),
        (Reply(b'{"data": [{"index": 0, "embedding": "AAAA"}]}'), "form that is not known"),
        (Reply(b'{"data": [{"index": 0, "embedding": []}]}'), "form that is not known"),
        (Reply(b'{"data": [{"index": 0, "embedding": [[1]]}]}'), "form that is not known"),
        (Reply(b'{"data": [{"index": "0", "embedding": [1, 2, 3, 4]}]}'), "form that is not known|fits no text"),
        (Reply(b'{"data": [{"index": 7, "embedding": [1, 2, 3, 4]}]}'), "fits no text"),
        (Reply(b'{"data": [null]}'), "form that is not known"),
        (Reply(b'{"data": []}'), "answered 1 texts with 0 vectors"),
        (openai([vector(1), vector(2)]), "answered 1 texts with 2 vectors"),
    ],
)
def test_garbage_is_refused_whole(server: ModelServer, embedder: RemoteEmbedder, reply: Reply, words: str) -> None:
    server.answer(reply)
    with pytest.raises(EmbeddingFailed, match=words):
        embedder.embed(["a"])
    assert embedder.dims == 0


def test_fewer_vectors_than_texts_are_refused_whole(server: ModelServer, embedder: RemoteEmbedder) -> None:
    server.answer(openai([vector(1)]))
    with pytest.raises(EmbeddingFailed, match="answered 2 texts with 1 vectors"):
        embedder.embed(["a", "b"])


def test_vectors_of_another_length_than_before_are_refused(server: ModelServer, embedder: RemoteEmbedder) -> None:
    embedder.embed(["a"])
    server.answer(openai([[1.0, 2.0]]))
    with pytest.raises(EmbeddingFailed, match="2 dimensions instead of 4"):
        embedder.embed(["b"])


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1e300", "0"])
def test_numbers_that_are_none_cost_only_their_own_text(
    server: ModelServer, embedder: RemoteEmbedder, number: str
) -> None:
    bad = f"[{number}, {number if number == '0' else 1}, {number if number == '0' else 2}, 0]"
    good = json.dumps(vector(3))
    body = f'{{"data": [{{"index": 0, "embedding": {good}}}, {{"index": 1, "embedding": {bad}}}]}}'
    server.answer(Reply(body.encode()))
    found = embedder.embed(["a", "b"])
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()


def test_a_text_that_the_server_refuses_costs_only_itself(server: ModelServer, embedder: RemoteEmbedder) -> None:
    refused = error(400, "maximum context length is 8192 tokens")
    server.answer(refused, openai([vector(1)]), refused, refused, openai([vector(3)]))
    found = embedder.embed(["a", "b" * 5000, "c"])
    assert np.isfinite(found).all(axis=1).tolist() == [True, False, True]
    assert [len(asked.body["input"]) for asked in server.asked] == [3, 1, 1, 1, 1]
    assert len(server.asked[3].body["input"][0]) == 2000


def test_a_long_text_is_tried_by_its_beginning(server: ModelServer, embedder: RemoteEmbedder) -> None:
    server.answer(error(413, "too large"), error(413, "too large"), openai([vector(1)]))
    assert np.isfinite(embedder.embed(["b" * 5000])).all()


def test_a_server_that_refuses_every_text_is_an_error(server: ModelServer, embedder: RemoteEmbedder) -> None:
    server.answer(error(400, "this model does not make embeddings"))
    with pytest.raises(EmbeddingFailed, match="does not make embeddings"):
        embedder.embed(["a", "b"])


def test_a_server_that_hangs_is_given_up_and_then_left_alone_for_a_while(server: ModelServer) -> None:
    now = [0.0]
    http = HttpServer(
        Address("The server", server.url, hint="Is it running?"), timeout_s=0.2, retry_pause_s=0, now_s=lambda: now[0]
    )
    embedder = RemoteEmbedder(http, kind="openai", model="small", batch_size=8)
    server.answer(Reply(hangs=True))
    for _ in range(3):
        with pytest.raises(EmbeddingFailed, match=r"did not answer within 0\.2 s"):
            embedder.embed(["a"])
    assert len(server.asked) == 2
    server.answer(openai([vector(1)]))
    now[0] += 11
    assert embedder.embed(["a"]).shape == (1, DIMS)
    embedder.close()


def test_an_answer_that_drips_is_bounded_in_time(server: ModelServer) -> None:
    server.answer(Reply(b" " * 10_000, drips=True))
    embedder = embedder_of(server, timeout_s=0.3)
    with pytest.raises(EmbeddingFailed, match=r"did not answer within 0\.3 s"):
        embedder.embed(["a"])
    embedder.close()


def test_a_server_that_is_not_there_is_named_with_what_to_do(server: ModelServer) -> None:
    embedder = embedder_of(server)
    server.close()
    with pytest.raises(EmbeddingFailed, match=r"127\.0\.0\.1:\d+ cannot be reached .* Is it running\?"):
        embedder.embed(["a"])
    embedder.close()


def test_an_answer_without_end_is_cut_off(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gm_engine.embedding.http._MAX_ANSWER_BYTES", 1000)
    server.answer(Reply(b"x" * 100_000))
    embedder = embedder_of(server)
    with pytest.raises(EmbeddingFailed, match="too many bytes"):
        embedder.embed(["a"])
    embedder.close()


# Choosing -------------------------------------------------------------------------------------------------------------


def made(mode: EmbeddingMode, environ: dict[str, str] | None = None, **server: str) -> Embedder | None:
    return make_embedder(Config(embedding_mode=mode, embedding_server=EmbeddingServer(**server)), environ or {})  # type: ignore[arg-type]


def test_nothing_leaves_the_machine_unless_a_server_is_named() -> None:
    for mode in (EmbeddingMode.BUNDLED, EmbeddingMode.AUTO):
        assert isinstance(made(mode, {"OPENAI_API_KEY": KEY}), MiniLM)
    assert made(EmbeddingMode.KEYWORD_ONLY, {"OPENAI_API_KEY": KEY}) is None


OLLAMA, OPENAI, VOYAGE = EmbeddingMode.OLLAMA, EmbeddingMode.OPENAI, EmbeddingMode.VOYAGE
BOX = {"url": "http://box:1234/v1", "model": "bge"}


@pytest.mark.parametrize(
    ("mode", "environ", "server", "model", "url", "key"),
    [
        (OLLAMA, {}, {}, "ollama/nomic-embed-text", "http://127.0.0.1:11434/v1", ""),
        (OLLAMA, {"OLLAMA_HOST": "box"}, {}, "ollama/nomic-embed-text", "http://box:11434/v1", ""),
        (OPENAI, {"OPENAI_API_KEY": KEY}, {}, "openai/text-embedding-3-small", "https://api.openai.com/v1", KEY),
        (VOYAGE, {"VOYAGE_API_KEY": KEY}, {"model": "v-3"}, "voyage/v-3", "https://api.voyageai.com/v1", KEY),
        (OPENAI, {"OPENAI_API_KEY": KEY}, BOX, "openai@box:1234/bge", BOX["url"], ""),
        (OPENAI, {"MINE": KEY}, {**BOX, "key_name": "MINE"}, "openai@box:1234/bge", BOX["url"], KEY),
    ],
)
def test_each_mode_has_its_server_model_and_key(
    mode: EmbeddingMode, environ: dict[str, str], server: dict[str, str], model: str, url: str, key: str
) -> None:
    embedder = made(mode, environ, **server)
    assert isinstance(embedder, RemoteEmbedder)
    address = embedder._server.address
    assert (embedder.model, address.url, address.key) == (model, url, key)


def test_auto_remote_takes_the_first_that_is_there(server: ModelServer) -> None:
    here = EmbeddingServer(url=f"{server.url}/v1")
    both = {"OPENAI_API_KEY": KEY, "VOYAGE_API_KEY": KEY}
    server.get_status = 200
    assert first_remote(here, both) is EmbeddingMode.OLLAMA
    server.get_status = 500
    assert first_remote(here, both) is EmbeddingMode.OPENAI
    server.close()
    assert first_remote(here, {"VOYAGE_API_KEY": KEY}) is EmbeddingMode.VOYAGE
    assert first_remote(here, {}) is EmbeddingMode.KEYWORD_ONLY


def test_an_older_model_is_asked_only_where_the_configuration_sends_texts_anyway() -> None:
    remote = Config(embedding_mode=EmbeddingMode.OPENAI)
    older = find_embedder("openai/text-embedding-ada-002", remote, {"OPENAI_API_KEY": KEY})
    assert older is not None
    assert older.model == "openai/text-embedding-ada-002"
    assert isinstance(find_embedder(MODEL_ID, remote, {}), MiniLM)
    assert find_embedder("voyage/voyage-3", remote, {}) is None
    assert find_embedder("openai/text-embedding-3-small", Config(), {"OPENAI_API_KEY": KEY}) is None
    assert find_embedder("scripted", remote, {}) is None


def test_a_key_comes_from_the_environment_before_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring, errors = ModuleType("keyring"), ModuleType("keyring.errors")
    kept = {("graymatter", "SOME_KEY"): "kept"}
    errors.KeyringError = RuntimeError  # type: ignore[attr-defined]
    keyring.get_password = lambda service, name: kept.get((service, name))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    assert find_key("SOME_KEY", {"SOME_KEY": " mine\n"}) == "mine"
    assert find_key("SOME_KEY", {}) == "kept"
    assert find_key("OTHER_KEY", {}) == ""
    assert find_key("", {"": "x"}) == ""

    def locked(service: str, name: str) -> str:
        raise RuntimeError("locked")

    keyring.get_password = locked  # type: ignore[attr-defined]
    assert find_key("SOME_KEY", {}) == ""
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert find_key("SOME_KEY", {}) == ""


def test_the_environment_names_mode_and_server() -> None:
    assert embedding_from({}) == (EmbeddingMode.BUNDLED, EmbeddingServer())
    named = {"GRAYMATTER_EMBEDDING_URL": "http://localhost:1234/v1", "GRAYMATTER_EMBEDDING_MODEL": "bge"}
    assert embedding_from(named) == (EmbeddingMode.OPENAI, EmbeddingServer("http://localhost:1234/v1", "bge"))
    assert embedding_from({"GRAYMATTER_EMBEDDING_MODE": "keyword-only"})[0] is EmbeddingMode.KEYWORD_ONLY
    with pytest.raises(InvalidInput, match="must be one of bundled"):
        embedding_from({"GRAYMATTER_EMBEDDING_MODE": "magic"})


@pytest.mark.parametrize(
    "wrong",
    [{"url": "box:1234"}, {"url": "ftp://box"}, {"url": "http://[::1"}, {"timeout_s": 0}, {"timeout_s": float("nan")},
     {"batch_size": -1}, {"batch_size": 5000}],
)  # fmt: skip
def test_a_server_that_cannot_be_is_refused_at_once(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        EmbeddingServer(**wrong)  # type: ignore[arg-type]


def test_this_machine_is_never_reached_through_a_proxy() -> None:
    assert [is_loopback(f"http://{host}/v1") for host in ("localhost:1", "127.0.0.2", "[::1]:8")] == [True] * 3
    assert [is_loopback(f"http://{host}/v1") for host in ("localhost.evil.example", "10.0.0.1", "")] == [False] * 3


# Through the door -----------------------------------------------------------------------------------------------------


class AnyTexts(ModelServer):
    """Answers any number of texts, each with a vector made of its bytes."""

    def _next(self) -> Reply:
        if self.broken is not None:
            return self.broken
        if self.refused and self.refused in self.asked[-1].body["input"]:
            return error(400, "that is not said here")
        return openai([vector(sum(text.encode())) for text in self.asked[-1].body["input"]])

    broken: Reply | None = None
    refused = ""


@pytest.fixture
def any_texts() -> Iterator[AnyTexts]:
    running = AnyTexts()
    yield running
    running.close()


def opened(data_dir: Path, server: ModelServer, *, model: str = "small", timeout_s: float = 20.0) -> Memory:
    config = Config(
        embedding_mode=EmbeddingMode.OPENAI,
        embedding_server=EmbeddingServer(f"{server.url}/v1", model, timeout_s=timeout_s, batch_size=8),
    )
    return Memory.open(data_dir, clock=FrozenClock(), background=False, config=config)


def test_a_store_is_embedded_and_searched_by_a_server(any_texts: AnyTexts, tmp_path: Path) -> None:
    with opened(tmp_path, any_texts) as memory:
        facts = [memory.remember("scout", f"Crate number {number}.") for number in range(20)]
        while memory.index_step(0.05):
            assert memory.index_progress().total in (0, 20)
        status = memory.vector_status()
        assert (status.embedded, status.pending, status.chroma, status.path) == (20, 0, 20, "chroma")
        assert status.model == status.answering == f"openai@{any_texts.url.removeprefix('http://')}/small"
        found = memory.recall("scout", "Crate number 7.", preview=True, top_k=1)
        assert [fact.id for fact in found.facts] == [facts[7].id]
        assert found.coverage.vector_path == "chroma"
        assert max(len(asked.body["input"]) for asked in any_texts.asked) <= 8


def test_a_server_that_fails_leaves_words_and_is_said(any_texts: AnyTexts, tmp_path: Path) -> None:
    told: list[str] = []
    with opened(tmp_path, any_texts) as memory:
        memory._search._config = Config(
            embedding_mode=EmbeddingMode.OPENAI,
            embedding_server=EmbeddingServer(f"{any_texts.url}/v1", "small"),
            on_index_error=lambda failure: told.append(failure.message),
        )
        fact = memory.remember("scout", "The harbour opens at nine.")
        assert memory.embed_pending("scout") == 1
        memory.remember("scout", "The gate opens at ten.")
        any_texts.broken = error(401, "no such key")
        assert not memory.index_step(0.05)
        assert "refused the key (401)" in memory.vector_status().error
        assert "refused the key (401)" in memory.index_progress().error
        assert len(told) == 1
        found = memory.recall("scout", "harbour", preview=True)
        assert fact in found.facts
        assert (found.coverage.vector_path, found.coverage.with_vector) == ("none", 1)
        assert "refused the key" in found.coverage.reason
        with pytest.raises(EmbeddingFailed, match="refused the key"):
            memory.recall("scout", "harbour", preview=True, min_confidence="inferred")


def test_a_text_that_is_refused_alone_keeps_no_later_text_from_its_vector(any_texts: AnyTexts, tmp_path: Path) -> None:
    with opened(tmp_path, any_texts) as memory:
        any_texts.refused = "unspeakable"
        memory.remember("scout", "unspeakable")
        while memory.index_step(0.05):
            pass
        assert memory.vector_status().error == ""
        memory.remember("scout", "The gate opens at ten.")
        while memory.index_step(0.05):
            pass
        status = memory.vector_status()
        assert (status.embedded, status.pending) == (1, 1)
        with pytest.raises(EmbeddingFailed, match=r"get no vector: 1\."):
            memory.wait_for_embeddings()
        any_texts.refused = ""  # now it is about every text
        any_texts.broken = error(400, "this model does not make embeddings")
        memory.remember("scout", "The ferry leaves at six.")
        with pytest.raises(EmbeddingFailed, match="does not make embeddings"):
            memory.embed_pending("scout")


def test_a_server_that_changes_its_vectors_under_the_same_name_is_noticed(any_texts: AnyTexts, tmp_path: Path) -> None:
    with opened(tmp_path, any_texts) as memory:
        memory.remember("scout", "The harbour opens at nine.")
        assert memory.embed_pending("scout") == 1
        memory.remember("scout", "The gate opens at ten.")
    any_texts.broken = openai([[1.0, 2.0]])
    with opened(tmp_path, any_texts) as memory:
        with pytest.raises(EmbeddingFailed, match="have 4 dimensions, the model now gives 2"):
            memory.embed_pending("scout")
        found = memory.recall("scout", "harbour", preview=True)
        assert found.facts[0].text == "The harbour opens at nine."
        assert "2 dimensions" in found.coverage.reason
        with pytest.raises(EmbeddingFailed, match="dimensions"):
            memory.recall("scout", "harbour", preview=True, min_confidence="inferred")


def test_closing_does_not_wait_for_a_server_that_hangs(
    any_texts: AnyTexts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gm_engine.indexing._CLOSE_S", 0.05)
    any_texts.broken = Reply(hangs=True)
    config = Config(
        embedding_mode=EmbeddingMode.OPENAI, embedding_server=EmbeddingServer(f"{any_texts.url}/v1", timeout_s=600)
    )
    with Memory.open(tmp_path, clock=FrozenClock(), config=config) as memory:
        memory.remember("scout", "The harbour opens at nine.")
        assert any_texts.heard.wait(60)
    with Memory.open(tmp_path, clock=FrozenClock(), background=False, config=config) as memory:
        assert memory.vector_status().pending == 1
