"""Contractions, lead-ins, connectives and quotation marks."""

from __future__ import annotations

from lib.mutations.wordlists.grammar import PREPOSITIONS
from lib.mutations.wordlists.notation import phrase_pattern

CONTRACTIONS = [
    ("does not", "doesn't"),
    ("do not", "don't"),
    ("did not", "didn't"),
    ("is not", "isn't"),
    ("are not", "aren't"),
    ("was not", "wasn't"),
    ("were not", "weren't"),
    ("cannot", "can't"),
    ("could not", "couldn't"),
    ("should not", "shouldn't"),
    ("would not", "wouldn't"),
    ("will not", "won't"),
    ("has not", "hasn't"),
    ("have not", "haven't"),
    ("it is", "it's"),
    ("that is", "that's"),
    ("there is", "there's"),
    ("you are", "you're"),
    ("we are", "we're"),
    ("they are", "they're"),
    ("you will", "you'll"),
    ("we will", "we'll"),
    ("it will", "it'll"),
    ("let us", "let's"),
    ("you have", "you've"),
    ("we have", "we've"),
]
_NO_PREPOSITION_FOLLOWS = rf"(?= (?!(?:{'|'.join(sorted(PREPOSITIONS))})\b)[a-z])"
BEFORE_CONTRACTED = {
    "is": _NO_PREPOSITION_FOLLOWS,
    "are": _NO_PREPOSITION_FOLLOWS,
    "will": _NO_PREPOSITION_FOLLOWS,
    "have": r"(?= (?:been|seen|already|just|made|used|learned|discussed|covered)\b)",
}
"""What must follow a word for it to be contracted: a sentence cannot end in `what it's`."""
LEAD_INS = ("According to the book, ", "In short, ", "The book says that ", "Note that ", "As the text explains, ")
CONNECTIVES = phrase_pattern(
    """However Therefore Thus Moreover Furthermore In_addition Additionally For_example For_instance As_a_result
    Consequently Hence Finally In_fact Of_course Nevertheless Nonetheless Similarly Likewise In_other_words That_is
    Indeed On_the_other_hand By_contrast In_contrast In_practice Accordingly Also Still Then Next Now Instead In_short
    In_particular Specifically More_specifically Again After_all To_summarize To_sum_up Interestingly Fortunately
    Unfortunately Essentially Basically Besides Conversely Overall As_mentioned As_always As_usual So"""
)
CLOSE_CONNECTIVES = (
    r"(?:Note|Remember|Notice|Recall|Keep in mind|Be aware)(?: also)? that|"
    r"(?:But|And|Yet|So)(?! (?:far|that|long|much|many)\b)"
)
RESTRICTING = (
    r"\b(?:not|only|except|unless|if|or|without|excluding|other than|rather|instead|at least|some|usually|sometimes|"
    r"may|when|where|most|almost|by default|currently|no|never|optional|optionally|assuming|provided|depending|"
    r"until)\b|n['’]t\b"
)
MARKS = (
    (r"(?<=\w)’(?=\w)", "'"),
    (r"(?<=\w)'(?=\w)", "’"),
    (r"[“”]", '"'),
    (r'"([^"]+)"', r"“\1”"),
    (r"\s*\[\d+\](?=\.?$)", ""),
)
