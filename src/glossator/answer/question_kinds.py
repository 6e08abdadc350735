"""Kinds of questions: about a text as a whole, how something is done, or why."""

from __future__ import annotations

import re
from dataclasses import dataclass

from glossator.answer.followups import depends_on_previous
from glossator.core.text.words import all_words

MAX_POINTED_AT_LENGTH = 600
"""Of a selection, in characters: "it" in a question about a longer one may mean anything in it."""

_ASKS_HOW = re.compile(
    r"\bhow (?:do|does|can|could|should|would|to|might)\b|\b(?:example|command|snippet|syntax)\b", re.IGNORECASE
)
_ASKS_WHETHER_POSSIBLE = re.compile(
    r"^\W*(?:and |so |but )?(?:(?:can|could|may) (?:i|you|we|it|one)|is (?:there|it possible)"
    r"|what(?:'s| is) the (?:\w+ )?way)\b",
    re.IGNORECASE,
)
_IS_QUESTION = re.compile(
    r"\?|^\W*(?:who|what|when|where|which|whose|why|how|is|are|was|were|do|does|did|can|could|may|should|will|would|has|have"
    r"|explain|describe|tell|summari[sz]e)\b",
    re.IGNORECASE,
)
_KEYWORDS = range(3, 9)
"""How many words a question of keywords has ("skip install of the project"); fewer name a thing."""
_ASKS_WHY = re.compile(r"^\W*(?:and |so |but )?(?:why|how come|for what reason)\b", re.IGNORECASE)
_REFERS_TO_TEXT = re.compile(
    r"\b(?:this|these|those|such|here|above|the (?:text|passage|paragraph|selection))\b", re.IGNORECASE
)
_GENERIC_WORDS = frozenset(
    """
    explain this that these summarise summarize summary sum up describe clarify simplify simple simply
    terms mean meaning paragraph passage text section selection about tell me more what does is it the
    in of a please give overview gist main point points idea ideas key takeaway takeaways say saying
    here can you could help understand i don't do not get shorter short brief briefly words plain
    english like five to for and an tldr tl dr concept concepts notion term detail details easy easily language
    """.split()
)


@dataclass(frozen=True, slots=True)
class ExpectedContent:
    """What a good answer to a question has besides the sentence that answers."""

    code: bool = False
    explanation: bool = False


ONLY_SENTENCES = ExpectedContent()


def is_generic(question: str) -> bool:
    """Whether a question asks about a text as a whole ("explain this", "summarise")."""
    return all(word in _GENERIC_WORDS for word in all_words(question))


def asks_how(question: str) -> bool:
    """Whether a question asks how something is done, which documentation shows with code."""
    return bool(_ASKS_HOW.search(question))


def expected_content(question: str) -> ExpectedContent:
    """What a good answer has: code if the question asks how or whether something can be done, or is only keywords."""
    how = asks_how(question)
    code = how or bool(_ASKS_WHETHER_POSSIBLE.search(question)) or is_keywords(question)
    return ExpectedContent(code, explanation=how or asks_why(question))


def is_keywords(question: str) -> bool:
    """Whether a question is only keywords, as typed into a search box."""
    return not _IS_QUESTION.search(question) and len(question.split()) in _KEYWORDS


def asks_why(question: str) -> bool:
    """Whether a question asks for a reason."""
    return bool(_ASKS_WHY.search(question))


def refers_to_text(question: str) -> bool:
    """Whether a question refers to the text at hand ("this", "the passage")."""
    return bool(_REFERS_TO_TEXT.search(question))


def points_at(question: str, selection: str) -> bool:
    """Whether a question points at a selection: it refers to the text, or to the subject of a short one ("it")."""
    is_short = len(selection) <= MAX_POINTED_AT_LENGTH
    return refers_to_text(question) or (is_short and depends_on_previous(question))
