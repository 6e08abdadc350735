"""Every line of docs/api.md that can be pasted into a shell, sent to a server over the sample's kind of book."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import httpx
import pytest

import doors
from paths import ROOT

pytestmark = pytest.mark.slow

client, data = doors.client, doors.data
PAGE = (ROOT / "docs" / "api.md").read_text("utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


def requests() -> Iterator[list[str]]:
    """Each curl line as its words."""
    for block in BLOCKS:
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line)
            if words[0] == "curl":
                yield words[1:]


async def send(client: httpx.AsyncClient, words: list[str], session: str) -> httpx.Response:
    method, headers, body, address = "GET", {}, None, ""
    rest = iter(words)
    for word in rest:
        if word == "-X":
            method = next(rest)
        elif word == "-H":
            name, _, value = next(rest).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = next(rest)
        elif word != "-N":
            address = word.removeprefix("http://127.0.0.1:8000").replace("{session_id}", session)
    method = "POST" if body is not None else method
    return await client.request(method, address, headers=headers, content=body)


@pytest.mark.asyncio(loop_scope="module")
async def test_every_line_of_the_page_works(client: httpx.AsyncClient) -> None:
    session = (await client.post("/chat", json={"query": "What is the zero-moment point?"})).json()["session_id"]
    lines = list(requests())
    assert len(lines) > 15
    for words in lines:
        response = await send(client, words, session)
        assert response.status_code in (200, 201, 202, 204), (words, response.text)


@pytest.mark.asyncio(loop_scope="module")
async def test_the_page_names_the_metadata_of_a_chat_stream_and_of_a_history(client: httpx.AsyncClient) -> None:
    streamed = await doors.stream(client, "/chat/stream", {"query": doors.QUESTION})
    metadata = streamed.sources["metadata"]
    paragraph = re.search(r"In addition to the fields of `/chat`, the `metadata`.*?\n\n", PAGE, re.DOTALL)
    assert paragraph is not None
    beyond, in_history = paragraph[0].split("(Of these, ")
    contract = {"query_time_ms", "retrieval_count", "mode", "low_confidence", "request_id"}
    assert set(re.findall(r"`(\w+)`", beyond)) - {"metadata"} == set(metadata) - contract
    history = (await client.get(f"/history/{metadata['session_id']}?details=true")).json()["entries"][0]["metadata"]
    assert set(history) <= set(metadata) - contract | set(re.findall(r"`(\w+)`", in_history))
    assert {"mode", "selected_text"} <= set(re.findall(r"`(\w+)`", in_history))


@pytest.mark.parametrize("door", ["/chat", "/agent/chat", "/agent/query", "/ask", "/query"])
def test_each_door_has_a_line(door: str) -> None:
    assert any(f"http://127.0.0.1:8000{door}" in words for words in requests())
