"""A second opinion: a language model judges the doubtful claims, all in one request."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from importlib import resources
from typing import Any

import httpx2

from glossator.answer.llm.client import make_client
from glossator.answer.llm.providers import Provider
from glossator.core.answers import ClaimInDoubt, Status
from glossator.core.resilience.breaker import COOLDOWN_SECONDS, CircuitBreaker
from glossator.core.text.characters import strip_tags

TIMEOUT_SECONDS = 8.0
"""For the whole request, if the answer has no earlier deadline; after that, the claims stay doubtful."""

MAX_CLAIMS = 20
"""In one request; further claims stay doubtful."""

_STATUS = {"supported": Status.SUPPORTED, "contradicted": Status.CONTRADICTED, "not stated": Status.UNSUPPORTED}
_log = logging.getLogger(__name__)


class LanguageModelJudge:
    """Asks one provider; call it in a thread, as it waits for the reply."""

    def __init__(self, provider: Provider, cooldown_seconds: float = COOLDOWN_SECONDS) -> None:
        self._provider, self._breaker = provider, CircuitBreaker(cooldown_seconds=cooldown_seconds)
        self._prompt = resources.files("glossator.answer.llm").joinpath("prompts", "judge.md").read_text("utf-8")

    @property
    def name(self) -> str:
        """The provider and the model."""
        return self._provider.label

    def judge(self, claims: Sequence[ClaimInDoubt], seconds: float = TIMEOUT_SECONDS) -> list[Status | None]:
        """A status for each claim; None where the model gave none, or not in time."""
        found: dict[int, Status] = {}
        if self._breaker.allow_call():
            try:
                found = asyncio.run(self._ask(claims[:MAX_CLAIMS], min(seconds, TIMEOUT_SECONDS)))
                self._breaker.record_success()
            except Exception as error:  # whatever a provider sends, the claims stay doubtful
                self._breaker.record_failure()
                _log.warning("no second opinion: %s", type(error).__name__)
        return [found.get(number) for number in range(1, len(claims) + 1)]

    async def _ask(self, claims: Sequence[ClaimInDoubt], seconds: float) -> dict[int, Status]:
        items = [{"n": n, "claim": claim.text, "excerpt": claim.source} for n, claim in enumerate(claims, 1)]
        async with asyncio.timeout(seconds), make_client(self._provider, httpx2.Timeout(seconds)) as client:
            completion = await client.chat.completions.create(
                model=self._provider.model,
                messages=[
                    {"role": "system", "content": self._prompt},
                    {"role": "user", "content": strip_tags(json.dumps(items, ensure_ascii=False))},
                ],
            )
        return parse_opinions(completion.choices[0].message.content or "")


def parse_opinions(text: str) -> dict[int, Status]:
    """The verdicts in a reply, by number; text around the JSON and anything malformed is ignored."""
    start, end = text.find("["), text.rfind("]")
    entries: Any = json.loads(text[start : end + 1]) if 0 <= start < end else []
    found: dict[int, Status] = {}
    for entry in entries:
        number, verdict = (entry.get("n"), entry.get("verdict")) if isinstance(entry, dict) else (None, None)
        if isinstance(number, int) and isinstance(verdict, str) and verdict.strip().lower() in _STATUS:
            found[number] = _STATUS[verdict.strip().lower()]
    return found
