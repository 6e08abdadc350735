"""A small stand-in for a Qdrant server: its REST API over the client's in-process engine, with faults on demand.

It is as strict as a server can be: a filter needs payload indexes, a request may have 32 MB, and exact counts and
searches without a graph are refused, unless the collection was created to allow them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from pydantic import TypeAdapter
from qdrant_client import QdrantClient, models
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from browser import bound_socket

Fault = Callable[[Request], Response | float | None]
"""A response to send instead of the real one, or seconds to wait first; None: no fault."""
MAX_REQUEST_BYTES = 32_000_000


@dataclass
class StandIn:
    """The server: `fault` decides for each request whether it fails; `requests` are the paths that were asked for,
    `bodies` what was sent, `indexed` the fields of collections that may be filtered by, and `exact` the collections
    that allow exact requests."""

    url: str = ""
    engine: QdrantClient = field(default_factory=lambda: QdrantClient(":memory:"))
    fault: Fault = lambda _request: None
    requests: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    indexed: set[tuple[str, str]] = field(default_factory=set)
    exact: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    async def handle(self, request: Request) -> Response:
        self.requests.append(f"{request.method} {request.url.path}")
        outcome = self.fault(request)
        if isinstance(outcome, Response):
            return outcome
        if outcome is not None:
            await asyncio.sleep(outcome)
        if len(await request.body()) > MAX_REQUEST_BYTES:
            return _rejected("Payload too large", 413)
        body = await request.json() if await request.body() else {}
        self.bodies.append(body)
        return await asyncio.to_thread(self._answer, request, body)

    def _answer(self, request: Request, body: dict[str, Any]) -> Response:
        action, name = request.scope["action"], request.path_params.get("name", "")
        if action == "index":
            self.indexed.add((name, body["field_name"]))
        if action == "create" and (body.get("strict_mode_config") or {}).get("search_allow_exact"):
            self.exact.add(name)
        if (body.get("exact") or body.get("using") == "sentences") and name not in self.exact:
            return _rejected("Exact search disabled!", 400)
        if missing := {field for field in _filtered_fields(body) if (name, field) not in self.indexed}:
            return _rejected(f"Index required but not found for {missing}", 400)
        with self.lock:
            try:
                result = _ACTIONS[action](self.engine, name, body)
            except ValueError as error:
                return _rejected(str(error), _status_of(error))
        return JSONResponse({"result": _plain(result), "status": "ok", "time": 0.0})


def _status_of(error: ValueError) -> int:
    if "not found" in str(error):
        return 404
    return 409 if "already exists" in str(error) else 400


def _rejected(reason: str, status: int) -> Response:
    return JSONResponse({"status": {"error": reason}, "time": 0.0, "result": None}, status)


def _filtered_fields(body: dict[str, Any]) -> set[str]:
    filters = [body.get("filter"), *(search.get("filter") for search in body.get("searches", ()))]
    return {condition["key"] for each in filters if each for condition in each["must"] if "key" in condition}


class DroppedConnection(Response):
    """Closes the connection in the middle of a response."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"1000")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"result": [', "more_body": False})


def _plain(result: Any) -> Any:
    if isinstance(result, list):
        return [_plain(each) for each in result]
    return result.model_dump(mode="json") if hasattr(result, "model_dump") else result


def _parsed(kind: Any, value: Any) -> Any:
    return TypeAdapter(kind).validate_python(value)


def _create(engine: QdrantClient, name: str, body: dict[str, Any]) -> bool:
    given = models.CreateCollection.model_validate(body)
    return engine.create_collection(
        name, vectors_config=given.vectors or {}, sparse_vectors_config=given.sparse_vectors
    )


def _upsert(engine: QdrantClient, name: str, body: dict[str, Any]) -> Any:
    return engine.upsert(name, models.PointsList.model_validate(body).points)


def _set_payload(engine: QdrantClient, name: str, body: dict[str, Any]) -> Any:
    given = models.SetPayload.model_validate(body)
    return engine.set_payload(name, given.payload, given.filter if given.filter is not None else given.points)


def _retrieve(engine: QdrantClient, name: str, body: dict[str, Any]) -> Any:
    return engine.retrieve(
        name, body["ids"], with_payload=body.get("with_payload", True), with_vectors=body.get("with_vector") or False
    )


def _query(engine: QdrantClient, name: str, body: dict[str, Any]) -> Any:
    return engine.query_batch_points(name, [models.QueryRequest.model_validate(body)])[0]


def _query_batch(engine: QdrantClient, name: str, body: dict[str, Any]) -> Any:
    return engine.query_batch_points(name, _parsed(list[models.QueryRequest], body["searches"]))


def _aliases(engine: QdrantClient, _name: str, body: dict[str, Any]) -> bool:
    return engine.update_collection_aliases(_parsed(models.ChangeAliasesOperation, body).actions)


_ACTIONS: dict[str, Callable[[QdrantClient, str, dict[str, Any]], Any]] = {
    "create": _create,
    "delete": lambda engine, name, _: engine.delete_collection(name),
    "info": lambda engine, name, _: engine.get_collection(name),
    "exists": lambda engine, name, _: {"exists": engine.collection_exists(name)},
    "list": lambda engine, *_: engine.get_collections(),
    "index": lambda *_: {"operation_id": 0, "status": "completed"},
    "upsert": _upsert,
    "payload": _set_payload,
    "retrieve": _retrieve,
    "count": lambda engine, name, _: engine.count(name, exact=True),
    "query": _query,
    "query_batch": _query_batch,
    "aliases": _aliases,
    "list_aliases": lambda engine, *_: engine.get_aliases(),
}
_ROUTES = [
    ("GET", "/aliases", "list_aliases"),
    ("GET", "/collections", "list"),
    ("POST", "/collections/aliases", "aliases"),
    ("GET", "/collections/{name}", "info"),
    ("PUT", "/collections/{name}", "create"),
    ("DELETE", "/collections/{name}", "delete"),
    ("GET", "/collections/{name}/exists", "exists"),
    ("PUT", "/collections/{name}/index", "index"),
    ("PUT", "/collections/{name}/points", "upsert"),
    ("POST", "/collections/{name}/points", "retrieve"),
    ("POST", "/collections/{name}/points/payload", "payload"),
    ("POST", "/collections/{name}/points/count", "count"),
    ("POST", "/collections/{name}/points/query", "query"),
    ("POST", "/collections/{name}/points/query/batch", "query_batch"),
]


def _app(stand_in: StandIn) -> Starlette:
    def endpoint(action: str) -> Callable[[Request], Any]:
        async def run(request: Request) -> Response:
            request.scope["action"] = action
            return await stand_in.handle(request)

        return run

    routes = [Route(path, endpoint(action), methods=[method]) for method, path, action in _ROUTES]
    return Starlette(routes=[Mount("/behind/a/proxy", routes=routes), *routes])


@contextmanager
def running_stand_in() -> Iterator[StandIn]:
    """A running stand-in on loopback."""
    stand_in = StandIn()
    config = uvicorn.Config(_app(stand_in), log_level="critical", lifespan="off")
    with bound_socket() as on:
        stand_in.url = f"http://127.0.0.1:{on.getsockname()[1]}"
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: server.run([on]), daemon=True)
        thread.start()
        try:
            yield stand_in
        finally:
            server.should_exit = True
            thread.join(10)
