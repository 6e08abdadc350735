"""Checks that letters ("port A", "vitamin C") and codes ("HTTPS", "IPv6") name what they name in the source."""

from __future__ import annotations

from collections.abc import Sequence

from glossator.verification.compare.alignment import Alignment
from glossator.verification.compare.difference import CheckResult, Difference
from glossator.verification.compare.similarity import are_other_codes
from glossator.verification.compare.statements import matching_places
from glossator.verification.reading.tokens import CONJUNCTIONS, Token


def check_letters(alignment: Alignment) -> CheckResult:
    """Letters that the source does not have, or about which it says something else."""
    source = alignment.window.tokens
    found = []
    for index, token in enumerate(alignment.claim):
        if not is_letter(token):
            continue
        rival = _rival(alignment, index)
        if rival is not None or all(other.form != token.form for other in source) or _role_changed(alignment, index):
            found.append(
                Difference("replaced", alignment.claim_text(token), alignment.source_text(rival) if rival else "")
            )
    return {"letters": float(len(found))}, found


def is_letter(token: Token) -> bool:
    """Whether a token is a single letter that names something, also with a sign ("C++")."""
    return token.is_name and token.form[0].isupper() and not token.form[1:].strip("+#-")


def _parts(tokens: Sequence[Token]) -> list[int]:
    """The number of the part that each token is in; parts are clauses, divided again at conjunctions."""
    found: list[int] = []
    for index, token in enumerate(tokens):
        new = index and (token.clause != tokens[index - 1].clause or token.form in CONJUNCTIONS)
        found.append((found[-1] if found else 0) + bool(new))
    return found


def _rival(alignment: Alignment, index: int) -> Token | None:
    """Another letter about which the source says what the claim says about this one.

    Words before the first letter may belong to both ("press button X to jump and button Y to crouch").
    """
    source, mine = alignment.window.tokens, _parts(alignment.claim)
    parts = _parts(source)
    own = {parts[n] for n, other in enumerate(source) if other.form == alignment.claim[index].form}
    rivals = {parts[n]: n for n, t in enumerate(source) if is_letter(t) and parts[n] not in own}
    letters = [n for n, token in enumerate(alignment.claim) if is_letter(token)]
    near = [n for n, part in enumerate(mine) if n not in letters and (len(letters) == 1 or part == mine[index])]
    for at in matching_places(alignment, near).values():
        elsewhere = [
            rivals[parts[n]]
            for n in at
            if parts[n] in rivals and (n > rivals[parts[n]] or (len(letters) == 1 and own and parts[n] > max(own)))
        ]
        if elsewhere and own.isdisjoint(parts[n] for n in at):
            return source[elsewhere[0]]
    return None


def _role_changed(alignment: Alignment, index: int) -> bool:
    """Whether a letter stands after the preposition that another letter of the claim has in the source."""
    token, before = alignment.claim[index], _preposition(alignment.claim, index)
    source = alignment.window.tokens
    own = [_preposition(source, n) for n, other in enumerate(source) if other.form == token.form]
    others = [
        _preposition(source, n) for n, other in enumerate(source) if is_letter(other) and other.form != token.form
    ]
    return before is not None and before not in own and before in others and None not in own


def _preposition(tokens: Sequence[Token], index: int) -> str | None:
    """The function word before a letter and the noun that it belongs to ("from terminal A")."""
    for token in reversed(tokens[max(0, index - 3) : index]):
        if not token.weight and token.clause == tokens[index].clause and token.form not in ("the", "a", "an"):
            return token.form
    return None


def check_codes(alignment: Alignment) -> CheckResult:
    """Codes in the place of others, which the claim does not mention, though the source does not have them."""
    claimed = {token.stem for token in alignment.claim}
    found = []
    for pair in alignment.pairs:
        if pair.claim is None or pair.source is None:
            continue
        one, other = alignment.claim[pair.claim], alignment.source_token(pair)
        absent = alignment.elsewhere.get(pair.claim) is None and other.stem not in claimed
        if absent and are_other_codes(one, other):
            found.append(Difference("replaced", alignment.claim_text(one), alignment.source_text(other)))
    return {"codes": float(len(found))}, found
