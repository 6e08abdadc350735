"""Pairs: a claim or a question with the sentences of its passage that matter for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from tokenizers import Tokenizer

from glossator.core.inference.evidence import MAX_EVIDENCE_TOKENS, chosen_sentences
from reader.data.examples import Example, Text

WORD = re.compile(r"[^\W_]+")
STEM_LENGTH, MIN_STEM_LENGTH = 6, 3
FUNCTION_WORDS = frozenset(
    """
    the and for with that this from are was were has have had will would can could may might must shall should its their
    they them then than there these those when where which while who whom whose why how what does did not but into onto
    about also been being between both each more most other our out over such under upon very your you his her
    """.split()
)


@dataclass(frozen=True)
class Pair:
    """A text with the tokens of its evidence."""

    source: tuple[int, ...]
    text: Text

    @property
    def tokens(self) -> int:
        return len(self.source) + len(self.text.ids) - 1


Group = tuple[Pair, ...]
"""Texts about one passage; `pair` of a text is an index in it."""


class PairMaker:
    """Makes pairs of examples: for each text, the sentences of the passage that matter for it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._decode = tokenizer.decode
        self._stems: dict[tuple[str, int], dict[str, list[int]]] = {}

    def group(self, example: Example) -> Group:
        return tuple(Pair(self._source(example, text), text) for text in example.texts)

    def _source(self, example: Example, text: Text) -> tuple[int, ...]:
        ranges = [(a, b) for a, b in example.sentences if b > a and a > 0]
        if len(example.ids) <= MAX_EVIDENCE_TOKENS + 26 or len(ranges) < 2:
            return example.ids[: MAX_EVIDENCE_TOKENS + 60]
        key = (example.book, example.number)
        if key not in self._stems:
            self._stems[key] = _sentences_with([stems(self._decode(example.ids[a:b])) for a, b in ranges])
        lengths, words = [b - a for a, b in ranges], stems(self._decode(text.ids[1:-1]))
        chosen = chosen_sentences(self._stems[key], words, lengths, MAX_EVIDENCE_TOKENS)
        head = example.ids[: ranges[0][0]]
        body = [token for n in chosen for token in example.ids[slice(*ranges[n])]][: MAX_EVIDENCE_TOKENS + 60]
        return (*head, *body, example.ids[-1])

    def evidence_kept(self, example: Example, text: Text, pair: Pair) -> bool:
        """Whether the evidence of a question is among the sentences."""
        if not text.evidence:
            return True
        joined = " ".join(map(str, pair.source))
        parts = [example.ids[slice(*example.sentences[n])] for n in text.evidence if n < len(example.sentences)]
        return any(part and " ".join(map(str, part)) in joined for part in parts)


def stems(text: str) -> frozenset[str]:
    """The beginnings of the words of a text that carry meaning."""
    kept = (word for word in WORD.findall(text.casefold()) if word not in FUNCTION_WORDS)
    return frozenset(word[:STEM_LENGTH] for word in kept if len(word) >= MIN_STEM_LENGTH or word.isdigit())


def _sentences_with(found: Sequence[frozenset[str]]) -> dict[str, list[int]]:
    numbers: dict[str, list[int]] = {}
    for number, words in enumerate(found):
        for word in sorted(words):
            numbers.setdefault(word, []).append(number)
    return numbers


def some_questions(examples: Iterable[Example], share: float, random: Random) -> Iterator[Example]:
    """Examples with a share of their questions."""
    for example in examples:
        kept = [n for n, t in enumerate(example.texts) if t.answered is None or random.random() < share]
        place = {n: at for at, n in enumerate(kept)}
        texts = tuple(with_pair_at(example.texts[n], place) for n in kept)
        if texts:
            yield Example(example.book, example.number, example.ids, example.sentences, texts)


def with_pair_at(text: Text, place: dict[int, int]) -> Text:
    if text.pair is None:
        return text
    return replace(text, pair=place.get(text.pair))


def pair_batches(groups: Iterable[Group], max_tokens: int, random: Random) -> list[list[Group]]:
    """Groups of similar length together, in random order; long groups are cut into parts of a few pairs."""
    parts: list[Group] = []
    for group in groups:
        parts += list(_parts(group))
    found: list[list[Group]] = [[]]
    size = 0
    for part in sorted(parts, key=lambda g: max(p.tokens for p in g) + random.randrange(6)):
        tokens = sum(pair.tokens for pair in part)
        if found[-1] and size + tokens > max_tokens:
            found.append([])
            size = 0
        found[-1].append(part)
        size += tokens
    random.shuffle(found)
    return found


def _parts(group: Group) -> Iterator[Group]:
    """A false claim with its true one; every other pair alone."""
    used: set[int] = set()
    for n, pair in enumerate(group):
        other = pair.text.pair
        if other is not None and other not in used:
            used |= {n, other}
            yield (group[other], Pair(pair.source, with_pair_at(pair.text, {other: 0})))
    for n, pair in enumerate(group):
        if n not in used:
            yield (Pair(pair.source, with_pair_at(pair.text, {})),)
