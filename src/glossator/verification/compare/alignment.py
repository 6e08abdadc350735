"""Aligns the words of a claim with the words of a passage, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from glossator.verification.compare.similarity import MIN_SIMILARITY, similarity
from glossator.verification.compare.windows import TokenizedPassage, Window
from glossator.verification.reading.converses import inverted_relations
from glossator.verification.reading.fractions import ARTICLES
from glossator.verification.reading.lexicon import MeasurementUnit, synonym_groups, units
from glossator.verification.reading.numbers import Quantity
from glossator.verification.reading.tokenizer import TokenizedText
from glossator.verification.reading.tokens import Token

_EQUIVALENT = 0.85
"""How similar words for one relation from its two sides are, and amounts with and without a number: as synonyms."""

_SKIP_CLAIM, _SKIP_SOURCE = -0.45, -0.12
_MAX_CELLS = 60_000
"""Size of the alignment table; the end of a longer claim is ignored."""


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """The indexes of a claim token and the source token it is aligned with; either may be missing."""

    claim: int | None
    source: int | None
    similarity: float


class Alignment:
    """The tokens of a claim aligned with the tokens of a window."""

    def __init__(self, claim: TokenizedText, window: Window, passages: Sequence[TokenizedPassage]) -> None:
        self.claim, self.window, self.passages = claim.tokens, window, passages
        self.language = claim.language
        self.claim_source, self.source = claim.text, passages[window.passage].content.text
        """The texts that the offsets of the tokens refer to."""
        self.similarities = [[similarity(own, other) for other in window.tokens] for own in self.claim]
        """Of each token of the claim to each token of the window."""
        self.inverted = inverted_relations(self.claim, window.tokens) if claim.language == "en" else {}
        for own, other in self.inverted.items():
            self.similarities[own][other] = _EQUIVALENT
        for own, other in _same_amounts(self.claim, window.tokens):
            self.similarities[own][other] = _EQUIVALENT
        self.pairs = align(self.claim, self.similarities)
        self.by_claim = {p.claim: p for p in self.pairs if p.claim is not None}
        self.by_source = {p.source: p for p in self.pairs if p.source is not None and p.claim is not None}
        self._unmatched = [self._is_unmatched(n) for n in range(len(window.tokens))]
        self.elsewhere = {i: self._find_elsewhere(i) for i in range(len(self.claim)) if not self.is_matched(i)}
        """For each unmatched token of the claim, where the window has it out of order; None if it does not."""

    def is_matched(self, index: int) -> bool:
        """Whether a token of the claim matches the source token it is aligned with."""
        pair = self.by_claim.get(index)
        return pair is not None and pair.source is not None and pair.similarity >= MIN_SIMILARITY

    def is_source_unmatched(self, index: int) -> bool:
        """Whether a token of the source matches no token of the claim."""
        return self._unmatched[index]

    def _is_unmatched(self, index: int) -> bool:
        pair = self.by_source.get(index)
        return pair is None or pair.similarity < MIN_SIMILARITY

    def source_token(self, pair: AlignedPair) -> Token:
        """The source token of a pair that has one."""
        return self.window.tokens[pair.source or 0]

    def source_index(self, index: int) -> int | None:
        """Where a token of the claim is found in the source: aligned, or out of order."""
        pair = self.by_claim.get(index)
        if pair is not None and pair.source is not None and pair.similarity >= MIN_SIMILARITY:
            return pair.source
        return self.elsewhere.get(index)

    def claim_text(self, token: Token) -> str:
        """The exact text of a token of the claim."""
        return _exact_text(self.claim_source, self.claim, token)

    def source_text(self, token: Token) -> str:
        """The exact text of a token of the source."""
        return _exact_text(self.source, self.window.tokens, token)

    def matches(self, index: int) -> list[int]:
        """Where the window has a token of the claim, in order or not."""
        return [n for n, value in enumerate(self.similarities[index]) if value >= MIN_SIMILARITY]

    def _find_elsewhere(self, index: int) -> int | None:
        """The index of a matching token anywhere in the window; one that is still unmatched is preferred."""
        found = self.matches(index)
        return next((n for n in found if self._unmatched[n]), found[0] if found else None)


def occurs_in(token: Token, passages: Sequence[TokenizedPassage]) -> bool:
    """Whether any passage has a word, a synonym of it, or the same quantity."""
    if token.quantity:
        return any(token.quantity.equals(quantity) for passage in passages for quantity in passage.quantities)
    groups = synonym_groups().get(token.stem, frozenset())
    return any(token.stem in passage.all_stems or not groups.isdisjoint(passage.synonym_groups) for passage in passages)


def _same_amounts(claim: Sequence[Token], source: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Units with an article in one text and the same amount with a number in the other: "a day", "24 hours"."""
    for texts in ((claim, source), (source, claim)):
        single = {at: Quantity((1.0,), unit) for at, unit in _units_with_article(texts[0])}
        for n, token in enumerate(texts[1] if single else ()):
            for at, quantity in single.items():
                if token.quantity and token.quantity.unit and token.quantity.equals(quantity):
                    yield (at, n) if texts[0] is claim else (n, at)


def _units_with_article(tokens: Sequence[Token]) -> Iterator[tuple[int, MeasurementUnit]]:
    for at in range(1, len(tokens)):
        unit = units().get(tokens[at].form) if tokens[at - 1].form in ARTICLES and not tokens[at].family else None
        if unit is not None:
            yield at, unit


def _exact_text(text: str, tokens: Sequence[Token], token: Token) -> str:
    """The text of a token, with the unit of a number and the rest of a phrase."""
    end, continued_by = token.end, "unit" if token.quantity else "part" if token.family else ""
    for following in tokens[tokens.index(token) + 1 :] if continued_by else ():
        if following.family != continued_by:
            break
        end = following.end
    return text[token.start : end]


def align(claim: Sequence[Token], similarities: Sequence[list[float]]) -> list[AlignedPair]:
    """The best alignment that keeps the order; source tokens before the first and after the last pair cost nothing."""
    columns = len(similarities[0]) if similarities else 0
    rows = min(len(claim), max(1, _MAX_CELLS // max(1, columns)))
    best = [0.0] * (columns + 1)
    moves: list[bytearray] = []
    for row in range(rows):
        best, move = _fill_row(
            best, similarities[row], _SKIP_CLAIM * (1.0 if claim[row].weight else 0.4), row == rows - 1
        )
        moves.append(move)
    return _trace_back(moves, similarities, rows, columns)


def _fill_row(above: list[float], similarities: list[float], skip: float, last: bool) -> tuple[list[float], bytearray]:
    """One row of the table: scores and moves. A move is 0 for a pair, 1 to skip the claim token, 2 the source token."""
    over = 0.0 if last else _SKIP_SOURCE
    left = above[0] + skip
    row, move = [left], bytearray(b"\x01")
    for score, diagonal, higher in zip(similarities, above, above[1:], strict=False):
        value, kind = diagonal + score, 0
        if (down := higher + skip) > value:
            value, kind = down, 1
        if (along := left + over) > value:
            value, kind = along, 2
        row.append(value)
        move.append(kind)
        left = value
    return row, move


def _trace_back(
    moves: list[bytearray], similarities: Sequence[list[float]], row: int, column: int
) -> list[AlignedPair]:
    pairs: list[AlignedPair] = []
    while row > 0:
        kind = moves[row - 1][column]
        if kind == 0:
            row, column = row - 1, column - 1
            pairs.append(AlignedPair(row, column, similarities[row][column]))
        elif kind == 1:
            row -= 1
            pairs.append(AlignedPair(row, None, 0.0))
        else:
            column -= 1
            pairs.append(AlignedPair(None, column, 0.0))
    pairs += [AlignedPair(None, source, 0.0) for source in range(column - 1, -1, -1)]
    return pairs[::-1]
