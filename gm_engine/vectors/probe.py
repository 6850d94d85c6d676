"""Run as a child process: opens an index folder and asks it once. Ends with 0 when that works.

python -m gm_engine.vectors.probe FOLDER MODEL DIMS
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from gm_engine.vectors.chroma import ChromaIndex
from gm_engine.vectors.index import IndexUnavailable


def main(arguments: list[str]) -> int:
    """0 when the folder can be opened and queried, 1 when it says that it cannot; a crash ends differently."""
    folder, model, dims = arguments
    try:
        index = ChromaIndex.open(Path(folder), model=model, dims=int(dims))
        if index.count():
            index.nearest(np.full(int(dims), 1000, dtype=np.int16), 16)
        index.close()
    except IndexUnavailable:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
