"""Starts the server."""

from __future__ import annotations

import asyncio
import os

from glossator.core.settings import Settings
from glossator.parts import wire


def run_server(settings: Settings, workers: int, *, quiet: bool) -> None:
    """Serve until stopped; several workers read the same index side by side."""
    import uvicorn

    # What is wrong with the settings or the model is said here once, not by every worker.
    asyncio.run(wire(settings).close())
    os.environ["GLOSSATOR_DATA_DIR"] = str(settings.data_dir)
    try:
        uvicorn.run(
            "glossator.serve.app:create_app",
            factory=True,
            host=settings.host,
            port=settings.port,
            workers=workers,
            log_level="warning" if quiet else "info",
            server_header=False,
        )
    except SystemExit as stop:
        # It has said why (a port in use, say), but its exit codes are not ours.
        raise SystemExit(1 if stop.code else 0) from None
