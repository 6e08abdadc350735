"""uvicorn's HTTP/1.1 protocol, with a timeout for request headers."""

from __future__ import annotations

import asyncio
import sys
import uuid
from dataclasses import replace
from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from glossator.serve.doors.base import DEFAULT_DOOR
from glossator.serve.problems import http_problem

HEADER_TIMEOUT_SECONDS = 10.0


class TimeoutProtocol(H11Protocol):
    """Closes connections that do not send complete request headers in time (slow loris).

    uvicorn limits the size of headers (`h11_max_incomplete_event_size`) and the idle time between requests
    (`timeout_keep_alive`), but waits for the rest of a request without a limit. The timer runs while the server waits
    for the client: from the connection's start, and from the first byte of each later request. While a request is
    being served, LimitsMiddleware applies its own timeouts.
    """

    header_timeout_seconds = HEADER_TIMEOUT_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY):
            self._stop_timer()
        elif self._timer is None and not self.transport.is_closing():
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.header_timeout_seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _should_upgrade(self) -> bool:
        """Never: uvicorn would log two warnings for each client that offers HTTP/2, as curl and Java do."""
        return False

    def send_400_response(self, msg: str) -> None:
        """Malformed requests get JSON with a request id, like every other error."""
        error = sys.exception()
        if isinstance(error, h11.RemoteProtocolError) and error.error_status_hint == 431:
            self._reject(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The request headers are too large.")
        else:
            self._reject(HTTPStatus.BAD_REQUEST, msg)

    def _reject(self, status: HTTPStatus, message: str) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):  # never in the middle of another response
            request_id = str(uuid.uuid4())
            problem = replace(http_problem(status), message=message, request_id=request_id)
            body = DEFAULT_DOOR.render_error(problem).model_dump_json().encode()
            headers = {
                "content-type": "application/json",
                "x-request-id": request_id,
                "content-length": str(len(body)),
                "connection": "close",
            }
            response = h11.Response(status_code=status, headers=list(headers.items()), reason=status.phrase)
            for event in (response, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
