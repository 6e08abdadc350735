"""The gate lets only supported sentences through, and the streamed text equals the final text."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glossator.core.answers import CheckedDraft, Policy, Status
from glossator.embed.colbert import ColbertEncoder
from glossator.verification.gate import UNVERIFIED, Gate, check
from glossator.verification.judge import Verifier
from paths import DATA

PASSAGES = [
    "The hip motor weighs 40 kg and must never be lifted by one person. It runs at 48 V. "
    "The gearbox has a ratio of 100.",
    "The controller sends a torque command to each joint every 2 ms. "
    "When a command is late, the joint holds its position.",
    "Install the tool with:\n\npip install walker\n\nThe command needs Python 3.11 or newer. "
    "Zero-moment point control keeps the robot balanced.",
]
VERIFIER = Verifier()
ENCODER = ColbertEncoder()
PREPARED = VERIFIER.prepare(PASSAGES)
TRUE = [
    "The hip motor weighs 40 kg and must never be lifted by one person.",
    "It runs at 48 V.",
    "The controller sends a torque command to each joint every 2 ms.",
    "When a command is late, the joint holds its position.",
    "The command needs Python 3.11 or newer.",
]
FALSE = [
    "The hip motor weighs 400 kg and must never be lifted by one person.",
    "The hip motor weighs 40 kg and may be lifted by one person.",
    "It runs at 48 kV.",
    "When a command is late, the joint does not hold its position.",
    "The battery is charged by solar panels on the roof of the laboratory.",
    "The robot was built in 1997 by a team of engineers in Zurich.",
]
MARKS = ["", " [1]", " [2]", " [Source 3]", " [1][2]", " [9]", " [Source 0]", " [99999999]", " (Source 2)"]


def checked_draft(draft: str, policy: Policy = Policy.STRICT) -> CheckedDraft:
    return check(VERIFIER, draft, PREPARED, policy)


@pytest.mark.parametrize("sentence", TRUE)
def test_supported_sentence_passes(sentence: str) -> None:
    checked = checked_draft(sentence)
    assert checked.text == f"{sentence} [1]"
    quote = checked.evidence[0].quote
    assert PASSAGES[checked.evidence[0].source - 1][checked.evidence[0].start : checked.evidence[0].end] == quote


@pytest.mark.parametrize("sentence", FALSE)
def test_unsupported_sentence_is_withheld_and_reported(sentence: str) -> None:
    checked = checked_draft(f"{sentence} [1]")
    assert checked.text == ""
    assert [claim.text for claim in checked.unsupported_claims] == [sentence]
    assert checked.unsupported_claims[0].verdict.reasons


def test_reason_quotes_claim_and_source() -> None:
    verdict = (
        checked_draft("The hip motor weighs 400 kg and must never be lifted by one person. [1]")
        .unsupported_claims[0]
        .verdict
    )
    assert verdict.status is Status.CONTRADICTED
    assert "says 400 kg; the source says 40 kg" in verdict.reasons


def test_wrong_citation_is_corrected() -> None:
    checked = checked_draft("The controller sends a torque command to each joint every 2 ms [1].")
    assert checked.text.endswith("[1]")
    assert checked.evidence[0].source == 2


def test_unsupported_claim_without_a_citation_is_uncited() -> None:
    assert checked_draft(FALSE[4]).unsupported_claims[0].verdict.status is Status.UNCITED


def test_citations_are_numbered_in_order_of_first_use() -> None:
    checked = checked_draft(f"{TRUE[2]} [2] {FALSE[4]} [3] {TRUE[0]} [1] {TRUE[2]} [2]")
    assert re.findall(r"\[(\d+)\]", checked.text) == ["1", "2", "1"]
    assert [evidence.source for evidence in checked.evidence] == [2, 1]


def test_flag_policy_shows_unsupported_claims_marked() -> None:
    checked = checked_draft(f"{TRUE[1]} [1] {FALSE[4]} [1]", Policy.FLAG)
    assert checked.text == f"{TRUE[1]} [1] {FALSE[4]} {UNVERIFIED}"
    assert len(checked.unsupported_claims) == 1


def test_asides_are_not_flagged() -> None:
    checked = checked_draft(
        f"Great question! Here are the facts:\n\n- {TRUE[0]} [1]\n- {TRUE[1]} [1]\n\nDo you want to know more?"
    )
    assert not checked.unsupported_claims
    assert checked.text.startswith("Great question! Here are the facts:\n\n- The hip motor")
    assert checked.text.endswith("Do you want to know more?")


def test_asides_without_a_supported_claim_are_not_shown() -> None:
    assert checked_draft(f"Sure! Here are the facts:\n\n- {FALSE[4]}\n\nI hope this helps!").text == ""


def test_heading_needs_a_supported_claim_and_words_of_the_passages() -> None:
    known = f"## The gearbox\n\n{FALSE[4]}\n\n## The controller\n\n{TRUE[2]} [2]"
    draft = f"{known}\n\n## Unicorns of Patagonia\n\n{TRUE[3]} [2]"
    assert checked_draft(draft).text == f"## The controller\n\n{TRUE[2]} [1]\n\n{TRUE[3]} [1]"


@pytest.mark.parametrize("heading", ["**The hip motor can be lifted by one person**", "# It weighs 400 kg", "## 48 kV"])
def test_heading_with_a_claim_is_checked(heading: str) -> None:
    assert checked_draft(f"{heading}\n\n{TRUE[1]} [1]").text == f"{TRUE[1]} [1]"


@pytest.mark.parametrize(
    "question", ["Did you know that one person can lift the motor?", "Isn’t the gearbox made of gold?"]
)
def test_question_with_a_claim_is_checked(question: str) -> None:
    assert question not in checked_draft(f"{TRUE[1]} [1] {question}").text


def test_links_in_a_draft_are_removed() -> None:
    checked = checked_draft("It [runs](https://evil.example/x?q=1) at ![48](javascript:alert(1)) V. [1]")
    assert checked.text == "It runs at 48 V. [1]"


def test_list_keeps_its_markers_when_an_item_is_withheld() -> None:
    draft = f"1. {TRUE[0]} [1]\n2. {FALSE[4]} [1]\n3. {FALSE[5]} {TRUE[1]} [1]"
    assert checked_draft(draft).text == f"1. {TRUE[0]} [1]\n3. {TRUE[1]} [1]"


def test_code_passes_only_verbatim() -> None:
    assert "pip install walker" in checked_draft("```sh\npip install walker\n```\n[3]").text
    assert checked_draft("```sh\npip install walker --force\n```\n[3]").text == ""


def test_table_shows_only_supported_rows() -> None:
    draft = "| motor | weight |\n|---|---|\n| The hip motor weighs | 40 kg |\n| The hip motor weighs | 70 kg |\n"
    text = checked_draft(draft).text
    assert "40 kg" in text
    assert "70 kg" not in text


segments = st.sampled_from(
    [*TRUE, *FALSE, "Sure!", "Here are the steps:", "Is that all?", "```\npip install walker\n```", "## The motor"]
)
breaks = st.sampled_from([" ", "\n", "\n\n", "\n- ", "\n1. ", "\n\n> "])
drafts = st.lists(st.tuples(segments, st.sampled_from(MARKS), breaks), max_size=8).map(
    lambda parts: "".join(f"{sentence}{mark}{gap}" for sentence, mark, gap in parts)
)
noise = st.text(alphabet="abc .!?[]()0123*`#|\n\u200b\u202e١٤。۔", max_size=80)


@settings(deadline=None)
@given(
    st.one_of(drafts, st.tuples(drafts, noise).map("".join)),
    st.lists(st.integers(1, 30), min_size=1, max_size=20),
    st.sampled_from(Policy),
)
def test_streamed_text_equals_the_final_text(draft: str, sizes: list[int], policy: Policy) -> None:
    gate = Gate(VERIFIER, PREPARED, policy)
    shown, at, turn = [], 0, 0
    while at < len(draft):
        size = sizes[turn % len(sizes)]
        shown.append(gate.feed(draft[at : at + size]))
        at, turn = at + size, turn + 1
    shown.append(gate.finish())
    assert "".join(shown) == gate.checked.text
    assert gate.checked == checked_draft(draft, policy)


@settings(deadline=None)
@given(drafts)
def test_every_citation_has_evidence_and_nothing_unsupported_is_shown(draft: str) -> None:
    checked = checked_draft(draft)
    used = [int(number) for number in re.findall(r"\[(\d+)\]", checked.text)]
    assert sorted(set(used)) == list(range(1, len(checked.evidence) + 1))
    assert all(sentence.verdict and sentence.verdict.supported for sentence in checked.sentences)
    assert not any(claim in checked.text for claim in FALSE)
    for evidence in checked.evidence:
        assert PASSAGES[evidence.source - 1][evidence.start : evidence.end] == evidence.quote


@pytest.mark.slow
@pytest.mark.parametrize(
    "draft",
    [
        "",
        " \n\n ",
        "x" * 1_000_000,
        "word " * 200_000,
        "[1]" * 5_000,
        "[" * 20_000 + "1" + "]" * 20_000,
        "It is so [Source 0]. It is so [Source 77].",
        "```python\nprint(1",
        "\u202eIt weighs 400\u202c kg\u200b.",
        "يزن المحرك ٤٠٠ كغ [1]. It weighs 400 kg. موٹر کا وزن ۴۰۰ کلوگرام ہے۔",
        "a\x00b\ud800c. " * 50,
    ],
    ids=[
        "empty",
        "white space",
        "one long word",
        "one long sentence",
        "many citations",
        "deep brackets",
        "citations of missing sources",
        "unclosed code",
        "bidirectional controls",
        "mixed scripts",
        "control characters and surrogates",
    ],
)
def test_hostile_draft_is_withheld_in_bounded_time(draft: str) -> None:
    started = time.monotonic()
    assert checked_draft(draft).text == ""
    assert time.monotonic() - started < 60


def test_invisible_characters_are_removed() -> None:
    checked = checked_draft("\u202eIt \u200bruns at 48\u202c V\u200b. [1]")
    assert checked.text == "It runs at 48 V. [1]"


def test_claims_beyond_the_limit_are_withheld() -> None:
    checked = checked_draft(" ".join(TRUE[1] for _ in range(1000)))
    assert len(checked.sentences) == 200
    assert len(checked.unsupported_claims) == 800


def test_without_passages_nothing_is_shown() -> None:
    checked = check(VERIFIER, "The hip motor weighs 40 kg. [1]", VERIFIER.prepare([]))
    assert checked.text == ""


DRAFTS = json.loads((DATA / "smollm2.json").read_text("utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["words", "tokens"])
@pytest.mark.parametrize("case", DRAFTS, ids=[case["question"] for case in DRAFTS])
def test_unsupported_claims_of_a_small_model_are_withheld(case: dict[str, Any], model: str) -> None:
    """Unedited drafts of SmolLM2-135M about the sample book; `allowed` lists the supported sentences."""
    verifier = Verifier(ENCODER if model == "tokens" else None)
    checked = check(verifier, case["draft"], verifier.prepare(case["passages"]))
    assert {sentence.text for sentence in checked.sentences} <= set(case["allowed"])
