"""A TCP proxy in front of a dependency, which can be killed, hung, slowed, restarted, or send garbage."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Literal

Fault = Literal["none", "killed", "hung", "slowed", "restarted", "garbage"]
FAULTS: tuple[Fault, ...] = ("killed", "hung", "slowed", "restarted", "garbage")
SLOW_SECONDS = 0.2
RESTART_SECONDS = 0.5
_POLL_SECONDS = 0.05


class TcpProxy:
    """Forwards connections to a port of this machine; its thread has an event loop of its own."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self._fault: Fault = "none"
        self._random = random.Random(1)  # noqa: S311 - not a secret
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._run(self._listen())

    def set(self, fault: Fault) -> None:
        """Begin a fault, or end it with `none`."""
        self._run(self._set(fault))

    def close(self) -> None:
        self._run(self._set("killed"))
        self._run(self._finish())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: object) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)  # type: ignore[arg-type]

    async def _finish(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _set(self, fault: Fault) -> None:
        self._fault = fault
        if fault in ("killed", "restarted") and self._server is not None:
            self._server.close()
            self._server = None
            for writer in set(self._open):
                writer.transport.abort()
        if fault == "restarted":
            await asyncio.sleep(RESTART_SECONDS)
        if fault != "killed" and self._server is None:
            await self._listen()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        with suppress(OSError):
            behind, beyond = await asyncio.open_connection("127.0.0.1", self._upstream)
            self._open.add(beyond)
            sending = self._loop.create_task(self._pump(reader, beyond))
            await self._pump(behind, writer, answers=True)
            sending.cancel()
            beyond.transport.abort()
            self._open.discard(beyond)
            await asyncio.gather(sending, return_exceptions=True)
        writer.transport.abort()
        self._open.discard(writer)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool = False) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                while self._fault == "hung" and not writer.is_closing():  # noqa: ASYNC110 - set from another thread
                    await asyncio.sleep(_POLL_SECONDS)
                if self._fault == "slowed":
                    await asyncio.sleep(SLOW_SECONDS)
                if self._fault == "garbage" and answers:
                    data = self._random.randbytes(len(data))
                writer.write(data)
                await writer.drain()


@contextmanager
def tcp_proxy(upstream: int) -> Iterator[TcpProxy]:
    """A proxy, from start to end."""
    proxy = TcpProxy(upstream)
    try:
        yield proxy
    finally:
        proxy.close()
