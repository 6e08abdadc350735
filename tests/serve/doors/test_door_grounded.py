"""The grounded door: the contract 001."""

from __future__ import annotations

import json

import httpx
import pytest

from door_grounded import (
    BODY,
    INVERSE,
    PATHS,
    USER_PROVIDED,
    ask,
)
from doors import (
    ABOUT_SELECTION,
    BASE,
    FACT,
    OUT_OF_SCOPE,
    QUESTION,
    SELECTION,
    Body,
    is_uuid4,
    page_url,
    stream,
)
from llm_server import LlmServer, fails, says, searches

pytestmark = pytest.mark.asyncio(loop_scope="module")


# Answers.


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"context_mode": "retrieval_pipeline"},
        {"context_mode": "retrieval_pipeline", "user_context": SELECTION},
        {"user_context": None, "filters": None, "conversation_id": None, "thread_id": None},
        {"filters": {}},
        {"stream": False},
    ],
    ids=lambda more: str(more)[:60],
)
async def test_answer_is_grounded_in_the_book(client: httpx.AsyncClient, path: str, more: Body) -> None:
    found = await ask(client, QUESTION, path, **more)
    assert FACT in found["response_text"]
    assert found["grounding_validation"] == {
        "is_fully_grounded": True,
        "is_fully_ground": True,
        "unsupported_claims": [],
    }
    assert found["sources"]
    for source in found["sources"]:
        assert source["content_id"]
        assert source["source_url"].startswith(f"{BASE}/module")
        assert source["chapter"]


async def test_user_provided_context_is_answered_without_the_book(client: httpx.AsyncClient) -> None:
    found = await ask(client, ABOUT_SELECTION, **USER_PROVIDED)
    assert "water boils deep underground" in found["response_text"]
    assert BASE not in json.dumps(found)
    assert found["grounding_validation"]["is_fully_grounded"]


async def test_answer_about_a_context_does_not_use_the_book(client: httpx.AsyncClient) -> None:
    found = await ask(client, QUESTION, **USER_PROVIDED)
    assert "gravitational" not in json.dumps(found)
    assert BASE not in json.dumps(found)


async def test_explaining_a_context_is_never_refused(client: httpx.AsyncClient) -> None:
    found = await ask(client, "Explain this", **USER_PROVIDED)
    assert any(sentence in found["response_text"] for sentence in SELECTION.split(". "))


@pytest.mark.parametrize("path", PATHS)
async def test_out_of_scope_has_no_sources(client: httpx.AsyncClient, path: str) -> None:
    assert (await ask(client, OUT_OF_SCOPE, path))["sources"] == []


@pytest.mark.parametrize(
    "filters",
    [
        {"chapter": "Kinematics"},
        {"section": "Inverse Kinematics"},
        {"chapter": "Kinematics", "section": "Inverse Kinematics"},
        {"chapter": None, "section": "Inverse Kinematics"},
        {"chapter": "Kinematics", "section": None},
    ],
    ids=str,
)
async def test_filters_narrow_an_answer(client: httpx.AsyncClient, filters: Body) -> None:
    found = await ask(client, INVERSE, filters=filters)
    assert found["sources"]
    for source in found["sources"]:
        assert page_url(source["source_url"]) == f"{BASE}/module1/kinematics"
        assert source["chapter"] == "Kinematics"
        assert source["section"] == (filters.get("section") or source["section"])


@pytest.mark.parametrize(
    "filters", [{"chapter": "Nowhere"}, {"section": "Nowhere"}, {"chapter": "Balance", "section": "Inverse Kinematics"}]
)
async def test_filters_without_matches_give_no_sources(client: httpx.AsyncClient, filters: Body) -> None:
    assert (await ask(client, INVERSE, filters=filters))["sources"] == []


# Streams.


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "body",
    [BODY, {"query_text": OUT_OF_SCOPE}, {"query_text": ABOUT_SELECTION, **USER_PROVIDED}],
    ids=lambda body: str(body)[:60],
)
async def test_stream_equals_the_whole_answer(client: httpx.AsyncClient, path: str, body: Body) -> None:
    whole = await ask(client, path=path, **body)
    streamed = await stream(client, path, body | {"stream": True})
    assert streamed.names == ["delta", "sources", "done"]
    assert all(set(delta) == {"delta"} for delta in streamed.deltas)
    assert streamed.text == whole["response_text"]
    assert set(streamed.sources) == {"sources", "metadata"}
    assert streamed.sources["sources"] == whole["sources"]
    assert isinstance(streamed.sources["metadata"], dict)
    assert streamed.done == {"done": True}
    assert is_uuid4(streamed.headers["x-request-id"])


async def test_documented_states_are_those_of_a_response_that_is_sent(client: httpx.AsyncClient) -> None:
    schemas = (await client.get("/openapi.json")).json()["components"]["schemas"]
    (schema,) = (schema for name, schema in schemas.items() if name.endswith("grounded__AgentResponse"))
    assert schema["properties"]["state"]["enum"] == ["delivered", "flagged"]


# With a language model.


async def test_llm_writes_the_response(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1]"))
    found = await ask(llm_client, QUESTION)
    assert FACT in found["response_text"]
    assert found["grounding_validation"]["is_fully_grounded"]
    assert found["sources"]


async def test_quotes_are_returned_when_the_llm_fails(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(fails(401))
    found = await ask(llm_client, QUESTION)
    assert FACT in found["response_text"]
    assert found["grounding_validation"]["is_fully_grounded"]
    assert found["sources"]


async def test_out_of_scope_question_is_refused_with_an_llm(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(says("Lisbon won. [Source 1]"))
    found = await ask(llm_client, OUT_OF_SCOPE)
    assert found["sources"] == []
    assert "Lisbon won" not in found["response_text"]


@pytest.mark.slow
async def test_long_answers_end_after_a_citation(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(says(f"{FACT} [Source 1]\n\n" * 90))
    whole = await ask(llm_client, QUESTION)
    assert 9_000 < len(whole["response_text"]) <= 10_000
    assert whole["response_text"].endswith("[1]")
    streamed = await stream(llm_client, "/agent/query", BODY | {"stream": True})
    assert streamed.text.strip() == whole["response_text"]
