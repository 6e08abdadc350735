"""The application: settings become a server, with its middleware in one list and its routers in another."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from glossator import __version__, pipeline
from glossator.core.question import Question
from glossator.core.resilience.pool import started_pool
from glossator.core.settings import Settings, load_settings
from glossator.core.text.markup import MEDIA_PATH
from glossator.core.types import Document
from glossator.pipeline.wiring import Engine, wire
from glossator.serve.auth.access import AuthMiddleware, token_routes
from glossator.serve.auth.keys import KEYS_FILE, KeyStore
from glossator.serve.auth.origins import cors_origins
from glossator.serve.books import Books, OpenBook, list_routes
from glossator.serve.doors import agent, ask, chat, feedback, grounded, query, search
from glossator.serve.doors import openai as completions
from glossator.serve.doors.base import DEFAULT_DOOR, door_for
from glossator.serve.doors.service import AnswerService
from glossator.serve.doors.streams import Streams
from glossator.serve.jobs.routes import job_routes
from glossator.serve.mcp.server import McpEndpoint
from glossator.serve.middleware.books import BookMiddleware, BookRoute
from glossator.serve.middleware.errors import ErrorMiddleware, error_response
from glossator.serve.middleware.hosts import AllowedHosts, HostMiddleware
from glossator.serve.middleware.limits import BODY_TIMEOUT_SECONDS, MAX_HEADER_BYTES, LimitsMiddleware
from glossator.serve.middleware.rate_limit import RateLimiter, failed_auth_limiter, request_limiter
from glossator.serve.middleware.request import RequestMiddleware
from glossator.serve.ops.health import CACHE_SECONDS, PROBE_TIMEOUT_SECONDS, HealthChecker
from glossator.serve.ops.metrics import Metrics
from glossator.serve.ops.openapi import openapi_builder
from glossator.serve.ops.routes import health_routes, metrics_routes
from glossator.serve.ops.tracing import RequestTracer, no_tracing, start_tracing, tracing_enabled
from glossator.serve.site import assets, reference
from glossator.serve.site.assets import image_response
from glossator.serve.site.book import ServedBook, book_routes, page_at
from glossator.serve.site.examples import ExampleQuestions
from glossator.serve.site.pages import HomePage, ask_page, book_page, missing_page

ANSWER_DOORS = (chat, agent, grounded, ask, query, completions)
DOORS = tuple(door.DOOR for door in ANSWER_DOORS)
THREADS = min(32, (os.cpu_count() or 1) + 4)
"""As many as asyncio has by default."""
_CORS_HEADERS = (
    "Authorization Content-Type Idempotency-Key Last-Event-ID X-API-Key MCP-Protocol-Version Mcp-Method Mcp-Name"
)


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Timeouts and limits that are not settings."""

    body_timeout_seconds: float = BODY_TIMEOUT_SECONDS
    max_header_bytes: int = MAX_HEADER_BYTES
    key_check_interval_seconds: float = 1.0
    probe_timeout_seconds: float = PROBE_TIMEOUT_SECONDS
    health_cache_seconds: float = CACHE_SECONDS


@dataclass(frozen=True, slots=True)
class _Server:
    """What the middleware and the books of one application share."""

    settings: Settings
    options: ServerOptions
    keys: KeyStore
    metrics: Metrics
    hosts: AllowedHosts
    cors_origins: list[str]
    rate_limiter: RateLimiter | None
    failed_auth_limiter: RateLimiter | None
    trace: RequestTracer
    end_tracing: Callable[[], None]


def create_app(
    settings: Settings | None = None,
    engine: Engine | None = None,
    *,
    streams: Streams | None = None,
    options: ServerOptions | None = None,
) -> FastAPI:
    """The application for these settings, or for those of the environment."""
    settings = settings or load_settings()
    engine = engine or wire(settings)
    server = _build(settings, engine, options or ServerOptions())
    default = _open_book(server, engine, streams or Streams())
    books = Books(default, lambda other: _open_book(server, other, Streams(default.streams.limits)))
    routers = [list_routes(books), metrics_routes(server.metrics), reference.routes()]
    api_routes = [*_api_routes(routers), *default.api_routes]
    app = FastAPI(
        title="Glossator",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan(server, books),
        middleware=_middleware(server),
        exception_handlers=_exception_handlers(settings, api_routes),
    )
    app.router.routes.append(BookRoute(settings.book, books.router_of))
    for router in routers:
        app.include_router(router)
    app.router.routes.extend(default.router.routes)
    app.openapi = openapi_builder(app, DOORS)  # type: ignore[method-assign]
    return app


def _build(settings: Settings, engine: Engine, options: ServerOptions) -> _Server:
    trace, end_tracing = start_tracing() if tracing_enabled() else (no_tracing, lambda: None)
    return _Server(
        settings=settings,
        options=options,
        keys=KeyStore(settings.data_dir / KEYS_FILE, check_interval_seconds=options.key_check_interval_seconds),
        metrics=Metrics(engine),
        hosts=AllowedHosts.from_settings(settings),
        cors_origins=cors_origins(settings),
        rate_limiter=request_limiter(settings),
        failed_auth_limiter=failed_auth_limiter(settings),
        trace=trace,
        end_tracing=end_tracing,
    )


def _middleware(server: _Server) -> list[Middleware]:
    """The middleware, the outermost first."""
    settings, options = server.settings, server.options
    proxies = settings.trusted_proxies
    return [
        *([Middleware(ProxyHeadersMiddleware, trusted_hosts=proxies)] if proxies else []),
        Middleware(RequestMiddleware, metrics=server.metrics, trace=server.trace),
        Middleware(
            CORSMiddleware,
            allow_origins=server.cors_origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=_CORS_HEADERS.split(),
            expose_headers=["Retry-After", "X-Request-ID"],
        ),
        Middleware(ErrorMiddleware, doors=DOORS, dev=settings.dev_mode),
        Middleware(BookMiddleware, default=settings.book),
        Middleware(HostMiddleware, hosts=server.hosts),
        Middleware(
            AuthMiddleware,
            keys=server.keys,
            failures=server.failed_auth_limiter,
            public_reading=settings.public_reading,
        ),
        Middleware(
            LimitsMiddleware,
            settings=settings,
            rate_limiter=server.rate_limiter,
            body_timeout_seconds=options.body_timeout_seconds,
            max_header_bytes=options.max_header_bytes,
        ),
    ]


def _open_book(server: _Server, engine: Engine, streams: Streams) -> OpenBook:
    """Everything that the server has of one book."""
    server.metrics.watch(engine)
    service = AnswerService(engine, streams, server.metrics)
    mcp, examples = McpEndpoint(engine, server.hosts, server.cors_origins), ExampleQuestions(engine)
    routers, router = _routers(server, service, examples), APIRouter()
    for each in routers:
        router.include_router(each)
    api_routes = _api_routes(routers)
    router.routes.extend(mcp.routes())
    _add_pages(router, engine, examples, api_routes)
    return OpenBook(engine, streams, service, mcp, examples, router, api_routes)


def _api_routes(routers: list[APIRouter]) -> list[APIRoute]:
    return [route for router in routers for route in router.routes if isinstance(route, APIRoute)]


def _routers(server: _Server, service: AnswerService, examples: ExampleQuestions) -> list[APIRouter]:
    engine, options = service.engine, server.options
    health = HealthChecker(
        engine,
        probe_timeout_seconds=options.probe_timeout_seconds,
        cache_seconds=options.health_cache_seconds,
    )
    return [
        *(door.routes(service) for door in ANSWER_DOORS),
        search.routes(engine),
        feedback.routes(engine, server.metrics),
        health_routes(health),
        job_routes(engine),
        token_routes(server.keys, engine.settings.book),
        book_routes(engine, examples),
        assets.routes(),
    ]


def _lifespan(server: _Server, books: Books) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_default_executor(started_pool(THREADS, "answers"))
        books.default.start()
        yield
        await books.close()
        for limiter in (server.rate_limiter, server.failed_auth_limiter):
            if limiter is not None:
                await limiter.close()
        await asyncio.to_thread(server.end_tracing)

    return lifespan


def _exception_handlers(settings: Settings, api_routes: list[APIRoute]) -> dict[int | type[Exception], Any]:
    """For the errors that FastAPI would answer itself."""

    async def handle(request: Request, error: Exception) -> Response:
        if _is_unknown_api_path(api_routes, request):
            request.scope.pop("route", None)  # the page route, whose errors are HTML
            error = HTTPException(HTTPStatus.NOT_FOUND)
        response = error_response(request, error, DOORS, dev=settings.dev_mode)
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            response.headers["Allow"] = _methods(api_routes, request) or "GET"  # other paths are pages
        return response

    return {RequestValidationError: handle, HTTPException: handle}


def _add_pages(router: APIRouter, engine: Engine, examples: ExampleQuestions, api_routes: list[APIRoute]) -> None:
    prefix = engine.settings.book_prefix

    @router.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def home(q: str = "") -> str:
        """The book's title, a form to ask it, and its table of contents."""
        answer = await pipeline.ask(engine, Question(q)) if q.strip() else None
        book, front = await asyncio.to_thread(_at_path, engine, "")
        home_page = HomePage(q, book.linked(answer) if answer else None, await examples.get(), front)
        return await asyncio.to_thread(ask_page, book, home_page)

    @router.get(MEDIA_PATH + "{name}", response_class=HTMLResponse, include_in_schema=False)
    async def image(name: str, request: Request) -> Response:
        """An image of the book."""
        content = await asyncio.to_thread(lambda: engine.generation().documents.image(name))
        return await page(request.url.path, request) if content is None else image_response(name, content)

    @router.get("/{path:path}", response_class=HTMLResponse, include_in_schema=False)
    async def page(path: str, request: Request) -> Response:
        """A page of the book, at the path of its URL."""
        if _methods(api_routes, request):
            request.scope.pop("route")  # this route, whose errors are HTML
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED)
        book, document = await asyncio.to_thread(_at_path, engine, path)
        if document is None and _is_unknown_api_path(api_routes, request):
            raise HTTPException(HTTPStatus.NOT_FOUND)
        if document is None:
            return HTMLResponse(missing_page(prefix), 404)
        return HTMLResponse(await asyncio.to_thread(book_page, document, book))


def _methods(api_routes: list[APIRoute], request: Request) -> str:
    """The methods of the API routes at this path, for the Allow header."""
    path = request.url.path
    return ", ".join(sorted({m for route in api_routes if route.path_regex.match(path) for m in route.methods or ()}))


def _is_unknown_api_path(api_routes: list[APIRoute], request: Request) -> bool:
    """Whether a path is below a door but matches none of its routes: then the error is JSON, not a page."""
    return door_for(request.url.path, DOORS) is not DEFAULT_DOOR and not _methods(api_routes, request)


def _at_path(engine: Engine, path: str) -> tuple[ServedBook, Document | None]:
    """The book, and its page at a path."""
    return page_at(engine.generation(), engine.settings.book_prefix, path)
