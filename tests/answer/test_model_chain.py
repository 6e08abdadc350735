"""The chain of language models: retries, timeouts, circuit breakers, fallback to the book's own sentences."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest
from agents import Agent, RunConfig, Runner

import scripted_book
from commands import run
from glossator import pipeline
from glossator.answer.llm.agent import AgentDrafter
from glossator.answer.llm.policy import RetryPolicy
from glossator.core.answers import Mode
from glossator.core.question import Question
from glossator.core.resilience.breaker import BreakerState, CircuitBreaker
from glossator.core.settings import load_settings
from glossator.embed.remote import RemoteEmbedder
from glossator.pipeline.answering import answer_question
from glossator.pipeline.wiring import wire
from glossator.serve.app import create_app
from glossator.verification.judge import Verifier
from llm_server import (
    LONG_COOLDOWN_SECONDS,
    LlmServer,
    Reply,
    calls_tool,
    drips,
    drops_connection,
    fails,
    html_page,
    no_choices,
    says,
    searches,
    stalls,
)
from scripted_book import FAST_BACKOFF, NOTHING, QUESTION, TRUE, ask, opened

pytestmark = pytest.mark.slow

data, server = scripted_book.data, scripted_book.server


QUIRKS = {
    "no search of its own": (says(TRUE),),
    "empty and repeated ids": (searches(ids=("", "")), searches(ids=("",)), says(TRUE)),
    "repeated ids over turns": (searches(ids=("call_1",)), searches(ids=("call_1",)), says(TRUE)),
    "malformed arguments": (searches(arguments="{nonsense"), searches(), says(TRUE)),
    "arguments of the wrong type": (
        searches(arguments="[1]"),
        searches(arguments='{"limit": 3}'),
        searches(),
        says(TRUE),
    ),
    "an unknown tool": (calls_tool("delete_everything"), searches(), says(TRUE)),
    "one 429": (fails(429), searches(), says(TRUE)),
    "429 with Retry-After": (fails(429, {"retry-after": "0"}), searches(), says(TRUE)),
    "429 with a date in Retry-After": (
        fails(429, {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}),
        searches(),
        says(TRUE),
    ),
    "two 5xx": (fails(500), fails(503), searches(), says(TRUE)),
    "one empty response": (no_choices(), searches(), says(TRUE)),
    "cut off at max_tokens": (searches(), says(f"{TRUE} They have the lar", finish="length"), NOTHING),
    "a trailing newline": (searches(), says(f"{TRUE}\n"), NOTHING),
}


@pytest.mark.parametrize("replies", QUIRKS.values(), ids=QUIRKS)
async def test_provider_quirks_still_end_in_a_complete_answer(
    data: Path, server: LlmServer, replies: tuple[Reply, ...]
) -> None:
    answer = await ask(data, server, *replies)
    assert answer.text == "Spring tides occur at new moon and at full moon. [1]"
    assert (answer.mode, answer.degraded) == (Mode.FULL, False)


FAILURES = {
    "a wrong key": (fails(401),),
    "an unknown model": (fails(404),),
    "500s": (fails(500),),
    "429 with too long a Retry-After": (fails(429, {"retry-after": "3600"}),),
    "429 with a malformed Retry-After": (fails(429, {"retry-after": "soon"}),),
    "a web page": (html_page(),),
    "no choices": (no_choices(),),
    "content filter": (searches(), says("", finish="content_filter")),
    "searches without end": (searches(),),
    "connection lost mid-stream": (searches(), drops_connection("Spring tides occur at")),
    "an empty text": (searches(), says("")),
}


@pytest.mark.parametrize("replies", FAILURES.values(), ids=FAILURES)
async def test_failures_end_in_quotes_marked_as_degraded(
    data: Path, server: LlmServer, replies: tuple[Reply, ...], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = await ask(data, server, *replies, llm_api_key="sk-secret")
    assert (answer.mode, answer.degraded) == (Mode.RETRIEVAL_ONLY, True)
    assert "Spring tides occur at new moon and at full moon. [1]" in answer.text
    assert "sk-secret" not in caplog.text
    assert server.authorizations[-1] == "Bearer sk-secret"


async def test_only_transient_errors_are_retried_and_three_times_at_most(data: Path, server: LlmServer) -> None:
    for reply, attempts in ((fails(500), 3), (fails(401), 1), (fails(400), 1), (fails(429, {"retry-after": "99"}), 1)):
        await ask(data, server, reply)
        assert len(server.requests) == attempts


async def test_a_stalled_stream_is_aborted(data: Path, server: LlmServer) -> None:
    policy = RetryPolicy(FAST_BACKOFF, stall_timeout_seconds=2.0)
    answer = await ask(data, server, stalls(), policy=policy)
    assert (answer.mode, len(server.requests)) == (Mode.RETRIEVAL_ONLY, 3)
    begun = await ask(data, server, searches(), stalls(f"{TRUE} They have"), policy=policy)
    assert (begun.text, begun.degraded) == ("Spring tides occur at new moon and at full moon. [1]", True)


async def test_the_deadline_ends_the_answer_with_what_was_checked_so_far(data: Path, server: LlmServer) -> None:
    slow = await ask(data, server, searches(), drips(f"{TRUE} {TRUE}", 0.03), answer_seconds=2.5)
    assert slow.degraded
    assert "Spring tides occur at new moon and at full moon. [1]" in slow.text


async def test_closing_the_stream_cancels_the_model_call(data: Path, server: LlmServer) -> None:
    server.script(searches(), drips(f"{TRUE} " * 40, 0.02))
    async with opened(data, server) as engine, aclosing(pipeline.stream(engine, Question(QUESTION))) as pieces:
        assert await anext(pieces)
    async with asyncio.timeout(10):
        while not server.disconnects:  # noqa: ASYNC110 - the server runs in another thread
            await asyncio.sleep(0.05)


async def test_a_chain_falls_back_to_the_next_provider_and_then_to_quotes(data: Path, server: LlmServer) -> None:
    dead = "http://127.0.0.1:9/v1#dead"
    answer = await ask(data, server, searches(), says(TRUE), llm=f"{dead}, {server.url}#scripted")
    assert (answer.mode, answer.degraded) == (Mode.FULL, False)
    assert (await ask(data, server, NOTHING, llm=dead)).mode is Mode.RETRIEVAL_ONLY


async def test_repeated_failures_open_the_circuit_breaker(data: Path, server: LlmServer) -> None:
    server.script(fails(500))
    async with opened(data, server) as engine:
        for _ in range(4):
            [piece async for piece in pipeline.stream(engine, Question(QUESTION))]
        drafter = engine.drafter
        assert isinstance(drafter, AgentDrafter)
        assert drafter.models[0].breaker.state is BreakerState.OPEN
    assert len(server.requests) == 5


def test_a_circuit_breaker_opens_cools_down_and_allows_one_probe() -> None:
    now = [0.0]
    breaker = CircuitBreaker(max_failures=3, cooldown_seconds=10, clock=lambda: now[0])
    for _ in range(2):
        breaker.record_failure()
    assert (breaker.state, breaker.allow_call()) == (BreakerState.CLOSED, True)
    breaker.record_success()
    for _ in range(3):
        breaker.record_failure()
    assert (breaker.state, breaker.allow_call()) == (BreakerState.OPEN, False)
    now[0] = 9.99
    assert (breaker.state, breaker.allow_call()) == (BreakerState.OPEN, False)
    now[0] = 10
    assert (breaker.state, breaker.allow_call(), breaker.allow_call()) == (BreakerState.HALF_OPEN, True, False)
    breaker.record_failure()
    assert breaker.state is BreakerState.OPEN
    now[0] = 20
    assert breaker.allow_call()
    breaker.record_cancelled()
    assert breaker.allow_call()
    breaker.record_success()
    assert breaker.state is BreakerState.CLOSED


def test_the_cooldown_reaches_every_circuit_breaker(server: LlmServer) -> None:
    engine = wire(load_settings(llm=f"{server.url}#a", embedder=f"{server.url}#b"), cooldown_seconds=0.0)
    assert engine.drafter is not None
    assert isinstance(engine.embedder, RemoteEmbedder)
    for breaker in (engine.drafter.models[0].breaker, engine.embedder.breaker):
        for _ in range(5):
            breaker.record_failure()
    assert (list(engine.model_states.values()), engine.embedder_state) == (["half_open"], "half_open")


async def test_readiness_shows_the_circuit_breakers(data: Path, server: LlmServer) -> None:
    server.script(fails(500))
    settings = load_settings(data_dir=data, llm=f"{server.url}#scripted", verify_models=False)
    app = create_app(settings, wire(settings, RetryPolicy(FAST_BACKOFF), LONG_COOLDOWN_SECONDS))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client,
    ):
        assert list((await client.get("/readyz")).json()["language_models"].values()) == ["closed"]
        for _ in range(2):
            await client.get("/", params={"q": QUESTION})
        assert list((await client.get("/readyz")).json()["language_models"].values()) == ["open"]


def test_ask_says_that_no_model_answered(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOSSATOR_LLM", "http://127.0.0.1:9/v1#none")
    outcome = run("ask", QUESTION, "--data-dir", data)
    assert outcome.out.startswith("AI summarization unavailable.\nSpring tides occur")


async def test_slow_checks_end_at_the_deadline(data: Path, server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Verifier.judge

    def slow(self: Verifier, claim: str, *given: Any) -> Any:
        time.sleep(0.2)
        return judge(self, TRUE.removesuffix(" [Source 1]"), *given)

    monkeypatch.setattr(Verifier, "judge", slow)
    draft = " ".join(f"Claim {number} is about the tides. [Source 1]" for number in range(40))
    answer = await ask(data, server, says(draft, size=10_000), answer_seconds=1.5)
    assert answer.text.count("[1]") < 20
    assert any(
        "before the deadline" in reason for claim in answer.unsupported_claims for reason in claim.verdict.reasons
    )


async def test_a_stalled_provider_is_not_retried_while_another_is_left(data: Path, server: LlmServer) -> None:
    llms = f"{server.url}#one, {server.url}#two"
    policy = RetryPolicy(FAST_BACKOFF, stall_timeout_seconds=2.0)
    answer = await ask(data, server, stalls(), says(TRUE), llm=llms, policy=policy)
    assert (answer.mode, [body["model"] for body in server.requests]) == (Mode.FULL, ["one", "two"])


async def test_a_provider_that_only_hangs_opens_its_circuit_breaker(data: Path, server: LlmServer) -> None:
    server.script(stalls())
    policy = RetryPolicy(FAST_BACKOFF, silence_timeout_seconds=0.1)
    async with opened(data, server, policy, answer_seconds=0.3) as engine:
        for _ in range(6):
            [piece async for piece in pipeline.stream(engine, Question(QUESTION))]
        drafter = engine.drafter
        assert isinstance(drafter, AgentDrafter)
        assert drafter.models[0].breaker.state is BreakerState.OPEN


async def test_the_receipt_of_an_extractive_answer_names_no_model(data: Path, server: LlmServer) -> None:
    server.script(fails(401))
    async with opened(data, server) as engine:
        pieces = [piece async for piece in answer_question(engine, Question(QUESTION))]
    assert pieces[-1].receipt.answerer == "extractive"


async def test_a_chain_can_answer_without_streaming(data: Path, server: LlmServer) -> None:
    server.script(fails(500), says(TRUE))
    async with opened(data, server) as engine:
        drafter = engine.drafter
        assert isinstance(drafter, AgentDrafter)
        agent, quiet = Agent(name="whole", model=drafter._model), RunConfig(tracing_disabled=True)
        result = await Runner.run(agent, QUESTION, run_config=quiet)
    assert result.final_output == TRUE
    assert result.context_wrapper.usage.total_tokens == 25
