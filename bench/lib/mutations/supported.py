"""Claims that the passage supports: a true sentence reworded, reformatted or shortened."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from random import Random

from lib.mutations.corpus import CODE_SHAPES, Corpus, SourceSentence, is_statement
from lib.mutations.english import NUMBER, capitalize_first, number_spans, replace_span, shuffled, tokens
from lib.mutations.inflection import FINITE, VERBS, find_pairs, inflect_pairs
from lib.mutations.wordlists.grammar import CONJUNCTIONS, RELATIVES, SUBORDINATORS
from lib.mutations.wordlists.phrasing import (
    BEFORE_CONTRACTED,
    CLOSE_CONNECTIVES,
    CONNECTIVES,
    CONTRACTIONS,
    LEAD_INS,
    MARKS,
    RESTRICTING,
)
from lib.mutations.wordlists.quantities import CONVERSIONS, DIGIT_WORDS, NUMBER_WORDS
from lib.mutations.wordlists.synonyms import SYNONYM_BLOCKED, SYNONYM_PLAIN, SYNONYM_VERBS

SYNONYMS = inflect_pairs(SYNONYM_VERBS, SYNONYM_PLAIN, both_ways=False)


def verbatim(source: SourceSentence, _corpus: Corpus, _random: Random) -> Iterator[str]:
    yield source.sentence


def parenthesis(source: SourceSentence, _corpus: Corpus, random: Random) -> Iterator[str]:
    options = [claim for way in (without_brackets, without_dashes, without_examples) for claim in way(source.sentence)]
    yield from (claim for claim in shuffled(options, random) if len(claim.split()) >= 6)


def without_brackets(sentence: str) -> Iterator[str]:
    for match in re.finditer(r"(?<!,) \(([A-Za-z][^()]{2,})\)(?=[\s.,;:])", sentence):
        if not re.search(RESTRICTING, match[1]):
            yield sentence[: match.start()] + sentence[match.end() :]


def without_dashes(sentence: str) -> Iterator[str]:
    for match in re.finditer(r" ?[—–] ?([^—–]{3,}?) ?[—–] ?(?=[a-z])", sentence):
        if not re.search(RESTRICTING, match[1]) and " " in match[1]:
            yield f"{sentence[: match.start()]} {sentence[match.end() :]}"


def without_examples(sentence: str) -> Iterator[str]:
    """The sentence without `such as ...` at the end or between commas, or without `for example`."""
    for match in re.finditer(r", (?:such as|for example|for instance|including|like) ([^;:.()]{3,})(?=\.$)", sentence):
        words = tokens(match[1])
        commas = [place for place, word in enumerate(words) if word.tail]
        later = words[commas[0] :] if commas else ()
        if not any(word.lower in FINITE | VERBS | RELATIVES or "’" in word.text for word in later):
            yield sentence[: match.start()] + sentence[match.end() :]
    for match in re.finditer(r", (?:such as|including) [^,;:.()]{3,},(?= (\w+) (\w+))", sentence):
        first, second = match[1], match[2]
        if first in FINITE or (first in ("and", "but", "or") and second in FINITE):
            yield sentence[: match.start()] + sentence[match.end() :]
    for match in re.finditer(r", (?:for example|for instance|of course|in turn|in fact|in particular),", sentence):
        yield sentence[: match.start()] + sentence[match.end() :]


def merged(source: SourceSentence, corpus: Corpus, random: Random) -> Iterator[str]:
    first, second = source.sentence, source.following
    if not second or len((first + second).split()) > 60 or re.match(r"(?:But|And|Or|So|Yet)\b", second):
        return
    can_join = is_statement(second, corpus) and ";" not in first and not re.match(r"(?:If|When)\b", first)
    joint = random.choice(("; ", ", and ")) if can_join else "; "
    yield first[:-1] + joint + corpus.lowercase_first(second)


def clause(source: SourceSentence, corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    joints = list(re.finditer(r"; |, (?:and|but|whereas|so(?! that)) ", sentence))
    if (
        len(joints) != 1
        or sentence.count(":")
        or re.match(r"(?:If|When|For|To|In|By|With|On|At|As|While|Once|Because|Since|After|Before)\b", sentence)
    ):
        return
    first, second = sentence[: joints[0].start()], sentence[joints[0].end() :]
    scoped = joints[0][0] != "; " and SUBORDINATORS & set(first.lower().split())
    if scoped or not (stands_alone(first, corpus) and stands_alone(second, corpus)):
        return
    pointing = re.match(r"(?:it|they|this|that|these|those|he|she|its|their|there|both|such|then|otherwise)\b", second)
    yield from shuffled([first + "."] + ([] if pointing else [capitalize_first(second)]), random)


def stands_alone(text: str, corpus: Corpus) -> bool:
    """Whether a text has a subject with a finite verb near it."""
    words = tokens(text)
    if len(words) < 5 or not is_statement(text, corpus):
        return False
    for place, word in enumerate(words[1:8], 1):
        if word.lower in FINITE or (words[0].lower in ("you", "we", "they") and place == 1):
            return True
        if word.lower in RELATIVES | CONJUNCTIONS - {"and", "or"} or words[place - 1].tail:
            return False
    return False


def synonym(source: SourceSentence, _corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    places = shuffled(list(find_pairs(sentence, SYNONYMS, SYNONYM_BLOCKED)), random)[: random.choice((1, 1, 2))]
    for start, end, news in sorted(places, reverse=True):
        sentence = replace_span(sentence, start, end, random.choice(news))
    yield sentence


def contraction(source: SourceSentence, _corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    spans = [
        (match.span(), new) for old, new in contraction_rules() for match in re.finditer(old, sentence, re.IGNORECASE)
    ]
    for (start, end), new in shuffled(spans, random):
        yield replace_span(sentence, start, end, capitalize_first(new) if sentence[start].isupper() else new)


@cache
def contraction_rules() -> tuple[tuple[str, str], ...]:
    """Rules in both directions; ambiguous contractions are skipped."""
    rules = []
    for full, short in CONTRACTIONS:
        rules.append((rf"\b{full}\b" + BEFORE_CONTRACTED.get(full.split()[-1], ""), short))
        guard = r"(?! (?:been|got|had|become|gone|done)\b)" if short.endswith("'s") else ""
        rules.append((rf"\b{short}\b{guard}".replace("'", "['’]"), full))
    return tuple(rules)


def reformatted(source: SourceSentence, _corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    options = shuffled([*percents(sentence), *conversions(sentence)], random) + shuffled([*spelled(sentence)], random)
    for start, end, new in options:
        yield replace_span(sentence, start, end, new)


def percents(sentence: str) -> Iterator[tuple[int, int, str]]:
    for match in re.finditer(r"(?<=\d) ?%(?=[\s.,;)])", sentence):
        yield match.start(), match.end(), " percent"
    for match in re.finditer(r"(?<=\d) per ?cent\b", sentence):
        yield match.start(), match.end(), "%"


def conversions(sentence: str) -> Iterator[tuple[int, int, str]]:
    """The same quantity in another unit, if both numbers are short."""
    for large, small, factor in CONVERSIONS:
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
    for start, end in number_spans(sentence):
        text = sentence[start:end]
        if text in NUMBER_WORDS and not re.match(r"-| (?:hundred|thousand|million)", sentence[end:]):
            yield start, end, str(NUMBER_WORDS[text])
        elif re.fullmatch(r"[\d,]+", text):
            value = int(text.replace(",", ""))
            if value >= 1000 and not 1900 <= value <= 2100:
                yield start, end, str(value) if "," in text else f"{value:,}"
            elif value in DIGIT_WORDS and re.match(r" [a-z]{4}", sentence[end:]) and sentence[start - 2] != "×":
                yield start, end, DIGIT_WORDS[value]


def markup(source: SourceSentence, corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    options = [re.sub(pattern, new, sentence) for pattern, new in MARKS]
    for found in corpus.find(sentence):
        mark = "`" if found.category[0] in CODE_SHAPES else random.choice(("**", "*"))
        options += [sentence[: found.start] + mark + found.text + mark + sentence[found.end :]] * 2
    yield from (claim for claim in shuffled(options, random) if claim != sentence)


def lead(source: SourceSentence, corpus: Corpus, random: Random) -> Iterator[str]:
    if is_statement(source.sentence, corpus):
        yield random.choice(LEAD_INS) + corpus.lowercase_first(source.sentence)


def connective(source: SourceSentence, _corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    opening = re.match(rf"(?:(?:{CONNECTIVES}),|{CLOSE_CONNECTIVES}) ", sentence)
    if opening:
        yield capitalize_first(sentence[opening.end() :])
    pattern = (
        r", (?:however|therefore|though|of course|then), |(?<!but)(?<!if)(?<!and) (?:therefore|thus|also) (?=[a-z])"
    )
    for match in shuffled(list(re.finditer(pattern, sentence)), random):
        yield sentence[: match.start()] + " " + sentence[match.end() :]
