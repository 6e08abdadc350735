"""mdBook: order of the summary, included files and hidden lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from glossator.core.types import BlockKind, Document
from glossator.ingest.read import read_source

LIMIT = 20_000_000
SUMMARY = """# Summary

[Foreword](foreword.md)

# First part

- [Start *here*](start.md)
    - [Install](start/install.md)
        - [On `Linux`](start/linux.md#top)
    - [Draft]()
- [Later](README.md)
- [Elsewhere](https://x.org/a.md)
- [Gone](gone.md)
- [Outside](../secret.md)
- [Start again](start.md)

[Afterword](end%20note.md)
"""


def write_book(folder: Path, files: dict[str, str], config: str = "[book]\ntitle = 'B'\n") -> Path:
    for name, text in {"book.toml": config, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def text_of_page(folder: Path, text: str, **files: str) -> str:
    rust_files = {f"code/{name}.rs": content for name, content in files.items()}
    write_book(folder, {"src/SUMMARY.md": "- [Page](page.md)", "src/page.md": text, **rust_files})
    return read_source(str(folder), "", LIMIT).documents[0].text


@pytest.fixture
def pages(tmp_path: Path) -> tuple[Document, ...]:
    names = ["foreword", "start", "start/install", "start/linux", "README", "end note", "unlisted"]
    files = {f"src/{name}.md": f"# Heading of {name}\n\nText.\n" for name in names}
    write_book(tmp_path / "b", {"src/SUMMARY.md": SUMMARY, "../secret.md": "Secret.", **files})
    return read_source(str(tmp_path / "b"), "https://x.org/b", LIMIT).documents


def test_pages_are_in_the_order_of_the_summary(pages: tuple[Document, ...]) -> None:
    assert [(page.url, page.title) for page in pages] == [
        ("https://x.org/b/foreword.html", "Foreword"),
        ("https://x.org/b/start.html", "Start here"),
        ("https://x.org/b/start/install.html", "Install"),
        ("https://x.org/b/start/linux.html", "On Linux"),
        ("https://x.org/b/index.html", "Later"),
        ("https://x.org/b/end%20note.html", "Afterword"),
    ]


def test_nested_entries_have_chapters(pages: tuple[Document, ...]) -> None:
    assert pages[3].chapters == ("Start here", "Install", "On Linux")
    assert pages[4].chapters == ("Later",)


def test_source_folder_is_recognized_as_a_book(tmp_path: Path) -> None:
    files = {"text/SUMMARY.md": "- [A](a.md)", "text/a.md": "{{#include ../code/a.rs}}", "code/a.rs": "Included."}
    write_book(tmp_path, files, config="[book]\nsrc = 'text'\n")
    assert [d.text for d in read_source(str(tmp_path), "", LIMIT).documents] == ["Included."]
    assert [d.text for d in read_source(str(tmp_path / "text"), "", LIMIT).documents] == ["Included."]


RUST_FILE = """use std::io;
// ANCHOR: all
fn main() {
    // ANCHOR: body
    let a = 1;
    // ANCHOR_END: body
}
// ANCHOR_END: all
// last"""
INCLUDES = {
    "": "use std::io;\nfn main() {\n    let a = 1;\n}\n// last",
    ":all": "fn main() {\n    let a = 1;\n}",
    ":body": "    let a = 1;",
    ":1": "use std::io;",
    ":5:7": "    let a = 1;\n}",
    ":7:": "}\n// last",
    "::3": "use std::io;\nfn main() {",
}


@pytest.mark.parametrize(("part", "lines"), INCLUDES.items())
@pytest.mark.parametrize("directive", ["include", "rustdoc_include"])
def test_include_directive_becomes_the_selected_lines(directive: str, part: str, lines: str, tmp_path: Path) -> None:
    text = f"```rust\n{{{{#{directive} ../code/a.rs{part}}}}}\n```"
    assert text_of_page(tmp_path, text, a=RUST_FILE) == f"```rust\n{lines}\n```"


def test_included_markdown_is_rendered_and_may_include_more(tmp_path: Path) -> None:
    text = text_of_page(tmp_path, "{{#include ../code/a.rs}}", a="Some *words*.\n\n{{#include b.rs}}", b="More words.")
    assert text == "Some words.\n\nMore words."


def test_playground_is_a_code_block(tmp_path: Path) -> None:
    assert text_of_page(tmp_path, "{{#playground ../code/a.rs editable}}", a="let a;") == "```rust\nlet a;\n```"


def test_escaped_directives_are_shown_and_title_directives_removed(tmp_path: Path) -> None:
    assert (
        text_of_page(tmp_path, "{{#title T}}\n\nWrite \\{{#include a.rs}} there.") == "Write {{#include a.rs}} there."
    )


def test_files_outside_the_book_are_not_included(tmp_path: Path) -> None:
    (tmp_path / "secret.rs").write_text("Secret.", "utf-8")
    (tmp_path / "b" / "code").mkdir(parents=True)
    (tmp_path / "b" / "code" / "link.rs").symlink_to(tmp_path / "secret.rs")
    targets = ["../../secret.rs", str(tmp_path / "secret.rs"), "../code/link.rs", "../code/none.rs"]
    directives = "\n\n".join(f"{{{{#include {target}}}}}" for target in targets)
    assert text_of_page(tmp_path / "b", f"Text.\n\n{directives}") == "Text."


def test_recursive_includes_are_limited(tmp_path: Path) -> None:
    recursive = "Again.\n\n{{#include a.rs}}\n\n{{#include a.rs}}"
    assert 1 < text_of_page(tmp_path, "{{#include ../code/a.rs}}", a=recursive).count("Again.") < 2_000


def test_hidden_rust_lines_are_removed(tmp_path: Path) -> None:
    code = '# fn main() {\n#\n    #[derive(Debug)]\n    # let b;\n    ## shown\n#![allow(x)]\nlet a = "# b";\n# }'
    shown = '    #[derive(Debug)]\n    # shown\n#![allow(x)]\nlet a = "# b";'
    assert text_of_page(tmp_path, f"```rust,ignore\n{code}\n```") == f"```rust\n{shown}\n```"


def test_hash_lines_of_other_languages_are_retained(tmp_path: Path) -> None:
    listing = "```python\n# comment\na = 1\n```"
    assert text_of_page(tmp_path, listing) == listing


def test_heading_ids_match_the_output_of_mdbook(tmp_path: Path) -> None:
    page = """# A\n\n## B {#b}\n\n## B\n\n## B\n\n## Img ![alternative](x.png) end\n\n## C++ `code` *em*\n\n## Été à
\n## Own { #own .cls }\n\n## H<sub>2</sub>O ~~old~~ new ~gone~\n\n## 🚀 Rocket\n\n## A\n\nSetext *x*\n-----\n
> ## In quote\n\n- ## In list\n\n```\n## code\n```\n\n## After code {#after}\n"""
    write_book(tmp_path, {"src/SUMMARY.md": "- [Page](page.md)", "src/page.md": page})
    (document,) = read_source(str(tmp_path), "", LIMIT).documents
    assert [block.anchor for block in document.blocks if block.kind is BlockKind.HEADING] == [
        *("a", "b", "b", "b-1", "img--end", "c-code-em", "été-à", "own", "h2o-old-new-gone", "-rocket", "a-1"),
        *("setext-x", "in-quote", "in-list", "after"),
    ]


ADMONITIONS = {
    "plain": ("```admonish\nSome *words*.\n```", "Some words."),
    "a kind": ("~~~admonish warning\n- One\n- Two\n~~~", "- One\n- Two"),
    "a title": ('```admonish tip "A *title*"\nWords.\n```', "A title\n\nWords."),
    "options": ('```admonish info id="x", title="A title", collapsible=true\nWords.\n```', "A title\n\nWords."),
    "code inside": ("````admonish\nRun:\n```sh\nls\n```\n````", "Run:\n\n```sh\nls\n```"),
    "nested": ("````admonish note\n```admonish bug\nDeep.\n```\n````", "Deep."),
    "other code": ("```admonisher\nx\n```", "```admonisher\nx\n```"),
}


@pytest.mark.parametrize(("source", "text"), ADMONITIONS.values(), ids=ADMONITIONS.keys())
def test_blocks_of_admonish_are_read(source: str, text: str, tmp_path: Path) -> None:
    assert text_of_page(tmp_path, source) == text


def test_blocks_of_admonish_are_shown_as_admonitions(tmp_path: Path) -> None:
    write_book(
        tmp_path, {"src/SUMMARY.md": "- [Page](page.md)", "src/page.md": "```admonish warning\n## Hot\n\nA.\n```"}
    )
    (document,) = read_source(str(tmp_path), "", LIMIT).documents
    assert '<div class="admonition warning">' in document.html
    assert document.blocks[0].anchor == "hot"


def test_deeply_nested_admonish_is_code(tmp_path: Path) -> None:
    text = "Deep."
    for length in range(3, 12):
        text = f"{'`' * length}admonish\n{text}\n{'`' * length}"
    assert text_of_page(tmp_path, text).startswith("```````")
