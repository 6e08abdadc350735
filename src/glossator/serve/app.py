"""The application: search as JSON, a page to ask on, the book's pages, and health."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from importlib import resources
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from fastapi import FastAPI, Query, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from glossator import __version__, pipeline
from glossator.conversations import keep_clean
from glossator.core.checks import MAX_QUESTION, MAX_TOP_K
from glossator.core.errors import RecordsProblem
from glossator.core.settings import Settings, load_settings
from glossator.core.types import Document, Filters
from glossator.parts import Parts, wire
from glossator.serve.errors import handle_errors, protected
from glossator.serve.pages import ask_page, book_page, missing_page
from glossator.store.documents import Entry

_API_PAGES = ("/docs", "/redoc")
"""FastAPI's own pages, which load their scripts from elsewhere."""


class FilterModel(BaseModel):
    """Restrictions on a search; all that are given must hold."""

    model_config = ConfigDict(extra="forbid")
    source_url_prefix: str | None = Field(default=None, max_length=2000)
    section: str | None = Field(default=None, max_length=500)
    chapter: str | None = Field(default=None, max_length=500)


class SearchQuery(FilterModel):
    """The parameters of GET /search."""

    q: str = Field(min_length=1, max_length=MAX_QUESTION)
    top_k: int = Field(default=5, ge=1, le=MAX_TOP_K)


class SearchRequest(BaseModel):
    """The body of POST /search."""

    model_config = ConfigDict(extra="forbid")
    query: str = Field(min_length=1, max_length=MAX_QUESTION)
    top_k: int = Field(default=5, ge=1, le=MAX_TOP_K)
    filters: FilterModel = Field(default_factory=FilterModel)


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application for these settings, or for those of the environment."""
    parts = wire(settings or load_settings())

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        cleaner = asyncio.create_task(keep_clean(parts))
        yield
        cleaner.cancel()
        await asyncio.gather(cleaner, return_exceptions=True)
        await parts.close()

    app = FastAPI(title="Glossator", version=__version__, lifespan=lifespan)
    handle_errors(app)
    app.middleware("http")(_with_headers)
    _health_routes(app, parts)
    _search_routes(app, parts)
    _page_routes(app, parts)
    return app


def _health_routes(app: FastAPI, parts: Parts) -> None:
    @app.get("/livez", response_class=PlainTextResponse)
    async def livez() -> str:
        """Whether the process answers."""
        return "ok"

    @app.get("/readyz")
    async def readyz() -> dict[str, Any]:
        """Whether questions can be answered."""
        found = await pipeline.search(parts, "ready", 1)
        state = {"status": "ready", "generation": found.generation, "records": await _records_state(parts)}
        links = getattr(parts.drafter, "links", ())
        return state | ({"language_models": {link.label: link.breaker.state for link in links}} if links else {})


async def _records_state(parts: Parts) -> str:
    """Without records, answers go on unremembered."""
    try:
        await parts.records.database.revision()
    except RecordsProblem:
        return "down"
    return "ok"


def _search_routes(app: FastAPI, parts: Parts) -> None:
    async def run(question: str, top_k: int, filters: Filters) -> dict[str, Any]:
        started = time.perf_counter()
        found = await pipeline.search(parts, question, top_k, filters)
        spent = round(1000 * (time.perf_counter() - started), 2)
        results = [asdict(passage) for passage in found.passages]
        return {"query": question, "results": results, "generation": found.generation, "time_ms": spent}

    @app.get("/search")
    async def search(query: Annotated[SearchQuery, Query()]) -> dict[str, Any]:
        """The passages nearest to a question."""
        return await run(query.q, query.top_k, Filters(query.source_url_prefix, query.section, query.chapter))

    @app.post("/search")
    async def search_with_filters(request: SearchRequest) -> dict[str, Any]:
        """The passages nearest to a question, with filters."""
        return await run(request.query, request.top_k, Filters(**request.filters.model_dump()))


def _page_routes(app: FastAPI, parts: Parts) -> None:
    style_sheet = resources.files("glossator.serve").joinpath("style.css").read_text("utf-8")

    @app.get("/", response_class=HTMLResponse)
    async def home(q: str = "") -> str:
        """Ask on a page, and see the table of contents."""
        answer = await pipeline.ask(parts, q) if q.strip() else None
        return ask_page(await asyncio.to_thread(_contents, parts), q, answer)

    @app.get("/style.css")
    async def style() -> Response:
        return Response(style_sheet, media_type="text/css")

    @app.get("/{path:path}", response_class=HTMLResponse, include_in_schema=False)
    async def page(path: str) -> HTMLResponse:
        """A page of the book, where the book was ingested under this server's own address."""
        document = await asyncio.to_thread(_at_path, parts, path)
        return HTMLResponse(book_page(document)) if document else HTMLResponse(missing_page(), 404)


def _contents(parts: Parts) -> list[Entry]:
    return parts.generation().documents.contents()


def _at_path(parts: Parts, path: str) -> Document | None:
    documents = parts.generation().documents
    for entry in documents.contents():
        address = urlsplit(entry.url)
        if address.scheme in ("http", "https") and unquote(address.path).strip("/") == path.strip("/"):
            return documents.get(entry.document_id)
    return None


async def _with_headers(request: Request, call_next: Any) -> Response:
    response: Response = await call_next(request)
    return response if request.url.path in _API_PAGES else protected(response)
