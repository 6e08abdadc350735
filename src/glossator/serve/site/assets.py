"""Static assets: the style sheet, and the widget's modules joined into one script."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Awaitable, Callable
from functools import cache
from importlib import resources

from fastapi import APIRouter, Request
from fastapi.responses import Response

from glossator.core.text.markup import IMAGE_TYPES

SCRIPT, STYLE = "text/javascript", "text/css"
_MODULES = ("nodes", "style", "strings", "page", "stream", "markdown", "answer", "panel", "element")
"""In the order of their imports; no two declare the same name."""
_IMPORT = re.compile(r"^import .*\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
_CROSS_ORIGIN = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}
"""Pages of every origin may load the widget; what they may ask is checked elsewhere."""


@cache
def widget_script() -> bytes:
    """The widget as one module."""
    sources = [_EXPORT.sub("", _IMPORT.sub("", _read(f"widget/{name}.js").decode())) for name in _MODULES]
    return "\n".join(sources).encode()


def routes() -> APIRouter:
    """`/style.css`, `/reader.js`, `/widget.js`, and the widget's Urdu strings, which only pages in Urdu load."""
    router = APIRouter(include_in_schema=False)
    for path, content, media_type, headers in (
        ("/style.css", _read("style.css"), STYLE, {}),
        ("/reader.js", _read("reader.js"), SCRIPT, {}),
        ("/widget.js", widget_script(), SCRIPT, _CROSS_ORIGIN),
        ("/widget/ur.js", _read("widget/ur.js"), SCRIPT, _CROSS_ORIGIN),
    ):
        router.add_api_route(path, static_route(content, media_type, headers), methods=["GET"])
    return router


def static_route(
    content: bytes, media_type: str, headers: dict[str, str] | None = None
) -> Callable[[Request], Awaitable[Response]]:
    """A route for an asset: gzip if the client accepts it, and 304 if the client has it already."""
    digest = hashlib.sha256(content).hexdigest()[:16]
    shared = {"Cache-Control": "public, max-age=300", "Vary": "Accept-Encoding", **(headers or {})}
    plain = shared | {"ETag": f'"{digest}"'}
    zipped = shared | {"ETag": f'"{digest}-gzip"'}
    compressed = _compress(content)

    async def send(request: Request) -> Response:
        use_gzip = accepts_gzip(request.headers.get("accept-encoding", ""))
        chosen = zipped if use_gzip else plain
        if _has_tag(request.headers.get("if-none-match", ""), chosen["ETag"]):
            return Response(status_code=304, headers=chosen)
        if use_gzip:
            return Response(compressed, media_type=media_type, headers=chosen | {"Content-Encoding": "gzip"})
        return Response(content, media_type=media_type, headers=chosen)

    return send


def image_response(name: str, content: bytes) -> Response:
    """An image of the book; its name is a hash of its content. An SVG that is opened by itself can run nothing."""
    headers = {
        "Cache-Control": "public, max-age=31536000, immutable",
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    }
    return Response(content, media_type=IMAGE_TYPES[name.rpartition(".")[2]], headers=headers)


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether an Accept-Encoding header allows gzip; without the header the content is sent as it is."""
    weights = {}
    for item in accept_encoding.lower().split(","):
        name, _, parameters = item.partition(";")
        weight = parameters.replace(" ", "").removeprefix("q=") or "1"
        weights[name.strip()] = not re.fullmatch(r"0(\.0*)?", weight)
    return weights.get("gzip", weights.get("*", False))


def _has_tag(if_none_match: str, tag: str) -> bool:
    """Whether an If-None-Match header names this tag; a proxy may have marked it as weak."""
    tags = {item.strip().removeprefix("W/") for item in if_none_match.split(",")}
    return tag in tags or "*" in tags


@cache
def _compress(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


@cache
def _read(name: str) -> bytes:
    return resources.files("glossator.serve.site").joinpath(name).read_bytes()
