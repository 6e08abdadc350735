"""What all doors share: bodies are read strictly, and errors are told in the door's own shape."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse, Response

from glossator.serve.problems import Problem, Refused

SESSION = "glossator.session"
"""Where a request keeps the name of its session."""
_SESSIONS = ("session_id", "conversation_id", "thread_id")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,200}")
EVENTS: dict[str, Any] = {
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


class Body(BaseModel):
    """A request: what its contract does not know is refused, and nothing is taken for something else."""

    model_config = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class Door:
    """How one contract tells errors: its paths, its model, and its codes by field and kind of error."""

    name: str
    paths: tuple[str, ...]
    model: type[BaseModel]
    tell: Callable[[Problem], BaseModel]
    codes: dict[tuple[str, str], str] = field(default_factory=dict)

    def answer(self, problem: Problem) -> Response:
        """The error in this door's shape."""
        headers = {} if problem.retry_after is None else {"Retry-After": str(problem.retry_after)}
        headers |= {"WWW-Authenticate": "Bearer"} if problem.status == HTTPStatus.UNAUTHORIZED else {}
        return JSONResponse(self.tell(problem).model_dump(mode="json"), problem.status, headers)

    def router(self) -> APIRouter:
        """A router whose routes read strictly."""
        return APIRouter(route_class=StrictRoute)


class ErrorBody(BaseModel):
    """An error of any page that has no contract of its own."""

    error: str
    message: str
    request_id: str
    details: str | None = None


PLAIN = Door(
    "plain",
    (),
    ErrorBody,
    lambda p: ErrorBody(error=p.code, message=p.message, request_id=p.request_id, details=p.details),
)


def door_of(path: str, doors: Sequence[Door]) -> Door:
    """The door that a path belongs to: the one with the longest beginning in common."""
    found = ((len(p), door) for door in doors for p in door.paths if path == p or path.startswith(f"{p}/"))
    return max(found, key=lambda pair: pair[0], default=(0, PLAIN))[1]


class StrictRoute(APIRoute):
    """A route whose body must be one JSON object, sent as such, in which no name stands twice."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def read_strictly(request: Request) -> Response:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
                raise Refused(
                    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                    "UNSUPPORTED_MEDIA_TYPE",
                    "The body must be JSON.",
                    "Send it with Content-Type: application/json.",
                )
            strict = _StrictRequest(request.scope, request.receive)
            await strict.body()
            return await handle(strict)

        return read_strictly


class _StrictRequest(Request):
    async def json(self) -> Any:
        found = strict_json(await self.body())
        named = next((found[name] for name in _SESSIONS if isinstance(found.get(name), str)), "")
        if _NAME.fullmatch(named):  # so that an error can name the session that it came from
            self.scope[SESSION] = named
        return found


def strict_json(body: bytes) -> Any:
    """JSON that means one thing to everybody who reads it."""
    try:
        text = body.decode("utf-8")
        found = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number, parse_float=_number)
    except UnicodeDecodeError:
        raise _unreadable("it is not UTF-8") from None
    except RecursionError:
        raise _unreadable("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise _unreadable(f"{error.msg.lower()} at character {error.pos}") from None
    except ValueError as error:
        raise _unreadable(str(error)) from None
    if not isinstance(found, dict):
        raise _unreadable("it is no object")
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands in it twice")
    return found


def _no_number(_name: str) -> float:
    raise ValueError("NaN and Infinity are no numbers")


def _number(text: str) -> float:
    found = float(text)
    if found in (float("inf"), float("-inf")):
        raise ValueError("a number in it is too large")
    return found


def _unreadable(why: str) -> Refused:
    return Refused(HTTPStatus.BAD_REQUEST, "VALIDATION_ERROR", f"The body cannot be read as JSON: {why}.")


def with_request(problem: Problem, request_id: str, *, dev: bool, session_id: str | None = None) -> Problem:
    """A problem of this request; details are for development alone."""
    return replace(
        problem,
        request_id=request_id,
        session_id=session_id,
        details=problem.details or problem.message if dev else None,
    )
