"""Reading the book section by section over MCP."""

from __future__ import annotations

import pytest
from mcp import Client

from glossator.pipeline.wiring import Engine
from glossator.serve.mcp.sections import SectionedPage, split_sections
from glossator.serve.mcp.tools import MAX_SECTION_LENGTH
from mcp_book import (
    BASE,
    call_tool,
    text_of,
    tool_error,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@pytest.mark.parametrize(
    ("arguments", "section"),
    [
        ({"url": f"{BASE}/tides"}, "Tides"),
        ({"url": f" {BASE}/tides/ "}, "Tides"),
        ({"url": f"{BASE}/tides#spring-tides"}, "Spring tides"),
        ({"url": f"{BASE}/tides#:~:text=They%20have%20the"}, "Spring tides"),
        ({"url": f"{BASE}/tides#tides:~:text=new%20moon-,and%20at"}, "Spring tides"),
        ({"url": f"{BASE}/tides#spring-tides:~:text=gone%20since"}, "Spring tides"),
        ({"url": f"{BASE}/café"}, "Café"),
        ({"url": f"{BASE}/caf%C3%A9#caf%C3%A9"}, "Café"),
        ({"url": f"{BASE}/café#café"}, "Café"),
        ({"title": "Tides", "section": "Spring tides"}, "Spring tides"),
        ({"title": " tides", "section": "ÉBB &  flow"}, "Slack water"),
        ({"title": "Tides"}, "Tides"),
        ({"title": "Old", "section": "old"}, "Old"),
        ({"url": "", "title": "Old", "section": "Rope"}, "Rope"),
        ({"url": f"{BASE}/tides", "title": "Old", "section": ""}, "Tides"),
    ],
    ids=str,
)
async def test_section_is_found_by_any_of_its_names(client: Client, arguments: dict[str, str], section: str) -> None:
    assert (await call_tool(client, "read_section", **arguments))["section"] == section


async def test_consecutive_headings_are_one_section(client: Client) -> None:
    read = await call_tool(client, "read_section", title="Tides", section="Slack water")
    assert read["text"].startswith("Ébb & flow\n\nSlack water\n\nSlack water is the short time")
    assert read == await call_tool(client, "read_section", url=f"{BASE}/tides#%C3%A9bb--flow")


async def test_whole_book_can_be_read_in_both_directions(client: Client, engine: Engine) -> None:
    documents = list(engine.generation().documents.all())
    read = [await call_tool(client, "read_section", url=documents[0].url)]
    while read[-1]["next_url"]:
        read.append(await call_tool(client, "read_section", url=read[-1]["next_url"]))
    pages = [SectionedPage(document, split_sections(document)) for document in documents]
    everything = [page.text(n) for page in pages for n in range(len(page.sections))]
    assert [section["text"] for section in read] == [text[:MAX_SECTION_LENGTH] for text in everything]
    assert [section["section"] for section in read].count("Notes") == 2
    assert [section["previous_url"] for section in read] == [None, *(section["url"] for section in read[:-1])]
    for document in documents:
        whole = "".join(document.text[s.start : s.end] for s in split_sections(document))
        assert whole == (document.text if document.blocks else "")


async def test_long_section_is_truncated_and_marked(client: Client) -> None:
    result = await client.call_tool("read_section", {"title": "Long"})
    read = result.structured_content
    assert (read["truncated"], len(read["text"])) == (True, MAX_SECTION_LENGTH)
    assert "Cut at 20,000 characters" in text_of(result)
    assert not (await call_tool(client, "read_section", title="Café"))["truncated"]


@pytest.mark.parametrize("query", ["hemp rope shrinks", "sisal tar", "barnacle 700", "slack water", "keeper log"])
async def test_every_passage_links_to_its_section(client: Client, query: str) -> None:
    for passage in (await call_tool(client, "search_book", query=query, top_k=20))["passages"]:
        read = await call_tool(client, "read_section", url=passage["section_url"])
        assert read["section"] == passage["section"]
        assert read["truncated"] or passage["text"] in read["text"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"url": f"{BASE}/nowhere"}, "search_book"),
        ({"url": f"{BASE}/tides#nowhere"}, "search_book"),
        ({"url": f"{BASE}/void"}, "search_book"),
        ({"url": "file:///etc/passwd"}, "search_book"),
        ({"url": "../../../etc/passwd"}, "search_book"),
        ({"url": "http://[::1"}, "search_book"),
        ({"url": "#:~:text=Tides"}, "search_book"),
        ({"url": " "}, "Pass a url"),
        ({"title": "Nothing"}, "search_book"),
        ({"title": "Tides", "section": "Nowhere"}, "search_book"),
        ({"section": "Spring tides"}, "Pass a url"),
        ({}, "Pass a url"),
        ({"url": "x\0"}, "NUL"),
        ({"title": "x\0"}, "NUL"),
        ({"url": "x" * 32_001}, "url: "),
        ({"title": "x" * 501}, "title: "),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_unknown_section_is_rejected_with_a_remedy(
    client: Client, arguments: dict[str, str], expected: str
) -> None:
    assert expected in await tool_error(client, "read_section", **arguments)
