"""The OpenAPI document, with every status that a route may return, in the shape of its door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from glossator.serve.doors.base import Door, door_for
from glossator.serve.problems import STATUSES

_REF = "#/components/schemas/"
_DESCRIPTION = (
    "Ask a book; every sentence of the answer is checked against the passage it cites before it is sent. "
    "Errors have the shape of the door they come from, and every response carries an `X-Request-ID`."
)


def openapi_builder(app: FastAPI, doors: Sequence[Door]) -> Callable[[], dict[str, Any]]:
    """A replacement for `app.openapi` that builds the document when it is first requested."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, description=_DESCRIPTION, routes=app.routes)
            _add_errors(schema, doors)
            _add_links(schema)
            app.openapi_schema = schema
        return app.openapi_schema

    return document


def _add_errors(document: dict[str, Any], doors: Sequence[Door]) -> None:
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for path, operations in document["paths"].items():
        door = door_for(path, doors)
        name = f"{door.name.capitalize()}Error"
        if name not in schemas:
            model = door.model.model_json_schema(ref_template=_REF + "{model}")
            schemas |= model.pop("$defs", {})
            schemas[name] = model
        for operation in operations.values():
            responses = operation["responses"]
            responses.pop("422", None)
            for status in STATUSES:
                if str(status) not in responses and _can_return(operation, status):
                    content = {"application/json": {"schema": {"$ref": _REF + name}}}
                    responses[str(status)] = {"description": HTTPStatus(status).phrase, "content": content}
    for leftover in ("HTTPValidationError", "ValidationError"):
        schemas.pop(leftover, None)


def _can_return(operation: dict[str, Any], status: int) -> bool:
    """Whether an operation can return a status: some apply only to requests with a body."""
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return False
    body_only = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    return status not in body_only or "requestBody" in operation


def _add_links(document: dict[str, Any]) -> None:
    """Link each conversational answer to the history of its session."""
    paths = document["paths"]
    session = {"session_id": "$response.body#/session_id"}
    conversation = {"session_id": "$response.body#/conversation_id"}
    for path, name, target, parameters in (
        ("/chat", "history", "/history/{session_id}", session),
        ("/agent/chat", "session", "/agent/session/{session_id}", session),
        ("/agent/query/session", "session", "/agent/query/session/{session_id}", conversation),
    ):
        operation = paths[target]["get"]["operationId"]
        links = paths[path]["post"]["responses"]["200"].setdefault("links", {})
        links[name] = {"operationId": operation, "parameters": parameters}
