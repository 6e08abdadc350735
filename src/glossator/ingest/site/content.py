"""One page of a live site: its text, its links and its metadata."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser

from glossator.ingest.fetch.urls import joined
from glossator.ingest.formats.html import ExtractedPage, extract_parsed, parse_page
from glossator.ingest.parsing.pool import ParserPool
from glossator.ingest.parsing.values import ParseContext, extracted_page, extracted_values, strings
from glossator.ingest.site.charset import decode

if TYPE_CHECKING:  # the child process needs no HTTP client
    from glossator.ingest.fetch.client import Response

MAX_LINKS = 5_000
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_BOILERPLATE = ", ".join(
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
_FOR_ROBOT = re.compile(r"\s*(?!unavailable_after|max-)([a-z][\w-]*)\s*:(.*)", re.IGNORECASE)
"""Rules for one robot in a header. A few rules have a colon as well."""
_REFRESH = re.compile(r"\s*+[\d.]*+\s*+[;,]?\s*+url\s*+=\s*+[\"']?([^\"']+)", re.IGNORECASE)


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


def site_parser() -> ParserPool[SitePage]:
    """Reads pages in a child process, one after the other; close it to end the process."""
    context = ParseContext("", "site", 0)
    return ParserPool("glossator.ingest.site.content:page_response", context, _page, max_processes=1)


def read_page(response: Response, parser: ParserPool[SitePage]) -> SitePage:
    """Read the main content of a page, and what else it says; a SourceError if it cannot be parsed."""
    body = base64.b64encode(response.body).decode("ascii")
    (page,) = parser.submit([((response.url, response.content_type, response.robots, body), None)])
    return replace(page.result(), url=response.url, unchanged=response.unchanged)


def page_response(item: tuple[str, str, str, str], _context: ParseContext) -> str:
    """A page as JSON, in the child process."""
    url, content_type, robots, body = item
    page = _parse(url, robots, decode(base64.b64decode(body), content_type))
    names = ("canonical", "site_name", "links", "is_indexed", "base")
    return json.dumps({name: getattr(page, name) for name in names} | {"page": extracted_values(page.extracted)})


def _page(values: dict[str, Any]) -> SitePage:
    """A page; a ValueError, TypeError or KeyError if the values are not those of one."""
    canonical, site_name, base = strings(values[name] for name in ("canonical", "site_name", "base"))
    page = extracted_page(values["page"])
    return SitePage("", canonical, site_name, strings(values["links"]), bool(values["is_indexed"]), page, base)


def _parse(url: str, robots: str, html: str) -> SitePage:
    notes: list[str] = []
    tree = parse_page(html, notes)
    base = urljoin(url, _attribute(tree, "base[href]", "href"))
    rules = _robots_rules(tree, robots)
    canonical = _attribute(tree, "link[rel~=canonical][href]", "href")
    links = (*_redirect(tree, base), *(() if rules & {"nofollow", "none"} else _links(tree, base)))
    site_name = _attribute(tree, "meta[property='og:site_name'][content]", "content")
    _remove_boilerplate(tree)
    extracted = extract_parsed(tree, notes)
    is_indexed = not rules & {"noindex", "none"}
    own = (canonical and joined(base, canonical)) or url
    return SitePage(url, own, site_name, links, is_indexed, extracted, base)


def _attribute(tree: LexborHTMLParser, selector: str, name: str) -> str:
    node = tree.css_first(selector)
    return (node.attributes.get(name) or "").strip() if node is not None else ""


def _robots_rules(tree: LexborHTMLParser, header: str) -> set[str]:
    """The rules for robots on the page and in its header; those for another robot by name do not count."""
    found = [node.attributes.get("content") or "" for node in tree.css("meta[name=robots i], meta[name=glossator i]")]
    found += [rule for line in header.splitlines() for rule in _header_rules(line)]
    return {word for text in found for word in _WORDS.split(text.lower()) if word}


def _header_rules(header: str) -> Iterator[str]:
    """The rules of one header for all robots, and for this one by name."""
    robot = ""
    for part in header.split(","):
        named = _FOR_ROBOT.fullmatch(part)
        robot, rule = (named[1].lower(), named[2]) if named else (robot, part)
        if robot in ("", "glossator"):
            yield rule


def _redirect(tree: LexborHTMLParser, base: str) -> tuple[str, ...]:
    """Where a page without text of its own redirects to."""
    found = _REFRESH.match(_attribute(tree, "meta[http-equiv=refresh i][content]", "content"))
    target = joined(base, found[1]) if found else None
    return (target,) if target else ()


def _links(tree: LexborHTMLParser, base: str) -> tuple[str, ...]:
    nodes = tree.css("a[href]:not([rel~=nofollow]), area[href]")[:MAX_LINKS]
    return tuple(dict.fromkeys(filter(None, (joined(base, node.attributes.get("href") or "") for node in nodes))))


def _remove_boilerplate(tree: LexborHTMLParser) -> None:
    """Remove what surrounds the text of every page of a site, and dialogs about cookies."""
    content = {node.mem_id for node in tree.css(_CONTENT)}
    found = list(tree.css(_BOILERPLATE))
    for node in tree.css("div[id], div[class], aside[id], aside[class]"):
        names = f"{node.id or ''} {node.attributes.get('class') or ''}"
        if node.mem_id not in content and _BANNER.search(names):
            found.append(node)
    inside = {child.mem_id for node in found for child in node.traverse() if child.mem_id != node.mem_id}
    for node in found:
        if node.mem_id not in inside:  # those inside go with it
            node.decompose()
