"""Servers of shared indexes that fail: what can be retried is, and what cannot is an error that says so, in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from glossator.core.errors import IndexUnavailable, SettingsError, StorageError
from glossator.core.ports import Generation
from glossator.core.resilience.retry import Backoff
from glossator.core.types import Filters
from glossator.store.index.postgres.connections import connection_parameters
from glossator.store.index.postgres.generations import PostgresGenerations
from glossator.store.index.qdrant.generations import QdrantGenerations
from glossator.store.index.qdrant.server import QdrantOptions, QdrantServer
from glossator.store.index.shared import ServerTimes
from index_stores import DIMENSION, FINGERPRINT, ingest, qdrant_store, query
from postgres import Postgres, running_postgres
from qdrant_stand_in import DroppedConnection, StandIn, running_stand_in

pytestmark = pytest.mark.slow

QUICK, QUICK_DATABASE = ServerTimes(read_seconds=1.5), ServerTimes(read_seconds=3.0)
"""Times that a test can wait for."""


def hits(generation: Generation) -> int:
    return len(generation.index.search(query(0), "page", 10, Filters()))


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with running_stand_in() as running:
        yield running


@pytest.fixture
def opened(stand_in: StandIn, request: pytest.FixtureRequest) -> Iterator[Generation]:
    stand_in.fault = no_fault
    store = qdrant_store(stand_in.url, f"faults_{abs(hash(request.node.name)) % 10**6}", times=QUICK)
    ingest(store, "one")
    yield store.open(FINGERPRINT)
    stand_in.fault = no_fault
    store.close()
    store.drop_all()


def no_fault(_request: Request) -> None:
    return None


def on_query(*outcomes: Response | float) -> Callable[[Request], Response | float | None]:
    """These outcomes for the next searches, one after another."""
    remaining = list(outcomes)

    def fault(request: Request) -> Response | float | None:
        return remaining.pop(0) if "/query" in request.url.path and remaining else None

    return fault


FAULTS: dict[str, Callable[[], Response]] = {
    "500": lambda: JSONResponse({"status": {"error": "broken"}}, 500),
    "503": lambda: PlainTextResponse("busy", 503),
    "429": lambda: JSONResponse({"status": {"error": "broken"}}, 429, {"Retry-After": "0"}),
    "dropped": DroppedConnection,
    "garbage": lambda: PlainTextResponse("<html>"),
    "wrong shape": lambda: JSONResponse({"result": [{"points": "none"}], "status": "ok", "time": 0}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_search_that_fails_once_is_repeated(stand_in: StandIn, opened: Generation, fault: str) -> None:
    stand_in.fault = on_query(FAULTS[fault]())
    assert hits(opened) == 8


@pytest.mark.parametrize("fault", FAULTS)
def test_a_search_that_always_fails_is_an_error_without_details(
    stand_in: StandIn, opened: Generation, fault: str
) -> None:
    stand_in.fault = lambda request: FAULTS[fault]() if "/query" in request.url.path else None
    with pytest.raises(IndexUnavailable, match=r"Qdrant at 127\.0\.0\.1 is unavailable") as caught:
        hits(opened)
    assert "broken" not in str(caught.value)


def test_a_server_that_hangs_is_given_up_in_time(stand_in: StandIn, opened: Generation) -> None:
    stand_in.fault = lambda request: 5.0 if "/query" in request.url.path else None
    with pytest.raises(IndexUnavailable, match="in time"):
        hits(opened)


def test_a_server_that_is_down_gets_no_requests_for_a_while_and_is_tried_again(
    stand_in: StandIn, opened: Generation
) -> None:
    stand_in.fault = lambda _request: FAULTS["500"]()
    for _ in range(5):
        with pytest.raises(IndexUnavailable):
            hits(opened)
    before = len([path for path in stand_in.requests if "/query" in path])
    with pytest.raises(IndexUnavailable):
        hits(opened)
    assert len([path for path in stand_in.requests if "/query" in path]) == before
    stand_in.fault = no_fault
    deadline = time.monotonic() + 10
    while True:
        try:
            assert hits(opened) == 8
            return
        except IndexUnavailable:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_an_ingest_survives_faults_of_every_kind(stand_in: StandIn) -> None:
    backoff = Backoff(first_seconds=0.05, max_seconds=0.5, attempts=4)
    store = qdrant_store(stand_in.url, "ingest_faults", times=replace(QUICK, write_backoff=backoff))
    count = 0

    def fault(_request: Request) -> Response | None:
        nonlocal count
        count += 1
        return list(FAULTS.values())[count // 3 % len(FAULTS)]() if count % 3 == 0 else None

    stand_in.fault = fault
    try:
        ingest(store, "one", pages=300)
    finally:
        stand_in.fault = no_fault
    assert store.open(FINGERPRINT).index.count() == 300
    store.close()
    store.drop_all()


def test_a_lease_of_a_killed_ingest_expires(stand_in: StandIn) -> None:
    stand_in.fault = no_fault
    store = qdrant_store(stand_in.url, "leases", times=replace(QUICK, lease_seconds=0.5))
    store._create_state()
    assert store._acquire("killed")
    assert not store._acquire("other")
    time.sleep(0.6)
    ingest(store, "one")
    store.close()
    store.drop_all()


def test_a_server_that_limits_requests_is_given_the_time_it_asks_for(stand_in: StandIn, opened: Generation) -> None:
    limited = JSONResponse({"status": {"error": "too many"}}, 429, {"Retry-After": "60"})
    stand_in.fault = on_query(limited)
    with pytest.raises(IndexUnavailable, match="rate limit was exceeded"):
        hits(opened)


def test_a_server_behind_a_proxy_is_sent_the_key_with_every_request(stand_in: StandIn) -> None:
    seen: list[tuple[str, str]] = []

    def check(request: Request) -> Response | None:
        seen.append((request.url.path, request.headers.get("api-key", "")))
        return None if seen[-1][1] == "secret" else PlainTextResponse("who are you?", 401)

    stand_in.fault = check
    try:
        store = qdrant_store(f"{stand_in.url}/behind/a/proxy", "proxied", "secret")
        ingest(store, "one")
        assert hits(store.open(FINGERPRINT)) == 8
        with pytest.raises(IndexUnavailable, match="rejects the API key"):
            qdrant_store(f"{stand_in.url}/behind/a/proxy", "proxied", "other").open(FINGERPRINT)
        store.close()
        store.drop_all()
    finally:
        stand_in.fault = no_fault
    assert all(path.startswith("/behind/a/proxy/") for path, _ in seen)


def test_a_writer_that_dies_after_the_switch_leaves_a_generation_that_is_not_overwritten(stand_in: StandIn) -> None:
    stand_in.fault = no_fault
    store, switched = qdrant_store(stand_in.url, "died", times=QUICK), Event()

    def die_after_the_switch(request: Request) -> Response | None:
        if switched.is_set() and request.url.path.endswith("/payload"):
            switched.clear()
            return PlainTextResponse("", 400)
        if request.url.path == "/collections/aliases":
            switched.set()
        return None

    stand_in.fault = die_after_the_switch
    with pytest.raises(StorageError):
        ingest(store, "one")
    stand_in.fault = no_fault
    held = store.open(FINGERPRINT)
    next_number = ingest(store, "two", pages=9)
    assert (held.manifest.generation, next_number) == (1, 2)
    assert {document.text.split()[-1] for document in held.documents.all()} == {"one."}
    store.close()
    store.drop_all()


def test_long_vectors_are_sent_in_requests_that_a_server_accepts(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.fault = no_fault
    monkeypatch.setattr("glossator.store.index.qdrant.writer._MAX_BATCH_VALUES", 5 * 2 * DIMENSION)
    store = qdrant_store(stand_in.url, "long", times=QUICK)
    stand_in.bodies.clear()
    ingest(store, "one", pages=12)
    sent = [[point["id"] for point in body["points"]] for body in stand_in.bodies if "dense" in str(body.get("points"))]
    assert sent == [list(range(5)), list(range(5, 10)), [10, 11]]
    assert hits(store.open(FINGERPRINT)) == 10
    store.close()
    store.drop_all()


def test_hits_of_compressed_vectors_are_scored_by_the_vectors_themselves(stand_in: StandIn) -> None:
    stand_in.fault = no_fault
    store = QdrantGenerations(QdrantServer(QdrantOptions(stand_in.url, name="compressed", quantized=True)))
    ingest(store, "one")
    stand_in.bodies.clear()
    assert hits(store.open(FINGERPRINT)) == 8
    searches = next(body["searches"] for body in stand_in.bodies if "searches" in body)
    assert searches[0]["params"]["quantization"] == {"rescore": True, "oversampling": 2.0}
    store.close()
    store.drop_all()


def test_collections_that_another_process_creates_at_the_same_time_are_used(stand_in: StandIn) -> None:
    missing = {"result": {"exists": False}, "status": "ok", "time": 0}
    stand_in.fault = lambda request: JSONResponse(missing) if request.url.path.endswith("/exists") else None
    store = qdrant_store(stand_in.url, "at_once", times=QUICK)
    store._create_state()
    ingest(store, "one")
    assert hits(store.open(FINGERPRINT)) == 8
    stand_in.fault = no_fault
    store.close()
    store.drop_all()


def test_the_index_has_one_shard_unless_told_otherwise(stand_in: StandIn) -> None:
    stand_in.fault = no_fault
    store = qdrant_store(stand_in.url, "one_shard", times=QUICK)
    stand_in.bodies.clear()
    ingest(store, "one")
    assert [body["shard_number"] for body in stand_in.bodies if "sparse_vectors" in body] == [1]
    store.close()
    store.drop_all()


@pytest.mark.parametrize(
    "url", ["localhost:6333", "ftp://host", "http://", "x", "http://host:port", "http://host:0", "http://[", ""]
)
def test_an_address_that_is_not_one_is_rejected(url: str) -> None:
    with pytest.raises(SettingsError, match="QDRANT_URL"):
        QdrantGenerations(QdrantServer(QdrantOptions(url)))


@pytest.mark.parametrize("url", ["", "sqlite:///x", "mysql://host/x", "not an address"])
def test_an_address_of_another_database_is_rejected(url: str) -> None:
    with pytest.raises(SettingsError, match="DATABASE_URL"):
        PostgresGenerations(url, "book")


def test_addresses_of_the_other_driver_are_understood() -> None:
    url = "postgresql+asyncpg://me:p%40ss@db:5433/books?ssl=require&prepared_statement_cache_size=0"
    assert connection_parameters(url) == {
        "host": "db",
        "port": 5433,
        "user": "me",
        "password": "p@ss",
        "dbname": "books",
        "sslmode": "require",
    }


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    with running_postgres(durable=False) as server:
        yield server


def test_a_lost_connection_is_replaced(database: Postgres) -> None:
    store = PostgresGenerations(database.url(), "lost", QUICK_DATABASE)
    ingest(store, "one")
    generation = store.open(FINGERPRINT)
    for _ in range(3):
        assert hits(generation) == 8
        database.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'glossator'")
    assert hits(generation) == 8
    store.close()


def test_a_database_that_hangs_is_given_up_in_time(database: Postgres) -> None:
    store = PostgresGenerations(database.url(), "hung", replace(QUICK, read_seconds=0.5))
    connections = store._connections
    assert connections.read(lambda connection: connection.execute("SELECT 1").fetchone()) == (1,)
    with pytest.raises(IndexUnavailable, match="in time"):
        connections.read(lambda connection: connection.execute("SELECT pg_sleep(30)").fetchone())
    assert connections.read(lambda connection: connection.execute("SELECT 2").fetchone()) == (2,)
    store.close()


@pytest.mark.slow
def test_searches_recover_when_postgres_is_back(database: Postgres) -> None:
    store = PostgresGenerations(database.url(), "restarted", QUICK_DATABASE)
    ingest(store, "one")
    generation = store.open(FINGERPRINT)
    stop = Event()

    def search() -> tuple[int, int]:
        good = failed = 0
        while not stop.is_set():
            try:
                assert hits(generation) == 8
                good += 1
            except IndexUnavailable:
                failed += 1
                time.sleep(0.01)
        return good, failed

    with ThreadPoolExecutor(4) as pool:
        threads = [pool.submit(search) for _ in range(4)]
        database.stop()
        with pytest.raises(IndexUnavailable, match=r"Postgres at 127\.0\.0\.1"):
            while True:
                hits(generation)
        database.start()
        deadline = time.monotonic() + 10
        while True:
            try:
                assert hits(generation) == 8
                break
            except IndexUnavailable:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        stop.set()
        results = [thread.result() for thread in threads]
    assert any(failed for _, failed in results)
    store.close()


def test_an_interrupted_build_continues_with_what_is_there(database: Postgres) -> None:
    store = PostgresGenerations(database.url(), "continued", QUICK_DATABASE)

    def kill(_generation: Generation) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(store, "one", check=kill)
    before = database.sql("SELECT pg_relation_filenode('continued.chunks_000001')")
    assert ingest(store, "one") == 2
    assert database.sql("SELECT pg_relation_filenode('continued.chunks_000002')") == before
    assert hits(store.open(FINGERPRINT)) == 8
    store.close()


def test_old_generations_are_dropped_once_no_reader_can_use_them(database: Postgres) -> None:
    store = PostgresGenerations(database.url(), "dropped", replace(QUICK_DATABASE, retention_seconds=0.0))
    for version in ("one", "two", "three", "four"):
        ingest(store, version)
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'dropped' AND tablename LIKE 'chunks%' ORDER BY 1"
    assert database.sql(tables).split() == ["chunks_000003", "chunks_000004"]
    store.close()


def test_old_collections_are_dropped_once_no_reader_can_use_them(stand_in: StandIn) -> None:
    stand_in.fault = no_fault
    store = qdrant_store(stand_in.url, "dropped", times=replace(QUICK, retention_seconds=0.0))
    for version in ("one", "two", "three", "four"):
        ingest(store, version)
    names = sorted(each.name for each in stand_in.engine.get_collections().collections if "dropped" in each.name)
    assert names == ["dropped_3", "dropped_3_documents", "dropped_4", "dropped_4_documents", "dropped_state"]
    store.close()
    store.drop_all()
