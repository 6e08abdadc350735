"""URLs to fetch: validation, and the normal form of all URLs of a page."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from glossator.core.errors import FetchRefused

MAX_URL_CHARACTERS = 2_000
_DEFAULT_PORTS = {"http": 80, "https": 443}
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\<>\"`{}|^]")
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")
_PATH_CHARACTERS = "/:@!$&'()*+,;=-._~%"


def normalized(url: str) -> str:
    """A URL of http or https in one form: lower-case host, no default port, no fragment, characters escaped alike."""
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise FetchRefused(f"{url[:200]!r} is not a URL.", "Correct it.") from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise FetchRefused(f"{url[:200]} is not an http or https URL.", "Only http and https are supported.")
    if not host or "@" in parts.netloc or port == 0 or _UNSAFE.search(parts.netloc) or len(url) > MAX_URL_CHARACTERS:
        raise FetchRefused(
            f"{url[:200]} cannot be fetched.", "Use a URL with a host, without a user name, of normal length."
        )
    name = f"[{host}]" if ":" in host else host
    netloc = name if port in (None, _DEFAULT_PORTS[parts.scheme]) else f"{name}:{port}"
    return urlunsplit((parts.scheme, netloc, _path(parts.path), quote(parts.query, "=&?/" + _PATH_CHARACTERS), ""))


def _path(path: str) -> str:
    """A path without dot segments; only characters that need it are escaped."""
    plain = _ESCAPED.sub(lambda match: _unescaped(match[0]), quote(path, _PATH_CHARACTERS))
    clean = posixpath.normpath(f"/{plain.lstrip('/')}")
    return clean if clean == "/" or not plain.endswith(("/", "/.", "/..")) else f"{clean}/"


def _unescaped(code: str) -> str:
    character = unquote(code, "latin-1")
    return character if character.isascii() and (character.isalnum() or character in "-._~") else code.upper()


def joined(base: str, reference: str) -> str | None:
    """The URL that a reference on a page leads to; None if it is none of http or https."""
    try:
        return normalized(urljoin(base, reference.strip()))
    except (ValueError, FetchRefused):
        return None


def host_of(url: str) -> str:
    """The host and port of a normalized URL."""
    return urlsplit(url).netloc


def root_of(url: str) -> str:
    """The front page of a URL's host."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"


def without_url(reason: str, url: str) -> str:
    """A reason that begins with a URL, for a list that names the URL itself."""
    if reason.startswith(f"{url}: "):
        return reason.removeprefix(f"{url}: ")
    return f"it {reason.removeprefix(f'{url} ')}" if reason.startswith(f"{url} ") else reason
