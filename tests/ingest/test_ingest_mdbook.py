"""mdBook: the summary's order, included files, hidden lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from glossator.core.types import Document
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


def book(folder: Path, files: dict[str, str], config: str = "[book]\ntitle = 'B'\n") -> Path:
    for name, text in {"book.toml": config, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def one_page(folder: Path, text: str, **files: str) -> str:
    listed = {f"code/{name}.rs": content for name, content in files.items()}
    book(folder, {"src/SUMMARY.md": "- [Page](page.md)", "src/page.md": text, **listed})
    return read_source(str(folder), "", LIMIT).documents[0].text


@pytest.fixture
def pages(tmp_path: Path) -> tuple[Document, ...]:
    names = ["foreword", "start", "start/install", "start/linux", "README", "end note", "unlisted"]
    files = {f"src/{name}.md": f"# Heading of {name}\n\nText.\n" for name in names}
    book(tmp_path / "b", {"src/SUMMARY.md": SUMMARY, "../secret.md": "Secret.", **files})
    return read_source(str(tmp_path / "b"), "https://x.org/b", LIMIT).documents


def test_the_summary_names_the_pages_in_order(pages: tuple[Document, ...]) -> None:
    assert [(page.url, page.title) for page in pages] == [
        ("https://x.org/b/foreword.html", "Foreword"),
        ("https://x.org/b/start.html", "Start here"),
        ("https://x.org/b/start/install.html", "Install"),
        ("https://x.org/b/start/linux.html", "On Linux"),
        ("https://x.org/b/index.html", "Later"),
        ("https://x.org/b/end%20note.html", "Afterword"),
    ]


def test_nested_entries_stand_below_the_entries_above_them(pages: tuple[Document, ...]) -> None:
    assert pages[3].chapters == ("Start here", "Install", "On Linux")
    assert pages[4].chapters == ("Later",)


def test_the_source_folder_alone_is_a_book_too(tmp_path: Path) -> None:
    files = {"text/SUMMARY.md": "- [A](a.md)", "text/a.md": "{{#include ../code/a.rs}}", "code/a.rs": "Included."}
    book(tmp_path, files, config="[book]\nsrc = 'text'\n")
    assert [d.text for d in read_source(str(tmp_path), "", LIMIT).documents] == ["Included."]
    assert [d.text for d in read_source(str(tmp_path / "text"), "", LIMIT).documents] == ["Included."]


LISTING = """use std::io;
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
def test_a_directive_becomes_the_lines_it_names(directive: str, part: str, lines: str, tmp_path: Path) -> None:
    text = f"```rust\n{{{{#{directive} ../code/a.rs{part}}}}}\n```"
    assert one_page(tmp_path, text, a=LISTING) == f"```rust\n{lines}\n```"


def test_included_markdown_is_read_as_markdown_and_may_include_more(tmp_path: Path) -> None:
    text = one_page(tmp_path, "{{#include ../code/a.rs}}", a="Some *words*.\n\n{{#include b.rs}}", b="More words.")
    assert text == "Some words.\n\nMore words."


def test_a_playground_is_a_listing(tmp_path: Path) -> None:
    assert one_page(tmp_path, "{{#playground ../code/a.rs editable}}", a="let a;") == "```rust\nlet a;\n```"


def test_escaped_directives_are_shown_and_titles_are_not(tmp_path: Path) -> None:
    assert one_page(tmp_path, "{{#title T}}\n\nWrite \\{{#include a.rs}} there.") == "Write {{#include a.rs}} there."


def test_files_outside_of_the_book_are_not_included(tmp_path: Path) -> None:
    (tmp_path / "secret.rs").write_text("Secret.", "utf-8")
    (tmp_path / "b" / "code").mkdir(parents=True)
    (tmp_path / "b" / "code" / "link.rs").symlink_to(tmp_path / "secret.rs")
    targets = ["../../secret.rs", str(tmp_path / "secret.rs"), "../code/link.rs", "../code/none.rs"]
    directives = "\n\n".join(f"{{{{#include {target}}}}}" for target in targets)
    assert one_page(tmp_path / "b", f"Text.\n\n{directives}") == "Text."


def test_files_that_include_each_other_come_to_an_end(tmp_path: Path) -> None:
    again = "Again.\n\n{{#include a.rs}}\n\n{{#include a.rs}}"
    assert 1 < one_page(tmp_path, "{{#include ../code/a.rs}}", a=again).count("Again.") < 2_000


def test_hidden_lines_of_rust_are_not_shown(tmp_path: Path) -> None:
    code = '# fn main() {\n#\n    #[derive(Debug)]\n    # let b;\n    ## shown\n#![allow(x)]\nlet a = "# b";\n# }'
    shown = '    #[derive(Debug)]\n    # shown\n#![allow(x)]\nlet a = "# b";'
    assert one_page(tmp_path, f"```rust,ignore\n{code}\n```") == f"```rust\n{shown}\n```"


def test_hash_lines_of_other_languages_are_shown(tmp_path: Path) -> None:
    listing = "```python\n# comment\na = 1\n```"
    assert one_page(tmp_path, listing) == listing
