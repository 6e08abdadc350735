"""Divides a long sentence into clauses that can be judged one by one."""

from __future__ import annotations

import re

from glossator.verification.reading.tokenizer import TokenizedText

MIN_CLAUSE_WORDS = 4
"""Content words of a clause that is judged on its own; a shorter one stays with the next."""

_CONJUNCTIONS = "and|but|while|whereas|so|although|though|yet|or|because|since|when|which|who|where|whose"
_BOUNDARY = re.compile(rf";\s+|:\s+|\s+[—–]\s+|,\s+(?=(?:{_CONJUNCTIONS})\s)")
_LINK = re.compile(r"(?:and|but|while|whereas|so|although|though|yet|or)\s+", re.IGNORECASE)
"""Says how a clause is related to the one before it; it means nothing in a clause alone."""


def split_clauses(sentence: TokenizedText) -> list[str]:
    """The clauses of an English sentence, without the words that join them; itself if it has only one."""
    text, clauses, start = sentence.text, list[str](), 0
    words = [token.start for token in sentence.tokens if token.weight]
    for end in (*(match.end() for match in _BOUNDARY.finditer(text)), len(text)):
        if sum(start <= word < end for word in words) >= MIN_CLAUSE_WORDS:
            clauses.append(text[start:end])
            start = end
    if clauses and start < len(text):
        clauses[-1] += text[start:]
    return [_alone(clause) for clause in clauses] if len(clauses) > 1 else [text]


def _alone(clause: str) -> str:
    """A clause without its punctuation and the word that joins it to the one before."""
    bare = clause.strip(" ,;:—–")
    link = _LINK.match(bare)
    return bare[link.end() :] if link else bare
