"""The pages of the server. Text goes through `escape`; the HTML of a book comes from the sanitizer only."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise
from urllib.parse import quote, urlencode, urlsplit

from glossator.core.answers import Answer
from glossator.core.types import CELL_SEPARATOR, Block, BlockKind, ContentsEntry, Document
from glossator.serve.site.book import ServedBook
from glossator.serve.site.markup import page_html, text_html

_SAFE_SCHEMES = ("http://", "https://", "/")
_FRAME = '<div class="wide" tabindex="0">'
"""Around a table, which scrolls there if it is wider than the page."""
_WRAPPERS = {
    BlockKind.ITEM: "<ul>{}</ul>",
    BlockKind.ROW: f"{_FRAME}<table>{{}}</table></div>",
}
DEFAULT_NAME = "Ask the book"
"""For a book without a name."""
_INTRODUCTION = (
    "<p>Read the book here, and ask questions as you read: use the button in the corner, or select a few lines and ask"
    " about just those lines. Every sentence of an answer is checked against the page it cites, and the number after it"
    " opens that page at the quoted words.</p>"
)
_PAGE_CONTENTS_LEVELS = (2, 3)
_MIN_PAGE_CONTENTS = 3
"""A page with fewer headings needs no contents of its own."""
_DIRECTION_SAMPLE = 20_000
"""Characters of a page that decide its direction."""


@dataclass(frozen=True, slots=True)
class HomePage:
    """What the home page shows besides the book: a question with its answer, example questions, the front page."""

    question: str
    answer: Answer | None
    examples: Sequence[str]
    front: Document | None


def ask_page(book: ServedBook, home: HomePage) -> str:
    """The home page: the book's title, a form for browsers without scripts, the contents, and the book's front page."""
    form = (
        f'<form action="{book.prefix}/" method="get" role="search"><label for="q">Your question</label>'
        f'<input id="q" name="q" dir="auto" maxlength="32000" value="{escape(home.question)}">'
        '<button type="submit">Ask</button></form>'
    )
    front = home.front if not home.answer else None
    first = f"<article>{_body(front, book.prefix, keeps_title=False)}</article>" if front else ""
    name = book.name or DEFAULT_NAME
    body = (
        f'<h1 dir="auto">{escape(name)}</h1>{_INTRODUCTION}{form}{_examples(home.examples, book.prefix)}'
        f"{_answer(home.answer) if home.answer else ''}"
        '<h2 id="contents-title">Contents</h2>'
        f'<nav aria-labelledby="contents-title">{_contents(book.contents)}</nav>{first}'
    )
    return _page(name, f"<main>{body}</main>{_chat(book)}")


def book_page(document: Document, book: ServedBook) -> str:
    """One page of the book with its real anchors, both contents, and links to the pages before and after it."""
    before = {b.document_id: a for a, b in pairwise(book.contents)}.get(document.document_id)
    after = {a.document_id: b for a, b in pairwise(book.contents)}.get(document.document_id)
    pager = "".join(
        f'<a rel="{rel}" dir="auto" href="{escape(_local_path(entry.url))}">{arrow} {escape(entry.title)}</a>'
        for rel, arrow, entry in (("prev", "←", before), ("next", "→", after))
        if entry
    )
    name = book.name or DEFAULT_NAME
    title, _, text = _body(document, book.prefix).partition("</h1>")
    return _page(
        f"{document.title} – {name}",
        f'<button class="menu" popovertarget="contents" dir="auto">☰ {escape(document.title)}</button>'
        f'<nav id="contents" popover aria-label="Contents"><p class="book" dir="auto"><a href="{book.prefix}/">'
        f"{escape(name)}</a></p>{_contents(book.contents, document.document_id)}</nav>"
        f'<main><article dir="{_direction(document.text)}">{title}</h1>'
        f"{_page_contents(document)}{text}</article>"
        f'<nav class="pager" aria-label="Pages before and after">{pager}</nav></main>{_chat(book)}',
        "reading",
    )


def _direction(text: str) -> str:
    """The direction of most of a page's words: lists, tables and boxes follow it, paragraphs their own."""
    words = [unicodedata.bidirectional(word[0]) for word in text[:_DIRECTION_SAMPLE].split()]
    return "rtl" if sum(each in ("R", "AL") for each in words) > words.count("L") else "ltr"


def missing_page(prefix: str = "") -> str:
    """The page for an unknown path; the paths of the book begin with `prefix`."""
    body = f'<h1>Not found</h1><p>This page is not in the book. <a href="{prefix}/">Ask the book</a></p>'
    return _page("Not found", f"<main>{body}</main>")


def problem_page(message: str, prefix: str = "") -> str:
    """The page for an error, with its message; the paths of the book begin with `prefix`."""
    body = f'<h1>Error</h1><p>{escape(message)} <a href="{escape(prefix)}/">Ask the book</a></p>'
    return _page("Error", f"<main>{body}</main>")


def reference_page() -> str:
    """The page that Swagger UI fills with the API reference."""
    scripts = "".join(f'<script src="/docs/{name}"></script>' for name in ("swagger-ui-bundle.js", "start.js"))
    return _page("API reference", f'<div id="api"></div>{scripts}', style_sheet="/docs/swagger-ui.css")


def _page(title: str, body: str, body_class: str = "", style_sheet: str = "/style.css") -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="stylesheet" href="{escape(style_sheet)}"><link rel="icon" href="data:,"></head>'
        f'<body class="{escape(body_class)}">{body}</body></html>'
    )


def _chat(book: ServedBook) -> str:
    """The chat, with the name of the book, and the paths of its pages here by the beginnings of their URLs."""
    mounts = sorted((m for m in book.mounts if m.base_url), key=lambda mount: -len(mount.base_url))
    paths = json.dumps([(f"{mount.base_url}/", mount.path) for mount in mounts])
    scripts = "".join(f'<script type="module" src="{book.prefix}/{name}.js"></script>' for name in ("widget", "reader"))
    version = f' version="{escape(book.version)}"' if book.version else ""
    return f'<glossator-chat local="{escape(paths)}" book="{escape(book.name)}"{version}></glossator-chat>{scripts}'


def _examples(questions: Sequence[str], prefix: str) -> str:
    if not questions:
        return ""
    links = (f'<li dir="auto"><a href="{prefix}/?{urlencode({"q": one})}">{escape(one)}</a></li>' for one in questions)
    return f'<p class="part" id="examples">For example</p><ul aria-labelledby="examples">{"".join(links)}</ul>'


def _page_contents(document: Document) -> str:
    """The headings of a page, unless there are only a few."""
    headings = [
        block
        for block in document.blocks
        if block.kind is BlockKind.HEADING and block.level in _PAGE_CONTENTS_LEVELS and block.anchor
    ]
    if len(headings) < _MIN_PAGE_CONTENTS:
        return ""
    items = "".join(
        f'<li class="level-{block.level}" dir="auto"><a href="#{escape(quote(block.anchor))}">'
        f"{escape(document.text[block.start : block.end])}</a></li>"
        for block in headings
    )
    return f'<details class="page-contents"><summary>On this page</summary><ul>{items}</ul></details>'


def _answer(answer: Answer) -> str:
    if answer.abstained:
        near = "".join(f"<li>{_link(s.url, f'{s.title} › {s.section}')}</li>" for s in answer.suggestions)
        return (
            f'<section aria-live="polite"><p>{escape(answer.text)}</p>'
            f"<p>Sections that may help:</p><ul>{near}</ul></section>"
        )
    text = " ".join(
        f"{text_html(s.text)} "
        + "".join(f"<sup>{_link(answer.citations[n - 1].url, f'[{n}]')}</sup>" for n in s.citations)
        for s in answer.sentences
    )
    sources = "".join(f"<li>{_link(c.url, f'{c.title} › {c.section}')}</li>" for c in answer.citations)
    return f'<section aria-live="polite"><p dir="auto">{text}</p><ol class="sources">{sources}</ol></section>'


def _contents(contents: Sequence[ContentsEntry], current: str = "") -> str:
    out = []
    for chapters, group in groupby(contents, key=lambda entry: entry.chapters[:-1]):
        items = "".join(_item(entry, current=entry.document_id == current) for entry in group)
        out.append(f"{f'<p class=part>{escape(chapters[-1])}</p>' if chapters else ''}<ul>{items}</ul>")
    return "".join(out)


def _item(entry: ContentsEntry, *, current: bool) -> str:
    attribute = ' aria-current="page"' if current else ""
    return f'<li><a dir="auto"{attribute} href="{escape(_local_path(entry.url))}">{escape(entry.title)}</a></li>'


def _local_path(url: str) -> str:
    """The address of a page on this server: the same path, whatever host the book was ingested from."""
    return "/" + urlsplit(url).path.lstrip("/")


def _link(url: str, text: str) -> str:
    """A link, or plain text if the scheme of the URL is not safe."""
    if not url.startswith(_SAFE_SCHEMES):
        return escape(text)
    parts = urlsplit(url)
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f'<a href="{escape(_local_path(url) + fragment)}">{escape(text)}</a>'


def _body(document: Document, prefix: str, *, keeps_title: bool = True) -> str:
    """The page as the book has it, below its title; without HTML of its own, block by block."""
    title = next((b for b in document.blocks[:3] if b.kind is BlockKind.HEADING and b.level == 1), None)
    top = "h1" if keeps_title else "h2"
    above = "" if title else f'<{top} dir="auto">{escape(document.title)}</{top}>'
    has_title = title is not None and keeps_title
    if document.html:
        html = page_html(document.html, _local_path(document.url), prefix, has_title=has_title)
        return above + html.replace("<table", '<div class="wide" tabindex="0"><table').replace(
            "</table>", "</table></div>"
        )
    return above + "".join(_blocks(document, title if has_title else None))


def _blocks(document: Document, title: Block | None) -> Iterator[str]:
    for kind, group in groupby(document.blocks, key=lambda block: block.kind):
        rendered = "".join(_block(document.text[b.start : b.end], b, is_title=b is title) for b in group)
        yield _WRAPPERS.get(kind, "{}").format(rendered)


def _block(text: str, block: Block, *, is_title: bool) -> str:
    if block.kind is BlockKind.HEADING:
        anchor = f' id="{escape(block.anchor)}"' if block.anchor else ""
        level = 1 if is_title else max(2, block.level)
        return f'<h{level}{anchor} dir="auto">{escape(text)}</h{level}>'
    if block.kind is BlockKind.CODE:
        _, _, code = text.partition("\n")
        return f'<pre tabindex="0"><code>{escape(code.rpartition(chr(10))[0])}</code></pre>'
    if block.kind is BlockKind.ROW:
        return "<tr>" + "".join(f'<td dir="auto">{escape(cell)}</td>' for cell in text.split(CELL_SEPARATOR)) + "</tr>"
    tag = "li" if block.kind is BlockKind.ITEM else "p"
    return f'<{tag} dir="auto">{escape(text)}</{tag}>'
