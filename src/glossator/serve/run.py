"""Starts the server."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING

from glossator.core.inference.load import Load
from glossator.core.settings import Settings, load_settings
from glossator.core.validation import is_loopback
from glossator.pipeline.wiring import Engine, wire
from glossator.serve.auth.keys import KEYS_FILE, KeyStore
from glossator.serve.auth.origins import cors_origins
from glossator.serve.listening import bind_for_workers, check_address
from glossator.serve.middleware.hosts import AllowedHosts
from glossator.serve.middleware.limits import MAX_HEADER_BYTES
from glossator.serve.middleware.rate_limit import failed_auth_limiter, request_limiter
from glossator.serve.ops.logs import log_config
from glossator.serve.ops.metrics import MULTIPROCESS_DIR_VARIABLE
from glossator.serve.ops.tracing import require_tracing, tracing_enabled

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

HTTP_PROTOCOL = "glossator.serve.middleware.http_protocol:TimeoutProtocol"
_SHUTDOWN_GRACE_SECONDS = 10.0
"""On top of the request timeout, for streams to end when the server is stopped."""
_WORKER_TIMEOUT_SECONDS = 30
"""A worker that does not respond for so long is replaced; on a busy machine, five seconds are too few to start."""
_LOADING_SECONDS = 30.0
"""How long the end of the process waits for models that are still being loaded; a remote one may hang for longer."""
_GARBAGE_THRESHOLDS = 20_000, 20, 50
"""With the default ones a quarter of the time to import a language model's library goes into looking for garbage."""


def run_server(settings: Settings, workers: int, *, quiet: bool) -> None:
    """Serve until stopped; several workers share one index."""
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    import uvicorn

    check_address(settings.host, settings.port)
    # Invalid settings, keys or models are reported here once, not by every worker.
    _check_settings(settings)
    engine = wire(settings)
    if KeyStore(settings.data_dir / KEYS_FILE).is_open and not is_loopback(settings.host):
        _warn_open_server(settings.host)
    os.environ["GLOSSATOR_DATA_DIR"] = str(settings.data_dir)
    os.environ["GLOSSATOR_HOST"] = settings.host
    os.environ["GLOSSATOR_BOOK"] = settings.book
    with _shared_metrics(workers), _loading_models(engine) if workers == 1 else nullcontext():
        config = uvicorn.Config(
            _single_process_app(settings, engine) if workers == 1 else partial(create_worker_app, workers),
            factory=workers > 1,
            host=settings.host,
            port=settings.port,
            workers=workers,
            log_config=log_config(settings, quiet=quiet),
            access_log=False,
            server_header=False,
            proxy_headers=False,
            http=HTTP_PROTOCOL,
            h11_max_incomplete_event_size=MAX_HEADER_BYTES,
            ws="none",
            timeout_worker_healthcheck=_WORKER_TIMEOUT_SECONDS,
            timeout_graceful_shutdown=round(settings.request_seconds + _SHUTDOWN_GRACE_SECONDS),
        )
        try:
            _serve(config)
        except SystemExit as stop:
            # uvicorn has logged the reason, such as a port in use, but its exit codes are not ours.
            raise SystemExit(1 if stop.code else 0) from None


def _check_settings(settings: Settings) -> None:
    """Report what the application would refuse, before anything is started."""
    AllowedHosts.from_settings(settings)
    cors_origins(settings)
    request_limiter(settings)
    failed_auth_limiter(settings)
    if tracing_enabled():
        require_tracing()


@contextmanager
def _loading_models(engine: Engine) -> Iterator[None]:
    """Load the models while the rest is imported; a process that ends within their native code is aborted."""
    loading = Thread(target=engine.warm_up, daemon=True)
    loading.start()
    try:
        yield
    finally:
        loading.join(_LOADING_SECONDS)


@contextmanager
def _shared_metrics(workers: int) -> Iterator[None]:
    """A temporary folder where several workers share their metrics."""
    if workers == 1:
        yield
        return
    folder = tempfile.mkdtemp(prefix="glossator-counts-")
    os.environ[MULTIPROCESS_DIR_VARIABLE] = folder
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _serve(config: uvicorn.Config) -> None:
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    class Workers(Multiprocess):
        def terminate_all(self) -> None:
            """Close the sockets first: a client must be refused, not left waiting for workers that are gone."""
            for listener in self.sockets:
                listener.close()
            super().terminate_all()

    if config.workers > 1:
        Workers(config, sockets=[bind_for_workers(config)]).run()
        return
    server = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        raise SystemExit(1)


def _single_process_app(settings: Settings, engine: Engine) -> FastAPI:
    """The application without workers; imported here, while the models are loaded."""
    from glossator.serve.app import create_app

    return create_app(settings, engine)


def create_worker_app(workers: int) -> FastAPI:
    """The application of one of several workers, with the settings of the environment."""
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    from glossator.serve.app import create_app

    settings = load_settings()
    engine = wire(settings)
    engine.load = Load(workers=workers)
    return create_app(settings, engine)


def _warn_open_server(host: str) -> None:
    """Opening a server without keys to the network should be a conscious decision."""
    line = "!" * 78
    sys.stderr.write(
        f"{line}\nListening on {host} without API keys: anyone who can reach this address can ask questions,\n"
        f"and read or delete every conversation whose id they know.\n"
        f"Create a key first: glossator keys create NAME --scope admin\n{line}\n"
    )
