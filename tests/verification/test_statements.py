"""Plain falsehoods in the words of the source: who does what, what is denied, which alternative, which letter."""

from __future__ import annotations

import pytest

import glossator
from glossator.core.thresholds import SHOWN, SUPPORTED
from glossator.verification.judge import Verifier

FALSE = {
    "negation with an alternative": (
        "The pump is driven by the motor instead of the belt.",
        "The pump is not driven by the motor.",
    ),
    "negation in the passive": ("FastAPI supports WebSockets.", "WebSockets are not supported by FastAPI."),
    "negation dropped in the passive": ("The clerk did not sign the form.", "The form was signed by the clerk."),
    "excluded alternative": ("Seal the joint with tape rather than glue.", "The joint is sealed with glue."),
    "excluded after a negation": ("Store the film in a fridge, not in a freezer.", "Store the film in a freezer."),
    "exception": ("All valves are closed, except the relief valve.", "The relief valve is closed."),
    "without": ("The tent is sold without poles.", "The tent is sold with poles."),
    "unless": (
        "The alarm sounds unless the door is locked.",
        "The alarm sounds if the door is locked.",
    ),
    "contrast": ("The blue cable is not for data but for power.", "The blue cable is not for power."),
    "roles in the passive": ("The nurse called the doctor.", "The nurse was called by the doctor."),
    "roles in the active": ("The doctor was called by the nurse.", "The doctor called the nurse."),
    "irregular verb": ("Anna chose the judges.", "Anna was chosen by the judges."),
    "foundation": ("FastAPI is based on Starlette.", "Starlette is based on FastAPI."),
    "cause": (
        "The factory closed because the river had flooded.",
        "The river had flooded because the factory closed.",
    ),
    "condition": ("If the fan stops, the lamp blinks.", "If the lamp blinks, the fan stops."),
    "letter": ("Use port B for power.", "Use port A for power."),
    "letter of a neighbour": (
        "Gate A leads to the garden and gate B leads to the street.",
        "Gate B leads to the garden.",
    ),
    "letters exchanged": ("The pipe runs from tank A to tank B.", "The pipe runs from tank B to tank A."),
    "relation added": ("The guide shows the cave and the lake.", "The guide shows the cave before the lake."),
    "comparison added": ("The oak is old and the elm is tall.", "The oak is older than the elm."),
    "German alternative": (
        "Die Pumpe wird vom Motor angetrieben statt vom Riemen.",
        "Die Pumpe wird vom Riemen angetrieben.",
    ),
    "Spanish alternative": ("La carta se envía por correo, no por fax.", "La carta se envía por fax."),
}
TRUE = {
    "passive": ("The nurse called the doctor.", "The doctor was called by the nurse."),
    "negated passive": ("The clerk did not sign the form.", "The form was not signed by the clerk."),
    "chosen alternative": ("Seal the joint with tape rather than glue.", "Seal the joint with tape."),
    "words after an alternative": (
        "The drums are brushed rather than struck in the slow part.",
        "In the slow part, the drums are brushed.",
    ),
    "denied alternative": ("Students write an essay instead of sitting an exam.", "Students do not sit an exam."),
    "condition first": ("The lamp blinks if the fan stops.", "If the fan stops, the lamp blinks."),
    "alternative left out": ("Guests may park in the yard but not in the street.", "Guests may park in the yard."),
    "letter": ("Press button X to jump and button Y to crouch.", "To crouch, press button Y."),
    "letter as a unit": ("The arm lifts with a force of 40 N.", "The arm lifts with 40 N."),
    "article": ("A pump moves water. A belt drives the pump.", "A belt drives the pump."),
    "equal quantity": ("The lease lasts 48 hours.", "The lease lasts two days."),
}


@pytest.mark.parametrize("encoder", ["words", "token model"])
@pytest.mark.parametrize("name", FALSE)
def test_plain_falsehood_is_not_shown(name: str, encoder: str) -> None:
    source, claim = FALSE[name]
    words_only = Verifier()
    verdict = (
        words_only.judge(claim, words_only.prepare([source])) if encoder == "words" else glossator.verify(claim, source)
    )
    assert verdict.score < SHOWN


@pytest.mark.parametrize("name", TRUE)
def test_true_rewording_is_supported(name: str) -> None:
    source, claim = TRUE[name]
    assert glossator.verify(claim, source).score >= SUPPORTED


def test_reason_names_the_negation() -> None:
    verdict = glossator.verify("WebSockets are not supported by FastAPI.", "FastAPI supports WebSockets.")
    assert "says “not”; the source does not" in verdict.reasons


def test_reason_names_the_exchanged_roles() -> None:
    verdict = glossator.verify("The nurse was called by the doctor.", "The nurse called the doctor.")
    assert verdict.reasons == ("swaps “nurse” and “doctor” compared with the source",)
