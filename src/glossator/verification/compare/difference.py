"""The result of one check: features for the model and differences for the user."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: the words of the claim and those of the source; either may be empty."""

    kind: str
    claim: str
    source: str = ""


CheckResult = tuple[dict[str, float], list[Difference]]
"""Features by name, and the differences that explain them."""
