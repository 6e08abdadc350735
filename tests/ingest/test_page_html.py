"""The HTML that an ingest keeps of a page: as the book has it, with links and images that lead where they should."""

from __future__ import annotations

from pathlib import Path

import pytest

from glossator.core.types import Document
from glossator.ingest.read import SourceContents, read_source

PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 40
SVG = b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"

TITLE = '<p class="admonition-title" dir="auto">Careful</p>'
ADMONITION = f'<div class="admonition warning">\n{TITLE}\n<p dir="auto">Hot.</p>\n</div>'


def read(
    folder: Path, files: dict[str, str | bytes], base_url: str | None = "https://example.org/docs"
) -> SourceContents:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_source(str(folder), base_url, 10_000_000)


def page(contents: SourceContents, name: str = "page.md") -> Document:
    return next(document for document in contents.documents if document.document_id == name)


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("3. three\n4. four\n   - nested", '<ol start="3">'),
        ("3. three\n4. four\n   - nested", "<ul>\n<li"),
        ("| a | b |\n|---|--:|\n| 1 | 2 |", "<thead>"),
        ("| a | b |\n|---|--:|\n| 1 | 2 |", '<td dir="auto">1</td>'),
        ("| a | b |\n|---|--:|\n| 1 | 2 |", '<td align="right" dir="auto">2</td>'),
        ("| a | b |\n|:-:|:--|\n| 1 | 2 |", '<th align="center" dir="auto">a</th>'),
        ("| a | b |\n|:-:|:--|\n| 1 | 2 |", '<th align="left" dir="auto">b</th>'),
        ("<table><tr><td style='color: red; TEXT-ALIGN: Right'>1</td></tr></table>", '<td align="right" dir="auto">1'),
        ("<table><tr><td style='text-align: inherit'>1</td></tr></table>", '<td dir="auto">1</td>'),
        ("<table><tr><td align='center'>1</td></tr></table>", '<td align="center" dir="auto">1</td>'),
        ("**bold** and *leaning*", "<strong>bold</strong> and <em>leaning</em>"),
        ("Use `x = 1`.", "<code>x = 1</code>"),
        ("```python\nprint('<b>')\n```", "<code>print('&lt;b&gt;')"),
        ("> Quoted.", "<blockquote"),
        ("- [x] done\n- [ ] to do", 'aria-label="done">☑ </span>'),
        ("- [x] done\n- [ ] to do", 'aria-label="to do">☐ </span>'),
        ("The value $q^{*}$ is best.", '<span class="math">q^{*}</span>'),
        ("$$\nc = \\frac{1}{m}\n$$", '<div class="math">c = \\frac{1}{m}</div>'),
        (
            '<div class="admonition warning"><p class="admonition-title">Careful</p><p>Hot.</p></div>',
            "admonition-title",
        ),
        (":::warning[Careful]\n\nHot.\n\n:::\n\nAfter.", ADMONITION + '\n<p dir="auto">After.'),
        ("/// warning | Careful\n\nHot.\n\n///\n\nAfter.", ADMONITION + '\n<p dir="auto">After.'),
        ("> [!WARNING]\n> Hot.", '<blockquote class="admonition warning"'),
        ('=== "Linux"\n\n    Text.', '<p class="admonition-title" dir="auto">Linux</p>'),
        ("/// details | More\n\nText.\n\n///", '<p class="admonition-title" dir="auto">More</p>'),
        ("> کتاب کا اقتباس", "<blockquote>"),
        ("<details><summary>More</summary>\n\nText.\n\n</details>", "<summary"),
    ],
)
def test_markup_survives(tmp_path: Path, markdown: str, html: str) -> None:
    assert html in page(read(tmp_path, {"page.md": f"# Page\n\n{markdown}\n"})).html


def test_mkdocs_admonition_survives(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "mkdocs.yml": "site_name: x\nmarkdown_extensions: [admonition]\n",
        "docs/index.md": '# Page\n\n!!! warning "Careful"\n    Hot.\n\nAfter.\n',
    }
    assert ADMONITION + '\n<p dir="auto">After.' in page(read(tmp_path, files), "index.md").html


def test_unclosed_admonition_keeps_what_follows(tmp_path: Path) -> None:
    found = page(read(tmp_path, {"page.md": "# Page\n\n" + ":::note\n\n" * 40 + "> - :::\n\nAfter.\n"}))
    assert "After." in found.html
    assert "After." in found.text


@pytest.mark.parametrize(
    ("link", "href"),
    [
        ("other.md", "sub/other"),
        ("sub/other.md#part", "sub/other#part"),
        ("#here", "#here"),
        ("https://example.com/x?y=1#z", "https://example.com/x?y=1#z"),
        ("mailto:a@example.org", "mailto:a@example.org"),
    ],
)
def test_links_lead_to_pages(tmp_path: Path, link: str, href: str) -> None:
    link = link.replace("other.md", "sub/other.md") if not link.startswith("sub") else link
    found = read(tmp_path, {"page.md": f"# Page\n\n[x]({link})\n", "sub/other.md": "# Other\n\nText.\n"})
    assert f'href="{href}"' in page(found).html


def test_link_from_a_folder_leads_up(tmp_path: Path) -> None:
    found = read(tmp_path, {"page.md": "# Page\n\nText.\n", "a/b.md": "# B\n\n[up](../page.md#x)\n"})
    assert 'href="../page#x"' in page(found, "a/b.md").html


def test_link_to_a_file_that_is_not_a_page(tmp_path: Path) -> None:
    """It leads to the published site, if there is one."""
    files: dict[str, str | bytes] = {"page.md": "# Page\n\n[x](data/table.csv) [y](javascript:alert(1)) Text.\n"}
    published = page(read(tmp_path, files)).html
    assert 'href="https://example.org/docs/data/table.csv"' in published
    assert 'href="javascript' not in published


def test_images_of_the_source_are_kept(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        {"page.md": "# Page\n\n![A](img/a.png) ![B](/img/b.svg) Text.\n", "img/a.png": PNG, "static/img/b.svg": SVG},
    )
    assert len(found.images) == len(page(found).images) == 2
    assert {name.rpartition(".")[2] for name in found.images} == {"png", "svg"}
    for name in found.images:
        assert f'src="/media/{name}"' in page(found).html


@pytest.mark.parametrize(
    "address", ["../secret.png", "/../secret.png", ".hidden.png", "link.png", "fake.png", "big.png"]
)
def test_other_files_are_not(tmp_path: Path, address: str) -> None:
    folder = tmp_path / "book"
    (tmp_path / "secret.png").write_bytes(PNG)
    folder.mkdir()
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    files: dict[str, str | bytes] = {
        "page.md": f"# Page\n\n![Alternative]({address}) Text.\n",
        ".hidden.png": PNG,
        "fake.png": b"<html><script>alert(1)</script>",
        "big.png": PNG + b"x" * 5_000_001,
    }
    found = read(folder, files)
    assert found.images == {}
    assert 'alt="Alternative"' in page(found).html
    assert "src=" not in page(found).html


def test_images_of_other_sites_are_not_loaded(tmp_path: Path) -> None:
    found = page(read(tmp_path, {"page.md": "# Page\n\n![Alternative](https://example.com/spy.png) Text.\n"}))
    assert "example.com" not in found.html


def test_changed_markup_changes_the_hash(tmp_path: Path) -> None:
    plain = page(read(tmp_path, {"page.md": "# Page\n\nText.\n"}))
    bold = page(read(tmp_path, {"page.md": "# Page\n\n**Text.**\n"}))
    assert plain.text == bold.text
    assert plain.content_hash != bold.content_hash


def test_the_same_file_gives_the_same_document_every_time(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"page.md": "# A\n\n```python\nx = 1\n```\n\n| a |\n|---|\n| 1 |\n"}
    assert len({page(read(tmp_path, files)).content_hash for _ in range(20)}) == 1


@pytest.mark.parametrize(
    ("markup", "html"),
    [
        (
            '<p>Use <span style="text-decoration: line-through">the <b>old</b> one</span>.</p>',
            "<del>the </del><b><del>old",
        ),
        ('<ul><li style="text-decoration:line-through">old</li></ul>', "<del>old</del>"),
        ('<p style="text-decoration:line-through">a <span class="math">x</span></p>', '<span class="math">x</span>'),
    ],
)
def test_text_that_a_style_deletes_is_shown_as_deleted(tmp_path: Path, markup: str, html: str) -> None:
    assert html in page(read(tmp_path, {"page.html": f"<main><h1>T</h1>{markup}</main>"}), "page.html").html
