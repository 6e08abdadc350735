"""Optional dependencies are named when they are missing."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import httpx
import pytest

from glossator.cli.doctor import diagnose
from glossator.core.errors import SettingsError
from glossator.core.extras import is_installed, require
from glossator.core.settings import load_settings
from glossator.pipeline.wiring import wire
from glossator.serve.app import create_app
from glossator.serve.mcp.server import serve_stdio


class Missing:
    """An import finder that hides some packages."""

    def __init__(self, *packages: str) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] in self.packages:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Any:
    def hide(package: str) -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "meta_path", [Missing(package), *sys.meta_path])

    return hide


@pytest.mark.parametrize("extra", ["llm", "mcp", "otel", "postgres", "qdrant", "redis"])
def test_every_extra_is_installed_for_the_tests(extra: str) -> None:
    assert is_installed(extra)
    require(extra, "A feature")


@pytest.mark.parametrize(
    ("package", "extra", "setting"),
    [
        ("agents", "llm", {"llm": "ollama:some-model"}),
        ("asyncpg", "postgres", {"database_url": "postgresql://user@127.0.0.1/name"}),
        ("psycopg", "postgres", {"database_url": "postgresql://user@127.0.0.1/name", "index": "postgres"}),
        ("qdrant_client", "qdrant", {"qdrant_url": "http://127.0.0.1:6333"}),
    ],
)
def test_a_missing_extra_is_named_when_the_engine_is_wired(
    without: Any, tmp_path: Path, package: str, extra: str, setting: dict[str, str]
) -> None:
    without(package)
    with pytest.raises(SettingsError, match=rf"pip install 'glossator\[{extra}\]'"):
        wire(load_settings(data_dir=tmp_path, **setting))


def test_a_server_names_the_redis_extra_and_other_commands_do_not_need_it(without: Any, tmp_path: Path) -> None:
    without("redis")
    settings = load_settings(data_dir=tmp_path, redis_url="redis://127.0.0.1:6379/0", rate_per_minute=10)
    wire(settings)
    with pytest.raises(SettingsError, match=r"pip install 'glossator\[redis\]'"):
        create_app(settings)


def test_sqlite_needs_no_database_driver(without: Any, tmp_path: Path) -> None:
    without("asyncpg")
    wire(load_settings(data_dir=tmp_path, database_url=f"sqlite:///{tmp_path / 'records.sqlite'}"))


@pytest.mark.parametrize("live", [False, True])
def test_doctor_names_missing_extras(without: Any, tmp_path: Path, live: bool) -> None:
    for package in ("agents", "asyncpg"):
        without(package)
    settings = load_settings(data_dir=tmp_path, llm="ollama:m", database_url="postgresql://user@127.0.0.1/name")
    findings = {finding.topic: finding for finding in diagnose(settings, live=live)}
    assert not findings["answers"].good
    assert "glossator[llm]" in findings["answers"].why
    assert not findings["records"].good
    assert "glossator[postgres]" in findings["records"].why


async def test_the_mcp_endpoint_names_its_extra(without: Any, sample_data: Path) -> None:
    without("mcp")
    app = create_app(load_settings(data_dir=sample_data))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        response = await client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert response.status_code == 501
    assert response.json()["error"] == "NOT_IMPLEMENTED"
    assert "pip install 'glossator[mcp]'" in response.json()["message"]


async def test_mcp_on_standard_input_names_its_extra(without: Any, tmp_path: Path) -> None:
    without("mcp")
    with pytest.raises(SettingsError, match=r"pip install 'glossator\[mcp\]'"):
        await serve_stdio(wire(load_settings(data_dir=tmp_path)))


def test_a_default_configuration_needs_no_extra(without: Any, tmp_path: Path) -> None:
    for package in ("agents", "asyncpg", "psycopg", "qdrant_client", "redis", "mcp", "opentelemetry", "openai"):
        without(package)
    assert wire(load_settings(data_dir=tmp_path)).model_states == {}
