"""`/docs`: the API to read and to try, drawn by Swagger UI, which is served from here: it needs no network."""

from __future__ import annotations

from pathlib import Path

import fastapi_swagger
from fastapi import APIRouter
from fastapi.responses import FileResponse, HTMLResponse, Response

_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " base-uri 'none'; frame-ancestors 'none'"
)
_FILES = Path(fastapi_swagger.__file__).parent / "resources"
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>The API</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/docs/swagger-ui.css"></head>
<body><div id="api"></div><script src="/docs/swagger-ui-bundle.js"></script><script src="/docs/start.js"></script>
</body></html>
"""
_START = 'SwaggerUIBundle({ url: "/openapi.json", dom_id: "#api" });'


def routes() -> APIRouter:
    """The page and what it loads."""
    router = APIRouter(include_in_schema=False)

    @router.get("/docs")
    async def page() -> HTMLResponse:
        return HTMLResponse(_PAGE, headers={"Content-Security-Policy": _POLICY})

    @router.get("/docs/start.js")
    async def start() -> Response:
        return Response(_START, media_type="text/javascript")

    @router.get("/docs/swagger-ui.css")
    async def style() -> FileResponse:
        return FileResponse(_FILES / "swagger-ui.css")

    @router.get("/docs/swagger-ui-bundle.js")
    async def script() -> FileResponse:
        return FileResponse(_FILES / "swagger-ui-bundle.js")

    return router
