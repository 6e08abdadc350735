"""The agent with a real, very small language model: its answers are nonsense, and none of the nonsense gets out."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from data_dirs import book_data
from glossator import pipeline
from glossator.answer.llm import agent
from glossator.answer.llm.agent import AgentDrafter
from glossator.answer.llm.policy import RetryPolicy
from glossator.core.answers import Answer, Mode
from glossator.core.conversations import session_key
from glossator.core.question import Question
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.settings import load_settings
from glossator.core.text.words import content_words
from glossator.core.thresholds import SHOWN
from glossator.pipeline import drafting
from glossator.pipeline.answering import answer_question
from glossator.pipeline.wiring import Engine, wire
from real_llm import MODEL, real_llm_missing, running_llm

pytestmark = pytest.mark.slow

FACTS = {
    "Spring tides": "Spring tides occur at new moon and at full moon. They have the largest range of all tides.",
    "Neap tides": "Neap tides occur at the first and at the third quarter. Their range is about 3 meters here.",
    "Currents": "The current must never be crossed at night. It runs at 4 knots when the tide turns.",
    "Harbors": "The harbor of Ost is closed from 22 to 6 hours. Ships of more than 40 meters need a pilot.",
    "Lamps": "The red lamp marks the port side. The green lamp marks the starboard side.",
}
WAYS = (
    "What is known of {}?",
    "Explain {} to a child.",
    "When and why do {} matter?",
    "Tell me about {}.",
    "List facts of {}.",
)
WAYS_ASKED = int(os.environ.get("GLOSSATOR_WAYS_TO_ASK", "2"))
"""All of them in `make torture`: fifty answers of the model take two minutes."""

QUESTIONS = [(topic, way.format(topic.lower())) for topic in FACTS for way in WAYS[:WAYS_ASKED]]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    if missing := real_llm_missing():
        pytest.skip(missing)
    with running_llm(cache_prompts=True) as address:
        yield address


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    sections = "\n\n".join(f"## {title}\n\n{fact}" for title, fact in FACTS.items())
    with book_data({"sea.md": f"# Sea\n\n{sections}"}, "https://sea.example") as found:
        yield found


@pytest.fixture(autouse=True)
def short_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model writes without end, at some forty words per second or, on a busy machine, far fewer."""
    monkeypatch.setattr(agent, "_SETTINGS", dataclasses.replace(agent._SETTINGS, max_tokens=32))
    monkeypatch.setattr(drafting, "MAX_REVISED", 0)


@asynccontextmanager
async def opened(data: Path, url: str) -> AsyncIterator[Engine]:
    settings = load_settings(data_dir=data, llm=f"{url}#{MODEL}", cache_answers=0, answer_seconds=120)
    engine = wire(settings, RetryPolicy(stall_timeout_seconds=60.0))
    try:
        yield engine
    finally:
        await engine.close()


def check(answer: Answer, source: str) -> None:
    """Every sentence has a supporting verdict, and its words and numbers come from the source."""
    known = set(content_words(source))
    for sentence in answer.sentences:
        assert sentence.verdict is not None
        assert sentence.verdict.supported
        assert sentence.verdict.score >= SHOWN
        words = content_words(sentence.text)
        assert sum(word in known for word in words) >= 0.8 * len(words), sentence.text
        assert set(re.findall(r"\d+", sentence.text)) <= set(re.findall(r"\d+", source)), sentence.text


async def test_nonsense_answers_show_no_unsupported_sentence(data: Path, url: str) -> None:
    withheld = 0
    async with opened(data, url) as engine:
        limit = asyncio.Semaphore(2)

        async def ask(question: str, selection: str | None) -> Answer:
            async with limit:
                return await pipeline.ask(engine, Question(question, selection, top_k=1))

        asked = [(question, FACTS[topic]) for topic, question in QUESTIONS]
        asked += [(question, FACTS["Lamps"] + " " + FACTS["Harbors"]) for _, question in QUESTIONS]
        answers = await asyncio.gather(*(ask(question, selection) for question, selection in asked))
    for (_, selection), answer in zip(asked, answers, strict=True):
        check(answer, selection)
        withheld += len(answer.unsupported_claims)
    assert len(answers) == 2 * len(QUESTIONS) >= 20
    assert withheld >= len(answers) / 2


async def test_an_answer_from_the_whole_book_is_streamed(data: Path, url: str) -> None:
    async with opened(data, url) as engine:
        pieces = [piece async for piece in pipeline.stream(engine, Question("When do spring tides occur?", top_k=2))]
        drafter = engine.drafter
        assert isinstance(drafter, AgentDrafter)
        assert drafter.usage.requests >= 1
        assert drafter.usage.output_tokens > 0
    assert isinstance(pieces[-1], AnswerWithReceipt)
    answer = pieces[-1].answer
    assert "".join(piece for piece in pieces if isinstance(piece, str)) == answer.text
    assert answer.mode in (Mode.FULL, Mode.NO_RESULTS)
    check(answer, " ".join(FACTS.values()))


async def test_closing_the_stream_frees_the_model(data: Path, url: str) -> None:
    selection = " ".join(FACTS.values())
    async with opened(data, url) as engine:
        async with aclosing(answer_question(engine, Question("Explain this.", selection))) as pieces:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await anext(pieces)
        answer = await pipeline.ask(engine, Question("Which lamp is red?", FACTS["Lamps"]))
    assert answer.text


async def test_a_conversation_is_stored(data: Path, url: str) -> None:
    key = session_key("real")
    async with opened(data, url) as engine:
        answer = await pipeline.ask(engine, Question("Which lamp marks the port side?", top_k=1, session=key))
        history = await engine.records.history(key)
    assert answer.stored
    assert history.exchanges[0].answer == answer
