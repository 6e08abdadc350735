"""EPUB: a document for each item of the spine, titled by the table of contents; hostile archives fail with a reason."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from glossator.core.errors import SourceError
from glossator.core.types import BlockKind
from glossator.ingest.formats.epub import archive
from glossator.ingest.formats.epub.read import read_epub
from glossator.ingest.read import read_source

LIMIT = 10_000_000
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Of Tides</dc:title></metadata>
<manifest>
  <item id="toc" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
  <item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
  <item id="cover" href="cover.xhtml" media-type="application/xhtml+xml"/>
  <item id="two" href="text/two.xhtml" media-type="application/xhtml+xml"/>
  <item id="one" href="text/one%20a.xhtml" media-type="application/xhtml+xml"/>
  <item id="picture" href="moon.png" media-type="image/png"/>
</manifest>
<spine toc="toc"><itemref idref="cover"/><itemref idref="nav"/><itemref idref="one"/><itemref idref="two"/>
<itemref idref="picture"/><itemref idref="gone"/></spine></package>"""
NAVIGATION = """<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body>
<nav epub:type="landmarks"><ol><li><a href="text/two.xhtml">Landmark</a></li></ol></nav>
<nav epub:type="toc"><ol><li><span>Part I</span><ol><li><a href="text/one%20a.xhtml">The <i>Moon</i></a></li>
<li><a href="text/two.xhtml#spring">Spring tides</a></li></ol></li></ol></nav></body></html>"""
NCX = """<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">
<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>Old part</text></navLabel>
<content src="cover.xhtml"/><navPoint><navLabel><text>Old Moon</text></navLabel><content src="text/one%20a.xhtml"/>
</navPoint></navPoint></navMap></ncx>"""
ONE = """<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a.js"/></head>
<body><h1 id="moon">The Moon</h1><a id="empty"/><p>Tides follow the Moon. <![CDATA[a < b]]></p>
<p>See <a href="two.xhtml#spring">spring tides</a><span class="link-target"> [https://tides.example]</span>.</p></body></html>"""
TWO = """<html xmlns="http://www.w3.org/1999/xhtml"><body><section id="spring"><h2>Spring tides</h2>
<p>They are the largest.</p><pre><code class="language-py">x = 1</code></pre></section></body></html>"""
FILES = {
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": PACKAGE,
    "OEBPS/nav.xhtml": NAVIGATION,
    "OEBPS/toc.ncx": NCX,
    "OEBPS/cover.xhtml": "<html><body><img src='moon.png'/></body></html>",
    "OEBPS/text/one a.xhtml": ONE,
    "OEBPS/text/two.xhtml": TWO,
}


def write_epub(path: Path, changes: dict[str, str | bytes | None] | None = None) -> Path:
    """A small book; a file that is None is left out."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in {**FILES, **(changes or {})}.items():
            if content is not None:
                file.writestr(name, content)
    return path


def test_documents_are_in_the_order_of_the_spine_with_the_titles_of_the_contents(tmp_path: Path) -> None:
    contents = read_source(str(write_epub(tmp_path / "tides.epub")), "", LIMIT)
    assert contents.name == "Of Tides"
    assert [(d.document_id, d.url, d.chapters) for d in contents.documents] == [
        ("tides.epub/text/one a.xhtml", "/book/text/one%20a.xhtml", ("Part I", "The Moon")),
        ("tides.epub/text/two.xhtml", "/book/text/two.xhtml", ("Part I", "Spring tides")),
    ]
    assert [note.note for note in contents.notes] == ["documents without text were skipped: cover.xhtml."]
    moon, spring = contents.documents
    assert moon.text == "The Moon\n\nTides follow the Moon. a < b\n\nSee spring tides."
    assert 'href="two.xhtml#spring"' in moon.html
    assert [(b.kind, b.anchor) for b in spring.blocks] == [
        (BlockKind.HEADING, "spring"),
        (BlockKind.PARAGRAPH, ""),
        (BlockKind.CODE, ""),
    ]


def test_a_book_among_other_files_has_an_address_and_a_chapter_of_its_own(tmp_path: Path) -> None:
    write_epub(tmp_path / "tides.epub")
    (tmp_path / "other.md").write_text("# Other\n\nWords.", "utf-8")
    contents = read_source(str(tmp_path), "https://b.example", LIMIT)
    assert [d.url for d in contents.documents] == [
        "https://b.example/other",
        "https://b.example/tides.epub/text/one%20a.xhtml",
        "https://b.example/tides.epub/text/two.xhtml",
    ]
    assert contents.documents[1].chapters == ("Of Tides", "Part I", "The Moon")


def test_declarations_before_a_document_are_no_text(tmp_path: Path) -> None:
    declared = f'<!DOCTYPE html [<!ENTITY moon SYSTEM "file:///etc/passwd"> ]>\n{TWO.replace("They", "&moon;")}'
    file = read_epub(write_epub(tmp_path / "a.epub", {"OEBPS/text/two.xhtml": declared}), LIMIT)
    assert file.pages[1].page.text.startswith("Spring tides\n\n&moon; are the largest.")


def test_without_a_navigation_document_the_older_contents_give_the_titles(tmp_path: Path) -> None:
    package = PACKAGE.replace(' properties="nav"', "").replace('<itemref idref="nav"/>', "")
    file = read_epub(write_epub(tmp_path / "a.epub", {"OEBPS/book.opf": package}), LIMIT)
    assert [(p.page.title, p.chapters) for p in file.pages] == [("Old Moon", ("Old part",)), ("", ())]


def test_invalid_contents_leave_the_titles_of_the_pages(tmp_path: Path) -> None:
    file = read_epub(write_epub(tmp_path / "a.epub", {"OEBPS/nav.xhtml": "<ol>", "OEBPS/toc.ncx": None}), LIMIT)
    assert [p.page.title for p in file.pages] == ["The Moon", ""]


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "utf-8"])
def test_declared_encodings_are_read(encoding: str, tmp_path: Path) -> None:
    page = f'<?xml version="1.0" encoding="{encoding}"?><html><body><p>Ebbe für Flöße.</p></body></html>'
    file = read_epub(write_epub(tmp_path / "a.epub", {"OEBPS/text/two.xhtml": page.encode(encoding)}), LIMIT)
    assert file.pages[1].page.text == "Ebbe für Flöße."


ENTITIES = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
UNREADABLE: dict[str, tuple[dict[str, str | bytes | None], str]] = {
    "no container": ({"META-INF/container.xml": None}, "META-INF/container.xml is missing in the EPUB."),
    "no package named": ({"META-INF/container.xml": "<container/>"}, "the EPUB has no package document."),
    "no package": ({"OEBPS/book.opf": None}, "OEBPS/book.opf is missing in the EPUB."),
    "invalid package": ({"OEBPS/book.opf": "<package>"}, "OEBPS/book.opf in the EPUB is not valid XML."),
    "empty spine": ({"OEBPS/book.opf": "<package/>"}, "the EPUB has no documents in its spine."),
    "entities": (
        {"OEBPS/book.opf": ENTITIES + PACKAGE.partition("?>")[2].replace("Of Tides", "&b;")},
        "OEBPS/book.opf in the EPUB declares XML entities, which are not allowed.",
    ),
    "deep XML": ({"OEBPS/book.opf": "<a>" * 200}, "OEBPS/book.opf in the EPUB has too many elements."),
    "no text": (
        {"OEBPS/text/one a.xhtml": "<html/>", "OEBPS/text/two.xhtml": "<html/>"},
        "the EPUB has no text.",
    ),
}


@pytest.mark.parametrize(("changes", "reason"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_unreadable_book_fails_with_a_reason(
    changes: dict[str, str | bytes | None], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(SourceError) as failure:
        read_epub(write_epub(tmp_path / "a.epub", changes), LIMIT)
    assert failure.value.message == reason


def test_a_file_that_is_not_an_archive_is_skipped_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "bad.epub").write_bytes(b"PK\x03\x04 no archive")
    write_epub(tmp_path / "good.epub")
    contents = read_source(str(tmp_path), "", LIMIT)
    assert len(contents.documents) == 2
    ((path, reason),) = [(Path(skip.path).name, skip.reason) for skip in contents.skipped]
    assert (path, reason) == (
        "bad.epub",
        "this is not an EPUB: it is not a ZIP archive. Check that it is not damaged.",
    )


def test_a_document_that_unpacks_beyond_the_limit_is_left_out(tmp_path: Path) -> None:
    bomb = b"<p>" + b"a" * (archive.MAX_FILE_BYTES + 1)
    file = read_epub(write_epub(tmp_path / "a.epub", {"OEBPS/text/two.xhtml": bomb}), LIMIT)
    assert [p.name for p in file.pages] == ["text/one a.xhtml"]
    assert "OEBPS/text/two.xhtml is larger than 20 MB unpacked" in file.notes[-1]


def test_all_files_together_have_a_limit(tmp_path: Path) -> None:
    with zipfile.ZipFile(write_epub(tmp_path / "a.epub")) as file:
        book = archive.EpubArchive(file, remaining_bytes=len(ONE) + 1)
        assert book.read("OEBPS/text/one a.xhtml") == ONE.encode()
        with pytest.raises(SourceError, match="all files together are larger than 200 MB"):
            book.read("OEBPS/text/two.xhtml")


def test_names_that_leave_the_archive_are_not_documents(tmp_path: Path) -> None:
    package = PACKAGE.replace("text/two.xhtml", "../../../etc/passwd").replace("text/one%20a", "/etc/hosts")
    with pytest.raises(SourceError, match="the EPUB has no text"):
        read_epub(write_epub(tmp_path / "a.epub", {"OEBPS/book.opf": package}), LIMIT)


@pytest.mark.parametrize("target", ["../../secret.xhtml", "/etc/two.xhtml", "https://tides.example/two.xhtml"])
def test_a_document_outside_the_archive_is_reported(tmp_path: Path, target: str) -> None:
    package = PACKAGE.replace("text/two.xhtml", target)
    file = read_epub(write_epub(tmp_path / "a.epub", {"OEBPS/book.opf": package}), LIMIT)
    assert [p.name for p in file.pages] == ["text/one a.xhtml"]
    assert file.notes[-1] == f"left out: {target} is outside the EPUB."


def test_an_encrypted_document_is_left_out_with_a_reason(tmp_path: Path) -> None:
    encryption = '<encryption><CipherReference URI="OEBPS/text/two.xhtml"/></encryption>'
    file = read_epub(write_epub(tmp_path / "a.epub", {"META-INF/encryption.xml": encryption}), LIMIT)
    assert file.notes[-1].startswith("left out: OEBPS/text/two.xhtml is encrypted (DRM).")
