"""No path of a request reaches a file of the machine, however it is written."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from fastapi import FastAPI

from glossator.core.settings import load_settings
from glossator.pipeline.wiring import wire
from glossator.serve.app import create_app

UPWARDS = ("../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..%5c", "..\\", "%252e%252e%252f", "..%c0%af", "....//", "/./../")
PREFIXES = ("/", "/book/", "/book/media/", "/widget/", "/docs/", "/history/")
SECRET = "the-secret-of-this-file"  # noqa: S105 - a mark to search for


async def get(app: FastAPI, raw_path: str) -> tuple[int, bytes]:
    """The response to a path exactly as it is written: HTTP clients would normalise it."""
    sent: list[Any] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(raw_path),
        "raw_path": raw_path.encode("ascii"),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await asyncio.wait_for(app(scope, receive, send), 60)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


@pytest.fixture
def secret_file(tides_data: Path) -> Path:
    file = tides_data / "secret.txt"
    file.write_text(SECRET, "utf-8")
    return file


@pytest.mark.slow
async def test_no_path_leaves_the_book(tides_data: Path, secret_file: Path) -> None:
    settings = load_settings(data_dir=tides_data)
    app = create_app(settings, wire(settings))
    targets = (str(secret_file).lstrip("/"), "etc/passwd", "keys.json", "records.sqlite")
    for prefix in PREFIXES:
        for up in UPWARDS:
            for target in targets:
                status, body = await get(app, f"{prefix}{up * 8}{target}")
                assert status in (400, 401, 404, 503), (prefix, up, target)
                assert SECRET.encode() not in body
                assert b"root:" not in body
