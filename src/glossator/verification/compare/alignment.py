"""A claim's words beside the words of a place in the passages: which stands for which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glossator.verification.compare.similarity import SAME, Pair, align, alike
from glossator.verification.compare.windows import Source, Window
from glossator.verification.reading.lexicon import groups
from glossator.verification.reading.tokenizer import Reading, Token


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference: what the claim says and what stands in the source."""

    kind: str
    claim: str
    source: str = ""


Part = tuple[dict[str, float], list[Finding]]
"""What one kind of difference amounts to: features for the model, findings for the reader."""


class Beside:
    """A claim's tokens, a window's tokens, and the alignment between them."""

    def __init__(self, claim: Reading, window: Window, sources: Sequence[Source]) -> None:
        self.claim, self.window, self.sources = claim.tokens, window, sources
        self.language = claim.language
        self.text, self.source_text = claim.text, sources[window.source].reading.text
        self.pairs = align(self.claim, window.tokens)
        self.partner = {p.claim: p for p in self.pairs if p.claim is not None}
        self.taken = {p.source: p for p in self.pairs if p.source is not None and p.claim is not None}
        self.here = {i: self._here(token) for i, token in enumerate(self.claim) if not self.matched(i)}

    def matched(self, place: int) -> bool:
        pair = self.partner.get(place)
        return pair is not None and pair.source is not None and pair.likeness >= SAME

    def source(self, pair: Pair) -> Token:
        return self.window.tokens[pair.source or 0]

    def said(self, token: Token) -> str:
        """The claim's own characters, with the unit of a number."""
        return _characters(self.text, self.claim, token)

    def stood(self, token: Token) -> str:
        """The source's own characters."""
        return _characters(self.source_text, self.window.tokens, token)

    def source_free(self, place: int) -> bool:
        """Whether no word of the claim stands for this word of the source."""
        pair = self.taken.get(place)
        return pair is None or pair.likeness < SAME

    def _here(self, token: Token) -> int | None:
        """Where an unmatched word stands in the window after all; a place that nothing else has taken comes first."""
        likely = ((alike(token, other), self.source_free(n), -n) for n, other in enumerate(self.window.tokens))
        best = max((found for found in likely if found[0] >= SAME), key=lambda found: found[1:], default=None)
        return None if best is None else -best[2]

    def place(self, at: int) -> int | None:
        """Where a claim's word stands in the source: in its turn, or elsewhere."""
        pair = self.partner.get(at)
        if pair is not None and pair.source is not None and pair.likeness >= SAME:
            return pair.source
        return self.here.get(at)


def stands(token: Token, sources: Sequence[Source]) -> bool:
    """Whether any passage holds a word, a synonym of it, or the same quantity."""
    if token.quantity:
        found = (other.quantity for source in sources for other in source.reading.tokens)
        return any(quantity is not None and token.quantity.equals(quantity) for quantity in found)
    kinds = groups().get(token.stem, frozenset())
    return any(token.stem in source.everything or not kinds.isdisjoint(source.kinds) for source in sources)


def _characters(text: str, tokens: Sequence[Token], token: Token) -> str:
    """A word's own characters, with the unit of a number and the rest of a phrase."""
    end, goes_on = token.end, "unit" if token.quantity else "part" if token.family else ""
    for following in tokens[tokens.index(token) + 1 :] if goes_on else ():
        if following.family != goes_on:
            break
        end = following.end
    return text[token.start : end]
