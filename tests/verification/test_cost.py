"""The cost of checking grows with the size of a text, not with its square, and has a limit."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from glossator.core.answers import Policy
from glossator.core.inference.reading import Reading, ReadSource, SourceText
from glossator.core.settings import Settings
from glossator.core.types import TokenVectors
from glossator.pipeline.wiring import make_verifier
from glossator.verification.budget import Budget, budget_for, encoding_cost, judgement_cost, reading_cost
from glossator.verification.compare.reading import count_tokens
from glossator.verification.gate import Gate, check
from glossator.verification.judge import MAX_ENCODED_TOKENS, TOO_MUCH_TO_COMPARE, Verifier
from paths import ROOT
from scripted_reader import ScriptedReader

pytestmark = pytest.mark.slow

SOURCE = "The hip motor weighs 40 kg. It must never be lifted by one person. " * 8
DRAFT = "The hip motor weighs 40 kg. The cat sat on the mat, and not on a hat."
CLOCK_NOISE = 0.01
SHAPES = {
    "list numbers": "1.",
    "list items": "1. a\n",
    "bullets": "- ",
    "letters": "a ",
    "citations": "[1] ",
    "open brackets": "[",
    "nested citations": "[[1]",
    "open citations": "[Source 1",
    "closed brackets": "]",
    "parentheses": "(",
    "asterisks": "*",
    "underscores": "_",
    "full stops": ".",
    "quotation marks": '"',
    "backslashes": "\\",
    "formulas": "$x ",
    "one sentence": "the hip motor weighs 40 kg and ",
    "short sentences": "Motor weighs. ",
    "sentences": "The hip motor weighs 40 kg. ",
    "one word": "word",
    "combining characters": "e\u0301",
    "combining characters only": "\u0301",
    "invisible characters": "\u200b",
    "digits": "1",
    "separated digits": "1,",
    "digits and spaces": "1 ",
    "quantities": "1 kg ",
    "fractions": "an hour and a half and half of a day ",
    "slashes": "1/2 of 1/2 kg ",
    "values": "x is 1 and y is 2 and ",
    "particles": "turn it on turn it off ",
    "number words": "one hundred ",
    "German numbers": "hundert",
    "negations": "not ",
    "Arabic": "لا ",
    "Chinese": "电",
    "open fences": "```\n",
    "code blocks": "```\nx\n```\n",
    "table rows": "| a | b |\n",
    "pipes": "|",
    "block quotes": "> \n",
    "headings": "# a\n",
    "underlined headings": "a\n===\n",
    "rules": "---\n",
    "links": "[a](b)",
    "open links": "[a](",
    "markup": "<b>",
    "strikethrough": "~~",
    "line ends": "\n",
    "spaces": " ",
    "paragraphs": "x\n\n",
}


def verify(text: str) -> None:
    verifier = Verifier()
    check(verifier, text, verifier.prepare([SOURCE]), Policy.FLAG)


def stream(text: str) -> None:
    verifier = Verifier()
    gate = Gate(verifier, verifier.prepare([SOURCE]))
    for start in range(0, len(text), 7):
        gate.feed(text[start : start + 7])
    gate.finish()


def verify_against(text: str) -> None:
    verifier = Verifier()
    check(verifier, DRAFT, verifier.prepare([text]), Policy.STRICT)


def seconds(work: Callable[[str], None], text: str) -> float:
    start = time.thread_time()
    work(text)
    return time.thread_time() - start


@pytest.mark.parametrize("work", [verify, stream, verify_against])
@pytest.mark.parametrize("shape", SHAPES)
def test_cost_is_linear(work: Callable[[str], None], shape: str) -> None:
    unit, size = SHAPES[shape], 6000
    half, whole = (unit * (n // len(unit)) for n in (size, 2 * size))
    least = most = np.inf
    for _ in range(6):
        least, most = min(least, seconds(work, half)), min(most, seconds(work, whole))
        if most <= 3 * max(least, CLOCK_NOISE):
            return
    pytest.fail(f"{most:.3f} s for {2 * size} characters, {least:.3f} s for half of them")


class CountingEncoder:
    """A token model that only counts what it is given: one token for each character."""

    fingerprint = "counting"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def encode(self, text: str) -> TokenVectors:
        self.texts.append(text)
        offsets = np.array([(i, i + 1) for i in range(len(text))], np.int32).reshape(-1, 2)
        return TokenVectors(np.ones((len(text), 1), np.float32), offsets)


@pytest.mark.parametrize("unit", ["The motor number {} weighs much. ", "!{} ", "a{} "])
def test_token_model_has_a_budget(unit: str) -> None:
    encoder = CountingEncoder()
    verifier = Verifier(encoder)
    sources = ["".join(unit.format(n) for n in range(200)) for _ in range(20)]
    draft = "".join(f"The motor {n} weighs little. " for n in range(200))
    checked = check(verifier, draft, verifier.prepare(sources), Policy.FLAG)
    assert len(checked.sentences) == 200
    assert sum(len(text.split()) for text in encoder.texts) <= MAX_ENCODED_TOKENS


def test_only_compared_passages_are_encoded() -> None:
    encoder = CountingEncoder()
    verifier = Verifier(encoder)
    passages = ["The pump drives the belt.", *(f"Chapter {n} is about wheels." for n in range(9))]
    verifier.judge("The pump turns the belt.", verifier.prepare(passages))
    assert encoder.texts == ["The pump drives the belt.", "The pump turns the belt."]


def test_repeated_claim_is_judged_once() -> None:
    encoder = CountingEncoder()
    verifier = Verifier(encoder)
    draft = "The pump turns the belt. " * 30
    checked = check(verifier, draft, verifier.prepare(["The pump drives the belt."]), Policy.FLAG)
    assert len(checked.sentences) == 30
    assert len(encoder.texts) == 2


BOOK = [re.sub(r"[#*`|>\s]+", " ", path.read_text("utf-8")) for path in sorted((ROOT / "book" / "docs").rglob("*.md*"))]
WORDS = re.findall(r"[a-z]{3,}", " ".join(BOOK))


def claims(count: int, words: int) -> str:
    """Claims of words of the book that it does not make."""
    texts = (" ".join(WORDS[(n * 997 + k * 31) % len(WORDS)] for k in range(words)) for n in range(count))
    return " ".join(f"The {text}." for text in texts)[:32_000]


class CountingReader(ScriptedReader):
    """A reader that only adds up what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.cost = 0

    def read(self, sources: Sequence[SourceText], *, keep: bool = False) -> list[ReadSource]:
        read = super().read(sources)
        self.cost += sum(reading_cost(source.tokens) for source in read)
        return read

    def judge(self, text: str, sources: Sequence[ReadSource]) -> list[Reading]:
        self.cost += sum(judgement_cost(count_tokens(text), source.tokens) for source in sources)
        return super().judge(text, sources)


@pytest.mark.parametrize(("count", "words"), [(12, 20), (50, 100), (200, 5)])
@pytest.mark.parametrize("sources", [[text[:1500] for text in BOOK[:5]], [BOOK[0][:8000]]], ids=["five", "one"])
def test_models_share_one_budget_that_a_long_text_reduces(count: int, words: int, sources: list[str]) -> None:
    draft = claims(count, words)
    encoder, reader = CountingEncoder(), CountingReader()
    verifier = Verifier(encoder, reader)
    budget = budget_for(len(draft), count, 3 * sum(map(len, sources)))
    check(verifier, draft, verifier.prepare(sources, budget), Policy.FLAG)
    assert reader.judged or encoder.texts
    assert reader.cost + sum(encoding_cost(count_tokens(text)) for text in encoder.texts) <= budget.models


def test_budgets_shrink_with_the_cost_of_finding_passages() -> None:
    assert budget_for(2_000, 12, 0).words == Budget().words
    assert budget_for(32_000, 200, 600_000).models == 0
    assert 0 < budget_for(32_000, 50, 900_000).words < Budget().words


def test_claims_beyond_the_budget_of_word_comparison_are_not_supported() -> None:
    verifier = Verifier()
    sentence = f"{' '.join(WORDS[:2000])}."
    checked = check(verifier, claims(200, 20), verifier.prepare([sentence]), Policy.FLAG)
    refused = [TOO_MUCH_TO_COMPARE in verdict.reasons for verdict in checked.verdicts]
    assert len(refused) == 200
    assert not any(refused[:10])
    assert all(refused[-100:])
    assert not any(verdict.supported for verdict in checked.verdicts[-100:])


@pytest.mark.parametrize(("count", "words"), [(200, 24), (50, 100)])
def test_the_longest_drafts_are_compared_with_prose_to_the_end(count: int, words: int) -> None:
    verifier = Verifier()
    draft = claims(count, words)
    sources = [text[:1500] for text in BOOK[:12]]
    checked = check(verifier, draft, verifier.prepare(sources, budget_for(len(draft), count, 60_000)), Policy.FLAG)
    assert not any(TOO_MUCH_TO_COMPARE in verdict.reasons for verdict in checked.verdicts)


@pytest.mark.parametrize("words", [5, 30])
def test_an_answer_of_ordinary_length_is_judged_without_regard_to_the_budget(words: int) -> None:
    verifier = make_verifier(Settings())
    sources = [text[2000:3500] for text in BOOK[:5]]
    draft = claims(12, words)
    limited = verifier.prepare(sources, budget_for(len(draft), 12, 3 * 7500))
    unlimited = verifier.prepare(sources, Budget(10**9, 10**9))
    assert check(verifier, draft, limited, Policy.FLAG) == check(verifier, draft, unlimited, Policy.FLAG)
