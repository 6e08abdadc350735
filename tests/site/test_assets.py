"""Static assets: what travels is small and compressed, and is not sent again while it is unchanged."""

from __future__ import annotations

import ast
import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import glossator
from app_server import running
from glossator.core.settings import Settings
from glossator.serve.app import create_app
from glossator.serve.site.assets import accepts_gzip, widget_script

pytestmark = pytest.mark.slow

MAX_WIDGET_BYTES = 30_000
"""For the widget's script as it travels, compressed."""
WIDGET = ["/widget.js", "/widget/ur.js"]
ASSETS = [*WIDGET, "/style.css", "/docs/start.js", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server without a book."""
    with running(create_app(Settings(data_dir=tmp_path_factory.mktemp("data")))) as address:
        yield address


def get(url: str, **headers: str) -> tuple[httpx.Response, bytes]:
    """The response, and its body as it travelled."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    with httpx.stream("GET", url, headers={"accept-encoding": "gzip"} | names) as response:
        return response, b"".join(response.iter_raw())


def test_widget_is_small_when_compressed(server: str) -> None:
    response, body = get(f"{server}/widget.js")
    assert response.headers["content-encoding"] == "gzip"
    assert len(body) == int(response.headers["content-length"]) <= MAX_WIDGET_BYTES
    assert gzip.decompress(body) == widget_script()


@pytest.mark.parametrize("path", WIDGET)
def test_widget_may_be_loaded_by_every_site(server: str, path: str) -> None:
    response, _ = get(server + path)
    assert response.headers["content-type"].startswith("text/javascript")
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["cross-origin-resource-policy"] == "cross-origin"


def test_widget_is_one_module() -> None:
    script = widget_script().decode()
    assert not re.search(r"^(import .* from|export) ", script, re.MULTILINE)
    assert script.count('customElements.define("glossator-chat"') == 1


@pytest.mark.parametrize("path", ASSETS)
def test_content_is_the_same_with_and_without_compression(server: str, path: str) -> None:
    plain, content = get(server + path, accept_encoding="identity")
    zipped, compressed = get(server + path)
    assert "content-encoding" not in plain.headers
    assert zipped.headers["content-encoding"] == "gzip"
    assert gzip.decompress(compressed) == content
    assert plain.headers["content-type"] == zipped.headers["content-type"]
    for response in (plain, zipped):
        assert "accept-encoding" in response.headers["vary"].lower()
    assert plain.headers["etag"] != zipped.headers["etag"]


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
@pytest.mark.parametrize("path", ASSETS)
def test_unchanged_content_is_not_sent_again(server: str, path: str, encoding: str) -> None:
    first, _ = get(server + path, accept_encoding=encoding)
    tag = first.headers["etag"]
    for value in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again, body = get(server + path, accept_encoding=encoding, if_none_match=value)
        assert (again.status_code, body) == (304, b"")
        for name in ("etag", "vary", "cache-control"):
            assert again.headers[name] == first.headers[name]
        assert again.headers.get("access-control-allow-origin") == first.headers.get("access-control-allow-origin")


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_tag_of_the_other_encoding_does_not_match(server: str, encoding: str) -> None:
    other = {"gzip": "identity", "identity": "gzip"}[encoding]
    tag = get(f"{server}/widget.js", accept_encoding=other)[0].headers["etag"]
    response, body = get(f"{server}/widget.js", accept_encoding=encoding, if_none_match=tag)
    assert response.status_code == 200
    assert body


@pytest.mark.parametrize(
    "header", ["gzip", "GZIP", "deflate, gzip;q=0.5, br", "br;q=1.0,gzip;q=0.001", "*", "*;q=0.1", "gzip; q=1"]
)
def test_gzip_is_accepted(header: str) -> None:
    assert accepts_gzip(header)


@pytest.mark.parametrize("header", ["", "identity", "br", "gzip;q=0", "gzip; q=0.000, *", "*;q=0", "gzipped", "x-gzip"])
def test_gzip_is_not_accepted(header: str) -> None:
    assert not accepts_gzip(header)


def test_all_html_is_made_in_one_module() -> None:
    package = Path(glossator.__file__).parent
    tag = re.compile(
        r"</?(?:!doctype|html|head|body|div|span|p|a|ul|li|h\d|script|link|table|form)\b[^<]*>", re.IGNORECASE
    )
    modules = {
        path.relative_to(package).as_posix()
        for path in (package / "serve").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and tag.search(node.value)
    }
    assert modules == {"serve/site/pages.py"}
