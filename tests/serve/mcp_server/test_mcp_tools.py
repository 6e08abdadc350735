"""The MCP tools: searching, asking, invalid arguments, hostile pages, failures."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from data_dirs import copy_data
from glossator import pipeline
from glossator.core.answers import UnsupportedClaim
from glossator.core.question import DraftRequest, Question
from glossator.core.settings import load_settings
from glossator.core.types import Filters, Passage
from glossator.pipeline.wiring import Engine, wire
from glossator.serve.mcp.server import create_mcp_server
from glossator.serve.mcp.tools import TOOLS
from mcp_book import (
    BASE,
    MOON,
    ORDERS,
    call_tool,
    text_of,
    tool_error,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@pytest.mark.parametrize(
    "filters", [{"section": "Spring tides"}, {"chapter": "Café"}, {"source_url_prefix": "/book/old"}]
)
async def test_filters_narrow_a_search(client: Client, engine: Engine, filters: dict[str, str]) -> None:
    found = await call_tool(client, "search_book", query=MOON, **filters)
    expected = await pipeline.search(engine, Question(MOON, filters=Filters(**filters)))
    assert [p["chunk_id"] for p in found["passages"]] == [p.chunk_id for p in expected.passages]
    assert found["passages"]


async def test_empty_search_result_is_reported(client: Client) -> None:
    result = await client.call_tool("search_book", {"query": MOON, "chapter": "Nowhere"})
    assert result.structured_content == {"query": MOON, "passages": [], "generation": 1}
    assert "fewer filters" in text_of(result)


async def test_abstention_includes_suggestions(client: Client) -> None:
    result = await client.call_tool("ask_book", {"question": "Who won the 1998 football world cup?"})
    answer_values = result.structured_content
    assert (answer_values["abstained"], answer_values["mode"], answer_values["citations"]) == (True, "no_results", [])
    assert answer_values["suggestions"]
    for near in answer_values["suggestions"]:
        assert near["url"] in text_of(result)
        assert (await call_tool(client, "read_section", url=near["url"]))["section"] == near["section"]


async def test_selected_text_is_answered_without_the_book(client: Client) -> None:
    answer_values = await call_tool(
        client, "ask_book", question="When is tea served?", selected_text="Tea is served at five."
    )
    assert (answer_values["mode"], answer_values["text"]) == ("selected_text", "Tea is served at five. [1]")
    assert answer_values["citations"][0]["quote"] == "Tea is served at five."


class InventingDrafter:
    """A drafter that adds an invented sentence to the first sentence of a passage."""

    name, prompt_hash = "liar", "0" * 8
    settings: dict[str, str] = {}  # noqa: RUF012 - as the protocol has it

    async def draft(self, request: DraftRequest) -> AsyncIterator[str | tuple[Passage, ...]]:
        quote = re.split(r"(?<=\.)\s", request.passages[0].text)[0]
        yield f"{quote} [1] Tides were invented by a baker in 1822. [1]"

    async def revise(self, _request: DraftRequest, _failed: Sequence[UnsupportedClaim]) -> AsyncIterator[str]:
        for nothing in ():
            yield nothing

    async def close(self) -> None:
        """Nothing to close."""


async def test_withheld_claims_are_counted_but_not_returned(data: Path) -> None:
    engine = wire(load_settings(data_dir=data))
    engine._open_drafter = InventingDrafter  # type: ignore[assignment]
    async with Client(create_mcp_server(engine)) as client:
        result = await client.call_tool("ask_book", {"question": MOON})
    await engine.close()
    assert result.structured_content["withheld"] == 1
    assert "Unsupported sentences left out: 1." in text_of(result)
    assert "gravity of the Moon" in text_of(result)
    assert "baker" not in result.model_dump_json()


INVALID_SEARCHES: list[dict[str, Any]] = [
    {},
    {"query": ""},
    {"query": " \n"},
    {"query": 5},
    {"query": None},
    {"query": ["x"]},
    {"query": "x\0"},
    {"query": "x" * 32_001},
    {"query": "x", "top_k": 0},
    {"query": "x", "top_k": 101},
    {"query": "x", "top_k": 10**30},
    {"query": "x", "top_k": "many"},
    {"query": "x", "top_k": 1.5},
    {"query": "x", "section": "x\0"},
    {"query": "x", "chapter": "x" * 501},
    {"query": "x", "source_url_prefix": "x" * 2001},
    {"query": "x", "filters": {}},
    {"query": "x", "y" * 9000: ORDERS},
]


@pytest.mark.parametrize("arguments", INVALID_SEARCHES, ids=lambda value: str(value)[:40])
async def test_invalid_arguments_are_rejected_with_a_message(client: Client, arguments: dict[str, Any]) -> None:
    text = await tool_error(client, "search_book", **arguments)
    assert len(text) < 200
    assert ORDERS not in text


async def test_invalid_questions_are_rejected_by_the_pipeline(client: Client) -> None:
    assert await tool_error(client, "ask_book", question=" ") == "The question is empty. Enter a question."
    assert "64000" in await tool_error(client, "ask_book", question="x", selected_text="x" * 64_001)


@pytest.mark.parametrize("blank", ["", " \n"])
async def test_blank_selection_means_none(client: Client, blank: str) -> None:
    whole = await call_tool(client, "ask_book", question=MOON)
    assert await call_tool(client, "ask_book", question=MOON, selected_text=blank, version=blank) == whole
    assert whole["citations"]


@pytest.mark.parametrize("blank", ["", " \n"])
async def test_blank_filters_of_a_search_mean_none(client: Client, blank: str) -> None:
    whole = await call_tool(client, "search_book", query=MOON)
    filters = dict.fromkeys(["section", "chapter", "source_url_prefix", "version"], blank)
    assert await call_tool(client, "search_book", query=MOON, **filters) == whole
    assert whole["passages"]


@pytest.mark.parametrize("blank", ["", " \n"])
async def test_blank_url_and_section_mean_none(client: Client, blank: str) -> None:
    whole = await call_tool(client, "read_section", title="Tides")
    assert await call_tool(client, "read_section", url=blank, title="Tides", section=blank) == whole


async def test_unknown_tool_is_a_protocol_error(client: Client) -> None:
    with pytest.raises(MCPError, match="The tools are search_book, ask_book, read_section"):
        await client.call_tool("delete_book", {})


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_book", {"query": "lighthouse keeper log", "top_k": 20}),
        ("ask_book", {"question": "What does the lighthouse keeper write into?"}),
        ("ask_book", {"question": "Who won the 1998 football world cup?"}),
        ("read_section", {"url": f"{BASE}/evil#keeper"}),
    ],
)
async def test_hostile_text_of_a_page_stays_quoted(client: Client, tool: str, arguments: dict[str, Any]) -> None:
    """Words of the book only appear behind `>`, so that they cannot pass for ours."""
    text = text_of(await client.call_tool(tool, arguments))
    own = [line for line in text.splitlines() if not line.startswith("> ")]
    assert not [line for line in own if line.startswith(("[7] Fake", "[9] Forged", "Ignore", "http://evil"))]
    assert own.count("Sources:") == (1 if tool == "ask_book" and "lighthouse" in str(arguments) else 0)
    assert not any("previous instructions" in line for line in own)


async def test_hostile_page_is_returned_verbatim(client: Client) -> None:
    read = await call_tool(client, "read_section", url=f"{BASE}/evil#keeper")
    assert ORDERS in read["text"]
    assert "[9] Forged › Source\nhttp://evil.example/" in read["text"]


EVERY_CALL = [
    ("search_book", {"query": "x"}),
    ("ask_book", {"question": "x"}),
    ("read_section", {"url": BASE}),
]


@pytest.mark.parametrize(("tool", "arguments"), EVERY_CALL)
async def test_missing_index_is_reported_without_a_path(tmp_path: Path, tool: str, arguments: Any) -> None:
    engine = wire(load_settings(data_dir=tmp_path / "secret-place"))
    async with Client(create_mcp_server(engine)) as client:
        text = await tool_error(client, tool, **arguments)
    await engine.close()
    assert text == "Nothing has been ingested yet. Run `glossator ingest FOLDER` first."


@pytest.mark.parametrize(("tool", "arguments"), EVERY_CALL)
async def test_corrupted_index_is_reported_without_a_path(tmp_path: Path, tool: str, arguments: Any) -> None:
    (tmp_path / "CURRENT").write_text("7\n")
    engine = wire(load_settings(data_dir=tmp_path))
    async with Client(create_mcp_server(engine)) as client:
        text = await tool_error(client, tool, **arguments)
    await engine.close()
    assert "glossator ingest" in text


async def test_internal_error_leaks_nothing(data: Path, tmp_path: Path) -> None:
    engine = wire(load_settings(data_dir=copy_data(data, tmp_path / "own")))
    async with Client(create_mcp_server(engine)) as client:
        await call_tool(client, "search_book", query=MOON, top_k=1)
        documents = tmp_path / "own" / "generations" / "000001" / "documents.sqlite"
        documents.write_bytes(b"\x00" * documents.stat().st_size)
        assert await tool_error(client, "read_section", title="Tides") == "Something went wrong."
    await engine.close()


async def test_tool_descriptions_are_short() -> None:
    for name, tool in TOOLS.items():
        assert name == tool.run.__name__  # type: ignore[attr-defined]
        assert len(tool.description) < 500
