"""In doubt, the gate quotes the source; what is clearly false is withheld."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glossator.core.answers import CheckedDraft, ClaimInDoubt, Evidence, Status
from glossator.verification.gate import Gate, check, quotation
from glossator.verification.judge import Verifier
from scripted_reader import ScriptedReader

PASSAGES = [
    "The hip motor weighs 40 kg and must never be lifted by one person. It runs at 48 V.",
    "The controller sends a torque command to each joint every 2 ms. "
    "When a command is late, the joint holds its position.",
]
SURE, UNSURE, REJECTED = 6.0, -0.5, -6.0
"""What a reader says of a claim that is shown, of one in doubt, and of one that is withheld."""
PARAPHRASE = "Lifting the heavy hip motor takes more than a single person."
OTHER = "Each joint simply keeps its present position as soon as a command arrives too late."
WRONG_NUMBER = "The hip motor weighs 400 kg and must never be lifted by one person."


def checked(draft: str, support: float | dict[str, float]) -> CheckedDraft:
    said = support if isinstance(support, dict) else {}
    reader = ScriptedReader(support if isinstance(support, float) else UNSURE, said=said)
    verifier = Verifier(None, reader)
    return check(verifier, draft, verifier.prepare(PASSAGES))


def test_a_claim_that_the_reader_confirms_is_shown() -> None:
    assert checked(PARAPHRASE, SURE).text == f"{PARAPHRASE} [1]"


def test_a_claim_in_doubt_is_replaced_by_its_source() -> None:
    found = checked(f"{PARAPHRASE} [1]", UNSURE)
    assert found.text == "“The hip motor weighs 40 kg and must never be lifted by one person.” [1]"
    assert [claim.text for claim in found.unsupported_claims] == [PARAPHRASE]
    sentence = found.sentences[0]
    assert sentence.verdict is not None
    assert sentence.verdict.supported
    assert sentence.text == "The hip motor weighs 40 kg and must never be lifted by one person."


def test_a_claim_that_the_reader_rejects_is_withheld() -> None:
    found = checked(PARAPHRASE, REJECTED)
    assert found.text == ""
    assert [claim.text for claim in found.unsupported_claims] == [PARAPHRASE]


def test_without_a_reader_nothing_is_quoted() -> None:
    verifier = Verifier()
    assert check(verifier, PARAPHRASE, verifier.prepare(PASSAGES)).text == ""


@pytest.mark.parametrize("support", [SURE, UNSURE])
def test_a_wrong_number_is_withheld_whatever_the_reader_says(support: float) -> None:
    found = checked(WRONG_NUMBER, support)
    assert found.text == ""
    assert found.unsupported_claims[0].verdict.status is Status.CONTRADICTED


def test_a_source_is_quoted_once() -> None:
    found = checked(f"{PARAPHRASE} Carrying the heavy hip motor about takes several strong people.", UNSURE)
    assert found.text.count("40 kg") == 1
    assert len(found.unsupported_claims) == 2


def test_a_source_is_not_quoted_after_a_claim_about_it() -> None:
    second = "Carrying the heavy hip motor about takes several strong people."
    found = checked(f"{PARAPHRASE} {second}", {PARAPHRASE: SURE, second: UNSURE})
    assert found.text == f"{PARAPHRASE} [1]"


def test_lists_keep_their_layout() -> None:
    found = checked(f"- {PARAPHRASE}\n- {OTHER}\n", UNSURE)
    assert re.fullmatch(r"- “The hip motor .*” \[1\]\n- “When a command is late, .*” \[2\]", found.text)


def test_tables_and_code_are_not_replaced() -> None:
    assert checked(f"| what |\n|---|\n| {PARAPHRASE} |\n", UNSURE).sentences == ()
    assert checked("```\nmotor.lift(alone=True)\n```\n", UNSURE).sentences == ()


@given(
    st.lists(st.sampled_from([PARAPHRASE, OTHER, WRONG_NUMBER, *PASSAGES, "Birds sing."]), max_size=8),
    st.integers(1, 9),
)
def test_the_stream_equals_the_final_text(sentences: list[str], size: int) -> None:
    verifier, draft = Verifier(None, ScriptedReader(UNSURE)), " ".join(sentences)
    gate = Gate(verifier, verifier.prepare(PASSAGES))
    shown = "".join(gate.feed(draft[at : at + size]) for at in range(0, len(draft), size)) + gate.finish()
    assert shown == gate.checked.text == check(verifier, draft, verifier.prepare(PASSAGES)).text
    quotes = re.findall("“(.*?)”", shown)
    assert len(quotes) == len(set(quotes))
    assert all(any(quote in passage for passage in PASSAGES) for quote in quotes)


class ScriptedJudge:
    """A second opinion that is the same for every claim."""

    name = "scripted:judge"

    def __init__(self, status: Status | None) -> None:
        self.status = status
        self.asked: list[ClaimInDoubt] = []

    def judge(self, claims: list[ClaimInDoubt], seconds: float) -> list[Status | None]:
        assert seconds > 0
        self.asked += claims
        return [self.status] * len(claims)


def judged(draft: str, status: Status | None) -> tuple[str, CheckedDraft, list[ClaimInDoubt]]:
    """The text before the end of the draft, the whole answer, and what was asked."""
    verifier, judge = Verifier(None, ScriptedReader(UNSURE)), ScriptedJudge(status)
    gate = Gate(verifier, verifier.prepare(PASSAGES), second_opinion=judge)
    first = gate.feed(draft)
    rest = gate.finish()
    assert first + rest == gate.checked.text
    return first, gate.checked, judge.asked


def test_a_second_opinion_is_asked_once_for_all_claims_in_doubt() -> None:
    first, whole, asked = judged(f"It runs at 48 V. {PARAPHRASE} {OTHER} {WRONG_NUMBER} ", Status.SUPPORTED)
    assert first == "It runs at 48 V. [1]"
    assert [claim.text for claim in asked] == [PARAPHRASE, OTHER]  # not what is sure, nor what has a veto
    assert "must never be lifted" in asked[0].source
    assert whole.text == f"It runs at 48 V. [1] {PARAPHRASE} [1] {OTHER} [2]"
    verdict = whole.sentences[1].verdict
    assert verdict is not None
    assert verdict.reasons == ("confirmed by scripted:judge",)


def test_a_claim_that_the_second_opinion_rejects_is_withheld() -> None:
    _, whole, _ = judged(PARAPHRASE, Status.CONTRADICTED)
    assert whole.text == ""
    assert whole.unsupported_claims[0].verdict.reasons == ("rejected by scripted:judge",)


def test_without_a_timely_second_opinion_the_source_is_quoted() -> None:
    assert judged(PARAPHRASE, None)[1].text.startswith("“The hip motor weighs 40 kg")


def test_no_second_opinion_is_asked_without_claims_in_doubt() -> None:
    _, whole, asked = judged("It runs at 48 V.", Status.CONTRADICTED)
    assert (whole.text, asked) == ("It runs at 48 V. [1]", [])


@pytest.mark.parametrize(
    "source",
    [
        "Lifting the hip motor by hand",
        "| Motor | Lifting |\n| hip motor | by two people |",
        "```python\n# lifting the hip motor takes people\nmotor.hip.lift(person=2)\n```",
        "When lifting the heavy hip motor, a single person needs:",
        "Is a single person enough for lifting the heavy hip motor?",
        "Lifting the heavy hip motor needs Vec<Person> people.",
        "Lifting the heavy hip motor needs limits[0] people.",
        "Lifting the heavy hip motor takes __several__ people.",
    ],
)
def test_only_prose_that_is_shown_unchanged_is_quoted(source: str) -> None:
    assert quotation(Evidence(1, 0, len(source), source)) is None


def test_a_books_own_marks_are_escaped_in_a_quote() -> None:
    source = "Lifting the heavy hip motor takes two people \u200e[7]."
    assert quotation(Evidence(1, 0, len(source), source)) == "Lifting the heavy hip motor takes two people (7)."


def test_a_source_that_cannot_be_quoted_is_left_out_with_its_claim() -> None:
    source = "When lifting the heavy hip motor, a single person needs:"
    verifier = Verifier(None, ScriptedReader(-2.5))
    found = check(verifier, PARAPHRASE, verifier.prepare([source]))
    assert (found.text, found.sentences, found.evidence) == ("", (), ())
    assert [claim.text for claim in found.unsupported_claims] == [PARAPHRASE]


def test_claims_in_other_languages_are_not_replaced() -> None:
    verifier = Verifier(None, ScriptedReader(UNSURE))
    source = "Der Hüftmotor wiegt sehr viel und darf niemals von einer Person allein angehoben werden."
    claim = "Weil der Hüftmotor so schwer ist, müssen ihn immer mehrere Personen gemeinsam anheben."
    assert check(verifier, claim, verifier.prepare([source])).sentences == ()


def test_what_waits_for_a_second_opinion_is_released_if_the_draft_is_cut_short() -> None:
    verifier, judge = Verifier(None, ScriptedReader(UNSURE)), ScriptedJudge(Status.SUPPORTED)
    gate = Gate(verifier, verifier.prepare(PASSAGES), second_opinion=judge)
    assert gate.feed(f"{PARAPHRASE} It runs at 48 V. And ") == ""
    assert gate.release().endswith("It runs at 48 V. [1]")
    assert judge.asked == []


def test_claims_that_were_judged_are_shown_although_the_second_opinion_took_all_the_time() -> None:
    verifier, left = Verifier(None, ScriptedReader(UNSURE)), [5.0]

    class SlowJudge(ScriptedJudge):
        def judge(self, claims: list[ClaimInDoubt], seconds: float) -> list[Status | None]:
            left[0] = 0.0
            return super().judge(claims, seconds)

    gate = Gate(
        verifier,
        verifier.prepare(PASSAGES),
        seconds_left=lambda: left[0],
        second_opinion=SlowJudge(Status.SUPPORTED),
    )
    text = gate.feed(f"{PARAPHRASE} It runs at 48 V. ") + gate.finish()
    assert text == f"{PARAPHRASE} [1] It runs at 48 V. [1]"
