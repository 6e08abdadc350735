"""Citation marks: at every door and in every mode, `[n]` is the n-th source, and each source is listed once."""

from __future__ import annotations

import asyncio
import json
import random
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from cited_answers import CONVERSATIONS, DOORS, SELECTION, WITHOUT_SELECTION, CitedAnswer
from commands import run_in_subprocess
from door_chat import INVERSE
from doors import OUT_OF_SCOPE, PAGES, QUESTION, Body, page_url, passages, serving
from llm_server import LlmServer, Reply, drops_connection, fails, running_llm_server, says

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

QUESTIONS = [INVERSE, QUESTION, "What is the Jacobian?"]
SENTENCES = [
    "Inverse kinematics computes the joint angles that bring the hand of a robot to a desired pose.",
    "Forward kinematics computes the pose of the hand from the joint angles.",
    "An arm with 7 joints has infinitely many solutions of the inverse kinematics problem.",
    "Kinematics describes motion without regard to forces.",
    "The Jacobian is the matrix that maps joint velocities to the velocity of the hand.",
    "Numerical solvers of inverse kinematics converge within 12 iterations.",
]
Clients = dict[bool, httpx.AsyncClient]
"""By whether the server has a language model."""
BOOK_SELECTION = PAGES["module1/kinematics.md"]


def draft(seed: int) -> str:
    """Sentences of the book in random order, each with a random citation, right or wrong."""
    chance = random.Random(seed)  # noqa: S311 - not a secret
    chosen = chance.sample(SENTENCES, 5)
    return " ".join(f"{sentence} [Source {chance.randint(1, 5)}]" for sentence in chosen)


MODES: dict[str, Reply | None] = {
    "quotes": None,
    **{f"full, draft {seed}": says(draft(seed)) for seed in range(3)},
    "retrieval only": fails(400),
    "degraded": drops_connection(f"{draft(4)} And the"),
}


@pytest.fixture(scope="module")
def model() -> Iterator[LlmServer]:
    with running_llm_server() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients(data: Path, model: LlmServer) -> AsyncIterator[Clients]:
    """Clients of a server with a language model and of one without."""
    async with (
        serving(data, llm=f"{model.url}#scripted", verify_models=False, cache_answers=0) as drafting,
        serving(data, verify_models=False, cache_answers=0) as quoting,
    ):
        yield {True: drafting, False: quoting}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chunks(client: httpx.AsyncClient) -> dict[str, str]:
    """The text behind every source, by each of the names that the doors give it."""
    found: dict[str, str] = {SELECTION: BOOK_SELECTION}
    for question in [*QUESTIONS, "humanoid robot", "battery", "camera"]:
        for passage in await passages(client, question):
            names = passage["chunk_id"], f"{page_url(passage['url'])} {passage['position']}"
            section = f"{passage['url']}#{passage['anchor']}".rstrip("#")
            found |= dict.fromkeys(names, passage["text"])
            found[section] = f"{found.get(section, '')} {passage['text']}"
    return found


def check(answer: CitedAnswer, chunks: dict[str, str]) -> None:
    """Every mark has a source, which contains the marked sentence; every source is listed once."""
    listed = [chunks[source].replace("\n", " ") for source in answer.sources]
    assert len(set(answer.sources)) == len(answer.sources)
    assert set(answer.marks) <= set(range(1, len(listed) + 1)), answer
    if not listed:
        return
    assert answer.cited_sentences, answer
    for sentence, number in answer.cited_sentences:
        words = sentence.replace("\n", " ").removeprefix("AI summarization unavailable. ")
        assert words in listed[number - 1], (words, number, answer.sources)


async def ask(door: str, mode: str, clients: Clients, model: LlmServer, question: str, selected: bool) -> CitedAnswer:
    reply = MODES[mode]
    model.script(reply or fails(500))
    return await DOORS[door](clients[reply is not None], question, BOOK_SELECTION if selected else None)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("door", DOORS)
async def test_mark_n_is_the_nth_source(
    door: str,
    mode: str,
    question: str,
    clients: Clients,
    model: LlmServer,
    chunks: dict[str, str],
) -> None:
    answer = await ask(door, mode, clients, model, question, selected=False)
    check(answer, chunks)
    assert bool(answer.marks) == (door != "query_without_sources")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("door", sorted(DOORS.keys() - WITHOUT_SELECTION))
async def test_marks_of_an_answer_about_a_selection_have_a_source(
    door: str, mode: str, clients: Clients, model: LlmServer, chunks: dict[str, str]
) -> None:
    check(await ask(door, mode, clients, model, INVERSE, selected=True), chunks)


@pytest.mark.parametrize("door", DOORS)
async def test_cached_answer_has_the_same_marks_and_sources(door: str, data: Path, chunks: dict[str, str]) -> None:
    async with serving(data, verify_models=False) as caching:
        first, second = [await DOORS[door](caching, INVERSE, None) for _ in range(2)]
    assert first == second
    check(second, chunks)


RESUMABLE: dict[str, Body] = {
    "/chat/stream": {"query": INVERSE},
    "/agent/chat": {"message": INVERSE, "session_id": "resumed", "stream": True},
    "/agent/query/session": {"query_text": INVERSE, "stream": True},
    "/ask": {"question": INVERSE, "stream": True},
    "/query": {"query": INVERSE, "stream": True},
}


@pytest.mark.parametrize("mode", [mode for mode in MODES if MODES[mode]])
@pytest.mark.parametrize("path", RESUMABLE)
async def test_resumed_stream_has_the_same_marks_and_sources(
    path: str, mode: str, clients: Clients, model: LlmServer
) -> None:
    model.script(MODES[mode] or fails(500))
    whole = await clients[True].post(path, json=RESUMABLE[path])
    events = whole.text.rstrip("\n").split("\n\n")
    for seen in range(1, len(events)):
        last_id = next(line[4:] for line in events[seen - 1].splitlines() if line.startswith("id: "))
        rest = await clients[True].post(path, json=RESUMABLE[path], headers={"last-event-id": last_id})
        assert _data(rest.text) == _data("\n\n".join(events[seen:]))


def _data(events: str) -> tuple[str, list[Body]]:
    """The text and the sources of a stream."""
    parsed = [json.loads(line[6:]) for line in events.splitlines() if line.startswith("data: ")]
    return "".join(d.get("delta", "") for d in parsed), [d["sources"] for d in parsed if "sources" in d]


def _last_event_ids(events: str) -> list[str]:
    return [line[4:] for line in events.splitlines() if line.startswith("id: ")]


@pytest.mark.parametrize("selection", [None, BOOK_SELECTION], ids=["book", "selection"])
@pytest.mark.parametrize("mode", ["quotes", "full, draft 0", "retrieval only", "degraded"])
@pytest.mark.parametrize("door", CONVERSATIONS)
async def test_history_of_a_resumed_answer_has_its_sources(
    door: str, mode: str, selection: str | None, clients: Clients, model: LlmServer, chunks: dict[str, str]
) -> None:
    reply, session, conversation = MODES[mode], str(uuid.uuid4()), CONVERSATIONS[door]
    client = clients[reply is not None]
    model.script(reply or fails(500))
    for question in ("What is the Jacobian?", INVERSE):
        body = conversation.body(question, selection, session)
        whole = await client.post(conversation.path, json=body)
        resumed = {"last-event-id": _last_event_ids(whole.text)[0]}
        assert (await client.post(conversation.path, json=body, headers=resumed)).status_code == 200
    answers = await conversation.history(client, session)
    assert len(answers) == 2
    for answer in answers:
        check(answer, chunks)
    assert bool(answers[1].marks) == (selection is None or door != "agent")


@pytest.mark.parametrize("selection", [None, BOOK_SELECTION], ids=["book", "selection"])
@pytest.mark.parametrize("door", CONVERSATIONS)
async def test_history_of_a_cached_answer_has_its_sources(
    door: str, selection: str | None, data: Path, chunks: dict[str, str]
) -> None:
    conversation, sessions = CONVERSATIONS[door], [str(uuid.uuid4()) for _ in range(2)]
    async with serving(data, verify_models=False) as caching:
        for session, questions in zip(sessions, [(INVERSE,), (QUESTION, INVERSE)], strict=True):
            for question in questions:
                await caching.post(conversation.path, json=conversation.body(question, selection, session))
        first, second = [await conversation.history(caching, session) for session in sessions]
        metrics = (await caching.get("/metrics")).text
    assert 'glossator_cache_total{found="hit"} 1.0' in metrics
    assert second[1] == first[0]
    for answer in (*first, *second):
        check(answer, chunks)


@pytest.mark.parametrize("selection", [None, BOOK_SELECTION], ids=["book", "selection"])
@pytest.mark.parametrize("door", ["history", "agent_session", "grounded_session", "mcp"])
async def test_refusal_in_a_history_has_neither_marks_nor_sources(
    door: str, selection: str | None, clients: Clients
) -> None:
    answer = await DOORS[door](clients[False], OUT_OF_SCOPE, selection)
    assert (answer.marks, answer.sources) == ([], [])


async def test_export_of_resumed_and_cached_answers_lists_their_sources(data: Path, chunks: dict[str, str]) -> None:
    session = str(uuid.uuid4())
    async with serving(data, verify_models=False) as caching:
        await caching.post("/chat", json={"query": INVERSE})
        for question, selection in ((QUESTION, None), (INVERSE, None), (INVERSE, BOOK_SELECTION)):
            body = CONVERSATIONS["chat"].body(question, selection, session)
            whole = await caching.post("/chat/stream", json=body)
            resumed = {"last-event-id": _last_event_ids(whole.text)[0]}
            assert (await caching.post("/chat/stream", json=body, headers=resumed)).status_code == 200
        shown = await CONVERSATIONS["chat"].history(caching, session)
        command = ("sessions", "export", session, "--data-dir", str(data))
        as_json, as_markdown = [
            (await asyncio.to_thread(run_in_subprocess, *command, *form)).out for form in (("--json",), ())
        ]
    exported = [exchange["answer"] for exchange in json.loads(as_json)["exchanges"]]
    assert len(exported) == len(shown) == 3
    listed = [
        CitedAnswer(answer["text"], [cited["chunk_id"] or SELECTION for cited in answer["citations"]])
        for answer in exported
    ]
    for answer in listed:
        check(answer, chunks)
    assert [answer.cited_sentences for answer in listed] == [answer.cited_sentences for answer in shown]
    for part, answer in zip(as_markdown.split("\n## ")[1:], exported, strict=True):
        text, _, sources = part.partition("\n\nSources:\n\n")
        assert text.endswith(answer["text"])
        urls = [re.search(r"<(.*)>", line) for line in sources.strip().splitlines()]
        assert [url[1] if url else "" for url in urls] == [cited["url"] for cited in answer["citations"]]
