"""Chooses the sentences of a source that matter for a claim, so that the model reads little."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nlargest

from glossator.core.inference.reading import SourceText, extended_sentence
from glossator.core.types import Span

MAX_EVIDENCE_TOKENS = 110
"""Of the sentences that are read together with a claim."""
_MAX_RANKED = 16
"""Sentences with the most words of a claim that are considered, with their neighbours."""


def evidence_for(
    source: SourceText, sentences_with: Mapping[str, Sequence[int]], words: Collection[str], lengths: Sequence[int]
) -> SourceText:
    """The sentences of a source that matter for a claim with these words, given the length of each in tokens.

    `sentences_with` has the numbers of the sentences that contain a word.
    """
    if sum(lengths) <= MAX_EVIDENCE_TOKENS:
        return source
    return excerpt(source, chosen_sentences(sentences_with, words, lengths, MAX_EVIDENCE_TOKENS))


def excerpt(source: SourceText, sentences: Iterable[int]) -> SourceText:
    """Some sentences of a source."""
    parts, spans, start = [], [], 0
    for part in (extended_sentence(source, number).strip() for number in sentences):
        parts.append(part)
        spans.append(Span(start, start + len(part)))
        start += len(part) + 1
    return SourceText(source.headings, " ".join(parts), tuple(spans))


def chosen_sentences(
    sentences_with: Mapping[str, Sequence[int]], words: Collection[str], lengths: Sequence[int], max_tokens: int
) -> tuple[int, ...]:
    """The numbers of the sentences with the rarest of these words, in order, up to `max_tokens`.

    Each is chosen for the words that the ones before it do not have. The rest of the space goes to their neighbours,
    which pronouns may refer to.
    """
    weights = {word: 1 / len(sentences_with[word]) for word in words if word in sentences_with}
    shared: dict[int, dict[str, float]] = {}
    for word, weight in weights.items():
        for number in sentences_with[word]:
            shared.setdefault(number, {})[word] = weight
    best = nlargest(_MAX_RANKED, shared, key=lambda n: (sum(shared[n].values()), -n)) or range(_MAX_RANKED)
    left = {near for n in best for near in (n - 1, n, n + 1) if 0 <= near < len(lengths)}
    missing, chosen, space = set(weights), list[int](), max_tokens

    def gain(number: int) -> float:
        """What a sentence adds: new words first, then words that others have too, then the context of others."""
        own = shared.get(number, {})
        new = sum(weight for word, weight in own.items() if word in missing)
        beside = 0.1 * (number + 1 in chosen) + 0.05 * (number - 1 in chosen)
        return new + 0.3 * sum(own.values()) + beside

    while left:
        number = max(left, key=lambda n: (gain(n), -n))
        left.remove(number)
        if lengths[number] <= space or not chosen:
            chosen.append(number)
            space -= lengths[number]
            missing.difference_update(shared.get(number, ()))
    return tuple(sorted(chosen))
