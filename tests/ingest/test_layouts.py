"""Which layout a folder has and why, and that no configuration, link or include leads out of the named folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import glossator
from glossator.core.book.sources import Layout
from glossator.core.errors import BadInput, SourceError
from glossator.ingest.read import SourceContents, read_source

LIMIT = 1_000_000
SECRET = "The secret of the neighbour."  # noqa: S105 - text, not a password


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def read(source: Path, layout: Layout = Layout.AUTO, base_url: str | None = None) -> SourceContents:
    return read_source(str(source), base_url, LIMIT, layout)


def words_of(contents: SourceContents) -> str:
    return " ".join((contents.name, *(f"{d.title} {' '.join(d.chapters)} {d.text}" for d in contents.documents)))


SITES = {
    "MkDocs": ({"mkdocs.yml": "site_name: The site", "docs/a.md": "Words."}, "docs", "mkdocs", "mkdocs.yml is"),
    "mdBook": (
        {"book.toml": "[book]\ntitle = 'The site'", "src/SUMMARY.md": "[A](a.md)", "src/a.md": "Words."},
        "src",
        "mdbook",
        "book.toml is",
    ),
    "Docusaurus": (
        {"docusaurus.config.ts": "const config = {\n title: 'The site',\n};", "docs/a.md": "Words."},
        "docs",
        "docusaurus",
        "docusaurus.config.ts is",
    ),
}


@pytest.mark.parametrize(("files", "docs", "layout", "reason"), SITES.values(), ids=SITES.keys())
def test_configuration_is_found_in_the_folder_and_one_level_up(
    files: dict[str, str], docs: str, layout: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = write(tmp_path / "site", files)
    whole, pages = read(site), read(site / docs)
    assert (whole.layout, whole.name, whole.reason) == (layout, "The site", f"{reason} in the folder")
    assert (pages.layout, pages.name, pages.reason) == (layout, "The site", f"{reason} one level up")
    assert [d.url for d in whole.documents] == [d.url for d in pages.documents]
    monkeypatch.chdir(site / docs)
    assert read(Path()).documents == pages.documents


def test_configuration_in_the_folder_is_preferred_to_one_above(tmp_path: Path) -> None:
    write(tmp_path, {"docusaurus.config.js": "", "docs/mkdocs.yml": "docs_dir: pages", "docs/pages/a.md": "Words."})
    assert read(tmp_path / "docs").layout == "mkdocs"


def test_configuration_is_preferred_to_stray_mdx_files(tmp_path: Path) -> None:
    write(tmp_path, {"mkdocs.yml": "site_name: S", "docs/a.md": "Words.", "examples/b.mdx": "More."})
    assert [(d.document_id, d.url) for d in read(tmp_path).documents] == [("a.md", "/book/a/")]


def test_plain_folder_says_why(tmp_path: Path) -> None:
    contents = read(write(tmp_path / "notes", {"a.md": "Words."}))
    assert contents.layout == "plain"
    assert "none of docusaurus.config.js, book.toml, mkdocs.yml" in contents.reason
    write(tmp_path / "other", {"mkdocs.yml": "docs_dir: gone", "a.md": "Words."})
    assert read(tmp_path / "other").reason == "mkdocs.yml is in the folder, but has no pages in this folder"


TOO_LONG: dict[str, dict[str, str]] = {
    "docs_dir": {"mkdocs.yml": f"docs_dir: {'x' * 5000}"},
    "path": {"docusaurus.config.js": f"docs: {{ path: '{'x' * 5000}' }}"},
    "src": {"book.toml": f"[book]\nsrc = '{'x' * 5000}'"},
    "NUL": {"book.toml": '[book]\nsrc = "a\\u0000b"'},
    "summary": {"SUMMARY.md": f"[A](a.md)\n[B]({'x' * 5000}.md)\n[C](a%00b.md)"},
}


@pytest.mark.parametrize("files", TOO_LONG.values(), ids=TOO_LONG.keys())
def test_impossible_names_in_a_configuration_are_ignored(files: dict[str, str], tmp_path: Path) -> None:
    assert "a.md" in [d.document_id for d in read(write(tmp_path, {**files, "a.md": "Words."})).documents]


ROUTES = {Layout.MKDOCS: "/book/guide/a/", Layout.PLAIN: "/book/guide/a", Layout.DOCUSAURUS: "/book/guide/a"}


@pytest.mark.parametrize(("layout", "url"), ROUTES.items(), ids=ROUTES.keys())
def test_chosen_layout_is_used_without_a_configuration(layout: Layout, url: str, tmp_path: Path) -> None:
    contents = read(write(tmp_path, {"guide/a.md": "Words."}), layout)
    assert (contents.layout, contents.documents[0].url) == (layout, url)
    assert contents.reason.startswith("chosen with --layout")


def test_chosen_layout_is_used_despite_a_configuration(tmp_path: Path) -> None:
    write(tmp_path, {"mkdocs.yml": "site_name: S", "docs/a.md": "Words.", "README.md": "# Front\n\nText."})
    assert [d.document_id for d in read(tmp_path, Layout.PLAIN).documents] == ["README.md", "docs/a.md"]


def test_mdbook_cannot_be_chosen_without_its_summary(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no SUMMARY\.md"):
        read(write(tmp_path, {"a.md": "Words."}), Layout.MDBOOK)


NAMES = {
    "front page": ({"README.md": "# Field notes\n\nWords.", "b.md": "B."}, "Field notes"),
    "one page": ({"b.md": "# Kites\n\nThey fly."}, "Kites"),
    "folder": ({"b.md": "# B\n\nB.", "c.md": "# C\n\nC."}, "named"),
    "hidden characters": ({"mkdocs.yml": 'site_name: "A\\u202e \\x1b[2J  B"', "docs/a.md": "A.", "x": ""}, "A [2J B"),
    "no text": ({"mkdocs.yml": "site_name: {a: b}", "docs/a.md": "A.", "docs/b.md": "B."}, "named"),
    "quotes": ({"docusaurus.config.js": "title: 'Bob\\'s \"book\"',", "docs/a.md": "A."}, 'Bob\'s "book"'),
}


@pytest.mark.parametrize(("files", "name"), NAMES.values(), ids=NAMES.keys())
def test_source_has_a_name(files: dict[str, str], name: str, tmp_path: Path) -> None:
    assert read(write(tmp_path / "named", files)).name == name


ESCAPES: dict[str, dict[str, str]] = {
    "docs_dir above": {"mkdocs.yml": "docs_dir: ..", "a.md": "Words."},
    "docs_dir beside": {"mkdocs.yml": "docs_dir: ../neighbour", "a.md": "Words."},
    "docs_dir absolute": {"mkdocs.yml": "docs_dir: {outside}", "a.md": "Words."},
    "mdBook src": {"book.toml": "[book]\nsrc = '../neighbour'", "a.md": "Words."},
    "mdBook src absolute": {"book.toml": "[book]\nsrc = '{outside}'", "a.md": "Words."},
    "Docusaurus path": {"docusaurus.config.js": "docs: {{ path: '../neighbour' }}", "a.md": "Words."},
    "Docusaurus path absolute": {"docusaurus.config.js": "docs: {{ path: '{outside}' }}", "a.md": "Words."},
}


@pytest.mark.parametrize("files", ESCAPES.values(), ids=ESCAPES.keys())
def test_configuration_cannot_name_pages_outside_the_folder(files: dict[str, str], tmp_path: Path) -> None:
    outside = write(tmp_path / "neighbour", {"secret.md": SECRET, "SUMMARY.md": "[S](secret.md)"})
    named = write(tmp_path / "named", {name: text.format(outside=outside) for name, text in files.items()})
    with pytest.raises(SourceError, match="outside the given folder"):
        read(named)
    assert SECRET not in words_of(read(named, Layout.PLAIN))


def link(where: str, to: str) -> Callable[[Path, Path], None]:
    def make(named: Path, outside: Path) -> None:
        (named / where).parent.mkdir(parents=True, exist_ok=True)
        (named / where).symlink_to(outside / to)

    return make


LINKS = {
    "docs folder": ({"mkdocs.yml": "site_name: S", "a.md": "A."}, link("docs", ".")),
    "source folder": ({"book.toml": "[book]", "a.md": "A."}, link("src", ".")),
    "summary": ({"a.md": "A.", "secret.md": "A."}, link("SUMMARY.md", "SUMMARY.md")),
    "configuration": ({"a.md": "A.", "docs/b.md": "B."}, link("mkdocs.yml", "mkdocs.yml")),
    "category": ({"docs/g/a.md": "A.", "docusaurus.config.js": ""}, link("docs/g/_category_.json", "category.json")),
    "page": ({"a.md": "A."}, link("b.md", "secret.md")),
    "folder": ({"a.md": "A."}, link("b", ".")),
}


@pytest.mark.parametrize(("files", "make_link"), LINKS.values(), ids=LINKS.keys())
def test_links_do_not_lead_out_of_the_folder(
    files: dict[str, str], make_link: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    outside = {
        "secret.md": SECRET,
        "SUMMARY.md": f"[{SECRET}](secret.md)",
        "mkdocs.yml": f"site_name: {SECRET}",
        "category.json": f'{{"label": "{SECRET}"}}',
    }
    named = write(tmp_path / "named", files)
    make_link(named, write(tmp_path / "neighbour", outside))
    try:
        assert SECRET not in words_of(read(named))
    except SourceError as error:
        assert "outside the given folder" in str(error)


def test_skipped_links_are_reported(tmp_path: Path) -> None:
    outside = write(tmp_path / "neighbour", {"secret.md": SECRET})
    named = write(tmp_path / "named", {"a.md": "Words."})
    (named / "out.md").symlink_to(outside / "secret.md")
    (named / "gone.md").symlink_to(named / "none.md")
    (named / "folder").symlink_to(outside)
    (named / "picture.png").symlink_to(outside / "secret.md")
    (named / "mkdocs.yml").symlink_to(write(outside, {"mkdocs.yml": "site_name: S"}) / "mkdocs.yml")
    skipped = {os.path.relpath(skip.path, named): skip.reason for skip in read(named).skipped}
    assert skipped == {
        "folder": "links to folders are not followed.",
        "gone.md": "the link is broken, or points outside the folder.",
        "mkdocs.yml": "the link is broken, or points outside the folder.",
        "out.md": "the link is broken, or points outside the folder.",
    }


def test_page_that_the_summary_takes_from_outside_is_reported(tmp_path: Path) -> None:
    write(tmp_path, {"secret.md": SECRET})
    named = write(tmp_path / "b", {"SUMMARY.md": "- [A](a.md)\n- [S](../secret.md)", "a.md": "Words."})
    (skip,) = read(named).skipped
    assert skip.reason == "SUMMARY.md lists it, but it is outside the book's folder."


MARKDOWN_ONLY = "builds pages only from Markdown; --layout plain also reads other files."
OUTSIDE = "it is outside docs, the folder of the site's pages."
PARTIAL = "its name or folder begins with _: it is not a page, but other pages can include it."
LEFT_OUT = {
    "HTML beside MDX": ({"a.mdx": "Words.", "b.html": "<p>B."}, {"b.html": f"Docusaurus {MARKDOWN_ONLY}"}),
    "drafts and partials": (
        {"a.mdx": "A.", "_p.mdx": "P.", "b.md": "---\ndraft: true\n---\nB."},
        {"_p.mdx": PARTIAL, "b.md": "its front matter marks it as a draft or unlisted."},
    ),
    "a Docusaurus site": (
        {"docusaurus.config.js": "", "docs/a.md": "A.", "docs/x.txt": "X.", "blog/b.md": "B.", "README.md": "R."},
        {
            "docs/x.txt": f"Docusaurus {MARKDOWN_ONLY}",
            "README.md": f"{OUTSIDE} The same applies to 1 more .md file.",
        },
    ),
    "an MkDocs site": (
        {
            "mkdocs.yml": "docs_dir: ./docs/",
            "docs/a.md": "A.",
            "site/a.html": "A.",
            "docs/x.html": "X.",
            "docs/y.HTML": "Y.",
        },
        {"docs/x.html": f"MkDocs {MARKDOWN_ONLY} The same applies to 1 more .html file.", "site/a.html": OUTSIDE},
    ),
    "an mdBook": (
        {
            "book.toml": "",
            "src/SUMMARY.md": "[A](a.md)",
            "src/a.md": "A.",
            **{f"src/{n}.md": "B." for n in range(1234)},
        },
        {"src/0.md": "SUMMARY.md does not list it. The same applies to 1,233 more .md files."},
    ),
    "generated pages": (
        {"a.html": "<p>A.", "search.html": "<p>S.", "genindex.html": "<p>G."},
        {
            "genindex.html": "site generators create an index, search or error page with this name."
            " The same applies to 1 more .html file."
        },
    ),
    "assets": (
        {"mkdocs.yml": "", "docs/a.md": "A.", "docs/x.css": "X", "docs/x.png": "X", "node_modules/x.md": "X."},
        {},
    ),
}


@pytest.mark.parametrize(("files", "reasons"), LEFT_OUT.values(), ids=LEFT_OUT.keys())
def test_readable_files_that_are_not_pages_are_reported_by_kind(
    files: dict[str, str], reasons: dict[str, str], tmp_path: Path
) -> None:
    skipped = read(write(tmp_path, files)).skipped
    assert {os.path.relpath(skip.path, tmp_path): skip.reason for skip in skipped} == reasons


def test_the_report_counts_every_skipped_file(tmp_path: Path) -> None:
    folder = write(tmp_path / "book", {"a.mdx": "Words of a page.", "b.html": "<p>B.", "c.html": "<p>C."})
    with glossator.open(tmp_path / "data") as book:
        report = book.ingest(folder)
    assert (report.documents.added, report.documents.skipped, len(report.skipped)) == (1, 2, 1)


def test_a_folder_without_pages_says_which_files_are_none(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"x\.html: MkDocs builds pages only from Markdown"):
        read(write(tmp_path, {"mkdocs.yml": "", "docs/x.html": "<p>X."}))


HIDDEN_INCLUDE = {"book.toml": "", "src/SUMMARY.md": "[A](a.md)", "src/a.md": "A. {{#include ../.env}}"}
INCLUDES = {
    "mdBook without book.toml": ({"SUMMARY.md": "[A](a.md)", "a.md": "A. {{#include ../secret.md}}"}, "."),
    "hidden file": (HIDDEN_INCLUDE, "."),
    "hidden file above": (HIDDEN_INCLUDE, "src"),
    "MDX import": ({"a.mdx": "import S from '../secret.md'\n\nA. <S />"}, "."),
    "site import": (
        {"docusaurus.config.js": "", "docs/a.mdx": "import S from '@site/../secret.md'\n\nA.\n\n<S />"},
        ".",
    ),
}


@pytest.mark.parametrize(("files", "folder"), INCLUDES.values(), ids=INCLUDES.keys())
def test_pages_include_no_hidden_files_and_nothing_from_outside(
    files: dict[str, str], folder: str, tmp_path: Path
) -> None:
    write(tmp_path, {"secret.md": SECRET})
    named = write(tmp_path / "named", {**files, ".env": SECRET})
    assert SECRET not in words_of(read(named / folder))


def test_route_cannot_leave_the_address_of_the_book(tmp_path: Path) -> None:
    config = "docs: { routeBasePath: '../../other' }"
    site = write(tmp_path, {"docusaurus.config.js": config, "docs/a.md": "---\nslug: ../../x\n---\nA."})
    assert [d.url for d in read(site, base_url="https://x.org/b").documents] == ["https://x.org/b/other/x"]


@pytest.mark.parametrize(
    "url",
    [
        "example.org",
        "//example.org",
        "/docs",
        "javascript:alert(1)",
        "file:///srv/book",
        "ftp://example.org",
        "https://",
        "https://user:password@example.org",
        "https://example.org/?q=",
        "https://example.org/#a",
        "https://example.org/a b",
        "https://exam\nple.org",
        "https://example.org:99999",
        "https://[::1",
        'https://example.org/"onclick="',
    ],
)
def test_base_url_must_be_that_of_a_website(url: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "Words."})
    with pytest.raises(BadInput, match="Use the form https://") as raised:
        read(tmp_path, base_url=url)
    assert "password" not in str(raised.value)


def test_unusable_url_of_a_configuration_is_reported(tmp_path: Path) -> None:
    contents = read(write(tmp_path, {"mkdocs.yml": "site_url: javascript:alert(1)", "docs/a.md": "Words."}))
    assert [d.url for d in contents.documents] == ["/book/a/"]
    assert [skip.path for skip in contents.skipped] == ["The URL in the site's configuration"]


def test_pages_of_an_unpublished_book_have_no_path_of_this_machine(tmp_path: Path) -> None:
    contents = read(write(tmp_path / "b", {"a b.md": "Words.", "index.md": "Front.", "c/x.html": "<p>Text.</p>"}))
    assert [d.url for d in contents.documents] == ["/book/a%20b", "/book/", "/book/c/x.html"]
