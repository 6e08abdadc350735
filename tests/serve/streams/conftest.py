"""Fixtures of the tests of streams."""

from __future__ import annotations

from doors import data, model
from streams import own_server, server, shared_server

__all__ = ["data", "model", "own_server", "server", "shared_server"]
