"""Syntax of Markdown dialects: what a reader sees is read, the rest is not."""

from __future__ import annotations

from pathlib import Path

import pytest

import glossator
from glossator.core.errors import SourceError
from glossator.ingest.read import read_source

LIMIT = 1_000_000
EXTENSIONS = """site_name: B
markdown_extensions:
  - pymdownx.caret
  - pymdownx.emoji:
      options: {a: b}
  - pymdownx.keys
  - pymdownx.mark
  - pymdownx.tilde
plugins: [search, macros]
"""


def read_page(folder: Path, text: str, config: str = "") -> str:
    """The text of a page, in a MkDocs site if there is a configuration."""
    (folder / "docs").mkdir()
    if config:
        (folder / "mkdocs.yml").write_text(config, "utf-8")
    (folder / "docs" / "page.md").write_text(text, "utf-8")
    return read_source(str(folder if config else folder / "docs"), "", LIMIT).documents[0].text


BOLD_SENTENCE = "The pump runs, and the motor Stops."
EVERYWHERE = {
    "a power in HTML": ("10<sup>6</sup> hours", "10⁶ hours"),
    "a deletion": ("~~10~~ 5 grams", "5 grams"),
    "a deletion in HTML": ("<del>10</del> 5 grams", "5 grams"),
    "critic markup": ("{++added++} {--deleted--} {~~old~>new~~} {==marked==}{>>comment<<}.", "added new marked."),
    "critic markup in code": ("`{--deleted--}`", "{--deleted--}"),
    "a list of attributes": ("[Start](a.md){ .md-button #go } now", "Start now"),
    "attributes below a paragraph": ("Some text.\n{: .lead }", "Some text."),
    "attributes of an image": ("![A long arm](a.png){ width=300 }", "[Figure: A long arm]"),
    "braces that are text": ("The set {a, b} and {x}.", "The set {a, b} and {x}."),
    "braces in code": ("`{ #id }` and\n\n```\n{ #id }\n```", "{ #id } and\n\n```\n{ #id }\n```"),
    "an alert": ("> [!WARNING]\n> Mind the gap.", "Mind the gap."),
    "an alert with a title": ("> [!note]- A title\n> Mind the gap.", "A title\n\nMind the gap."),
    "a quote about alerts": ("> One.\n> [!NOTE]", "One. [!NOTE]"),
    "colons": ("::: warning A title\nMind the gap.\n:::\n\nAfter.", "A title\n\nMind the gap.\n\nAfter."),
    "colons with attributes": ("::: {.note #n}\nMind the gap.\n:::", "Mind the gap."),
    "nested colons": ("::::note[Outer]\n:::tip\nDeep.\n:::\n::::", "Outer\n\nDeep."),
    "colons in a list": ("- One\n\n  :::note\n  Two\n  :::", "- One\n  Two"),
    "colons in code": ("```\n:::note\n```", "```\n:::note\n```"),
    "slashes": ("/// warning | A title\nMind the gap.\n///\n\nAfter.", "A title\n\nMind the gap.\n\nAfter."),
    "slashes with options": ("/// details | More\n    type: tip\n    open: true\n\nText.\n///", "More\n\nText."),
    "slashes around HTML": ("/// html | div.grid\nText.\n///", "Text."),
    "slashes in code": ("```\n/// note\n```", "```\n/// note\n```"),
    "a mark for the contents": ("# A\n\n[TOC]\n\nAfter.", "A\n\nAfter."),
    "a mark for the contents within a sentence": ("The mark\n[TOC]\nis text.", "The mark [TOC] is text."),
    "a path": ("/etc/hosts and //host", "/etc/hosts and //host"),
    "tasks": ("- [x] Done\n- [ ] To do", "- ☑ Done\n- ☐ To do"),
    "a definition": ("Torque\n:   The turning force.", "Torque\n\nThe turning force."),
    "an abbreviation": ("The ZMP is here.\n\n*[ZMP]: Zero-moment point\n", "The ZMP is here."),
    "a footnote": ("Text.[^1] More.\n\n[^1]: The note.", "Text. More.\n\n1. The note."),
    "a comment": ("One <!-- hidden --> two.\n\n<!--\nhidden\n-->", "One two."),
    "a label above a line": ("**A label**\nThe pump runs.", "A label\n\nThe pump runs."),
    "a label above a break": ("**A label**<br>the pump runs.", "A label\n\nthe pump runs."),
    "a label above a hard break": ("**A label:**  \nThe pump runs.", "A label: The pump runs."),
    "a label of an item": ("- __A label__\n  The pump runs.", "- A label\n  The pump runs."),
    "bold words that begin a sentence": ("**The pump**\nruns, and **the motor**\nStops.", BOLD_SENTENCE),
    "Markdown in HTML": ("<div markdown>\nSome *words*.\n</div>", "Some words."),
}


@pytest.mark.parametrize(("source", "text"), EVERYWHERE.values(), ids=EVERYWHERE.keys())
@pytest.mark.parametrize("config", ["", EXTENSIONS], ids=["plain", "mkdocs"])
def test_syntax_is_read(source: str, text: str, config: str, tmp_path: Path) -> None:
    assert read_page(tmp_path, source, config) == text


IN_MKDOCS = {
    "a superscript": ("10^6^ hours", "10⁶ hours"),
    "a subscript": ("H~2~O", "H₂O"),
    "an insertion": ("^^5^^ grams", "5 grams"),
    "a mark": ("==5 *grams*==", "5 grams"),
    "keys": ("Press ++ctrl+c++.", "Press ctrl+c."),
    "emoji": ("Go :rocket: and :material-account-circle: now.", "Go and now."),
    "times of day": ("From 10:30:45 to 11:00:00.", "From 10:30:45 to 11:00:00."),
    "a macro": ("Version {{ version }} is{% if new %} new{% endif %}.", "Version is new."),
    "a macro in code": ("`{{ version }}`", "{{ version }}"),
    "operators": (
        "a == b and c == d, x^2 + y^2, ~5 to ~6, i++ and j++",
        "a == b and c == d, x^2 + y^2, ~5 to ~6, i++ and j++",
    ),
}


@pytest.mark.parametrize(("source", "text"), IN_MKDOCS.values(), ids=IN_MKDOCS.keys())
def test_syntax_of_extensions_is_read_where_they_are_enabled(source: str, text: str, tmp_path: Path) -> None:
    assert read_page(tmp_path, source, EXTENSIONS) == text


@pytest.mark.parametrize("text", ["x^2+y^2", "10^6^ hours", "a==b or c==d", "a {{ b }}", ":a:", "++i"])
def test_syntax_of_extensions_is_text_elsewhere(text: str, tmp_path: Path) -> None:
    assert read_page(tmp_path, text) == text


def test_a_single_tilde_deletes_as_on_github(tmp_path: Path) -> None:
    assert read_page(tmp_path, "~10~ 5 grams, ~6 to ~7%-~8% of ~/home") == "5 grams, ~6 to ~7%-~8% of ~/home"


@pytest.mark.parametrize("name", ["page.md", "page.mdx"])
def test_tildes_after_a_letter_or_digit_make_a_subscript(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("H~2~O, C~6~H~12~O~6~, x~max~ and a ~deleted~ word~ or two~.", "utf-8")
    (document,) = read_source(str(tmp_path), "", LIMIT).documents
    assert document.text == "H₂O, C₆H₁₂O₆, x_(max) and a word~ or two~."
    assert "H<sub>2</sub>O" in document.html


REFERENCES = {
    "a class": "::: package.module.Class",
    "options": "::: package.module.Class\n    options:\n      members: true",
    "a heading": "## ::: package.module",
    "a package": "::: package\n    handler: python",
    "in a paragraph": "::: package.module\n::: package.other",
}


@pytest.mark.parametrize("source", REFERENCES.values(), ids=REFERENCES.keys())
def test_generated_reference_is_left_out_with_one_note(source: str, tmp_path: Path) -> None:
    page = f"# API\n\n{source}\n\nAfter."
    assert read_page(tmp_path, page, "site_name: B\nplugins: [mkdocstrings]") == "API\n\nAfter."
    (note,) = read_source(str(tmp_path), "", LIMIT).notes
    assert "mkdocstrings generates their text from code" in note.note


def test_link_definitions_are_not_generated_references(tmp_path: Path) -> None:
    page = "See [the guide][guide].\n\n::: package.module\n\n[guide]: https://example.org/guide\n"
    assert read_page(tmp_path, page, "site_name: B\nplugins: [mkdocstrings]") == "See the guide."
    (note,) = read_source(str(tmp_path), "", LIMIT).notes
    assert note.note.startswith("1 ::: block left out")


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Call [`create_model()`][pydantic.create_model] first.", "Call create_model() first."),
        ("It raises [ValueError][] or [`KeyError`][].", "It raises ValueError or KeyError."),
        ("A [list[int]][builtins.list] *and* [more **bold**][a.b].", "A list[int] and more bold."),
        ("The cell [i][j] and a[0][1] of it.", "The cell i and a[0][1] of it."),
        ("An [empty ][ ] box, and [ ][a.b].", "An [empty ][ ] box, and [ ][a.b]."),
        ("See [the guide][guide].\n\n[guide]: other.md", "See the guide."),
    ],
)
def test_references_to_code_are_read_as_their_labels(tmp_path: Path, written: str, text: str) -> None:
    assert read_page(tmp_path, written, "site_name: B\nplugins: [mkdocstrings]") == text


def test_brackets_are_text_where_no_code_is_documented(tmp_path: Path) -> None:
    assert read_page(tmp_path, "It raises [ValueError][].", "site_name: B") == "It raises [ValueError][]."


def test_admonitions_are_not_generated_references(tmp_path: Path) -> None:
    page = "::: warning\nMind the gap.\n:::\n\n### Section\n"
    assert read_page(tmp_path, page, "site_name: B\nplugins: [mkdocstrings]") == "Mind the gap.\n\nSection"
    assert not read_source(str(tmp_path), "", LIMIT).notes


CODE = "one\n# --8<-- [start:part]\ntwo\n# --8<-- [end:part]\nthree\nfour\n"
SNIPPETS = {
    "a file": ('--8<-- "parts/text.txt"', "Included text."),
    "lines": ('```py\n--8<-- "parts/code.py:5:6"\n```', "```py\nthree\nfour\n```"),
    "a section": ('```py\n--8<-- "parts/code.py:part"\n```', "```py\ntwo\n```"),
    "several files": ("--8<--\nparts/text.txt\nparts/more.txt\n--8<--", "Included text. More."),
    "indented": ('!!! note "T"\n    --8<-- "parts/text.txt"', "T\n\nIncluded text."),
    "code with lines": ("{* parts/code.py ln[1,5:6] hl[2] *}", "```py\none\nthree\nfour\n```"),
    "code": ("{* ./docs/parts/more.txt *}", "```txt\nMore.\n```"),
    "raw": ("```\n{!parts/more.txt!}\n```", "```\nMore.\n```"),
    "raw, indented": ("```\n{!> parts/more.txt!}\n```", "```\nMore.\n```"),
    "raw lines": ("```\n{!+parts/code.py [ln:1,5-6] | utf-8!}\n```", "```\none\nthree\nfour\n```"),
    "escaped": (';--8<-- "parts/more.txt"', '--8<-- "parts/more.txt"'),
}


def write_parts(folder: Path) -> None:
    for name, text in {"text.txt": "Included *text*.", "more.txt": "More.", "code.py": CODE}.items():
        (folder / "parts").mkdir(parents=True, exist_ok=True)
        (folder / "parts" / name).write_text(text, "utf-8")


@pytest.mark.parametrize(("source", "text"), SNIPPETS.values(), ids=SNIPPETS.keys())
def test_snippets_are_included(source: str, text: str, tmp_path: Path) -> None:
    write_parts(tmp_path)
    (tmp_path / "docs").mkdir()
    write_parts(tmp_path / "docs")
    (tmp_path / "mkdocs.yml").write_text(EXTENSIONS, "utf-8")
    (tmp_path / "docs" / "page.md").write_text(source, "utf-8")
    contents = read_source(str(tmp_path), "", LIMIT)
    assert {page.document_id: page.text for page in contents.documents}["page.md"] == text
    assert not contents.notes


def test_snippets_outside_the_folder_are_left_out_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("Secret.", "utf-8")
    (tmp_path / "site" / "docs").mkdir(parents=True)
    (tmp_path / "site" / "mkdocs.yml").write_text("site_name: B", "utf-8")
    text = (
        'Text.\n\n--8<-- "../secret.txt"\n\n{* ../../secret.txt *}\n\n{! /etc/hostname !}\n\n--8<-- "https://x.org/a"'
    )
    (tmp_path / "site" / "docs" / "page.md").write_text(text, "utf-8")
    contents = read_source(str(tmp_path / "site"), "", LIMIT)
    assert contents.documents[0].text == "Text."
    (note,) = contents.notes
    assert (note.path, "secret.txt" in note.note) == ("page.md", True)


def write_site_with_code_elsewhere(folder: Path) -> Path:
    """A site whose page includes a file and a hidden file of a folder beside it."""
    for name, text in {
        "code/main.py": "app = App()",
        "code/.env": "Secret.",
        "secret.txt": "Secret.",
        "site/mkdocs.yml": "site_name: B",
        "site/docs/page.md": "Text.\n\n{* ../code/main.py *}\n\n{* ../code/.env *}\n\n{* ../secret.txt *}",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder / "site"


def test_snippets_are_included_from_the_folder_that_the_user_names(tmp_path: Path) -> None:
    site = write_site_with_code_elsewhere(tmp_path)
    contents = read_source(str(site), "", LIMIT, snippets=str(tmp_path / "code"))
    assert contents.documents[0].text == "Text.\n\n```py\napp = App()\n```"
    (note,) = contents.notes
    assert ".env" in note.note and "secret.txt" in note.note


def test_a_missing_folder_of_included_files_is_an_error(tmp_path: Path) -> None:
    site = write_site_with_code_elsewhere(tmp_path)
    with pytest.raises(SourceError, match="is not a folder"):
        read_source(str(site), "", LIMIT, snippets=str(tmp_path / "missing"))


def test_the_folder_of_included_files_is_remembered_for_the_next_ingest(tmp_path: Path) -> None:
    site = write_site_with_code_elsewhere(tmp_path)
    book = glossator.open(tmp_path / "data")
    assert book.ingest(site, base_url="", snippets=tmp_path / "code").documents.added == 1
    again = book.ingest(site)
    book.close()
    assert (again.documents.unchanged, again.embeddings.made) == (1, 0)


def test_snippets_that_include_each_other_end(tmp_path: Path) -> None:
    assert "More" in read_page(tmp_path, 'More --8<-- "x"\n\n--8<-- "page.md"\n--8<-- "page.md"\n')


FORMULAS = {
    "within a sentence": ("The sum \\(x_1 + x_2\\) is here.", "The sum $x_1 + x_2$ is here."),
    "on lines of its own": ("\\[\na_1 = b \\\\\nc\n\\]", "$$ a_1 = b \\\\ c $$"),
    "brackets that are text": ("Write \\[x\\] or \\(y.", "Write [x] or (y."),
}


@pytest.mark.parametrize(("source", "text"), FORMULAS.values(), ids=FORMULAS.keys())
def test_formulas_of_arithmatex_are_formulas(source: str, text: str, tmp_path: Path) -> None:
    config = "site_name: B\nmarkdown_extensions: [{pymdownx.arithmatex: {generic: true}}]"
    assert read_page(tmp_path, source, config) == text


def test_formulas_of_mathjax_in_mdbook_are_formulas(tmp_path: Path) -> None:
    (tmp_path / "SUMMARY.md").write_text("- [A](a.md)", "utf-8")
    (tmp_path / "a.md").write_text("The sum \\\\(x_1 + x_2\\\\) is here.\n\n\\\\[ a = b \\\\]", "utf-8")
    (document,) = read_source(str(tmp_path), "", LIMIT).documents
    assert document.text == "The sum $x_1 + x_2$ is here.\n\n$$ a = b $$"
    assert '<span class="math">x_1 + x_2</span>' in document.html


SHORTCODES = {
    "a note of Hugo": ("{{< note >}}\nMind the gap.\n{{< /note >}}", "Mind the gap."),
    "an alert of Hugo": ('{{% alert title="Stop" %}}Mind the gap.{{% /alert %}}', "Mind the gap."),
    "an include of Jekyll": ("{% include head.html %}\n\nMind the gap.", "Mind the gap."),
}


@pytest.mark.parametrize(("source", "text"), SHORTCODES.values(), ids=SHORTCODES.keys())
def test_shortcodes_of_other_generators_are_left_out_with_a_note(source: str, text: str, tmp_path: Path) -> None:
    assert read_page(tmp_path, source) == text
    (note,) = read_source(str(tmp_path / "docs"), "", LIMIT).notes
    assert "template expression" in note.note


def test_macros_are_noted(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text(EXTENSIONS, "utf-8")
    (tmp_path / "docs" / "page.md").write_text("Version {{ version }}.", "utf-8")
    (note,) = read_source(str(tmp_path), "", LIMIT).notes
    assert note.note == "1 template expression was left out."


def test_snippets_of_other_sites_are_named_in_the_note(tmp_path: Path) -> None:
    assert read_page(tmp_path, '--8<-- "https://example.org/a.md"\n\nAfter.', EXTENSIONS) == "After."
    (note,) = read_source(str(tmp_path), "", LIMIT).notes
    assert "https://example.org/a.md" in note.note
