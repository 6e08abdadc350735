"""Claims in which two noun phrases are exchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from lib.mutations.corpus import Corpus, SourceSentence
from lib.mutations.english import Word, capitalize_first, content, shuffled, tokens
from lib.mutations.inflection import ASYMMETRIC_THIRD, FINITE, PARTICIPLES, THIRD, VERBS, forms, is_plural, third_person
from lib.mutations.noun_phrases import is_plural_phrase, noun_phrase
from lib.mutations.wordlists.grammar import (
    ADVERBS,
    CLOSING,
    CONJUNCTIONS,
    DETERMINERS,
    FUNCTION_WORDS,
    LINKS,
    PREPOSITIONS,
)
from lib.mutations.wordlists.verbs import ASYMMETRIC_LINKS, ASYMMETRIC_PREPOSITIONS, ASYMMETRIC_VERBS

CharacterSpan = tuple[int, int]


def exchange(source: SourceSentence, corpus: Corpus, random: Random) -> Iterator[str]:
    words = tokens(source.sentence)
    ways = (around_verb, around_link, around_contrast)
    claims = [claim for way in ways for claim in way(source.sentence, words, corpus) if claim]
    yield from shuffled(claims, random)


def exchange_spans(sentence: str, one: CharacterSpan, other: CharacterSpan, middle: str, corpus: Corpus) -> str:
    """The sentence with two spans exchanged; empty if that would break brackets or a list."""
    first, second = sentence[slice(*one)], sentence[slice(*other)]
    is_listed = sentence[other[1] :].startswith(",") and second.split()[0] not in DETERMINERS
    if re.search(r"[()“”\"]", first + second) or is_listed or content(first) == content(second):
        return ""
    if corpus.lowercase_first(first) != first or one[0] == 0:
        first, second = corpus.lowercase_first(first), capitalize_first(second)
    return sentence[: one[0]] + second + middle + first + sentence[other[1] :]


def around_verb(sentence: str, words: Sequence[Word], corpus: Corpus) -> Iterator[str]:
    """Exchange subject and object of an asymmetric verb; the verb is made to agree with its new subject."""
    for begin in (place for place in range(len(words)) if opens_clause(words, place)):
        for stop in range(begin + 1, min(begin + 9, len(words) - 1)):
            if noun_phrase(words[:stop], begin, corpus) != stop or words[stop - 1].tail:
                continue
            verb = stop + (words[stop].lower in ADVERBS - {"not", "never"} or words[stop].text.endswith("ly"))
            after = after_verb(words, verb)
            end = noun_phrase(words, after, corpus) if after else after
            if end > after and ends_clause(words, end) and agrees(words, begin, stop, words[verb].text):
                one, other = (words[begin].start, words[stop - 1].end), (words[after].start, words[end - 1].end)
                finite = with_number(words[verb].text, is_plural_phrase(words, after, end))
                before = sentence[words[stop - 1].end : words[verb].start]
                middle = before + finite + sentence[words[verb].end : words[after].start]
                yield exchange_spans(sentence, one, other, middle, corpus)


def opens_clause(words: Sequence[Word], place: int) -> bool:
    """Whether a subject may begin here."""
    if place == 0 or words[place - 1].tail.endswith((";", ":")):
        return True
    before, here = words[place - 1], words[place]
    if before.text in ("that", "because", "when"):
        return here.lower in DETERMINERS or here.text[:1].isupper() or is_plural(here.text)
    if before.tail == ",":
        fronted = words[0].lower in CONJUNCTIONS | PREPOSITIONS
        return fronted and "," not in [word.tail for word in words[: place - 1]]
    return place > 1 and before.lower in ("and", "but", "so", "while") and words[place - 2].tail == ","


def after_verb(words: Sequence[Word], place: int) -> int:
    """The index after an asymmetric verb, or 0."""
    if place >= len(words) or words[place].tail:
        return 0
    texts = [word.text for word in words[place : place + 3]] + ["", ""]
    third = forms(texts[0])[1] if texts[0] not in THIRD else texts[0]
    if ASYMMETRIC_LINKS.get(third) == texts[1]:
        return place + 2
    if texts[0] in ASYMMETRIC_THIRD or texts[0] in ASYMMETRIC_VERBS:
        return place + 1
    if texts[0] in ("must", "can", "should", "will", "may") and texts[1] in ASYMMETRIC_VERBS:
        return place + 2
    passive = texts[0] in ("is", "are") and texts[1] in PARTICIPLES and texts[2] in ASYMMETRIC_PREPOSITIONS
    return place + 3 if passive else 0


def agrees(words: Sequence[Word], begin: int, end: int, verb: str) -> bool:
    if verb in ("must", "can", "should", "will", "may"):
        return True
    return is_plural_phrase(words, begin, end) == (verb not in THIRD and verb != "is")


def with_number(verb: str, plural: bool) -> str:
    """A finite verb made to agree with a subject."""
    if verb in ("is", "are"):
        return "are" if plural else "is"
    if verb in ("must", "can", "should", "will", "may"):
        return verb
    base = THIRD.get(verb, verb)
    return base if plural else third_person(base)


def ends_clause(words: Sequence[Word], place: int) -> bool:
    """Whether nothing depends on the noun phrase that ends here."""
    if words[place - 1].tail or place >= len(words):
        return not words[place - 1].tail.startswith(("(", "’", "'"))
    return words[place].lower in CLOSING


def around_link(sentence: str, words: Sequence[Word], corpus: Corpus) -> Iterator[str]:
    """Exchange X and Y in `from X to Y`, `X instead of Y`, `X is larger than Y`, `maps X to Y`."""
    for begin in range(len(words)):
        end = noun_phrase(words, begin, corpus)
        if end == begin or is_inside(words, begin) or words[end - 1].tail or end >= len(words):
            continue
        after = after_link(words, begin, end)
        close = noun_phrase(words, after, corpus) if after else after
        if close > after and ends_clause(words, close):
            one, other = (words[begin].start, words[end - 1].end), (words[after].start, words[close - 1].end)
            middle = sentence[words[end - 1].end : words[after].start]
            plural = is_plural_phrase(words, after, close)
            middle = re.sub(r"^ (?:is|are)\b", " are" if plural else " is", middle)
            yield exchange_spans(sentence, one, other, middle, corpus)


def is_inside(words: Sequence[Word], place: int) -> bool:
    """Whether the word before belongs to the same noun phrase."""
    if place == 0 or words[place - 1].tail:
        return False
    before = words[place - 1].lower
    others = FUNCTION_WORDS - DETERMINERS | FINITE | VERBS
    return before not in others and not before.endswith("ing")


def around_contrast(sentence: str, words: Sequence[Word], corpus: Corpus) -> Iterator[str]:
    """Exchange the two subjects of `X does this, while Y does that`."""
    stop = noun_phrase(words, 0, corpus)
    joints = [place for place in range(stop, len(words) - 2) if words[place].tail in (",", ";")]
    for place in joints if 0 < stop < len(words) and has_finite(words, stop) else ():
        begin = place + 1 + (words[place + 1].lower in ("while", "whereas", "and", "but"))
        end = noun_phrase(words, begin, corpus)
        plural = is_plural_phrase(words, 0, stop)
        if end > begin and has_finite(words, end) and is_plural_phrase(words, begin, end) == plural:
            one, other = (words[0].start, words[stop - 1].end), (words[begin].start, words[end - 1].end)
            yield exchange_spans(sentence, one, other, sentence[one[1] : other[0]], corpus)


def has_finite(words: Sequence[Word], place: int) -> bool:
    return place < len(words) and not words[place - 1].tail and words[place].lower in FINITE | VERBS


def after_link(words: Sequence[Word], begin: int, place: int) -> int:
    """The index after a link between two noun phrases, or 0."""
    texts = [word.lower for word in words[place : place + 4]] + ["", ""]
    before = words[begin - 1].lower if begin else ""
    measured = begin > 1 and words[begin - 2].lower in ("line", "distance", "ranges", "range", "varies", "anything")
    if texts[0] in LINKS.get(before, ()) and not measured:
        return place + 1
    if " ".join(texts[:2]) in ("instead of", "rather than"):
        return place + 2
    compared = texts[0] in ("is", "are") and "than" in texts[2:4] and re.search(r"er$|^(?:more|less|worse)$", texts[1])
    return place + texts.index("than") + 1 if compared and opens_clause(words, begin) else 0
