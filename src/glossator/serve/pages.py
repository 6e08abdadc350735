"""HTML pages. Every word of a book, a question or an answer goes through `escape`: it is data, never markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from glossator.core.types import Answer, Block, BlockKind, Document
from glossator.store.documents import Entry

_SAFE_SCHEMES = ("http://", "https://", "file://", "/")


def ask_page(contents: Sequence[Entry], question: str, answer: Answer | None) -> str:
    """A question, its answer, and the table of contents."""
    form = (
        '<form action="/" method="get" role="search"><label for="q">Your question</label>'
        f'<input id="q" name="q" dir="auto" maxlength="32000" value="{escape(question)}" autofocus>'
        '<button type="submit">Ask</button></form>'
    )
    body = f"<h1>Ask the book</h1>{form}{_answer(answer) if answer else ''}<h2>Contents</h2>{_contents(contents)}"
    return _page("Glossator", body)


def book_page(document: Document) -> str:
    """One page of the book, with its real anchors."""
    return _page(document.title, f'<p><a href="/">Ask the book</a></p><article>{"".join(_blocks(document))}</article>')


def missing_page() -> str:
    """A page that is not there."""
    return _page("Not found", '<h1>Not found</h1><p>This page is not in the book. <a href="/">Ask the book</a></p>')


def problem_page(message: str) -> str:
    """What a reader sees when no answer can be given."""
    return _page("Glossator", f'<h1>Ask the book</h1><p>{escape(message)}</p><p><a href="/">Try again</a></p>')


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/style.css">'
        f"</head><body><main>{body}</main></body></html>"
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


def _contents(contents: Sequence[Entry]) -> str:
    out = []
    for above, group in groupby(contents, key=lambda entry: entry.chapters[:-1]):
        items = "".join(f"<li>{_link(entry.url, entry.title)}</li>" for entry in group)
        out.append(f"{f'<h3>{escape(above[-1])}</h3>' if above else ''}<ul>{items}</ul>")
    return "".join(out)


def _link(url: str, text: str) -> str:
    """A link, if its address is one that a page may hold."""
    if not url.startswith(_SAFE_SCHEMES):
        return escape(text)
    return f'<a href="{escape(url)}">{escape(text)}</a>'


def _blocks(document: Document) -> Iterator[str]:
    if not any(block.kind is BlockKind.HEADING and block.level == 1 for block in document.blocks[:3]):
        yield f"<h1>{escape(document.title)}</h1>"
    for kind, group in groupby(document.blocks, key=lambda block: block.kind):
        rendered = "".join(_block(document.text[b.start : b.end], b) for b in group)
        wrapper = {BlockKind.ITEM: "ul", BlockKind.ROW: "table"}.get(kind)
        yield f"<{wrapper}>{rendered}</{wrapper}>" if wrapper else rendered


def _block(text: str, block: Block) -> str:
    if block.kind is BlockKind.HEADING:
        anchor = f' id="{escape(block.anchor)}"' if block.anchor else ""
        return f'<h{block.level}{anchor} dir="auto">{escape(text)}</h{block.level}>'
    if block.kind is BlockKind.CODE:
        _, _, code = text.partition("\n")
        return f"<pre><code>{escape(code.rpartition(chr(10))[0])}</code></pre>"
    if block.kind is BlockKind.ROW:
        return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in text.split(" | ")) + "</tr>"
    tag = "li" if block.kind is BlockKind.ITEM else "p"
    return f'<{tag} dir="auto">{escape(text)}</{tag}>'
