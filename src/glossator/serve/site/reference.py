"""`/docs`: the API reference, rendered by a bundled Swagger UI, so that it works without a network."""

from __future__ import annotations

from functools import cache
from importlib import resources

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from glossator.serve.site.assets import SCRIPT, STYLE, static_route
from glossator.serve.site.pages import reference_page

_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " base-uri 'none'; frame-ancestors 'none'"
)
_START = b'SwaggerUIBundle({ url: "/openapi.json", dom_id: "#api" });'


def routes() -> APIRouter:
    """The page and its assets."""
    router = APIRouter(include_in_schema=False)

    @router.get("/docs")
    async def page() -> HTMLResponse:
        return HTMLResponse(reference_page(), headers={"Content-Security-Policy": _POLICY})

    for name, content, media_type in (
        ("start.js", _START, SCRIPT),
        ("swagger-ui-bundle.js", _read("swagger-ui-bundle.js"), SCRIPT),
        ("swagger-ui.css", _read("swagger-ui.css"), STYLE),
    ):
        router.add_api_route(f"/docs/{name}", static_route(content, media_type), methods=["GET"])
    return router


@cache
def _read(name: str) -> bytes:
    return resources.files("fastapi_swagger").joinpath("resources", name).read_bytes()
