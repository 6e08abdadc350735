"""Fixtures of the tests of keys, tokens and callers."""

from __future__ import annotations

from access import client, keyed
from api_keys import closed_store, path, store, watchful_store
from doors import data

__all__ = ["client", "closed_store", "data", "keyed", "path", "store", "watchful_store"]
