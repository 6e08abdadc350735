"""Starts the server."""

from __future__ import annotations

import os

from glossator.core.settings import Settings


def run_server(settings: Settings, workers: int, *, json_log: bool) -> None:
    """Serve until stopped; several workers read the same index side by side."""
    import uvicorn

    os.environ["GLOSSATOR_DATA_DIR"] = str(settings.data_dir)
    uvicorn.run(
        "glossator.serve.app:create_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=workers,
        log_level="warning" if json_log else "info",
        server_header=False,
    )
