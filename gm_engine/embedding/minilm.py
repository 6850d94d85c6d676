"""The bundled model: all-MiniLM-L6-v2 with int8 weights, run by onnxruntime. Nothing is ever downloaded."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from gm_engine.errors import EmbeddingFailed
from gm_engine.resources import resource

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

MODEL_ID = "all-MiniLM-L6-v2-w8"
DIMS = 384
MAX_TOKENS = 256
MAX_CHARS = 65_536
"""Text beyond it is not looked at; 256 tokens of ordinary text are about 1,500 characters."""

_MODEL_FILE = "model_w8.onnx"
_TOKENIZER_FILE = "tokenizer.json"
_MODEL_BYTES = 23_484_362
_TOKENIZER_BYTES = 466_247
_BATCH_TOKENS = 4096  # rows x longest row of one run: bounds memory, and keeps one run short


class MiniLM:
    """An `Embedder` over the shipped files, loaded at the first use."""

    model = MODEL_ID
    dims = DIMS

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = resource("models", "minilm-l6") if folder is None else folder
        self._loaded: tuple[InferenceSession, Tokenizer] | None = None
        self._lock = Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row per text. Texts are embedded in NFC, at most 256 tokens of each.

        Raises `EmbeddingFailed` when onnxruntime or the model's files cannot be used.
        """
        vectors = np.zeros((len(texts), DIMS), dtype=np.float32)
        if not texts:
            return vectors
        session, tokenizer = self._load()
        encodings = tokenizer.encode_batch([normalize("NFC", text)[:MAX_CHARS] for text in texts])
        by_length = sorted(range(len(encodings)), key=lambda number: len(encodings[number].ids))
        for batch in _batches(by_length, encodings):
            try:
                vectors[batch] = _run(session, [encodings[number] for number in batch])
            except Exception as error:  # onnxruntime's errors share no base class
                raise EmbeddingFailed(f"The embedding model failed: {error}", model=MODEL_ID) from error
        return vectors

    def verify(self) -> None:
        """Compares the files' SHA-256 with `SHA256SUMS`, which takes about 20 ms. Raises `EmbeddingFailed`."""
        try:
            lines = (self._folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
            for expected, name in (line.split() for line in lines):
                found = hashlib.sha256((self._folder / name).read_bytes()).hexdigest()
                if found != expected:
                    raise EmbeddingFailed(f"{self._folder / name} is not the file that was shipped.", model=MODEL_ID)
        except (OSError, ValueError) as error:
            raise EmbeddingFailed(f"The embedding model's files cannot be read: {error}", model=MODEL_ID) from error

    def load(self) -> None:
        """Loads the model now instead of at its first use. Raises `EmbeddingFailed` as `embed` does."""
        self._load()

    def _load(self) -> tuple[InferenceSession, Tokenizer]:
        with self._lock:
            if self._loaded is None:
                self._check_size(_MODEL_FILE, _MODEL_BYTES)
                self._check_size(_TOKENIZER_FILE, _TOKENIZER_BYTES)
                try:
                    self._loaded = (_session(self._folder / _MODEL_FILE), _tokenizer(self._folder / _TOKENIZER_FILE))
                except Exception as error:  # native libraries fail with anything, ImportError included
                    raise EmbeddingFailed(f"The embedding model cannot be loaded: {error}", model=MODEL_ID) from error
            return self._loaded

    def _check_size(self, name: str, expected_bytes: int) -> None:
        path = self._folder / name
        try:
            size = path.stat().st_size
        except OSError as error:
            raise EmbeddingFailed(f"The embedding model's file {path} is missing.", model=MODEL_ID) from error
        if size != expected_bytes:
            raise EmbeddingFailed(f"{path} has {size} bytes instead of {expected_bytes}.", model=MODEL_ID)


def _session(path: Path) -> InferenceSession:
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = max(1, min(4, os.cpu_count() or 1))
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # waiting threads sleep instead of burning the processor that the window needs
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # bytes instead of a path: no trouble with file names that are no ASCII on Windows
    return onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])


def _tokenizer(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    tokenizer.no_padding()  # the file pads everything to 128 tokens: 5 to 10 times the time of a short query
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def _batches(by_length: Sequence[int], encodings: Sequence[Encoding]) -> list[list[int]]:
    """Runs of texts of similar length; each row times the longest stays under the bound."""
    batches: list[list[int]] = []
    for number in by_length:
        length = len(encodings[number].ids)
        if batches and (len(batches[-1]) + 1) * length <= _BATCH_TOKENS:
            batches[-1].append(number)
        else:
            batches.append([number])
    return batches


def _run(session: InferenceSession, encodings: Sequence[Encoding]) -> NDArray[np.float32]:
    """Mean of the last hidden state over the real tokens, L2-normalised."""
    shape = (len(encodings), max(len(encoding.ids) for encoding in encodings))
    ids = np.zeros(shape, dtype=np.int64)
    mask = np.zeros(shape, dtype=np.int64)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding.ids)] = encoding.ids
        mask[row, : len(encoding.ids)] = 1
    feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros(shape, dtype=np.int64)}
    (hidden,) = session.run(["last_hidden_state"], feed)
    weights = mask[:, :, None].astype(np.float32)
    mean = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    norms = np.linalg.norm(mean, axis=1, keepdims=True)
    unit: NDArray[np.float32] = mean / np.maximum(norms, np.float32(1e-12))
    return unit
