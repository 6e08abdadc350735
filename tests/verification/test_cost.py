"""The cost of checking grows with the size of a text, not with its square, and the token model has a budget."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from glossator.core.answers import Policy
from glossator.core.types import TokenVectors
from glossator.verification.gate import Gate, check
from glossator.verification.judge import MAX_ENCODED_TOKENS, Verifier

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
