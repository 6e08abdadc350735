"""Docusaurus: routes, ids, order and titles match the output of the real Docusaurus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from glossator.core.types import BlockKind, Document
from glossator.ingest.read import read_source
from paths import DATA

SITE = DATA / "docusaurus"
EXPECTED_PAGES: list[dict[str, Any]] = json.loads((SITE / "truth.json").read_text("utf-8"))["pages"]
LIMIT = 1_000_000


@pytest.fixture(scope="module")
def pages() -> dict[str, Document]:
    contents = read_source(str(SITE), "https://x.org", LIMIT)
    return {document.document_id: document for document in contents.documents}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docusaurus.config.js").write_text("export default {presets: [['classic', {docs: {}}]]};", "utf-8")
    return tmp_path


def document_ids(folder: Path) -> list[str]:
    return [document.document_id for document in read_source(str(folder), "", LIMIT).documents]


@pytest.mark.parametrize("expected", EXPECTED_PAGES, ids=lambda page: page["source"])
def test_page_matches_the_output_of_docusaurus(expected: dict[str, Any], pages: dict[str, Document]) -> None:
    page = pages[expected["source"]]
    assert unquote(page.url) == "https://x.org" + expected["permalink"]
    if "title" in expected:
        assert page.title == expected["title"]
    expected_headings = [tuple(heading) for heading in expected.get("headings", [])]
    headings = [
        (block.level, block.anchor, page.text[block.start : block.end])
        for block in page.blocks
        if block.kind is BlockKind.HEADING and block.level > 1
    ]
    assert [heading for heading in headings if heading in expected_headings] == expected_headings


def test_title_has_no_anchor_but_its_id_is_taken(site: Path) -> None:
    (site / "docs" / "page.md").write_text("# Setup\n\nText.\n\n## Setup\n\nText.\n", "utf-8")
    (page,) = read_source(str(site), "", LIMIT).documents
    assert [block.anchor for block in page.blocks if block.kind is BlockKind.HEADING] == ["", "setup-1"]


def test_pages_are_in_sidebar_order(pages: dict[str, Document]) -> None:
    known = [page["source"] for page in EXPECTED_PAGES]
    assert [source for source in pages if source in known] == known


def test_drafts_unlisted_pages_and_partials_are_skipped(pages: dict[str, Document]) -> None:
    assert set(pages) == {page["source"] for page in EXPECTED_PAGES}


def test_docs_folder_is_recognized_as_part_of_its_site(pages: dict[str, Document]) -> None:
    contents = read_source(str(SITE / "docs"), "https://x.org", LIMIT)
    assert [(d.document_id, d.url) for d in contents.documents] == [(d.document_id, d.url) for d in pages.values()]


def test_base_url_defaults_to_that_of_the_site() -> None:
    contents = read_source(str(SITE), None, LIMIT)
    assert all(document.url.startswith("https://tricky.example.org/") for document in contents.documents)


def test_routes_begin_with_docs_by_default(site: Path) -> None:
    (site / "docs" / "02-page.md").write_text("# Page\n\nText.", "utf-8")
    (document,) = read_source(str(site), "https://x.org/base/", LIMIT).documents
    assert document.url == "https://x.org/base/docs/page"


def test_site_without_its_config_has_its_docs_below_docs(tmp_path: Path) -> None:
    pages = {"docs/guides/a.mdx": "---\nslug: /first\n---\nText.", "docs/b.md": "Text.", "other/c.md": "Text."}
    for name, text in pages.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    documents = read_source(str(tmp_path), "https://x.org", LIMIT).documents
    assert {document.document_id: document.url for document in documents} == {
        "docs/guides/a.mdx": "https://x.org/docs/first",
        "docs/b.md": "https://x.org/docs/b",
        "other/c.md": "https://x.org/other/c",
    }


def test_chapters_are_the_labels_of_the_parent_folders(pages: dict[str, Document]) -> None:
    assert pages["01-foo/02.bar.md"].chapters == ("Foo Category", "Bar, titled by its heading")
    assert pages["10-catlink/landing.md"].chapters == ("Linked to a doc", "Landing")


def test_sidebar_position_precedes_number_prefix_and_name(site: Path) -> None:
    for name, front in {"a": "", "b": "sidebar_position: 2", "c": "sidebar_position: 1.5", "01-z": ""}.items():
        (site / "docs" / f"{name}.md").write_text(f"---\ntitle: T\n{front}\n---\nText.", "utf-8")
    assert document_ids(site) == ["01-z.md", "c.md", "b.md", "a.md"]


def test_invalid_category_file_is_ignored(site: Path) -> None:
    (site / "docs" / "guide").mkdir()
    (site / "docs" / "guide" / "_category_.json").write_text("{broken", "utf-8")
    (site / "docs" / "guide" / "a.md").write_text("# A\n\nText.", "utf-8")
    (document,) = read_source(str(site), "", LIMIT).documents
    assert document.chapters == ("guide", "A")


def test_front_matter_sets_the_format_of_a_page(site: Path) -> None:
    (site / "docs" / "a.md").write_text("---\nformat: md\n---\nUse {braces} here.", "utf-8")
    (site / "docs" / "b.md").write_text("Use {braces} here.", "utf-8")
    texts = [document.text for document in read_source(str(site), "", LIMIT).documents]
    assert texts == ["Use {braces} here.", "Use here."]


def test_mdx_in_node_modules_does_not_make_a_docusaurus_site(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "x.mdx").write_text("# X", "utf-8")
    (tmp_path / "a.md").write_text("Plain {text}.", "utf-8")
    contents = read_source(str(tmp_path), "", LIMIT)
    assert (contents.layout, [d.text for d in contents.documents]) == ("plain", ["Plain {text}."])
