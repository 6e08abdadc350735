"""A question about a selection, while the language model fails and no quote answers it: there is nothing to return."""

from __future__ import annotations

import uuid

import httpx
import pytest

from doors import SELECTION, Body, post
from llm_server import LlmServer, fails, says

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

QUESTION = "Who painted the ceiling?"
AGENT: Body = {"message": QUESTION, "session_id": "unavailable", "context_text": SELECTION}
GROUNDED: Body = {"query_text": QUESTION, "context_mode": "user_provided", "user_context": SELECTION}
COMPLETION: Body = {"messages": [{"role": "user", "content": QUESTION}], "selected_text": SELECTION}


def chat_body() -> Body:
    return {"query": QUESTION, "selected_text": SELECTION, "session_id": str(uuid.uuid4())}


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
async def test_chat_answers_503_and_stores_nothing(llm_client: httpx.AsyncClient, model: LlmServer, path: str) -> None:
    model.script(fails(400))
    body = chat_body()
    response = await post(llm_client, path, body)
    found = response.json()
    assert (response.status_code, found["error_code"]) == (503, "GEMINI_UNAVAILABLE")
    assert found["message"] == "The language model is unavailable. Try again later."
    assert int(response.headers["retry-after"]) > 0
    history = await llm_client.get(f"/history/{body['session_id']}")
    assert history.status_code == 404 or history.json()["entries"] == []


async def test_repeated_request_is_answered_once_the_model_works(
    llm_client: httpx.AsyncClient, model: LlmServer
) -> None:
    body, key = chat_body(), {"Idempotency-Key": str(uuid.uuid4())}
    model.script(fails(400))
    assert (await llm_client.post("/chat", json=body, headers=key)).status_code == 503
    model.script(says("NOT FOUND"))
    assert (await llm_client.post("/chat", json=body, headers=key)).json()["metadata"]["mode"] == "selected_text"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/agent/chat/structured", AGENT),
        ("/agent/chat", AGENT | {"stream": True}),
        ("/agent/query", GROUNDED),
        ("/v1/chat/completions", COMPLETION),
    ],
)
async def test_other_doors_answer_503(llm_client: httpx.AsyncClient, model: LlmServer, path: str, body: Body) -> None:
    model.script(fails(400))
    response = await post(llm_client, path, body)
    assert response.status_code == 503
    assert "The language model is unavailable." in response.text


async def test_agent_chat_has_a_status_for_it(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(fails(400))
    response = await post(llm_client, "/agent/chat", AGENT)
    assert (response.status_code, response.json()) == (
        200,
        {
            "response": "The language model is unavailable. Try again later.",
            "session_id": "unavailable",
            "status": "error",
        },
    )
