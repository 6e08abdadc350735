"""Fixtures shared by all tests: the sample book, temporary folders, and a Postgres server."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import glossator
from commands import quick_folder
from data_dirs import copy_data, ingest_with_kept_embeddings
from glossator.facade import Book
from in_process import InProcessParser
from paths import BOOK
from postgres import Postgres, running_postgres

pytest_plugins = ["browser", "tides"]

settings.register_profile("any machine", deadline=None)  # how long an example takes says nothing about its result
settings.load_profile("any machine")

SLOWEST_FILES = """
    server_process marks dependencies agent_real server_disconnects cost generation_stores limits records_faults
    connections hostile_sizes server verdicts index_faults disks schema kill generations
    widget_injection deep_links reader_pages widget_streams widget_errors widget_sources widget_answers widget_asking
    widget widget_isolation
""".split()
"""The longest files, in the process and in the browser: they run first, so that none is left running at the end."""
SLOW_FILE = re.compile(r"^pytestmark = .*\bpytest\.mark\.slow\b", re.MULTILINE)


def pytest_configure() -> None:
    """No garbage is collected while tests are: almost everything that is made then stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """By default, looking at what tests import later again and again takes an eighth of their time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`make check` does not import files that are slow as a whole: that takes longer than many of its tests."""
    if config.option.markexpr != "not slow" or collection_path.suffix != ".py":
        return None
    return SLOW_FILE.search(collection_path.read_text("utf-8")) is not None or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest files first; the order within a file stays."""
    order = {f"test_{name}": number for number, name in enumerate(SLOWEST_FILES)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


@pytest.fixture(scope="session", autouse=True)
def _parse_in_process() -> Iterator[None]:
    """Hundreds of tests read a source; child processes have tests of their own, and commands and servers use them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("glossator.ingest.read.FileParser", InProcessParser)
        yield


@pytest.fixture(scope="session", autouse=True)
def _keep_holes() -> Iterator[None]:
    """An index in memory is opened as on a disk: filling its holes, 130 MB, takes longer than most tests.

    `quick_folder` uses memory only if there is enough. Child processes do fill them (tests/faults/test_disks.py).
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("glossator.store.index.qdrant_index.allocate_sparse_files", lambda folder: None)
        yield


@pytest.fixture(scope="session")
def sample_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with the sample book; treat it as read-only."""
    data = tmp_path_factory.mktemp("sample") / "data"
    ingest_with_kept_embeddings(data, BOOK, "http://127.0.0.1:8000/book")
    return data


@pytest.fixture(scope="session")
def sample(sample_data: Path) -> Iterator[Book]:
    """The sample book, open."""
    with glossator.open(sample_data) as book:
        yield book


@pytest.fixture
def own_data(sample_data: Path, tmp_path: Path) -> Path:
    """A copy of the sample book's data directory that a test may change."""
    return copy_data(sample_data, tmp_path / "own")


@pytest.fixture
def small_book(tmp_path: Path) -> Path:
    """A folder with two short pages."""
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "tides.md").write_text(
        "# Tides\n\nTides are caused mainly by the gravity of the Moon."
        " The Sun contributes about 46 percent as much.\n\n"
        "## Spring tides\n\nSpring tides occur at new moon and at full moon. They have the largest range.\n",
        "utf-8",
    )
    (folder / "bread.md").write_text(
        "# Bread\n\nA sourdough starter holds wild yeast and lactic acid bacteria."
        " It must be fed with flour every day.\n",
        "utf-8",
    )
    return folder


@pytest.fixture
def fast_tmp_path() -> Iterator[Path]:
    """An empty folder like `tmp_path`, but in memory if there is enough."""
    with quick_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    """A real Postgres server."""
    with running_postgres() as running:
        yield running
