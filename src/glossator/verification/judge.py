"""Judges a claim against passages."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

from glossator.core.answers import Evidence, Status, Verdict
from glossator.core.errors import ReaderUnavailable
from glossator.core.ports import Reader, TokenEncoder
from glossator.core.text.sentences import split_sentences
from glossator.core.thresholds import QUOTED, SHOWN, SUPPORTED
from glossator.core.types import Passage, Span, TokenVectors
from glossator.verification.budget import DEFAULT_BUDGET, Allowance, Budget, comparison_cost, encoding_cost
from glossator.verification.compare.comparison import Comparison, compare
from glossator.verification.compare.reading import ClaimReadings, ReadPassages, count_tokens, reading_features
from glossator.verification.compare.vector_similarity import vector_features
from glossator.verification.compare.windows import (
    MAX_WINDOWS,
    TokenizedPassage,
    Window,
    best_windows,
    narrower_windows,
    tokenize_passages,
)
from glossator.verification.headings import title_words
from glossator.verification.model import has_veto, is_short, limit, score
from glossator.verification.opening_phrases import strip_opening_phrases
from glossator.verification.reading.tokenizer import TokenizedText, has_content, language_of, tokenize
from glossator.verification.reasons import contradicts, reasons
from glossator.verification.sanitize import is_small_talk, unknown_literals, unknown_symbols
from glossator.verification.version import verifier_version

_log = logging.getLogger(__name__)

MAX_CLAIM_LENGTH = 4000
"""In characters. A longer claim is unsupported: nobody could check it at a glance."""

MAX_FRAGMENT_WORDS = 3
"""A text this short is judged by whether a passage contains it as a phrase."""

MAX_SENTENCE_TOKENS = 250
"""A longer sentence is not compared, and so not supported."""

_LINE_BREAK = re.compile(r"(?P<end>)(?:(?<=[.!?:;…。۔])[ \t]*\n|\n[ \t]*\n)\s*")
"""The group `end` is where the line before the break ends."""

MAX_ENCODED_TOKENS = 3000
"""Per answer, in passages and claims; beyond it, claims are judged by the word comparison only."""

_ITEM_MARKER = re.compile(r"(?:[>\s]|[-*+•|#]|\d{1,3}[.)])*+")

_MAX_MARGIN = 200
"""Characters around a quote that tell whether it covers its lines."""

MODEL_LANGUAGE = "en"
"""The language of the token model; texts in other languages are judged without it."""

CODE_NOT_FOUND = "this code is not in any passage"
NOT_COMPARABLE = "could not be compared with any passage"
TOO_MUCH_TO_COMPARE = "not checked: the text and its sources are too long to compare; check it in parts"
TOO_LONG = f"longer than {MAX_CLAIM_LENGTH:,} characters"


class PreparedPassages:
    """The passages of an answer, tokenized once for all its claims; token vectors are computed when first needed."""

    def __init__(
        self,
        passages: Sequence[Passage | str],
        encoder: TokenEncoder | None,
        reader: Reader | None = None,
        budget: Budget = DEFAULT_BUDGET,
    ) -> None:
        self.texts = tuple(p if isinstance(p, str) else p.text for p in passages)
        self.passages = tuple(None if isinstance(p, str) else p for p in passages)
        self._encoder = encoder
        self._vectors: dict[int, TokenVectors | None] = {}
        self.budget = budget
        self._models = Allowance(budget.models)
        self._encodable_tokens = MAX_ENCODED_TOKENS
        self._read = ReadPassages(reader, self._models) if reader else None

    def add(self, passages: Sequence[Passage | str]) -> None:
        """Add passages; their numbers continue from the last."""
        self.texts += tuple(p if isinstance(p, str) else p.text for p in passages)
        self.passages += tuple(None if isinstance(p, str) else p for p in passages)
        self.__dict__.pop("tokenized", None)

    @cached_property
    def tokenized(self) -> tuple[TokenizedPassage, ...]:
        """Every passage, tokenized; not needed for claims that quote a passage verbatim."""
        return tokenize_passages(self.texts)

    @lru_cache(maxsize=256)  # noqa: B019 - lives as long as the passages, which is one answer
    def sentence_boundaries(self, number: int) -> tuple[frozenset[int], frozenset[int]]:
        """Where the sentences of a passage start and end.

        A line break counts only after punctuation or before a blank line.
        """
        text = self.texts[number - 1]
        spans = split_sentences(text)
        breaks = list(_LINE_BREAK.finditer(text))
        starts = {0, *(span.start for span in spans), *(m.end() for m in breaks)}
        return frozenset(starts), frozenset(
            {len(text), *(span.end for span in spans), *(m.start("end") for m in breaks)}
        )

    @lru_cache(maxsize=256)  # noqa: B019 - as above
    def without_spaces(self, number: int) -> tuple[str, tuple[int, ...]]:
        """A passage without white space, and the offset of each character in the passage."""
        offsets = tuple(i for i, character in enumerate(self.texts[number - 1]) if not character.isspace())
        return "".join(self.texts[number - 1][offset] for offset in offsets), offsets

    def reading(self, claim: TokenizedText, number: int, window: Window) -> ClaimReadings | None:
        """What the reader model says about a claim and a window of a passage.

        None without a reader model, in a language that it does not know, or if its budget is used up.
        """
        if self._read is None or self.tokenized[number - 1].content.language != MODEL_LANGUAGE:
            return None
        passage = self.passages[number - 1]
        headings = passage.heading_path if passage else ()
        try:
            return self._read.judge(claim, number, headings, self.tokenized[number - 1], window)
        except ReaderUnavailable as error:
            _log.warning("reader model not used, comparing words only: %s", error)
            self._read = None
            return None

    def vectors(self, number: int) -> TokenVectors | None:
        """The token vectors of a passage (numbered from 1); None in a language that the model does not know."""
        if self.tokenized[number - 1].content.language != MODEL_LANGUAGE:
            return None
        if number not in self._vectors:
            self._vectors[number] = self.encode(self.texts[number - 1])
        return self._vectors[number]

    def encode(self, text: str) -> TokenVectors | None:
        """The token vectors of a passage or claim; None without a model, or if its budget is used up."""
        length = count_tokens(text)
        if self._encoder is None or length > self._encodable_tokens or not self._models.take(encoding_cost(length)):
            return None
        self._encodable_tokens -= length
        return self._encoder.encode(text)


class Verifier:
    """Judges claims; without an encoder and a reader model, by the word comparison only."""

    def __init__(self, encoder: TokenEncoder | None = None, reader: Reader | None = None) -> None:
        self.encoder, self.reader = encoder, reader

    @property
    def version(self) -> str:
        """The version that a receipt records: of the rules and of the models."""
        models = [model.fingerprint for model in (self.encoder, self.reader) if model]
        return "+".join([verifier_version(), *(models or ["words"])])

    def prepare(self, passages: Sequence[Passage | str], budget: Budget = DEFAULT_BUDGET) -> PreparedPassages:
        """Prepare the passages of an answer for checking."""
        return PreparedPassages(passages, self.encoder, self.reader, budget)

    def judge(
        self,
        claim: str,
        prepared: PreparedPassages,
        cited: Sequence[int] | None = None,
        allowance: Allowance | None = None,
    ) -> Verdict:
        """Whether the cited passages (numbered from 1; by default all) support a claim.

        `allowance` is what comparing its words may cost, by default as much as for a whole text.
        """
        numbers = _passage_numbers(prepared, cited)
        allowance = allowance or Allowance(prepared.budget.words)
        if len(claim) > MAX_CLAIM_LENGTH:
            return unsupported(TOO_LONG)
        if (evidence := _find_verbatim(claim, prepared, numbers)) is not None:
            return Verdict(Status.SUPPORTED, True, 1.0, evidence)
        parts = claim_sentences(claim)
        judged = (self._judge_sentence(part, prepared, numbers, allowance) for part in parts)
        verdicts = [verdict for verdict in judged if verdict]
        if not verdicts:
            return unsupported(NOT_COMPARABLE)
        return min(verdicts, key=lambda verdict: verdict.score)

    def judge_code(self, code: str, prepared: PreparedPassages, cited: Sequence[int] | None = None) -> Verdict:
        """Whether a passage contains this code; white space does not count."""
        wanted = "".join(code.split())
        for number in _passage_numbers(prepared, cited) if wanted else ():
            (compact, offsets), text = prepared.without_spaces(number), prepared.texts[number - 1]
            found = compact.find(wanted)
            while found >= 0:
                span = Span(offsets[found], offsets[found + len(wanted) - 1] + 1)
                if _is_whole_lines(text, span):
                    return Verdict(Status.SUPPORTED, True, 1.0, _make_evidence(prepared, number, span))
                found = compact.find(wanted, found + 1)
        return unsupported(CODE_NOT_FOUND)

    def is_title(self, text: str, prepared: PreparedPassages) -> bool:
        """Whether a heading makes no claim: a few words that occur as a phrase in a passage or in its headings."""
        words = title_words(text)
        above = [" ".join(passage.heading_path) for passage in prepared.passages if passage]
        return words is not None and any(_contains_phrase(words, source) for source in (*prepared.texts, *above))

    def is_unmatched_fragment(self, text: str, prepared: PreparedPassages) -> bool:
        """Whether a text is too short to judge, and no passage contains it as a phrase."""
        words = [token.form for token in tokenize(text).tokens if token.weight or token.family]
        few = len(words) <= MAX_FRAGMENT_WORDS
        return few and not any(_contains_phrase(words, source) for source in prepared.texts)

    def _judge_sentence(
        self, text: str, prepared: PreparedPassages, numbers: Sequence[int], allowance: Allowance
    ) -> Verdict | None:
        refused = allowance.refused
        candidates = self.candidates(text, prepared, numbers, allowance)
        judged = [(score(features), features, found) for features, found in candidates]
        if not judged and has_content(text):
            return unsupported(TOO_MUCH_TO_COMPARE if allowance.refused > refused else NOT_COMPARABLE)
        if not judged:
            return None
        value, features, found = max(judged, key=lambda each: each[0])
        evidence = _make_evidence(prepared, numbers[found.window.passage], found.window.span)
        passage = prepared.texts[evidence.source - 1]
        if symbols := unknown_symbols(text, evidence.quote) | unknown_literals(text, passage):
            return unsupported(f"not in the source: {' '.join(sorted(symbols))}", evidence)
        in_doubt = "read_support" in features and QUOTED <= value < SHOWN and not has_veto(features)
        if value >= SUPPORTED:
            return Verdict(Status.SUPPORTED, True, value, evidence, in_doubt=in_doubt)
        status = Status.CONTRADICTED if contradicts(found.differences) else Status.UNSUPPORTED
        return Verdict(status, False, value, evidence, reasons(found.differences), in_doubt)

    def candidates(
        self, text: str, prepared: PreparedPassages, numbers: Sequence[int], allowance: Allowance | None = None
    ) -> list[tuple[dict[str, float], Comparison]]:
        """A sentence compared with the windows that match it best: the features of each, and the comparison."""
        passages = [prepared.tokenized[number - 1] for number in numbers]
        if not passages:
            return []
        claim = tokenize(strip_opening_phrases(text), passages[0].content.language)
        if len(claim.tokens) > MAX_SENTENCE_TOKENS:
            return []
        found = _compared(claim, passages, allowance or Allowance(prepared.budget.words))
        read = [self._reading_features(claim, f, prepared, numbers) for f in found]
        read = read if all(read) else [{} for _ in found]
        if not all(read) or any(is_short(f.features) for f in found):
            compared = self._vector_features(claim, found, prepared, numbers)
            read = [said | other for said, other in zip(read, compared, strict=True)]
        return [(f.features | said, f) for f, said in zip(found, read, strict=True)]

    def _reading_features(
        self, claim: TokenizedText, found: Comparison, prepared: PreparedPassages, numbers: Sequence[int]
    ) -> dict[str, float]:
        """Features from the reader model; none for the exact words of the source."""
        window = found.window
        if found.is_identical:
            return {}
        reading = prepared.reading(claim, numbers[window.passage], window)
        return reading_features(reading, claim) if reading else {}

    def _vector_features(
        self, claim: TokenizedText, found: Sequence[Comparison], prepared: PreparedPassages, numbers: Sequence[int]
    ) -> list[dict[str, float]]:
        """Features from the token model; none for the exact words of the source or in a language it does not know."""
        passages = dict.fromkeys(f.window.passage for f in found if not f.is_identical)
        vectors = {place: prepared.vectors(numbers[place]) for place in passages}
        known = {place: vector for place, vector in vectors.items() if vector is not None}
        own = prepared.encode(claim.text) if known and len(known) == len(vectors) else None
        if own is None:
            return [{} for _ in found]
        return [{} if f.is_identical else vector_features(own, claim, known, f) for f in found]


def _compared(claim: TokenizedText, passages: Sequence[TokenizedPassage], allowance: Allowance) -> list[Comparison]:
    """A sentence compared with the windows that match it best, up to one with the same words."""
    found: list[Comparison] = []
    windows = best_windows(claim.tokens, passages, 1 if allowance.is_low else MAX_WINDOWS) if claim.tokens else []
    for window in windows:
        if not allowance.take(comparison_cost(len(claim.tokens), len(window.tokens))):
            break
        found.append(_compare_narrowly(claim, compare(claim, window, passages), passages, allowance))
        if found[-1].is_identical:
            break
    return found


def _compare_narrowly(
    claim: TokenizedText, found: Comparison, passages: Sequence[TokenizedPassage], allowance: Allowance
) -> Comparison:
    """A short claim compared with only those clauses of a window that share its words, if that fits better."""
    if not is_short(found.features) or limit(found.features) == 1:
        return found
    narrower = (
        compare(claim, window, passages)
        for window in narrower_windows(claim, found.window)
        if allowance.take(comparison_cost(len(claim.tokens), len(window.tokens)))
    )
    return max((found, *narrower), key=lambda each: score(each.features))


def is_in_model_language(texts: Sequence[str]) -> bool:
    """Whether the models know the language of these texts."""
    return language_of(" ".join(text[:1000] for text in texts[:4])) == MODEL_LANGUAGE


def unsupported(reason: str, evidence: Evidence | None = None) -> Verdict:
    """The verdict on a claim that is rejected without a score."""
    return Verdict(Status.UNSUPPORTED, False, 0.0, evidence, (reason,))


def claim_sentences(text: str) -> list[str]:
    """The sentences of a text that make a claim; all of them if none seems to."""
    sentences = [text[span.start : span.end] for span in split_sentences(text)]
    return [sentence for sentence in sentences if not is_small_talk(sentence) and has_content(sentence)] or sentences


def _passage_numbers(prepared: PreparedPassages, cited: Sequence[int] | None) -> list[int]:
    everything = range(1, len(prepared.texts) + 1)
    return list(everything) if cited is None else [number for number in cited if number in everything]


def _find_verbatim(claim: str, prepared: PreparedPassages, numbers: Sequence[int]) -> Evidence | None:
    """Where a passage has a claim verbatim, as whole sentences."""
    for number in numbers:
        for span in _occurrences(claim.strip(), prepared, number):
            if _is_whole_sentences(prepared, number, span):
                return _make_evidence(prepared, number, span)
    return None


def quote_spans(quote: str, prepared: PreparedPassages, number: int) -> list[Span]:
    """Where a quote stands in a passage, as whole sentences or whole lines and not as part of another statement."""
    return [
        span
        for span in _occurrences(quote, prepared, number)
        if _is_whole_sentences(prepared, number, span) or _is_whole_item(prepared.texts[number - 1], span)
    ]


def _occurrences(wanted: str, prepared: PreparedPassages, number: int) -> Iterator[Span]:
    at = prepared.texts[number - 1].find(wanted) if len(wanted) > 1 else -1
    while at >= 0:
        yield Span(at, at + len(wanted))
        at = prepared.texts[number - 1].find(wanted, at + 1)


def _is_whole_sentences(prepared: PreparedPassages, number: int, span: Span) -> bool:
    starts, ends = prepared.sentence_boundaries(number)
    return span.start in starts and span.end in ends


def _is_whole_lines(text: str, span: Span) -> bool:
    """Whether a span covers whole lines, or whole inline code."""
    before, after = _line_around(text, span)
    return before[-1:] in ("", "`") and after[:1] in ("", "`")


def _is_whole_item(text: str, span: Span) -> bool:
    """Whether a span covers whole lines, but for the markers of a list, a heading or a table."""
    before, after = _line_around(text, span)
    return _ITEM_MARKER.fullmatch(before) is not None and after in ("", "|")


def _line_around(text: str, span: Span) -> tuple[str, str]:
    """What is before and after a span on its lines, without white space; of a long line, the nearest part."""
    before, after = text[max(0, span.start - _MAX_MARGIN) : span.start], text[span.end : span.end + _MAX_MARGIN]
    return before.rpartition("\n")[2].strip(), after.partition("\n")[0].strip()


def _contains_phrase(words: Sequence[str], source: str) -> bool:
    """Whether a text has these words in a row, function words aside."""
    forms = [token.form for token in tokenize(source).tokens if token.weight or token.family]
    return any(forms[i : i + len(words)] == words for i in range(len(forms) - len(words) + 1))


def _make_evidence(prepared: PreparedPassages, number: int, span: Span) -> Evidence:
    start, end = span.start, span.end
    quote, passage = prepared.texts[number - 1][start:end], prepared.passages[number - 1]
    if passage is None:
        return Evidence(number, start, end, quote)
    place = (passage.start + start, passage.start + end)
    return Evidence(number, start, end, quote, passage.chunk_id, passage.document_id, *place)
