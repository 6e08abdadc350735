"""Drafted answers: the stream equals the answer, and unsupported drafts fall back to quotes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import pytest

from glossator import pipeline
from glossator.core.answers import Answer, Delta, Mode, Policy
from glossator.core.question import Question
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.types import Passage
from glossator.facade import Book
from glossator.verification.judge import Verifier
from scripted_drafter import ScriptedDrafter
from scripted_reader import ScriptedReader
from tides import SPRING_TIDES

QUESTION = "What is the zero-moment point?"
NONSENSE = "The zero-moment point was painted by Picasso in 1937. [1] It tastes of strawberries. [2]"


def streamed(book: Book, draft: ScriptedDrafter, question: str = QUESTION) -> tuple[str, Answer]:
    async def collect() -> list[Delta | AnswerWithReceipt]:
        return [piece async for piece in pipeline.stream(book.engine, Question(question), draft)]

    *deltas, whole = asyncio.run(collect())
    assert isinstance(whole, AnswerWithReceipt)
    return "".join(map(str, deltas)), whole.answer


def first_sentences(passages: Sequence[Passage]) -> str:
    """The first sentence of each passage, each cited, with an invention between them."""
    quotes = [re.split(r"(?<=\.)\s", passage.text)[0] for passage in passages[:3]]
    return " ".join(f"{quote} [{n}] It was invented in 1822 by a baker. [{n}]" for n, quote in enumerate(quotes, 1))


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_streamed_text_equals_the_answer(sample: Book, size: int) -> None:
    text, answer = streamed(sample, ScriptedDrafter(first_sentences, size=size))
    assert text == answer.text
    assert "baker" not in text
    assert len(answer.unsupported_claims) >= 1
    assert not answer.draft_rejected
    assert {n for s in answer.sentences for n in s.citations} == {c.number for c in answer.citations}
    for citation in answer.citations:
        document = sample.document(citation.document_id)
        assert document is not None
        assert document.text[citation.start : citation.end] == citation.quote
        assert citation.url.startswith("http")
    receipt = sample._run(sample.engine.records.receipt(answer.receipt_id))
    assert receipt.answer == answer
    assert (receipt.answerer, receipt.prompt_hash, receipt.settings) == ("scripted", "0" * 8, {"temperature": "0"})


def test_wrong_citation_is_corrected(sample: Book) -> None:
    given: list[Passage] = []

    def swapped(passages: Sequence[Passage]) -> str:
        given[:] = passages
        return re.split(r"(?<=\.)\s", passages[0].text)[0] + " [3]"

    _, answer = streamed(sample, ScriptedDrafter(swapped))
    assert answer.citations[0].chunk_id == given[0].chunk_id


def test_draft_without_supported_claims_falls_back_to_quotes(sample: Book) -> None:
    text, answer = streamed(sample, ScriptedDrafter(lambda _: NONSENSE))
    assert text == answer.text
    assert answer.draft_rejected
    assert answer.sentences == sample.ask(QUESTION).sentences
    assert [claim.text for claim in answer.unsupported_claims] == [
        "The zero-moment point was painted by Picasso in 1937.",
        "It tastes of strawberries.",
    ]


@pytest.mark.parametrize(("support", "rejected"), [(6.0, False), (-0.5, True)], ids=["supported", "in doubt"])
def test_draft_of_which_only_the_sources_are_quoted_is_rejected(
    tides_book: Book, support: float, rejected: bool
) -> None:
    claim = "Whenever the Moon is new, and again when it is full, the water shows a spring tide."
    tides_book.engine.verifier = Verifier(None, ScriptedReader(support))
    text, answer = streamed(tides_book, ScriptedDrafter(f"{claim} [1]"), SPRING_TIDES)
    quoted = "“Spring tides occur at new moon and at full moon.” [1]"
    assert text == answer.text == (quoted if rejected else f"{claim} [1]")
    assert answer.draft_rejected == rejected


def test_unsupported_claims_are_marked_in_a_checked_draft(sample: Book) -> None:
    passages = sample.search(QUESTION)
    checked = sample.verify(first_sentences(passages), passages)
    assert "baker. [unverified]" in checked.text
    assert checked.unsupported_claims


def test_receipt_of_a_streamed_answer_can_be_replayed(sample: Book) -> None:
    _, answer = streamed(sample, ScriptedDrafter(first_sentences))
    assert sample._run(sample.engine.records.receipt(answer.receipt_id)).policy is Policy.STRICT
    assert sample.replay(answer.receipt_id).holds


def test_out_of_scope_question_is_not_drafted(sample: Book) -> None:
    def never(_passages: Sequence[Passage]) -> str:
        pytest.fail("nothing should be drafted")

    text, answer = streamed(sample, ScriptedDrafter(never), "How do I feed a sourdough starter?")
    assert answer.abstained
    assert answer.mode is Mode.NO_RESULTS
    assert text == answer.text


def test_withheld_claims_lower_the_confidence(sample: Book) -> None:
    def clean(passages: Sequence[Passage]) -> str:
        return first_sentences(passages).replace(" It was invented in 1822 by a baker. [1]", "")

    _, clean_answer = streamed(sample, ScriptedDrafter(clean))
    _, answer = streamed(sample, ScriptedDrafter(first_sentences))
    assert answer.confidence < clean_answer.confidence <= 1
