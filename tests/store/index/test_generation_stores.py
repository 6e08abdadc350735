"""The contract of every store of generations: built aside, switched at once, safe from failures and other writers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import numpy as np
import pytest

from glossator.core.errors import IndexMismatch, IndexNotFound, IngestRunning
from glossator.core.ports import Generation, GenerationContents, GenerationStore
from glossator.core.types import Chunk, Embedding, Filters, Hit, QueryEmbedding
from glossator.store.index.generations import Generations
from index_stores import (
    FINGERPRINT,
    MakeStore,
    chunk_of,
    contents,
    index_chunks,
    ingest,
    manifest,
    page,
    query,
)

pytestmark = pytest.mark.slow


class CrashError(Exception):
    """An ingest that ends here."""


class CrashingSequence(Sequence[Embedding]):
    """Embeddings that cannot be read beyond a place."""

    def __init__(self, items: Sequence[Embedding], end: int) -> None:
        self._items, self._end = items, end

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, place: slice) -> Sequence[Embedding]:  # type: ignore[override]
        if place.stop > self._end:
            raise CrashError
        return self._items[place]


def versions(generation: Generation) -> set[str]:
    """The versions of all pages, by its chunks and by its documents."""
    ids = [hit.id for hit in generation.index.search(query(0), "version page", 100, Filters())]
    assert len(ids) == generation.manifest.chunks
    texts = [chunk.text for chunk in generation.index.chunks(ids)]
    texts += [document.text for document in generation.documents.all()]
    return {text.rpartition(" ")[2].rstrip(".") for text in texts}


def wait_for(store: GenerationStore, number: int | None) -> None:
    deadline = time.monotonic() + 20
    while store.current() != number:
        assert time.monotonic() < deadline, "the switch was not noticed"
        time.sleep(0.02)


def test_an_empty_index_has_no_generation(make_store: MakeStore) -> None:
    store = make_store("nothing")
    assert (store.current(), store.manifest(), store.latest_manifest(), store.fingerprint()) == (None, None, None, "")
    assert store.is_empty()
    with pytest.raises(IndexNotFound, match="glossator ingest FOLDER"):
        store.open(FINGERPRINT)


def test_a_generation_is_read_as_it_was_built(make_store: MakeStore) -> None:
    store = make_store("whole")
    number = ingest(store, "one")
    opened = make_store("whole").open(FINGERPRINT)
    expected = contents(8, "one")
    assert opened.manifest == manifest(number, 8, version="one")
    assert list(opened.documents.all()) == expected.documents
    assert opened.documents.get("3.md") == expected.documents[3]
    assert opened.documents.get("none.md") is None
    assert opened.documents.text("3.md") == opened.page_text("3.md") == expected.documents[3].text
    assert opened.documents.text("none.md") == ""
    assert opened.documents.image("3.png") == b"3.png one"
    assert opened.documents.image("none.png") is None
    assert [entry.document_id for entry in opened.documents.contents()] == [d.document_id for d in expected.documents]
    assert opened.documents.chunks_with(["version", "zebra"]) == {"version": 8, "zebra": 0}
    assert (opened.documents.chunk_count(), opened.index.count()) == (8, 8)
    assert [replace(item, row=-1) for item in opened.index.chunks(range(8))] == expected.chunks


def test_text_with_unusual_characters_is_stored(make_store: MakeStore) -> None:
    text = "A\tquote ' and \\ and \\N\nand 50% of {braces} and 🤖 ہاتھ \u2028 end."
    document = replace(page(0, "one"), text=text, title=text, url=f"https://example.org/{text}", chapters=(text,))
    store = make_store("characters")
    with store.ingest_lock():
        made = GenerationContents([document], [chunk_of(document)], contents(1, "one").embeddings)
        store.build(manifest(store.next_number(), 1), made)
    opened = store.open(FINGERPRINT)
    assert list(opened.documents.all()) == [document]
    assert replace(opened.index.chunks([0])[0], row=-1) == chunk_of(document)
    assert [hit.id for hit in opened.index.search(query(0), "", 5, Filters(chapter=text))] == [0]


def test_other_processes_notice_a_switch(make_store: MakeStore) -> None:
    writer, reader = make_store("noticed"), make_store("noticed")
    first = ingest(writer, "one")
    wait_for(reader, first)
    second = ingest(writer, "two")
    assert writer.current() == second
    wait_for(reader, second)
    assert versions(reader.open(FINGERPRINT)) == {"two"}


def test_an_open_generation_can_be_read_after_several_switches(make_store: MakeStore) -> None:
    store = make_store("held")
    ingest(store, "v0")
    held = store.open(FINGERPRINT)
    for version in ("v1", "v2", "v3"):
        ingest(store, version)
    assert versions(held) == {"v0"}
    assert held.documents.image("2.png") == b"2.png v0"
    assert versions(store.open(FINGERPRINT)) == {"v3"}


def test_searches_during_switches_see_one_whole_generation_each(make_store: MakeStore) -> None:
    store, reader = make_store("switched"), make_store("switched")
    ingest(store, "v0")
    done = Event()

    def read() -> list[set[str]]:
        seen = []
        while not done.is_set() or not seen:
            seen.append(versions(reader.open(FINGERPRINT)))
        return seen

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        try:
            for number in range(1, 5):
                ingest(store, f"v{number}", pages=8 + number)
        finally:
            done.set()
        seen = [each for thread in readers for each in thread.result()]
    assert all(len(each) == 1 for each in seen)


@pytest.mark.parametrize("moment", ["while writing", "at the check"])
def test_a_failed_build_leaves_the_current_generation_serving(make_store: MakeStore, moment: str) -> None:
    name = "failed" if moment == "while writing" else "rejected"
    store = make_store(name)
    first = ingest(store, "one")
    with pytest.raises(CrashError):  # noqa: SIM117 - the lock is released before the error is checked
        with store.ingest_lock():
            number = store.next_number()
            made = contents(8, "two")
            if moment == "while writing":
                made = replace(made, embeddings=CrashingSequence(made.embeddings, 0))
            store.build(manifest(number, 8, version="two"), made, crash if moment == "at the check" else unchecked)
    assert store.current() == make_store(name).current() == first
    assert versions(store.open(FINGERPRINT)) == {"one"}
    assert ingest(store, "three") > first
    assert versions(store.open(FINGERPRINT)) == {"three"}


def crash(_generation: Generation) -> None:
    raise CrashError


def unchecked(_generation: Generation) -> None:
    pass


def test_the_check_sees_the_whole_generation_before_readers_do(make_store: MakeStore) -> None:
    store = make_store("checked")
    first = ingest(store, "one")
    seen = []

    def check(generation: Generation) -> None:
        seen.append((versions(generation), store.current()))

    ingest(store, "two", check=check)
    assert seen == [({"two"}, first)]


def test_one_process_ingests_at_a_time(make_store: MakeStore) -> None:
    store, other = make_store("locked"), make_store("locked")
    with store.ingest_lock(), pytest.raises(IngestRunning, match="Wait"), other.ingest_lock():
        pass
    assert ingest(other, "one") == 1


def test_a_cleared_index_is_empty_and_can_be_filled_again(make_store: MakeStore) -> None:
    store = make_store("cleared")
    first = ingest(store, "one")
    with store.ingest_lock():
        store.clear()
    assert store.is_empty()
    assert store.manifest() is None
    with pytest.raises(IndexNotFound):
        store.open(FINGERPRINT)
    assert ingest(store, "two") > first, "a reader that has the first open would take the second for it"
    assert versions(store.open(FINGERPRINT)) == {"two"}


def test_a_rollback_returns_to_the_generation_before_and_a_second_one_to_the_last(make_store: MakeStore) -> None:
    store, reader = make_store("rolled"), make_store("rolled")
    first, second = ingest(store, "one"), ingest(store, "two", pages=9)
    for expected, version in ((first, "one"), (second, "two"), (first, "one")):
        with store.ingest_lock():
            assert store.roll_back(FINGERPRINT).generation == expected
        assert store.current() == expected
        wait_for(reader, expected)
        assert versions(reader.open(FINGERPRINT)) == {version}


def test_an_ingest_after_a_rollback_can_be_rolled_back(make_store: MakeStore) -> None:
    store = make_store("replaced")
    numbers = [ingest(store, "one"), ingest(store, "two")]
    with store.ingest_lock():
        store.roll_back(FINGERPRINT)
    numbers.append(ingest(store, "three"))
    assert numbers == sorted(set(numbers))
    assert versions(store.open(FINGERPRINT)) == {"three"}
    with store.ingest_lock():
        store.roll_back(FINGERPRINT)
    assert versions(store.open(FINGERPRINT)) == {"one"}


def test_there_is_nothing_to_roll_back_to_before_the_second_ingest(make_store: MakeStore) -> None:
    store = make_store("first")
    for _ in range(2):
        with store.ingest_lock(), pytest.raises(IndexNotFound, match="no previous generation"):
            store.roll_back(FINGERPRINT)
        if store.is_empty():
            ingest(store, "one")
    assert versions(store.open(FINGERPRINT)) == {"one"}


def test_a_rollback_to_an_index_of_another_model_is_refused(make_store: MakeStore) -> None:
    store = make_store("refused")
    ingest(store, "one")
    second = ingest(store, "two")
    with store.ingest_lock(), pytest.raises(IndexMismatch, match="other:4 is configured"):
        store.roll_back("other:4")
    assert store.current() == second


def test_an_index_of_another_model_is_rejected(make_store: MakeStore) -> None:
    store = make_store("mismatch")
    ingest(store, "one")
    with pytest.raises(IndexMismatch, match="other:4 is configured"):
        store.open("other:4")
    assert store.fingerprint() == FINGERPRINT


def test_documents_of_other_sources_are_read_for_the_next_ingest(make_store: MakeStore) -> None:
    store = make_store("sources")
    ingest(store, "one", pages=3)
    latest = store.latest_manifest()
    assert latest is not None
    some = replace(latest.sources[0], documents={"2.md": "", "0.md": ""})
    assert store.documents_of([some]) == [page(0, "one"), page(2, "one")]
    assert store.urls_of([some]) == {"https://example.org/0": "0.md", "https://example.org/2": "2.md"}
    assert store.documents_of([]) == []


def test_images_that_are_not_given_come_from_the_current_generation(make_store: MakeStore) -> None:
    store = make_store("images")
    ingest(store, "one", pages=2)
    with store.ingest_lock():
        made = replace(contents(2, "two"), image=lambda name: b"new" if name == "0.png" else None)
        store.build(manifest(store.next_number(), 2, version="two"), made)
    documents = store.open(FINGERPRINT).documents
    assert (documents.image("0.png"), documents.image("1.png")) == (b"new", b"1.png one")


WORDS = "robot walks gripper holds sensor motor balance torque joint camera".split()


def many_chunks(count: int) -> list[Chunk]:
    """Chunks whose words follow from their number."""
    chosen = np.random.default_rng(5).integers(0, len(WORDS), (count, 6))
    texts = [" ".join(WORDS[word] for word in words) for words in chosen]
    return [chunk_of(replace(page(n, "x"), text=f"{text} number{n}.")) for n, text in enumerate(texts)]


def test_all_indexes_rank_alike(make_store: MakeStore, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same scores as the embedded index, and so the same hits but for ties at the end of the list."""
    items = many_chunks(300)
    reference = index_chunks(Generations(tmp_path_factory.mktemp("reference")), items).index
    index = index_chunks(make_store("ranked"), items).index
    vectors = np.random.default_rng(6).normal(size=(10, 4)).astype(np.float32)
    for number, vector in enumerate(vectors):
        question = f"{WORDS[number]} and {WORDS[-number - 1]} number{7 * number}"
        asked = (QueryEmbedding(vector, vector), question, 40, Filters())
        expected, found = reference.search(*asked), index.search(*asked)
        for score in (lambda hit: hit.dense, lambda hit: hit.sparse):
            assert_same_scores(expected, found, score)


def assert_same_scores(expected: list[Hit], found: list[Hit], score: object) -> None:
    scored = [{hit.id: value for hit in hits if (value := score(hit)) is not None} for hits in (expected, found)]  # type: ignore[operator]
    assert sorted(scored[0].values()) == pytest.approx(sorted(scored[1].values()), rel=1e-4)
    last = min(scored[0].values(), default=0.0)
    for first, second in (scored, scored[::-1]):
        assert {i for i, value in first.items() if value > last + 1e-4} <= second.keys()
    for i in scored[0].keys() & scored[1].keys():
        assert scored[0][i] == pytest.approx(scored[1][i], rel=1e-4)
