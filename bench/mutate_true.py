"""Claims that the passage supports: a true sentence is worded or marked up otherwise, or shortened."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from random import Random

import mutate_words as lists
from mutate_language import (
    CODE_SHAPES,
    FINITE,
    NUMBER,
    VERBS,
    Corpus,
    Source,
    capital,
    is_statement,
    number_places,
    pair_places,
    paired,
    shuffled,
    swap,
    tokens,
)

SYNONYMS = paired(lists.SYNONYM_VERBS, lists.SYNONYM_PLAIN, both_ways=False)


def verbatim(source: Source, _corpus: Corpus, _random: Random) -> Iterator[str]:
    yield source.sentence


def parenthesis(source: Source, _corpus: Corpus, random: Random) -> Iterator[str]:
    options = [claim for way in (without_brackets, without_dashes, without_examples) for claim in way(source.sentence)]
    yield from (claim for claim in shuffled(options, random) if len(claim.split()) >= 6)


def without_brackets(sentence: str) -> Iterator[str]:
    for match in re.finditer(r"(?<!,) \(([A-Za-z][^()]{2,})\)(?=[\s.,;:])", sentence):
        if not re.search(lists.RESTRICTING, match[1]):
            yield sentence[: match.start()] + sentence[match.end() :]


def without_dashes(sentence: str) -> Iterator[str]:
    for match in re.finditer(r" ?[—–] ?([^—–]{3,}?) ?[—–] ?(?=[a-z])", sentence):
        if not re.search(lists.RESTRICTING, match[1]) and " " in match[1]:
            yield f"{sentence[: match.start()]} {sentence[match.end() :]}"


def without_examples(sentence: str) -> Iterator[str]:
    """Without `such as ...` at the end or between two commas, and without a bare `for example`."""
    for match in re.finditer(r", (?:such as|for example|for instance|including|like) ([^;:.()]{3,})(?=\.$)", sentence):
        words = tokens(match[1])
        commas = [place for place, word in enumerate(words) if word.tail]
        later = words[commas[0] :] if commas else ()
        if not any(word.lower in FINITE | VERBS | lists.RELATIVES or "’" in word.text for word in later):
            yield sentence[: match.start()] + sentence[match.end() :]
    for match in re.finditer(r", (?:such as|including) [^,;:.()]{3,},(?= (\w+) (\w+))", sentence):
        first, second = match[1], match[2]
        if first in FINITE or (first in ("and", "but", "or") and second in FINITE):
            yield sentence[: match.start()] + sentence[match.end() :]
    for match in re.finditer(r", (?:for example|for instance|of course|in turn|in fact|in particular),", sentence):
        yield sentence[: match.start()] + sentence[match.end() :]


def merged(source: Source, corpus: Corpus, random: Random) -> Iterator[str]:
    first, second = source.sentence, source.following
    if not second or len((first + second).split()) > 60 or re.match(r"(?:But|And|Or|So|Yet)\b", second):
        return
    can_join = is_statement(second, corpus) and ";" not in first and not re.match(r"(?:If|When)\b", first)
    joint = random.choice(("; ", ", and ")) if can_join else "; "
    yield first[:-1] + joint + corpus.lowered(second)


def clause(source: Source, corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    joints = list(re.finditer(r"; |, (?:and|but|whereas|so(?! that)) ", sentence))
    if (
        len(joints) != 1
        or sentence.count(":")
        or re.match(r"(?:If|When|For|To|In|By|With|On|At|As|While|Once|Because|Since|After|Before)\b", sentence)
    ):
        return
    first, second = sentence[: joints[0].start()], sentence[joints[0].end() :]
    scoped = joints[0][0] != "; " and lists.SUBORDINATORS & set(first.lower().split())
    if scoped or not (stands_alone(first, corpus) and stands_alone(second, corpus)):
        return
    pointing = re.match(r"(?:it|they|this|that|these|those|he|she|its|their|there|both|such|then|otherwise)\b", second)
    yield from shuffled([first + "."] + ([] if pointing else [capital(second)]), random)


def stands_alone(text: str, corpus: Corpus) -> bool:
    """Whether a text is a subject with a finite verb near it."""
    words = tokens(text)
    if len(words) < 5 or not is_statement(text, corpus):
        return False
    for place, word in enumerate(words[1:8], 1):
        if word.lower in FINITE or (words[0].lower in ("you", "we", "they") and place == 1):
            return True
        if word.lower in lists.RELATIVES | lists.CONJUNCTIONS - {"and", "or"} or words[place - 1].tail:
            return False
    return False


def synonym(source: Source, _corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    places = shuffled(list(pair_places(sentence, SYNONYMS, lists.SYNONYM_BLOCKED)), random)[: random.choice((1, 1, 2))]
    for start, end, news in sorted(places, reverse=True):
        sentence = swap(sentence, start, end, random.choice(news))
    yield sentence


def contraction(source: Source, _corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    spans = [
        (match.span(), new) for old, new in contraction_rules() for match in re.finditer(old, sentence, re.IGNORECASE)
    ]
    for (start, end), new in shuffled(spans, random):
        yield swap(sentence, start, end, capital(new) if sentence[start].isupper() else new)


@cache
def contraction_rules() -> tuple[tuple[str, str], ...]:
    """Both ways; a contraction that may stand for two things is left alone."""
    rules = []
    for full, short in lists.CONTRACTIONS:
        rules.append((rf"\b{full}\b" + lists.BEFORE_CONTRACTED.get(full.split()[-1], ""), short))
        guard = r"(?! (?:been|got|had|become|gone|done)\b)" if short.endswith("'s") else ""
        rules.append((rf"\b{short}\b{guard}".replace("'", "['’]"), full))
    return tuple(rules)


def reformatted(source: Source, _corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    options = shuffled([*percents(sentence), *conversions(sentence)], random) + shuffled([*spelled(sentence)], random)
    for start, end, new in options:
        yield swap(sentence, start, end, new)


def percents(sentence: str) -> Iterator[tuple[int, int, str]]:
    for match in re.finditer(r"(?<=\d) ?%(?=[\s.,;)])", sentence):
        yield match.start(), match.end(), " percent"
    for match in re.finditer(r"(?<=\d) per ?cent\b", sentence):
        yield match.start(), match.end(), "%"


def conversions(sentence: str) -> Iterator[tuple[int, int, str]]:
    """The same quantity in another unit, where both numbers stay short."""
    for large, small, factor in lists.CONVERSIONS:
        for name, other, scale in ((large, small, Decimal(factor)), (small, large, 1 / Decimal(factor))):
            for match in re.finditer(rf"{NUMBER} ({name})(?![\w·/²³^])(?! (?:of|squared|per|to|and|or)\b)", sentence):
                if re.search(r"\d\S* (?:\w+ )?(?:to|and|or|by|[×x]) $|between $|from $", sentence[: match.start()]):
                    continue
                value = (
                    (Decimal(match[0].split()[0].replace(",", "")) * scale).quantize(Decimal("0.000001")).normalize()
                )
                if 1 <= value < 10000 or (value >= Decimal("0.01") and len(value.as_tuple().digits) <= 2):
                    yield match.start(), match.end(), f"{value:,f} {other}"


def spelled(sentence: str) -> Iterator[tuple[int, int, str]]:
    """Digits as words, words as digits, and thousands with or without a comma."""
    for start, end in number_places(sentence):
        text = sentence[start:end]
        if text in lists.NUMBER_WORDS and not re.match(r"-| (?:hundred|thousand|million)", sentence[end:]):
            yield start, end, str(lists.NUMBER_WORDS[text])
        elif re.fullmatch(r"[\d,]+", text):
            value = int(text.replace(",", ""))
            if value >= 1000 and not 1900 <= value <= 2100:
                yield start, end, str(value) if "," in text else f"{value:,}"
            elif value in lists.DIGIT_WORDS and re.match(r" [a-z]{4}", sentence[end:]) and sentence[start - 2] != "×":
                yield start, end, lists.DIGIT_WORDS[value]


def markup(source: Source, corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    options = [re.sub(pattern, new, sentence) for pattern, new in lists.MARKS]
    for found in corpus.find(sentence):
        mark = "`" if found.sort[0] in CODE_SHAPES else random.choice(("**", "*"))
        options += [sentence[: found.start] + mark + found.text + mark + sentence[found.end :]] * 2
    yield from (claim for claim in shuffled(options, random) if claim != sentence)


def lead(source: Source, corpus: Corpus, random: Random) -> Iterator[str]:
    if is_statement(source.sentence, corpus):
        yield random.choice(lists.LEADS) + corpus.lowered(source.sentence)


def connective(source: Source, _corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    opening = re.match(rf"(?:(?:{lists.CONNECTIVES}),|{lists.CLOSE_CONNECTIVES}) ", sentence)
    if opening:
        yield capital(sentence[opening.end() :])
    pattern = (
        r", (?:however|therefore|though|of course|then), |(?<!but)(?<!if)(?<!and) (?:therefore|thus|also) (?=[a-z])"
    )
    for match in shuffled(list(re.finditer(pattern, sentence)), random):
        yield sentence[: match.start()] + " " + sentence[match.end() :]
