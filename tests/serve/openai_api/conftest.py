"""Fixtures of the tests of the OpenAI-compatible door."""

from __future__ import annotations

from door_openai import address, async_client, client, keyed_server, llm_client
from doors import data, model

__all__ = ["address", "async_client", "client", "data", "keyed_server", "llm_client", "model"]
