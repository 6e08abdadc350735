"""Fixtures of the tests for operators."""

from __future__ import annotations

from doors import data, model
from operations import client, private_data, server, server_with_llm

__all__ = ["client", "data", "model", "private_data", "server", "server_with_llm"]
