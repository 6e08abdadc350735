"""Plain falsehoods that differ from their source by a letter, a value or a small word, each beside a true sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import glossator
from glossator.core.answers import Verdict
from glossator.core.thresholds import QUOTED, SHOWN, SUPPORTED
from glossator.verification.judge import Verifier

DATA = Path(__file__).parents[1] / "data" / "plain_pairs.jsonl"
PAIRS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
LEVELS = {"shown": SHOWN, "supported": SUPPORTED, "quoted": QUOTED}
"""What a true sentence reaches at least: it is shown, supported, or replaced by a quote of its source."""


def by_words(claim: str, source: str) -> Verdict:
    verifier = Verifier()
    return verifier.judge(claim, verifier.prepare([source]))


@pytest.mark.parametrize("judge", [by_words, glossator.verify], ids=["words", "models"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair["false"])
def test_falsehood_is_not_shown(pair: dict[str, str], judge: Callable[[str, str], Verdict]) -> None:
    assert judge(pair["false"], pair["source"]).score < SHOWN


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if "true" in pair], ids=lambda pair: pair["true"])
def test_true_counterpart_of_a_falsehood_is_accepted(pair: dict[str, str]) -> None:
    assert glossator.verify(pair["true"], pair["source"]).score >= LEVELS[pair["true_is"]]


@pytest.mark.parametrize(
    ("claim", "source", "reason"),
    [
        ("Use HTTP for the page.", "Use HTTPS for the page.", "says “HTTP” where the source says “HTTPS”"),
        ("Set x to 1 and y to 0.", "Set x to 0 and y to 1.", "says 1; the source says 0"),
        ("It takes half a day.", "It takes a day and a half.", "says half a day; the source says a day and a half"),
        ("It takes an hour.", "It takes half an hour.", "says hour; the source says half an hour"),
        ("Version 3.10 is required.", "Version 3.1 is required.", "says 3.10; the source says 3.1"),
        ("The crew fixed it.", "The crew tried to fix it.", "omits “tried”, which is in the source"),
        ("The lamp is off by default.", "The lamp is on by default.", "says “off” where the source says “on”"),
    ],
)
def test_reason_names_what_differs(claim: str, source: str, reason: str) -> None:
    assert reason in glossator.verify(claim, source).reasons
