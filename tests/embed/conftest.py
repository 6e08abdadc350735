"""A local embedding server, and no provider settings from the environment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from embedding_server import EmbeddingServer, running_embedding_server

PROVIDER_VARIABLES = [f"{name}_{end}" for name in ("OPENAI", "GEMINI", "COHERE") for end in ("API_KEY", "BASE_URL")]


@pytest.fixture
def embedding_server() -> Iterator[EmbeddingServer]:
    with running_embedding_server() as server:
        yield server


@pytest.fixture(autouse=True)
def no_provider_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the provider settings of whoever runs the tests."""
    for name in PROVIDER_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"GLOSSATOR_{name}", raising=False)
