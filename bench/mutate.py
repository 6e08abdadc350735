"""Labelled claims made from a book's own sentences, to calibrate and measure the check of a claim against a passage."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random

import glossator
import mutate_false as false
import mutate_true as true
from common import CACHE
from glossator.core.types import Chunk, Document
from glossator.ingest.chunk import chunk_document
from glossator.ingest.read import read_source
from mutate_language import Corpus, Source, plain, shuffled

MOST_PER_CHUNK = 3
Mutation = Callable[[Source, Corpus, Random], Iterable[str]]
UNSUPPORTED: tuple[Mutation, ...] = (
    false.number,
    false.unit,
    false.negation,
    false.modality,
    false.entity,
    false.entity_in_passage,
    false.antonym,
    false.quantifier,
    false.exchange,
    false.fabricated_clause,
    false.elsewhere,
    false.recombined,
)
SUPPORTED: tuple[Mutation, ...] = (
    true.verbatim,
    true.parenthesis,
    true.merged,
    true.clause,
    true.synonym,
    true.contraction,
    true.reformatted,
    true.markup,
    true.lead,
    true.connective,
)


@dataclass(frozen=True)
class Example:
    """A claim, the passage to check it against, and whether the passage supports it."""

    kind: str
    passage: str
    sentence: str
    claim: str
    supported: bool
    group: str


def examples(
    documents: Sequence[Document], chunks: Sequence[Chunk], seed: int = 0, per_kind: int = 150
) -> list[Example]:
    """Up to so many examples of each kind; the same seed gives the same ones."""
    known = {document.document_id for document in documents}
    corpus = Corpus([chunk for chunk in chunks if chunk.document_id in known])
    seen: set[str] = set()
    found: list[Example] = []
    for mutation in (*UNSUPPORTED, *SUPPORTED):
        found += of_kind(mutation, corpus, Random(f"{seed} {mutation.__name__}"), per_kind, seen)
    return found


def of_kind(mutation: Mutation, corpus: Corpus, random: Random, per_kind: int, seen: set[str]) -> list[Example]:
    """The first usable claim of each sentence, in random order, until there are enough."""
    found: list[Example] = []
    in_chunk: Counter[str] = Counter()
    for source in shuffled(corpus.sources, random):
        if len(found) == per_kind:
            break
        if in_chunk[source.chunk.chunk_id] == MOST_PER_CHUNK:
            continue
        claims = (claim for claim in mutation(source, corpus, random) if is_usable(mutation, source, claim, seen))
        if claim := next(iter(claims), None):
            seen.add(claim)
            in_chunk[source.chunk.chunk_id] += 1
            found.append(example(mutation, source, claim))
    return found


def is_usable(mutation: Mutation, source: Source, claim: str, seen: set[str]) -> bool:
    """New, unlike its sentence, and if it is to be unsupported, not in the passage anyway."""
    if claim in seen or (claim == source.sentence) != (mutation is true.verbatim):
        return False
    return mutation in SUPPORTED or plain(claim) not in plain(source.chunk.text)


def example(mutation: Mutation, source: Source, claim: str) -> Example:
    sentence = f"{source.sentence} {source.following}" if mutation is true.merged else source.sentence
    kind, passage, group = mutation.__name__, source.chunk.text, source.chunk.chunk_id
    return Example(kind, passage, sentence, claim, mutation in SUPPORTED, group)


def main() -> None:
    """Print how many claims of each kind a book gives, and three of each; nothing is embedded for it."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python bench/mutate.py BOOKDIR")
    documents = read_source(sys.argv[1], None, max_bytes=20_000_000).documents
    with glossator.open(CACHE / "index" / "mutate") as book:
        count_tokens = book.engine.embedder.count_tokens
        chunks = [chunk for document in documents for chunk in chunk_document(document, count_tokens)]
    made = examples(documents, chunks)
    for kind, count in Counter(item.kind for item in made).items():
        print(f"{kind}: {count}")
        for item in [item for item in made if item.kind == kind][:3]:
            print(f"    {item.sentence}\n -> {item.claim}")


if __name__ == "__main__":
    main()
