"""Syntax of Markdown dialects: what a reader sees is read, the rest is not."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    "a path": ("/etc/hosts and //host", "/etc/hosts and //host"),
    "tasks": ("- [x] Done\n- [ ] To do", "- ☑ Done\n- ☐ To do"),
    "a definition": ("Torque\n:   The turning force.", "Torque\n\nThe turning force."),
    "an abbreviation": ("The ZMP is here.\n\n*[ZMP]: Zero-moment point\n", "The ZMP is here."),
    "a footnote": ("Text.[^1] More.\n\n[^1]: The note.", "Text. More.\n\n1. The note."),
    "a comment": ("One <!-- hidden --> two.\n\n<!--\nhidden\n-->", "One two."),
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


def test_generated_reference_is_left_out(tmp_path: Path) -> None:
    text = "# API\n\n::: package.module.Class\n    options:\n      members: true\n\nAfter."
    assert read_page(tmp_path, text, EXTENSIONS) == "API\n\nAfter."
