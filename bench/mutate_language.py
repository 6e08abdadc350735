"""English as the claim generator needs it: tokens, inflection, pairs of words, and the names and nouns of a book."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from random import Random
from typing import TypeVar

import mutate_words as lists
from glossator.core.types import Chunk

T = TypeVar("T")

PASSAGE_WORDS = range(60, 301)
SENTENCE_WORDS = range(8, 46)
REFERENCE = "Listings?|Chapters?|Figures?|Fig\\.|Tables?|Sections?|Appendix|Steps?|Equations?|Exercises?|RFC|ISO|page"
NUMBER = r"(?<![\w.,$^+\-−–/=#:(])\d+(?:,\d{3})*(?:\.\d+)*(?![\w\-–^$/=:]|\.\w)"
NOUN_END = r"(?=[.,;:)]| (?:{})\b)".format("|".join(sorted(lists.FUNCTION_WORDS - lists.DETERMINERS)))
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
UNITS = frozenset(name for family in lists.UNIT_FAMILIES for name in family) | {"kA", "mΩ"}
CODE_SHAPES = frozenset(SHAPES) - {"acronym", "acronyms", "name"}


@dataclass(frozen=True)
class Source:
    """A sentence where it stands; `following` is the next one of the same paragraph."""

    chunk: Chunk
    sentence: str
    following: str


@dataclass(frozen=True)
class Entity:
    """A name, a code term or a noun phrase in a sentence; only those of one sort stand in for each other."""

    start: int
    end: int
    text: str
    sort: tuple[str, ...]


@dataclass(frozen=True)
class Token:
    """A word with its place and the punctuation that follows it."""

    text: str
    start: int
    end: int
    tail: str

    @property
    def lower(self) -> str:
        return self.text.lower()


def shuffled(items: Sequence[T], random: Random) -> list[T]:
    return random.sample(list(items), len(items))


def plain(text: str) -> str:
    """Only the words, for comparison."""
    return " ".join(re.findall(r"\w+", text.lower()))


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


@cache
def tokens(text: str) -> tuple[Token, ...]:
    found = []
    for match in re.finditer(r"\S+", text):
        opening = len(match[0]) - len(match[0].lstrip("([“\"'‘"))
        word = re.sub(r"(?<=.)(?:[.,;:?)\]”\"’']|(?<![a-z_])!)+$", "", match[0][opening:])
        word += "()" if match[0][opening:].startswith(word + "()") else ""
        start = match.start() + opening
        found.append(Token(word, start, start + len(word), text[start + len(word) : match.end()]))
    return tuple(found)


def stem(word: str) -> str:
    return re.sub(r"(?:ations?|ing|ed|es|ly|er|s|e)$", "", word) if len(word) > 4 else word


def content(text: str) -> set[str]:
    """The stems that carry meaning."""
    return {stem(word) for word in re.findall(r"[^\W\d_]{3,}", text.lower()) if word not in lists.FUNCTION_WORDS}


def occurs(text: str, sentence: str) -> bool:
    return bool(re.search(rf"(?<![\w-]){re.escape(text)}(?:s|es)?(?![\w-])", sentence, re.IGNORECASE))


def sounds_open(word: str) -> bool:
    """Whether `an` goes before it."""
    if re.match(r"[A-Z]{2,}", word):
        return word[0] in "AEFHILMNORSX"
    return bool(re.match(r"(?:8|11\b|18\b|hour|honest|heir|[aeiou](?!ni[^n]|s[eu]|ti|ne\b|u))", word.lower()))


def swap(sentence: str, start: int, end: int, new: str) -> str:
    """The sentence with other words in one place; the article before them is kept right."""
    head = re.sub(r"(?<!\S)([Aa])n? $", lambda found: found[1] + ("n " if sounds_open(new) else " "), sentence[:start])
    return head + (capital(new) if start == 0 and sentence[0].isupper() else new) + sentence[end:]


def number_places(sentence: str) -> list[tuple[int, int]]:
    """Where quantities stand, without names and references such as `ROS 2` and `Listing 3-2`."""
    names = "|".join(word for word, value in lists.NUMBER_WORDS.items() if 2 <= value <= 60)
    found = [match.span() for match in re.finditer(rf"{NUMBER}|\b(?:{names})\b(?!-)", sentence)]
    named = rf"(?:(?:{REFERENCE})(?: [\d-]+(?:,| and| to| through))*|\b[A-Z]\S*[A-Za-z]) $"
    return [(start, end) for start, end in found if start and not re.search(named, sentence[:start])]


# --- Inflection


@cache
def forms(verb: str) -> tuple[str, str, str, str, str]:
    """Base, third person, past, participle and gerund of a verb, of which only the first word changes."""
    base, _, rest = verb.partition(" ")
    ed = regular(base, "ed")
    past, participle, gerund = lists.IRREGULAR.get(base, (ed, ed, regular(base, "ing")))
    words = [f"{form} {rest}".strip() for form in (base, third_person(base), past, participle, gerund)]
    return words[0], words[1], words[2], words[3], words[4]


def third_person(verb: str) -> str:
    if verb in ("be", "have", "do"):
        return {"be": "is", "have": "has", "do": "does"}[verb]
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if re.search(r"(?:s|x|z|ch|sh|o)$", verb) else "s")


def regular(verb: str, ending: str) -> str:
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + ending
    if ending == "ed" and re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied"
    return verb + ending


def is_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is", "ics"))


VERBS = lists.ONE_WAY_VERBS | lists.OTHER_VERBS
THIRD = {forms(verb)[1]: verb for verb in VERBS}
PAST = frozenset(form for verb in VERBS for form in forms(verb)[2:4])
PARTICIPLES = frozenset(forms(verb)[3] for verb in VERBS)
FINITE = lists.AUXILIARIES | frozenset(THIRD) | PAST
ONE_WAY = {forms(verb)[1]: verb for verb in lists.ONE_WAY_VERBS}


# --- Pairs of words


@dataclass(frozen=True)
class Rule:
    """What a word may become; `place` says where in a sentence that form stands."""

    new: str
    place: str


def paired(verbs: list[tuple[str, str]], others: list[tuple[str, str]], both_ways: bool) -> dict[str, list[Rule]]:
    """Every inflected form of every pair."""
    rules: dict[str, list[Rule]] = defaultdict(list)
    for one, other in [*verbs, *((other, one) for one, other in verbs if both_ways)]:
        base, third, _, participle, gerund = zip(forms(one), forms(other), strict=True)
        past = "past" if len(set(forms(other)[2:4])) == 1 else "participle"
        for (old, new), place in zip((base, third, participle, gerund), ("base", "third", past, "any"), strict=True):
            rules[old].append(Rule(new, place))
    for one, other in [*others, *((other, one) for one, other in others if both_ways)]:
        rules[one].append(Rule(other, "any"))
    return dict(rules)


def graded(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Adjectives with their comparatives and superlatives."""
    return [*pairs, *((root(one) + end, root(other) + end) for one, other in pairs for end in ("er", "est"))]


def root(adjective: str) -> str:
    if adjective.endswith("y"):
        return adjective[:-1] + "i"
    doubled = re.search(r"^[^aeiou]*[aeiou][bdgt]$", adjective)
    return adjective + adjective[-1] if doubled else adjective.removesuffix("e")


def pair_places(sentence: str, rules: Mapping[str, list[Rule]], blocked: str) -> Iterator[tuple[int, int, list[str]]]:
    """Where a listed word stands in a fitting form, and what it may become."""
    closed = [match.span() for match in re.finditer(rf"\b(?:{blocked})(?!\w)", sentence, re.IGNORECASE)]
    for match in pattern_of(tuple(sorted(rules, key=len, reverse=True))).finditer(sentence):
        if any(start < match.end() and match.start() < end for start, end in closed):
            continue
        before = (["", *sentence[: match.start()].lower().split()])[-1]
        after = re.match(r" ?([^\W\d_]*)", sentence[match.end() :].lower())
        news = [rule.new for rule in rules[match[0].lower()] if fits(rule.place, before, after[1] if after else "")]
        if news and (match[0].islower() or (match.start() == 0 and match[0][1:].islower())):
            yield match.start(), match.end(), news


@cache
def pattern_of(keys: tuple[str, ...]) -> re.Pattern[str]:
    any_key = "|".join(map(re.escape, keys))
    return re.compile(rf"(?<![\w\-.@/])(?:{any_key})(?![\w\-/(]|\.\w|['’])", re.IGNORECASE)


def fits(place: str, before: str, after: str) -> bool:
    """Whether a form may stand between two words: nouns that look like verbs are left alone."""
    if place == "base":
        return before in lists.BEFORE_A_VERB
    if place == "third":
        is_noun = not before or before in lists.DETERMINERS - {"this", "that"} | lists.PREPOSITIONS
        return not is_noun and after in lists.DETERMINERS | lists.PREPOSITIONS | lists.PRONOUNS - {"", "of"}
    return place != "participle" or before in lists.AUXILIARIES


# --- The book


class Corpus:
    """What the whole book shows of its words: which are names, which are nouns, and where each entity stands."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.sources = [source for chunk in chunks for source in sources(chunk)]
        self.lower: Counter[str] = Counter()
        self.upper: Counter[str] = Counter()
        self.before: dict[str, Counter[str]] = defaultdict(Counter)
        for source in self.sources:
            self._count(source.sentence)
        self.terms = self._terms()
        self.entities: dict[str, list[Entity]] = defaultdict(list)
        self.standing: dict[tuple[str, ...], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.company: dict[str, Counter[str]] = defaultdict(Counter)
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

    def _place(self, source: Source) -> None:
        for entity in self.find(source.sentence):
            self.entities[source.chunk.chunk_id].append(entity)
            self.standing[entity.sort][entity.text].add(source.chunk.document_id)
            self.company[entity.text].update(company(source.sentence, entity))

    def is_name(self, word: str) -> bool:
        return word not in lists.NOT_NAMES and self.upper[word] >= 2 and self.upper[word] > 2 * self.lower[word.lower()]

    @cache  # noqa: B019
    def is_noun(self, word: str) -> bool:
        """Whether a word is often seen after an article and at the end of a phrase."""
        after = self.before.get(word)
        if not after or word in lists.FUNCTION_WORDS | lists.VAGUE_NOUNS or word.endswith(("ly", "ing", "ed")):
            return False
        articles = sum(after[article] for article in ("the", "a", "an"))
        return articles >= 2 and articles >= 0.12 * self.lower[word]

    def is_head(self, word: str) -> bool:
        """Whether a word is a noun in the singular or the plural."""
        return self.is_noun(word) or (word not in THIRD and self.is_noun(word.removesuffix("s")))

    def lowered(self, sentence: str) -> str:
        """The sentence as it goes on after other words: a name, a code term or an acronym keeps its capital."""
        first = tokens(sentence)[0].text
        if first == "I" or self.is_name(first) or not (first == "A" or re.fullmatch(r"[A-Z][a-z’'-]+", first)):
            return sentence
        known = first.lower() in lists.FUNCTION_WORDS or self.lower[first.lower()] > 0
        return sentence[:1].lower() + sentence[1:] if known else sentence

    def likeness(self, one: str, other: str) -> float:
        """How far two entities keep the same company."""
        first, second = self.company[one], self.company[other]
        shared = sum(times * second[word] for word, times in first.items())
        lengths = sum(times**2 for times in first.values()) * sum(times**2 for times in second.values())
        return shared / math.sqrt(lengths or 1)

    def _terms(self) -> set[str]:
        """Pairs and triples of words that recur as a phrase of their own."""
        whole: Counter[str] = Counter()
        bounded: Counter[str] = Counter()
        for source in self.sources:
            for phrase, is_bounded in phrases(source.sentence):
                whole[phrase] += 1
                bounded[phrase] += is_bounded
        often = [phrase for phrase, times in whole.items() if bounded[phrase] >= 2 and bounded[phrase] > 0.6 * times]
        return {phrase for phrase in often if self.is_head(phrase.split()[-1])}

    def find(self, sentence: str) -> list[Entity]:
        """The entities of a sentence, in order, none within another."""
        words = tokens(sentence)
        kept: list[Entity] = []
        for entity in (*self._phrases(sentence, words), *self._shaped(sentence, words), *self._nouns(sentence)):
            if all(entity.end <= other.start or entity.start >= other.end for other in kept):
                kept.append(entity)
        return sorted(kept, key=lambda entity: entity.start)

    def _phrases(self, sentence: str, words: Sequence[Token]) -> Iterator[Entity]:
        for length in (3, 2):
            for place in range(1, len(words) - length + 1):
                run, before = words[place : place + length], words[place - 1].lower
                text = sentence[run[0].start : run[-1].end]
                if text in self.terms and before in lists.FUNCTION_WORDS and ends_phrase(words, place + length):
                    yield Entity(run[0].start, run[-1].end, text, noun_sort("term", text, before))

    def _shaped(self, sentence: str, words: Sequence[Token]) -> Iterator[Entity]:
        place = 0
        while place < len(words):
            end = self._end_of_name(words, place)
            if end > place and stands_free(sentence, words, place, end):
                text = " ".join(word.text for word in words[place:end])
                yield Entity(words[place].start, words[end - 1].end, text, shaped_sort(words, place, end))
            place = max(end, place + 1)

    def _end_of_name(self, words: Sequence[Token], place: int) -> int:
        match = SHAPE.fullmatch(words[place].text)
        if not match or (match.lastgroup not in CODE_SHAPES and not self.is_name(words[place].text)):
            return place
        if words[place].text in UNITS or words[place].text in lists.NOT_NAMES:
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
                yield Entity(match.start(2), match.end(2), match[2], noun_sort("noun", match[2], match[1]))


def company(sentence: str, entity: Entity) -> list[str]:
    """The words at either side, marked with the side."""
    words = tokens(sentence)
    before = [word.lower for word in words if word.end <= entity.start][-2:]
    after = [word.lower for word in words if word.start >= entity.end][:2]
    return [f"{word} _" for word in before if word not in ("the", "a", "an")] + [f"_ {word}" for word in after]


def phrases(sentence: str) -> Iterator[tuple[str, bool]]:
    """Runs of two or three plain words, and whether the run is a whole phrase."""
    words = tokens(sentence)
    barred = lists.FUNCTION_WORDS | lists.COMMON_ADJECTIVES
    usable = [bool(re.fullmatch(r"[a-z][a-z-]+", word.text)) and word.text not in barred for word in words]
    for length in (2, 3):
        for place in range(1, len(words) - length + 1):
            run = words[place : place + length]
            if not all(usable[place : place + length]) or any(word.tail or word.text in THIRD for word in run[:-1]):
                continue
            starts = words[place - 1].lower in lists.DETERMINERS | lists.PREPOSITIONS
            if not run[0].text.endswith("ly"):
                yield sentence[run[0].start : run[-1].end], starts and ends_phrase(words, place + length)


def ends_phrase(words: Sequence[Token], place: int) -> bool:
    """Whether a noun phrase may end before this word."""
    if words[place - 1].tail or place == len(words):
        return True
    return words[place].lower in (lists.FUNCTION_WORDS - lists.DETERMINERS) | set(THIRD)


def stands_free(sentence: str, words: Sequence[Token], place: int, end: int) -> bool:
    """Whether a name is neither part of a longer one nor an explanation in brackets."""
    before = place > 0 and not words[place - 1].tail and words[place - 1].text[:1].isupper()
    before = before and (place > 1 or words[0].lower not in lists.FUNCTION_WORDS)
    after = end < len(words) and not words[end - 1].tail and words[end].text[:1].isupper()
    start = words[place].start
    opened = sentence[max(0, start - 1)] in "([" or sentence[words[end - 1].end :].startswith((" (", "("))
    numbered = end < len(words) and not words[end - 1].tail and bool(re.match(r"v?\d", words[end].text))
    return not (before or after or opened or numbered)


def noun_sort(kind: str, text: str, before: str) -> tuple[str, ...]:
    if is_plural(text):
        return (kind, "plural")
    if before in ("a", "an", "each", "every"):
        return (kind, "singular", "a")
    return (kind, "singular", "the" if before in lists.DETERMINERS else "bare")


def shaped_sort(words: Sequence[Token], place: int, end: int) -> tuple[str, ...]:
    """What it looks like, what it is called (`the ... trait`) and whether a determiner stands before it."""
    shape = SHAPE.fullmatch(words[place].text)
    after = words[end].lower if end < len(words) and not words[end - 1].tail else ""
    called = after if after in lists.CLASS_NOUNS else ""
    if after and not called and after not in FINITE | lists.FUNCTION_WORDS:
        called = "modifier"
    before = place > 0 and words[place - 1].lower in lists.DETERMINERS
    return (shape.lastgroup or "" if shape else "", str(end - place), called, "determined" if before else "bare")


def sources(chunk: Chunk) -> Iterator[Source]:
    """The prose sentences of a passage of middling length."""
    if len(chunk.text.split()) not in PASSAGE_WORDS:
        return
    for span, after in zip_longest(chunk.sentences, chunk.sentences[1:]):
        sentence = chunk.text[span.start : span.end]
        together = after is not None and not chunk.text[span.end : after.start].strip(" ")
        following = chunk.text[after.start : after.end] if together else ""
        if is_prose(sentence):
            yield Source(chunk, sentence, following if is_prose(following) else "")


def is_prose(sentence: str) -> bool:
    """A whole sentence of words: no listing, no row, no formula, no label."""
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


SUBJECTS = lists.DETERMINERS | lists.PRONOUNS | lists.words("all most many some several few both two three")


def is_statement(sentence: str, corpus: Corpus) -> bool:
    """Whether it begins with a subject, so that it is neither a command nor an adjunct."""
    first = tokens(sentence)[0].text
    named = corpus.is_name(first) or (SHAPE.fullmatch(first) and not first.isalpha())
    return first.lower() in SUBJECTS or bool(named) or (is_plural(first) and corpus.is_head(first.lower()))
