"""A claim and passages become a verdict, through a small model whose weights are a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache

from glossator.core.answers import Evidence, Status, Verdict
from glossator.core.ports import TokenEncoder
from glossator.core.text.sentences import split_sentences
from glossator.core.thresholds import SUPPORTED
from glossator.core.types import Passage, Span, TokenVectors
from glossator.verification.compare.comparison import Comparison, compare
from glossator.verification.compare.vector_similarity import likeness
from glossator.verification.compare.windows import Source, prepare, windows
from glossator.verification.lead_ins import without_lead
from glossator.verification.model import score
from glossator.verification.reading.tokenizer import Reading, read, says_something
from glossator.verification.reasons import contradicts, reasons
from glossator.verification.sanitize import is_chat, strange_symbols

VERSION = "1"
"""Changes whenever a verdict may change: it is part of every receipt."""

MOST_CLAIM = 4000
"""Characters of a claim; a longer one is unsupported, for nobody could check it at a glance."""

TITLE_WORDS = 6
"""A longer heading is taken for a sentence."""

FRAGMENT_WORDS = 3
"""So few words are judged by whether they stand together."""

MOST_WORDS = 250
"""Delta of one sentence that are compared; a longer one is not supported."""

_BREAK = re.compile(r"(?P<end>)(?:(?<=[.!?:;…。۔])[ \t]*\n|\n[ \t]*\n)\s*")

MODEL_LANGUAGE = "en"
"""The language that the token model was trained on; texts in another are judged by their words alone."""

NO_CODE = "this code does not stand in any passage"
NOTHING = "there is nothing to check it against"
TOO_LONG = f"longer than {MOST_CLAIM:,} characters"


class Prepared:
    """Passages read once for all the claims of an answer; their token vectors are made when first needed."""

    def __init__(self, passages: Sequence[Passage | str], encoder: TokenEncoder | None) -> None:
        self.texts = tuple(p if isinstance(p, str) else p.text for p in passages)
        self.passages = tuple(None if isinstance(p, str) else p for p in passages)
        self._encoder = encoder
        self._vectors: dict[int, TokenVectors] = {}

    def add(self, passages: Sequence[Passage | str]) -> None:
        """More passages, which count on from the last."""
        self.texts += tuple(p if isinstance(p, str) else p.text for p in passages)
        self.passages += tuple(None if isinstance(p, str) else p for p in passages)
        self.__dict__.pop("sources", None)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """Every passage, read; sentences that stand in it word for word do not need this."""
        return prepare(self.texts)

    @lru_cache(maxsize=256)  # noqa: B019 - lives as long as the passages, which is one answer
    def borders(self, number: int) -> tuple[frozenset[int], frozenset[int]]:
        """Where sentences of a passage begin and end; a line break counts after a full stop or a blank line only."""
        text = self.texts[number - 1]
        spans = split_sentences(text)
        breaks = list(_BREAK.finditer(text))
        starts = {0, *(span.start for span in spans), *(m.end() for m in breaks)}
        return frozenset(starts), frozenset(
            {len(text), *(span.end for span in spans), *(m.start("end") for m in breaks)}
        )

    @lru_cache(maxsize=256)  # noqa: B019 - as above
    def squeezed(self, number: int) -> tuple[str, tuple[int, ...]]:
        """A passage without white space, and where each of its characters stood."""
        places = tuple(i for i, character in enumerate(self.texts[number - 1]) if not character.isspace())
        return "".join(self.texts[number - 1][place] for place in places), places

    def vectors(self, number: int) -> TokenVectors | None:
        """A passage's token vectors (counted from 1); None where the model does not know its language."""
        if self._encoder is None or self.sources[number - 1].reading.language != MODEL_LANGUAGE:
            return None
        if number not in self._vectors:
            self._vectors[number] = self._encoder.encode(self.texts[number - 1])
        return self._vectors[number]


class Verifier:
    """Judges claims; without an encoder, words alone decide."""

    def __init__(self, encoder: TokenEncoder | None = None) -> None:
        self.encoder = encoder

    @property
    def version(self) -> str:
        """What a receipt keeps of how verdicts came about."""
        return f"{VERSION}+{self.encoder.fingerprint if self.encoder else 'words'}"

    def prepare(self, passages: Sequence[Passage | str]) -> Prepared:
        """Read the passages of an answer."""
        return Prepared(passages, self.encoder)

    def judge(self, claim: str, prepared: Prepared, among: Sequence[int] | None = None) -> Verdict:
        """Whether some of the passages (counted from 1; all by default) say everything that a claim says."""
        numbers = _within(prepared, among)
        if len(claim) > MOST_CLAIM:
            return Verdict(Status.UNSUPPORTED, False, 0.0, None, (TOO_LONG,))
        if (evidence := _verbatim(claim, prepared, numbers)) is not None:
            return Verdict(Status.SUPPORTED, True, 1.0, evidence)
        parts = claims_of(claim)
        verdicts = [verdict for part in parts if (verdict := self._sentence(part, prepared, numbers))]
        if not verdicts:
            return Verdict(Status.UNSUPPORTED, False, 0.0, None, (NOTHING,))
        return min(verdicts, key=lambda verdict: verdict.score)

    def judge_code(self, code: str, prepared: Prepared, among: Sequence[int] | None = None) -> Verdict:
        """Code is supported only where it stands, white space aside."""
        wanted = "".join(code.split())
        for number in _within(prepared, among) if wanted else ():
            (squeezed, places), text = prepared.squeezed(number), prepared.texts[number - 1]
            found = squeezed.find(wanted)
            while found >= 0:
                span = Span(places[found], places[found + len(wanted) - 1] + 1)
                if _fills_lines(text, span):
                    return Verdict(Status.SUPPORTED, True, 1.0, _evidence(prepared, number, span))
                found = squeezed.find(wanted, found + 1)
        return Verdict(Status.UNSUPPORTED, False, 0.0, None, (NO_CODE,))

    def is_title(self, text: str, prepared: Prepared) -> bool:
        """Whether a heading claims nothing: a few words that stand side by side in a passage or above it."""
        tokens = read(text).tokens
        words = [token.form for token in tokens if token.weight or token.family]
        if not words or len(words) > TITLE_WORDS or any(token.quantity for token in tokens):
            return False
        above = [" ".join(passage.heading_path) for passage in prepared.passages if passage]
        return any(_side_by_side(words, source) for source in (*prepared.texts, *above))

    def is_loose(self, text: str, prepared: Prepared) -> bool:
        """Whether a text is a few words that stand together in no passage: too little to tell what it claims."""
        words = [token.form for token in read(text).tokens if token.weight or token.family]
        few = len(words) <= FRAGMENT_WORDS
        return few and not any(_side_by_side(words, source) for source in prepared.texts)

    def _sentence(self, text: str, prepared: Prepared, numbers: Sequence[int]) -> Verdict | None:
        judged = [(score(features), found) for features, found in self.candidates(text, prepared, numbers)]
        if not judged:
            return None
        value, found = max(judged, key=lambda pair: pair[0])
        evidence = _evidence(prepared, numbers[found.window.source], found.window.span)
        if signs := strange_symbols(text, evidence.quote):
            return Verdict(Status.UNSUPPORTED, False, 0.0, evidence, (f"not in the source: {' '.join(sorted(signs))}",))
        if value >= SUPPORTED:
            return Verdict(Status.SUPPORTED, True, value, evidence)
        status = Status.CONTRADICTED if contradicts(found.findings) else Status.UNSUPPORTED
        return Verdict(status, False, value, evidence, reasons(found.findings))

    def candidates(
        self, text: str, prepared: Prepared, numbers: Sequence[int]
    ) -> list[tuple[dict[str, float], Comparison]]:
        """A sentence beside the likeliest places of the passages, with what the model judges it by."""
        sources = [prepared.sources[number - 1] for number in numbers]
        if not sources:
            return []
        claim = read(without_lead(text), sources[0].reading.language)
        if len(claim.tokens) > MOST_WORDS:
            return []
        found: list[Comparison] = []
        for window in windows(claim.tokens, sources) if claim.tokens else ():
            found.append(compare(claim, window, sources))
            if found[-1].clean:
                break
        likenesses = self._likenesses(claim, found, prepared, numbers)
        return [(f.features | more, f) for f, more in zip(found, likenesses, strict=True)]

    def _likenesses(
        self, claim: Reading, found: Sequence[Comparison], prepared: Prepared, numbers: Sequence[int]
    ) -> list[dict[str, float]]:
        """What the token model adds; nothing for the source's own words, and nothing in a language it does not know."""
        vectors = [] if all(f.clean for f in found) else [prepared.vectors(number) for number in numbers]
        known = [vector for vector in vectors if vector is not None]
        if self.encoder is None or not known or len(known) < len(vectors):
            return [{} for _ in found]
        own = self.encoder.encode(claim.text)
        return [{} if f.clean else likeness(own, claim, f.window, known, f) for f in found]


def claims_of(text: str) -> list[str]:
    """The sentences of a text that claim something; all of them when none seems to."""
    sentences = [text[span.start : span.end] for span in split_sentences(text)]
    return [sentence for sentence in sentences if not is_chat(sentence) and says_something(sentence)] or sentences


def _within(prepared: Prepared, among: Sequence[int] | None) -> list[int]:
    everything = range(1, len(prepared.texts) + 1)
    return list(everything) if among is None else [number for number in among if number in everything]


def _verbatim(claim: str, prepared: Prepared, numbers: Sequence[int]) -> Evidence | None:
    """Where a claim stands word for word, as whole sentences: nothing before or after it belongs to it."""
    wanted = claim.strip()
    for number in numbers if len(wanted) > 1 else ():
        at = prepared.texts[number - 1].find(wanted)
        while at >= 0:
            starts, ends = prepared.borders(number)
            if at in starts and at + len(wanted) in ends:
                return _evidence(prepared, number, Span(at, at + len(wanted)))
            at = prepared.texts[number - 1].find(wanted, at + 1)
    return None


def _fills_lines(text: str, span: Span) -> bool:
    """Whether a stretch begins and ends a line, or a stretch of code in one."""
    before, after = text[: span.start].rstrip(" \t"), text[span.end :].lstrip(" \t")
    return (not before or before[-1] in "\n`") and (not after or after[0] in "\n`")


def _side_by_side(words: Sequence[str], source: str) -> bool:
    """Whether words stand in a text in this order with nothing but grammar between them."""
    forms = [token.form for token in read(source).tokens if token.weight or token.family]
    return any(forms[i : i + len(words)] == words for i in range(len(forms) - len(words) + 1))


def _evidence(prepared: Prepared, number: int, span: Span) -> Evidence:
    start, end = span.start, span.end
    quote, passage = prepared.texts[number - 1][start:end], prepared.passages[number - 1]
    if passage is None:
        return Evidence(number, start, end, quote)
    place = (passage.start + start, passage.start + end)
    return Evidence(number, start, end, quote, passage.chunk_id, passage.document_id, *place)
