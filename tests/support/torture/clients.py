"""Clients that ask a server at once, each in a session of its own, and check every answer."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import httpx
from httpx_sse import aconnect_sse

from counters import Counters
from doors import FACT, FALSEHOOD, PAGES, leaks_nothing
from llm_server import Body, Reply, says

FACTS = {
    "What is the zero-moment point?": FACT,
    "What is the Jacobian?": "The Jacobian is the matrix that maps joint velocities to the velocity of the hand.",
    "What is a harmonic drive?": "A harmonic drive is a strain wave gear that reduces the speed of a motor by a factor"
    " of 100 without backlash.",
    "What is the capture point?": "The capture point is the place where a robot must set its foot to come to a complete"
    " stop.",
}
REFUSALS = (408, 429, 503, 504)
MAX_WAIT_SECONDS = 120.0
_BOOK = " ".join(" ".join(PAGES.values()).split())
_CUT_MARK = re.compile(r"\s*\[\d*$")
_MARKS = re.compile(r"\s*(?:\[\d+\])+\s*")


def answers_with_falsehood() -> Reply:
    """A language model that knows the book, and adds a sentence that is not in it."""

    def reply(body: Body) -> Any:
        asked = str(body["messages"])
        fact = next(fact for question, fact in FACTS.items() if question in asked)
        return says(f"{fact} [Source 1]\n\n{FALSEHOOD} [Source 1]", size=40)(body)

    return reply


@dataclass
class Outcome:
    """What one client received: a status and an error, or the text and the metadata of an answer."""

    question: str
    key: str
    seconds: float = 0.0
    status: int = 0
    text: str = ""
    error: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def stored(self) -> bool:
        return bool(self.metadata.get("stored"))

    @property
    def refused(self) -> bool:
        return not self.metadata or bool(self.metadata["abstained"])

    @property
    def complete(self) -> bool:
        """Whether it is what a server without faults answers."""
        full = self.stored and not self.metadata["degraded"] and not self.metadata["keywords_only"]
        return full and self.is_right()

    def is_right(self) -> bool:
        """Whether it is an honest refusal, or quotes the book: if nothing failed, the sentence that was asked for."""
        if FALSEHOOD.split(" by ")[1] in self.text:
            return False
        quoted = [piece for piece in _MARKS.split(self.text) if piece]
        if not self.metadata:
            return self.status in REFUSALS or (self.status == 0 and all(_is_from_the_book(piece) for piece in quoted))
        if self.metadata["abstained"]:
            return True
        as_asked = self.metadata["degraded"] or self.metadata["keywords_only"] or FACTS[self.question] in quoted
        return bool(as_asked and quoted) and all(_is_from_the_book(piece) for piece in quoted)


def _is_from_the_book(piece: str) -> bool:
    """Whether a piece of an answer is in the book; a stream may have broken off within it or its mark."""
    return " ".join(_CUT_MARK.sub("", piece).split()) in _BOOK


async def ask(client: httpx.AsyncClient, number: int, key: str | None = None) -> Outcome:
    """Ask one question over a stream; a connection that breaks has status 0."""
    outcome = Outcome(list(FACTS)[number % len(FACTS)], key or str(uuid.uuid4()))
    body = {"query": outcome.question, "session_id": outcome.key}
    began = time.monotonic()
    try:
        async with aconnect_sse(
            client, "POST", "/chat/stream", json=body, headers={"Idempotency-Key": outcome.key}
        ) as source:
            outcome.status = source.response.status_code
            if outcome.status != 200:
                outcome.error = (await source.response.aread()).decode()
            else:
                await _read(source, outcome)
    except httpx.HTTPError:
        outcome.status, outcome.metadata = 0, {}
    outcome.seconds = time.monotonic() - began
    return outcome


async def _read(source: Any, outcome: Outcome) -> None:
    async for event in source.aiter_sse():
        if event.event == "delta":
            outcome.text += event.json()["delta"]
        elif event.event == "sources":
            outcome.metadata = event.json()["metadata"]
        elif event.event == "error":
            outcome.error, outcome.status = event.data, int(event.json().get("status") or 503)


def client_of(url: str) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    return httpx.AsyncClient(base_url=url, timeout=MAX_WAIT_SECONDS, limits=limits, trust_env=False)


async def ask_together(url: str, clients: int) -> list[Outcome]:
    """One question of each client, all at once."""
    async with client_of(url) as client:
        return list(await asyncio.gather(*(ask(client, number) for number in range(clients))))


async def wait_until_complete(url: str) -> tuple[float, list[Outcome]]:
    """How long it takes until a question is answered as if nothing had happened, and every outcome until then."""
    began, outcomes = time.monotonic(), []
    async with client_of(url) as client:
        while time.monotonic() - began < MAX_WAIT_SECONDS:
            outcomes.append(await ask(client, len(outcomes)))
            if outcomes[-1].complete:
                return time.monotonic() - began, outcomes
            await asyncio.sleep(0.1)
    raise AssertionError(outcomes[-3:])


def count(counters: Counters, outcomes: Iterable[Outcome], deadline: float, *, may_break: bool = False) -> None:
    """Check answers; only where `may_break` is set may connections break."""
    for outcome in outcomes:
        counters.checked += 1
        counters.refused += outcome.refused
        right = outcome.is_right() and (may_break or outcome.status != 0)
        late = outcome.seconds > deadline
        leaks = bool(outcome.error) and not leaks_nothing(outcome.error)
        if not right or late or leaks:
            print(outcome)  # noqa: T201 - a failure
        counters.wrong += not right
        counters.hung += late
        counters.leaked += leaks


def count_stored(counters: Counters, outcomes: Iterable[Outcome], stored: Iterable[tuple[str, str]]) -> None:
    """Compare what was reported as stored with the keys and questions in the records."""
    rows = list(stored)
    times = Counter(key for key, _ in rows)
    asked = {outcome.key: outcome.question for outcome in outcomes}
    counters.lost += sum(1 for outcome in outcomes if outcome.stored and not times[outcome.key])
    counters.doubled += sum(1 for number in times.values() if number > 1)
    counters.leaked += sum(1 for key, question in rows if asked.get(key, question) != question)
