"""Unreadable files are skipped with a reason; unusual names and sizes are handled."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import glossator
from glossator.core.errors import SourceError
from glossator.ingest.read import read_source

LIMIT = 1_000_000
UNREADABLE: dict[str, tuple[bytes, str]] = {
    "invalid UTF-8": (b"Caf\xe9 words.", "the file is not UTF-8 text (byte 3). Save it as UTF-8."),
    "binary file": (b"\x89PNG\r\n\x00\x00\x01", "this is a binary file, not text."),
    "unclosed front matter": (
        b"---\ntitle: A\n\nText.",
        "the front matter is not closed. Add a line with --- below it.",
    ),
    "invalid YAML": (
        b"---\ntitle: A: B\n---\nText.",
        "the front matter is not valid YAML (line 2). Quote values that contain a colon.",
    ),
    "oversized front matter": (b"---\n" + b"a: b\n" * 30_000 + b"---\nText.", "the front matter has more than"),
    "empty file": (b"", "the page has no text."),
    "only white space": (b" \n\n\t\n", "the page has no text."),
    "only front matter": (b"---\ntitle: A\n---\n", "the page has no text."),
    "too large": (
        b"words " * 200_000,
        "the file is larger than the limit of 1 MB. Split it, or raise GLOSSATOR_MAX_FILE_MB.",
    ),
}


@pytest.mark.parametrize(("data", "reason"), UNREADABLE.values(), ids=UNREADABLE.keys())
@pytest.mark.parametrize("good_file", ["good.md", "good.mdx"])
def test_unreadable_file_is_skipped_with_a_reason(data: bytes, reason: str, good_file: str, tmp_path: Path) -> None:
    (tmp_path / "bad.md").write_bytes(data)
    (tmp_path / good_file).write_text("Good words.", "utf-8")
    contents = read_source(str(tmp_path), "", LIMIT)
    assert [document.document_id for document in contents.documents] == [good_file]
    ((path, given),) = [(skip.path, skip.reason) for skip in contents.skipped]
    assert path == str(tmp_path / "bad.md")
    assert given.startswith(reason)


@pytest.mark.slow
def test_deeply_nested_front_matter_is_invalid(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"---\na: {'[' * 5000}\n---\nText.", "utf-8")
    with pytest.raises(SourceError, match="the front matter is not valid YAML"):
        read_source(str(tmp_path), "", LIMIT)


def test_folder_of_unreadable_files_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xff\xff")
    with pytest.raises(SourceError, match=r"a\.md: the file is not UTF-8 text"):
        read_source(str(tmp_path), "", LIMIT)


@pytest.mark.parametrize(("data", "text"), [(b"\xef\xbb\xbfWords.", "Words."), ("Words.".encode("utf-16"), "Words.")])
@pytest.mark.parametrize("suffix", ["md", "txt", "html"])
def test_byte_order_mark_is_removed(data: bytes, text: str, suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"a.{suffix}").write_bytes(data)
    assert read_source(str(tmp_path), "", LIMIT).documents[0].text == text


def test_windows_line_endings_are_supported(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(
        b"---\r\ntitle: T\r\n---\r\n\r\n# Head\r\n\r\nOne\r\ntwo.\r\n\r\n```\r\na\r\nb\r\n```\r\n"
    )
    (document,) = read_source(str(tmp_path), "", LIMIT).documents
    assert (document.title, document.text) == ("T", "Head\n\nOne two.\n\n```\na\nb\n```")


def test_links_that_loop_or_leave_the_source_are_skipped(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(("target", "reason"), [(".", "links to folders are not followed"), ("a.md", "points outside")])
def test_folder_with_nothing_but_a_link_names_the_link(target: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Words.", "utf-8")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "link.md").symlink_to(tmp_path / target)
    with pytest.raises(SourceError, match=rf"link\.md: .*{reason}"):
        read_source(str(tmp_path / "book"), "", LIMIT)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_file_without_permission_is_skipped_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "a.mdx").write_text("Words.", "utf-8")
    (tmp_path / "b.mdx").touch(mode=0)
    (skip,) = read_source(str(tmp_path), "", LIMIT).skipped
    assert skip.reason == "the file cannot be read (Permission denied). Check its permissions."


@pytest.mark.parametrize("good_file", ["a.md", "a.mdx"])
def test_named_pipe_is_skipped_without_blocking(good_file: str, tmp_path: Path) -> None:
    (tmp_path / good_file).write_text("Words.", "utf-8")
    os.mkfifo(tmp_path / "b.md")
    (skip,) = read_source(str(tmp_path), "", LIMIT).skipped
    assert skip.reason == "this is not a regular file."


ROUTES = {
    "a b.md": "a%20b",
    'what\'s "new".md': "what%27s%20%22new%22",
    "50%.md": "50%25",
    "a#b?c.md": "a%23b%3Fc",
    "two\nlines.md": "two%0Alines",
    "اردو.md": "%D8%A7%D8%B1%D8%AF%D9%88",
    "-rf.md": "-rf",
    "a&b=<c>.md": "a%26b%3D%3Cc%3E",
}


@pytest.mark.parametrize(("name", "route"), ROUTES.items(), ids=[ascii(name) for name in ROUTES])
def test_unusual_file_names_give_valid_urls(name: str, route: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("Words.", "utf-8")
    (document,) = read_source(str(tmp_path), "https://x.org/b", LIMIT).documents
    assert (document.document_id, document.url) == (name, f"https://x.org/b/{route}")


def test_file_name_that_is_not_utf_8_is_skipped_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Words.", "utf-8")
    (tmp_path / os.fsdecode(b"bad\xff.md")).write_text("Words.", "utf-8")
    (skip,) = read_source(str(tmp_path), "", LIMIT).skipped
    assert (skip.path, skip.reason) == (str(tmp_path / "bad\ufffd.md"), "the file name is not UTF-8. Rename the file.")


def test_lone_surrogates_are_replaced_and_pairs_joined(tmp_path: Path) -> None:
    (tmp_path / "p.mdx").write_text('---\ntitle: "a\\ud800b"\n---\nText {"\\ud83d\\ude00"}{"\\ud800"}.', "utf-8")
    (document,) = read_source(str(tmp_path), "", LIMIT).documents
    assert (document.title, document.text) == ("a\ufffdb", "Text 😀\ufffd.")


def test_yaml_alias_bomb_is_harmless(tmp_path: Path) -> None:
    bomb = "\n".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    (tmp_path / "p.md").write_text(f"---\na: &a [x, x]\n{bomb}\ntitle: *i\n---\n# Head\n\nText.", "utf-8")
    assert read_source(str(tmp_path), "", LIMIT).documents[0].title == "Head"


@pytest.mark.parametrize("suffix", ["md", "mdx", "html", "txt"])
def test_megabyte_without_a_space_is_indexed(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"a.{suffix}").write_text("x" * 1_000_000, "utf-8")
    assert len(read_source(str(tmp_path), "", LIMIT).documents[0].text) == 1_000_000


def test_ingest_report_lists_skipped_files(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "a.md").write_text("The pump holds 5 litres.", "utf-8")
    (tmp_path / "book" / "b.md").write_bytes(b"\xff\xff")
    with glossator.open(tmp_path / "data") as book:
        report = book.ingest(tmp_path / "book")
    assert (report.documents.added, report.documents.skipped) == (1, 1)
    assert report.skipped[0].reason.startswith("the file is not UTF-8 text")


def test_label_above_a_paragraph_of_plain_text_is_not_part_of_it(tmp_path: Path) -> None:
    text = (
        "Teacher Support\nThe goal of this lesson is to learn about forces.\n\nA line that was wrapped here\nGoes on.\n"
    )
    (tmp_path / "a.txt").write_text(text, "utf-8")
    assert read_source(str(tmp_path), "", 1_000_000).documents[0].text == (
        "Teacher Support\n\nThe goal of this lesson is to learn about forces.\n\nA line that was wrapped here Goes on."
    )
