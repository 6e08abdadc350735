"""MkDocs: nav, URLs, admonitions and tabs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from glossator.core.types import BlockKind
from glossator.ingest.formats.includes import MAX_MISSING_FILES
from glossator.ingest.read import SourceContents, read_source
from paths import DATA

LIMIT = 1_000_000
SITE = DATA / "mkdocs"
EXPECTED_PAGES: list[dict[str, Any]] = json.loads((SITE / "truth.json").read_text("utf-8"))["pages"]
CONFIG = """site_name: B
site_url: https://x.org/b/
nav:
  - Home: index.md
  - guide/start.md
  - Deep:
      - Inner:
          - "The: page": guide/deep.md
      - https://elsewhere.org
markdown_extensions:
  - pymdownx.emoji:
      emoji_index: !!python/name:material.extensions.emoji.twemoji
      options: !ENV [A, b]
"""


def read_site(folder: Path, config: str, **pages: str) -> SourceContents:
    (folder / "docs" / "guide").mkdir(parents=True)
    (folder / "mkdocs.yml").write_text(config, "utf-8")
    for name, text in pages.items():
        (folder / "docs" / f"{name.replace('__', '/')}.md").write_text(text, "utf-8")
    return read_source(str(folder), None, LIMIT)


def text_of_page(folder: Path, text: str) -> str:
    return read_site(folder, "site_name: B", page=text).documents[0].text


PAGES = {name: f"# Heading of {name}\n\nText." for name in ("guide__deep", "guide__start", "index", "other")}


def test_nav_sets_order_titles_and_chapters_and_other_pages_follow(tmp_path: Path) -> None:
    found = [
        (page.document_id, page.title, page.chapters[:-1]) for page in read_site(tmp_path, CONFIG, **PAGES).documents
    ]
    assert found == [
        ("index.md", "Home", ()),
        ("guide/start.md", "Heading of guide__start", ()),
        ("guide/deep.md", "The: page", ("Deep", "Inner")),
        ("other.md", "Heading of other", ()),
    ]


@pytest.mark.parametrize(
    ("setting", "routes"),
    [("true", ["", "guide/start/", "guide/deep/"]), ("false", ["index.html", "guide/start.html", "guide/deep.html"])],
)
def test_urls_are_directories_unless_disabled(setting: str, routes: list[str], tmp_path: Path) -> None:
    contents = read_site(tmp_path, f"{CONFIG}use_directory_urls: {setting}\n", **PAGES)
    assert [page.url for page in contents.documents][:3] == [f"https://x.org/b/{route}" for route in routes]


def test_docs_folder_is_recognized_as_part_of_its_site(tmp_path: Path) -> None:
    whole = read_site(tmp_path, CONFIG, **PAGES)
    assert read_source(str(tmp_path / "docs"), None, LIMIT) == whole


def test_pages_are_read_despite_an_invalid_config(tmp_path: Path) -> None:
    contents = read_site(tmp_path, "nav: [", index="Text.")
    assert [page.text for page in contents.documents] == ["Text."]


INHERITED = {
    "a file": {"base.yml": "site_name: Base\nsite_url: https://base.example/"},
    "a chain": {
        "base.yml": "INHERIT: conf/root.yml\nsite_name: Base",
        "conf/root.yml": "site_url: https://base.example/",
    },
    "a circle": {"base.yml": "INHERIT: mkdocs.yml\nsite_name: Base\nsite_url: https://base.example/"},
}


@pytest.mark.parametrize("files", INHERITED.values(), ids=INHERITED.keys())
def test_configuration_is_inherited(files: dict[str, str], tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    contents = read_site(tmp_path, "INHERIT: base.yml\nnav: [other.md, index.md]", **PAGES)
    assert (contents.name, contents.base_url) == ("Base", "https://base.example")
    assert [d.document_id for d in contents.documents][:2] == ["other.md", "index.md"]


def test_own_values_take_precedence_over_inherited_ones(tmp_path: Path) -> None:
    base = "site_name: Base\nmarkdown_extensions: {pymdownx.caret: {}, toc: {}}"
    (tmp_path / "base.yml").write_text(base, "utf-8")
    config = "INHERIT: base.yml\nsite_name: Own\nmarkdown_extensions: {pymdownx.tilde: {}}"
    contents = read_site(tmp_path, config, page="10^6^ H~2~O")
    assert (contents.name, contents.documents[0].text) == ("Own", "10⁶ H₂O")


@pytest.mark.parametrize("path", ["../base.yml", "missing.yml", "{outside}/base.yml", "docs", "[a]"])
def test_configuration_that_cannot_be_inherited_is_reported(path: str, tmp_path: Path) -> None:
    (tmp_path / "base.yml").write_text("site_name: Outside", "utf-8")
    site = tmp_path / "site"
    contents = read_site(site, f"INHERIT: {path.format(outside=tmp_path)}", page="Text.")
    assert contents.name != "Outside"
    (skipped,) = contents.skipped
    assert "mkdocs.yml inherits from it" in skipped.reason


def test_front_matter_sets_the_title(tmp_path: Path) -> None:
    (page,) = read_site(tmp_path, "site_name: B", page="---\ntitle: Own title\n---\n# Heading\n\nText.").documents
    assert page.title == "Own title"


@pytest.mark.parametrize("expected", EXPECTED_PAGES, ids=lambda page: page["source"])
def test_headings_match_the_output_of_mkdocs(expected: dict[str, Any]) -> None:
    pages = {document.document_id: document for document in read_source(str(SITE), None, LIMIT).documents}
    blocks = pages[expected["source"]].blocks
    assert [[b.level, b.anchor] for b in blocks if b.kind is BlockKind.HEADING] == expected["headings"]


def test_text_after_a_code_block_is_not_code(tmp_path: Path) -> None:
    (page,) = read_site(
        tmp_path, "site_name: B", page='```\na\n```\n\n!!! note "Title"\n    Words.\n\n## Recap { #recap }\n'
    ).documents
    assert page.text == "```\na\n```\n\nTitle\n\nWords.\n\nRecap"


def test_heading_ids_match_python_markdown(tmp_path: Path) -> None:
    (page,) = read_site(
        tmp_path, "site_name: B", page="## Été, à C++\n\n## Own {: #my-id .x }\n\n## A\n\n## A\n"
    ).documents
    assert [block.anchor for block in page.blocks if block.kind is BlockKind.HEADING] == [
        "ete-a-c",
        "my-id",
        "a",
        "a_1",
    ]


SLUG_FUNCTIONS = {
    "the usual one": ("permalink: true", ["ete-in-c", "_1"]),
    "Unicode": ("slugify: !!python/name:markdown.extensions.toc.slugify_unicode", ["été-in-c", "日本"]),
    "lower case": (
        "slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}",
        ["été-in-c", "日本"],
    ),
    "any case": ("slugify: !!python/object/apply:pymdownx.slugs.slugify {}", ["Été-in-C", "日本"]),
}


@pytest.mark.parametrize(("option", "ids"), SLUG_FUNCTIONS.values(), ids=SLUG_FUNCTIONS.keys())
def test_heading_ids_follow_the_function_that_the_site_chose(option: str, ids: list[str], tmp_path: Path) -> None:
    config = f"site_name: B\nmarkdown_extensions:\n  - toc:\n      {option}\n"
    (page,) = read_site(tmp_path, config, page="## Été in C++\n\n## 日本\n").documents
    assert [block.anchor for block in page.blocks if block.kind is BlockKind.HEADING] == ids


SYNTAX = {
    "a titled admonition": (
        '!!! warning "Mind the gap"\n\n    Some *words*.\n\nAfter.',
        "Mind the gap\n\nSome words.\n\nAfter.",
    ),
    "an untitled admonition": ("!!! note\n    Some words.\nAfter.", "Some words.\n\nAfter."),
    "an admonition with classes": ('!!! note inline end ""\n    Some words.', "Some words."),
    "a foldable admonition": ('???+ note "Open"\n    Some words.', "Open\n\nSome words."),
    "tabs": ('=== "C"\n\n    One.\n\n=== "C++"\n\n    Two.', "C\n\nOne.\n\nC++\n\nTwo."),
    "tabs in an admonition": (
        '!!! note "N"\n\n    === "T"\n\n        Deep.\n\n    Back.\n\nOut.',
        "N\n\nT\n\nDeep.\n\nBack.\n\nOut.",
    ),
    "an underlined heading": ("Heading\n===\n\nText.", "Heading\n\nText."),
    "code in a tab": ('=== "T"\n\n    ```py\n    if a:\n\n        b()\n    ```\n', "T\n\n```py\nif a:\n\n    b()\n```"),
    "code about tabs": ('```\n=== "T"\n    !!! note\n```', '```\n=== "T"\n    !!! note\n```'),
    "an alert": ("> [!NOTE]\n> Some words.", "Some words."),
}


@pytest.mark.parametrize(("source", "text"), SYNTAX.values(), ids=SYNTAX.keys())
def test_syntax_is_removed_and_its_text_retained(source: str, text: str, tmp_path: Path) -> None:
    assert text_of_page(tmp_path, source) == text


@pytest.mark.parametrize("lines", ["::", "1::2", "1:2:3,4", ":,:"])
def test_a_snippet_with_malformed_lines_is_left_out(lines: str, tmp_path: Path) -> None:
    assert text_of_page(tmp_path, f'Before.\n\n--8<-- "docs/page.md:{lines}"\n\nAfter.').startswith("Before.")


def test_a_page_that_names_too_many_missing_files_includes_no_further_ones(tmp_path: Path) -> None:
    (tmp_path / "here.md").write_text("Included.", "utf-8")
    missing = "".join(f'--8<-- "{number}.md"\n' for number in range(MAX_MISSING_FILES))
    text = text_of_page(tmp_path, f'--8<-- "here.md"\n{missing}--8<-- "here.md"\n')
    assert text == "Included."
