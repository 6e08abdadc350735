"""Search over HTTP."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

import tides_book
from tides_book import BASE, MOON

data, app, client, empty = tides_book.data, tides_book.app, tides_book.client, tides_book.empty


async def test_search_response_has_the_documented_shape(client: httpx.AsyncClient) -> None:
    got = (await client.get("/search", params={"q": MOON, "top_k": 2})).json()
    posted = (await client.post("/search", json={"query": MOON, "top_k": 2})).json()
    assert list(got) == ["query", "results", "total", "collection", "generation", "time_ms"]
    assert (got["query"], got["generation"], len(got["results"])) == (MOON, 1, 2)
    fields = (
        "chunk_id document_id url title section heading_path anchor position start end text score version created_at"
    )
    assert list(got["results"][0]) == fields.split()
    assert got["results"][0]["url"] == f"{BASE}/tides"
    assert posted["results"] == got["results"]


@pytest.mark.parametrize(
    ("filters", "titles"),
    [
        ({"section": "Spring tides"}, {"Tides"}),
        ({"source_url_prefix": "/book/tides"}, {"Tides"}),
        ({"source_url_prefix": f"{BASE}/caf%C3%A9", "chapter": "Café"}, {"Café"}),
        ({"source_url_prefix": "/book/tides", "chapter": "Café"}, set()),
    ],
)
async def test_filters_narrow_a_search(client: httpx.AsyncClient, filters: dict[str, str], titles: set[str]) -> None:
    got = (await client.get("/search", params={"q": MOON, **filters})).json()
    posted = (await client.post("/search", json={"query": MOON, "filters": filters})).json()
    assert {passage["title"] for passage in got["results"]} == titles
    assert posted["results"] == got["results"]


@pytest.mark.parametrize("blank", ["", " \n"])
async def test_empty_filters_of_a_search_mean_none(client: httpx.AsyncClient, blank: str) -> None:
    filters = dict.fromkeys(["section", "chapter", "source_url_prefix", "version"], blank)
    everything = (await client.get("/search", params={"q": MOON})).json()["results"]
    got = (await client.get("/search", params={"q": MOON, **filters})).json()
    posted = (await client.post("/search", json={"query": MOON, "filters": filters})).json()
    assert everything
    assert got["results"] == posted["results"] == everything


BAD_QUERIES = ["", "q=", "q=%20", "q=x&top_k=0", "q=x&top_k=101", "q=x&top_k=abc", "q=x&sectoin=y", f"q={'x' * 32_001}"]
BAD_BODIES: list[object] = [
    b"",
    b"{",
    b"[]",
    b"\xff",
    {},
    {"query": ""},
    {"query": "  "},
    {"query": 5},
    {"query": None},
    {"query": "x", "top_k": 0},
    {"query": "x", "top_k": "many"},
    {"query": "x", "filters": {"sectoin": "y"}},
    {"query": "x", "filters": "y"},
    {"query": "x", "colour": "red"},
    b'{"query": "\\ud800"}',
]


def is_refusal(response: httpx.Response) -> bool:
    """Whether it is a 400 in the one shape, and one that tells nothing of our insides."""
    found = response.json()
    return (
        response.status_code == 400
        and list(found) == ["error", "message", "request_id", "details"]
        and (found["error"], found["details"]) == ("VALIDATION_ERROR", None)
        and bool(found["message"])
        and "/" not in found["message"]
    )


@pytest.mark.parametrize("query", BAD_QUERIES, ids=lambda query: query[:20])
async def test_invalid_query_is_rejected(client: httpx.AsyncClient, query: str) -> None:
    response = await client.get(f"/search?{query}")
    assert is_refusal(response), response.text


@pytest.mark.parametrize("body", BAD_BODIES, ids=str)
async def test_invalid_body_is_rejected(client: httpx.AsyncClient, body: object) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = await client.post("/search", content=content, headers={"content-type": "application/json"})
    assert is_refusal(response), response.text


async def test_unsupported_method_is_405_in_the_same_shape(client: httpx.AsyncClient) -> None:
    response = await client.put("/search", json={})
    assert (response.status_code, response.json()["error"]) == (405, "METHOD_NOT_ALLOWED")
    assert response.headers["allow"]


async def test_unusual_questions_are_searched(client: httpx.AsyncClient) -> None:
    for question in ("what is the", "🤖", "کتاب", "%00", "' OR 1=1 --", "x" * 32_000):
        response = await client.post("/search", json={"query": question})
        assert response.status_code == 200
        assert response.json()["query"] == question


async def test_fifty_concurrent_searches_are_answered(client: httpx.AsyncClient) -> None:
    questions = [f"{MOON} {number}" for number in range(50)]
    responses = await asyncio.gather(*(client.get("/search", params={"q": question}) for question in questions))
    assert [response.status_code for response in responses] == [200] * 50
    assert [response.json()["query"] for response in responses] == questions
    assert {response.json()["results"][0]["title"] for response in responses} == {"Tides"}
