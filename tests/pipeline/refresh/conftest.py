"""Fixtures of the tests of ingesting again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import quick_folder


@pytest.fixture
def data() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder / "data"
