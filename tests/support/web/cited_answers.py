"""Asks the same question at every door, and reads from each response the text and its list of sources."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx

from doors import Body, page_url, stream

MARK = re.compile(r"(?<=\s)\[(?:Source )?(\d+)\]")
_SENTENCE = re.compile(r"(?P<text>\S.*?)(?P<marks>(?:\s\[(?:Source )?\d+\])+)(?=\s|$)", re.DOTALL)
_SOURCES_SECTION = re.compile(r"\n\nSources:\n(?P<list>(?:- \[Source \d+\] \S+\n?)+)$")
SELECTION = "the selection"


@dataclass(frozen=True)
class CitedAnswer:
    """The text of an answer, and its sources: the id of a chunk, the URL of a section, or the selection."""

    text: str
    sources: list[str]

    @property
    def marks(self) -> list[int]:
        return [int(number) for number in MARK.findall(self.text)]

    @property
    def cited_sentences(self) -> list[tuple[str, int]]:
        """Every sentence with the number of each of its marks."""
        return [
            (found["text"].strip(), int(number))
            for found in _SENTENCE.finditer(self.text)
            for number in MARK.findall(found["marks"])
        ]


Ask = Callable[[httpx.AsyncClient, str, str | None], Awaitable[CitedAnswer]]


def _section(url: str) -> str:
    """The page and the anchor of a URL, without its text fragment."""
    return url.partition(":~:")[0].rstrip("#")


def _chat_source(source: Body) -> str:
    if "source_type" in source:
        return SELECTION
    return f"{page_url(source['source_url'])} {source['chunk_position']}"


def _ask_source(source: Body) -> str:
    return f"{page_url(source['url'])} {source['position']}"


def _grounded_source(source: Body) -> str:
    return SELECTION if source["content_id"] == "user_context" else source["content_id"]


async def _post(client: httpx.AsyncClient, path: str, body: Body) -> Body:
    response = await client.post(path, json=body)
    assert response.status_code == 200, response.text
    found: Body = response.json()
    return found


def _with(body: Body, name: str, selection: str | None) -> Body:
    return body | ({name: selection} if selection else {})


async def chat(client: httpx.AsyncClient, question: str, selection: str | None) -> CitedAnswer:
    found = await _post(client, "/chat", _with({"query": question}, "selected_text", selection))
    return CitedAnswer(found["answer"] or found["fallback_message"], list(map(_chat_source, found["sources"])))


async def chat_stream(client: httpx.AsyncClient, question: str, selection: str | None) -> CitedAnswer:
    found = await stream(client, "/chat/stream", _with({"query": question}, "selected_text", selection))
    return CitedAnswer(found.text, list(map(_chat_source, found.sources["sources"])))


async def history(client: httpx.AsyncClient, question: str, selection: str | None) -> CitedAnswer:
    """What the history of a new conversation says after one question."""
    found = await _post(client, "/chat", _with({"query": question}, "selected_text", selection))
    (answer,) = await chat_history(client, found["session_id"])
    return answer


async def chat_history(client: httpx.AsyncClient, session: str) -> list[CitedAnswer]:
    entries = (await client.get(f"/history/{session}")).json()["entries"]
    return [CitedAnswer(entry["response"], list(map(_chat_source, entry["sources"]))) for entry in entries]


def _agent_body(question: str, selection: str | None, session: str = "marks") -> Body:
    return _with({"message": question, "session_id": session}, "context_text", selection)


def _agent_text(text: str) -> CitedAnswer:
    listed = _SOURCES_SECTION.search(text)
    if listed is None:
        return CitedAnswer(text, [])
    numbers = re.findall(r"\[Source (\d+)\] (\S+)", listed["list"])
    assert [int(number) for number, _ in numbers] == list(range(1, len(numbers) + 1))
    return CitedAnswer(text[: listed.start()], [_section(url) for _, url in numbers])


async def agent(client: httpx.AsyncClient, question: str, selection: str | None) -> CitedAnswer:
    return _agent_text((await _post(client, "/agent/chat", _agent_body(question, selection)))["response"])


async def agent_session(client: httpx.AsyncClient, question: str, selection: str | None) -> CitedAnswer:
    """What a new session says after one question."""
    name = uuid.uuid4().hex
    await _post(client, "/agent/chat", _agent_body(question, selection, name))
    (answer,) = await agent_history(client, name)
    return answer


async def agent_history(client: httpx.AsyncClient, session: str) -> list[CitedAnswer]:
    messages = (await client.get(f"/agent/session/{session}")).json()["messages"]
    return [_agent_text(message["content"]) for message in messages if message["role"] == "assistant"]


async def agent_stream(client: httpx.AsyncClient, question: str, selection: str | None) -> CitedAnswer:
    return _agent_text((await stream(client, "/agent/chat", _agent_body(question, selection) | {"stream": True})).text)


def _structured(text: str, sources: list[Body]) -> CitedAnswer:
    assert [source["source_number"] for source in sources] == list(range(1, len(sources) + 1))
    return CitedAnswer(text, [_section(source["url"]) for source in sources])


async def structured(client: httpx.AsyncClient, question: str, selection: str | None) -> CitedAnswer:
    found = await _post(client, "/agent/chat/structured", _agent_body(question, selection))
    return _structured(found["answer"], found["sources"])


async def structured_stream(client: httpx.AsyncClient, question: str, selection: str | None) -> CitedAnswer:
    found = await stream(client, "/agent/chat/structured", _agent_body(question, selection) | {"stream": True})
    return _structured(found.text, found.sources["sources"])


def _grounded_body(question: str, selection: str | None) -> Body:
    provided = {"context_mode": "user_provided", "user_context": selection} if selection else {}
    return {"query_text": question} | provided


async def grounded(client: httpx.AsyncClient, question: str, selection: str | None) -> CitedAnswer:
    found = await _post(client, "/agent/query", _grounded_body(question, selection))
    return CitedAnswer(found["response_text"], list(map(_grounded_source, found["sources"])))


async def grounded_stream(client: httpx.AsyncClient, question: str, selection: str | None) -> CitedAnswer:
    found = await stream(client, "/agent/query/session", _grounded_body(question, selection) | {"stream": True})
    return CitedAnswer(found.text, list(map(_grounded_source, found.sources["sources"])))


async def grounded_session(client: httpx.AsyncClient, question: str, selection: str | None) -> CitedAnswer:
    """What a new session says after one question."""
    found = await _post(client, "/agent/query", _grounded_body(question, selection))
    (answer,) = await grounded_history(client, found["conversation_id"])
    return answer


async def grounded_history(client: httpx.AsyncClient, session: str) -> list[CitedAnswer]:
    messages = (await client.get(f"/agent/query/session/{session}")).json()["conversation_history"]
    return [
        CitedAnswer(message["content"], list(map(_grounded_source, message["sources"])))
        for message in messages
        if message["role"] == "assistant"
    ]


async def ask(client: httpx.AsyncClient, question: str, _selection: str | None) -> CitedAnswer:
    found = await _post(client, "/ask", {"question": question})
    return CitedAnswer(found["answer"], list(map(_ask_source, found["sources"])))


async def ask_stream(client: httpx.AsyncClient, question: str, _selection: str | None) -> CitedAnswer:
    found = await stream(client, "/ask", {"question": question, "stream": True})
    return CitedAnswer(found.text, list(map(_ask_source, found.sources["sources"])))


async def query(client: httpx.AsyncClient, question: str, _selection: str | None) -> CitedAnswer:
    found = await _post(client, "/query", {"query": question})
    return CitedAnswer(found["answer"], [source["chunk_id"] for source in found["sources"]])


async def query_without_sources(client: httpx.AsyncClient, question: str, _selection: str | None) -> CitedAnswer:
    found = await _post(client, "/query", {"query": question, "include_sources": False})
    return CitedAnswer(found["answer"], found["sources"])


async def query_stream(client: httpx.AsyncClient, question: str, _selection: str | None) -> CitedAnswer:
    found = await stream(client, "/query", {"query": question, "stream": True})
    return CitedAnswer(found.text, [source["chunk_id"] for source in found.sources["sources"]])


def _annotated(content: str, annotations: list[Body]) -> CitedAnswer:
    """The URLs by the number of the mark that each annotates; every mark must have one."""
    urls: dict[int, str] = {}
    for annotation in annotations:
        cited = annotation["url_citation"]
        mark = re.fullmatch(r"\[(\d+)\]", content[cited["start_index"] : cited["end_index"]])
        assert mark is not None
        assert urls.setdefault(int(mark[1]), _section(cited["url"])) == _section(cited["url"])
    assert sorted(urls) == list(range(1, len(urls) + 1))
    return CitedAnswer(content, [urls[number] for number in sorted(urls)])


def _completion_body(question: str, selection: str | None) -> Body:
    messages = [{"role": "user", "content": question}]
    return _with({"model": "glossator", "messages": messages}, "selected_text", selection)


async def completion(client: httpx.AsyncClient, question: str, selection: str | None) -> CitedAnswer:
    found = await _post(client, "/v1/chat/completions", _completion_body(question, selection))
    message = found["choices"][0]["message"]
    return _annotated(message["content"], message["annotations"])


async def completion_stream(client: httpx.AsyncClient, question: str, selection: str | None) -> CitedAnswer:
    body = _completion_body(question, selection) | {"stream": True}
    response = await client.post("/v1/chat/completions", json=body)
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
    deltas = [json.loads(line)["choices"][0]["delta"] for line in lines]
    annotations = [annotation for delta in deltas for annotation in delta.get("annotations", [])]
    return _annotated("".join(delta.get("content", "") for delta in deltas), annotations)


async def mcp(client: httpx.AsyncClient, question: str, selection: str | None) -> CitedAnswer:
    arguments: dict[str, Any] = _with({"question": question}, "selected_text", selection)
    call = {"name": "ask_book", "arguments": arguments}
    response = await client.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        headers={"accept": "application/json, text/event-stream"},
    )
    payload = response.text.rpartition("data: ")[2] if "data: " in response.text else response.text
    found = json.loads(payload)["result"]["structuredContent"]
    assert [c["number"] for c in found["citations"]] == list(range(1, len(found["citations"]) + 1))
    return CitedAnswer(found["text"], [_section(c["url"]) or SELECTION for c in found["citations"]])


DOORS: dict[str, Ask] = {
    function.__name__: function
    for function in (
        *(chat, chat_stream, history, agent, agent_stream, agent_session, structured, structured_stream),
        *(grounded, grounded_stream, grounded_session),
        *(ask, ask_stream, query, query_without_sources, query_stream, completion, completion_stream, mcp),
    )
}


@dataclass(frozen=True)
class Conversations:
    """A door that stores conversations: how it is asked in a session, and how it returns what was said there."""

    path: str
    body: Callable[[str, str | None, str], Body]
    history: Callable[[httpx.AsyncClient, str], Awaitable[list[CitedAnswer]]]


def _chat_body(question: str, selection: str | None, session: str) -> Body:
    return _with({"query": question, "session_id": session}, "selected_text", selection)


def _grounded_session_body(question: str, selection: str | None, session: str) -> Body:
    return _grounded_body(question, selection) | {"conversation_id": session, "stream": True}


CONVERSATIONS = {
    "chat": Conversations("/chat/stream", _chat_body, chat_history),
    "agent": Conversations("/agent/chat", lambda *asked: _agent_body(*asked) | {"stream": True}, agent_history),
    "grounded": Conversations("/agent/query/session", _grounded_session_body, grounded_history),
}
WITHOUT_SELECTION = {"ask", "ask_stream", "query", "query_without_sources", "query_stream"}
"""Doors whose contract has no selection."""
