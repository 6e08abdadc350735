"""HTML pages. Every word of a book, a question or an answer goes through `escape`: it is data, never markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby, pairwise
from urllib.parse import urlsplit

from glossator.core.answers import Answer
from glossator.core.types import Block, BlockKind, Document
from glossator.store.index.documents import Entry

_SAFE_SCHEMES = ("http://", "https://", "file://", "/")
_CHAT = '<glossator-chat local></glossator-chat><script type="module" src="/widget.js"></script>'
_AROUND = {
    BlockKind.ITEM: "<ul>{}</ul>",
    BlockKind.ROW: '<div class="wide" tabindex="0"><table>{}</table></div>',
}
_COVER = (
    "<h1>Ask the book</h1><p>Read it here, and ask while you read: with the button in the corner, or by selecting a few"
    " lines and asking about just these. Every sentence of an answer is checked against the page that it cites, and the"
    " mark behind it opens that page at the words.</p>"
)


def ask_page(contents: Sequence[Entry], question: str, answer: Answer | None, front: Document | None = None) -> str:
    """The cover: what can be done here, a form for browsers without scripts, the table of contents, and the book's own
    front page if it has one."""
    form = (
        '<form action="/" method="get" role="search"><label for="q">Your question</label>'
        f'<input id="q" name="q" dir="auto" maxlength="32000" value="{escape(question)}">'
        '<button type="submit">Ask</button></form>'
    )
    first = f"<article>{''.join(_blocks(front))}</article>" if front and not answer else ""
    body = f"{_COVER}{form}{_answer(answer) if answer else ''}<h2>Contents</h2>{_contents(contents)}{first}"
    return _page("Glossator", f"<main>{body}</main>{_CHAT}")


def book_page(document: Document, contents: Sequence[Entry]) -> str:
    """One page of the book with its real anchors, among the others."""
    before = {b.document_id: a for a, b in pairwise(contents)}.get(document.document_id)
    after = {a.document_id: b for a, b in pairwise(contents)}.get(document.document_id)
    turns = "".join(
        f'<a rel="{rel}" href="{escape(_here(entry.url))}">{arrow} {escape(entry.title)}</a>'
        for rel, arrow, entry in (("prev", "←", before), ("next", "→", after))
        if entry
    )
    return _page(
        document.title,
        f'<nav aria-label="Contents"><p><a href="/">Ask the book</a></p>'
        f"{_contents(contents, document.document_id)}</nav>"
        f'<main><article>{"".join(_blocks(document))}</article><p class="turns">{turns}</p></main>{_CHAT}',
        "reading",
    )


def missing_page() -> str:
    """A page that is not there."""
    body = '<h1>Not found</h1><p>This page is not in the book. <a href="/">Ask the book</a></p>'
    return _page("Not found", f"<main>{body}</main>")


def problem_page(message: str) -> str:
    """What a reader sees when no answer can be given."""
    body = f'<h1>Ask the book</h1><p>{escape(message)}</p><p><a href="/">Try again</a></p>'
    return _page("Glossator", f"<main>{body}</main>")


def _page(title: str, body: str, kind: str = "") -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/style.css">'
        f'<link rel="icon" href="data:,"></head><body class="{kind}">{body}</body></html>'
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


def _contents(contents: Sequence[Entry], here: str = "") -> str:
    out = []
    for above, group in groupby(contents, key=lambda entry: entry.chapters[:-1]):
        items = "".join(_item(entry, current=entry.document_id == here) for entry in group)
        out.append(f"{f'<p class=part>{escape(above[-1])}</p>' if above else ''}<ul>{items}</ul>")
    return "".join(out)


def _item(entry: Entry, *, current: bool) -> str:
    mark = ' aria-current="page"' if current else ""
    return f'<li><a dir="auto"{mark} href="{escape(_here(entry.url))}">{escape(entry.title)}</a></li>'


def _here(url: str) -> str:
    """A page's address on this server: the same path, whatever host the book was ingested from."""
    return "/" + urlsplit(url).path.lstrip("/")


def _link(url: str, text: str) -> str:
    """A link, if its address is one that a page may hold."""
    if not url.startswith(_SAFE_SCHEMES):
        return escape(text)
    parts = urlsplit(url)
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f'<a href="{escape(_here(url) + fragment)}">{escape(text)}</a>'


def _blocks(document: Document) -> Iterator[str]:
    if not any(block.kind is BlockKind.HEADING and block.level == 1 for block in document.blocks[:3]):
        yield f'<h1 dir="auto">{escape(document.title)}</h1>'
    for kind, group in groupby(document.blocks, key=lambda block: block.kind):
        rendered = "".join(_block(document.text[b.start : b.end], b) for b in group)
        yield _AROUND.get(kind, "{}").format(rendered)


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
