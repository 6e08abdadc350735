"""How long a connection may keep the server waiting, and how much it may say before its headers end."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from glossator.serve.door import PLAIN
from glossator.serve.problems import http_problem

HEADER_SECONDS = 10.0
"""Within which the headers of a request must have come, from its first byte or from the connection's beginning."""
MOST_HEADER_BYTES = 65_536


class PatientProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which would wait for ever for headers of any size."""

    _waiting: asyncio.TimerHandle | None = None
    _in_headers = True
    _header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_headers:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._in_headers and self._header_bytes > MOST_HEADER_BYTES and not self.transport.is_closing():
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large.")

    def send_400_response(self, msg: str) -> None:
        self._refuse(HTTPStatus.BAD_REQUEST, msg)

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        """What is no request is answered before any route could be: as JSON, with an id, like everything else."""
        request_id = str(uuid.uuid4())
        said = PLAIN.tell(replace(http_problem(status), message=message, request_id=request_id)).model_dump_json()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
            f"x-request-id: {request_id}\r\ncontent-length: {len(said)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write((head + said).encode("ascii"))
        self.transport.close()

    def on_message_begin(self) -> None:
        self._in_headers, self._header_bytes = True, 0
        if self._waiting is None:
            self._wait()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_headers = False
        self._stop_waiting()
        super().on_headers_complete()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if not self.transport.is_closing():
            self.transport.close()
