"""Follow-up questions: which ones depend on the previous question, and how they are made standalone for the search."""

from __future__ import annotations

import re
from collections.abc import Sequence

from glossator.core.text.words import all_words, content_words

MAX_QUESTIONS = 3
"""Questions joined into one search: a long conversation drifts, and so would its search."""
MAX_CHARACTERS = 1000
"""A longer question is standalone: it says what it is about."""
MAX_CONTENT_WORDS = 4
"""A question that begins like a continuation is one if it has no more content words than this."""

_PRONOUNS = frozenset("it its they them their theirs he she him her his itself themselves former latter".split())
_DEMONSTRATIVES = frozenset("this that these those there such ones".split())
_BOOK_WORDS = frozenset("book chapter section page text guide manual documentation".split())
_CONJUNCTIONS = frozenset("and or nor but".split())
_CONTINUATIONS = frozenset("and but or also then otherwise und aber oder y pero o et mais و اور لیکن".split())
_WHY = frozenset("why warum wieso weshalb".split())
_CONTINUATION_PAIRS = frozenset({"what about", "how about", "what if", "how come", "how so", "what else"})
_REFERENCES = (
    "the same",
    "the two",
    "the first",
    "the second",
    "the third",
    "the latter",
    "the former",
    "which one",
    "the other",
)
_REQUESTS_FOR_MORE = frozenset(
    """
    example examples instance detail details reason reasons exception exceptions advantage advantages disadvantage
    disadvantages elaborate summarise summarize continue approach method step
    """.split()
)
_AFTER_EXPLETIVE_IT = frozenset(
    "to that possible true necessary important matter matters take takes mean means depend depends".split()
)
_ABOUT_NOW = re.compile(r"\b(?:what|which) (?:time|day|date|month|year) is it\b", re.IGNORECASE)
_OTHER_LANGUAGES = frozenset(
    "dies diese dieser dieses er ihr ihre esto eso ello cela ceci هذا هذه ذلك تلك یہ وہ اس ان".split()
)
_GERMAN_PRONOUNS = ("das", "es")


def depends_on_previous(question: str) -> bool:
    """Whether a question cannot be understood without the previous one.

    It has no content words ("Why?"), it begins like a continuation ("And for stairs?"), or it refers to something
    ("How fast is it?") that it has not named itself: "What is balance, and how is it kept?" has.
    """
    if len(question) > MAX_CHARACTERS:
        return False
    if asks_about_now(question):
        return False
    words = all_words(question)
    count = len([word for word in words if word not in _REQUESTS_FOR_MORE and content_words(word)])
    if count == 0 or any(phrase in " ".join(words) for phrase in _REFERENCES):
        return True
    if count <= MAX_CONTENT_WORDS and (words[0] in _CONTINUATIONS or " ".join(words[:2]) in _CONTINUATION_PAIRS):
        return True
    if words[-1] in _PRONOUNS | _DEMONSTRATIVES:
        return True
    if count <= MAX_CONTENT_WORDS and not _OTHER_LANGUAGES.isdisjoint(words):
        return True
    german = words[0] in _WHY and count <= 1 and not set(_GERMAN_PRONOUNS).isdisjoint(words)
    return german or any(_refers_back(words, at) for at in range(len(words)))


def asks_about_now(question: str) -> bool:
    """Whether a question is about the moment it is asked ("What time is it?"): no text answers that."""
    return bool(_ABOUT_NOW.search(question))


def _refers_back(words: Sequence[str], at: int) -> bool:
    """Whether a word refers to something that the question has not named before it."""
    before = content_words(" ".join(words[:at]))
    after = words[at + 1 : at + 3]
    if words[at] == "it" and not _AFTER_EXPLETIVE_IT.isdisjoint(after):
        return False
    if words[at] in _PRONOUNS:
        named = before and not _CONJUNCTIONS.isdisjoint(words[:at])
        return len(before) <= 1 and not named
    if words[at] not in _DEMONSTRATIVES or (after and after[0] in _BOOK_WORDS):
        return False
    after_a_noun = at > 0 and bool(content_words(words[at - 1]))
    return len(before) <= 1 and not after_a_noun and words[:2] not in (["is", "there"], ["are", "there"])


def standalone_question(question: str, previous: Sequence[str]) -> str:
    """The question, preceded by the earlier ones that it depends on, oldest first."""
    parts = [question]
    for earlier in reversed(previous):
        if len(parts) == MAX_QUESTIONS or not depends_on_previous(parts[0]):
            break
        parts.insert(0, earlier)
    return " ".join(parts)
