"""Files that cannot be read are left out with a reason; odd names and sizes do no harm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import glossator
from glossator.core.errors import SourceError
from glossator.ingest.read import read_source

LIMIT = 1_000_000
BAD: dict[str, tuple[bytes, str]] = {
    "broken UTF-8": (b"Caf\xe9 words.", "it is not UTF-8 text (byte 3). Save it as UTF-8."),
    "a binary file": (b"\x89PNG\r\n\x00\x00\x01", "it is a binary file, not text."),
    "open front matter": (b"---\ntitle: A\n\nText.", "its front matter is not closed. Add a line with --- below it."),
    "invalid YAML": (
        b"---\ntitle: A: B\n---\nText.",
        "its front matter is not valid YAML (line 2). Quote values that hold a colon.",
    ),
    "endless front matter": (b"---\n" + b"a: b\n" * 30_000 + b"---\nText.", "its front matter has more than"),
    "an empty file": (b"", "it has no text."),
    "white space": (b" \n\n\t\n", "it has no text."),
    "nothing but front matter": (b"---\ntitle: A\n---\n", "it has no text."),
    "too much": (
        b"words " * 200_000,
        "it has 1 MB, more than the limit of 1 MB. Split it, or raise GLOSSATOR_MAX_FILE_MB.",
    ),
}


@pytest.mark.parametrize(("data", "reason"), BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("beside", ["good.md", "good.mdx"])
def test_a_bad_file_is_left_out_with_a_reason(data: bytes, reason: str, beside: str, tmp_path: Path) -> None:
    (tmp_path / "bad.md").write_bytes(data)
    (tmp_path / beside).write_text("Good words.", "utf-8")
    book = read_source(str(tmp_path), "", LIMIT)
    assert [document.document_id for document in book.documents] == [beside]
    ((path, given),) = [(skip.path, skip.reason) for skip in book.skipped]
    assert path == str(tmp_path / "bad.md")
    assert given.startswith(reason)


def test_front_matter_that_nests_without_end_is_no_valid_front_matter(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"---\na: {'[' * 5000}\n---\nText.", "utf-8")
    with pytest.raises(SourceError, match="its front matter is not valid YAML"):
        read_source(str(tmp_path), "", LIMIT)


def test_a_folder_of_nothing_but_bad_files_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xff\xff")
    with pytest.raises(SourceError, match=r"a\.md: it is not UTF-8 text"):
        read_source(str(tmp_path), "", LIMIT)


@pytest.mark.parametrize(("data", "text"), [(b"\xef\xbb\xbfWords.", "Words."), ("Words.".encode("utf-16"), "Words.")])
@pytest.mark.parametrize("suffix", ["md", "txt", "html"])
def test_byte_order_marks_are_no_text(data: bytes, text: str, suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"a.{suffix}").write_bytes(data)
    assert read_source(str(tmp_path), "", LIMIT).documents[0].text == text


def test_windows_line_ends_are_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(
        b"---\r\ntitle: T\r\n---\r\n\r\n# Head\r\n\r\nOne\r\ntwo.\r\n\r\n```\r\na\r\nb\r\n```\r\n"
    )
    (document,) = read_source(str(tmp_path), "", LIMIT).documents
    assert (document.title, document.text) == ("T", "Head\n\nOne two.\n\n```\na\nb\n```")


def test_links_that_loop_or_leave_the_source_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("Secret.", "utf-8")
    root = tmp_path / "book"
    (root / "deep").mkdir(parents=True)
    (root / "a.md").write_text("Words.", "utf-8")
    (root / "deep" / "up").symlink_to(root)
    (root / "self.md").symlink_to(root / "self.md")
    (root / "gone.md").symlink_to(root / "none.md")
    (root / "out.md").symlink_to(tmp_path / "secret.md")
    (root / "outside").symlink_to(tmp_path)
    (root / "deep" / "same.md").symlink_to(root / "a.md")
    assert [d.document_id for d in read_source(str(root), "https://x.org", LIMIT).documents] == ["a.md", "deep/same.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_an_unreadable_file_is_left_out_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "a.mdx").write_text("Words.", "utf-8")
    (tmp_path / "b.mdx").touch(mode=0)
    (skip,) = read_source(str(tmp_path), "", LIMIT).skipped
    assert skip.reason == "it cannot be read (Permission denied). Check its permissions."


@pytest.mark.parametrize("beside", ["a.md", "a.mdx"])
def test_a_pipe_is_not_waited_for(beside: str, tmp_path: Path) -> None:
    (tmp_path / beside).write_text("Words.", "utf-8")
    os.mkfifo(tmp_path / "b.md")
    (skip,) = read_source(str(tmp_path), "", LIMIT).skipped
    assert skip.reason == "it is not a regular file."


NAMES = {
    "a b.md": "a%20b",
    'what\'s "new".md': "what%27s%20%22new%22",
    "50%.md": "50%25",
    "a#b?c.md": "a%23b%3Fc",
    "two\nlines.md": "two%0Alines",
    "اردو.md": "%D8%A7%D8%B1%D8%AF%D9%88",
    "-rf.md": "-rf",
    "a&b=<c>.md": "a%26b%3D%3Cc%3E",
}


@pytest.mark.parametrize(("name", "route"), NAMES.items(), ids=[ascii(name) for name in NAMES])
def test_odd_names_make_working_addresses(name: str, route: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("Words.", "utf-8")
    (document,) = read_source(str(tmp_path), "https://x.org/b", LIMIT).documents
    assert (document.document_id, document.url) == (name, f"https://x.org/b/{route}")


def test_a_name_that_is_no_text_is_left_out_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Words.", "utf-8")
    (tmp_path / os.fsdecode(b"bad\xff.md")).write_text("Words.", "utf-8")
    (skip,) = read_source(str(tmp_path), "", LIMIT).skipped
    assert (skip.path, skip.reason) == (str(tmp_path / "bad\ufffd.md"), "its name is not UTF-8. Rename it.")


def test_half_a_character_is_replaced_and_two_halves_are_joined(tmp_path: Path) -> None:
    (tmp_path / "p.mdx").write_text('---\ntitle: "a\\ud800b"\n---\nText {"\\ud83d\\ude00"}{"\\ud800"}.', "utf-8")
    (document,) = read_source(str(tmp_path), "", LIMIT).documents
    assert (document.title, document.text) == ("a\ufffdb", "Text 😀\ufffd.")


def test_front_matter_that_unfolds_without_end_is_harmless(tmp_path: Path) -> None:
    bomb = "\n".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    (tmp_path / "p.md").write_text(f"---\na: &a [x, x]\n{bomb}\ntitle: *i\n---\n# Head\n\nText.", "utf-8")
    assert read_source(str(tmp_path), "", LIMIT).documents[0].title == "Head"


@pytest.mark.parametrize("suffix", ["md", "mdx", "html", "txt"])
def test_a_megabyte_without_a_space_is_indexed_whole(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"a.{suffix}").write_text("x" * 1_000_000, "utf-8")
    assert len(read_source(str(tmp_path), "", LIMIT).documents[0].text) == 1_000_000


def test_an_ingest_says_what_it_left_out(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "a.md").write_text("The pump holds 5 litres.", "utf-8")
    (tmp_path / "book" / "b.md").write_bytes(b"\xff\xff")
    with glossator.open(tmp_path / "data") as book:
        report = book.ingest(tmp_path / "book")
    assert (report.documents.added, report.documents.skipped) == (1, 1)
    assert report.skipped[0].reason.startswith("it is not UTF-8 text")
