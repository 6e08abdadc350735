"""The cost of the agent: CPU with a model that answers at once, with an open circuit breaker, and many at once.

The language model is a separate process on loopback (`llm_server.py` of the tests): its work is not measured.
The question is not embedded: that costs the same with and without a language model.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support" / "servers"))

from glossator import pipeline
from glossator.answer.llm.agent import AgentDrafter
from glossator.core.conversations import session_key
from glossator.core.question import Question
from glossator.core.settings import load_settings
from glossator.pipeline.wiring import Engine, wire
from lib.common import CACHE, ROOT, indexed
from llm_server import running_llm_server, says, searches

QUESTION = "What is the zero-moment point?"
QUOTES = (
    "The zero-moment point is the point on the ground about which the horizontal components of the moment of gravity"
    " and inertia forces vanish. [Source 1] On flat ground it coincides with the centre of pressure while the foot is"
    " in contact. [Source 1]"
)
REPHRASED = (
    "The zero-moment point is the ground point about which the horizontal components of the moment of gravity and"
    " inertia forces vanish. [Source 1] It coincides with the centre of pressure on flat ground while the foot is in"
    " contact. [Source 1]"
)
ANSWERS = 60
MANY = 50


def serve(text: str, seconds: float) -> None:
    """Run the language model until its input ends."""
    pieces = max(1, len(text) // 12)

    def reply(body: dict[str, Any]) -> Any:
        if sys.argv[5] == "search" and not any(message["role"] == "tool" for message in body["messages"]):
            return searches()(body)
        return says(text, size=int(sys.argv[4]), interval=seconds / pieces)(body)

    with running_llm_server() as server:
        server.script(reply)
        print(server.url, flush=True)
        sys.stdin.read()


class LanguageModelProcess:
    """A language model in a process of its own."""

    def __init__(self, text: str, seconds: float = 0.0, size: int = 10_000, how: str = "answer") -> None:
        command = [sys.executable, __file__, "serve", text, str(seconds), str(size), how]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def stop(self) -> None:
        self._process.communicate("")


def open_engine(llm: str, **given: Any) -> Engine:
    engine = wire(load_settings(data_dir=CACHE / "index" / "sample", llm=llm, cache_answers=0, **given))
    embed = engine.embedder.embed_query
    vectors = {text: embed(text) for text in (QUESTION, "zero-moment point")}
    engine.embedder.embed_query = lambda text, *_: vectors[text]  # type: ignore[method-assign]
    return engine


async def cpu(name: str, ask: Callable[[int], Any]) -> float:
    """Median CPU milliseconds per answer."""
    times = []
    for number in range(ANSWERS):
        started = time.process_time()
        await ask(number)
        times.append(1000 * (time.process_time() - started))
    spent = statistics.median(times[ANSWERS // 6 :])
    print(f"{name}: {spent:.1f} ms CPU per answer (p50)")
    return spent


async def answers() -> None:
    for name, text, size, how, limit in (
        ("quoting, in one piece", QUOTES, 10_000, "answer", 25.0),
        ("quoting, token by token", QUOTES, 5, "answer", None),
        ("quoting, after a search of its own", QUOTES, 10_000, "search", None),
        ("rephrasing, checked with the token model", REPHRASED, 10_000, "answer", None),
    ):
        llm = LanguageModelProcess(text, size=size, how=how)
        engine = open_engine(f"{llm.url}#scripted")
        spent = await cpu(
            f"agent, {name}: retrieval, agent loop, verification, storage",
            lambda n, engine=engine: pipeline.ask(engine, Question(QUESTION, session=session_key(f"bench-{n}"))),
        )
        if limit:
            print(f"  limit {limit:.0f} ms: {'holds' if spent <= limit else 'FAILS'}")
        await engine.close()
        llm.stop()


async def open_breaker() -> None:
    plain = open_engine("")
    base = await cpu("quotes from the book", lambda _n: pipeline.ask(plain, Question(QUESTION)))
    await plain.close()
    engine = open_engine("http://127.0.0.1:9/v1#dead")
    drafter = engine.drafter
    assert isinstance(drafter, AgentDrafter)
    breaker = drafter.models[0].breaker
    breaker._cooldown_seconds = 1e9
    for _ in range(5):
        breaker.record_failure()
    spent = await cpu("the same with the breaker open", lambda _n: pipeline.ask(engine, Question(QUESTION)))
    print(f"  {spent - base:.1f} ms more (limit 10 ms: {'holds' if spent - base <= 10 else 'FAILS'})")
    await engine.close()


async def many() -> None:
    llm = LanguageModelProcess(QUOTES, 2.0, 12)
    engine = open_engine(f"{llm.url}#scripted")

    async def one() -> None:
        [piece async for piece in pipeline.stream(engine, Question(QUESTION))]

    await one()
    started = time.perf_counter()
    await one()
    alone = time.perf_counter() - started
    started = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(MANY)))
    together = time.perf_counter() - started
    holds = "holds" if together < 1.5 * alone else "FAILS"
    print(
        f"{MANY} streamed answers at once from a model that takes 2 s: {together:.2f} s, one alone {alone:.2f} s,"
        f" ratio {together / alone:.2f} (limit 1.5: {holds})"
    )
    await engine.close()
    llm.stop()


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], float(sys.argv[3]))
        return
    indexed("sample", ROOT / "book").close()
    asyncio.run(answers())
    asyncio.run(open_breaker())
    asyncio.run(many())


if __name__ == "__main__":
    main()
