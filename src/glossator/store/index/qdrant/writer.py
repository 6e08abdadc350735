"""Writes a generation to a Qdrant server in batches; an interrupted build continues where it stopped."""

from __future__ import annotations

import base64
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from qdrant_client import models

from glossator.core.book.manifest import Manifest
from glossator.core.errors import StorageError
from glossator.core.ports import GenerationContents
from glossator.core.types import Chunk, Embedding
from glossator.store.index.documents import count_words, found_images
from glossator.store.index.keywords import KeywordEncoder
from glossator.store.index.manifest import dump_manifest
from glossator.store.index.payload import to_payload
from glossator.store.index.qdrant.collections import DENSE, SENTENCES, WORDS, GenerationCollections, point_id
from glossator.store.index.qdrant.documents import LIST_SIZE, to_document_payload, word_group
from glossator.store.index.qdrant.server import QdrantServer

BATCH_SIZE = 128
_MAX_BATCH_BYTES = 4_000_000
"""Of payloads in one request; servers accept 32 MB."""
_MAX_BATCH_VALUES = 600_000
"""Of vectors in one request; each takes about 20 bytes."""
_MAX_INDEXING_SECONDS = 900.0
"""Until the server has built its vector index; searches are exact, and slow, before."""
_POLL_SECONDS = 0.5


def write_generation(
    server: QdrantServer,
    collections: GenerationCollections,
    manifest: Manifest,
    contents: GenerationContents,
    image: Callable[[str], bytes | None],
) -> None:
    """Fill the collections of a generation, which exist; each batch is applied before the next is sent."""
    name, encoder = collections.chunks, KeywordEncoder()
    written = server.write(lambda client: client.count(name, exact=True)).count
    for start in range(written - written % BATCH_SIZE, len(contents.chunks), BATCH_SIZE):
        batch = slice(start, start + BATCH_SIZE)
        points = [
            _point(encoder, number, chunk, embedding, manifest)
            for number, (chunk, embedding) in enumerate(
                zip(contents.chunks[batch], contents.embeddings[batch], strict=True), start
            )
        ]
        for group in _groups(points):
            _upsert(server, name, group)
    for group in _batches(_plain_points(contents, manifest, image)):
        _upsert(server, collections.documents, group)
    _wait_for_index(server, name)


def _upsert(server: QdrantServer, name: str, points: Sequence[models.PointStruct]) -> None:
    server.write(lambda client: client.upsert(name, points, wait=True))


def _groups(points: Sequence[models.PointStruct]) -> Iterator[Sequence[models.PointStruct]]:
    """A batch as requests that a server accepts: vectors of remote models are long, and each sentence has one."""
    start = values = 0
    for place, point in enumerate(points):
        size = _value_count(point)
        if place > start and values + size > _MAX_BATCH_VALUES:
            yield points[start:place]
            start, values = place, 0
        values += size
    yield points[start:]


def _value_count(point: models.PointStruct) -> int:
    vectors: Any = point.vector
    return len(vectors[DENSE]) * (1 + len(vectors.get(SENTENCES, ())))


def _point(
    encoder: KeywordEncoder, number: int, chunk: Chunk, embedding: Embedding, manifest: Manifest
) -> models.PointStruct:
    if embedding.vector.shape != (manifest.dimension,):
        raise StorageError(f"A vector does not have {manifest.dimension} dimensions.", "Run `glossator ingest` again.")
    words = encoder.document(chunk)
    vectors: dict[str, Any] = {DENSE: embedding.vector.tolist()}
    if words.indices:
        vectors[WORDS] = models.SparseVector(indices=list(words.indices), values=list(words.values))
    if len(embedding.sentences):
        vectors[SENTENCES] = np.asarray(embedding.sentences, np.float32).tolist()
    return models.PointStruct(id=number, vector=vectors, payload=to_payload(chunk, number, manifest.created_at))


def _plain_points(
    contents: GenerationContents, manifest: Manifest, image: Callable[[str], bytes | None]
) -> Iterator[models.PointStruct]:
    """Everything but the chunks; the manifest comes last."""
    groups: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for word, count in count_words(contents.chunks).items():
        groups[word_group(word)][word] = count
    for group, counts in groups.items():
        yield _plain("words", group, {"counts": counts})
    yield from _list("urls", list(dict.fromkeys(chunk.url for chunk in contents.chunks)))
    yield from _list("contents", [[d.document_id, d.url, d.title, list(d.chapters)] for d in contents.documents])
    for document in contents.documents:
        yield _plain("document", document.document_id, to_document_payload(document))
    for name, content in found_images(contents.documents, image):
        yield _plain("image", name, {"content": base64.b64encode(content).decode("ascii")})
    yield _plain("manifest", "", {"manifest": dump_manifest(manifest)})


def _list(kind: str, items: list[Any]) -> Iterator[models.PointStruct]:
    for start in range(0, len(items), LIST_SIZE):
        yield _plain(kind, start // LIST_SIZE, {"items": items[start : start + LIST_SIZE]})


def _plain(kind: str, key: object, payload: dict[str, Any]) -> models.PointStruct:
    return models.PointStruct(id=point_id(kind, key), vector={}, payload=payload)


def _batches(points: Iterator[models.PointStruct]) -> Iterator[list[models.PointStruct]]:
    """Groups of points whose payloads are not too large together."""
    group: list[models.PointStruct] = []
    size = 0
    for point in points:
        length = len(str(point.payload))
        if group and (size + length > _MAX_BATCH_BYTES or len(group) >= BATCH_SIZE):
            yield group
            group, size = [], 0
        group.append(point)
        size += length
    if group:
        yield group


def _wait_for_index(server: QdrantServer, name: str) -> None:
    deadline = time.monotonic() + _MAX_INDEXING_SECONDS
    while time.monotonic() < deadline:
        status = server.write(lambda client: client.get_collection(name)).status
        if status == models.CollectionStatus.RED:
            raise StorageError(f"{server.place} cannot build its index.", "See the server's log.")
        if status != models.CollectionStatus.YELLOW:
            return
        time.sleep(_POLL_SECONDS)
