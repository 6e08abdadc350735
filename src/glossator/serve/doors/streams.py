"""Answers as server-sent events: whoever loses the connection can come back and hear the rest."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import StreamingResponse

from glossator.core.answers import Delta
from glossator.core.receipts import AnswerWithReceipt

HEARTBEAT = 10.0
"""Seconds of silence after which a comment keeps the connection alive."""
WAIT_FOR_FIRST = 3.0
"""Seconds in which an error is still result by its status; later it comes as an event."""
RETURN_WITHIN = 10.0
"""Seconds in which a reader may come back before an answer that nobody hears is given up."""
MOST_ALONE = 100
"""Answers that go on although nobody hears them."""
_ID = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(\d{1,9})\.([0-9a-f]{8})([ts]?)")
HEADERS = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """How far a reader has come in an answer: so many characters, which had this hash.

    `beyond` the words: "t" for what a door says after them, "s" for the sources too.
    """

    stream_id: str
    offset: int = 0
    digest: str = ""
    beyond: str = ""

    @classmethod
    def read(cls, last_event_id: str | None) -> StreamPosition | None:
        """The position that a `Last-Event-ID` names, if it is one of ours."""
        found = _ID.fullmatch(last_event_id or "")
        return cls(found[1], int(found[2]), found[3], found[4]) if found else None

    def __str__(self) -> str:
        return f"{self.stream_id}.{self.offset}.{self.digest}{self.beyond}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


class Stream:
    """One answer on its way: it is written once, and heard by whoever is there."""

    def __init__(self, pieces: AsyncIterator[str | AnswerWithReceipt]) -> None:
        self.text = ""
        self.latest = Delta("")
        self.result: AnswerWithReceipt | None = None
        self.error: Exception | None = None
        self.listeners = 0
        self.leavings = 0
        self.news = asyncio.Event()
        self._task = asyncio.create_task(self._write(pieces))

    @property
    def over(self) -> bool:
        return self.result is not None or self.error is not None

    async def _write(self, pieces: AsyncIterator[str | AnswerWithReceipt]) -> None:
        try:
            async with aclosing(pieces) as closing:  # type: ignore[type-var]
                async for piece in closing:
                    if isinstance(piece, str):
                        self.text += piece
                        self.latest = piece if isinstance(piece, Delta) else self.latest
                    else:
                        self.result = piece
                    self._tell()
        except Exception as error:  # result to whoever listens
            self.error = error
        except asyncio.CancelledError:
            self.error = asyncio.CancelledError()  # type: ignore[assignment]
            raise
        finally:
            self._tell()

    def _tell(self) -> None:
        self.news.set()
        self.news = asyncio.Event()

    async def stop(self) -> None:
        """Give the answer up."""
        self._task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await self._task


class Streams:
    """The answers under way in this process."""

    def __init__(self) -> None:
        self._open: dict[str, Stream] = {}
        self._chores: set[asyncio.Task[None]] = set()

    def find(self, stream_id: str) -> Stream | None:
        """An answer that is still being written, or just was."""
        return self._open.get(stream_id)

    def begin(self, stream_id: str, pieces: AsyncIterator[str | AnswerWithReceipt]) -> Stream:
        """Begin an answer."""
        stream = self._open[stream_id] = Stream(pieces)
        return stream

    def left(self, stream_id: str) -> None:
        """Nobody hears an answer any more: it goes on for a while, or is given up at once where too many do."""
        stream = self._open.get(stream_id)
        if stream is None or stream.listeners:
            return
        stream.leavings += 1
        alone = sum(not other.listeners and not other.over for other in self._open.values())
        seconds = 0.0 if alone > MOST_ALONE else RETURN_WITHIN
        chore = asyncio.create_task(self._forget(stream_id, stream, stream.leavings, seconds))
        self._chores.add(chore)
        chore.add_done_callback(self._chores.discard)

    async def _forget(self, stream_id: str, stream: Stream, leaving: int, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if not stream.listeners and stream.leavings == leaving:  # else somebody came back, and left anew
            self._open.pop(stream_id, None)
            await stream.stop()

    async def close(self) -> None:
        """Give everything up."""
        for chore in tuple(self._chores):
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
        streams, self._open = tuple(self._open.values()), {}  # whoever still listens leaves nothing to forget
        for stream in streams:
            await stream.stop()


@dataclass(frozen=True, slots=True)
class StreamFormat:
    """How a door tells a stream: its words, what comes after the words, its sources and its errors."""

    text: Callable[[Delta], str]
    tail: Callable[[AnswerWithReceipt], str]
    sources: Callable[[AnswerWithReceipt], dict[str, Any]]
    error: Callable[[Exception], dict[str, Any]]


STILL_HERE = ": still here\n\n"
LOST = "What was sent before is not how the answer begins now."


async def respond(
    streams: Streams,
    owner: str,
    position: StreamPosition | None,
    begin: Callable[[str], AsyncIterator[str | AnswerWithReceipt]],
    form: StreamFormat,
) -> StreamingResponse:
    """The answer as events. `begin` gives its pieces under an id; one who comes back hears the rest of the same.

    `owner` tells who asked what: to anybody else, and for another question, the id of a stream means nothing.
    """
    position = position or StreamPosition(str(uuid.uuid4()))
    name = f"{position.stream_id} {owner}"
    stream = streams.find(name) or streams.begin(name, begin(position.stream_id))
    stream.listeners += 1
    try:
        if not stream.text and not stream.over:
            await _happens(stream.news, WAIT_FOR_FIRST)
        if stream.error is not None and not stream.text:
            raise stream.error
    except BaseException:
        stream.listeners -= 1
        streams.left(name)
        raise
    return StreamingResponse(
        _events(streams, name, stream, position, form), media_type="text/event-stream", headers=HEADERS
    )


async def _events(
    streams: Streams, name: str, stream: Stream, position: StreamPosition, form: StreamFormat
) -> AsyncIterator[str]:
    heard = position.offset
    try:
        while len(stream.text) < heard and not stream.over:
            if not await _happens(stream.news, HEARTBEAT):
                yield STILL_HERE
        if heard and _digest(stream.text[:heard]) != position.digest:
            yield event("error", form.error(ValueError(LOST)))
            return
        while True:
            news, over = stream.news, stream.over  # before the words: what comes while they are sent is news, too
            if fresh := stream.text[heard:]:
                words = Delta(fresh, stream.latest.chunks, None if heard else stream.latest.mode)
                heard = len(stream.text)
                yield event(
                    "delta",
                    {"delta": form.text(words)},
                    StreamPosition(position.stream_id, heard, _digest(stream.text)),
                )
            if over:
                break
            if not await _happens(news, HEARTBEAT):
                yield STILL_HERE
        for last in _ending(stream, replace(position, offset=heard, digest=_digest(stream.text)), form):
            yield last
    finally:
        stream.listeners -= 1
        streams.left(name)


def _ending(stream: Stream, position: StreamPosition, form: StreamFormat) -> Iterator[str]:
    """What comes after the words, of which a reader may have heard some before."""
    if stream.result is None:
        yield event("error", form.error(stream.error or ValueError(LOST)))
        return
    if not position.beyond and (tail := form.tail(stream.result)):
        yield event("delta", {"delta": tail}, replace(position, beyond="t"))
    end = replace(position, beyond="s")
    if position.beyond != "s":
        yield event("sources", form.sources(stream.result), end)
    yield event("done", {"done": True}, end)


async def _happens(news: asyncio.Event, seconds: float) -> bool:
    """Wait for news; False if there was none."""
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        return False
    return True


def event(kind: str, data: dict[str, Any], position: StreamPosition | None = None) -> str:
    """One event; JSON has no line breaks, so that nothing of a text can end it."""
    name = f"id: {position}\n" if position else ""
    return f"event: {kind}\n{name}data: {json.dumps(data, ensure_ascii=False, default=str)}\n\n"
