"""The sentences of the desktop and their translations.

`words.py` brings every catalogue (resources/i18n/LANGUAGE.json: English sentence to translation, in the order of the
code) to exactly the sentences of the code and says which lack a translation; those stay English. Sentences are what
`tr` and `tr_count` are given. Where that is no literal, they stand in a table of the same file (a constant, or a
literal in the same function, or an imported constant), or are the title and intro of a page or section.

German, one word per thing: fact Fakt, agent Agent, namespace Namensraum, recall Abruf, revise überarbeiten, retire
stilllegen, pin anheften, label Kennzeichen, alias Alias, checkpoint Checkpoint, entity Entität, receipt Beleg, journal
Journal, vault Vault, undo rückgängig machen, card Karte, inbox Eingang, weight Gewicht, store Speicher, source Quelle,
ceiling Obergrenze, cycle Durchlauf, proposal Vorschlag, purge endgültig entfernen, floor Schwelle.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "gm_desktop"
CATALOGUES = ROOT / "resources" / "i18n"
CALLS = {"tr": 1, "tr_count": 2}
ATTRIBUTES = ("title", "intro")
TABLES = ast.Tuple | ast.List | ast.Dict


def sentences() -> list[str]:
    """Every sentence of the desktop, in the order of files and lines."""
    found: dict[str, None] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        if path.name != "i18n.py":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found.update(dict.fromkeys((*_of_file(tree), *_of_imported(tree))))
    return list(found)


def _of_file(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from _of_class(node)
    for call in _calls(tree):
        for argument in _texts_of(call):
            yield from _written(argument)
    for name, value in _constants(tree):
        if _looks_up(tree) or name == "MENUS":
            yield from _of_table(value)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _looks_up(node):
            yield from _of_function(node)


def _of_imported(tree: ast.Module) -> Iterator[str]:
    """The tables of other files (in capitals) that a file with look-ups imports."""
    for line in tree.body:
        module = (line.module or "") if isinstance(line, ast.ImportFrom) and _looks_up(tree) else ""
        if isinstance(line, ast.ImportFrom) and module.startswith("gm_desktop.") and module != "gm_desktop.i18n":
            names = {each.name for each in line.names if each.name.isupper()}
            path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
            constants = _constants(ast.parse(path.read_text(encoding="utf-8"))) if names else ()
            for name, value in constants:
                if name in names:
                    yield from _of_table(value)


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for line in tree.body:
        if isinstance(line, ast.Assign):
            yield _name(line.targets[0]), line.value
        elif isinstance(line, ast.AnnAssign) and line.value is not None:
            yield _name(line.target), line.value


def _of_function(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Dict):
            yield from _of_table(node)
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, TABLES):
            yield from _of_table(node.iter)


def _looks_up(tree: ast.AST) -> bool:
    """Whether something else than a literal is passed on to be translated."""
    return any(not isinstance(argument, ast.Constant) for call in _calls(tree) for argument in _texts_of(call))


def _texts_of(call: ast.Call) -> list[ast.expr]:
    return call.args[: CALLS[_name(call.func)]]


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in CALLS and node.args:
            yield node


def _assigned(lines: list[ast.stmt]) -> Iterator[ast.Assign]:
    for line in lines:
        if isinstance(line, ast.Assign):
            yield line


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _of_class(found: ast.ClassDef) -> Iterator[str]:
    """The title and the intro, alone or in an assignment of several."""
    for line in _assigned(found.body):
        target, value = line.targets[0], line.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=True))
        else:
            pairs = [(target, value)]
        for name, text in pairs:
            if _name(name) in ATTRIBUTES and isinstance(text, ast.Constant) and text.value:
                yield str(text.value)


def _written(argument: ast.expr) -> Iterator[str]:
    """The literals that an argument can be: itself, both sides of a choice, the default of `get`."""
    match argument:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=one, orelse=other):
            yield from (*_written(one), *_written(other))
        case ast.Call(func=ast.Attribute(attr="get"), args=[_, default]):
            yield from _written(default)


def _of_table(table: ast.expr) -> Iterator[str]:
    """The sentences among the texts of a table: never a key."""
    keys = {id(key) for node in ast.walk(table) if isinstance(node, ast.Dict) for key in node.keys}
    for node in ast.walk(table):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in keys and _is_sentence(text):
                yield text


def _is_sentence(text: str) -> bool:
    """Whether a text of a table is for people: names of things and icons are lower case and without spaces."""
    return re.search("[A-Za-z]{2}|{", text) is not None and (" " in text or not text.islower())


def bring_up_to_date(path: Path, wanted: list[str]) -> list[str]:
    """Writes the catalogue with exactly the wanted sentences and returns those without a translation."""
    known = json.loads(path.read_text(encoding="utf-8"))
    merged = {text: known.get(text, "") for text in wanted}
    if list(merged.items()) != list(known.items()):
        path.write_text(json.dumps(merged, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return [text for text, said in merged.items() if not said]


def main() -> int:
    """Brings every catalogue up to date; 1 when a translation is missing."""
    wanted, missing = sentences(), 0
    for path in sorted(CATALOGUES.glob("*.json")):
        lacking = bring_up_to_date(path, wanted)
        missing += len(lacking)
        print(f"{path.stem}: {len(wanted) - len(lacking)} of {len(wanted)} sentences", flush=True)
        for text in lacking[:20]:
            print(f"    {text}")
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main())
