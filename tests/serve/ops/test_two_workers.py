"""Two real worker processes: whichever gets a request, clients see one server.

A request reaches a chosen worker because connections that another one accepts are closed before anything is sent.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

import glossator
from doors import BASE, QUESTION, Body
from glossator.pipeline.conversations import EVICTION_INTERVAL_SECONDS, STORING_SECONDS
from llm_server import LlmServer
from logged_server import LoggedServer, client_of, logged_server, wait_until
from operations import parse_metrics, total
from streams import ALL, SENTENCES, new_id, script_for_all

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to see which worker has a connection"),
]


class TwoWorkers:
    """A server with two workers, of which one can be chosen."""

    def __init__(self, running: LoggedServer) -> None:
        self._running = running
        self.first, self.second = running.workers[:2]

    def client(self, worker: int | None = None) -> httpx.Client:
        """A client of one worker, or of whichever accepts its connections."""
        if worker is None:
            return httpx.Client(base_url=self._running.address, timeout=120)
        return client_of(self._running, worker)

    def wait_for_running(self, client: httpx.Client, count: int) -> None:
        """Wait until both workers together answer so many requests, the one that asks included."""
        wait_until(lambda: total(parse_metrics(client.get("/metrics").text), "requests_running") == count)


@pytest.fixture(scope="module")
def workers(data: Path, model: LlmServer) -> Iterator[TwoWorkers]:
    env = {"LLM": f"{model.url}#scripted", "VERIFY_MODELS": "false", "ANSWER_SECONDS": "300", "REQUEST_SECONDS": "300"}
    with logged_server(data, workers=2, **{f"GLOSSATOR_{name}": value for name, value in env.items()}) as running:
        yield TwoWorkers(running)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as opened:
        yield opened


def ask(client: httpx.Client, session: str, question: str = QUESTION, **headers: str) -> Body:
    response = client.post("/chat", json={"query": question, "session_id": session}, headers=headers)
    assert response.status_code == 200, response.text
    return dict(response.json())


def ask_one(workers: TwoWorkers, worker: int | None, session: str, question: str, **headers: str) -> Body:
    with workers.client(worker) as client:
        return ask(client, session, question, **headers)


def history(client: httpx.Client, session: str) -> list[str]:
    return [entry["response"] for entry in client.get(f"/history/{session}").json()["entries"]]


def events(response: httpx.Response) -> Iterator[tuple[str, str, Any]]:
    """The id, name and data of each event of a stream, as they arrive."""
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield fields.get("id", ""), fields["event"], json.loads(fields["data"])
            fields = {}


def read_rest(workers: TwoWorkers, worker: int, body: Body, last: str) -> list[tuple[str, str, Any]]:
    with (
        workers.client(worker) as client,
        client.stream("POST", "/chat/stream", json=body, headers={"Last-Event-ID": last}) as response,
    ):
        return list(events(response))


def text_of(found: list[tuple[str, str, Any]]) -> str:
    return "".join(data["delta"] for _, name, data in found if name == "delta")


def test_a_stream_begun_on_one_worker_is_resumed_on_the_other_while_it_runs(
    workers: TwoWorkers, model: LlmServer, pool: ThreadPoolExecutor
) -> None:
    pacer, session = script_for_all(model, 1), new_id()
    body = {"query": f"{QUESTION} While it runs.", "session_id": session}
    with workers.client(workers.first) as begun:
        request = begun.build_request("POST", "/chat/stream", json=body)
        incoming = events(begun.send(request, stream=True))
        received = [next(incoming)]
        with workers.client(workers.second) as client:
            rest = pool.submit(read_rest, workers, workers.second, body, received[0][0])
            workers.wait_for_running(client, 3)
        pacer.allowed = ALL
        received += incoming
    assert text_of(received[:1]) + text_of(rest.result(120)) == text_of(received)
    assert all(sentence in text_of(received) for sentence in SENTENCES)
    with workers.client() as client:
        assert history(client, session) == [text_of(received)]


def test_a_finished_stream_is_resumed_on_the_other_worker(workers: TwoWorkers, model: LlmServer) -> None:
    script_for_all(model)
    session = new_id()
    body = {"query": f"{QUESTION} When it is done.", "session_id": session}
    with (
        workers.client(workers.first) as client,
        client.stream("POST", "/chat/stream", json=body) as response,
    ):
        received = list(events(response))
    rest = read_rest(workers, workers.second, body, received[0][0])
    assert text_of(rest) == text_of(received[1:])
    assert [name for _, name, _ in rest[-2:]] == ["sources", "done"]
    assert len(model.requests) == 1


def test_an_idempotency_key_used_on_both_workers_at_once_is_answered_once(
    workers: TwoWorkers, model: LlmServer, pool: ThreadPoolExecutor
) -> None:
    pacer, session, key = script_for_all(model, 0), new_id(), {"Idempotency-Key": new_id()}
    asked: list[Future[Body]] = []
    for worker, running in ((workers.second, 2), (workers.first, 3)):
        with workers.client(worker) as client:
            asked.append(pool.submit(ask_one, workers, worker, session, f"{QUESTION} At once.", **key))
            workers.wait_for_running(client, running)
    pacer.allowed = ALL
    first, second = (each.result(120) for each in asked)
    assert first["answer"] == second["answer"]
    with workers.client() as client:
        assert history(client, session) == [first["answer"]]


def test_turns_of_one_conversation_on_both_workers_are_stored_one_after_the_other(
    workers: TwoWorkers, model: LlmServer, pool: ThreadPoolExecutor
) -> None:
    script_for_all(model)
    session = new_id()
    asked = [pool.submit(ask_one, workers, None, session, f"{QUESTION} Number {number}.") for number in range(8)]
    answers = sorted(each.result(120)["answer"] for each in asked)
    with workers.client() as client:
        assert sorted(history(client, session)) == answers


def test_a_deleted_conversation_leaves_the_cache_of_the_other_worker(workers: TwoWorkers, model: LlmServer) -> None:
    script_for_all(model)
    for attempt in range(3):  # on a busy machine, the other worker may be late
        session, question = new_id(), f"{QUESTION} Forget this, number {attempt}."
        for worker in (workers.first, workers.second):
            with workers.client(worker) as client:
                ask(client, session, question)
        asked = len(model.requests)
        with workers.client(workers.first) as client:
            assert client.delete(f"/agent/session/{session}").status_code == 204
        time.sleep(1.2 * EVICTION_INTERVAL_SECONDS + STORING_SECONDS + 1)
        with workers.client(workers.second) as client:
            ask(client, new_id(), question)
        if len(model.requests) == asked + 1:
            return
    pytest.fail("the answer is still in the cache of the other worker")


def test_both_workers_switch_to_a_new_generation(workers: TwoWorkers, data: Path, tmp_path: Path) -> None:
    page = tmp_path / "book" / "new.md"
    page.parent.mkdir()
    page.write_text("# Quokkas\n\nA quokka named Wilhelmina maintains the treadmill of the laboratory.\n", "utf-8")
    with glossator.open(data) as book:
        number = book.ingest(page.parent, base_url=f"{BASE}/more").generation
    for worker in (workers.first, workers.second):
        with workers.client(worker) as client:
            found = client.get("/search", params={"q": "Who maintains the treadmill?"}).json()
            assert (found["generation"], found["results"][0]["title"]) == (number, "Quokkas")
