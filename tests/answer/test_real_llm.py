"""The real LLM of the tests speaks OpenAI's protocol: complete responses, streams and tool calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

from real_llm import MODEL, real_llm_missing, running_llm

pytestmark = pytest.mark.slow

SEARCH: Any = {
    "type": "function",
    "function": {
        "name": "search_book_content",
        "description": "Search the book.",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["query", "limit"],
            "additionalProperties": False,
        },
    },
}


@pytest.fixture(scope="module")
def llm() -> Iterator[OpenAI]:
    """A client of the real LLM."""
    if missing := real_llm_missing():
        pytest.skip(missing)
    with running_llm() as url, OpenAI(base_url=url, api_key="none", max_retries=0, timeout=60) as client:
        yield client


def request_for(question: str) -> dict[str, Any]:
    """A request that gets the same answer each time."""
    return {"model": MODEL, "messages": [{"role": "user", "content": question}], "temperature": 0, "max_tokens": 20}


def test_the_model_is_listed(llm: OpenAI) -> None:
    assert [model.id for model in llm.models.list()] == [MODEL]


def test_it_answers_questions(llm: OpenAI) -> None:
    tides, bread = (
        llm.chat.completions.create(**request_for(question)) for question in ("What are tides?", "What is bread?")
    )
    assert "tides" in (tides.choices[0].message.content or "").lower()
    assert tides.choices[0].message.content != bread.choices[0].message.content
    assert tides.choices[0].finish_reason == "length"
    assert tides.usage is not None
    assert tides.usage.completion_tokens == 20
    assert tides.usage.prompt_tokens > 5


def test_a_stream_equals_the_complete_response(llm: OpenAI) -> None:
    whole = llm.chat.completions.create(**request_for("What are tides?"))
    with llm.chat.completions.create(
        **request_for("What are tides?"), stream=True, stream_options={"include_usage": True}
    ) as stream:
        chunks = list(stream)
    pieces = [choice.delta.content for chunk in chunks for choice in chunk.choices if choice.delta.content]
    assert len(pieces) > 10
    assert "".join(pieces) == whole.choices[0].message.content
    assert chunks[-1].usage is not None
    assert whole.usage is not None
    assert chunks[-1].usage.total_tokens == whole.usage.total_tokens


def test_a_required_tool_is_called(llm: OpenAI) -> None:
    request = request_for("What causes tides?") | {"max_tokens": 120, "tools": [SEARCH], "tool_choice": "required"}
    choice = llm.chat.completions.create(**request).choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls is not None
    (call,) = choice.message.tool_calls
    assert call.type == "function"
    assert call.function.name == "search_book_content"
    arguments = json.loads(call.function.arguments)
    assert arguments.keys() == {"query", "limit"}
    assert "tides" in arguments["query"]
    assert isinstance(arguments["limit"], int)
