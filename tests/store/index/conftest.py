"""Every implementation of the index."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from index_stores import MakeStore, kinds, opened_kind


@pytest.fixture(scope="session", params=kinds())
def make_store(request: pytest.FixtureRequest) -> Iterator[MakeStore]:
    """Opens an index by its name."""
    with opened_kind(request.param) as opened:
        yield opened
