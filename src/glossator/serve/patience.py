"""How long a connection may keep the server waiting, and how much it may say before its headers end."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 10.0
"""Within which the headers of a request must have come, from its first byte or from the connection's beginning."""
MOST_HEADER_BYTES = 65_536
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: 32\r\n\r\nThe request's headers are large."
)


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
            self.transport.write(_TOO_LARGE)
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
