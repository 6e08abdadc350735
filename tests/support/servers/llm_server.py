"""A scripted OpenAI-compatible server on loopback, with all the quirks of real providers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from app_server import running

Body = dict[str, Any]
Reply = Callable[[Body], Response]
LONG_COOLDOWN_SECONDS = 300.0
"""Seconds for which a circuit breaker stays open: none is half-open only because the machine is busy."""


@dataclass
class LlmServer:
    """The requests it received and the replies it will send: each reply once, the last one repeatedly."""

    replies: list[Reply] = field(default_factory=list)
    requests: list[Body] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    disconnects: int = 0
    url: str = ""

    def script(self, *replies: Reply) -> None:
        """Set the replies, and forget earlier requests."""
        self.replies, self.requests, self.disconnects = list(replies), [], 0

    async def answer(self, request: Request) -> Response:
        body = await request.json()
        self.requests.append(body)
        self.authorizations.append(request.headers.get("authorization", ""))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        response = reply(body) if body.get("stream") else _not_streamed(reply(body))
        if isinstance(response, StreamingResponse):
            response.body_iterator = self._count_disconnects(response.body_iterator)
        return response

    async def _count_disconnects(self, lines: Any) -> AsyncIterator[Any]:
        try:
            async for line in lines:
                yield line
        except (asyncio.CancelledError, GeneratorExit):
            self.disconnects += 1
            raise


def _not_streamed(response: Response) -> Response:
    """A complete response in place of a stream; its text is always "yes"."""
    if not isinstance(response, StreamingResponse):
        return response
    message = {"role": "assistant", "content": "yes"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return JSONResponse({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})


def says(text: str, *, size: int = 12, finish: str = "stop", interval: float = 0.0) -> Reply:
    """Text, streamed."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return lambda _body: _stream([{"content": piece} for piece in pieces], finish, interval)


def searches(query: str = "zero-moment point", *, ids: tuple[str, ...] = ("call_1",), arguments: str = "") -> Reply:
    """A call to the search tool."""
    given = arguments or json.dumps({"query": query, "limit": 5})
    calls = [
        {"index": n, "id": name, "type": "function", "function": {"name": "search_book_content", "arguments": given}}
        for n, name in enumerate(ids)
    ]
    return lambda _body: _stream([{"tool_calls": [call]} for call in calls], "tool_calls")


def says_and_searches(text: str, query: str) -> Reply:
    """Text, then a call to the search tool."""
    call = {
        "index": 0,
        "id": "call_b",
        "type": "function",
        "function": {"name": "search_book_content", "arguments": json.dumps({"query": query, "limit": 3})},
    }
    return lambda _body: _stream([{"content": text}, {"tool_calls": [call]}], "tool_calls")


def calls_tool(name: str) -> Reply:
    """A call to a tool of this name."""
    call = {"index": 0, "id": "call_x", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return lambda _body: _stream([{"tool_calls": [call]}], "tool_calls")


def fails(status: int, headers: dict[str, str] | None = None) -> Reply:
    """An error whose message repeats the key, as some providers do."""
    problem = {"error": {"message": "Incorrect API key provided: sk-secret", "type": "x", "code": "y"}}
    return lambda _body: JSONResponse(problem, status, headers)


def html_page() -> Reply:
    """A web page instead of a completion."""
    return lambda _body: Response("<html>Welcome to nginx</html>", media_type="text/html")


def no_choices() -> Reply:
    """A stream of chunks without choices."""
    return lambda _body: _lines([_chunk([])])


def drops_connection(text: str) -> Reply:
    """The connection is lost mid-stream."""

    async def lines() -> AsyncIterator[str]:
        yield _line(_chunk([{"index": 0, "delta": {"content": text}, "finish_reason": None}]))
        await asyncio.sleep(0.05)
        raise ConnectionResetError

    return lambda _body: StreamingResponse(lines(), media_type="text/event-stream")


def stalls(text: str = "") -> Reply:
    """The connection stays open, and nothing more is sent."""

    async def lines() -> AsyncIterator[str]:
        if text:
            yield _line(_chunk([{"index": 0, "delta": {"content": text}, "finish_reason": None}]))
        await asyncio.sleep(600)

    return lambda _body: StreamingResponse(lines(), media_type="text/event-stream")


def drips(text: str, interval: float) -> Reply:
    """One character at a time."""
    return says(text, size=1, interval=interval)


def _stream(deltas: list[Body], finish: str, interval: float = 0.0) -> Response:
    chunks = (_chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas)
    last = _chunk([{"index": 0, "delta": {}, "finish_reason": finish}])
    usage = _chunk([]) | {"usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}}
    return _lines(chain(chunks, (last, usage)), interval)


def _lines(chunks: Iterable[Body], interval: float = 0.0) -> Response:
    async def lines() -> AsyncIterator[str]:
        for chunk in chunks:
            yield _line(chunk)
            if interval:
                await asyncio.sleep(interval)
        yield "data: [DONE]\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


def _chunk(choices: list[Body]) -> Body:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted",
        "choices": choices,
    }


def _line(chunk: Body) -> str:
    return f"data: {json.dumps(chunk)}\n\n"


@contextmanager
def running_llm_server() -> Iterator[LlmServer]:
    """Run the server for the duration of a test."""
    scripted = LlmServer()
    app = Starlette(routes=[Route("/v1/chat/completions", scripted.answer, methods=["POST"])])
    with running(app, http="auto") as address:
        scripted.url = f"{address}/v1"
        yield scripted
