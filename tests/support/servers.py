"""Applications that are served from a thread of this process, at an address of their own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

PATIENT = "glossator.serve.middleware.http_protocol:PatientProtocol"


@contextmanager
def running(app: Any, on: socket.socket | None = None, **options: Any) -> Iterator[str]:
    """The address of an application for as long as it is needed."""
    given = {"port": 0, "log_level": "critical", "timeout_graceful_shutdown": 1, **options}
    server = uvicorn.Server(uvicorn.Config(app, **given))
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
