"""Paths of the project, its sample book and the test data."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
BOOK = ROOT / "book"
DATA = TESTS / "data"
