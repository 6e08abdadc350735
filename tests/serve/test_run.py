"""How `glossator serve` configures uvicorn, and on which platforms it can be imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import uvicorn

from glossator.core.settings import load_settings
from glossator.serve.middleware.http_protocol import TimeoutProtocol
from glossator.serve.run import run_server

OTHER_PLATFORM = """
import asyncio, sys  # the standard library must be imported before it seems to run on Windows
from types import ModuleType
for name in ("fcntl", "uvloop", "httptools"):
    sys.modules[name] = None
sys.modules["msvcrt"] = ModuleType("msvcrt")
import glossator.serve.app
import glossator.serve.run
"""


def test_uvicorn_gets_the_header_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configs: list[uvicorn.Config] = []

    def run(server: uvicorn.Server, *_: object) -> None:
        configs.append(server.config)
        server.started = True

    monkeypatch.setattr(uvicorn.Server, "run", run)
    for name in ("DATA_DIR", "HOST"):  # run_server sets them for its workers
        monkeypatch.setenv(f"GLOSSATOR_{name}", "127.0.0.1")
    run_server(load_settings(data_dir=tmp_path, host="127.0.0.1", port=0), workers=1, quiet=True)
    (config,) = configs
    config.load()
    assert config.http_protocol_class is TimeoutProtocol
    assert TimeoutProtocol.header_timeout_seconds == 10
    assert config.h11_max_incomplete_event_size == 65_536
    assert config.timeout_keep_alive == 5
    assert not config.proxy_headers


@pytest.mark.slow
def test_server_can_be_imported_without_posix_modules() -> None:
    subprocess.run([sys.executable, "-c", OTHER_PLATFORM], check=True, timeout=120)
