"""AsciiDoc: blocks, lists, tables and inline markup, with the anchors of Asciidoctor; the modules of Antora."""

from __future__ import annotations

from pathlib import Path

import pytest

from glossator.core.types import BlockKind
from glossator.ingest.formats.asciidoc.read import read_asciidoc
from glossator.ingest.formats.html import ExtractedPage
from glossator.ingest.parsing.values import ParseContext
from glossator.ingest.read import SourceContents, read_source

LIMIT = 1_000_000


def read(folder: Path, text: str, layout: str = "plain") -> ExtractedPage:
    page = folder / "page.adoc"
    page.write_text(text, "utf-8")
    return read_asciidoc(page, ParseContext(str(folder), layout, LIMIT))


def headings(page: ExtractedPage) -> list[tuple[int, str, str]]:
    found = [block for block in page.blocks if block.kind is BlockKind.HEADING]
    return [(block.level, block.anchor, page.text[block.start : block.end]) for block in found]


SYNTAX = {
    "a paragraph over lines": ("One\ntwo.\n\nThree.", "One two.\n\nThree."),
    "a line break": ("One +\ntwo.", "One two."),
    "formatting": ("*One* _two_ `three` #four# **f**ive __s__ix", "One two three four five six"),
    "roles": ("[.big]#One# [.x]*two*", "One two"),
    "signs": ('It\'s "`here`" -- and so... a->b (C)', "It’s “here” — and so… a→b ©"),
    "passed text": ("+*a*+ and `+_b_+` and pass:[*c*]", "*a* and _b_ and *c*"),
    "escaped marks": (r"\*a* \_b_ \{c}", "*a* _b_ {c}"),
    "underscores in names": ("The a_b_c and https://a.example/x_y_z[it].", "The a_b_c and it."),
    "superscripts": ("10^6^ H~2~O", "10⁶ H₂O"),
    "links": (
        "https://a.example[Here^], https://b.example. link:a.html[there], mailto:a@b.example[Ann].",
        "Here, https://b.example. there, Ann.",
    ),
    "references": (
        "See <<moon>>, <<moon,it>>, xref:moon[] and xref:other.adoc#a[].\n\n[#moon]\n== The *Moon*\n\nText.",
        "See The Moon, it, The Moon and other#a.\n\nThe Moon\n\nText.",
    ),
    "an unknown reference": ("See <<gone>>.", "See [gone]."),
    "attributes": (":name: the *tide*\n:unset!:\n\nIt is {name}, {cpp}, {unknown}.", "It is the tide, C++, {unknown}."),
    "keys and menus": ("Press kbd:[Ctrl+C], btn:[OK], menu:File[Save > As].", "Press Ctrl+C, OK, File › Save › As."),
    "a footnote": ("Text.footnote:[The note.] More.", "Text. (The note.) More."),
    "formulas": ("stem:[x^2]\n\n[stem]\n++++\ny = 1\n++++", "$x^2$\n\n$$ y = 1 $$"),
    "lists": (
        "* One\n** Deep\ncontinued\n* Two\n\n. First\n. Second",
        "- One\n  - Deep continued\n- Two\n  1. First\n  2. Second",
    ),
    "a list of other markers": ("- One\n* Deep\n- Two", "- One\n  - Deep\n- Two"),
    "an item with blocks": (
        "* One\n+\n----\nx = 1\n----\n+\nMore.\n* Two",
        "- One\n\n```\nx = 1\n```\n\n  More.\n- Two",
    ),
    "a checklist": ("* [x] Done\n* [ ] Open", "- ☑ Done\n- ☐ Open"),
    "terms": ("Moon:: It shines.\nSun::\n  It burns.\n\nEnd.", "Moon\n\nIt shines.\n\nSun\n\nIt burns.\n\nEnd."),
    "terms with lists": ("Moon::\n* One\n* Two\nSun:: Hot.", "Moon\n\n- One\n- Two\n\nSun\n\nHot."),
    "code": ("[source,ruby]\n----\nputs 1 # <1>\n----\n<1> It prints.", "```ruby\nputs 1\n```\n\n1. It prints."),
    "short code": (
        "[,py]\n----\nx\n----\n\n```js\ny\n```\n\n....\n*z*\n....",
        "```py\nx\n```\n\n```js\ny\n```\n\n```\n*z*\n```",
    ),
    "an indented paragraph": (" x = 1\n  y", "```\nx = 1\n y\n```"),
    "a title of a block": (".Example\n----\nx\n----", "Example\n\n```\nx\n```"),
    "admonitions": (
        "NOTE: Mind\nit.\n\n[WARNING]\n====\nOne.\n\nTwo.\n====\n\n.Own\n[TIP]\nThree.",
        "Note\n\nMind it.\n\nWarning\n\nOne.\n\nTwo.\n\nOwn\n\nTip\n\nThree.",
    ),
    "other blocks": (
        "****\nAside.\n****\n\n[quote,Ann]\n____\nSaid.\n____\n\n--\nOpen.\n--",
        "Aside.\n\nSaid.\n\nAnn\n\nOpen.",
    ),
    "comments": ("One.\n// no\n\n////\nNo.\n////\nTwo.", "One.\n\nTwo."),
    "raw HTML": ("++++\n<script>x</script>\n++++\nText.", "Text."),
    "a table": ("|===\n|A |B\n\n|1\n|2 \\| 3\n|===", "A | B\n1 | 2 | 3"),
    "a table with columns": ('.Cap\n[cols="1,2a"]\n|===\n|A\na|* x\n* y\n|===', "Cap\n\nA | - x - y"),
    "a table of values": (",===\na,b\n1,2\n,===", "a | b\n1 | 2"),
    "an image": (
        ".Cap\nimage::a.png[The Moon]\n\nText image:b.png[A small icon].",
        "[Figure: The Moon]\n\nCap\n\nText .\n\n[Figure: A small icon]",
    ),
    "conditions": (
        "ifdef::x[]\nNo.\nendif::[]\nifndef::x[]\nYes.\nendif::[]\nifdef::x[no]\n\n:y: 1\nifdef::y[Also.]\n"
        'ifeval::["{y}" == "1"]\nSo.\nendif::[]',
        "Yes.\n\nAlso. So.",
    ),
    "the header": ("= Title\nAnn <a@b.example>\nv1.0\n:x: y\n\nText {x}.", "Title\n\nText y."),
    "breaks": ("One.\n\n'''\n\n<<<\n\ntoc::[]\n\nTwo.", "One.\n\nTwo."),
}


@pytest.mark.parametrize(("text", "expected"), SYNTAX.values(), ids=SYNTAX.keys())
def test_syntax_becomes_the_text_that_a_reader_sees(text: str, expected: str, tmp_path: Path) -> None:
    assert read(tmp_path, text).text == expected


TITLES = (
    "= Title\n\n== What's *New* in 2.0?\n\n[#own]\n=== Own\n\n== Same\n\n== Same\n\n"
    "== Inner [[inner]]\n\n== Ünïcode -- a.b\n"
)


def test_headings_have_the_anchors_of_asciidoctor(tmp_path: Path) -> None:
    assert [(level, anchor) for level, anchor, _ in headings(read(tmp_path, TITLES))] == [
        (1, "_title"),
        (2, "_whats_new_in_2_0"),
        (3, "own"),
        (2, "_same"),
        (2, "_same_2"),
        (2, "inner"),
        (2, "_ünïcode_a_b"),
    ]


def test_headings_have_the_anchors_of_antora(tmp_path: Path) -> None:
    anchors = [anchor for _, anchor, _ in headings(read(tmp_path, TITLES, "antora"))]
    assert anchors == ["title", "whats-new-in-2-0", "own", "same", "same-2", "inner", "ünïcode-a-b"]


def test_files_of_the_folder_are_included_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "part.adoc").write_text("= Part\n\ninclude::page.adoc[]\n", "utf-8")
    (tmp_path / "code.rb").write_text("a\n# tag::x[]\nb\n# end::x[]\nc\n", "utf-8")
    page = read(
        tmp_path,
        "include::part.adoc[leveloffset=+1]\n\n----\ninclude::code.rb[tag=x]\ninclude::code.rb[lines=1]\n----\n\n"
        "include::/etc/passwd[]\ninclude::../../../../etc/passwd[]\ninclude::https://a.example/b[]\n\n\\include::x[]",
    )
    assert "```\nb\na\n```" in page.text
    assert "root" not in page.text
    assert page.text.endswith("include::x[]")
    assert (2, "_part", "Part") in headings(page)
    assert any("passwd" in note for note in page.notes)


@pytest.mark.parametrize(
    "sign", ["*", "_", "`", "[[", "<<a", "====\n", "--\n", "* a\n", "a::\n", "|===\n|", "image:[", "+"]
)
def test_hostile_pages_end(sign: str, tmp_path: Path) -> None:
    assert read(tmp_path, f"Text.\n\n{sign * 3000}").text.startswith("Text.")


SITE = {
    "antora.yml": "name: tides\ntitle: Of Tides\nversion: '2.0'\nnav: [modules/ROOT/nav.adoc]\n"
    "asciidoc:\n  attributes:\n    hours: 12@\n",
    "modules/ROOT/nav.adoc": "* xref:index.adoc[]\n** xref:guide:spring.adoc[Springs]\n* Other\n** xref:moon.adoc[]\n",
    "modules/ROOT/pages/index.adoc": "= Tides\n\n"
    "Every {hours} hours. See xref:guide:spring.adoc[] and xref:moon.adoc#a[it].\n",
    "modules/ROOT/pages/moon.adoc": "= The Moon\n\ninclude::partial$part.adoc[]\n\nimage::moon.png[The full Moon]\n",
    "modules/ROOT/partials/part.adoc": "Of a part.",
    "modules/guide/pages/spring.adoc": "= Spring Tides\n\nLarge. See xref:ROOT:moon.adoc[].\n",
    "modules/guide/pages/other.adoc": "= Unlisted\n\nText.\n",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> SourceContents:
    folder = tmp_path_factory.mktemp("antora")
    for name, text in SITE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    (folder / "modules/ROOT/images").mkdir()
    (folder / "modules/ROOT/images/moon.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    return read_source(str(folder), "https://t.example", LIMIT)


def test_antora_pages_have_the_order_and_the_urls_of_the_site(site: SourceContents) -> None:
    assert (site.layout, site.name, site.reason) == ("antora", "Of Tides", "antora.yml is in the folder")
    assert [(d.url.removeprefix("https://t.example/"), d.chapters) for d in site.documents] == [
        ("index.html", ("Tides",)),
        ("guide/spring.html", ("Tides", "Spring Tides")),
        ("moon.html", ("Other", "The Moon")),
        ("guide/other.html", ("Unlisted",)),
    ]


def test_antora_references_images_and_partials_are_found(site: SourceContents) -> None:
    index, spring, moon, _ = site.documents
    assert index.text.endswith("Every 12 hours. See Spring Tides and it.")
    assert 'href="guide/spring.html"' in index.html
    assert 'href="moon.html#a"' in index.html
    assert 'href="../moon.html"' in spring.html
    assert "Of a part." in moon.text
    assert len(moon.images) == 1


def test_excess_of_inline_markup_is_plain_text_with_a_note(tmp_path: Path) -> None:
    page = read(tmp_path, "*One* word.\n\n" + "*a* " * 10_000)
    assert page.text.startswith("One word.\n\n*a* *a*")
    assert page.notes == ("it has too much inline markup; some of it is plain text.",)
