"""Feedback, the table of contents for language models, and search."""

from __future__ import annotations

import asyncio
import re
import uuid
from pathlib import Path

import httpx
import pytest

from doors import (
    BASE,
    FACT,
    PAGES,
    QUESTION,
    Body,
    leaks_nothing,
    stream,
)
from glossator.pipeline.wiring import Engine
from operations import (
    changes_by,
    ingest,
    open_server,
    replace_records_by_a_folder,
)

pytestmark = pytest.mark.slow


async def new_receipt(client: httpx.AsyncClient, session_id: str | None = None) -> str:
    """The receipt of an answer."""
    result = await stream(
        client, "/chat/stream", {"query": QUESTION} | ({"session_id": session_id} if session_id else {})
    )
    return str(result.sources["metadata"]["receipt_id"])


async def test_feedback_is_stored_and_counted(server: tuple[httpx.AsyncClient, Engine]) -> None:
    client, engine = server
    given = {"receipt_id": await new_receipt(client), "rating": "down", "reason": "wrong", "text": "It is not “so”."}
    async with (
        changes_by(client, "feedback_total", 1, rating="down"),
        changes_by(client, "feedback_total", 0, rating="up"),
    ):
        response = await client.post("/feedback", json=given)
        assert (response.status_code, response.json()) == (201, {"status": "stored"})
    stored = (await engine.records.feedback())[0]
    fields = (stored.rating, stored.reason, stored.text, stored.question)
    assert fields == ("down", "wrong", "It is not “so”.", QUESTION)


async def test_feedback_is_listed(private_data: Path) -> None:
    async with open_server(private_data) as (client, _):
        receipt_id = await new_receipt(client)
        for text in ("first", "second"):
            given = {"receipt_id": receipt_id, "rating": "down", "reason": "wrong", "text": text}
            assert (await client.post("/feedback", json=given)).status_code == 201
        listed = (await client.get("/feedback")).json()["feedback"]
        assert [each["text"] for each in listed[:2]] == ["second", "first"]
        assert (listed[0]["receipt_id"], listed[0]["question"], listed[0]["rating"]) == (receipt_id, QUESTION, "down")
        assert len((await client.get("/feedback", params={"limit": 1})).json()["feedback"]) == 1
        for limit in ("0", "1001", "x"):
            assert (await client.get("/feedback", params={"limit": limit})).status_code == 400


async def test_later_feedback_in_a_session_replaces_earlier(private_data: Path) -> None:
    async with open_server(private_data) as (client, engine):
        session = {"session_id": str(uuid.uuid4())}
        given = {"receipt_id": await new_receipt(client, session["session_id"])}
        before = len(await engine.records.feedback())
        for rating in ("up", "down", "up"):
            assert (await client.post("/feedback", json=given | session | {"rating": rating})).status_code == 201
        latest, *rest = await engine.records.feedback()
        assert (latest.rating, len(rest)) == ("up", before)
        for rating in ("down", "down"):
            assert (await client.post("/feedback", json=given | {"rating": rating})).status_code == 201
        assert [each.rating for each in await engine.records.feedback()][:3] == ["down", "down", "up"]


@pytest.mark.parametrize("blank", ["", " \n"])
async def test_empty_session_id_of_feedback_means_none(client: httpx.AsyncClient, blank: str) -> None:
    rating = {"receipt_id": await new_receipt(client), "rating": "up", "session_id": blank}
    assert (await client.post("/feedback", json=rating)).status_code == 201


async def test_feedback_on_an_unknown_receipt_is_404(client: httpx.AsyncClient) -> None:
    response = await client.post("/feedback", json={"receipt_id": "nowhere", "rating": "up"})
    assert (response.status_code, response.json()["error"]) == (404, "RECEIPT_NOT_FOUND")
    elsewhere = {"receipt_id": await new_receipt(client), "rating": "up", "session_id": str(uuid.uuid4())}
    assert (await client.post("/feedback", json=elsewhere)).status_code == 404


BAD_FEEDBACK: list[Body] = [
    {"rating": "sideways"},
    {"rating": ""},
    {"rating": None},
    {"rating": 1},
    {"rating": True},
    {"rating": ["up"]},
    {"rating": "UP"},
    {"receipt_id": ""},
    {"receipt_id": "a b"},
    {"receipt_id": "x\n"},
    {"receipt_id": "x" * 101},
    {"receipt_id": 5},
    {"reason": "x" * 201},
    {"text": "x" * 4001},
    {"text": None},
    {"session_id": "a b"},
    {"colour": "red"},
]


@pytest.mark.parametrize("bad", BAD_FEEDBACK, ids=str)
async def test_invalid_feedback_is_rejected(client: httpx.AsyncClient, bad: Body) -> None:
    async with changes_by(client, "feedback_total", 0):
        response = await client.post("/feedback", json={"receipt_id": "x", "rating": "up"} | bad)
    assert (response.status_code, response.json()["error"]) == (400, "VALIDATION_ERROR")
    assert leaks_nothing(response.json()["message"])


async def test_feedback_with_a_nul_is_rejected(client: httpx.AsyncClient) -> None:
    name = await new_receipt(client)
    for field in ("reason", "text"):
        response = await client.post("/feedback", json={"receipt_id": name, "rating": "up", field: "a\0b"})
        assert (response.status_code, response.json()["error"]) == (400, "VALIDATION_ERROR")


async def test_feedback_without_a_database_is_503(private_data: Path) -> None:
    replace_records_by_a_folder(private_data)
    async with open_server(private_data) as (client, _):
        response = await client.post("/feedback", json={"receipt_id": "x", "rating": "up"})
    assert (response.status_code, response.json()["error"]) == (503, "SERVICE_UNAVAILABLE")
    assert int(response.headers["retry-after"]) > 0


async def test_llms_txt_lists_the_pages(client: httpx.AsyncClient) -> None:
    response = await client.get("/llms.txt")
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    assert response.text.startswith("# book\n")  # the name of its folder
    links = re.findall(r"^- \[(.+)\]\(<(.+)>\)$", response.text, re.MULTILINE)
    titles = {
        f"{BASE}/{name.removesuffix('.md')}": text.splitlines()[0].removeprefix("# ") for name, text in PAGES.items()
    }
    assert {url: title for title, url in links} == titles
    for _, url in links:
        assert (await client.get(url.removeprefix("https://book.example"))).status_code == 200


async def test_titles_are_escaped_in_llms_txt(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# A ](https://evil.example) [title\n\nWords of a page.\n", "utf-8")
    await asyncio.to_thread(ingest, tmp_path / "page.md", tmp_path / "data")
    async with open_server(tmp_path / "data") as (client, _):
        text = (await client.get("/llms.txt")).text
    assert "](https" not in text
    assert len(re.findall(r"^- \[[^\[\]]+\]\(<[^<>]+>\)$", text, re.MULTILINE)) == 1


async def test_search_finds_a_passage(client: httpx.AsyncClient) -> None:
    found = (await client.get("/search", params={"q": QUESTION, "top_k": 1})).json()
    assert FACT in " ".join(found["results"][0]["text"].split())
    assert found["generation"] == 1
