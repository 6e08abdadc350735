"""A question about code or tables only, while the language model fails: no sentence can be quoted instead."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

import glossator
from commands import quick_folder
from doors import Body, post, serving, stream
from llm_server import LlmServer, fails

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

QUESTION = "How do I calibrate the gripper?"
PAGE = "# Calibrating the gripper\n\n```python\ngripper.calibrate(force=40)\n```\n"


@pytest.fixture(scope="module")
def code_book() -> Iterator[Path]:
    """The data directory of a book without a sentence."""
    with quick_folder() as folder:
        (folder / "gripper.md").write_text(PAGE, "utf-8")
        with glossator.open(folder / "data") as book:
            book.ingest(folder / "gripper.md", base_url="https://book.example")
        yield folder / "data"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def client(code_book: Path, model: LlmServer) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server that answers whatever the score, with a language model that fails."""
    model.script(fails(400))
    async with serving(code_book, llm=f"{model.url}#scripted", similarity_threshold=0.0) as opened:
        yield opened


async def test_chat_lists_the_passages(client: httpx.AsyncClient) -> None:
    found = (await post(client, "/chat", {"query": QUESTION})).json()
    assert (found["answer"], found["metadata"]["mode"]) == (None, "retrieval_only")
    assert found["fallback_message"].startswith("AI summarization unavailable. The passages found have no sentence")
    assert "gripper.calibrate" in found["sources"][0]["snippet"]


async def test_streamed_chat_lists_the_passages(client: httpx.AsyncClient) -> None:
    streamed = await stream(client, "/chat/stream", {"query": QUESTION})
    assert streamed.sources["metadata"]["mode"] == "retrieval_only"
    assert streamed.sources["sources"]


@pytest.mark.parametrize("streamed", [False, True])
async def test_ask_fails_to_generate_an_answer(client: httpx.AsyncClient, streamed: bool) -> None:
    response = await post(client, "/ask", {"question": QUESTION, "stream": streamed})
    found = response.json()
    assert (response.status_code, found["error"]) == (503, "generation_error")
    assert found["message"] == "The language model is unavailable. Try again later."


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        ("/query", {"query": QUESTION}, "answer"),
        ("/agent/query", {"query_text": QUESTION}, "response_text"),
        ("/agent/chat/structured", {"message": QUESTION, "session_id": "code"}, "answer"),
    ],
)
async def test_other_doors_name_the_sections(client: httpx.AsyncClient, path: str, body: Body, text: str) -> None:
    response = await post(client, path, body)
    assert response.status_code == 200
    assert response.json()[text].startswith("AI summarization unavailable.")
    assert "https://book.example/gripper#calibrating-the-gripper" in response.json()[text]
