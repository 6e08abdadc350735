"""Fixtures of the tests of the MCP server."""

from __future__ import annotations

from mcp_book import address, client, data, engine

__all__ = ["address", "client", "data", "engine"]
