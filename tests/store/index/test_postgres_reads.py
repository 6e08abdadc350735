"""What the index in Postgres reads from the database: posting lists once, also of words that the book does not have."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from glossator.core.errors import IndexCorrupted
from glossator.core.types import Filters, Hit
from glossator.store.index.postgres import index as postgres_index
from glossator.store.index.postgres.generations import PostgresGenerations
from index_stores import FINGERPRINT, ingest
from postgres import Postgres, running_postgres

pytestmark = pytest.mark.slow

UNKNOWN_WORD, RARE_WORDS = "which page is of version zebra", "page 11, 22, 33, 44 and 55"


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with running_postgres(durable=False) as running:
        yield running


def asked_again_without_lists(
    server: Postgres, name: str, question: str, pages: int = 8
) -> tuple[list[Hit], list[Hit]]:
    """The hits of a question, and those of the same question after the posting lists were deleted."""
    store = PostgresGenerations(server.url(), name)
    ingest(store, "one", pages)
    index = store.open(FINGERPRINT).index
    first = index.search(None, question, 20, Filters())
    with psycopg.connect(server.url()) as connection:
        connection.execute(f"DROP TABLE {name}.terms_000001")
    second = index.search(None, question, 20, Filters())
    store.close()
    return first, second


def test_posting_lists_are_read_once(server: Postgres) -> None:
    first, second = asked_again_without_lists(server, "once", UNKNOWN_WORD)
    assert len(first) == 8
    assert second == first


def test_posting_lists_are_cached_by_their_size(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_index, "MAX_CACHED_POSTINGS_BYTES", 6_000)
    first, second = asked_again_without_lists(server, "sized", RARE_WORDS, pages=200)
    assert len(first) == 20
    assert second == first


def test_the_cache_of_posting_lists_is_bounded(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_index, "MAX_CACHED_POSTINGS_BYTES", 500)
    with pytest.raises(IndexCorrupted):
        asked_again_without_lists(server, "bounded", UNKNOWN_WORD)
