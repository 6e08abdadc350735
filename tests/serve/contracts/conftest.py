"""Fixtures of the contract tests: servers whose language model works, refuses, hangs or is dead."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from doors import FACT, client, data, llm_client, model, serving
from llm_server import LlmServer, Reply, says, stalls

__all__ = ["client", "data", "llm_client", "model"]

KINDS: dict[str, Reply | None] = {
    "working": says(f"{FACT} [Source 1] It was introduced in 1968. [Source 1]"),
    "refusing": says("I'm sorry, but I cannot help with that request."),
    "hanging": stalls(),
    "dead": None,
}
DEAD = "http://127.0.0.1:9/v1#dead"


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """What the language model does."""
    name: str = request.param
    return name


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(data: Path, model: LlmServer, kind: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server with such a language model."""
    reply = KINDS[kind]
    model.script(reply or says(""))
    llm = DEAD if reply is None else f"{model.url}#scripted"
    seconds = 2 if kind == "hanging" else 60
    async with serving(data, llm=llm, verify_models=False, answer_seconds=seconds, query_seconds=seconds) as opened:
        yield opened
