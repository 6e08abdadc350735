"""A small book behind a scripted language model: fixtures and helpers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from data_dirs import book_data
from glossator.answer.llm.policy import RetryPolicy
from glossator.core.answers import Answer
from glossator.core.question import Question
from glossator.core.resilience.retry import Backoff
from glossator.core.settings import load_settings
from glossator.pipeline.answering import answer_question
from glossator.pipeline.wiring import Engine, wire
from llm_server import LONG_COOLDOWN_SECONDS, LlmServer, Reply, running_llm_server, says

PAGES = {
    "tides.md": "# Tides\n\nTides are caused mainly by the gravity of the Moon. The Sun contributes about 46 percent"
    " as much.\n\n## Spring tides\n\nSpring tides occur at new moon and at full moon. They have the largest range of"
    " all tides.\n\n## Neap tides\n\nNeap tides occur at the first and at the third quarter of the Moon. They have the"
    " smallest range of all tides.\n",
    "bread.md": "# Bread\n\nA sourdough starter holds wild yeast and lactic acid bacteria. It must be fed with flour"
    " every day.\n\n## Ovens\n\nBread is baked at 230 degrees for 40 minutes.\n",
}
QUESTION = "When do spring tides occur?"
TRUE = "Spring tides occur at new moon and at full moon. [Source 1]"
FALSE = "Spring tides were invented in 1822 by a baker named Jean. [Source 1]"
NOTHING = says("NOT FOUND")
FAST_BACKOFF = Backoff(first_seconds=0.02, max_seconds=5.0, attempts=3)
FAST_RETRIES = RetryPolicy(FAST_BACKOFF)


@pytest.fixture(scope="module")
def server() -> Iterator[LlmServer]:
    """A scripted language model."""
    with running_llm_server() as running:
        yield running


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """The data directory of the ingested book."""
    with book_data(PAGES, "https://book.example") as found:
        yield found


@asynccontextmanager
async def opened(
    data: Path, server: LlmServer, policy: RetryPolicy = FAST_RETRIES, **given: Any
) -> AsyncIterator[Engine]:
    """An engine whose language model is the scripted server."""
    values: dict[str, Any] = {"llm": f"{server.url}#scripted", "verify_models": False, "cache_answers": 0} | given
    engine = wire(load_settings(data_dir=data, **values), policy, LONG_COOLDOWN_SECONDS)
    try:
        yield engine
    finally:
        await engine.close()


async def ask(
    data: Path, server: LlmServer, *replies: Reply, question: str = QUESTION, selection: str | None = None, **given: Any
) -> Answer:
    """The answer to a question, after a check that the streamed text is the same."""
    server.script(*replies)
    async with opened(data, server, **given) as engine:
        pieces = [piece async for piece in answer_question(engine, Question(question, selection))]
    answer = pieces[-1].answer
    assert "".join(piece for piece in pieces if isinstance(piece, str)) == answer.text
    return answer
