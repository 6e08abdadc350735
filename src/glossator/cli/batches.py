"""Batch verification: claims as JSON Lines in, verdicts out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ConfigDict

from glossator.core.errors import QuestionError
from glossator.verification.judge import Verifier


class _Passage(BaseModel):
    text: str


class BatchClaim(BaseModel):
    """A claim with its passages: one line of a batch."""

    model_config = ConfigDict(extra="ignore")

    claim: str
    passages: list[str | _Passage]
    id: str | int | None = None

    @property
    def texts(self) -> list[str]:
        return [passage if isinstance(passage, str) else passage.text for passage in self.passages]


def read_batch(text: str) -> list[BatchClaim]:
    """Parse a batch; the error names the first invalid line."""
    return [_parse_line(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def verify_batch(verifier: Verifier, batch: Sequence[BatchClaim]) -> list[dict[str, Any]]:
    """A verdict for each line."""
    return [
        {"id": number if line.id is None else line.id, "claim": line.claim}
        | asdict(verifier.judge(line.claim, verifier.prepare(line.texts)))
        for number, line in enumerate(batch, 1)
    ]


def _parse_line(number: int, line: str) -> BatchClaim:
    try:
        return BatchClaim(**json.loads(line))
    except (ValueError, TypeError, RecursionError):
        raise QuestionError(
            f"Line {number} of the batch is invalid.", 'Write {"claim": "…", "passages": ["…"]} on each line.'
        ) from None
