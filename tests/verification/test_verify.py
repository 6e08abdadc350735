"""Verdicts: what a passage says is supported; what is changed, added or taken from elsewhere is not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import glossator
from glossator.core.answers import Status
from glossator.core.thresholds import confidence_level
from glossator.embed.colbert import ColbertEncoder
from glossator.evaluate.golden import load_golden
from glossator.facade import Book
from glossator.verification.confidence import confidence
from glossator.verification.gate import check
from glossator.verification.judge import Verifier
from paths import BOOK

PASSAGE = (
    "The ankle actuator (a brushless motor with a harmonic drive) delivers 40 N at 1,000 rpm. The controller drives "
    "the motor directly. You must never touch the moving arm while the servo is powered. Every joint reports its "
    "position to the controller before the brake is released. Most failures happen when the battery is nearly empty; "
    "the fan may run after shutdown. The torque sensor was added in 2016."
)
SUPPORTED = [
    "The ankle actuator delivers 40 N at 1,000 rpm.",
    "The ankle actuator delivers 40 newtons at 1000 rpm.",
    "According to the book, the controller drives the motor directly.",
    "Every joint reports its position to the controller before the brake is released.",
    "The controller drives the motor directly, and you must never touch the moving arm while the servo is powered.",
    "Most failures occur when the battery is nearly empty.",
    "You must **never** touch the moving arm while the servo is powered.",
]
CHANGED = {
    "number": "The ankle actuator delivers 400 N at 1,000 rpm.",
    "unit": "The ankle actuator delivers 40 kN at 1,000 rpm.",
    "year": "The torque sensor was added in 2019.",
    "negation dropped": "You must touch the moving arm while the servo is powered.",
    "modality": "You may never touch the moving arm while the servo is powered, unless the fan must run.",
    "must and always": "You must always touch the moving arm while the servo is powered.",
    "quantifier": "No joint reports its position to the controller before the brake is released.",
    "order": "Every joint reports its position to the controller after the brake is released.",
    "exchange": "The motor drives the controller directly.",
    "opposite": "Most failures happen when the battery is nearly full.",
    "entity": "The knee actuator delivers 40 N at 1,000 rpm.",
    "fabricated": "The controller drives the motor directly, which was patented by a Swiss company in Zurich.",
    "elsewhere": "Photosynthesis converts sunlight into chemical energy in green plants.",
}


@pytest.fixture(scope="module", params=["words", "tokens"])
def verifier(request: pytest.FixtureRequest) -> Verifier:
    return Verifier(ColbertEncoder() if request.param == "tokens" else None)


@pytest.mark.parametrize("claim", SUPPORTED)
def test_what_the_passage_says_is_supported(verifier: Verifier, claim: str) -> None:
    verdict = verifier.judge(claim, verifier.prepare([PASSAGE]))
    assert verdict.supported, verdict
    assert verdict.status is Status.SUPPORTED
    assert verdict.evidence is not None
    assert PASSAGE[verdict.evidence.start : verdict.evidence.end] == verdict.evidence.quote


@pytest.mark.parametrize("claim", CHANGED.values(), ids=CHANGED.keys())
def test_what_was_changed_is_not(claim: str) -> None:
    verdict = glossator.verify(claim, PASSAGE)
    assert not verdict.supported, verdict
    assert verdict.status in (Status.UNSUPPORTED, Status.CONTRADICTED)
    assert verdict.reasons


@pytest.mark.parametrize("claim", CHANGED.values(), ids=CHANGED.keys())
def test_what_was_changed_does_not_pass_the_gate_by_words_alone(claim: str) -> None:
    verifier = Verifier()
    assert check(verifier, claim, verifier.prepare([PASSAGE])).text == ""


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (CHANGED["number"], "says 400 N; the source says 40 N"),
        (CHANGED["unit"], "says 40 kN; the source says 40 N"),
        (CHANGED["negation dropped"], "never"),
        (CHANGED["order"], "says “after” where the source says “before”"),
        (CHANGED["entity"], "says “knee” where the source says “ankle”"),
    ],
)
def test_reasons_name_both_sides(claim: str, reason: str) -> None:
    assert any(reason in given for given in glossator.verify(claim, [PASSAGE]).reasons)


@pytest.mark.parametrize(
    ("passage", "true", "false"),
    [
        (
            "Der Motor wiegt 1.500 Gramm. Die Abdeckung darf niemals im Betrieb geöffnet werden.",
            "Der Motor wiegt 1500 Gramm.",
            "Die Abdeckung darf im Betrieb geöffnet werden.",
        ),
        (
            "El motor pesa 1,5 kg y no necesita mantenimiento. La batería dura ocho horas.",
            "La batería dura 8 horas.",
            "El motor pesa 1,5 kg y necesita mantenimiento.",
        ),
        (
            "يزن المحرك ٤٠ كيلوغراما. لا يجوز لمس الذراع أثناء التشغيل.",
            "يزن المحرك 40 كيلوغراما.",
            "يزن المحرك ٤٠٠ كيلوغراما.",
        ),
        (
            "موٹر کا وزن ۴۰ کلوگرام ہے۔ بازو کو چلتے وقت ہاتھ نہیں لگانا چاہیے۔",
            "موٹر کا وزن چالیس کلوگرام ہے۔",
            "بازو کو چلتے وقت ہاتھ لگانا چاہیے۔",
        ),
    ],
)
def test_other_languages(passage: str, true: str, false: str) -> None:
    assert glossator.verify(true, passage).supported
    assert not glossator.verify(false, passage).supported


def test_the_best_of_several_passages_counts_and_is_named() -> None:
    verdict = glossator.verify("The torque sensor was added in 2016.", ["Bananas are yellow fruit.", PASSAGE])
    assert verdict.supported
    assert verdict.evidence is not None
    assert verdict.evidence.source == 2


def test_a_text_of_several_sentences_is_as_good_as_its_worst() -> None:
    good, bad = SUPPORTED[0], CHANGED["year"]
    assert glossator.verify(f"{good} {SUPPORTED[3]}", PASSAGE).supported
    assert not glossator.verify(f"{good} {bad}", PASSAGE).supported


@pytest.mark.parametrize(
    "claim", ["", " ", "…", "\u200b", "[", "?" * 5000, "x" * 5000, "\ud800", "1" * 400, "e" + "\u0301" * 3000]
)
def test_odd_claims_are_not_supported_and_break_nothing(claim: str) -> None:
    assert not glossator.verify(claim, [PASSAGE]).supported


def test_no_passages_support_nothing() -> None:
    assert not glossator.verify("The torque sensor was added in 2016.", []).supported
    assert not glossator.verify("The torque sensor was added in 2016.", [""]).supported


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=120), st.lists(st.text(max_size=200), max_size=3))
def test_any_claim_and_any_passages_give_a_verdict(claim: str, passages: list[str]) -> None:
    verifier = Verifier()
    verdict = verifier.judge(claim, verifier.prepare(passages))
    assert 0 <= verdict.score <= 1
    assert verdict.supported == (verdict.status is Status.SUPPORTED)
    if verdict.evidence:
        text = passages[verdict.evidence.source - 1]
        assert text[verdict.evidence.start : verdict.evidence.end] == verdict.evidence.quote


def test_verdicts_do_not_depend_on_what_was_asked_before() -> None:
    first = [glossator.verify(claim, PASSAGE) for claim in (*SUPPORTED, *CHANGED.values())]
    again = [glossator.verify(claim, PASSAGE) for claim in (*SUPPORTED, *CHANGED.values())]
    assert first == again


def test_long_passages_are_bounded() -> None:
    started = time.monotonic()
    verifier = Verifier()
    verifier.judge("The torque sensor was added in 2016.", verifier.prepare(["word " * 200_000, "a" * 1_000_000]))
    assert time.monotonic() - started < 30


def test_every_extractive_answer_of_the_sample_book_verifies(sample: Book) -> None:
    checked = 0
    for golden in load_golden(BOOK / "golden.yaml"):
        answer = sample.ask(golden.question, golden.selection or None)
        assert not answer.unsupported_claims
        for sentence in answer.sentences:
            assert sentence.verdict is not None
            assert sentence.verdict.supported
            checked += 1
    assert checked > 100


def test_a_citation_of_an_answer_and_its_evidence_are_the_same_words(sample: Book) -> None:
    answer = sample.ask("What is the zero-moment point?")
    for sentence in answer.sentences:
        citation = answer.citations[sentence.citations[0] - 1]
        assert sentence.verdict is not None
        assert sentence.verdict.evidence is not None
        document = sample.document(citation.document_id)
        assert document is not None
        assert citation.quote in sentence.verdict.evidence.quote
        evidence = sentence.verdict.evidence
        if evidence.document_id == citation.document_id:
            assert document.text[evidence.document_start : evidence.document_end] == evidence.quote


shares = st.floats(0, 1)


@given(shares, shares, st.lists(shares, min_size=1, max_size=5), st.integers(0, 5))
def test_confidence_is_monotone(one: float, other: float, scores: list[float], withheld: int) -> None:
    low, high = sorted((one, other))
    assert confidence(low, scores, withheld) <= confidence(high, scores, withheld)
    assert confidence(one, scores, withheld + 1) <= confidence(one, scores, withheld)
    better = [max(scores[0], other), *scores[1:]]
    assert confidence(one, scores, withheld) <= confidence(one, better, withheld) + 1e-9
    assert 0 <= confidence(one, scores, withheld) <= 1


@pytest.mark.parametrize(
    ("value", "name"), [(0.0, "Low"), (0.49, "Low"), (0.5, "Medium"), (0.8, "Medium"), (0.81, "High")]
)
def test_levels_of_confidence(value: float, name: str) -> None:
    assert confidence_level(value) == name
