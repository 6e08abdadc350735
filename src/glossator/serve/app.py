"""The application: search as JSON, a page to ask on, the book's pages, and health."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Annotated, Any, cast
from urllib.parse import urlsplit

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from glossator import __version__, pipeline
from glossator.core.errors import BadInput, GlossatorError, IndexProblem
from glossator.core.settings import Settings, load_settings
from glossator.core.types import Answer, Filters
from glossator.parts import Parts, wire
from glossator.serve.pages import ask_page, book_page, missing_page

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class FilterModel(BaseModel):
    """Restrictions on a search; all that are given must hold."""

    model_config = ConfigDict(extra="forbid")
    source_url_prefix: str | None = Field(default=None, max_length=2000)
    section: str | None = Field(default=None, max_length=500)
    chapter: str | None = Field(default=None, max_length=500)


class SearchRequest(BaseModel):
    """The body of POST /search."""

    model_config = ConfigDict(extra="forbid")
    query: str = Field(min_length=1, max_length=pipeline.MAX_QUESTION)
    top_k: int = Field(default=5, ge=1, le=pipeline.MAX_TOP_K)
    filters: FilterModel = Field(default_factory=FilterModel)


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application for these settings, or for those of the environment."""
    parts = wire(settings or load_settings())

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        parts.close()

    app = FastAPI(title="Glossator", version=__version__, lifespan=lifespan)
    app.add_exception_handler(GlossatorError, _own_error)
    app.add_exception_handler(RequestValidationError, _bad_request)
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
        return {"status": "ready", "generation": found.generation}


def _search_routes(app: FastAPI, parts: Parts) -> None:
    async def run(question: str, top_k: int, filters: Filters) -> dict[str, Any]:
        started = time.perf_counter()
        found = await pipeline.search(parts, question, top_k, filters)
        spent = round(1000 * (time.perf_counter() - started), 2)
        results = [asdict(passage) for passage in found.passages]
        return {"query": question, "results": results, "generation": found.generation, "time_ms": spent}

    @app.get("/search")
    async def search(
        q: Annotated[str, Query(min_length=1, max_length=pipeline.MAX_QUESTION)],
        top_k: Annotated[int, Query(ge=1, le=pipeline.MAX_TOP_K)] = 5,
        source_url_prefix: str | None = None,
        section: str | None = None,
        chapter: str | None = None,
    ) -> dict[str, Any]:
        """The passages nearest to a question."""
        return await run(q, top_k, Filters(source_url_prefix, section, chapter))

    @app.post("/search")
    async def search_with_filters(request: SearchRequest) -> dict[str, Any]:
        """The passages nearest to a question, with filters."""
        return await run(request.query, request.top_k, Filters(**request.filters.model_dump()))


def _page_routes(app: FastAPI, parts: Parts) -> None:
    @app.get("/", response_class=HTMLResponse)
    async def home(q: str = "") -> str:
        """Ask on a page, and see the table of contents."""
        documents = list(parts.generation().documents.all())
        answer: Answer | None = await pipeline.ask(parts, q) if q.strip() else None
        return ask_page(documents, q, answer)

    @app.get("/style.css")
    async def style() -> Response:
        from importlib import resources

        text = resources.files("glossator.serve").joinpath("style.css").read_text("utf-8")
        return Response(text, media_type="text/css")

    @app.get("/{path:path}", response_class=HTMLResponse, include_in_schema=False)
    async def page(path: str) -> HTMLResponse:
        """A page of the book, where the book was ingested under this server's own address."""
        wanted = f"/{path}".rstrip("/")
        for document in parts.generation().documents.all():
            if document.url.startswith("http") and urlsplit(document.url).path.rstrip("/") == wanted:
                return HTMLResponse(book_page(document))
        return HTMLResponse(missing_page(), status_code=404)


async def _with_headers(request: Request, call_next: Any) -> Response:
    response: Response = await call_next(request)
    for name, value in HEADERS.items():
        if not (name == "Content-Security-Policy" and request.url.path in ("/docs", "/redoc")):
            response.headers.setdefault(name, value)
    return response


async def _own_error(_request: Request, error: Exception) -> JSONResponse:
    """Our errors by class; everything else is a plain 500 that tells nothing."""
    status = 400 if isinstance(error, BadInput) else 503 if isinstance(error, IndexProblem) else 500
    message = str(error) if status < 500 or isinstance(error, IndexProblem) else "Something went wrong."
    return JSONResponse({"error": type(error).__name__, "message": message}, status_code=status)


async def _bad_request(_request: Request, error: Exception) -> JSONResponse:
    problem = cast("RequestValidationError", error).errors()[0]
    place = ".".join(str(part) for part in problem["loc"][1:]) or "body"
    return JSONResponse({"error": "BadInput", "message": f"{place}: {problem['msg']}"}, status_code=400)
