"""The contract of every vector index, run over each implementation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from glossator.core.ports import VectorIndex
from glossator.core.types import Chunk, Filters, Hit, Span
from index_stores import MakeStore, axis, embedding, index_chunks, query

EVERYTHING = Filters()


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
_CHUNKS = [
    chunk(0, "The gripper closes. It holds a cup.", url=f"{SITE}/hands", path=("Hands",), chapters=("Body", "Hands")),
    chunk(1, "Fingers bend. Tendons pull.", url=f"{SITE}/hands", path=("Hands", "Fingers"), chapters=("Body", "Hands")),
    chunk(
        0, "Legs swing. Feet land.", url=f"{SITE}/legs", path=("Legs", "Swing phase"), chapters=("Motion", "Walking")
    ),
    chunk(0, "ہاتھ پکڑتا ہے۔ روبوٹ چلتا ہے.", url=f"{SITE}/urdu", path=("ہاتھ", "گرفت"), chapters=("Body", "اردو")),
    chunk(0, "a table | of numbers", url="https://other.org/book/hands", path=("Tables",), chapters=("Body", "Tables")),
]
_VERSIONS = [("1.0",), ("1.0", "*"), ("2.0", "*"), (), ()]
CHUNKS = [replace(each, versions=versions) for each, versions in zip(_CHUNKS, _VERSIONS, strict=True)]


@pytest.fixture(scope="module")
def index(make_store: MakeStore) -> VectorIndex:
    return index_chunks(make_store("contract"), CHUNKS).index


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
        (Filters(version="1.0"), [0, 1]),
        (Filters(version="*"), [1, 2]),
        (Filters(version="*", chapter="Body"), [1]),
        (Filters(version="3.0"), []),
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


def test_empty_index_finds_nothing(make_store: MakeStore) -> None:
    index = index_chunks(make_store("empty"), []).index
    assert index.count() == 0
    assert index.search(query(0), "gripper", 10, Filters(section="Hands")) == []
    assert index.sentence_scores([], query(0)) == []


def test_count_is_the_number_of_chunks(index: VectorIndex) -> None:
    assert index.count() == len(CHUNKS)


def test_threads_can_share_one_index(index: VectorIndex) -> None:
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: found(index, Filters(chapter="Body")), range(80)))
    assert results == [[0, 1, 3, 4]] * 80


def test_embeddings_are_what_was_stored(index: VectorIndex) -> None:
    for number, stored in zip((3, 0, 4), index.embeddings([3, 0, 4]), strict=True):
        expected = embedding(number, CHUNKS[number])
        assert np.array_equal(stored.vector, expected.vector)
        assert np.array_equal(stored.sentences, expected.sentences)


@pytest.mark.parametrize("value", ["\x00", "'; DROP TABLE head; --", "%s", "{chunks}"])
def test_hostile_filters_match_nothing(index: VectorIndex, value: str) -> None:
    for filters in (Filters(section=value), Filters(chapter=value), Filters(source_url_prefix=value)):
        assert found(index, filters) == []
    assert index.count() == len(CHUNKS)
