"""Requests that no honest client sends: they are refused early, cost little, and leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import httpx

from api_requests import CHEAP_PATH, JSON, QUESTIONS, error_of
from doors import serving
from operations import read_metrics


async def test_invented_methods_do_not_grow_the_metrics(empty_data: Path) -> None:
    async with serving(empty_data) as client:
        for number in range(20):
            assert (await client.request(f"METHOD{number}", CHEAP_PATH)).status_code == 405
        methods = {dict(labels).get("method") for name, labels in await read_metrics(client) if "requests" in name}
    assert not any(method and method.startswith("METHOD") for method in methods)
    assert "other" in methods


async def test_ambiguous_length_is_refused(empty_data: Path) -> None:
    """A proxy that believes Content-Length would take the rest of the body for another request."""

    async def body() -> object:
        yield b"{}"

    async with serving(empty_data) as client:
        for path in ("/ask", "/livez"):
            headers = JSON | {"Content-Length": "2", "Transfer-Encoding": "chunked"}
            response = await client.post(path, content=body(), headers=headers)
            assert error_of(response) == (400, "VALIDATION_ERROR"), path
            assert response.headers["connection"] == "close"


async def test_many_query_parameters_are_refused_at_once(empty_data: Path) -> None:
    async with serving(empty_data) as client:
        response = await client.get("/search?q=tides" + "&a=1" * 5000)
    assert error_of(response) == (400, "VALIDATION_ERROR")
    assert "query parameters" in response.json()["message"]


async def test_many_fields_are_refused_at_once(empty_data: Path) -> None:
    async with serving(empty_data) as client:
        responses: list[httpx.Response] = []
        for path, question in QUESTIONS.items():
            body = question | {f"field{number}": 1 for number in range(5000)}
            responses.append(await client.post(path, json=body))
    for response in responses:
        assert response.status_code == 400
        assert "field0" not in response.text  # nothing of it was validated
