"""Claims that the passage does not support: one thing in a true sentence is changed, or something is added to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from random import Random

import mutate_words as lists
from mutate_language import (
    FINITE,
    ONE_WAY,
    PARTICIPLES,
    SHAPE,
    THIRD,
    VERBS,
    Corpus,
    Source,
    Token,
    capital,
    content,
    forms,
    graded,
    is_plural,
    is_statement,
    number_places,
    occurs,
    pair_places,
    paired,
    shuffled,
    swap,
    third_person,
    tokens,
)

SHARED_WORDS = 0.3
"""A sentence from elsewhere may have at most this share of its content words in the passage."""

ANTONYMS = paired(lists.ANTONYM_VERBS, graded(lists.ANTONYM_GRADED) + lists.ANTONYM_PLAIN, both_ways=True)
Span = tuple[int, int]


# --- Numbers and units


def number(source: Source, _corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    present = set(re.findall(r"[\w.,]*\w", source.chunk.text.lower()))
    for start, end in shuffled(number_places(sentence), random):
        fitting = [new for new in other_values(sentence, start, end, random) if new.lower() not in present]
        if fitting:
            yield swap(sentence, start, end, fitting[0])


def other_values(sentence: str, start: int, end: int, random: Random) -> list[str]:
    """Other plausible values, never one that the original implies (`at least 5` is not made `at least 3`)."""
    text, way = sentence[start:end], direction(sentence[:start])
    values = shuffled(near_values(text, sentence[end : end + 9]), random)
    return [value for value in values if way * size(value) >= way * size(text)]


def direction(before: str) -> int:
    """Which way a limit must be moved so that the original does not imply it: 1 up, -1 down, 0 either way."""
    if re.search(r"(?:at least|more than|over|above|exceeds?|minimum of|(?:great|long|high|larg)er than) $", before):
        return 1
    upper = (
        r"(?:at most|up to|less than|fewer than|under|below|within|maximum of|no more than|(?:small|low|short)er than)"
    )
    return -1 if re.search(rf"{upper} (?:about |roughly )?$", before) else 0


def size(text: str) -> float:
    word = text.lower()
    return float(lists.NUMBER_WORDS[word] if word in lists.NUMBER_WORDS else ".".join(number_parts(text)[:2]))


def number_parts(text: str) -> list[str]:
    return text.replace(",", "").split(".")


def near_values(text: str, after: str) -> list[str]:
    if text.lower() in lists.NUMBER_WORDS:
        value = lists.NUMBER_WORDS[text.lower()]
        near = [value + 1, value + 2, value + 3, value - 1] if value < 12 else [value + 10, value - 10]
        return [lists.DIGIT_WORDS[option] for option in near if option > 1 and option in lists.DIGIT_WORDS]
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


def unit(source: Source, _corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    for family, pattern in shuffled(UNITS, random):
        for match in pattern.finditer(sentence):
            way, place = direction(sentence[: match.start()]), family.index(match[1])
            others = [name for name in family if name != match[1] and not occurs(name, sentence)]
            others = [name for name in others if way * family.index(name) >= way * place]
            if others:
                yield swap(sentence, *match.span(1), nearest(match[1], others, family, random))


def unit_pattern(family: list[str]) -> re.Pattern[str]:
    """A number and a unit of this family; units are listed from small to large."""
    units = "|".join(re.escape(name) for name in sorted(family, key=len, reverse=True))
    numbers = rf"(?<![\d.,])\d[\d.,]*[\s-]?|\b(?:{'|'.join(lists.NUMBER_WORDS)})[\s-]"
    return re.compile(rf"(?:{numbers})({units})(?![\w·/²³^°])(?! of freedom|-| per\b)")


UNITS = [(family, unit_pattern(family)) for family in lists.UNIT_FAMILIES]


def nearest(name: str, others: list[str], family: list[str], random: Random) -> str:
    """One of the neighbouring units, which mislead most."""
    ranked = sorted(others, key=lambda other: abs(family.index(other) - family.index(name)))
    return random.choice(ranked[:2])


# --- Polarity and strength


def negation(source: Source, corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    options = [*rewrites(sentence, lists.REMOVALS), *affirmed(sentence)]
    if not re.search(lists.NEGATIVE, sentence) and not re.match(lists.PARTIAL, sentence):
        options += [*rewrites(sentence, lists.INSERTIONS), *denied(sentence, corpus)]
    yield from (claim for place, claim in shuffled(options, random) if is_asserted(sentence, place))


def rewrites(sentence: str, rules: Iterable[tuple[str, str]]) -> Iterator[tuple[int, str]]:
    for pattern, new in rules:
        for match in re.finditer(pattern, sentence):
            claim = sentence[: match.start()] + match.expand(new) + sentence[match.end() :]
            yield match.start(), capital(claim) if sentence[0].isupper() else claim


def affirmed(sentence: str) -> Iterator[tuple[int, str]]:
    """`does not run` made `runs`."""
    hedged = "always|only|just|necessarily|even|matter|yet|really|mean|seem|care|actually|any"
    for match in re.finditer(rf"\bdoes(?:n['’]t| not) (?!(?:{hedged})\b)([a-z]+)(?! any)(?![\w-])", sentence):
        yield match.start(), swap(sentence, *match.span(), third_person(match[1]))


def denied(sentence: str, corpus: Corpus) -> Iterator[tuple[int, str]]:
    """`runs` made `does not run`, where it is surely a verb."""
    words = tokens(sentence)
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        if word.text not in ONE_WAY or word.tail or before.tail or after.lower not in lists.BEFORE_AN_OBJECT:
            continue
        if corpus.is_noun(before.text) or before.lower in ("it", "which", "that") or corpus.is_name(before.text):
            yield word.start, swap(sentence, word.start, word.end, f"does not {ONE_WAY[word.text]}")


def is_asserted(sentence: str, place: int) -> bool:
    """Whether a place lies outside conditions and wishes, and before no contrast that would no longer fit."""
    opening = re.match(lists.OPENING_CONDITION, sentence)
    embedded = re.search(lists.EMBEDDED_CONDITION, sentence[:place])
    return not (opening and place < opening.end()) and not embedded and not re.search(r"\bbut\b", sentence[place:])


def modality(source: Source, _corpus: Corpus, random: Random) -> Iterator[str]:
    yield from strengths(source.sentence, lists.MODALITY, random)


def quantifier(source: Source, _corpus: Corpus, random: Random) -> Iterator[str]:
    yield from strengths(source.sentence, lists.QUANTIFIERS, random)


def strengths(sentence: str, rules: Sequence[tuple[str, list[str]]], random: Random) -> Iterator[str]:
    options = [claim for pattern, news in rules for _, claim in rewrites(sentence, [(pattern, random.choice(news))])]
    yield from shuffled(options, random)


def antonym(source: Source, _corpus: Corpus, random: Random) -> Iterator[str]:
    sentence = source.sentence
    for start, end, news in shuffled(list(pair_places(sentence, ANTONYMS, lists.ANTONYM_BLOCKED)), random):
        new = random.choice(news)
        times = len(re.findall(rf"\b{re.escape(sentence[start:end])}\b", sentence, re.IGNORECASE))
        if times == 1 and not occurs(new, sentence):
            yield swap(sentence, start, end, new)


# --- Entities


def entity(source: Source, corpus: Corpus, random: Random) -> Iterator[str]:
    passage, here = source.chunk.text.lower(), {source.chunk.document_id}
    for old in shuffled(corpus.find(source.sentence), random):
        known = corpus.standing[old.sort] if old.sort[0] != "noun" else {}
        others = [text for text, places in known.items() if places - here and text.lower() not in passage]
        best = alike(old.text, others, corpus, random)
        if len(best) >= 3:
            yield replaced(source.sentence, old.text, random.choice(best[:8]))


def entity_in_passage(source: Source, corpus: Corpus, random: Random) -> Iterator[str]:
    sentence, passage = source.sentence, source.chunk.text
    present = corpus.entities[source.chunk.chunk_id]
    found = shuffled(corpus.find(sentence), random)
    for old in sorted(found, key=lambda item: item.sort[0] == "noun"):
        others = sorted({new.text for new in present if new.sort == old.sort and not occurs(new.text, sentence)})
        for new in alike(old.text, others, corpus, random)[:2]:
            likeness = corpus.likeness(old.text, new)
            if not coordinated(old.text, new, passage) and (old.sort[0] != "noun" or likeness > 0.3):
                yield replaced(sentence, old.text, new)


def alike(old: str, others: Sequence[str], corpus: Corpus, random: Random) -> list[str]:
    """Those that keep similar company without meaning the same, best first."""
    return sorted(
        (text for text in shuffled(others, random) if not akin(old, text)),
        key=lambda text: corpus.likeness(old, text),
        reverse=True,
    )


def coordinated(one: str, other: str, passage: str) -> bool:
    """Whether the passage treats two entities alike: `one and other`, `one (other)`, `one is other`."""
    link = r"\W*(?:,|\band\b|\bor\b|\(|\bis\b|\bare\b|\bas\b|/)\W*(?:(?:the|a|an|both|also|called|then)\b\W*)*"
    first, second = re.escape(one), re.escape(other)
    return bool(re.search(rf"{first}s?{link}{second}|{second}s?{link}{first}", passage, re.IGNORECASE))


def akin(one: str, other: str) -> bool:
    """Whether two entities may mean the same thing."""
    first, second = content(one) or {one.lower()}, content(other) or {other.lower()}
    if one.lower() in other.lower() or other.lower() in one.lower() or first <= second or second <= first:
        return True
    heads = {word.lower().rsplit(maxsplit=1)[-1] for word in (one, other)}
    return any(heads <= group for group in lists.NEAR_SYNONYMS)


def replaced(sentence: str, old: str, new: str) -> str:
    """Every occurrence of a term replaced, but not within another word."""
    for match in reversed(list(re.finditer(rf"(?<![\w./@-]){re.escape(old)}(?![\w/-]|\.\w)", sentence))):
        sentence = swap(sentence, *match.span(), new)
    return sentence


# --- Two things exchanged


def exchange(source: Source, corpus: Corpus, random: Random) -> Iterator[str]:
    words = tokens(source.sentence)
    ways = (around_verb, around_link, around_contrast)
    claims = [claim for way in ways for claim in way(source.sentence, words, corpus) if claim]
    yield from shuffled(claims, random)


def exchanged(sentence: str, one: Span, other: Span, middle: str, corpus: Corpus) -> str:
    """The sentence with two spans exchanged; empty where a bracket or a list would be torn apart."""
    first, second = sentence[slice(*one)], sentence[slice(*other)]
    is_listed = sentence[other[1] :].startswith(",") and second.split()[0] not in lists.DETERMINERS
    if re.search(r"[()“”\"]", first + second) or is_listed or content(first) == content(second):
        return ""
    if corpus.lowered(first) != first or one[0] == 0:
        first, second = corpus.lowered(first), capital(second)
    return sentence[: one[0]] + second + middle + first + sentence[other[1] :]


def noun_phrase(words: Sequence[Token], start: int, corpus: Corpus) -> int:
    """Where the noun phrase that begins here ends, with the phrases that hang on it, or `start` where none does."""
    end = simple_phrase(words, start, corpus)
    while start < end < len(words) - 1 and words[end].text in lists.EXTENDING and not words[end - 1].tail:
        further = simple_phrase(words, end + 1, corpus)
        if further == end + 1:
            return start if words[end].text == "of" else end
        end = further
    return end


def simple_phrase(words: Sequence[Token], start: int, corpus: Corpus) -> int:
    determined = start < len(words) and words[start].lower in ("the", "a", "an", "each", "every")
    end = start + determined
    while end < len(words) and end - start < 5 and is_nominal(words[end], corpus):
        end += 1
        if words[end - 1].tail:
            break
    head = words[end - 1].text
    first = words[start].text if start < len(words) else ""
    if end == start + determined or head.lower() in lists.VAGUE_NOUNS or first in VERBS or first.endswith("ing"):
        return start
    return end if corpus.is_head(head) or corpus.is_name(head) or is_code(head) else start


def is_code(word: str) -> bool:
    return bool(SHAPE.fullmatch(word)) and not word.isalpha()


def is_nominal(word: Token, corpus: Corpus) -> bool:
    if word.lower in lists.FUNCTION_WORDS or word.text[:1].isdigit() or word.text.endswith("ly"):
        return False
    return bool(re.fullmatch(r"[\w-]+", word.text)) and (word.text not in THIRD or corpus.is_noun(word.text))


def around_verb(sentence: str, words: Sequence[Token], corpus: Corpus) -> Iterator[str]:
    """Subject and object of a verb that goes one way only; the verb is made to agree with its new subject."""
    for begin in (place for place in range(len(words)) if opens_clause(words, place)):
        for stop in range(begin + 1, min(begin + 9, len(words) - 1)):
            if noun_phrase(words[:stop], begin, corpus) != stop or words[stop - 1].tail:
                continue
            verb = stop + (words[stop].lower in lists.ADVERBS - {"not", "never"} or words[stop].text.endswith("ly"))
            after = after_verb(words, verb)
            end = noun_phrase(words, after, corpus) if after else after
            if end > after and closes(words, end) and agrees(words, begin, stop, words[verb].text):
                one, other = (words[begin].start, words[stop - 1].end), (words[after].start, words[end - 1].end)
                finite = with_number(words[verb].text, is_plural_phrase(words, after, end))
                before = sentence[words[stop - 1].end : words[verb].start]
                middle = before + finite + sentence[words[verb].end : words[after].start]
                yield exchanged(sentence, one, other, middle, corpus)


def opens_clause(words: Sequence[Token], place: int) -> bool:
    """Whether a subject may begin here."""
    if place == 0 or words[place - 1].tail.endswith((";", ":")):
        return True
    before, here = words[place - 1], words[place]
    if before.text in ("that", "because", "when"):
        return here.lower in lists.DETERMINERS or here.text[:1].isupper() or is_plural(here.text)
    if before.tail == ",":
        fronted = words[0].lower in lists.CONJUNCTIONS | lists.PREPOSITIONS
        return fronted and "," not in [word.tail for word in words[: place - 1]]
    return place > 1 and before.lower in ("and", "but", "so", "while") and words[place - 2].tail == ","


def after_verb(words: Sequence[Token], place: int) -> int:
    """The place after a verb that goes one way only, or 0."""
    if place >= len(words) or words[place].tail:
        return 0
    texts = [word.text for word in words[place : place + 3]] + ["", ""]
    third = forms(texts[0])[1] if texts[0] not in THIRD else texts[0]
    if lists.ONE_WAY_LINKS.get(third) == texts[1]:
        return place + 2
    if texts[0] in ONE_WAY or texts[0] in lists.ONE_WAY_VERBS:
        return place + 1
    if texts[0] in ("must", "can", "should", "will", "may") and texts[1] in lists.ONE_WAY_VERBS:
        return place + 2
    passive = texts[0] in ("is", "are") and texts[1] in PARTICIPLES and texts[2] in lists.ONE_WAY_PLACES
    return place + 3 if passive else 0


def is_plural_phrase(words: Sequence[Token], start: int, end: int) -> bool:
    """Whether the head, which stands before any preposition, is plural."""
    inner = [place for place in range(start, end) if words[place].text in lists.EXTENDING]
    return is_plural(words[(inner[0] if inner else end) - 1].text)


def agrees(words: Sequence[Token], begin: int, end: int, verb: str) -> bool:
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


def closes(words: Sequence[Token], place: int) -> bool:
    """Whether nothing hangs on the noun phrase that ends here."""
    if words[place - 1].tail or place >= len(words):
        return not words[place - 1].tail.startswith(("(", "’", "'"))
    return words[place].lower in lists.CLOSING


def around_link(sentence: str, words: Sequence[Token], corpus: Corpus) -> Iterator[str]:
    """`from X to Y`, `X instead of Y`, `X is larger than Y`, `maps X to Y`."""
    for begin in range(len(words)):
        end = noun_phrase(words, begin, corpus)
        if end == begin or is_inside(words, begin) or words[end - 1].tail or end >= len(words):
            continue
        after = after_link(words, begin, end)
        close = noun_phrase(words, after, corpus) if after else after
        if close > after and closes(words, close):
            one, other = (words[begin].start, words[end - 1].end), (words[after].start, words[close - 1].end)
            middle = sentence[words[end - 1].end : words[after].start]
            plural = is_plural_phrase(words, after, close)
            middle = re.sub(r"^ (?:is|are)\b", " are" if plural else " is", middle)
            yield exchanged(sentence, one, other, middle, corpus)


def is_inside(words: Sequence[Token], place: int) -> bool:
    """Whether the word before belongs to the same noun phrase."""
    if place == 0 or words[place - 1].tail:
        return False
    before = words[place - 1].lower
    others = lists.FUNCTION_WORDS - lists.DETERMINERS | FINITE | VERBS
    return before not in others and not before.endswith("ing")


def around_contrast(sentence: str, words: Sequence[Token], corpus: Corpus) -> Iterator[str]:
    """The two subjects of `X does this, while Y does that`."""
    stop = noun_phrase(words, 0, corpus)
    joints = [place for place in range(stop, len(words) - 2) if words[place].tail in (",", ";")]
    for place in joints if 0 < stop < len(words) and has_finite(words, stop) else ():
        begin = place + 1 + (words[place + 1].lower in ("while", "whereas", "and", "but"))
        end = noun_phrase(words, begin, corpus)
        plural = is_plural_phrase(words, 0, stop)
        if end > begin and has_finite(words, end) and is_plural_phrase(words, begin, end) == plural:
            one, other = (words[0].start, words[stop - 1].end), (words[begin].start, words[end - 1].end)
            yield exchanged(sentence, one, other, sentence[one[1] : other[0]], corpus)


def has_finite(words: Sequence[Token], place: int) -> bool:
    return place < len(words) and not words[place - 1].tail and words[place].lower in FINITE | VERBS


def after_link(words: Sequence[Token], begin: int, place: int) -> int:
    """The place after a link between two noun phrases, or 0."""
    texts = [word.lower for word in words[place : place + 4]] + ["", ""]
    before = words[begin - 1].lower if begin else ""
    measured = begin > 1 and words[begin - 2].lower in ("line", "distance", "ranges", "range", "varies", "anything")
    if texts[0] in lists.LINKS.get(before, ()) and not measured:
        return place + 1
    if " ".join(texts[:2]) in ("instead of", "rather than"):
        return place + 2
    compared = texts[0] in ("is", "are") and "than" in texts[2:4] and re.search(r"er$|^(?:more|less|worse)$", texts[1])
    return place + texts.index("than") + 1 if compared and opens_clause(words, begin) else 0


# --- Additions


def fabricated_clause(source: Source, corpus: Corpus, random: Random) -> Iterator[str]:
    sentence, passage, here = source.sentence, source.chunk.text.lower(), {source.chunk.document_id}
    if not is_statement(sentence, corpus) or not re.search(r"[a-z]\.$", sentence):
        return
    known = {f"the {text}": places for text, places in corpus.standing["term", "singular", "the"].items()}
    known = known if len(known) > 9 else known | corpus.standing["name", "1", "", "bare"]
    things = [
        text for text, places in known.items() if places - here and text.removeprefix("the ").lower() not in passage
    ]
    template = random.choice([template for template in lists.TEMPLATES if things or "{thing}" not in template])
    yield sentence[:-1] + filled(template, things, random) + "."


def filled(template: str, things: list[str], random: Random) -> str:
    return template.format(
        thing=random.choice(things or [""]),
        person=random.choice(lists.PERSONS),
        place=random.choice(lists.PLACES),
        year=random.randint(1958, 2023),
        number=random.choice((3, 4, 6, 7, 12, 14, 18, 23, 35, 48, 64, 120, 250)),
        percent=random.choice((8, 12, 15, 17, 22, 28, 34, 37, 43, 62, 71)),
    )


def elsewhere(source: Source, corpus: Corpus, random: Random) -> Iterator[str]:
    present = content(source.chunk.text)
    for other in random.choices(corpus.sources, k=40):
        wanted = content(other.sentence)
        if other.chunk.document_id == source.chunk.document_id or re.match(lists.POINTING, other.sentence):
            continue
        if len(wanted) >= 5 and len(wanted & present) <= SHARED_WORDS * len(wanted):
            yield other.sentence


def recombined(source: Source, corpus: Corpus, random: Random) -> Iterator[str]:
    """The beginning of one sentence with the end of another of the same passage."""
    here = [s.sentence for s in corpus.sources if s.chunk.chunk_id == source.chunk.chunk_id]
    for other in shuffled([sentence for sentence in here if sentence != source.sentence], random):
        first, second = source.sentence.split(), other.split()
        yield " ".join((*first[: len(first) // 2], *second[len(second) // 2 :]))
