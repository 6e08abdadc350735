"""A server that cannot start says why in one line, and ends with the documented exit code."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import uvicorn

from commands import CommandResult
from glossator.core.settings import load_settings
from glossator.pipeline.wiring import Engine
from glossator.serve.run import run_server

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

hidden = sys.argv.pop(1)
sys.meta_path.insert(0, Missing())
from glossator.cli.main import main
main()
"""


def serve(hidden: str, data: Path, workers: int, **env: str) -> CommandResult:
    """The result of `glossator serve` where a package is not installed."""
    arguments = ["serve", "--port", "0", "--workers", str(workers), "--data-dir", str(data)]
    with subprocess.Popen(
        [sys.executable, "-c", WITHOUT, hidden, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | env,
    ) as process:
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.terminate()
    return CommandResult(process.returncode, out.decode(), err.decode())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workers", "hidden", "env", "words"),
    [
        (1, "redis", {"REDIS_URL": "redis://127.0.0.1:1"}, "glossator[redis]"),
        (2, "redis", {"REDIS_URL": "redis://127.0.0.1:1"}, "glossator[redis]"),
        (2, "opentelemetry", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, "glossator[otel]"),
        (1, "agents", {"GLOSSATOR_LLM": "ollama:m"}, "glossator[llm]"),
        (1, "asyncpg", {"DATABASE_URL": "postgresql://u@127.0.0.1:1/x"}, "glossator[postgres]"),
        (2, "nothing", {"GLOSSATOR_CORS_ORIGINS": "docs.example.com"}, "GLOSSATOR_CORS_ORIGINS"),
        (2, "nothing", {"GLOSSATOR_ALLOWED_HOSTS": "https://docs.example.com"}, "GLOSSATOR_ALLOWED_HOSTS"),
    ],
)
def test_settings_that_cannot_be_used_end_the_server_before_it_starts(
    tides_index: Path, workers: int, hidden: str, env: dict[str, str], words: str
) -> None:
    result = serve(hidden, tides_index, workers, **env)
    assert result.failed_with(2, words), result


def test_the_end_of_a_server_waits_for_models_that_are_being_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading, loaded = threading.Event(), threading.Event()

    def load(_engine: Engine) -> None:
        loading.wait(10)
        loaded.set()

    def fail(_server: uvicorn.Server, *_: object) -> None:
        threading.Timer(0.2, loading.set).start()
        raise SystemExit(3)  # as uvicorn does if the port was taken meanwhile

    monkeypatch.setattr(Engine, "warm_up", load)
    monkeypatch.setattr(uvicorn.Server, "run", fail)
    for name in ("DATA_DIR", "HOST"):  # run_server sets them for its workers
        monkeypatch.setenv(f"GLOSSATOR_{name}", "127.0.0.1")
    with pytest.raises(SystemExit) as stopped:
        run_server(load_settings(data_dir=tmp_path, host="127.0.0.1", port=0), workers=1, quiet=True)
    assert (stopped.value.code, loaded.is_set()) == (1, True)
