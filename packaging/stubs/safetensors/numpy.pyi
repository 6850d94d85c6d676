from typing import Any

from numpy.typing import NDArray

def load(data: bytes) -> dict[str, NDArray[Any]]: ...
