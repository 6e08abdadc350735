"""Claims with another number or unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from lib.mutations.corpus import Corpus, SourceSentence
from lib.mutations.english import number_spans, occurs, replace_span, shuffled
from lib.mutations.wordlists.quantities import DIGIT_WORDS, NUMBER_WORDS, UNIT_FAMILIES


def number(source: SourceSentence, _corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    present = set(re.findall(r"[\w.,]*\w", source.chunk.text.lower()))
    for start, end in shuffled(number_spans(sentence), random):
        fitting = [new for new in other_values(sentence, start, end, random) if new.lower() not in present]
        if fitting:
            yield replace_span(sentence, start, end, fitting[0])


def other_values(sentence: str, start: int, end: int, random: Random) -> list[str]:
    """Other plausible values, never one that the original implies (`at least 5` does not become `at least 3`)."""
    text, way = sentence[start:end], direction(sentence[:start])
    values = shuffled(near_values(text, sentence[end : end + 9]), random)
    return [value for value in values if way * size(value) >= way * size(text)]


def direction(before: str) -> int:
    """Which way a limit must move so that the original does not imply it: 1 up, -1 down, 0 either way."""
    if re.search(r"(?:at least|more than|over|above|exceeds?|minimum of|(?:great|long|high|larg)er than) $", before):
        return 1
    upper = (
        r"(?:at most|up to|less than|fewer than|under|below|within|maximum of|no more than|(?:small|low|short)er than)"
    )
    return -1 if re.search(rf"{upper} (?:about |roughly )?$", before) else 0


def size(text: str) -> float:
    word = text.lower()
    return float(NUMBER_WORDS[word] if word in NUMBER_WORDS else ".".join(number_parts(text)[:2]))


def number_parts(text: str) -> list[str]:
    return text.replace(",", "").split(".")


def near_values(text: str, after: str) -> list[str]:
    if text.lower() in NUMBER_WORDS:
        value = NUMBER_WORDS[text.lower()]
        near = [value + 1, value + 2, value + 3, value - 1] if value < 12 else [value + 10, value - 10]
        return [DIGIT_WORDS[option] for option in near if option > 1 and option in DIGIT_WORDS]
    first, *rest = number_parts(text)
    if len(rest) > 1:
        return [".".join([str(int(first) + step), *rest]) for step in (1, 2)]
    if rest:
        options = [size(text) * factor for factor in (0.4, 0.6, 1.5, 2.5, 3)]
        return [f"{option:.{len(rest[0])}f}" for option in options if size(text) >= 1 or option < 1]
    return [f"{option:,}" if "," in text else str(option) for option in whole_values(int(first), after)]


def whole_values(value: int, after: str) -> list[int]:
    if 1900 <= value <= 2100:
        return [value + step for step in (-11, -7, -4, -3, 2, 3, 6)]
    if value <= 1:
        return [value + 1, value + 2] if re.match(r"[.,;]| (?:to|and|or|in|for|at|is)\b", after) else []
    if value < 13:
        return [option for option in (value - 2, value - 1, value + 1, value + 2, value + 3) if option > 1]
    zeros = 10 ** (len(str(value)) - len(str(value).rstrip("0")))
    options = {int(value * factor) // zeros * zeros for factor in (0.4, 0.5, 0.6, 1.4, 1.5, 1.8, 2)} - {0, 1, value}
    percent = re.match(r"\s?(?:%|per ?cent)", after)
    return sorted(option for option in options if not percent or option < 100 or value > 100)


def unit(source: SourceSentence, _corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    for family, pattern in shuffled(UNIT_PATTERNS, random):
        for match in pattern.finditer(sentence):
            way, place = direction(sentence[: match.start()]), family.index(match[1])
            others = [name for name in family if name != match[1] and not occurs(name, sentence)]
            others = [name for name in others if way * family.index(name) >= way * place]
            if others:
                yield replace_span(sentence, *match.span(1), nearest(match[1], others, family, random))


def unit_pattern(family: list[str]) -> re.Pattern[str]:
    """A number and a unit of this family; units are listed from small to large."""
    units = "|".join(re.escape(name) for name in sorted(family, key=len, reverse=True))
    numbers = rf"(?<![\d.,])\d[\d.,]*[\s-]?|\b(?:{'|'.join(NUMBER_WORDS)})[\s-]"
    return re.compile(rf"(?:{numbers})({units})(?![\w·/²³^°])(?! of freedom|-| per\b)")


UNIT_PATTERNS = [(family, unit_pattern(family)) for family in UNIT_FAMILIES]


def nearest(name: str, others: list[str], family: list[str], random: Random) -> str:
    """One of the neighbouring units, which are the most misleading."""
    ranked = sorted(others, key=lambda other: abs(family.index(other) - family.index(name)))
    return random.choice(ranked[:2])
