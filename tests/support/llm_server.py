"""A provider on loopback that answers as it is told to, with all the oddities that real ones have."""

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

from servers import running

Body = dict[str, Any]
Reply = Callable[[Body], Response]


@dataclass
class LlmServer:
    """What it was asked, and what it is going to say: each reply once, the last one for ever."""

    replies: list[Reply] = field(default_factory=list)
    asked: list[Body] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    left: int = 0
    url: str = ""

    def script(self, *replies: Reply) -> None:
        """Begin anew."""
        self.replies, self.asked, self.left = list(replies), [], 0

    async def answer(self, request: Request) -> Response:
        body = await request.json()
        self.asked.append(body)
        self.keys.append(request.headers.get("authorization", ""))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        response = reply(body) if body.get("stream") else _whole(reply(body))
        if isinstance(response, StreamingResponse):
            response.body_iterator = self._watched(response.body_iterator)
        return response

    async def _watched(self, lines: Any) -> AsyncIterator[Any]:
        try:
            async for line in lines:
                yield line
        except (asyncio.CancelledError, GeneratorExit):
            self.left += 1
            raise


def _whole(response: Response) -> Response:
    """The same, not streamed: a word stands for it all."""
    if not isinstance(response, StreamingResponse):
        return response
    message = {"role": "assistant", "content": "yes"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return JSONResponse({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})


def says(text: str, *, size: int = 12, finish: str = "stop", pause: float = 0.0) -> Reply:
    """An answer in words, streamed."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return lambda _body: _stream([{"content": piece} for piece in pieces], finish, pause)


def searches(query: str = "zero-moment point", *, ids: tuple[str, ...] = ("call_1",), arguments: str = "") -> Reply:
    """A call of the tool."""
    given = arguments or json.dumps({"query": query, "limit": 5})
    calls = [
        {"index": n, "id": name, "type": "function", "function": {"name": "search_book_content", "arguments": given}}
        for n, name in enumerate(ids)
    ]
    return lambda _body: _stream([{"tool_calls": [call]} for call in calls], "tool_calls")


def both(text: str, query: str) -> Reply:
    """Words, and then a call of the tool."""
    call = {
        "index": 0,
        "id": "call_b",
        "type": "function",
        "function": {"name": "search_book_content", "arguments": json.dumps({"query": query, "limit": 3})},
    }
    return lambda _body: _stream([{"content": text}, {"tool_calls": [call]}], "tool_calls")


def calls(name: str) -> Reply:
    """A call of a tool that there is none of."""
    call = {"index": 0, "id": "call_x", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return lambda _body: _stream([{"tool_calls": [call]}], "tool_calls")


def fails(status: int, headers: dict[str, str] | None = None) -> Reply:
    """An error, which repeats the key as some providers do."""
    problem = {"error": {"message": "Incorrect API key provided: sk-secret", "type": "x", "code": "y"}}
    return lambda _body: JSONResponse(problem, status, headers)


def page() -> Reply:
    """Something that is no language model at all."""
    return lambda _body: Response("<html>Welcome to nginx</html>", media_type="text/html")


def no_choices() -> Reply:
    """A stream of chunks without a choice in any."""
    return lambda _body: _lines([_chunk([])])


def dies(text: str) -> Reply:
    """The connection is lost halfway."""

    async def lines() -> AsyncIterator[str]:
        yield _line(_chunk([{"index": 0, "delta": {"content": text}, "finish_reason": None}]))
        await asyncio.sleep(0.05)
        raise ConnectionResetError

    return lambda _body: StreamingResponse(lines(), media_type="text/event-stream")


def stalls(text: str = "") -> Reply:
    """Nothing more comes, and the connection stays open."""

    async def lines() -> AsyncIterator[str]:
        if text:
            yield _line(_chunk([{"index": 0, "delta": {"content": text}, "finish_reason": None}]))
        await asyncio.sleep(600)

    return lambda _body: StreamingResponse(lines(), media_type="text/event-stream")


def drips(text: str, pause: float) -> Reply:
    """One character at a time."""
    return says(text, size=1, pause=pause)


def _stream(deltas: list[Body], finish: str, pause: float = 0.0) -> Response:
    chunks = (_chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas)
    last = _chunk([{"index": 0, "delta": {}, "finish_reason": finish}])
    usage = _chunk([]) | {"usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}}
    return _lines(chain(chunks, (last, usage)), pause)


def _lines(chunks: Iterable[Body], pause: float = 0.0) -> Response:
    async def lines() -> AsyncIterator[str]:
        for chunk in chunks:
            yield _line(chunk)
            if pause:
                await asyncio.sleep(pause)
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
    """A provider for as long as it is needed."""
    scripted = LlmServer()
    app = Starlette(routes=[Route("/v1/chat/completions", scripted.answer, methods=["POST"])])
    with running(app) as address:
        scripted.url = f"{address}/v1"
        yield scripted
