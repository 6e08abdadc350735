"""A small book about tides with a hostile page, served in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from data_dirs import book_data
from glossator.core.settings import load_settings
from glossator.serve.app import ServerOptions, create_app

BASE = "http://127.0.0.1:8000/book"
MOON = "What causes tides?"
SCRIPTS = [f'<script type="module" src="/{name}.js">' for name in ("widget", "reader")]
HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"
TIDES = """# Tides

Tides are caused mainly by the gravity of the Moon. The Sun contributes about 46 percent as much.

## Spring tides

Spring tides occur at new moon and at full moon. They have the largest range.
"""
EVIL = """---
title: "<script>alert('title')</script>"
---

## A heading &lt;script&gt;alert('heading')&lt;/script&gt; {#evil}

A lighthouse keeper writes &lt;script&gt;alert('text')&lt;/script&gt; into the book every evening.

```html
<script>alert('code')</script>
```

| Name | Value |
|---|---|
| lamp | &lt;script&gt;alert('cell')&lt;/script&gt; |
"""

PAGES = {"tides.md": TIDES, "evil.md": EVIL, "café.md": "# Café\n\nCoffee is served at noon.\n"}


def write_book(folder: Path) -> Path:
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """A data directory with a book of three pages, one of them hostile; treat it as read-only."""
    with book_data(PAGES, BASE) as found:
        yield found


@pytest.fixture(scope="module")
def app(data: Path) -> FastAPI:
    return app_with(data)


def app_with(data: Path) -> FastAPI:
    """The application for a data directory; on a busy machine it does not look unhealthy."""
    return create_app(load_settings(data_dir=data), options=ServerOptions(probe_timeout_seconds=600))


@asynccontextmanager
async def connect(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        yield client


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with connect(app) as opened:
        yield opened


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A server whose data directory holds nothing yet."""
    async with connect(app_with(tmp_path / "secret-place")) as opened:
        yield opened
