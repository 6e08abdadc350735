"""The book of the fault tests."""

from __future__ import annotations

from doors import data  # noqa: F401 - a fixture
