"""The HTTP client's transport over checked connections; proxies are not used, because they resolve hosts again."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import httpcore2
import httpx2

from glossator.ingest.fetch.network import CheckedBackend

_ERRORS = ((httpcore2.TimeoutException, httpx2.ReadTimeout), (httpcore2.NetworkError, httpx2.NetworkError))


@cache
def _ssl_context() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


class CheckedTransport(httpx2.BaseTransport):
    """Sends requests over connections to checked addresses."""

    def __init__(self, backend: CheckedBackend, max_connections: int) -> None:
        self._pool = httpcore2.ConnectionPool(_ssl_context(), max_connections=max_connections, network_backend=backend)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        with _mapped_errors():
            response = self._pool.handle_request(
                httpcore2.Request(
                    request.method,
                    httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                    headers=request.headers.raw,
                    content=b"",
                    extensions=request.extensions,
                )
            )
        return httpx2.Response(
            response.status, headers=response.headers, stream=_Stream(response), extensions=response.extensions
        )

    def close(self) -> None:
        self._pool.close()


class _Stream(httpx2.SyncByteStream):
    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        with _mapped_errors():
            yield from self._response.iter_stream()

    def close(self) -> None:
        self._response.close()


@contextmanager
def _mapped_errors() -> Iterator[None]:
    """The errors of connections as those of the client."""
    try:
        yield
    except (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        kind = next((to for source, to in _ERRORS if isinstance(error, source)), httpx2.RemoteProtocolError)
        raise kind(str(error)) from None
