"""What pages load: the style sheet, and the widget's modules joined into the one script that a site includes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable
from functools import lru_cache
from importlib import resources
from string import ascii_letters

from fastapi import APIRouter, Request
from fastapi.responses import Response
from rjsmin import jsmin

_MODULES = ("nodes", "style", "strings", "page", "stream", "markdown", "answer", "element")
"""In the order of their imports; no two declare the same name."""
_IMPORT = re.compile(r"^import .*\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
_BLANK = re.compile(r"(?<=[;{}:,])\s+|\s+(?=[{}])")
"""White space that neither a style sheet nor a script needs; it would be missed in what the widget says."""
_PRIVATE = re.compile(r"#[a-zA-Z]+")
"""Names that nobody outside of the element can see, and that may be short."""
SCRIPT, STYLE = "text/javascript", "text/css"
_SHARED = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}
"""A module is loaded by pages of every origin; what it may ask is another question."""


@lru_cache(1)
def widget_script() -> str:
    """The widget as one module, without comments and blanks."""
    sources = {name: _EXPORT.sub("", _IMPORT.sub("", _read(f"widget/{name}.js"))) for name in _MODULES}
    sources["style"] = _BLANK.sub("", sources["style"])
    names = dict(zip(dict.fromkeys(_PRIVATE.findall(sources["element"])), ascii_letters, strict=False))
    sources["element"] = _PRIVATE.sub(lambda found: f"#{names[found[0]]}", sources["element"])
    return str(jsmin("\n".join(sources.values())))


def routes() -> APIRouter:
    """`/style.css`, `/widget.js`, and the widget's words in Urdu, which only pages in Urdu load."""
    router = APIRouter(include_in_schema=False)
    for path, text, kind, headers in (
        ("/style.css", _read("style.css"), STYLE, {}),
        ("/widget.js", widget_script(), SCRIPT, _SHARED),
        ("/widget/ur.js", jsmin(_read("widget/ur.js")), SCRIPT, _SHARED),
    ):
        router.add_api_route(path, sender(text.encode(), kind, headers), methods=["GET"])
    return router


def sender(content: bytes, kind: str, headers: dict[str, str]) -> Callable[[Request], Awaitable[Response]]:
    """A route that sends this; who has it already is told so."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"ETag": tag, "Cache-Control": "public, max-age=300", **headers}

    async def send(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)

    return send


def _read(name: str) -> str:
    return resources.files("glossator.serve.site").joinpath(name).read_text("utf-8")
