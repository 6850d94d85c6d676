"""Which server is asked for vectors where the machine says it: Ollama's own variable, and the first that is there."""

from __future__ import annotations

import pytest

from gm_engine import Config, EmbeddingMode
from gm_engine.embedding import providers
from gm_engine.embedding.providers import make_embedder
from gm_engine.embedding.remote import RemoteEmbedder


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("box", "http://box:11434/v1"),
        ("box:8080", "http://box:8080/v1"),
        ("https://box:8080/", "https://box:8080/v1"),
        ("ftp://box:21", "http://127.0.0.1:11434/v1"),
    ],
)
def test_the_variable_of_ollama_names_its_server_in_each_of_its_forms(host: str, url: str) -> None:
    embedder = make_embedder(Config(embedding_mode=EmbeddingMode.OLLAMA), {"OLLAMA_HOST": host})
    assert isinstance(embedder, RemoteEmbedder)
    assert embedder._server.address.url == url


def test_auto_remote_makes_the_embedder_of_the_first_server_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config(embedding_mode=EmbeddingMode.AUTO_REMOTE)
    for there, model in ((EmbeddingMode.VOYAGE, "voyage/"), (EmbeddingMode.KEYWORD_ONLY, None)):
        monkeypatch.setattr(providers, "first_remote", lambda *_, there=there: there)
        embedder = make_embedder(config, {"VOYAGE_API_KEY": "k"})
        assert embedder is None if model is None else embedder is not None and embedder.model.startswith(model)
