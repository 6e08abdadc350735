"""A question that depends_on_previous on the one before it, made to stand alone for the search."""

from __future__ import annotations

from collections.abc import Sequence

from glossator.core.text.words import all_words, content_words

MOST_TOGETHER = 3
"""Questions that are put together at most: a long conversation drifts, and so would its search."""
LONGEST = 1000
"""Characters of a question that can lean: a longer one says what it is about."""
FEW = 4
"""Content words up to which a question that begins like a continuation is taken for one."""

_PERSONS = frozenset("it its they them their theirs he she him her his itself themselves former latter".split())
_DEMONSTRATIVES = frozenset("this that these those there such ones".split())
_THE_BOOK = frozenset("book chapter section page text guide manual documentation".split())
_JOINING = frozenset("and or nor but".split())
_CONTINUING = frozenset("and but or also then otherwise und aber oder y pero o et mais و اور لیکن".split())
_ASKING_WHY = frozenset("why warum wieso weshalb".split())
_ABOUT = (("what", "about"), ("how", "about"), ("what", "if"), ("how", "come"), ("how", "so"), ("what", "else"))
_REFERRING = (
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
_ASKING_FOR_MORE = frozenset(
    """
    example examples instance detail details reason reasons exception exceptions advantage advantages disadvantage
    disadvantages elaborate summarise summarize continue approach method step
    """.split()
)
_EMPTY_IT = frozenset(
    "to that possible true necessary important matter matters take takes mean means depend depends".split()
)
_ELSEWHERE = frozenset(
    "dies diese dieser dieses er ihr ihre esto eso ello cela ceci هذا هذه ذلك تلك یہ وہ اس ان".split()
)
_GERMAN_THIS = ("das", "es")


def depends_on_previous(question: str) -> bool:
    """Whether a question can hardly be understood without the one before.

    It says next to nothing itself ("Why?"), it begins like a continuation ("And for stairs?"), or it points at
    something ("How fast is it?") that it has not named before: "What is balance, and how is it kept?" has.
    """
    if len(question) > LONGEST:
        return False
    words = all_words(question)
    meaning = len([word for word in words if word not in _ASKING_FOR_MORE and content_words(word)])
    if meaning == 0 or any(phrase in " ".join(words) for phrase in _REFERRING):
        return True
    if meaning <= FEW and (words[0] in _CONTINUING or tuple(words[:2]) in _ABOUT):
        return True
    if words[-1] in _PERSONS | _DEMONSTRATIVES or (meaning <= FEW and not _ELSEWHERE.isdisjoint(words)):
        return True
    german = words[0] in _ASKING_WHY and meaning <= 1 and not set(_GERMAN_THIS).isdisjoint(words)
    return german or any(_points(words, at) for at in range(len(words)))


def _points(words: Sequence[str], at: int) -> bool:
    """Whether a word points at something that the question has not named before."""
    before = content_words(" ".join(words[:at]))
    after = words[at + 1 : at + 3]
    if words[at] == "it" and not _EMPTY_IT.isdisjoint(after):
        return False
    if words[at] in _PERSONS:
        named = before and not _JOINING.isdisjoint(words[:at])
        return len(before) <= 1 and not named
    if words[at] not in _DEMONSTRATIVES or (after and after[0] in _THE_BOOK):
        return False
    after_a_noun = at > 0 and bool(content_words(words[at - 1]))
    return len(before) <= 1 and not after_a_noun and words[:2] not in (["is", "there"], ["are", "there"])


def standalone_question(question: str, before: Sequence[str]) -> str:
    """The question after the earlier ones that it depends on, oldest first; alone where it depends on none."""
    parts = [question]
    for earlier in reversed(before):
        if len(parts) == MOST_TOGETHER or not depends_on_previous(parts[0]):
            break
        parts.insert(0, earlier)
    return " ".join(parts)
