"""The agents: answers with citations, selections, revisions and abstentions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agents.testing import ScriptedModel, assistant_message, function_call

import scripted_book
from glossator import pipeline
from glossator.answer.llm.agent import AgentDrafter
from glossator.core.answers import Mode
from glossator.core.question import Question
from glossator.core.types import Filters
from llm_server import LlmServer, fails, says, says_and_searches, searches
from scripted_book import FALSE, NOTHING, QUESTION, TRUE, ask, opened

data, server = scripted_book.data, scripted_book.server


async def test_a_model_searches_and_answers_with_citations(data: Path, server: LlmServer) -> None:
    answer = await ask(data, server, searches("full moon"), says(TRUE))
    assert answer.text == "Spring tides occur at new moon and at full moon. [1]"
    assert (answer.mode, answer.degraded, answer.abstained) == (Mode.FULL, False, False)
    assert answer.citations[0].url.startswith("https://book.example/tides#spring-tides:~:text=")
    first, second = server.requests
    assert "Spring tides occur at new moon" in first["messages"][-1]["content"]
    assert [tool["function"]["name"] for tool in first["tools"]] == ["search_book_content"]
    found = json.loads(next(m["content"] for m in second["messages"] if m["role"] == "tool"))
    assert set(found) == {"results", "total_results", "message"}
    assert {"chunk_text", "source_url", "title", "section", "similarity_score", "chunk_position"} <= set(
        found["results"][0]
    )
    assert first["stream_options"] == {"include_usage": True}


async def test_token_usage_of_a_stream_is_counted(data: Path, server: LlmServer) -> None:
    server.script(searches(), says(TRUE))
    async with opened(data, server) as engine:
        [piece async for piece in pipeline.stream(engine, Question(QUESTION))]
        drafter = engine.drafter
        assert isinstance(drafter, AgentDrafter)
        assert (drafter.usage.requests, drafter.usage.input_tokens, drafter.usage.output_tokens) == (2, 40, 10)


async def test_an_unsupported_sentence_is_withheld_and_revised_once(data: Path, server: LlmServer) -> None:
    revised = says("They have the largest range of all tides. [Source 1]")
    answer = await ask(data, server, searches(), says(f"{TRUE} {FALSE}"), revised)
    assert answer.text == (
        "Spring tides occur at new moon and at full moon. [1]\n\nThey have the largest range of all tides. [1]"
    )
    assert [claim.text for claim in answer.unsupported_claims] == [FALSE.replace(" [Source 1]", "")]
    assert len(server.requests) == 3
    assert "1822" in server.requests[2]["messages"][-1]["content"]
    assert "tools" not in server.requests[2]


async def test_a_sentence_still_unsupported_after_revision_is_left_out(data: Path, server: LlmServer) -> None:
    answer = await ask(data, server, searches(), says(f"{TRUE} {FALSE}"), says(FALSE))
    assert answer.text == "Spring tides occur at new moon and at full moon. [1]"
    assert len(server.requests) == 3


async def test_a_failed_revision_leaves_the_answer_unchanged(data: Path, server: LlmServer) -> None:
    answer = await ask(data, server, searches(), says(f"{TRUE} {FALSE}"), fails(500))
    assert answer.text == "Spring tides occur at new moon and at full moon. [1]"
    assert not answer.degraded


async def test_a_draft_without_a_supported_sentence_is_replaced_by_quotes(data: Path, server: LlmServer) -> None:
    answer = await ask(data, server, searches(), says(FALSE), NOTHING)
    assert "Spring tides occur at new moon" in answer.text
    assert "1822" not in answer.text
    assert (answer.mode, answer.degraded) == (Mode.FULL, False)


async def test_not_found_is_an_abstention(data: Path, server: LlmServer) -> None:
    answer = await ask(data, server, searches(), NOTHING)
    assert (answer.abstained, answer.mode) == (True, Mode.NO_RESULTS)
    assert answer.suggestions


async def test_an_off_topic_question_never_reaches_the_model(data: Path, server: LlmServer) -> None:
    answer = await ask(data, server, says("Lisbon won. [Source 1]"), question="Who won the football match in Lisbon?")
    assert answer.abstained
    assert server.requests == []


async def test_a_question_about_a_selection_has_no_tools_and_no_other_passages(data: Path, server: LlmServer) -> None:
    selection = "Geysers erupt when water boils underground."
    answer = await ask(
        data, server, says(f"{selection} [Source 1]"), question="Why do geysers erupt?", selection=selection
    )
    assert (answer.mode, answer.text) == (Mode.SELECTED_TEXT, f"{selection} [1]")
    assert selection[answer.citations[0].start : answer.citations[0].end] == answer.citations[0].quote
    assert "tools" not in server.requests[0]
    assert "moon" not in json.dumps(server.requests[0])


async def test_the_rest_of_the_book_does_not_leak_into_a_selection(data: Path, server: LlmServer) -> None:
    selection = "Geysers erupt when water boils underground."
    leak = says("Spring tides occur at new moon and at full moon. [Source 1]")
    answer = await ask(data, server, leak, NOTHING, question=QUESTION, selection=selection)
    assert "new moon" not in answer.text
    abstained = await ask(data, server, NOTHING, question=QUESTION, selection=selection)
    assert (abstained.abstained, abstained.mode) == (True, Mode.SELECTED_TEXT)


async def test_the_search_tool_keeps_to_the_filters_of_the_request(data: Path, server: LlmServer) -> None:
    server.script(searches("bread oven degrees"), NOTHING)
    async with opened(data, server) as engine:
        [p async for p in pipeline.stream(engine, Question(QUESTION, filters=Filters(section="Spring tides")))]
    shown = next(m["content"] for m in server.requests[1]["messages"] if m["role"] == "tool")
    assert {result["section"] for result in json.loads(shown)["results"]} == {"Spring tides"}


async def test_extractive_and_scripted_answers_have_the_same_shape(data: Path, server: LlmServer) -> None:
    call = function_call("search_book_content", {"query": "spring tides", "limit": 3}, call_id="c1")
    script = ScriptedModel([[call], [assistant_message(TRUE)]])
    async with opened(data, server, llm="") as engine:
        extractive = await pipeline.ask(engine, Question(QUESTION))
        drafter = AgentDrafter(script, "scripted")
        *_, scripted = [piece async for piece in pipeline.stream(engine, Question(QUESTION), drafter)]
    scripted = scripted.answer
    assert type(extractive) is type(scripted)
    assert scripted.citations[0].quote == "Spring tides occur at new moon and at full moon."
    script.assert_complete()


async def test_text_before_a_search_does_not_spoil_the_text_after_it(data: Path, server: LlmServer) -> None:
    answer = await ask(data, server, says_and_searches("Let me search the book for", "full moon"), says(TRUE), NOTHING)
    assert answer.text == "Spring tides occur at new moon and at full moon. [1]"


@pytest.mark.parametrize("text", ["**NOT FOUND**", '"NOT FOUND"', "Not found.", "NOT FOUND. The book does not say."])
async def test_variants_of_not_found_are_abstentions(data: Path, server: LlmServer, text: str) -> None:
    assert (await ask(data, server, says(text))).abstained
