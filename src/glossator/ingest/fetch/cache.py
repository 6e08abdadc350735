"""Cache of fetched pages, so that unchanged ones are not transferred again: one file per URL; safe to delete."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import tempfile
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from glossator.core.files import make_private_folder, storage_errors


@dataclass(frozen=True, slots=True)
class CachedPage:
    """A response that can be asked for again with its validators."""

    url: str
    content_type: str
    robots: str
    etag: str
    last_modified: str
    body: bytes


class PageCache:
    """The cached pages of one source, in a separate folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._used: set[str] = set()

    def get(self, url: str) -> CachedPage | None:
        """The page at a URL; None if it is not cached, or its file is damaged."""
        path = self._path(url)
        self._used.add(path.name)
        try:
            head, _, body = gzip.decompress(path.read_bytes()).partition(b"\n")
            page = CachedPage(**json.loads(head), body=body)
        except (OSError, ValueError, TypeError, EOFError, zlib.error):
            return None
        return page if page.url == url else None

    def put(self, page: CachedPage) -> None:
        """Store a page in one step; unlike `write_atomically`, without a lock and without waiting for the disk."""
        path = self._path(page.url)
        self._used.add(path.name)
        head = {name: value for name, value in asdict(page).items() if name != "body"}
        data = gzip.compress(json.dumps(head).encode() + b"\n" + page.body, compresslevel=3, mtime=0)
        with storage_errors(path):
            make_private_folder(self._folder)
            descriptor, temporary = tempfile.mkstemp(dir=self._folder, suffix=".next")
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            Path(temporary).replace(path)

    def evict_unused(self) -> None:
        """Delete the pages that were neither read nor stored: they are gone from the site."""
        with suppress(OSError):
            for path in self._folder.iterdir():
                if path.name not in self._used:
                    path.unlink(missing_ok=True)

    def _path(self, url: str) -> Path:
        return self._folder / hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def source_folder(data_dir: Path, kind: str, root: str) -> Path:
    """The folder for what was fetched from a source."""
    return data_dir / "cache" / kind / hashlib.sha256(root.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def forget_source(data_dir: Path, root: str) -> None:
    """Delete what was fetched from a source."""
    for kind in ("sites", "git"):
        shutil.rmtree(source_folder(data_dir, kind, root), ignore_errors=True)
