"""The application: doors, search, pages and health behind one set of limits; settings become a server here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from urllib.parse import unquote, urlsplit

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from glossator import __version__, pipeline
from glossator.core.question import Question
from glossator.core.settings import Settings, load_settings
from glossator.core.types import Document
from glossator.pipeline.conversations import keep_clean
from glossator.pipeline.wiring import Engine, wire
from glossator.serve.auth.access import Access, token_routes
from glossator.serve.auth.keys import KEYS_FILE, KeyRing, web_origin
from glossator.serve.doors import agent, ask, chat, grounded, query
from glossator.serve.doors import openai as completions
from glossator.serve.doors import search as library
from glossator.serve.doors.base import PLAIN, door_of
from glossator.serve.doors.service import AnswerService
from glossator.serve.doors.streams import Streams
from glossator.serve.mcp.server import McpEndpoint
from glossator.serve.middleware.limits import Limits, Rate, per_minute
from glossator.serve.middleware.request import Catching, Serving, answer
from glossator.serve.ops import health
from glossator.serve.ops.health import Health
from glossator.serve.ops.metrics import Metrics
from glossator.serve.ops.openapi import describe
from glossator.serve.ops.tracing import Span, configured, no_span, start_tracing
from glossator.serve.site import assets, reference
from glossator.serve.site.pages import ask_page, book_page, missing_page
from glossator.store.index.documents import Entry

FIVE = (chat, agent, grounded, ask, query)
_ALLOWED = "Authorization Content-Type Idempotency-Key Last-Event-ID X-API-Key MCP-Protocol-Version Mcp-Method Mcp-Name"
DOORS = (*(door.DOOR for door in FIVE), completions.DOOR)


def create_app(settings: Settings | None = None, engine: Engine | None = None) -> FastAPI:
    """The application for these settings, or for those of the environment."""
    settings = settings or load_settings()
    engine = engine or wire(settings)
    keys = KeyRing(settings.data_dir / KEYS_FILE)
    metrics, streams = Metrics(engine), Streams()
    rate = Rate(settings) if per_minute(settings) else None
    origins = [web_origin(origin.strip()) for origin in settings.cors_origins.split(",") if origin.strip()]
    mcp = McpEndpoint(engine, hosts=(settings.host,), origins=origins)

    span, end_tracing = start_tracing() if configured() else (no_span, lambda: None)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        cleaner = asyncio.create_task(keep_clean(engine))
        yield
        cleaner.cancel()
        await asyncio.gather(cleaner, return_exceptions=True)
        await streams.close()
        await mcp.close()
        if rate is not None:
            await rate.close()
        await engine.close()
        await asyncio.to_thread(end_tracing)

    app = FastAPI(title="Glossator", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    service = AnswerService(engine, streams, metrics)
    routers = [door.routes(service) for door in FIVE]
    routers += [
        completions.routes(service),
        library.routes(engine, metrics),
        health.routes(Health(engine), metrics),
        token_routes(keys),
        assets.routes(),
        reference.routes(),
    ]
    for router in routers:
        app.include_router(router)
    app.router.routes.extend(mcp.routes())
    known = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    _page_routes(app, engine, known)
    app.openapi = describe(app, DOORS)  # type: ignore[method-assign]
    _wrap(app, settings, origins, keys, metrics, span, known, rate)
    return app


def _wrap(
    app: FastAPI,
    settings: Settings,
    origins: list[str],
    keys: KeyRing,
    metrics: Metrics,
    span: Span,
    known: list[APIRoute],
    rate: Rate | None,
) -> None:
    """The layers around the routes; the last one added is the outermost."""

    async def told(request: Request, error: Exception) -> Response:
        if _is_unknown(known, request):
            request.scope.pop("route", None)  # the page's, whose errors are pages
            error = HTTPException(HTTPStatus.NOT_FOUND)
        response = answer(request, error, DOORS, dev=settings.dev_mode)
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (methods := _methods(known, request)):
            response.headers["Allow"] = methods
        return response

    app.add_exception_handler(RequestValidationError, told)
    app.add_exception_handler(HTTPException, told)
    app.add_middleware(Limits, settings=settings, rate=rate)
    app.add_middleware(Access, keys=keys)
    app.add_middleware(Catching, doors=DOORS, dev=settings.dev_mode)
    app.add_middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=_ALLOWED.split(),
        expose_headers=["Retry-After", "X-Request-ID"],
    )
    app.add_middleware(Serving, metrics=metrics, span=span)
    if settings.trusted_proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=settings.trusted_proxies)


def _page_routes(app: FastAPI, engine: Engine, known: list[APIRoute]) -> None:
    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def home(q: str = "") -> str:
        """Ask on a page, and see the table of contents."""
        found = await pipeline.ask(engine, Question(q)) if q.strip() else None
        contents, front = await asyncio.to_thread(_at_path, engine, "")
        return ask_page(contents, q, found, front)

    @app.get("/{path:path}", response_class=HTMLResponse, include_in_schema=False)
    async def page(path: str, request: Request) -> HTMLResponse:
        """A page of the book, at the path of its address."""
        if _methods(known, request):
            request.scope.pop("route")  # whose errors are pages
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED)
        contents, document = await asyncio.to_thread(_at_path, engine, path)
        if document is None and _is_unknown(known, request):
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return HTMLResponse(book_page(document, contents)) if document else HTMLResponse(missing_page(), 404)


def _methods(known: list[APIRoute], request: Request) -> str:
    """The methods of the routes that have this path."""
    path = request.url.path
    return ", ".join(sorted({m for route in known if route.path_regex.match(path) for m in route.methods or ()}))


def _is_unknown(known: list[APIRoute], request: Request) -> bool:
    """Whether a path belongs to a door that has no such route: a program asks, and is not told with a page."""
    return door_of(request.url.path, DOORS) is not PLAIN and not _methods(known, request)


def _at_path(engine: Engine, path: str) -> tuple[Sequence[Entry], Document | None]:
    """The table of contents, and the page at a path."""
    documents = engine.generation().documents
    contents = documents.contents()
    here = [entry for entry in contents if unquote(urlsplit(entry.url).path).strip("/") == path.strip("/")]
    return contents, documents.get(here[0].document_id) if here else None
