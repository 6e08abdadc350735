"""`/docs`: the API to read and to try, drawn by Swagger UI, which is served from here: it needs no network."""

from __future__ import annotations

from functools import cache
from importlib import resources

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from glossator.serve.site.assets import SCRIPT, STYLE, sender

_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " base-uri 'none'; frame-ancestors 'none'"
)
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>The API</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/docs/swagger-ui.css"></head>
<body><div id="api"></div><script src="/docs/swagger-ui-bundle.js"></script><script src="/docs/start.js"></script>
</body></html>
"""
_START = b'SwaggerUIBundle({ url: "/openapi.json", dom_id: "#api" });'


def routes() -> APIRouter:
    """The page and what it loads."""
    router = APIRouter(include_in_schema=False)

    @router.get("/docs")
    async def page() -> HTMLResponse:
        return HTMLResponse(_PAGE, headers={"Content-Security-Policy": _POLICY})

    for name, content, kind in (
        ("start.js", _START, SCRIPT),
        ("swagger-ui-bundle.js", _read("swagger-ui-bundle.js"), SCRIPT),
        ("swagger-ui.css", _read("swagger-ui.css"), STYLE),
    ):
        router.add_api_route(f"/docs/{name}", sender(content, kind, {}), methods=["GET"])
    return router


@cache
def _read(name: str) -> bytes:
    return resources.files("fastapi_swagger").joinpath("resources", name).read_bytes()
