"""The sentences of a book, and the names, nouns and terms in them."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest

from glossator.core.types import Chunk
from lib.mutations.english import Word, tokens
from lib.mutations.inflection import FINITE, THIRD, VERBS, is_plural
from lib.mutations.wordlists.grammar import COMMON_ADJECTIVES, DETERMINERS, FUNCTION_WORDS, PREPOSITIONS, PRONOUNS
from lib.mutations.wordlists.notation import word_set
from lib.mutations.wordlists.nouns import CLASS_NOUNS, NOT_NAMES, VAGUE_NOUNS
from lib.mutations.wordlists.quantities import UNIT_FAMILIES

PASSAGE_WORDS = range(60, 301)
SENTENCE_WORDS = range(8, 46)
NOUN_END = r"(?=[.,;:)]| (?:{})\b)".format("|".join(sorted(FUNCTION_WORDS - DETERMINERS)))
SHAPES = {
    "flag": r"--[a-z][\w-]+",
    "package": r"@[\w-]+/[\w-]+",
    "call": r"[\w.:]+\(\)",
    "macro": r"[a-z_]+!",
    "qualified": r"\w+(?:::\w+)+",
    "generic": r"\w+<[\w&, ]+>",
    "file": r"[\w-]+(?:\.\w+)*\.(?:jsx?|tsx?|json|mdx?|rs|toml|css|ya?ml|html|py|txt|xml|sh|lock)",
    "path": r"(?:\.{0,2}/)[\w./-]+|[\w-]+(?:/[\w-]+)*/",
    "constant": r"[A-Z]+(?:_[A-Z0-9]+)+",
    "snake": r"[a-z0-9]+(?:_[a-z0-9]+)+",
    "dotted": r"[a-z]{3,}(?:\.[a-z]\w+)+",
    "camel": r"[a-z]+[A-Z]\w*",
    "primitive": r"[iuf](?:8|16|32|64|128|size)",
    "pascal": r"[A-Z][a-z0-9]+[A-Z]\w*",
    "acronym": r"[A-Z]{2,6}(?:-\d+)?",
    "acronyms": r"[A-Z]{2,6}s",
    "name": r"[A-Z][a-z]{2,}",
}
SHAPE = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in SHAPES.items()))
UNITS = frozenset(name for family in UNIT_FAMILIES for name in family) | {"kA", "mΩ"}
CODE_SHAPES = frozenset(SHAPES) - {"acronym", "acronyms", "name"}


@dataclass(frozen=True)
class SourceSentence:
    """A sentence and its chunk; `following` is the next sentence of the same paragraph."""

    chunk: Chunk
    sentence: str
    following: str


@dataclass(frozen=True)
class Entity:
    """A name, a code term or a noun phrase in a sentence; only entities of one category replace each other."""

    start: int
    end: int
    text: str
    category: tuple[str, ...]


class Corpus:
    """The sentences of a book, its names and nouns, and where each entity occurs."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.sources = [source for chunk in chunks for source in sources(chunk)]
        self.lower: Counter[str] = Counter()
        self.upper: Counter[str] = Counter()
        self.before: dict[str, Counter[str]] = defaultdict(Counter)
        for source in self.sources:
            self._count(source.sentence)
        self.terms = self._terms()
        self.entities: dict[str, list[Entity]] = defaultdict(list)
        self.occurrences: dict[tuple[str, ...], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.contexts: dict[str, Counter[str]] = defaultdict(Counter)
        for source in self.sources:
            self._place(source)

    def _count(self, sentence: str) -> None:
        for place, token in enumerate(tokens(sentence)):
            if token.text.islower():
                self.lower[token.text] += 1
            elif place and token.text[:1].isupper():
                self.upper[token.text] += 1
        for match in re.finditer(rf"\b(\w+) ([a-z]{{4,}}){NOUN_END}", sentence):
            self.before[match[2]][match[1].lower()] += 1

    def _place(self, source: SourceSentence) -> None:
        for entity in self.find(source.sentence):
            self.entities[source.chunk.chunk_id].append(entity)
            self.occurrences[entity.category][entity.text].add(source.chunk.document_id)
            self.contexts[entity.text].update(context_words(source.sentence, entity))

    def is_name(self, word: str) -> bool:
        return word not in NOT_NAMES and self.upper[word] >= 2 and self.upper[word] > 2 * self.lower[word.lower()]

    @cache  # noqa: B019
    def is_noun(self, word: str) -> bool:
        """Whether a word often follows an article and ends a phrase."""
        after = self.before.get(word)
        if not after or word in FUNCTION_WORDS | VAGUE_NOUNS or word.endswith(("ly", "ing", "ed")):
            return False
        articles = sum(after[article] for article in ("the", "a", "an"))
        return articles >= 2 and articles >= 0.12 * self.lower[word]

    def is_head(self, word: str) -> bool:
        """Whether a word is a noun in the singular or the plural."""
        return self.is_noun(word) or (word not in THIRD and self.is_noun(word.removesuffix("s")))

    def lowercase_first(self, sentence: str) -> str:
        """The sentence as it follows other words; a name, a code term or an acronym keeps its capital."""
        first = tokens(sentence)[0].text
        if first == "I" or self.is_name(first) or not (first == "A" or re.fullmatch(r"[A-Z][a-z’'-]+", first)):
            return sentence
        known = first.lower() in FUNCTION_WORDS or self.lower[first.lower()] > 0
        return sentence[:1].lower() + sentence[1:] if known else sentence

    def context_similarity(self, one: str, other: str) -> float:
        """Cosine similarity of the words around two entities."""
        first, second = self.contexts[one], self.contexts[other]
        shared = sum(times * second[word] for word, times in first.items())
        lengths = sum(times**2 for times in first.values()) * sum(times**2 for times in second.values())
        return shared / math.sqrt(lengths or 1)

    def _terms(self) -> set[str]:
        """Pairs and triples of words that recur as a phrase."""
        whole: Counter[str] = Counter()
        bounded: Counter[str] = Counter()
        for source in self.sources:
            for phrase, is_bounded in phrases(source.sentence):
                whole[phrase] += 1
                bounded[phrase] += is_bounded
        often = [phrase for phrase, times in whole.items() if bounded[phrase] >= 2 and bounded[phrase] > 0.6 * times]
        return {phrase for phrase in often if self.is_head(phrase.split()[-1])}

    def find(self, sentence: str) -> list[Entity]:
        """The entities of a sentence, in order and without overlaps."""
        words = tokens(sentence)
        kept: list[Entity] = []
        for entity in (*self._phrases(sentence, words), *self._shaped(sentence, words), *self._nouns(sentence)):
            if all(entity.end <= other.start or entity.start >= other.end for other in kept):
                kept.append(entity)
        return sorted(kept, key=lambda entity: entity.start)

    def _phrases(self, sentence: str, words: Sequence[Word]) -> Iterator[Entity]:
        for length in (3, 2):
            for place in range(1, len(words) - length + 1):
                run, before = words[place : place + length], words[place - 1].lower
                text = sentence[run[0].start : run[-1].end]
                if text in self.terms and before in FUNCTION_WORDS and ends_phrase(words, place + length):
                    yield Entity(run[0].start, run[-1].end, text, noun_category("term", text, before))

    def _shaped(self, sentence: str, words: Sequence[Word]) -> Iterator[Entity]:
        place = 0
        while place < len(words):
            end = self._end_of_name(words, place)
            if end > place and is_separate(sentence, words, place, end):
                text = " ".join(word.text for word in words[place:end])
                yield Entity(words[place].start, words[end - 1].end, text, shape_category(words, place, end))
            place = max(end, place + 1)

    def _end_of_name(self, words: Sequence[Word], place: int) -> int:
        match = SHAPE.fullmatch(words[place].text)
        if not match or (match.lastgroup not in CODE_SHAPES and not self.is_name(words[place].text)):
            return place
        if words[place].text in UNITS or words[place].text in NOT_NAMES:
            return place
        end = place + 1
        while (
            match.lastgroup == "name" and end < len(words) and not words[end - 1].tail and self.is_name(words[end].text)
        ):
            end += 1
        return end

    def _nouns(self, sentence: str) -> Iterator[Entity]:
        for match in re.finditer(rf"\b(the|a|an|its|each|every) ([a-z]{{4,}}){NOUN_END}", sentence):
            if self.is_noun(match[2]):
                yield Entity(match.start(2), match.end(2), match[2], noun_category("noun", match[2], match[1]))


def context_words(sentence: str, entity: Entity) -> list[str]:
    """The two words on either side of an entity, each marked with its side."""
    words = tokens(sentence)
    before = [word.lower for word in words if word.end <= entity.start][-2:]
    after = [word.lower for word in words if word.start >= entity.end][:2]
    return [f"{word} _" for word in before if word not in ("the", "a", "an")] + [f"_ {word}" for word in after]


def phrases(sentence: str) -> Iterator[tuple[str, bool]]:
    """Runs of two or three plain words, and whether each is a whole phrase."""
    words = tokens(sentence)
    barred = FUNCTION_WORDS | COMMON_ADJECTIVES
    usable = [bool(re.fullmatch(r"[a-z][a-z-]+", word.text)) and word.text not in barred for word in words]
    for length in (2, 3):
        for place in range(1, len(words) - length + 1):
            run = words[place : place + length]
            if not all(usable[place : place + length]) or any(word.tail or word.text in THIRD for word in run[:-1]):
                continue
            starts = words[place - 1].lower in DETERMINERS | PREPOSITIONS
            if not run[0].text.endswith("ly"):
                yield sentence[run[0].start : run[-1].end], starts and ends_phrase(words, place + length)


def ends_phrase(words: Sequence[Word], place: int) -> bool:
    """Whether a noun phrase may end before this word."""
    if words[place - 1].tail or place == len(words):
        return True
    return words[place].lower in (FUNCTION_WORDS - DETERMINERS) | set(THIRD)


def is_separate(sentence: str, words: Sequence[Word], place: int, end: int) -> bool:
    """Whether a name is neither part of a longer name nor in brackets."""
    before = place > 0 and not words[place - 1].tail and words[place - 1].text[:1].isupper()
    before = before and (place > 1 or words[0].lower not in FUNCTION_WORDS)
    after = end < len(words) and not words[end - 1].tail and words[end].text[:1].isupper()
    start = words[place].start
    opened = sentence[max(0, start - 1)] in "([" or sentence[words[end - 1].end :].startswith((" (", "("))
    numbered = end < len(words) and not words[end - 1].tail and bool(re.match(r"v?\d", words[end].text))
    return not (before or after or opened or numbered)


def noun_category(kind: str, text: str, before: str) -> tuple[str, ...]:
    if is_plural(text):
        return (kind, "plural")
    if before in ("a", "an", "each", "every"):
        return (kind, "singular", "a")
    return (kind, "singular", "the" if before in DETERMINERS else "bare")


def shape_category(words: Sequence[Word], place: int, end: int) -> tuple[str, ...]:
    """The shape of a name, its class (`the ... trait`), and whether a determiner comes before it."""
    shape = SHAPE.fullmatch(words[place].text)
    after = words[end].lower if end < len(words) and not words[end - 1].tail else ""
    called = after if after in CLASS_NOUNS else ""
    if after and not called and after not in FINITE | FUNCTION_WORDS:
        called = "modifier"
    before = place > 0 and words[place - 1].lower in DETERMINERS
    return (shape.lastgroup or "" if shape else "", str(end - place), called, "determined" if before else "bare")


def sources(chunk: Chunk) -> Iterator[SourceSentence]:
    """The prose sentences of a chunk of medium length."""
    if len(chunk.text.split()) not in PASSAGE_WORDS:
        return
    for span, after in zip_longest(chunk.sentences, chunk.sentences[1:]):
        sentence = chunk.text[span.start : span.end]
        together = after is not None and not chunk.text[span.end : after.start].strip(" ")
        following = chunk.text[after.start : after.end] if together else ""
        if is_prose(sentence):
            yield SourceSentence(chunk, sentence, following if is_prose(following) else "")


def is_prose(sentence: str) -> bool:
    """Whether a sentence is whole prose, and not a listing, table row, formula or label."""
    words = sentence.split()
    if len(words) not in SENTENCE_WORDS or not re.match(r"[A-Z][\w’',:-]*$|[\w.@:/<>()-]+$", words[0]):
        return False
    odd = r"[\n|\\{}\[\]$=…→]|[\U0001F300-\U0001FAFF✅]|https?:|\.\.\.|: [A-Z].*:|[\w)]\. [A-Z]"
    if not re.search(r"[\w)%”\"'’°]\.$", sentence) or re.search(odd, sentence):
        return False
    if not any(word.lower in FINITE | VERBS or re.search(r"\w['’]\w", word.text) for word in tokens(sentence)):
        return False
    letters = sum(word.strip(".,;:()").isalpha() for word in words)
    return letters >= 0.7 * len(words) and sentence.count("(") == sentence.count(")") and not words[0].endswith(":")


SUBJECTS = DETERMINERS | PRONOUNS | word_set("all most many some several few both two three")


def is_statement(sentence: str, corpus: Corpus) -> bool:
    """Whether a sentence begins with its subject."""
    first = tokens(sentence)[0].text
    named = corpus.is_name(first) or (SHAPE.fullmatch(first) and not first.isalpha())
    return first.lower() in SUBJECTS or bool(named) or (is_plural(first) and corpus.is_head(first.lower()))
