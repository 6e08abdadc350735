"""Fixtures of the middleware tests."""

from __future__ import annotations

from access import client, keyed
from api_requests import empty_data
from doors import data, model

__all__ = ["client", "data", "empty_data", "keyed", "model"]
