"""Answers of a language model, whole and streamed, at every door."""

from __future__ import annotations

import httpx
import pytest

from doors import FACT, FALSEHOOD, Body, stream
from llm_server import LlmServer, says, searches
from streams import ENDPOINTS, WHOLE_ANSWERS, StreamServer, each_endpoint, new_id

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


async def ask_whole(client: httpx.AsyncClient, path: str) -> tuple[Body, str]:
    """The response that is not streamed, and its text."""
    whole_path, field = WHOLE_ANSWERS[path]
    body = {name: value for name, value in ENDPOINTS[path](new_id()).items() if name != "stream"}
    response = await client.post(whole_path, json=body)
    assert response.status_code == 200, response.text
    found: Body = response.json()
    return found, found[field]


@each_endpoint
async def test_llm_stream_equals_the_whole_answer(server: StreamServer, model: LlmServer, path: str) -> None:
    model.script(searches(), says(f"{FACT} [Source 1]", size=1))
    whole, text = await ask_whole(server.client, path)
    model.script(searches(), says(f"{FACT} [Source 1]", size=1))
    streamed = await stream(server.client, path, ENDPOINTS[path](new_id()))
    assert streamed.names == ["delta", "sources", "done"]
    assert streamed.text == text
    assert streamed.sources["sources"] == whole.get("sources", streamed.sources["sources"])


@each_endpoint
async def test_unsupported_claims_of_the_llm_are_not_shown(server: StreamServer, model: LlmServer, path: str) -> None:
    model.script(searches(), says(f"{FACT} [Source 1] {FALSEHOOD} [Source 1]"), says("NOT FOUND"))
    whole, text = await ask_whole(server.client, path)
    assert FACT in text
    whole.pop("grounding_validation", None)  # where that contract lists them
    assert "baker" not in str(whole)
