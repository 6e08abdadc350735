"""Verdicts: a claim from the passage is supported; one that is changed, extended or from elsewhere is not."""

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
def test_claim_from_the_passage_is_supported(verifier: Verifier, claim: str) -> None:
    verdict = verifier.judge(claim, verifier.prepare([PASSAGE]))
    assert verdict.supported, verdict
    assert verdict.status is Status.SUPPORTED
    assert verdict.evidence is not None
    assert PASSAGE[verdict.evidence.start : verdict.evidence.end] == verdict.evidence.quote


@pytest.mark.parametrize("claim", CHANGED.values(), ids=CHANGED.keys())
def test_changed_claim_is_not_supported(claim: str) -> None:
    verdict = glossator.verify(claim, PASSAGE)
    assert not verdict.supported, verdict
    assert verdict.status in (Status.UNSUPPORTED, Status.CONTRADICTED)
    assert verdict.reasons


@pytest.mark.parametrize("claim", CHANGED.values(), ids=CHANGED.keys())
def test_changed_claim_is_withheld_without_the_token_model(claim: str) -> None:
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
def test_reasons_quote_claim_and_source(claim: str, reason: str) -> None:
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
def test_verdicts_in_other_languages(passage: str, true: str, false: str) -> None:
    assert glossator.verify(true, passage).supported
    assert not glossator.verify(false, passage).supported


@pytest.mark.parametrize("number", ["10⁶", "10^6", "1,000,000", "1 million"])
@pytest.mark.parametrize("source", ["10⁶", "10^6", "1,000,000"])
def test_notation_of_a_power_does_not_matter(number: str, source: str) -> None:
    passage = f"The bearing lasts {source} hours at full load. It is oiled every week."
    assert glossator.verify(f"The bearing lasts {number} hours at full load.", passage).supported
    for false in ("106", "10⁵", "10^7", "100,000"):
        assert not glossator.verify(f"The bearing lasts {false} hours at full load.", passage).supported


def test_evidence_comes_from_the_best_passage() -> None:
    verdict = glossator.verify("The torque sensor was added in 2016.", ["Bananas are yellow fruit.", PASSAGE])
    assert verdict.supported
    assert verdict.evidence is not None
    assert verdict.evidence.source == 2


def test_verdict_on_several_sentences_is_that_of_the_worst() -> None:
    good, bad = SUPPORTED[0], CHANGED["year"]
    assert glossator.verify(f"{good} {SUPPORTED[3]}", PASSAGE).supported
    assert not glossator.verify(f"{good} {bad}", PASSAGE).supported


@pytest.mark.parametrize(
    "claim", ["", " ", "…", "\u200b", "[", "?" * 5000, "x" * 5000, "\ud800", "1" * 400, "e" + "\u0301" * 3000]
)
def test_degenerate_claim_is_not_supported(claim: str) -> None:
    assert not glossator.verify(claim, [PASSAGE]).supported


def test_without_passages_nothing_is_supported() -> None:
    assert not glossator.verify("The torque sensor was added in 2016.", []).supported
    assert not glossator.verify("The torque sensor was added in 2016.", [""]).supported


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=120), st.lists(st.text(max_size=200), max_size=3))
def test_any_input_gives_a_valid_verdict(claim: str, passages: list[str]) -> None:
    verifier = Verifier()
    verdict = verifier.judge(claim, verifier.prepare(passages))
    assert 0 <= verdict.score <= 1
    assert verdict.supported == (verdict.status is Status.SUPPORTED)
    if verdict.evidence:
        text = passages[verdict.evidence.source - 1]
        assert text[verdict.evidence.start : verdict.evidence.end] == verdict.evidence.quote


@pytest.mark.slow
def test_verdicts_do_not_depend_on_earlier_ones() -> None:
    first = [glossator.verify(claim, PASSAGE) for claim in (*SUPPORTED, *CHANGED.values())]
    again = [glossator.verify(claim, PASSAGE) for claim in (*SUPPORTED, *CHANGED.values())]
    assert first == again


def test_a_claim_with_a_sentence_that_is_too_long_to_compare_fails() -> None:
    too_long = f"The torque sensor {'sat on the mat and ' * 80} fell."
    assert glossator.verify("The torque sensor was added in 2016.", PASSAGE).supported
    assert not glossator.verify(f"The torque sensor was added in 2016. {too_long}", PASSAGE).supported


def test_long_passages_are_judged_in_bounded_time() -> None:
    started = time.monotonic()
    verifier = Verifier()
    verifier.judge("The torque sensor was added in 2016.", verifier.prepare(["word " * 200_000, "a" * 1_000_000]))
    assert time.monotonic() - started < 30


@pytest.mark.slow
def test_extractive_answers_of_the_sample_book_are_supported(sample: Book) -> None:
    checked = 0
    for golden in load_golden(BOOK / "golden.yaml"):
        answer = sample.ask(golden.question, golden.selection or None)
        assert not answer.unsupported_claims
        for sentence in answer.sentences:
            assert sentence.verdict is not None
            assert sentence.verdict.supported
            checked += 1
    assert checked > 100


def test_citation_quotes_the_evidence(sample: Book) -> None:
    answer = sample.ask("What is the zero-moment point?")
    for sentence in answer.sentences:
        citation = answer.citations[sentence.citations[0] - 1]
        assert sentence.verdict is not None
        assert sentence.verdict.evidence is not None
        document = sample.document(citation.document_id)
        assert document is not None
        evidence = sentence.verdict.evidence
        assert evidence.chunk_id == citation.chunk_id
        assert document.text[evidence.document_start : evidence.document_end] == evidence.quote
        if sentence is next(s for s in answer.sentences if s.citations == sentence.citations):
            assert citation.quote in evidence.quote


shares = st.floats(0, 1)


@given(shares, shares, st.lists(shares, min_size=1, max_size=5), st.integers(0, 5))
def test_confidence_is_monotonic(one: float, other: float, scores: list[float], withheld: int) -> None:
    low, high = sorted((one, other))
    assert confidence(low, scores, withheld) <= confidence(high, scores, withheld)
    assert confidence(one, scores, withheld + 1) <= confidence(one, scores, withheld)
    better = [max(scores[0], other), *scores[1:]]
    assert confidence(one, scores, withheld) <= confidence(one, better, withheld) + 1e-9
    assert 0 <= confidence(one, scores, withheld) <= 1


@pytest.mark.parametrize(
    ("value", "name"), [(0.0, "Low"), (0.49, "Low"), (0.5, "Medium"), (0.8, "Medium"), (0.81, "High")]
)
def test_confidence_levels(value: float, name: str) -> None:
    assert confidence_level(value) == name
