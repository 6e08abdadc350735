"""Deep links in a browser: which words a page highlights when a citation opens it."""

from __future__ import annotations

import base64
import random
from dataclasses import dataclass
from urllib.parse import unquote

from playwright.sync_api import BrowserContext, Page

from glossator.core.text.links import deep_link
from glossator.core.types import CELL_SEPARATOR
from glossator.facade import Book

MIN_SHARE, MAX_ELSEWHERE = 0.5, 0.02
"""Of the area of the first words, which the letters cover in part; of the highlighted area outside the quote."""
STYLE = "::target-text { background-color: #ff00ff !important; color: #000000 !important; }"
PLACES = """
([quote, opening]) => {
    const letters = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode())
        for (let at = 0; at < node.data.length; at++)
            if (node.data[at].trim()) letters.push([node, at, node.data[at].toLowerCase()]);
    const text = letters.map((letter) => letter[2]).join("");
    const places = (words) => {
        const wanted = words.replace(/\\s+/g, "").toLowerCase(), found = [];
        for (let at = text.indexOf(wanted); wanted && at >= 0; at = text.indexOf(wanted, at + 1)) {
            const last = letters[at + wanted.length - 1], range = document.createRange();
            range.setStart(letters[at][0], letters[at][1]);
            range.setEnd(last[0], last[1] + 1);
            found.push([...range.getClientRects()].map((box) => [box.left, box.top, box.right, box.bottom]));
        }
        return found;
    };
    return [places(quote), places(opening)];
}
"""
"""The rectangles of every place where the words are, whatever elements and spaces are between them."""
MEASURE = """
async ([picture, quotes, openings]) => {
    const image = await createImageBitmap(await (await fetch("data:image/png;base64," + picture)).blob());
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    const holds = (boxes, x, y, edge) => boxes.some(
        (box) => x >= box[0] - edge && x < box[2] + edge && y >= box[1] - edge && y < box[3] + edge);
    const area = openings.map(() => 0), lit = openings.map(() => 0);
    let all = 0, elsewhere = 0;
    for (let y = 0; y < image.height; y++)
        for (let x = 0; x < image.width; x++) {
            const at = 4 * (y * image.width + x);
            const isLit = data[at] > 240 && data[at + 1] < 15 && data[at + 2] > 240;
            all += isLit;
            elsewhere += isLit && !quotes.some((boxes) => holds(boxes, x, y, 2));
            openings.forEach((boxes, place) => {
                if (!holds(boxes, x, y, 0)) return;
                area[place]++;
                lit[place] += isLit;
            });
        }
    return [Math.max(0, ...area.map((size, place) => lit[place] / (size || 1))), elsewhere / (all || 1)];
}
"""


@dataclass(frozen=True, slots=True)
class Link:
    """A deep link as citations have it, and the words that it must highlight."""

    url: str
    quote: str

    @property
    def opening(self) -> str:
        """The first words that the link selects; empty if it has an anchor only."""
        parts = self.url.partition(":~:text=")[2].split(",")
        return next((unquote(part) for part in parts if not part.endswith("-")), "")


@dataclass(frozen=True, slots=True)
class Highlight:
    """The share of the first words that is highlighted, and the share of what is highlighted that is not the quote."""

    share: float
    elsewhere: float

    @property
    def is_right(self) -> bool:
        return self.share >= MIN_SHARE and self.elsewhere <= MAX_ELSEWHERE


def sampled_links(book: Book, count: int, address: str = "") -> list[Link]:
    """Links to sentences of a book, as an answer that quotes them has; `address` is that of its server."""
    generation = book.engine.generation()
    chunks = generation.index.chunks(range(generation.manifest.chunks))
    sentences = [(chunk, span) for chunk in chunks for span in chunk.sentences]
    chosen = random.Random(5).sample(sentences, min(count, len(sentences)))  # noqa: S311 - a sample
    links = []
    for chunk, span in chosen:
        page = generation.documents.get(chunk.document_id)
        assert page
        start, end = chunk.start + span.start, chunk.start + span.end
        url = deep_link(chunk.url, chunk.anchor, page.text, start, end)
        words = max(page.text[start:end].split(CELL_SEPARATOR), key=len)  # of a table row, the longest cell
        links.append(Link(address + url if url.startswith("/") else url, words))
    return links


def highlight_of(page: Page, canvas: Page, link: Link) -> Highlight:
    """Open a link in a page of a context with `bypass_csp`, and look at the picture; `canvas` is an empty page."""
    page.goto("about:blank")  # a fragment of the page that is open would not load it again
    page.goto(link.url)
    page.add_style_tag(content=STYLE)
    picture = base64.b64encode(page.screenshot(animations="disabled")).decode()
    quotes, openings = page.evaluate(PLACES, [link.quote, link.opening])
    share, elsewhere = canvas.evaluate(MEASURE, [picture, quotes or openings, openings])
    return Highlight(share, elsewhere)


def highlights(context: BrowserContext, links: list[Link]) -> list[Highlight]:
    """What each link highlights."""
    page, canvas = context.new_page(), context.new_page()
    found = [highlight_of(page, canvas, link) for link in links]
    page.close()
    canvas.close()
    return found
