"""Claims about another entity."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from lib.mutations.corpus import Corpus, SourceSentence
from lib.mutations.english import content, occurs, replace_span, shuffled
from lib.mutations.wordlists.nouns import NEAR_SYNONYMS


def entity(source: SourceSentence, corpus: Corpus, random: Random) -> Iterator[str]:
    passage, here = source.chunk.text.lower(), {source.chunk.document_id}
    for old in shuffled(corpus.find(source.sentence), random):
        known = corpus.occurrences[old.category] if old.category[0] != "noun" else {}
        others = [text for text, places in known.items() if places - here and text.lower() not in passage]
        best = similar_entities(old.text, others, corpus, random)
        if len(best) >= 3:
            yield replace_all(source.sentence, old.text, random.choice(best[:8]))


def entity_in_passage(source: SourceSentence, corpus: Corpus, random: Random) -> Iterator[str]:
    sentence, passage = source.sentence, source.chunk.text
    present = corpus.entities[source.chunk.chunk_id]
    found = shuffled(corpus.find(sentence), random)
    for old in sorted(found, key=lambda item: item.category[0] == "noun"):
        others = sorted(
            {new.text for new in present if new.category == old.category and not occurs(new.text, sentence)}
        )
        for new in similar_entities(old.text, others, corpus, random)[:2]:
            similarity = corpus.context_similarity(old.text, new)
            if not are_coordinated(old.text, new, passage) and (old.category[0] != "noun" or similarity > 0.3):
                yield replace_all(sentence, old.text, new)


def similar_entities(old: str, others: Sequence[str], corpus: Corpus, random: Random) -> list[str]:
    """Entities in similar contexts that do not mean the same, most similar first."""
    return sorted(
        (text for text in shuffled(others, random) if not may_be_same(old, text)),
        key=lambda text: corpus.context_similarity(old, text),
        reverse=True,
    )


def are_coordinated(one: str, other: str, passage: str) -> bool:
    """Whether the passage treats two entities similar_entities: `one and other`, `one (other)`, `one is other`."""
    link = r"\W*(?:,|\band\b|\bor\b|\(|\bis\b|\bare\b|\bas\b|/)\W*(?:(?:the|a|an|both|also|called|then)\b\W*)*"
    first, second = re.escape(one), re.escape(other)
    return bool(re.search(rf"{first}s?{link}{second}|{second}s?{link}{first}", passage, re.IGNORECASE))


def may_be_same(one: str, other: str) -> bool:
    """Whether two entities may mean the same thing."""
    first, second = content(one) or {one.lower()}, content(other) or {other.lower()}
    if one.lower() in other.lower() or other.lower() in one.lower() or first <= second or second <= first:
        return True
    heads = {word.lower().rsplit(maxsplit=1)[-1] for word in (one, other)}
    return any(heads <= group for group in NEAR_SYNONYMS)


def replace_all(sentence: str, old: str, new: str) -> str:
    """The sentence with every occurrence of a term replaced, but not inside another word."""
    for match in reversed(list(re.finditer(rf"(?<![\w./@-]){re.escape(old)}(?![\w/-]|\.\w)", sentence))):
        sentence = replace_span(sentence, *match.span(), new)
    return sentence
