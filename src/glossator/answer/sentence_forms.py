"""Forms of sentences: whether one instructs, goes on from what is before it, or says nothing by itself."""

from __future__ import annotations

import re
from collections.abc import Collection

from glossator.answer.lead_ins import MAX_SHORT_LEAD_IN, is_lead_in
from glossator.core.text.words import content_words

MAX_FRAGMENT = 60
"""In characters, of a fragment ("Defaults to 500.") that is quoted with the sentence before it."""

_DEPENDS_ON_PREVIOUS = re.compile(
    r"^(?:it|its|this|that|these|those|they|their|he|she|such|either|neither|both|in other words|otherwise|then)\b",
    re.IGNORECASE,
)
_POINTS_AHEAD = re.compile(
    r"(?:this|these)(?: \w+)? (?:examples?|commands?|code|snippets?|scripts?|configurations?|settings?|files?)\b",
    re.IGNORECASE,
)
_CONTINUES = re.compile(
    r"[a-z]+\b(?![(._=-])|(?:For (?:example|instance)|So|Then|Otherwise|Also|Again|Finally|Next|Similarly|Likewise"
    r"|However|This|That|These|Those|It|They|Here|Note|As shown"
    r"|In (?:the (?:above|example|following)|this|that|these))\b"
)
"""Also a sentence without a capital letter, which ends one that code has interrupted; not one that begins with code."""
_INSTRUCTS = re.compile(
    r"^(?:to \w+|you (?:can|may|could|should|must|need)|use|run|set|add|call|pass|define|create|import|install|specify"
    r"|if you (?:want|need)|in order to|when you)\b|\bby (?:using|setting|passing|adding|calling|running|defining)\b"
    r"|\b(?:use|using|with|via|set) the\b",
    re.IGNORECASE,
)
_CROSS_REFERENCE = re.compile(r"^(?:see|read|compare|cf|siehe|voir|véase)\b", re.IGNORECASE)
_BYLINE = re.compile(r"(?P<name>[^<>()@]+)\s[<(]?[^<>()@\s]+@[^<>()@\s]+\w[>)]?")
_SENTENCE_END = re.compile(r"[.!…。！۔।][\"'”’»)\]」』）]*$")


def depends_on_previous_sentence(text: str) -> bool:
    """Whether a sentence says nothing by itself; "However, …" and the like can be understood alone."""
    return bool(_DEPENDS_ON_PREVIOUS.match(text)) and not _points_ahead(text)


def continues(text: str) -> bool:
    """Whether a sentence goes on from what is before it, so that it should not lead an answer with code."""
    return bool(_CONTINUES.match(text)) and not _points_ahead(text)


def _points_ahead(text: str) -> bool:
    """Whether a sentence speaks of what follows it: "This example adds a header:"."""
    return is_lead_in(text) and bool(_POINTS_AHEAD.match(text))


def goes_on(text: str) -> bool:
    """Whether a sentence is a lead-in that says little, or goes on from what is before it."""
    return is_empty_lead_in(text) or continues(text)


def instructs(text: str) -> bool:
    """Whether a sentence says what to do."""
    return bool(_INSTRUCTS.search(text))


def is_cross_reference(text: str) -> bool:
    """Whether a text begins like "See inverse kinematics."."""
    return bool(_CROSS_REFERENCE.match(text))


def only_refers(text: str) -> bool:
    """Whether a sentence says nothing but where to read on."""
    return len(text) <= MAX_FRAGMENT and is_cross_reference(text)


def only_echoes(text: str, asked: Collection[str]) -> bool:
    """Whether a label has no words but those of the question: "run environments in parallel" does not say how."""
    return not (_SENTENCE_END.search(text) or is_lead_in(text)) and set(asked) >= set(content_words(text))


def is_byline(text: str) -> bool:
    """Whether a text is a name with an e-mail address: "Ann Lee <ann@example.org>"."""
    found = _BYLINE.fullmatch(text)
    return found is not None and not any(word[0].islower() for word in found["name"].split())


def is_empty_lead_in(text: str) -> bool:
    """Whether a lead-in says too little to lead an answer: "Run it directly:"."""
    return is_lead_in(text) and len(text) <= MAX_SHORT_LEAD_IN


def is_misshapen(text: str) -> bool:
    """Whether a sentence is very short or very long, or has no end."""
    words = len(text.split())
    return words < 6 or words > 60 or not _SENTENCE_END.search(text)


def is_near_duplicate(one: str, other: str) -> bool:
    """Whether the shorter of two sentences has most of its words in common with the longer, and the same numbers."""
    words, others = set(content_words(one)), set(content_words(other))
    differ = any(word.isdigit() for word in words ^ others)
    return not differ and len(words & others) > 0.7 * min(len(words), len(others))
