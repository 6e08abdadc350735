"""Many claims at once: lines of JSON in, verdicts out."""

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


class Task(BaseModel):
    """One line of a batch."""

    model_config = ConfigDict(extra="ignore")

    claim: str
    passages: list[str | _Passage]
    id: str | int | None = None

    @property
    def texts(self) -> list[str]:
        return [passage if isinstance(passage, str) else passage.text for passage in self.passages]


def read_batch(text: str) -> list[Task]:
    """The lines of a batch; the first bad one is named."""
    return [_task(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def verify_batch(verifier: Verifier, tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """A verdict for each line."""
    return [
        {"id": number if task.id is None else task.id, "claim": task.claim}
        | asdict(verifier.judge(task.claim, verifier.prepare(task.texts)))
        for number, task in enumerate(tasks, 1)
    ]


def _task(number: int, line: str) -> Task:
    try:
        return Task(**json.loads(line))
    except (ValueError, TypeError, RecursionError):
        raise QuestionError(
            f"Line {number} of the batch cannot be read.", 'Write {"claim": "…", "passages": ["…"]} on each line.'
        ) from None
