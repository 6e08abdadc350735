"""Splits text into sentences, in any script."""

from __future__ import annotations

import re
from itertools import islice

from glossator.core.types import Span

MAX_SENTENCE_LENGTH = 2000
"""Longer text without a full stop is cut at white space, so that no input makes one endless sentence."""

MAX_MARKS, CHARACTERS_PER_MARK = 200, 25
"""Of a text with more full stops than the first number and one for this many characters, the rest is cut likewise."""

STOPS, WIDE_STOPS, OTHER_STOPS = ".!?…", "。！？｡", "۔؟।॥"
"""Marks that may end a sentence; that always end one; that end one before white space or a letter."""

CLOSERS = "\"'”’»)\\]}」』）】*_"
"""Characters allowed between a mark and the end of its sentence, for use in a character class."""

LOOKAHEAD_CHARACTERS = 24
"""Characters after a mark that `is_inside_sentence` looks at."""

_BOUNDARY = re.compile(
    rf"[{STOPS}{WIDE_STOPS}{OTHER_STOPS}\n](?:"
    rf"(?<=[{STOPS}])(?<![{STOPS}]{{2}})(?P<ascii>[{STOPS}]*+)[{CLOSERS}]*+(?=\s|$)"
    rf"|(?<=[{WIDE_STOPS}])[{WIDE_STOPS}]*+[{CLOSERS}]*+"
    rf"|(?<=[{OTHER_STOPS}])(?<![{OTHER_STOPS}]{{2}})[{OTHER_STOPS}]*+[{CLOSERS}]*+(?=\s|$|[^\W\d_])"
    r"|(?<=\n)[^\S\n]*+\n)"
)
"""It begins with a set of characters, which is found fast; what may follow depends on the one before."""
_ABBREVIATIONS = frozenset(
    """
    al approx ca cf ch chap co corp dept dr ed eds eq eqs esp est etc ex fig figs gen gov inc incl jan
    feb mar apr jun jul aug sep sept oct nov dec jr lt ltd max min mr mrs ms no nos nr op p pp para prof
    ref refs resp rev sec sect sgt sr st str tab univ viz vol vs abb bzw ca bspw ggf usw vgl inkl nr pág
    ej sra dña núm
    """.split()
)
_UNITS = frozenset({"ms", "min", "sec"})
_QUANTITY = re.compile(r"\d\s?[^\W\d_]+$")
_MAY_END_A_SENTENCE = frozenset({"etc", "no", "co", "inc", "ltd", "max", "min"})
_OPENERS = frozenset(
    """
    a an and as at but by for he how i if in it its no on or our she so such that the their then there these they
    this those thus to we what when where while why with you your
    """.split()
)
_DOTTED_ABBREVIATION = re.compile(r"(?:^|[\s(\[])(?:[^\W\d_]\.)+[^\W\d_]?$")
_SPACED_ABBREVIATION = re.compile(r"(?:^|[\s(\[])(?P<first>[^\W\d_])\.\s(?:[^\W\d_]\.\s)?[^\W\d_]$")
"""In German: `z. B`, `i. d. R`. It begins with a small letter, other than the initials of a name."""
_NEVER_FIRST = (",", ";", ":")
_EMAIL_ADDRESS = re.compile(r"[\w.+-]+@\w")
"""It may begin a sentence without a capital letter."""
_LAST_WORD = re.compile(r"([^\W\d_]+)$")
_LIST_MARK = re.compile(r"^\s*(?:\d{1,3}|[a-zA-Z])$")
_INITIAL = re.compile(r"(?:^|[\s(\[])(?P<name>[^\W\d_][\w’'-]*\.?\s+)?(?P<initial>[^\W\d_])$")
_NEXT_WORD = re.compile(r"\(?([^\W\d_]+)(\.?)")


def split_sentences(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """The spans of the sentences in `text[start:end]`, without surrounding white space.

    A blank line always ends a sentence: a heading or label above a paragraph is not part of its first sentence.
    """
    stop = len(text) if end is None else end
    spans: list[Span] = []
    begin = start
    cased = any(character.isupper() for character in text[start : min(stop, start + 400)])
    max_marks = MAX_MARKS + (stop - start) // CHARACTERS_PER_MARK
    for match in islice(_BOUNDARY.finditer(text, start, stop), max_marks):
        if match["ascii"] is not None and _is_inside_sentence(text, begin, match, stop, cased):
            continue
        _append_span(spans, text, begin, match.end())
        begin = match.end()
    _append_span(spans, text, begin, stop)
    return spans


def _is_inside_sentence(text: str, begin: int, match: re.Match[str], stop: int, cased: bool) -> bool:
    """Whether a match is not a boundary, given the text around it."""
    dot, after = match.start(), match.end()
    rest = text[after : min(stop, after + LOOKAHEAD_CHARACTERS)].lstrip()
    return is_inside_sentence(text[max(begin, dot - 40) : dot], text[dot] + match["ascii"], rest, cased)


def is_inside_sentence(before: str, mark: str, rest: str, cased: bool) -> bool:
    """Whether a mark belongs to an abbreviation, an initial or a list number, or its sentence continues after it."""
    begins_small = cased and rest[:1].islower() and rest.split(maxsplit=1)[0].islower()
    if rest[:1] in _NEVER_FIRST or (begins_small and not _EMAIL_ADDRESS.match(rest)):
        return True
    if mark != ".":
        return False
    if begins_small and _DOTTED_ABBREVIATION.search(before):
        return True
    if len(before) < 8 and _LIST_MARK.match(before):
        return True
    word = _LAST_WORD.search(before)
    if not word or not rest:
        return False
    if word[1].lower() in _UNITS and _QUANTITY.search(before):
        return False
    if word[1].lower() in _ABBREVIATIONS:
        return word[1].lower() not in _MAY_END_A_SENTENCE or rest[0].isdigit()
    if word[1].isupper() and (_DOTTED_ABBREVIATION.search(before) or _is_spaced_abbreviation(before)):
        return True
    return _is_initial(before, rest)


def needs_next_word(before: str, mark: str, rest: str, cased: bool) -> bool:
    """Whether `is_inside_sentence` needs the whole first word of `rest` to be certain."""
    small = cased and rest[:1].islower() and rest.islower()
    return small or (mark == "." and _INITIAL.search(before) is not None)


def _is_spaced_abbreviation(before: str) -> bool:
    found = _SPACED_ABBREVIATION.search(before)
    return found is not None and found["first"].islower()


def _is_initial(before: str, rest: str) -> bool:
    """Whether a single capital is part of a name: `C. S. Lewis` and `Robert A. Heinlein`, but not `Plan B. Then`.

    Any letter before a capital with a full stop is not the end of a sentence: `z. B.`
    """
    found, following = _INITIAL.search(before), _NEXT_WORD.match(rest)
    if found and following and len(following[1]) == 1 and following[1].isupper() and following[2]:
        return True
    if not found or not found["initial"].isupper():
        return False
    if not following or not following[1][0].isupper():
        return rest.startswith("(")
    name = (found["name"] or "").strip()
    return name[:1].isupper() and (len(name) == 2 or following[1].lower() not in _OPENERS)


def _append_span(spans: list[Span], text: str, begin: int, end: int) -> None:
    """Append the trimmed span, cut if it is too long."""
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    while end - begin > MAX_SENTENCE_LENGTH:
        cut = last_space(text, begin, begin + MAX_SENTENCE_LENGTH)
        spans.append(Span(begin, cut))
        begin = cut
        while begin < end and text[begin].isspace():
            begin += 1
    if end > begin:
        spans.append(Span(begin, end))


def last_space(text: str, begin: int, end: int) -> int:
    """The last white space in the second half of a range, or its end."""
    for position in range(end, (begin + end) // 2, -1):
        if text[position].isspace():
            return position
    return end
