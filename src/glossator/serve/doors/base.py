"""Code shared by all doors: strict request bodies, and errors in the door's own shape."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from glossator.serve.problems import (
    VALIDATION_ERROR,
    Problem,
    RequestRejected,
    http_problem,
    problem_from,
    validation_problem,
)

SESSION_SCOPE_KEY = "glossator.session"
"""Where the ASGI scope holds the session id of a request, so that an error can name it."""
MAX_FIELDS = 1000
"""Of one JSON object: each unknown field is an error of its own, and a body has room for a hundred thousand."""
_SESSION_FIELDS = ("session_id", "conversation_id", "thread_id")
_MAX_KEY = 50
"""Characters of a key that an error repeats."""
_TOO_LARGE = "A number in the request body is too large."
_SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
EVENT_STREAM_CONTENT: dict[str, Any] = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "description": "Events `delta`, `sources`, `done`, `error`; the data of each is a JSON object.",
            "properties": {
                "event": {"enum": ["delta", "sources", "done", "error"]},
                "id": {"type": "string"},
                "data": {"type": "string", "contentMediaType": "application/json"},
            },
            "required": ["data"],
        }
    }
}


def _none_if_blank(value: Any) -> Any:
    return None if isinstance(value, str) and not value.strip() else value


NoneIfBlank = BeforeValidator(_none_if_blank)
"""An empty optional text means that there is none."""


VersionName = Annotated[
    Annotated[str, Field(max_length=60)] | None,
    NoneIfBlank,
    Field(description="Version of the book, if it has versions; by default the current one", examples=[""]),
]


class StrictBody(BaseModel):
    """A request body: unknown fields are rejected, and no value is coerced to another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class Door:
    """One contract: its paths, the model of its errors, and its own error codes by field and error type."""

    name: str
    paths: tuple[str, ...]
    model: type[BaseModel]
    render_error: Callable[[Problem], BaseModel]
    codes: dict[tuple[str, str], str] = field(default_factory=dict)

    def problem_from(self, error: Exception) -> Problem:
        """The problem that an exception is reported as, with this door's codes."""
        if isinstance(error, RequestValidationError):
            return validation_problem(list(error.errors()), self.codes)
        if isinstance(error, HTTPException):
            return http_problem(error.status_code)
        return problem_from(error)

    def error_response(self, problem: Problem) -> Response:
        """The error in this door's shape."""
        headers = {} if problem.retry_after is None else {"Retry-After": str(problem.retry_after)}
        headers |= {"WWW-Authenticate": "Bearer"} if problem.status == HTTPStatus.UNAUTHORIZED else {}
        return JSONResponse(self.render_error(problem).model_dump(mode="json"), problem.status, headers)

    def router(self) -> APIRouter:
        """A router whose routes parse bodies strictly."""
        return APIRouter(route_class=StrictRoute)


class ErrorBody(BaseModel):
    """An error of a route that belongs to no door."""

    error: str
    message: str
    request_id: str
    details: str | None = None


DEFAULT_DOOR = Door(
    "plain",
    (),
    ErrorBody,
    lambda p: ErrorBody(error=p.code, message=p.message, request_id=p.request_id, details=p.details),
)


def door_for(path: str, doors: Sequence[Door]) -> Door:
    """The door with the longest matching path prefix."""
    matches = ((len(p), door) for door in doors for p in door.paths if path == p or path.startswith(f"{p}/"))
    return max(matches, key=lambda pair: pair[0], default=(0, DEFAULT_DOOR))[1]


class StrictRoute(APIRoute):
    """A route whose body must be one JSON object without duplicate keys, sent as JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def handle_strictly(request: Request) -> Response:
            strict = _StrictRequest(request.scope, request.receive)
            body = await strict.body()
            media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if body.strip() and not _is_json(media_type):
                raise RequestRejected(
                    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                    "UNSUPPORTED_MEDIA_TYPE",
                    "The request body must be JSON.",
                    "Send it with Content-Type: application/json.",
                )
            strict.parse(body)  # here, as FastAPI hides what is wrong with a body that it fails to parse
            return await handle(strict)

        return handle_strictly


def _is_json(media_type: str) -> bool:
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))


class _StrictRequest(Request):
    def parse(self, body: bytes) -> None:
        """Parse the body, and note the session that it names."""
        self._json = strict_json(body)
        named = (self._json.get(name) for name in _SESSION_FIELDS)
        session_id = next((name for name in named if isinstance(name, str) and name.strip()), "")
        if _SESSION_ID.fullmatch(session_id):
            self.scope[SESSION_SCOPE_KEY] = session_id


def strict_json(body: bytes) -> Any:
    """A JSON object that every parser reads the same way."""
    if not body.strip():
        raise _invalid_body("The request body is empty: send a JSON object.")
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_without_duplicates,
            parse_constant=_reject_constant,
            parse_float=_finite_float,
            parse_int=_bounded_int,
        )
    except UnicodeDecodeError:
        raise _invalid_body("The request body must be UTF-8.") from None
    except RecursionError:
        raise _invalid_body("The request body is nested too deeply.") from None
    except json.JSONDecodeError as error:
        raise _invalid_body(f"Malformed JSON: {error.msg.lower()} at character {error.pos}.") from None
    except ValueError as error:
        raise _invalid_body(str(error)) from None
    if not isinstance(value, dict):
        raise _invalid_body("The request body must be a JSON object.")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_FIELDS:
        raise ValueError("The request body has too many fields.")
    value: dict[str, Any] = {}
    for key, each in pairs:
        if key in value:
            raise ValueError(f"Duplicate key in the request body: {key[:_MAX_KEY]!r}.")
        value[key] = each
    return value


def _reject_constant(_name: str) -> float:
    raise ValueError("NaN and Infinity are not valid JSON.")


def _finite_float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(_TOO_LARGE)
    return value


def _bounded_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # Python limits the number of digits
        raise ValueError(_TOO_LARGE) from None


def _invalid_body(message: str) -> RequestRejected:
    return RequestRejected(HTTPStatus.BAD_REQUEST, VALIDATION_ERROR, message)


def with_request(problem: Problem, request_id: str, *, dev: bool, session_id: str | None = None) -> Problem:
    """The problem with the ids of its request; details only in development mode."""
    return replace(
        problem,
        request_id=request_id,
        session_id=session_id,
        details=problem.details or problem.message if dev else None,
    )
