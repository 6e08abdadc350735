"""One page of a live site: its text, its links and its metadata."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser

from glossator.ingest.fetch.client import Response
from glossator.ingest.fetch.urls import joined
from glossator.ingest.formats.html import ExtractedPage, extract_parsed, parse_page
from glossator.ingest.site.charset import decode

MAX_LINKS = 5_000
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_FURNITURE = ", ".join(
    "[role=navigation] [role=search] [role=contentinfo] [role=dialog] [role=alertdialog] [role=banner]:not(:has(h1))"
    " body>header:not(:has(h1))".split()
)
_BANNER = re.compile(
    r"(?:^|\s)(?:(?:cookie|consent|gdpr|cc)[-_]?(?:banner|bar|box|consent|dialog|message|modal|notice|overlay|popup|window)"
    r"|onetrust-[\w-]+|md-consent|CybotCookiebotDialog|announcement-?bar)(?:$|\s|[-_])",
    re.IGNORECASE,
)
_CONTENT = ", ".join(f"{main} {tag}" for main in ("main", "article", "[role=main]") for tag in ("div", "aside"))
_WORDS = re.compile(r"[\s,]+")


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page as it was fetched: `canonical` is where it says that it belongs, `links` the pages that it leads to."""

    url: str
    canonical: str
    site_name: str
    links: tuple[str, ...]
    is_indexed: bool
    extracted: ExtractedPage
    base: str
    """The URL that its links are relative to."""
    unchanged: bool = False


def read_page(response: Response) -> SitePage:
    """Read the main content of a page, and what else it says."""
    notes: list[str] = []
    tree = parse_page(decode(response.body, response.content_type), notes)
    base = urljoin(response.url, _attribute(tree, "base[href]", "href"))
    rules = _robots_rules(tree, response.robots)
    canonical = _attribute(tree, "link[rel~=canonical][href]", "href")
    links = () if rules & {"nofollow", "none"} else _links(tree, base)
    site_name = _attribute(tree, "meta[property='og:site_name'][content]", "content")
    _remove_furniture(tree)
    extracted = extract_parsed(tree, notes)
    is_indexed = not rules & {"noindex", "none"}
    own = (canonical and joined(base, canonical)) or response.url
    return SitePage(response.url, own, site_name, links, is_indexed, extracted, base, response.unchanged)


def _attribute(tree: LexborHTMLParser, selector: str, name: str) -> str:
    node = tree.css_first(selector)
    return (node.attributes.get(name) or "").strip() if node is not None else ""


def _robots_rules(tree: LexborHTMLParser, header: str) -> set[str]:
    """The rules for robots on the page and in its header; those for another robot by name do not count."""
    found = [node.attributes.get("content") or "" for node in tree.css("meta[name=robots i], meta[name=glossator i]")]
    agent, colon, rules = header.partition(":")
    found.append(rules if colon and agent.strip().lower() == "glossator" else header)
    return {word for text in found for word in _WORDS.split(text.lower()) if word}


def _links(tree: LexborHTMLParser, base: str) -> tuple[str, ...]:
    nodes = tree.css("a[href]:not([rel~=nofollow]), area[href]")[:MAX_LINKS]
    return tuple(dict.fromkeys(filter(None, (joined(base, node.attributes.get("href") or "") for node in nodes))))


def _remove_furniture(tree: LexborHTMLParser) -> None:
    """Remove what surrounds the text of every page of a site, and dialogs about cookies."""
    content = {node.mem_id for node in tree.css(_CONTENT)}
    found = list(tree.css(_FURNITURE))
    for node in tree.css("div[id], div[class], aside[id], aside[class]"):
        names = f"{node.id or ''} {node.attributes.get('class') or ''}"
        if node.mem_id not in content and _BANNER.search(names):
            found.append(node)
    inside = {child.mem_id for node in found for child in node.traverse() if child.mem_id != node.mem_id}
    for node in found:
        if node.mem_id not in inside:  # those inside go with it
            node.decompose()
