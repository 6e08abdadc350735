"""The agent door: the contract 000."""

from __future__ import annotations

import json

import httpx
import pytest

from door_agent import (
    CHAT,
    CITED,
    CONTEXTS,
    LISTED,
    STRUCTURED,
    ask,
    chat,
    is_citation,
    new_session,
    structured,
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
    stream,
)
from llm_server import LlmServer, fails, says, searches

pytestmark = pytest.mark.asyncio(loop_scope="module")


# Answers.


@pytest.mark.parametrize("message", [QUESTION, "What is the zero-moment point in humanoid robotics?"])
@pytest.mark.parametrize("context", [{}, {"context_text": None}], ids=str)
async def test_response_cites_the_sources_it_lists(client: httpx.AsyncClient, message: str, context: Body) -> None:
    found = await chat(client, message, **context)
    assert found["status"] == "success"
    assert FACT in found["response"]
    answer, _, listing = found["response"].partition("\n\nSources:\n")
    listed = [LISTED.fullmatch(line) for line in listing.strip().splitlines()]
    assert listed
    assert all(listed)
    numbers = [int(line[1]) for line in listed if line]
    assert len(numbers) == len(set(numbers))
    assert {int(number) for number in CITED.findall(answer)} == set(numbers)
    assert all(line[2].startswith(f"{BASE}/module") for line in listed if line)


@pytest.mark.parametrize("message", [QUESTION, "What is inverse kinematics?", "What is physical AI?"])
@pytest.mark.parametrize("context", [{}, {"context_text": None}], ids=str)
async def test_structured_response_cites_its_sources(client: httpx.AsyncClient, message: str, context: Body) -> None:
    found = await structured(client, message, **context)
    numbers = [source["source_number"] for source in found["sources"]]
    assert found["retrieval_mode"] == "full_book"
    assert len(numbers) == len(set(numbers))
    assert {int(number) for number in CITED.findall(found["answer"])} == set(numbers)
    assert numbers


async def test_plain_and_structured_responses_agree(client: httpx.AsyncClient) -> None:
    plain, parted = await chat(client, QUESTION), await structured(client, QUESTION)
    answer, _, listing = plain["response"].partition("\n\nSources:\n")
    assert parted["answer"].strip() == answer.strip()
    urls = {int(line[1]): line[2] for line in map(LISTED.fullmatch, listing.strip().splitlines()) if line}
    assert {source["source_number"]: source["url"] for source in parted["sources"]} == urls


@pytest.mark.parametrize("message", [QUESTION, "What is physical AI?", "How many hours does the battery last?"])
async def test_confidence_follows_the_scores(client: httpx.AsyncClient, message: str) -> None:
    found = await structured(client, message)
    scores = [source["score"] for source in found["sources"]]
    assert found["confidence"] != "High" or any(score > 0.5 for score in scores)
    assert found["confidence"] != "Low" or any(score < 0.8 for score in scores) or not scores


async def test_off_topic_triggers_the_guardrail(client: httpx.AsyncClient) -> None:
    found = await chat(client, OUT_OF_SCOPE)
    assert found["status"] == "guardrail_triggered"
    assert not CITED.search(found["response"])


async def test_off_topic_has_no_sources(client: httpx.AsyncClient) -> None:
    found = await structured(client, OUT_OF_SCOPE)
    assert (found["sources"], found["confidence"]) == ([], "Low")


@pytest.mark.parametrize(("message", "context"), CONTEXTS, ids=lambda text: text[:40])
async def test_context_text_is_explained(client: httpx.AsyncClient, message: str, context: str) -> None:
    found = await chat(client, message, context_text=context)
    assert found["status"] == "success"
    assert BASE not in found["response"]


@pytest.mark.parametrize(("message", "context"), CONTEXTS, ids=lambda text: text[:40])
async def test_context_text_is_answered_without_retrieval(
    client: httpx.AsyncClient, message: str, context: str
) -> None:
    found = await structured(client, message, context_text=context)
    assert (found["retrieval_mode"], found["sources"]) == ("context_constrained", [])


async def test_answer_about_a_context_does_not_use_the_book(client: httpx.AsyncClient) -> None:
    for found in (
        await chat(client, QUESTION, context_text=SELECTION),
        await structured(client, QUESTION, context_text=SELECTION),
    ):
        assert "gravitational" not in json.dumps(found)
        assert BASE not in json.dumps(found)


# Streams.


@pytest.mark.parametrize(("path", "field"), [(CHAT, "response"), (STRUCTURED, "answer")])
@pytest.mark.parametrize(
    "body",
    [{"message": QUESTION}, {"message": OUT_OF_SCOPE}, {"message": ABOUT_SELECTION, "context_text": SELECTION}],
    ids=str,
)
async def test_stream_equals_the_whole_answer(client: httpx.AsyncClient, path: str, field: str, body: Body) -> None:
    whole = await ask(client, path, body | {"session_id": new_session(), "stream": False})
    streamed = await stream(client, path, body | {"session_id": new_session(), "stream": True})
    assert streamed.names == ["delta", "sources", "done"]
    assert all(set(delta) == {"delta"} for delta in streamed.deltas)
    assert streamed.text == whole[field]
    assert set(streamed.sources) == {"sources", "metadata"}
    assert streamed.sources["sources"] == whole.get("sources", streamed.sources["sources"])
    assert isinstance(streamed.sources["metadata"], dict)
    assert streamed.done == {"done": True}
    assert is_uuid4(streamed.headers["x-request-id"])
    for source in streamed.sources["sources"]:
        is_citation(source)


# With a language model.


async def test_llm_writes_the_response(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(searches(), says(f"{FACT} [Source 1]"))
    found = await chat(llm_client, QUESTION)
    assert found["status"] == "success"
    answer, _, listing = found["response"].partition("\n\nSources:\n")
    assert FACT in answer
    assert set(CITED.findall(answer)) == set(CITED.findall(listing)) != set()


async def test_quotes_are_returned_when_the_llm_fails(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(fails(401))
    found = await chat(llm_client, QUESTION)
    assert found["status"] == "success"
    assert FACT in found["response"]
    assert "\n\nSources:\n" in found["response"]


async def test_off_topic_question_is_refused_with_an_llm(llm_client: httpx.AsyncClient, model: LlmServer) -> None:
    model.script(says("Lisbon won. [Source 1]"))
    found = await chat(llm_client, OUT_OF_SCOPE)
    assert found["status"] == "guardrail_triggered"
    assert "Lisbon won" not in found["response"]
