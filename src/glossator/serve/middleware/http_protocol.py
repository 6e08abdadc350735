"""How long a connection may keep the server waiting, and how much it may say before its headers end."""

from __future__ import annotations

import asyncio
import re
import uuid
from dataclasses import replace
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from glossator.serve.doors.base import PLAIN
from glossator.serve.problems import http_problem

HEADER_SECONDS = 10.0
"""Within which the headers of a request must have come, from its first byte or from the connection's beginning."""
MOST_HEADER_BYTES = 65_536
_UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)
"""Java's client and curl offer HTTP/2 with every request; the parser would take the offer and leave out the body."""


class PatientProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which would wait for ever for headers of any size."""

    _waiting: asyncio.TimerHandle | None = None
    _header_bytes = 0
    """Of this request: its address, headers and trailers."""
    _loose_bytes = 0
    """Since the parser last made sense of any: of a header that does not end, of blank lines between requests."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.cycle is None or self.cycle.response_complete:
            head, end, body = data.partition(b"\r\n\r\n")
            data = _UPGRADE.sub(b"\r\nX-Upgrade:", head) + end + body
        self._loose_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._loose_bytes > MOST_HEADER_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large.")
        elif self._waiting is None and (self.cycle is None or self.cycle.response_complete):
            # Blank lines, or the rest of a body that was refused: uvicorn's own clock stops with the first byte.
            self._wait()

    def send_400_response(self, msg: str) -> None:
        if self._header_bytes > MOST_HEADER_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large.")
        else:
            self._refuse(HTTPStatus.BAD_REQUEST, msg)

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        """What is no request is answered before any route could be: as JSON, with an id, like everything else."""
        request_id = str(uuid.uuid4())
        said = PLAIN.tell(replace(http_problem(status), message=message, request_id=request_id)).model_dump_json()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
            f"x-request-id: {request_id}\r\ncontent-length: {len(said)}\r\nconnection: close\r\n\r\n"
        )
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            self.transport.write((head + said).encode("ascii"))  # and never into the midst of another answer
        self.transport.close()

    def on_message_begin(self) -> None:
        self._loose_bytes = self._header_bytes = 0
        self._wait()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._loose_bytes = 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        self._loose_bytes = 0

    def on_body(self, body: bytes) -> None:
        self._loose_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._loose_bytes = 0
        super().on_message_complete()

    def _count(self, size: int) -> None:
        """An error stops the parser, which then asks for the answer to what it could not read."""
        self._header_bytes += size
        if self._header_bytes > MOST_HEADER_BYTES:
            raise ValueError("The headers are too large.")

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if not self.transport.is_closing():
            self.transport.close()
