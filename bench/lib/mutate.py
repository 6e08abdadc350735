"""Generates labelled claims from the sentences of a book, to fit and measure the verifier."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random

import glossator
from glossator.core.types import Chunk, Document
from glossator.ingest.chunk import chunk_document
from glossator.ingest.read import read_source
from lib.common import CACHE
from lib.mutations import supported
from lib.mutations.corpus import Corpus, SourceSentence
from lib.mutations.english import plain, shuffled
from lib.mutations.unsupported import additions, entities, exchange, polarity, quantities

MAX_PER_CHUNK = 3
Mutation = Callable[[SourceSentence, Corpus, Random], Iterable[str]]
UNSUPPORTED: tuple[Mutation, ...] = (
    quantities.number,
    quantities.unit,
    polarity.negation,
    polarity.modality,
    entities.entity,
    entities.entity_in_passage,
    polarity.antonym,
    polarity.quantifier,
    exchange.exchange,
    additions.fabricated_clause,
    additions.elsewhere,
    additions.recombined,
)
SUPPORTED: tuple[Mutation, ...] = (
    supported.verbatim,
    supported.parenthesis,
    supported.merged,
    supported.clause,
    supported.synonym,
    supported.contraction,
    supported.reformatted,
    supported.markup,
    supported.lead,
    supported.connective,
)


@dataclass(frozen=True)
class MutatedClaim:
    """A claim, the passage to check it against, and whether the passage supports it."""

    kind: str
    passage: str
    sentence: str
    claim: str
    supported: bool
    group: str


def examples(
    documents: Sequence[Document], chunks: Sequence[Chunk], seed: int = 0, per_kind: int = 150
) -> list[MutatedClaim]:
    """Up to `per_kind` claims of each kind; the same seed gives the same claims."""
    known = {document.document_id for document in documents}
    corpus = Corpus([chunk for chunk in chunks if chunk.document_id in known])
    seen: set[str] = set()
    found: list[MutatedClaim] = []
    for mutation in (*UNSUPPORTED, *SUPPORTED):
        found += examples_of_kind(mutation, corpus, Random(f"{seed} {mutation.__name__}"), per_kind, seen)
    return found


def examples_of_kind(
    mutation: Mutation, corpus: Corpus, random: Random, per_kind: int, seen: set[str]
) -> list[MutatedClaim]:
    """The first usable claim of each sentence, in random order, up to `per_kind`."""
    found: list[MutatedClaim] = []
    in_chunk: Counter[str] = Counter()
    for source in shuffled(corpus.sources, random):
        if len(found) == per_kind:
            break
        if in_chunk[source.chunk.chunk_id] == MAX_PER_CHUNK:
            continue
        claims = (claim for claim in mutation(source, corpus, random) if is_usable(mutation, source, claim, seen))
        if claim := next(iter(claims), None):
            seen.add(claim)
            in_chunk[source.chunk.chunk_id] += 1
            found.append(example(mutation, source, claim))
    return found


def is_usable(mutation: Mutation, source: SourceSentence, claim: str, seen: set[str]) -> bool:
    """Whether a claim is new, differs from its sentence and, if unsupported, is not in the passage."""
    if claim in seen or (claim == source.sentence) != (mutation is supported.verbatim):
        return False
    return mutation in SUPPORTED or plain(claim) not in plain(source.chunk.text)


def example(mutation: Mutation, source: SourceSentence, claim: str) -> MutatedClaim:
    sentence = f"{source.sentence} {source.following}" if mutation is supported.merged else source.sentence
    kind, passage, group = mutation.__name__, source.chunk.text, source.chunk.chunk_id
    return MutatedClaim(kind, passage, sentence, claim, mutation in SUPPORTED, group)


def main() -> None:
    """Print the number of claims of each kind that a book gives, and three of each; nothing is embedded."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python bench/lib/mutate.py BOOKDIR")
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
