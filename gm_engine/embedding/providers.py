"""Which embedder a configuration asks for, and where keys come from: the environment, else the platform's keyring."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from urllib.parse import urlsplit

from gm_engine.config import Config, EmbeddingMode, EmbeddingServer, is_http_address
from gm_engine.embedding.embedder import Embedder
from gm_engine.embedding.http import Address, HttpServer
from gm_engine.embedding.remote import RemoteEmbedder

KEYRING_SERVICE = "graymatter"
_PROBE_S = 0.5


@dataclass(frozen=True, slots=True)
class _Provider:
    """The server of a mode, where the configuration names no other."""

    name: str
    url: str
    model: str
    key_name: str
    batch_size: int
    hint: str


_OLLAMA = _Provider(
    "Ollama",
    "http://127.0.0.1:11434/v1",
    "nomic-embed-text",
    "",
    32,
    "Is Ollama running (`ollama serve`), with the model (`ollama pull nomic-embed-text`)?",
)
_OPENAI = _Provider(
    "OpenAI", "https://api.openai.com/v1", "text-embedding-3-small", "OPENAI_API_KEY", 64, "Check the model's name."
)
_VOYAGE = _Provider(
    "Voyage", "https://api.voyageai.com/v1", "voyage-3.5", "VOYAGE_API_KEY", 64, "Check the model's name."
)
_SERVER = _Provider("The embedding server", "", "", "", 32, "Is it running, and is this its address?")
_PROVIDERS = {EmbeddingMode.OLLAMA: _OLLAMA, EmbeddingMode.OPENAI: _OPENAI, EmbeddingMode.VOYAGE: _VOYAGE}


def make_embedder(config: Config, environ: Mapping[str, str]) -> Embedder | None:
    """The embedder of a configuration; None for words alone.

    Asks no server, except that `auto-remote` looks for half a second whether Ollama is there.
    """
    mode = EmbeddingMode(config.embedding_mode)
    if mode is EmbeddingMode.AUTO_REMOTE:
        mode = first_remote(config.embedding_server, environ)
    if mode is EmbeddingMode.KEYWORD_ONLY:
        return None
    if mode in (EmbeddingMode.BUNDLED, EmbeddingMode.AUTO):
        return _bundled()
    return _remote(mode, config.embedding_server, environ)


def find_embedder(name: str, config: Config, environ: Mapping[str, str]) -> Embedder | None:
    """An embedder for a stored model that is not the wanted one, so that its vectors go on answering.

    The bundled model can always be had; another one only from the very server that the configuration names: whoever
    went back to the bundled model wants nothing sent any more.
    """
    from gm_engine.embedding.minilm import MODEL_ID

    if name == MODEL_ID:
        return _bundled()
    kind, _, model = name.partition("/")
    mode = config.embedding_mode
    if mode not in _PROVIDERS or not model or kind != _kind(mode, config.embedding_server):
        return None
    return _remote(mode, replace(config.embedding_server, model=model), environ)


def first_remote(server: EmbeddingServer, environ: Mapping[str, str]) -> EmbeddingMode:
    """The first that is there of Ollama, OpenAI, Voyage; else words alone."""
    ollama = HttpServer(Address(_OLLAMA.name, _url(_OLLAMA, server, environ)), timeout_s=_PROBE_S)
    try:
        if ollama.get_status("models", timeout_s=_PROBE_S) == 200:
            return EmbeddingMode.OLLAMA
    finally:
        ollama.close()
    for mode in (EmbeddingMode.OPENAI, EmbeddingMode.VOYAGE):
        if find_key(_PROVIDERS[mode].key_name, environ):
            return mode
    return EmbeddingMode.KEYWORD_ONLY


def find_key(name: str, environ: Mapping[str, str]) -> str:
    """The key of that name from the environment, else from the platform's keyring if `keyring` is installed; or ""."""
    if not name:
        return ""
    named = environ.get(name, "").strip()
    if named:
        return named
    with suppress(ImportError):
        keyring = import_module("keyring")
        with suppress(import_module("keyring.errors").KeyringError):
            return str(keyring.get_password(KEYRING_SERVICE, name) or "").strip()
    return ""


def _bundled() -> Embedder:
    from gm_engine.embedding.minilm import MiniLM

    return MiniLM()


def _remote(mode: EmbeddingMode, server: EmbeddingServer, environ: Mapping[str, str]) -> RemoteEmbedder:
    provider = _PROVIDERS[mode]
    url = _url(provider, server, environ)
    is_own = mode is EmbeddingMode.OLLAMA or url == provider.url
    said = provider if is_own else replace(_SERVER, model=provider.model)
    key_name = server.key_name or said.key_name
    address = Address(said.name, url, key_name, find_key(key_name, environ), said.hint)
    return RemoteEmbedder(
        HttpServer(address, timeout_s=server.timeout_s),
        kind=_kind(mode, server),
        model=server.model or said.model,
        batch_size=server.batch_size or said.batch_size,
    )


def _kind(mode: EmbeddingMode, server: EmbeddingServer) -> str:
    """The first part of a remote model's id: another server's model of the same name is another model."""
    is_own = not server.url or server.url == _PROVIDERS[mode].url or mode is EmbeddingMode.OLLAMA
    return mode.value if is_own else f"{mode.value}@{urlsplit(server.url).netloc.rpartition('@')[2]}"


def _url(provider: _Provider, server: EmbeddingServer, environ: Mapping[str, str]) -> str:
    if server.url:
        return server.url
    host = environ.get("OLLAMA_HOST", "") if provider is _OLLAMA else ""
    if host:
        address = host if "://" in host else f"http://{host}"
        if urlsplit(address).port is None:
            address = f"{address.rstrip('/')}:11434"
        if is_http_address(address):
            return f"{address.rstrip('/')}/v1"
    return provider.url
