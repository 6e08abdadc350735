"""The collections of an index: two for each generation, and one that holds its lock and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from glossator.store.index.qdrant.server import QdrantServer

DENSE, WORDS, SENTENCES = "dense", "words", "sentences"
KEYWORD, FLOAT = models.PayloadSchemaType.KEYWORD, models.PayloadSchemaType.FLOAT
FILTER_FIELDS = {"url": KEYWORD, "sections": KEYWORD, "chapters": KEYWORD, "versions": KEYWORD}
STATE_FIELDS = {"owner": KEYWORD, "expires": FLOAT}
"""Servers in strict mode refuse to filter by a field that has no index."""
_STRICT_MODE = models.StrictModeConfig(search_allow_exact=True)
"""Points are counted exactly, and sentences have no graph. Servers may refuse both unless the collection allows it."""
_CONFLICT = 409


@dataclass(frozen=True, slots=True)
class GenerationCollections:
    """The names of a generation's collections: its chunks, and everything else."""

    name: str
    number: int

    @property
    def chunks(self) -> str:
        return f"{self.name}_{self.number}"

    @property
    def documents(self) -> str:
        return f"{self.name}_{self.number}_documents"


def point_id(kind: str, key: object = "") -> str:
    """The id of a point, found by what it holds."""
    return str(uuid5(NAMESPACE_URL, f"glossator:{kind}:{key}"))


def create_chunks(server: QdrantServer, name: str, dimension: int) -> None:
    """Vectors of chunks, of their words and of their sentences; sentences are compared for chosen chunks only."""
    options = server.options
    sentences = models.VectorParams(
        size=dimension,
        distance=models.Distance.DOT,
        multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
        hnsw_config=models.HnswConfigDiff(m=0),
        datatype=models.Datatype.FLOAT16,
        on_disk=True,
    )
    scalar = models.ScalarQuantization(
        scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
    )
    dense = models.VectorParams(
        size=dimension,
        distance=models.Distance.COSINE,
        quantization_config=scalar if options.quantized else None,
        on_disk=options.quantized or None,
    )
    _create(
        server,
        name,
        vectors_config={DENSE: dense, SENTENCES: sentences},
        sparse_vectors_config={WORDS: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        shard_number=options.shards or None,
        replication_factor=options.replicas,
        on_disk_payload=True,
    )
    _create_indexes(server, name, FILTER_FIELDS)


def create_plain(server: QdrantServer, name: str) -> None:
    """Points that are found by their ids only."""
    _create(server, name, vectors_config={}, replication_factor=server.options.replicas, on_disk_payload=True)


def create_state(server: QdrantServer, name: str) -> None:
    """One point, which is changed if its fields meet conditions."""
    create_plain(server, name)
    _create_indexes(server, name, STATE_FIELDS)


def _create(server: QdrantServer, name: str, **parameters: Any) -> None:
    """Create a collection, unless there is one: a repeated request, or another process, may have created it."""

    def create(client: QdrantClient) -> None:
        if client.collection_exists(name):
            return
        try:
            client.create_collection(name, strict_mode_config=_STRICT_MODE, **parameters)
        except UnexpectedResponse as error:
            if error.status_code != _CONFLICT:
                raise

    server.write(create)


def _create_indexes(server: QdrantServer, name: str, fields: dict[str, models.PayloadSchemaType]) -> None:
    for field, kind in fields.items():
        server.write(partial(_create_index, name, field, kind))


def _create_index(name: str, field: str, kind: models.PayloadSchemaType, client: QdrantClient) -> None:
    client.create_payload_index(name, field, kind, wait=True)
