"""Fixtures of the tests of the doors."""

from __future__ import annotations

from doors import client, data, dev_client, empty_client, llm_client, model

__all__ = ["client", "data", "dev_client", "empty_client", "llm_client", "model"]
