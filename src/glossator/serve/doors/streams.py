"""Answers as server-sent events; a client that loses the connection can reconnect and resume."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from starlette.responses import StreamingResponse

from glossator.core.answers import Delta
from glossator.core.receipts import AnswerWithReceipt
from glossator.pipeline.answering import AnswerIterator
from glossator.serve.problems import RequestRejected

STREAM_HEADERS = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}
HEARTBEAT = ": keep-alive\n\n"
_EVENT_ID = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(\d{1,9})\.([0-9a-f]{8})([ts]?)")


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """How long streams wait, and how many continue without a client."""

    heartbeat_seconds: float = 10.0
    """Silence after which a comment keeps the connection alive."""
    first_event_seconds: float = 3.0
    """How long an error can still become an HTTP status; later it is sent as an event."""
    reconnect_seconds: float = 10.0
    """How long an answer without subscribers continues before it is cancelled."""
    max_orphaned: int = 100
    """Unfinished answers without subscribers; any further one is cancelled at once."""


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """How much of an answer a client has received: the number of characters, and their hash.

    `phase` is empty within the text, "t" after the text that a door appends, "s" after the sources.
    """

    stream_id: str
    offset: int = 0
    digest: str = ""
    phase: str = ""

    @classmethod
    def parse(cls, last_event_id: str | None) -> StreamPosition | None:
        """The position in a `Last-Event-ID` header, if it is one of ours."""
        match = _EVENT_ID.fullmatch(last_event_id or "")
        return cls(match[1], int(match[2]), match[3], match[4]) if match else None

    def __str__(self) -> str:
        return f"{self.stream_id}.{self.offset}.{self.digest}{self.phase}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


class AnswerStream:
    """An answer in progress: produced once, for any number of subscribers."""

    def __init__(self, pieces: AnswerIterator) -> None:
        self.text = ""
        self.latest = Delta("")
        self.result: AnswerWithReceipt | None = None
        self.error: Exception | None = None
        self.subscribers = 0
        self.disconnects = 0
        self.changed = asyncio.Event()
        self._task = asyncio.create_task(self._run(pieces))

    @property
    def finished(self) -> bool:
        return self.result is not None or self.error is not None

    @property
    def stored(self) -> bool:
        return self.result is not None and self.result.answer.stored

    async def _run(self, pieces: AnswerIterator) -> None:
        try:
            async with aclosing(pieces) as closing:  # type: ignore[type-var]
                async for piece in closing:
                    if isinstance(piece, Delta):
                        self.text += piece
                        self.latest = piece
                    else:
                        self.result = piece
                    self._notify()
        except Exception as error:  # reported to every subscriber
            self.error = error
        except asyncio.CancelledError:
            self.error = asyncio.CancelledError()  # type: ignore[assignment]
            raise
        finally:
            self._notify()

    def _notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    async def cancel(self) -> None:
        """Stop producing the answer."""
        self._task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await self._task


class Streams:
    """The answers in progress in this process."""

    def __init__(self, limits: StreamLimits | None = None) -> None:
        self.limits = limits or StreamLimits()
        self._open: dict[str, AnswerStream] = {}
        self._evictions: set[asyncio.Task[None]] = set()

    def __contains__(self, stream_id: str) -> bool:
        return any(key.startswith(stream_id) for key in self._open)

    def subscribe(self, key: str, start: Callable[[], AnswerIterator]) -> AnswerStream:
        """The answer with this key: in progress, just finished, or started now.

        A stored answer whose clients have left is read from the database again, as it may be deleted there.
        """
        stream = self._open.get(key)
        if stream is None or (stream.stored and not stream.subscribers):
            stream = self._open[key] = AnswerStream(start())
        stream.subscribers += 1
        return stream

    def unsubscribe(self, key: str, stream: AnswerStream) -> None:
        """Without subscribers, an answer is dropped after a while; at once if it is stored or too many are orphaned."""
        stream.subscribers -= 1
        if self._open.get(key) is not stream or stream.subscribers:
            return
        stream.disconnects += 1
        orphaned = sum(not other.subscribers and not other.finished for other in self._open.values())
        needless = stream.stored or orphaned > self.limits.max_orphaned
        seconds = 0.0 if needless else self.limits.reconnect_seconds
        eviction = asyncio.create_task(self._evict(key, stream, stream.disconnects, seconds))
        self._evictions.add(eviction)
        eviction.add_done_callback(self._evictions.discard)

    async def _evict(self, key: str, stream: AnswerStream, disconnects: int, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if not stream.subscribers and stream.disconnects == disconnects:  # otherwise a client reconnected meanwhile
            if self._open.get(key) is stream:
                del self._open[key]
            await stream.cancel()

    async def close(self) -> None:
        """Cancel everything."""
        for eviction in tuple(self._evictions):
            eviction.cancel()
        await asyncio.gather(*self._evictions, return_exceptions=True)
        streams, self._open = tuple(self._open.values()), {}  # emptied first: clients that leave now schedule nothing
        for stream in streams:
            await stream.cancel()


@dataclass(frozen=True, slots=True)
class StreamFormat:
    """How a door writes a stream: deltas, the text it appends, sources and errors, and how long the text may be."""

    text: Callable[[Delta], str]
    tail: Callable[[AnswerWithReceipt], str]
    sources: Callable[[AnswerWithReceipt], dict[str, Any]]
    error: Callable[[Exception], dict[str, Any]]
    max_characters: int | None = None


def _stream_lost() -> RequestRejected:
    message = "The stream cannot be resumed: the answer no longer begins with the text already sent."
    return RequestRejected(HTTPStatus.CONFLICT, "STREAM_LOST", message, "Ask again.")


async def stream_response(
    streams: Streams,
    owner: str,
    position: StreamPosition | None,
    start: Callable[[str], AnswerIterator],
    stream_format: StreamFormat,
) -> StreamingResponse:
    """The answer as events. `start` produces its pieces under a stream id; a client that reconnects gets the rest.

    `owner` identifies the caller and the request: for any other caller or request, the stream id means nothing.
    """
    position = position or StreamPosition(str(uuid.uuid4()))
    stream_id = position.stream_id
    key = f"{stream_id} {owner}"
    stream = streams.subscribe(key, lambda: start(stream_id))
    try:
        if not stream.text and not stream.finished:
            await _is_set(stream.changed, streams.limits.first_event_seconds)
        if stream.error is not None and not stream.text:
            raise stream.error
    except BaseException:
        streams.unsubscribe(key, stream)
        raise
    return StreamingResponse(
        _events(streams, key, stream, position, stream_format), media_type="text/event-stream", headers=STREAM_HEADERS
    )


async def _events(
    streams: Streams, key: str, stream: AnswerStream, position: StreamPosition, stream_format: StreamFormat
) -> AsyncIterator[str]:
    offset, heartbeat_seconds = position.offset, streams.limits.heartbeat_seconds
    try:
        while len(stream.text) < offset and not stream.finished:
            if not await _is_set(stream.changed, heartbeat_seconds):
                yield HEARTBEAT
        if offset and _digest(stream.text[:offset]) != position.digest:
            yield event("error", stream_format.error(_stream_lost()))
            return
        while True:
            changed, finished = stream.changed, stream.finished  # read before the text: no change may be missed
            if text := cut_after_citation(stream.text, stream_format.max_characters)[offset:]:
                delta = Delta(text, None if offset else stream.latest.mode)
                offset += len(text)
                reached = StreamPosition(position.stream_id, offset, _digest(stream.text[:offset]))
                yield event("delta", {"delta": stream_format.text(delta)}, reached)
            if finished:
                break
            if not await _is_set(changed, heartbeat_seconds):
                yield HEARTBEAT
        for last in _ending(
            stream, replace(position, offset=offset, digest=_digest(stream.text[:offset])), stream_format
        ):
            yield last
    finally:
        streams.unsubscribe(key, stream)


def cut_after_citation(text: str, max_characters: int | None) -> str:
    """A text that is too long for a contract, up to its last citation within the limit."""
    if max_characters is None or len(text) <= max_characters:
        return text
    cut = text[:max_characters]
    return cut[: cut.rfind("]") + 1] or cut


def _ending(stream: AnswerStream, position: StreamPosition, stream_format: StreamFormat) -> Iterator[str]:
    """The events after the text, without those that the client already has."""
    if stream.result is None:
        yield event("error", stream_format.error(stream.error or _stream_lost()))
        return
    if not position.phase and (tail := stream_format.tail(stream.result)):
        yield event("delta", {"delta": tail}, replace(position, phase="t"))
    end = replace(position, phase="s")
    if position.phase != "s":
        yield event("sources", stream_format.sources(stream.result), end)
    yield event("done", {"done": True}, end)


async def _is_set(changed: asyncio.Event, seconds: float) -> bool:
    """Wait for an event; False after a timeout."""
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
    except TimeoutError:
        return False
    return True


def event(name: str, data: dict[str, Any], position: StreamPosition | None = None) -> str:
    """One event; JSON has no line breaks, so no text can end the event early."""
    event_id = f"id: {position}\n" if position else ""
    return f"event: {name}\n{event_id}data: {json.dumps(data, ensure_ascii=False, default=str)}\n\n"
