"""The container image: what enters it, as whom it runs, and its health check."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from paths import ROOT

DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
STEPS = [
    " ".join(step.split())
    for step in re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    if step.strip()
]


def steps(name: str) -> list[str]:
    return [step.removeprefix(f"{name} ") for step in STEPS if step.startswith(f"{name} ")]


def final_steps() -> list[str]:
    """The steps of the last stage, which is the image."""
    last = max(number for number, step in enumerate(STEPS) if step.startswith("FROM "))
    return STEPS[last:]


def test_only_named_files_enter_the_image() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split("\n")
    assert ignored[1] == "*"
    allowed = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    copied = {name for step in steps("COPY") if not step.startswith("--from") for name in step.split()[:-1]}
    assert copied == allowed
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_runs_as_a_numbered_user_and_nothing_after_needs_root() -> None:
    final = final_steps()
    assert steps("USER") == ["10001:10001"]
    user = final.index("USER 10001:10001")
    assert not [step for step in final[user:] if step.startswith(("RUN", "COPY", "ADD"))]


def test_the_image_has_no_build_tools_and_installs_nothing_in_its_last_stage() -> None:
    assert not re.search(r"apt-get|pip|curl|wget", " ".join(final_steps()))
    assert "apt-get" not in DOCKERFILE


def test_packages_are_installed_by_hash() -> None:
    install = next(step for step in steps("RUN") if "requirements/runtime.txt" in step)
    assert "--require-hashes" in install
    assert "--only-binary :all:" in install
    for file in (ROOT / "requirements").glob("*.txt"):
        lines = file.read_text("utf-8").replace("\\\n", " ").splitlines()
        requirements = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
        assert requirements, file.name
        assert [line for line in requirements if "==" not in line or "--hash=sha256:" not in line] == [], file.name


def test_commands_are_lists_so_that_signals_reach_the_server() -> None:
    (health,) = steps("HEALTHCHECK")
    for command in (*steps("ENTRYPOINT"), *steps("CMD"), health.partition("CMD ")[2]):
        assert json.loads(command)


class Ready(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/readyz" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def ready_server(status: int) -> Iterator[int]:
    handler = type("Handler", (Ready,), {"status": status})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def health_check(port: int) -> int:
    environment = os.environ | {"GLOSSATOR_PORT": str(port), "http_proxy": "http://127.0.0.1:9"}
    return subprocess.run([sys.executable, ROOT / "deploy" / "healthcheck.py"], env=environment, check=False).returncode


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_the_health_check_follows_readyz(status: int, code: int) -> None:
    with ready_server(status) as port:
        assert health_check(port) == code


def test_the_health_check_fails_without_a_server() -> None:
    with ready_server(200) as port:
        pass
    assert health_check(port) == 1
