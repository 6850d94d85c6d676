"""The one place that finds files shipped with the program: models, themes, icons, fonts, schemas."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

_PACKAGE = "gm_resources"


def resource(*parts: str) -> Path:
    """The path of a shipped file or folder: `resource("models", "minilm-l6", "tokenizer.json")`.

    In a checkout the `resources` folder beside the packages wins: an editable install also has a copy, which goes
    stale. In a wheel or a frozen build the files live in the package `gm_resources`. The path is returned whether or
    not it exists; whoever opens it reports what is missing.
    """
    return resources_root().joinpath(*parts)


def resources_root() -> Path:
    """The folder that holds all shipped files."""
    checkout = Path(__file__).resolve().parent.parent / "resources"
    if checkout.is_dir():
        return checkout
    spec = find_spec(_PACKAGE)
    for location in (spec.submodule_search_locations or ()) if spec is not None else ():
        if Path(location).is_dir():
            return Path(location)
    return checkout.with_name(_PACKAGE)
