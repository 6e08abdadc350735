"""Starts the server."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from glossator.core.settings import Settings
from glossator.pipeline.wiring import Engine, wire
from glossator.serve.auth.keys import KEYS_FILE, KeyRing
from glossator.serve.middleware.limits import is_loopback
from glossator.serve.ops.logs import log_config
from glossator.serve.ops.metrics import SHARED

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

CLOSING_SECONDS = 10.0
"""Beyond the time of a request, for streams to end when the server is stopped."""


def run_server(settings: Settings, workers: int, *, quiet: bool) -> None:
    """Serve until stopped; several workers read the same index side by side."""
    import uvicorn

    # What is wrong with the settings, the keys or the model is said here once, not by every worker.
    engine = wire(settings)
    if KeyRing(settings.data_dir / KEYS_FILE).is_open and not is_loopback(settings.host):
        _warn(settings.host)
    os.environ["GLOSSATOR_DATA_DIR"] = str(settings.data_dir)
    os.environ["GLOSSATOR_HOST"] = settings.host
    counts = tempfile.mkdtemp(prefix="glossator-counts-") if workers > 1 else None
    if counts:
        os.environ[SHARED] = counts
    try:
        config = uvicorn.Config(
            _alone(settings, engine) if workers == 1 else "glossator.serve.app:create_app",
            factory=workers > 1,
            host=settings.host,
            port=settings.port,
            workers=workers,
            log_config=log_config(quiet=quiet),
            access_log=False,
            server_header=False,
            proxy_headers=False,
            http="glossator.serve.middleware.http_protocol:PatientProtocol",
            ws="none",
            timeout_graceful_shutdown=round(settings.request_seconds + CLOSING_SECONDS),
        )
        _serve(config)
    except SystemExit as stop:
        # It has said why (a port in use, say), but its exit codes are not ours.
        raise SystemExit(1 if stop.code else 0) from None
    finally:
        if counts:
            shutil.rmtree(counts, ignore_errors=True)


def _serve(config: uvicorn.Config) -> None:
    """Serve alone, or with workers: when they are to end, nobody waits at a door that none of them opens."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    class Workers(Multiprocess):
        def terminate_all(self) -> None:
            for listening in self.sockets:
                listening.close()
            super().terminate_all()

    if config.workers > 1:
        Workers(config, sockets=[config.bind_socket()]).run()
        return
    server = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        raise SystemExit(1)


def _alone(settings: Settings, engine: Engine) -> FastAPI:
    """The application of the only process; its model is opened while the rest is imported."""
    Thread(target=engine.warm, daemon=True).start()
    from glossator.serve.app import create_app

    return create_app(settings, engine)


def _warn(host: str) -> None:
    """An open server beyond this machine is a decision that should be taken knowingly."""
    line = "!" * 78
    sys.stderr.write(
        f"{line}\nListening on {host}: everybody who can reach this address may ask, read every conversation\n"
        f"whose id they know, and delete it. Make a key first: glossator keys create NAME --scope admin\n{line}\n"
    )
