"""URLs of pages: where a book is published, and where this server shows it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from glossator.core.errors import BadInput

BOOK_PATH = "/book/"
"""Where the server shows the pages of the book."""


@dataclass(frozen=True, slots=True)
class Mount:
    """Where the pages of a source are: below its base URL, empty if there is none, and below a path of this server."""

    base_url: str = ""
    path: str = BOOK_PATH


DEFAULT_MOUNT = Mount()


def validate_base_url(url: str) -> str:
    """The URL where a book is published, without a slash at its end."""
    message = f"{url!r} is not the URL of a website."
    remedy = "Use the form https://docs.example.org/path, without a user name, query or fragment."
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise BadInput(message, remedy) from None
    if "@" in parts.netloc:
        raise BadInput("The base URL contains a user name.", remedy)
    if not valid or set(url) & set("?#\\<>\"'`") or any(c.isspace() or not c.isprintable() for c in url):
        raise BadInput(message, remedy)
    return url.rstrip("/")


def slug(name: str) -> str:
    """A name as one segment of a path."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].rstrip("-") or "source"


def local_path(url: str, mounts: Iterable[Mount]) -> str:
    """Where this server shows a page: the longest base URL that begins its URL is replaced by that source's path.

    The URL of a page that is published nowhere else is a path already.
    """
    matches = [mount for mount in mounts if mount.base_url and f"{url}/".startswith(f"{mount.base_url}/")]
    if not matches:
        return url
    nearest = max(matches, key=lambda mount: len(mount.base_url))
    return nearest.path + url[len(nearest.base_url) + 1 :]
