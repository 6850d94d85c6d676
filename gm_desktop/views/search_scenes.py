"""What `--screenshots` shows of the Search page beside its first state."""

from __future__ import annotations

from collections.abc import Callable

from gm_desktop.viewmodels.search_models import SearchModels
from gm_desktop.views.search_inspector import SearchInspector

_TRIED = (("keyword", 0.35), ("recency", 1.4), ("confidence_weight", 0.25))
_TOO_LONG_AGO_S = 400 * 86_400


def search_scenes(
    models: SearchModels,
    side: SearchInspector,
    *,
    set_batch: Callable[[bool], None],
    set_eye: Callable[[bool], None],
    deselect: Callable[[], None],
) -> tuple[tuple[str, Callable[[], None]], ...]:
    """Scenes in order, each from where the one before ended. `deselect`: the question is to be read, not typed over."""

    def why_not() -> None:
        side.open_tab("why_not")
        models.why_not.pick_something_missing()

    def lab() -> None:
        side.open_tab("lab")
        for name, value in _TRIED:
            models.lab.set_knob(name, value)

    def judged() -> None:
        models.lab.judge_something_telling()

    def eye() -> None:
        models.lab.reset()
        side.open_tab("why")
        set_eye(True)

    def batch() -> None:
        set_eye(False)
        models.batch.ask_something_telling()
        set_batch(True)

    def past() -> None:
        set_batch(False)
        deselect()
        models.search.set_as_of_ago(_TOO_LONG_AGO_S)

    return (
        ("why-not", why_not),
        ("lab", lab),
        ("judged", judged),
        ("eye", eye),
        ("batch", batch),
        ("as-of", past),
    )
