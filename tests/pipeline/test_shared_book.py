"""The sample book in every shared index: its golden questions have the answers that the embedded index gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from data_dirs import copy_data
from glossator.core.settings import load_settings
from glossator.evaluate.golden import load_golden
from glossator.facade import Book
from glossator.pipeline.wiring import wire
from index_stores import MakeStore, kinds, opened_kind
from paths import BOOK

pytestmark = pytest.mark.slow
IS_REAL_SERVER = len(kinds()) < 4
QUESTIONS = [golden.question for golden in load_golden(BOOK / "golden.yaml")][:: 1 if IS_REAL_SERVER else 8]


@pytest.fixture(scope="module", params=[kind for kind in kinds() if kind not in ("embedded", "qdrant in process")])
def make_shared(request: pytest.FixtureRequest) -> Iterator[MakeStore]:
    with opened_kind(request.param) as opened:
        yield opened


def test_golden_questions_have_the_same_answers(
    make_shared: MakeStore, sample: Book, sample_data: Path, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    copy_data(sample_data / "cache", tmp_path / "data" / "cache")  # of embeddings
    engine = wire(load_settings(data_dir=tmp_path / "data", index="embedded"))
    engine.generations = make_shared("book")
    with Book(engine) as book:
        report = book.ingest(BOOK, base_url="http://127.0.0.1:8000/book")
        assert report.embeddings.made == 0
        for question in QUESTIONS:
            expected, found = sample.ask(question), book.ask(question)
            assert (found.text, found.abstained) == (expected.text, expected.abstained), question
            assert [c.url for c in found.citations] == [c.url for c in expected.citations]
