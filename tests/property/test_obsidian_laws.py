"""Laws of the published vault: no text can break a note, no two names are one file, everything reads back."""

from __future__ import annotations

import tempfile
import unicodedata
from pathlib import Path

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from ruamel.yaml import YAML

from exporters.obsidian.frontmatter import Properties, merge, parse, quoted, scalar, write
from exporters.obsidian.links import VaultIndex, link_targets, shown, wikilink
from exporters.obsidian.names import PathBook, file_name, tag_part
from exporters.obsidian.note_file import take_apart
from exporters.obsidian.publish import publish
from exporters.obsidian.reading import read_note
from exporters.obsidian.text import escape, inline, is_unsafe, quote, unescape, unquote
from gm_engine import FactQuery, Memory
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

PIECES = [
    *("[[x]]", "[[x|y]]", "![[", "]]", "#tag", "%%", "---", "===", "^id", " ^f-01abc", "key:: value", "[k:: v]", "<b>"),
    *("</b>", "<!-- ", "-->", "&amp;", "&#32;", "```", "~~~", "`x`", "$x$", "$$", "==x==", "**x**", "_x_", "\\", "\\["),
    *(
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\t",
        " ",
        "  ",
        "    ",
        "\0",
        "\x1b",
        "\x85",
        "\u2028",
        "\ufeff",
        "\u202e",
        "\u200d",
    ),
    *("- ", "+ ", "* ", "1. ", "2) ", "> ", "# ", "|a|b|", "|---|---|", "- [ ] ", "[^1]", "[a](b)", "https://x.y/z"),
    *(
        "<% x %>",
        "{{x}}",
        ": ",
        " #",
        "- a: b",
        "!tag",
        "&a",
        "*a",
        "yes",
        "null",
        "0123",
        "1e10",
        "12:30:00",
        "2026-01-01",
    ),
    *(
        "con",
        "COM1",
        "é",
        "e\u0301",
        "ß",
        "SS",
        "ﬁ",
        "İ",
        "😀",
        "👩‍👩‍👧",
        "שלום",
        "عربي",
        "東京",
        "Å",
        "\u212b",
        ".",
        "..",
        "/",
        ":",
    ),
    *("%% graymatter:begin %%", "%% graymatter:end 0123456789abcdef %%", "README.md", "x.", "\uffff", "\U0001fffe"),
]
CHARACTERS = st.characters(exclude_categories=["Cs"])
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=60),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(CHARACTERS, max_size=4)), max_size=8).map("".join),
)
STORED = TEXTS.filter(lambda text: text.strip() != "")


@given(TEXTS)
def test_a_text_reads_back_exactly_from_its_quotation(text: str) -> None:
    assert unescape(escape(text)) == text
    if not is_unsafe(text):
        assert unquote(quote(text)) == text
        assert unquote(f"\n{quote(text, 'f-01abc')}\n\nmore\n> other") == text


@given(TEXTS)
def test_a_quoted_text_is_nothing_but_text(text: str) -> None:
    block = quote(text)
    for active in ("[[", "%%", "<%", "::", "```", "~~~", "$$", " #", "s://"):
        assert active not in block
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(block)
    kinds = {token.type for token in tokens}
    assert kinds <= {"blockquote_open", "blockquote_close", "paragraph_open", "paragraph_close", "inline"}
    inner = {child.type for token in tokens for child in token.children or ()}
    assert inner <= {"text", "softbreak"}


@given(TEXTS, TEXTS)
def test_an_inline_text_stays_on_its_line_and_is_only_text(text: str, other: str) -> None:
    line = f"- {inline(text)} {inline(other)}"
    assert "\n" not in line
    assert not list(link_targets(line))
    (inner,) = (
        token for token in MarkdownIt("commonmark", {"html": True}).parse(f"x {line}") if token.type == "inline"
    )
    assert {child.type for child in inner.children or ()} <= {"text"}


@given(TEXTS)
def test_yaml_parsers_of_both_versions_give_back_a_scalar(text: str) -> None:
    for written in (scalar(text), quoted(text)):
        assert "\n" not in written
        assert "[[" not in written
        document = f"key: {written}\nlist:\n  - {written}\n"
        for read in (yaml.safe_load(document), YAML(typ="safe", pure=True).load(document), parse(document)):
            assert read["key"] == text
            assert read["list"] == [text]
            assert isinstance(read["key"], str)


@given(st.lists(TEXTS, max_size=5), st.lists(STORED, max_size=3), TEXTS)
def test_merging_keeps_unknown_keys_and_their_order(theirs: list[str], aliases: list[str], value: str) -> None:
    ours = Properties({"mem_id": "01", "mem_agent": "a", "mem_pinned": False}, ("t",), ("memory",))
    unknown = "".join(
        f"u{n} {quoted(text)[1:-1][:3].encode().hex()}: {quoted(text)}\n" for n, text in enumerate(theirs)
    )
    raw = f"{unknown}{write(ours)}last: {quoted(value)}  # mine\n"
    changed = Properties({"mem_id": "01", "mem_agent": value, "mem_pinned": True}, (*aliases,), ("memory", "memory/a"))
    merged = parse(merge(raw, changed))
    before = parse(raw)
    assert [key for key in merged if key in before] == list(before)
    assert [merged[f] for f in before if f.startswith("u")] == theirs
    assert merged["mem_agent"] == value
    assert merged["mem_pinned"] is True
    assert set(merged["aliases"]) == {"t", *aliases}
    assert "# mine" in merge(raw, changed)


def folded(path: str) -> set[str]:
    """What a path becomes on file systems that fold case or normalise."""
    return {
        unicodedata.normalize(form, change(path))
        for form in ("NFC", "NFD")
        for change in (str, str.lower, str.casefold)
    }


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=12), st.integers(min_value=0, max_value=100))
def test_paths_never_collide_on_any_file_system_and_are_legal(notes: list[tuple[str, str]], deep: int) -> None:
    book = PathBook(room=160 - deep)
    taken: set[str] = set()
    for agent, title in notes:
        path = book.take(book.wanted(f"Facts/{file_name(agent, limit=40)}", title))
        assert not folded(path) & taken
        taken |= folded(path)
        assert len(path) <= 160 - deep or deep > 60
        for name in path.split("/"):
            assert len(name.encode()) <= 240
            assert name == name.strip(". ") != ""
            assert not set(name) & set('\\?<>:*|"[]#^\0\n\r\t')
            assert unicodedata.is_normalized("NFC", name)
            assert "%%" not in name
        assert file_name(title) == file_name(file_name(title))


@given(TEXTS)
def test_a_tag_is_legal(name: str) -> None:
    tag = tag_part(name)
    for part in tag.split("/"):
        assert part
        assert not part.isdigit() or not part.isascii()
        assert not any(char.isspace() or char in "!\"#$%&'()*+,.:;<=>?@^`{|}~[]\\" for char in part)
        assert not any("\u2000" <= char <= "\u206f" or "\u2e00" <= char <= "\u2e7f" for char in part)


@given(TEXTS, TEXTS)
def test_a_link_shows_anything_and_leads_to_its_path(title: str, agent: str) -> None:
    book = PathBook()
    path = book.take(book.wanted(f"Memory/Facts/{file_name(agent, limit=40)}", title))
    line = f"- {wikilink(path, shown(title))} and {wikilink(path, shown(agent))}"
    assert list(link_targets(line)) == [path.removesuffix(".md")] * 2
    assert not list(VaultIndex([path.upper()]).broken("x", line))


@settings(max_examples=settings().max_examples // 2)  # 500 where the profile is thorough
@given(st.lists(st.tuples(STORED, STORED), min_size=1, max_size=8))
def test_every_fact_has_a_note_that_reads_back_and_whose_links_resolve(facts: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        with Memory.open(place / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as memory:
            for agent, text in facts:
                memory.remember(agent, text)
            first = publish(memory, place / "vault")
            again = publish(memory, place / "vault")
            stored = {fact.id: fact for fact in memory.facts(memory.fact_ids(FactQuery()))}
        notes = sorted((place / "vault" / "Memory" / "Facts").rglob("*.md"))
        assert first.broken_links == again.broken_links == ()
        assert (first.written, again.written) == (len(facts) + len({agent for agent, _ in facts}) + 1, 0)
        assert len({key for note in notes for key in folded(str(note.relative_to(place)))}) >= len(notes) == len(facts)
        for note in notes:
            read = read_note(note)
            assert (read.text, read.agent_id) == (stored[read.fact_id].text, stored[read.fact_id].agent_id)
            head = take_apart(note.read_bytes()).frontmatter
            assert yaml.safe_load(head) == YAML(typ="safe", pure=True).load(head)
