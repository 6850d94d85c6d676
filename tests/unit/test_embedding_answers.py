"""What an embedding server says when it refuses, and addresses that only look like some."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from gm_engine.embedding.http import Address, HttpServer
from gm_engine.embedding.remote import RemoteEmbedder
from gm_engine.errors import EmbeddingFailed
from tests.fakes.model_server import ModelServer, Reply, model_server


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(Reply(b"{}")) as running:
        yield running


def refusal(url: str) -> str:
    http = HttpServer(Address("The server", url, "", "", "Is it running?"), timeout_s=20.0, retry_pause_s=0.0)
    embedder = RemoteEmbedder(http, kind="openai", model="small", batch_size=8)
    with pytest.raises(EmbeddingFailed) as caught:
        embedder.embed(["The gate opens at nine."])
    embedder.close()
    return caught.value.message


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"detail": "no such\\n\\u0007 model"}', "no such model"),
        (b'{"error": {"message": " "}, "message": "not today"}', "not today"),
        (b'{"error": 7}', ""),
        (b"[1]", ""),
        (b"<html>Bad gateway</html>", ""),
        (b"[" * 60_000, ""),
    ],
)
def test_the_words_of_a_refusal_are_told_on_one_line_where_there_are_any(
    server: ModelServer, body: bytes, said: str
) -> None:
    server.answer(Reply(body, 400))
    told = refusal(f"{server.url}/v1")
    assert "400" in told
    assert said in told
    assert "\n" not in told
    assert "html" not in told


@pytest.mark.parametrize("when", ["Wed, 21 Oct 2026 07:28:00 GMT", "soon"])
def test_a_pause_that_is_no_number_of_seconds_is_not_waited_for(server: ModelServer, when: str) -> None:
    vector = {"object": "list", "data": [{"index": 0, "embedding": [1.0, 0.0]}], "model": "m"}
    busy = Reply(b"{}", 503, {"Retry-After": when})
    server.answer(busy, Reply(json.dumps(vector).encode()))
    http = HttpServer(
        Address("The server", f"{server.url}/v1", "", "", "Is it running?"), timeout_s=20.0, retry_pause_s=0.0
    )
    embedder = RemoteEmbedder(http, kind="openai", model="small", batch_size=8)
    assert embedder.embed(["The gate opens at nine."]).tolist() == [[1.0, 0.0]]
    embedder.close()


def test_an_address_that_is_none_is_told_as_such() -> None:
    assert "The server" in refusal("http://127.0.0.1:99999/v1")
