"""Serves an application from a thread of the test process, on a port of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from glossator.serve.run import HTTP_PROTOCOL


@contextmanager
def running(app: Any, on: socket.socket | None = None, **options: Any) -> Iterator[str]:
    """The address of the application while it is served; `options` go to uvicorn."""
    defaults = {"port": 0, "http": HTTP_PROTOCOL, "log_level": "critical", "timeout_graceful_shutdown": 1}
    server = uvicorn.Server(uvicorn.Config(app, **{**defaults, **options}))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [on]} if on else {})
    thread.start()
    try:
        while not server.started:
            thread.join(0.01)
            assert thread.is_alive()
        host, port = server.servers[0].sockets[0].getsockname()
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join()
