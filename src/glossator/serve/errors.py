"""Errors become HTTP here and nowhere else, by class; what an answer tells holds no path and no internals."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from glossator.core.errors import (
    BadInput,
    GlossatorError,
    IndexMismatch,
    IndexProblem,
    ModelProblem,
    NoIndex,
    RecordsProblem,
)
from glossator.serve.pages import problem_page

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_UNKNOWN = "Something went wrong."
_log = logging.getLogger(__name__)


def handle_errors(app: FastAPI) -> None:
    """Give every kind of error its answer."""
    app.add_exception_handler(GlossatorError, _own_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unforeseen)


def protected(response: Response) -> Response:
    """The response with the headers that keep a browser from running or framing anything."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


async def _own_error(request: Request, error: Exception) -> Response:
    if isinstance(error, BadInput):
        return _answer(request, 400, "BadInput", str(error))
    _log.error("%s", error)
    if isinstance(error, ModelProblem | RecordsProblem):
        return _answer(request, 503, type(error).__name__, "Something that this needs is not available now. Try again.")
    if not isinstance(error, IndexProblem):
        return _answer(request, 500, "ServerError", _UNKNOWN)
    return _answer(request, 503, type(error).__name__, _public(error))


def _public(error: IndexProblem) -> str:
    if isinstance(error, NoIndex):
        return "Nothing has been ingested yet. Run `glossator ingest FOLDER` first."
    if isinstance(error, IndexMismatch):
        return "The index was made by another version or embedding model. Run `glossator ingest` again."
    return "The index cannot be read. Run `glossator ingest` again."


async def _invalid(request: Request, error: Exception) -> Response:
    problem = cast("RequestValidationError", error).errors()[0]
    place = ".".join(str(part) for part in problem["loc"][1:]) or "body"
    return _answer(request, 400, "BadInput", f"{place}: {problem['msg']}")


async def _http_error(request: Request, error: Exception) -> Response:
    status = HTTPStatus(cast("HTTPException", error).status_code)
    name = "BadInput" if status == HTTPStatus.BAD_REQUEST else status.phrase.replace(" ", "")
    response = _answer(request, status, name, f"{status.phrase}.")
    response.headers.update(cast("HTTPException", error).headers or {})
    return response


async def _unforeseen(request: Request, _error: Exception) -> Response:
    """A fault of ours, which the server logs; it is answered outside the application's own middleware."""
    return protected(_answer(request, 500, "ServerError", _UNKNOWN))


def _answer(request: Request, status: int, name: str, message: str) -> Response:
    """A page where the route gives pages, JSON elsewhere."""
    if getattr(request.scope.get("route"), "response_class", None) is HTMLResponse:
        return HTMLResponse(problem_page(message), status)
    return JSONResponse({"error": name, "message": message}, status)
