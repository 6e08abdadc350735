"""Claims with made-up additions, or from elsewhere in the book."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from lib.mutations.corpus import Corpus, SourceSentence, is_statement
from lib.mutations.english import content, shuffled
from lib.mutations.wordlists.fabrications import PERSONS, PLACES, TEMPLATES
from lib.mutations.wordlists.grammar import POINTING

MAX_SHARED_WORDS = 0.3
"""Maximum share of the content words of a sentence from elsewhere that may be in the passage."""


def fabricated_clause(source: SourceSentence, corpus: Corpus, random: Random) -> Iterator[str]:
    sentence, passage, here = source.sentence, source.chunk.text.lower(), {source.chunk.document_id}
    if not is_statement(sentence, corpus) or not re.search(r"[a-z]\.$", sentence):
        return
    known = {f"the {text}": places for text, places in corpus.occurrences["term", "singular", "the"].items()}
    known = known if len(known) > 9 else known | corpus.occurrences["name", "1", "", "bare"]
    things = [
        text for text, places in known.items() if places - here and text.removeprefix("the ").lower() not in passage
    ]
    template = random.choice([template for template in TEMPLATES if things or "{thing}" not in template])
    yield sentence[:-1] + fill_template(template, things, random) + "."


def fill_template(template: str, things: list[str], random: Random) -> str:
    return template.format(
        thing=random.choice(things or [""]),
        person=random.choice(PERSONS),
        place=random.choice(PLACES),
        year=random.randint(1958, 2023),
        number=random.choice((3, 4, 6, 7, 12, 14, 18, 23, 35, 48, 64, 120, 250)),
        percent=random.choice((8, 12, 15, 17, 22, 28, 34, 37, 43, 62, 71)),
    )


def elsewhere(source: SourceSentence, corpus: Corpus, random: Random) -> Iterator[str]:
    present = content(source.chunk.text)
    for other in random.choices(corpus.sources, k=40):
        wanted = content(other.sentence)
        if other.chunk.document_id == source.chunk.document_id or re.match(POINTING, other.sentence):
            continue
        if len(wanted) >= 5 and len(wanted & present) <= MAX_SHARED_WORDS * len(wanted):
            yield other.sentence


def recombined(source: SourceSentence, corpus: Corpus, random: Random) -> Iterator[str]:
    """The first half of one sentence with the second half of another of the same passage."""
    here = [s.sentence for s in corpus.sources if s.chunk.chunk_id == source.chunk.chunk_id]
    for other in shuffled([sentence for sentence in here if sentence != source.sentence], random):
        first, second = source.sentence.split(), other.split()
        yield " ".join((*first[: len(first) // 2], *second[len(second) // 2 :]))
