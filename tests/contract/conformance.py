"""Transcripts of the adapter, recorded from the real process and replayed against it.

`python3 packaging/dev.py conformance record [CASE …]` writes the responses, `… verify [CASE …]` compares with them. A
case is a folder with `manifest.json`, `request.jsonl`, `response.jsonl` and `fixture/`; the fixture is a story from
which the store is built anew, so that no database file is kept.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.contract.raw_core import RawCore
from tests.fakes.command_line import command, environment
from tests.fakes.store_story import build_story

CASES = Path(__file__).resolve().parent.parent / "fixtures" / "recall" / "conformance"
MASK = "<volatile>"
_PATH = re.compile(r"/(?:tmp|home|root|var|private|Users|work)/|[A-Za-z]:\\\\")


def cases(names: Sequence[str] = ()) -> list[Path]:
    """The folders of the named cases, or of all."""
    found = sorted(path.parent for path in CASES.glob("*/manifest.json"))
    return [path for path in found if not names or path.name in names]


def process(extra: Mapping[str, str]) -> RawCore:
    """The adapter as a core starts it, with more in its environment."""
    return RawCore(command("recall-adapter"), env=environment({"GRAYMATTER_EMBEDDING_MODE": "keyword-only", **extra}))


def replay(case: Path, folder: Path, start: Callable[[Mapping[str, str]], RawCore] = process) -> list[str]:
    """The masked responses of the adapter to a case's requests, as the lines of its `response.jsonl`.

    `folder` is empty; store and workdir of the case are made in it. `start` gets what the case adds to the environment.
    """
    manifest = json.loads((case / "manifest.json").read_text(encoding="utf-8"))
    store, workdir = folder / "fixture", folder / "workdir"
    workdir.mkdir()
    story = case / "fixture" / "story.json"
    if story.exists():
        build_story(story, store)
    places = {"${FIXTURE}": str(store), "${WORKDIR}": str(workdir)}
    with start(manifest.get("environment", {})) as core:
        frames = [*_lockstep(core, case, places)]
    assert not [*workdir.iterdir()], "nothing is to be kept by this adapter"
    lines = [json.dumps(masked(frame, manifest["volatile"]), ensure_ascii=False) for frame in frames]
    for line in lines:
        assert not any(place in line for place in places.values()), "a path is in the transcript"
        assert not _PATH.search(line), "a path is in the transcript"
    return lines


def _lockstep(core: RawCore, case: Path, places: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Sends in order: notifications at once, a request only after the one before it was answered."""
    waits = False
    requests = (case / "request.jsonl").read_text(encoding="utf-8")
    for name, value in places.items():
        requests = requests.replace(name, json.dumps(value)[1:-1])
    for text in requests.splitlines():
        if waits and "id" in json.loads(text):
            yield _answer(core)
            waits = False
        core.write(f"{text}\n".encode())
        waits = waits or "id" in json.loads(text)
    if waits:
        yield _answer(core)
    core.close_stdin()
    while (frame := core.read()) is not None:
        yield frame


def _answer(core: RawCore) -> dict[str, Any]:
    frame = core.read()
    assert frame is not None, "the adapter ended before it answered"
    return frame


def masked(frame: Any, pointers: Sequence[str]) -> Any:
    """The frame with what these pointers lead to masked; `*` is any member or item."""
    for pointer in pointers:
        _mask(frame, [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]])
    return frame


def _mask(value: Any, steps: list[str]) -> None:
    step, rest = steps[0], steps[1:]
    match value:
        case dict():
            keys: list[Any] = [key for key in value if step in ("*", key)]
        case list():
            keys = [at for at in range(len(value)) if step in ("*", str(at))]
        case _:
            return
    for key in keys:
        if rest:
            _mask(value[key], rest)
        else:
            value[key] = MASK


def record(case: Path) -> None:
    """Writes what the process says now."""
    with tempfile.TemporaryDirectory() as folder:
        lines = replay(case, Path(folder))
    (case / "response.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    path = case / "manifest.json"
    manifest = {**json.loads(path.read_text(encoding="utf-8")), "responses": len(lines)}
    path.write_text(f"{json.dumps(manifest, indent=2)}\n", encoding="utf-8")


def verify(case: Path, folder: Path, start: Callable[[Mapping[str, str]], RawCore] = process) -> list[str]:
    """What differs from the recorded transcript, in lines to print; nothing when it conforms."""
    manifest = json.loads((case / "manifest.json").read_text(encoding="utf-8"))
    wanted = (case / "response.jsonl").read_text(encoding="utf-8").splitlines()
    got = replay(case, folder, start)
    differences = [
        f"response {number}:\n  recorded {old}\n  got      {new}"
        for number, (old, new) in enumerate(zip(wanted, got, strict=False), 1)
        if json.loads(old) != json.loads(new)
    ]
    if not len(got) == len(wanted) == manifest["responses"]:
        differences.append(f"{len(got)} responses; {len(wanted)} were recorded, {manifest['responses']} announced")
    return differences


def main(arguments: Sequence[str]) -> int:
    """`record` or `verify`, and names of cases."""
    verb, names = (arguments[0], arguments[1:]) if arguments else ("verify", [])
    wanted = cases(names)
    if verb not in ("record", "verify") or not wanted:
        print("usage: conformance record|verify [CASE …]", file=sys.stderr)
        return 2
    failed = 0
    for case in wanted:
        if verb == "record":
            record(case)
            print(f"recorded {case.name}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            differences = verify(case, Path(folder))
        failed += bool(differences)
        print("\n".join([f"{'differs ' if differences else 'conforms'}  {case.name}", *differences]), flush=True)
    if verb == "verify":
        print(f"{len(wanted) - failed} of {len(wanted)} cases conform")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
