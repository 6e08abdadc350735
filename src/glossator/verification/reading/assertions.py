"""Events that a text mentions without asserting them: attempts, plans, former habits, what would have happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from glossator.verification.reading.lexicon import lexicon_for
from glossator.verification.reading.tokens import Token

_LANGUAGE = "en"
_BE = frozenset("is are was were am be been being isn't aren't wasn't weren't".split())
_HAVE = frozenset("has have had having".split())
_HYPOTHETICAL = frozenset("would could should might".split())
_DETERMINERS = frozenset("a an the this that these those its their his her our your my".split())
_MAX_OBJECT_WORDS = 4
"""Between a verb and its infinitive: "asked the new clerk to sign"."""
_MAX_SUBJECT_WORDS = 3
_MAX_GAP = 3
"""Function words between an infinitive or auxiliary and the word that names the event."""


class Factuality(StrEnum):
    """How a text presents an event that it does not assert."""

    OPEN = "open"
    """Attempted, planned, demanded or promised."""
    FORMER = "former"
    HYPOTHETICAL = "hypothetical"
    IN_PROGRESS = "in progress"


@dataclass(frozen=True, slots=True)
class Mention:
    """An event that is not asserted: the indexes of the word that names it, and of the word that says so."""

    event: int
    cue: int
    factuality: Factuality


def mentions(tokens: Sequence[Token]) -> Iterator[Mention]:
    """The events of an English text that it does not assert."""
    cues = lexicon_for(_LANGUAGE).cues
    for at, token in enumerate(tokens):
        found = None
        if token.form in _HYPOTHETICAL:
            found, factuality = _hypothetical(tokens, at), Factuality.HYPOTHETICAL
        elif token.form == "being":
            found, factuality = _event(tokens, at + 1), Factuality.IN_PROGRESS
        elif token.form == "used":
            found, factuality = _habit(tokens, at), Factuality.FORMER
        elif token.form == "about" and tokens[at + 1 : at + 2] and tokens[at + 1].form == "to":
            found, factuality = _event(tokens, at + 2), Factuality.OPEN
        elif token.form in cues["unrealized"] and _is_statement(tokens, at):
            found, factuality = _infinitive(tokens, at) or _gerund(tokens, at), Factuality.OPEN
        if found is not None:
            yield Mention(found, at, factuality)


def asserts(tokens: Sequence[Token], at: int, factuality: Factuality, base: str) -> bool:
    """Whether a text asserts the event that a word names, where another one, with a base form, presents it so."""
    cues = lexicon_for(_LANGUAGE).cues
    if any(token.form in cues["unrealized"] | cues["former"] for token in tokens) or any(mentions(tokens)):
        return False
    before = [token for token in tokens[:at] if token.clause == tokens[at].clause]
    last = [token.form for token in before[-2:]]
    if "to" in last or any(token.family in ("modality", "negation") for token in before):
        return False
    if any(token.form in cues["condition"] or token.form in _HYPOTHETICAL for token in before):
        return False
    is_gerund = tokens[at].form.endswith("ing") and not _BE.intersection(last)
    if factuality is Factuality.FORMER:
        return not is_gerund and _is_present(tokens, at, base)
    if factuality is Factuality.IN_PROGRESS:
        return "been" in last and any(token.form in _HAVE for token in before)
    return not is_gerund


def _is_present(tokens: Sequence[Token], at: int, base: str) -> bool:
    """Whether a verb, or the auxiliary before a participle, noun or adjective, is in the present tense."""
    before = {token.form for token in tokens[:at]}
    if before & {"was", "were", "had", "did", "been"}:
        return False
    return bool(before & {"is", "are", "am"}) or tokens[at].form in (base, f"{base}s", f"{base}es", f"{base[:-1]}ies")


def _is_statement(tokens: Sequence[Token], at: int) -> bool:
    """Whether a verb states something: it is no instruction ("try to …") and no condition ("if you want to …")."""
    before = [token.form for token in tokens[:at] if token.clause == tokens[at].clause]
    return (
        bool(before) and "you" not in before[-2:] and not lexicon_for(_LANGUAGE).cues["condition"].intersection(before)
    )


def _infinitive(tokens: Sequence[Token], at: int) -> int | None:
    """The event of the infinitive that a verb governs."""
    end = min(len(tokens) - 1, at + 1 + _MAX_OBJECT_WORDS)
    to = (n for n in range(at + 1, end) if tokens[n].form == "to" and tokens[n + 1].form not in _DETERMINERS)
    found = next(to, None)
    return _event(tokens, found + 1) if found is not None and tokens[found].clause == tokens[at].clause else None


def _gerund(tokens: Sequence[Token], at: int) -> int | None:
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    return at + 1 if following and following.weight and following.form.endswith("ing") else None


def _habit(tokens: Sequence[Token], at: int) -> int | None:
    """The event of "used to", unless it names a purpose: "is used to", "the tool used to build it is"."""
    clause = [n for n, token in enumerate(tokens) if token.clause == tokens[at].clause]
    before, after = [tokens[n] for n in clause if n < at], [tokens[n] for n in clause if n > at]
    is_short = 0 < sum(token.weight > 0 for token in before) <= _MAX_SUBJECT_WORDS
    is_main = before and before[-1].form not in _BE | _HAVE and not _BE.intersection(t.form for t in after[2:])
    if not is_short or not is_main or not after or after[0].form != "to":
        return None
    return _event(tokens, at + 2)


def _hypothetical(tokens: Sequence[Token], at: int) -> int | None:
    """The event of "would have", or of "would" with a condition that is not met."""
    forms = [token.form for token in tokens]
    if "have" in forms[at + 1 : at + 3]:
        return _event(tokens, forms.index("have", at) + 1)
    unmet = any(one == "if" and {"were", "had"}.intersection(forms[n + 1 : n + 4]) for n, one in enumerate(forms))
    return _event(tokens, at + 1) if unmet and forms[at] == "would" else None


def _event(tokens: Sequence[Token], start: int) -> int | None:
    """The first content word from here on, past auxiliaries."""
    return next((n for n in range(start, min(len(tokens), start + _MAX_GAP)) if tokens[n].weight), None)
