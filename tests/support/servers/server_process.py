"""A real server in a process of its own, and clients that disconnect from it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from httpx_sse import ServerSentEvent, aconnect_sse

from commands import COMMAND, quick_folder
from doors import Body
from streams import ENDPOINTS, LONG_TIMEOUTS, MAX_WAIT_SECONDS, new_id


@dataclass(frozen=True)
class ServerProcess:
    """A real server that is ready."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, timeout=MAX_WAIT_SECONDS)

    @property
    def files(self) -> int:
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/fd").iterdir())

    @property
    def threads(self) -> int:
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/task").iterdir())

    @property
    def memory(self) -> int:
        """Its address space in bytes."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[0]
        return int(pages) * resource.getpagesize()

    @property
    def errors(self) -> list[str]:
        """Log lines that an operator would have to look at."""
        lines = self.log.read_text().splitlines()
        return [line for line in lines if "Traceback" in line or '"level": "error"' in line]

    async def tasks(self) -> int:
        """The number of asyncio tasks; only a monitored server tells."""
        async with self.client() as client:
            return int((await client.get("/tasks")).text)

    async def wait_for_usage(self, files: int, threads: int, tasks: int) -> None:
        """Wait until it uses no more than this."""
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            while self.files > files or self.threads > threads or await self.tasks() > tasks:  # noqa: ASYNC110 - its own
                await asyncio.sleep(0.1)

    async def wait(self) -> int:
        """Wait for its end, and return the exit code."""
        return await asyncio.to_thread(self.process.wait, MAX_WAIT_SECONDS)


@contextmanager
def server_process(
    data: Path, *, start: list[str] = COMMAND, workers: int = 1, **values: Any
) -> Iterator[ServerProcess]:
    """A server, from start to shutdown."""
    variables = {f"GLOSSATOR_{name.upper()}": str(value) for name, value in (LONG_TIMEOUTS | values).items()}
    command = [*start, "serve", "--port", "0", "--workers", str(workers), "--data-dir", str(data)]
    with quick_folder() as folder, (folder / "log").open("wb") as written:
        log = folder / "log"
        process = subprocess.Popen(command, env=os.environ | variables, stdout=written, stderr=written)
        try:
            while "Uvicorn running on" not in log.read_text() or log.read_text().count("startup complete") < workers:
                assert process.poll() is None, log.read_text()
                time.sleep(0.05)
            port = re.search(r"Uvicorn running on http://127\.0\.0\.1:(\d+)", log.read_text())
            assert port
            yield ServerProcess(int(port[1]), process, log)
        finally:
            process.terminate()
            process.wait(MAX_WAIT_SECONDS)


def raw_request(path: str, body: Body) -> bytes:
    """A request as it is sent over a socket."""
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
    )
    return head.encode() + b"\r\n\r\n" + content


async def connect_and_disconnect(server: ServerProcess, path: str, after: bytes, *, abort: bool) -> None:
    """Send a request, read until `after`, and close the connection; with `abort`, by a TCP reset."""
    async with asyncio.timeout(MAX_WAIT_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(raw_request(path, ENDPOINTS[path](new_id())))
        await writer.drain()
        if after:
            await reader.readuntil(after)
        if abort:
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)


async def read_events(server: ServerProcess, path: str, body: Body, last_event_id: str = "") -> list[ServerSentEvent]:
    """All events of a stream."""
    resume = {"Last-Event-ID": last_event_id} if last_event_id else {}
    async with server.client() as client, aconnect_sse(client, "POST", path, json=body, headers=resume) as source:
        return [event async for event in source.aiter_sse()]


def text_of(events: list[ServerSentEvent]) -> str:
    return "".join(event.json()["delta"] for event in events if event.event == "delta")
