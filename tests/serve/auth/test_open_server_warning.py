"""The warning that `glossator serve` prints if a server without keys listens on the network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import uvicorn

from commands import run


@pytest.fixture
def started_hosts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts of servers that would have been started; nothing listens."""
    hosts: list[str] = []

    def note(server: uvicorn.Server, *_: object) -> None:
        hosts.append(server.config.host)
        server.started = True

    def never(*_: object) -> None:
        raise AssertionError("the server would listen")

    monkeypatch.setattr(uvicorn.Server, "run", note)
    monkeypatch.setattr(uvicorn.Server, "startup", never)
    monkeypatch.setattr(uvicorn.Config, "bind_socket", never)
    monkeypatch.setattr("glossator.serve.run.check_address", lambda *_: None)  # most are not of this machine
    for name in ("DATA_DIR", "HOST"):  # which starting a server sets for its workers
        monkeypatch.setenv(f"GLOSSATOR_{name}", "127.0.0.1")
    return hosts


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.com"])  # noqa: S104 - nothing listens
def test_open_server_on_the_network_prints_a_warning(tmp_path: Path, started_hosts: list[str], host: str) -> None:
    outcome = run("serve", "--host", host, "--port", "0", "--data-dir", tmp_path)
    assert started_hosts == [host]
    assert "!!!!!!!!" in outcome.err
    assert host in outcome.err
    assert outcome.out == ""
    remedy = re.search(r"glossator (keys create \S+.*)", outcome.err)
    assert remedy
    assert run(*remedy[1].split(), "--data-dir", tmp_path).code == 0
    assert run("serve", "--host", host, "--port", "0", "--data-dir", tmp_path).err == ""


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_open_server_on_loopback_prints_no_warning(tmp_path: Path, started_hosts: list[str], host: str) -> None:
    assert run("serve", "--host", host, "--port", "0", "--data-dir", tmp_path).err == ""
    assert started_hosts == [host]


def test_open_server_prints_the_warning_in_json_mode(tmp_path: Path, started_hosts: list[str]) -> None:
    outcome = run("serve", "--host", "0.0.0.0", "--json", "--data-dir", tmp_path)  # noqa: S104 - nothing listens
    assert len(started_hosts) == 1
    assert "0.0.0.0" in outcome.err  # noqa: S104 - as above
