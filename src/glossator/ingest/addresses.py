"""URLs of pages: each source has its own path on the server, and no two pages have the same URL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, count

from glossator.core.book.addresses import BOOK_PATH, Mount, local_path, slug
from glossator.core.errors import SourceError
from glossator.core.types import Document, SkippedFile
from glossator.ingest.read import SourceContents, moved_to


def choose_mounts(
    sources: Mapping[str, SourceContents], indexed: Mapping[str, Mount], book_path: str = BOOK_PATH
) -> dict[str, Mount]:
    """A mount for every source below the path of the book: the one that it has; for a new source the first free one."""
    mounts = dict(indexed)
    for root, source in sources.items():
        others = [mount for other, mount in mounts.items() if other != root]
        mounts[root] = Mount(source.base_url, _path(source, mounts.get(root), others, book_path))
    return mounts


def _path(source: SourceContents, own: Mount | None, others: list[Mount], book_path: str) -> str:
    """The URLs of sources with one base URL differ, so these share a path; all others have different ones."""
    shared = [mount.path for mount in others if source.base_url and mount.base_url == source.base_url]
    if shared:
        return shared[0]
    taken = {mount.path for mount in others}
    candidates = [own.path] if own and own.path.startswith(book_path) else []  # or the book was renamed
    return next(path for path in chain(candidates, _paths(source.name, book_path)) if path not in taken)


def _paths(name: str, book_path: str) -> Iterator[str]:
    yield book_path
    yield f"{book_path}{slug(name)}/"
    yield from (f"{book_path}{slug(name)}-{number}/" for number in count(2))


def place_documents(
    sources: Mapping[str, SourceContents], mounts: Mapping[str, Mount], retained: Mapping[str, str]
) -> tuple[dict[str, tuple[Document, ...]], tuple[SkippedFile, ...]]:
    """The documents at their addresses, and all that was skipped: a page whose address another source uses, too."""
    used = {local_path(url, mounts.values()): document_id for url, document_id in retained.items()}
    skipped = [skip for source in sources.values() for skip in source.skipped]
    placed: dict[str, tuple[Document, ...]] = {}
    for root, source in sources.items():
        found = {local_path(d.url, mounts.values()): d for d in _moved(source, mounts[root])}
        for path in found.keys() & used.keys():
            reason = f"the page has the same URL as {used[path]} of another source. Use a different --base-url."
            skipped.append(SkippedFile(found[path].document_id, reason))
        placed[root] = tuple(d for path, d in found.items() if path not in used)
        if not placed[root]:
            raise SourceError(
                f"All pages of {root} have the same URLs as another source in the index.",
                "Use a different --base-url, or remove that source: `glossator sources list` shows them.",
            )
        used |= {path: d.document_id for path, d in found.items()}
    return placed, tuple(sorted(skipped, key=lambda skip: skip.path))


def _moved(source: SourceContents, mount: Mount) -> tuple[Document, ...]:
    """The documents of a source that is published nowhere else move to its path on the server."""
    if source.base_url or mount.path == BOOK_PATH:
        return source.documents
    return tuple(moved_to(d, mount.path + d.url.removeprefix(BOOK_PATH)) for d in source.documents)
