"""The contract of every vector index, run over each implementation; then the files of Qdrant Edge."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from glossator.core.errors import IndexCorrupted, StorageError
from glossator.core.ports import VectorIndex
from glossator.core.types import Chunk, Embedding, Filters, Hit, QueryEmbedding, Span
from glossator.store.index.qdrant_index import QdrantEdgeIndex, QdrantEdgeWriter, _filter

DIMENSION = 4
EVERYTHING = Filters()
Build = Callable[[Path, Sequence[Chunk]], VectorIndex]


def chunk(number: int, text: str, *, url: str, path: tuple[str, ...], chapters: tuple[str, ...]) -> Chunk:
    """A chunk of two sentences, or of none if its text has no full stop."""
    middle = text.find(".") + 1
    spans = (Span(0, middle), Span(middle + 1, len(text))) if middle else ()
    return Chunk(
        chunk_id=f"{url}#{number}",
        document_id=url,
        url=url,
        title=path[0],
        chapters=chapters,
        section=path[-1],
        heading_path=path,
        anchor="",
        position=number,
        start=0,
        end=len(text),
        text=text,
        sentences=spans,
    )


SITE = "https://example.org/book"
CHUNKS = [
    chunk(0, "The gripper closes. It holds a cup.", url=f"{SITE}/hands", path=("Hands",), chapters=("Body", "Hands")),
    chunk(1, "Fingers bend. Tendons pull.", url=f"{SITE}/hands", path=("Hands", "Fingers"), chapters=("Body", "Hands")),
    chunk(
        0, "Legs swing. Feet land.", url=f"{SITE}/legs", path=("Legs", "Swing phase"), chapters=("Motion", "Walking")
    ),
    chunk(0, "ہاتھ پکڑتا ہے۔ روبوٹ چلتا ہے.", url=f"{SITE}/urdu", path=("ہاتھ", "گرفت"), chapters=("Body", "اردو")),
    chunk(0, "a table | of numbers", url="https://other.org/book/hands", path=("Tables",), chapters=("Body", "Tables")),
]


def axis(number: int) -> np.ndarray:
    return np.eye(DIMENSION, dtype=np.float32)[number % DIMENSION]


def embedding(number: int, item: Chunk) -> Embedding:
    """The chunk and its first sentence point along one axis, its second sentence along the next."""
    rows = [axis(number), axis(number + 1)][: len(item.sentences)]
    return Embedding(axis(number), np.array(rows, np.float16).reshape(len(rows), DIMENSION))


def query(number: int) -> QueryEmbedding:
    return QueryEmbedding(axis(number), axis(number))


def build_edge(folder: Path, chunks: Sequence[Chunk]) -> VectorIndex:
    with QdrantEdgeWriter(folder, DIMENSION) as writer:
        if chunks:
            writer.add(chunks, [embedding(i, item) for i, item in enumerate(chunks)], "2026-01-01T00:00:00+00:00")
    return QdrantEdgeIndex(folder, DIMENSION)


IMPLEMENTATIONS: dict[str, Build] = {"qdrant-edge": build_edge}


@pytest.fixture(scope="module", params=IMPLEMENTATIONS)
def build(request: pytest.FixtureRequest) -> Build:
    """Builds an index of some chunks in an empty folder."""
    return IMPLEMENTATIONS[request.param]


@pytest.fixture(scope="module")
def index(build: Build, tmp_path_factory: pytest.TempPathFactory) -> VectorIndex:
    return build(tmp_path_factory.mktemp("index"), CHUNKS)


def found(index: VectorIndex, filters: Filters = EVERYTHING, words: str = "gripper") -> list[int]:
    return [hit.id for hit in index.search(query(0), words, 10, filters)]


def test_nearest_vectors_and_best_word_matches_are_both_found(index: VectorIndex) -> None:
    hits = {hit.id: hit for hit in index.search(query(1), "gripper", 1, EVERYTHING)}
    assert hits.keys() == {0, 1}
    assert hits[1].dense == pytest.approx(1.0)
    assert hits[1].sparse is None
    assert hits[0].dense is None
    assert hits[0].sparse is not None
    assert hits[0].sparse > 0


def test_words_of_a_heading_find_the_chunks_below_it(index: VectorIndex) -> None:
    hits = index.search(query(0), "swing phase", 10, EVERYTHING)
    assert max(hits, key=lambda hit: hit.sparse or 0).id == 2


def test_each_search_respects_the_limit(index: VectorIndex) -> None:
    hits = index.search(query(0), "gripper fingers legs", 2, EVERYTHING)
    assert sum(hit.dense is not None for hit in hits) == 2
    assert sum(hit.sparse is not None for hit in hits) == 2


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), [0, 1, 2, 3, 4]),
        (Filters(source_url_prefix=f"{SITE}/hands"), [0, 1]),
        (Filters(source_url_prefix="https://example.org/"), [0, 1, 2, 3]),
        (Filters(source_url_prefix="/book/hands"), [0, 1, 4]),
        (Filters(source_url_prefix="/book/"), [0, 1, 2, 3, 4]),
        (Filters(source_url_prefix="hands"), []),
        (Filters(source_url_prefix="/hands"), []),
        (Filters(section="Hands"), [0, 1]),
        (Filters(section="Fingers"), [1]),
        (Filters(section="Finger"), []),
        (Filters(section="گرفت"), [3]),
        (Filters(chapter="Body"), [0, 1, 3, 4]),
        (Filters(chapter="اردو"), [3]),
        (Filters(chapter="Body", section="Hands"), [0, 1]),
        (Filters(source_url_prefix="/book/hands", chapter="Tables"), [4]),
        (Filters(source_url_prefix=SITE, section="Fingers", chapter="Body"), [1]),
        (Filters(source_url_prefix=SITE, section="Fingers", chapter="Motion"), []),
    ],
    ids=str,
)
def test_all_filters_must_match(index: VectorIndex, filters: Filters, expected: list[int]) -> None:
    assert found(index, filters) == expected


def test_chunks_round_trip(index: VectorIndex) -> None:
    stored = index.chunks(range(len(CHUNKS)))
    assert [replace(item, row=-1) for item in stored] == CHUNKS


def test_position_zero_is_preserved(index: VectorIndex) -> None:
    assert [item.position for item in index.chunks([0, 1, 2])] == [0, 1, 0]


def test_chunks_are_returned_in_the_requested_order(index: VectorIndex) -> None:
    assert [item.chunk_id for item in index.chunks([3, 0, 2])] == [CHUNKS[i].chunk_id for i in (3, 0, 2)]
    assert index.chunks([]) == []


def test_question_of_stop_words_is_searched_by_vector_only(index: VectorIndex) -> None:
    hits = index.search(query(2), "what is the of and", 10, EVERYTHING)
    assert [hit.sparse for hit in hits] == [None] * len(CHUNKS)
    assert max(hits, key=lambda hit: hit.dense or 0).id == 2


@pytest.mark.parametrize("words", ["", " ", "\x00", "?!", "🤖", "ہاتھ", "ﬁngers", "x" * 40_000, "a" + "\u0301" * 500])
def test_unusual_questions_can_be_searched(index: VectorIndex, words: str) -> None:
    assert found(index, words=words) == [0, 1, 2, 3, 4]


def test_words_in_another_script_are_found(index: VectorIndex) -> None:
    hits = index.search(query(0), "روبوٹ", 10, EVERYTHING)
    assert [hit.id for hit in hits if hit.sparse is not None] == [3]


def test_search_is_deterministic(index: VectorIndex) -> None:
    def search() -> list[Hit]:
        return index.search(query(1), "fingers legs hands", 3, EVERYTHING)

    first = search()
    assert [hit.id for hit in first] == sorted(hit.id for hit in first)
    assert all(search() == first for _ in range(20))


def test_sentences_are_scored_by_their_own_vectors(index: VectorIndex) -> None:
    assert index.sentence_scores([0, 1, 4], query(1)) == pytest.approx([1.0, 1.0, 0.0])
    assert index.sentence_scores([], query(1)) == []


def test_sentence_vectors_belong_to_their_chunk(index: VectorIndex) -> None:
    items = index.chunks([4, 2])
    vectors = index.sentence_vectors(items)
    assert [len(rows) for rows in vectors] == [0, 2]
    assert np.array_equal(vectors[1], [axis(2), axis(3)])


def test_empty_index_finds_nothing(build: Build, tmp_path: Path) -> None:
    index = build(tmp_path, [])
    assert index.count() == 0
    assert index.search(query(0), "gripper", 10, Filters(section="Hands")) == []
    assert index.sentence_scores([], query(0)) == []


def test_count_is_the_number_of_chunks(index: VectorIndex) -> None:
    assert index.count() == len(CHUNKS)


def test_threads_can_share_one_index(index: VectorIndex) -> None:
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: found(index, Filters(chapter="Body")), range(80)))
    assert results == [[0, 1, 3, 4]] * 80


# The rest is specific to an index in files.


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("finished")
    build_edge(made, CHUNKS).close()
    return made


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """The folder of a finished shard that nobody is reading."""
    subprocess.run(["cp", "-a", finished, tmp_path / "copy"], check=True)
    return tmp_path / "copy"


def search_hands(folder: Path) -> list[int]:
    index = QdrantEdgeIndex(folder, DIMENSION)
    try:
        return found(index, Filters(section="Hands"))
    finally:
        index.close()


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def tree_hash(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_every_filter_field_has_a_payload_index(folder: Path) -> None:
    index = QdrantEdgeIndex(folder, DIMENSION)
    indexed = index._shard.info().payload_schema
    for field in fields(Filters):
        for value in ("/path", "https://address"):
            condition = _filter(Filters(**{field.name: value}))
            assert condition is not None
            assert {item.key for item in condition.must} <= indexed.keys()


@pytest.mark.slow
def test_processes_can_read_one_index_at_the_same_time(folder: Path) -> None:
    held = QdrantEdgeIndex(folder, DIMENSION)
    with ProcessPoolExecutor(3, multiprocessing.get_context("spawn")) as pool:
        results = list(pool.map(search_hands, [folder] * 6))
    assert results == [[0, 1]] * 6
    assert found(held, Filters(section="Hands")) == [0, 1]


def test_reading_does_not_change_the_files(folder: Path) -> None:
    before = tree_hash(folder)
    assert search_hands(folder) == [0, 1]
    assert tree_hash(folder) == before


def test_unreferenced_index_closes_its_files(folder: Path) -> None:
    search_hands(folder)
    before = open_descriptors()
    for _ in range(5):
        index = QdrantEdgeIndex(folder, DIMENSION)
        assert open_descriptors() > before
        del index
    assert open_descriptors() == before


def test_killed_reader_leaves_nothing_in_the_temporary_folder(folder: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    code = (
        "import os, signal, sys; from pathlib import Path;"
        "from glossator.store.index.qdrant_index import QdrantEdgeIndex;"
        f"index = QdrantEdgeIndex(Path(sys.argv[1]), {DIMENSION}); assert index.count() == {len(CHUNKS)};"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, folder], check=False, env={**os.environ, "TMPDIR": str(temporary)}
    )
    assert done.returncode == -signal.SIGKILL
    assert list(temporary.iterdir()) == []


def test_leftovers_of_a_reader_killed_while_opening_are_removed_later(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    old, fresh, other = (tmp_path / name for name in ("glossator-view-old", "glossator-view-new", "other"))
    for view in (old, fresh, other):
        view.mkdir()
        (view / "segments").symlink_to(folder / "shard" / "segments")
    for view in (old, other):
        os.utime(view, (0, 0))
    assert search_hands(folder) == [0, 1]
    assert {view.name for view in tmp_path.iterdir()} == {"copy", "glossator-view-new", "other"}


@pytest.mark.parametrize("lost", ["rows.npy", "sentences.f16", "shard/edge_config.json", "shard/segments"])
def test_missing_file_is_reported_as_corruption(folder: Path, lost: str) -> None:
    (folder / lost).rename(folder / "lost")
    with pytest.raises(IndexCorrupted, match="glossator ingest"):
        QdrantEdgeIndex(folder, DIMENSION)


@pytest.mark.parametrize("cut", ["rows.npy", "sentences.f16", "shard/edge_config.json"])
def test_truncated_file_is_reported_as_corruption(folder: Path, cut: str) -> None:
    os.truncate(folder / cut, 6)
    with pytest.raises(IndexCorrupted, match="glossator ingest"):
        QdrantEdgeIndex(folder, DIMENSION)


def test_missing_temporary_folder_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(StorageError, match="TMPDIR"):
        QdrantEdgeIndex(folder, DIMENSION)


def test_failed_write_closes_its_files(tmp_path: Path) -> None:
    before = open_descriptors()
    with pytest.raises(StorageError), QdrantEdgeWriter(tmp_path, DIMENSION) as writer:
        writer.add(CHUNKS[:1], [Embedding(np.ones(3, np.float32), np.zeros((2, 3), np.float16))], "")
    assert open_descriptors() == before
