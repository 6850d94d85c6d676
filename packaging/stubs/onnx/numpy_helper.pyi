from typing import Any

from numpy.typing import NDArray
from onnx import TensorProto

def from_array(array: NDArray[Any], name: str | None = None) -> TensorProto: ...
