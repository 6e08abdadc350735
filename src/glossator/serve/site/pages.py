"""All HTML of the server. Text of a book, a question or an answer goes through `escape`: it is data, never markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby, pairwise
from urllib.parse import urlsplit

from glossator.core.answers import Answer
from glossator.core.types import Block, BlockKind, Document
from glossator.store.index.documents import ContentsEntry

_SAFE_SCHEMES = ("http://", "https://", "file://", "/")
_CHAT = '<glossator-chat local></glossator-chat><script type="module" src="/widget.js"></script>'
_WRAPPERS = {
    BlockKind.ITEM: "<ul>{}</ul>",
    BlockKind.ROW: '<div class="wide" tabindex="0"><table>{}</table></div>',
}
_COVER = (
    "<h1>Ask the book</h1><p>Read the book here, and ask questions as you read: use the button in the corner, or select"
    " a few lines and ask about just those lines. Every sentence of an answer is checked against the page it cites, and"
    " the number after it opens that page at the quoted words.</p>"
)


def ask_page(
    contents: Sequence[ContentsEntry], question: str, answer: Answer | None, front: Document | None = None
) -> str:
    """The home page: an introduction, a form for browsers without scripts, the contents, and the book's front page."""
    form = (
        '<form action="/" method="get" role="search"><label for="q">Your question</label>'
        f'<input id="q" name="q" dir="auto" maxlength="32000" value="{escape(question)}">'
        '<button type="submit">Ask</button></form>'
    )
    first = f"<article>{''.join(_blocks(front))}</article>" if front and not answer else ""
    body = f"{_COVER}{form}{_answer(answer) if answer else ''}<h2>Contents</h2>{_contents(contents)}{first}"
    return _page("Glossator", f"<main>{body}</main>{_CHAT}")


def book_page(document: Document, contents: Sequence[ContentsEntry]) -> str:
    """One page of the book with its real anchors, the contents, and links to the pages before and after it."""
    before = {b.document_id: a for a, b in pairwise(contents)}.get(document.document_id)
    after = {a.document_id: b for a, b in pairwise(contents)}.get(document.document_id)
    pager = "".join(
        f'<a rel="{rel}" href="{escape(_local_path(entry.url))}">{arrow} {escape(entry.title)}</a>'
        for rel, arrow, entry in (("prev", "←", before), ("next", "→", after))
        if entry
    )
    return _page(
        document.title,
        f'<nav aria-label="Contents"><p><a href="/">Ask the book</a></p>'
        f"{_contents(contents, document.document_id)}</nav>"
        f'<main><article>{"".join(_blocks(document))}</article><p class="pager">{pager}</p></main>{_CHAT}',
        "reading",
    )


def missing_page() -> str:
    """The page for an unknown path."""
    body = '<h1>Not found</h1><p>This page is not in the book. <a href="/">Ask the book</a></p>'
    return _page("Not found", f"<main>{body}</main>")


def problem_page(message: str) -> str:
    """The page for an error, with its message."""
    body = f'<h1>Ask the book</h1><p>{escape(message)}</p><p><a href="/">Try again</a></p>'
    return _page("Glossator", f"<main>{body}</main>")


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


def _answer(answer: Answer) -> str:
    if answer.abstained:
        near = "".join(f"<li>{_link(s.url, f'{s.title} › {s.section}')}</li>" for s in answer.suggestions)
        return (
            f'<section aria-live="polite"><p>{escape(answer.text)}</p><p>Nearest sections:</p><ul>{near}</ul></section>'
        )
    text = " ".join(
        f"{escape(s.text)} "
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


def _blocks(document: Document) -> Iterator[str]:
    if not any(block.kind is BlockKind.HEADING and block.level == 1 for block in document.blocks[:3]):
        yield f'<h1 dir="auto">{escape(document.title)}</h1>'
    for kind, group in groupby(document.blocks, key=lambda block: block.kind):
        rendered = "".join(_block(document.text[b.start : b.end], b) for b in group)
        yield _WRAPPERS.get(kind, "{}").format(rendered)


def _block(text: str, block: Block) -> str:
    if block.kind is BlockKind.HEADING:
        anchor = f' id="{escape(block.anchor)}"' if block.anchor else ""
        return f'<h{block.level}{anchor} dir="auto">{escape(text)}</h{block.level}>'
    if block.kind is BlockKind.CODE:
        _, _, code = text.partition("\n")
        return f'<pre tabindex="0"><code>{escape(code.rpartition(chr(10))[0])}</code></pre>'
    if block.kind is BlockKind.ROW:
        return "<tr>" + "".join(f'<td dir="auto">{escape(cell)}</td>' for cell in text.split(" | ")) + "</tr>"
    tag = "li" if block.kind is BlockKind.ITEM else "p"
    return f'<{tag} dir="auto">{escape(text)}</{tag}>'
