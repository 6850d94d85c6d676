"""Names, tags, properties and links of the vault, by example."""

from __future__ import annotations

import pytest

from exporters.obsidian.frontmatter import (
    FrontmatterError,
    Moment,
    Properties,
    merge,
    our_values,
    parse,
    scalar,
    write,
)
from exporters.obsidian.links import BrokenLink, VaultIndex, link_targets, shown, wikilink
from exporters.obsidian.names import PathBook, file_name, free_name, tag_part, title_of, words_of
from exporters.obsidian.note_file import note_id
from exporters.obsidian.text import block_id, inline, quote


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Plain words", "Plain words"),
        ("a/b\\c", "a-b-c"),
        ('what? <x> "y" | z: *', "what x y z"),
        ("[[x]] #tag ^id", "x tag id"),
        ("100%% sure", "100% sure"),
        ("  ..dots..  ", "dots"),
        ("con", "_con"),
        ("LPT1.txt", "_LPT1.txt"),
        ("console", "console"),
        ("README.md", "README-md"),
        ("", "Untitled"),
        ("???", "Untitled"),
        ("\u202egnp.exe\u200b", "gnp.exe"),
        ("e\u0301", "é"),
        ("`x` costs $5", "'x' costs 5"),
        ("line\nbreak\tand\0nul", "line break andnul"),
    ],
)
def test_a_title_becomes_a_legal_file_name(title: str, name: str) -> None:
    assert file_name(title) == name


def test_long_names_are_cut_between_words_and_within_bytes() -> None:
    assert words_of("word " * 30) == " ".join(["word"] * 12)
    assert title_of("word " * 30) == " ".join(["word"] * 12) + "…"
    assert title_of("short") == "short"
    assert len(file_name("😀" * 300).encode()) <= 240
    assert set(file_name("😀" * 300)) == {"😀"}


def test_the_same_name_is_numbered_however_it_is_spelt() -> None:
    book = PathBook(["Facts/taken 1.MD"])
    names = [book.take(f"Facts/{name}") for name in ("Taken", "taken", "Straße", "STRASSE", "é", "e\u0301")]
    assert names == [
        "Facts/Taken.md",
        "Facts/taken 2.md",
        "Facts/Straße.md",
        "Facts/STRASSE 1.md",
        "Facts/é.md",
        "Facts/e\u0301 1.md",
    ]


def test_a_released_path_is_given_out_again() -> None:
    book = PathBook()
    first = book.take("x")
    assert book.take("x") == "x 1.md"
    book.release(first)
    assert first not in book
    assert book.take("x") == first


def test_a_deep_folder_leaves_shorter_names() -> None:
    book = PathBook(room=100)
    path = book.take(book.wanted("Facts/" + "a" * 40, "long words " * 20))
    assert len(path) <= 100


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("sales-closer", "sales-closer"),
        ("two words", "two-words"),
        ("../escape/agent", "escape/agent"),
        ("2026", "n2026"),
        ("a/1984", "a/n1984"),
        ("#x!", "x"),
        ("...", "untitled"),
        ("代理 🙂", "代理-🙂"),
        ("a—b“c”", "abc"),
    ],
)
def test_an_agent_becomes_a_legal_tag(name: str, tag: str) -> None:
    assert tag_part(name) == tag


def test_tags_that_differ_in_case_only_get_numbers() -> None:
    assert free_name("Agent", ["agent", "AGENT-1"], separator="-") == "Agent-2"


@pytest.mark.parametrize("text", ["plain", "two words", "memory/a-b", "x_y", "v1.2"])
def test_plain_words_need_no_quotes(text: str) -> None:
    assert scalar(text) == text


HOSTILE = (
    "-x|yes|No|~|null|1e10|0123|12:30|2026-01-01|.inf|[[x]]|{{x}}|<% x %>|!x|&x|*x|%x|@x|`x|é|=|<<|0x1f|1_000|y|...|---"
)


@pytest.mark.parametrize("text", ["", " x", "x ", "a: b", "a #b", "x:", "a\nb", *HOSTILE.split("|")])
def test_everything_else_is_quoted(text: str) -> None:
    assert scalar(text).startswith('"')


def test_properties_are_written_flat_with_one_type_each() -> None:
    written = write(
        Properties(
            {
                "mem_id": "01KT",
                "mem_pinned": True,
                "mem_created": Moment("2026-06-01T09:40:00.5Z"),
                "mem_text": "a\0b\r",
            },
            aliases=("A: b",),
            tags=("memory",),
        )
    )
    assert written == (
        'mem_id: "01KT"\nmem_pinned: true\nmem_created: 2026-06-01T09:40:00\nmem_text: "a\\0b\\r"\n'
        'aliases:\n  - "A: b"\ntags:\n  - memory\n'
    )


def test_a_quotation_shows_the_text_and_nothing_else() -> None:
    assert quote("# a [[b]]\n\n- c  ", "f-1") == "> \\# a \\[\\[b\\]\\]\n>\n> \\- c &#32; ^f-1"
    assert quote("snake_case stays, 5 % as well, a:b too") == "> snake_case stays, 5 % as well, a:b too"
    assert quote("nul\0cr\r\nx") == "> nul␀cr\n> x"
    assert inline("two\nlines " * 100, 20) == "two lines two lines…"
    assert block_id("01KT/x") == "f-01kt-x"


def test_what_a_link_shows_cannot_end_it() -> None:
    assert wikilink("Memory/a.md", shown("x]] | [[y `z` $5 #t %% k:: v")) == (
        "[[Memory/a|x)) ¦ ((y 'z' ＄5 ＃t % k: v]]"
    )


def test_links_resolve_by_path_whatever_the_case_and_escaped_ones_are_none() -> None:
    index = VaultIndex(["Memory/Facts/A.md", "Memory/x.png", "Memory/v1.2.md"])
    text = "[[memory/facts/a|x]] ![[Memory/x.png]] [[Memory/v1.2#h|y]] [[#here]] [[A]] \\[\\[no\\]\\] \\[[no]]"
    assert list(link_targets(text)) == ["memory/facts/a", "Memory/x.png", "Memory/v1.2", "", "A"]
    assert list(index.broken("n.md", text)) == [BrokenLink("n.md", "A")]


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (b'---\nmem_id: "01KT"\n---\n', "01KT"),
        (b"---\nmem_id: 01KT\n---\n", "01KT"),
        (b"\xef\xbb\xbf---\r\na: 1\r\n'mem_id' : '01KT' \r\n---\r\n", "01KT"),
        (b'---\nmem_id: "a\\"b" # c\n---\n', 'a"b'),
        (b"---\nmem_id:\n---\n", None),
        (b"---\nmem_id: [\n---\n", None),
        (b"mem_id: 01KT\n", None),
        (b"---\nx: 1\n---\nmem_id: 01KT\n", None),
        (b"---\nmem_id: 01KT\n", None),
        (b"", None),
    ],
)
def test_a_note_is_recognised_by_its_id(head: bytes, found: str | None) -> None:
    assert note_id(head) == found


def test_properties_that_a_person_wrote_in_another_way_are_compared_by_what_they_say() -> None:
    mapping = parse("a: 1\nb: 2026-11-30\nc: 2026-11-30T10:00:00+01:00\nd:\ne: true\nf: 'x'\n")
    assert our_values(mapping, "abcdefg") == {
        "a": 1.0,
        "b": "2026-11-30",
        "c": "2026-11-30T09:00:00",
        "d": "",
        "e": True,
        "f": "x",
    }


def test_a_single_tag_and_a_single_alias_become_lists_beside_ours() -> None:
    ours = Properties({"mem_id": "01"}, ("Ours",), ("memory", "memory/new"))
    merged = merge("tags: mine\naliases: Theirs\n", ours, stale_tags=("memory/old",))
    assert merged == ('tags:\n  - mine\n  - memory\n  - memory/new\naliases:\n  - Theirs\n  - Ours\nmem_id: "01"\n')


@pytest.mark.parametrize("raw", ["- a\n- b\n", "just words\n", "a: 1\n...\nb: 2\n", "a: [\n", "a: 1\na: 2\n"])
def test_what_is_no_list_of_properties_is_not_merged(raw: str) -> None:
    with pytest.raises(FrontmatterError):
        merge(raw, Properties({"mem_id": "01"}, (), ("memory",)))
