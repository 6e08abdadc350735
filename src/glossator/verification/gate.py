"""The gate: checks a draft while it streams and lets only supported sentences through, with renumbered citations."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from glossator.core.answers import (
    CheckedDraft,
    ClaimInDoubt,
    Evidence,
    Policy,
    Sentence,
    Status,
    UnsupportedClaim,
    Verdict,
)
from glossator.core.ports import SecondOpinion
from glossator.core.text.characters import sanitize
from glossator.core.text.marks import escape_marks
from glossator.core.text.words import is_statement
from glossator.core.thresholds import SHOWN
from glossator.core.types import Passage
from glossator.verification.budget import Allowance
from glossator.verification.claims.split import DraftSplitter, Segment, SegmentKind
from glossator.verification.headings import makes_claim
from glossator.verification.judge import PreparedPassages, Verifier, unsupported
from glossator.verification.sanitize import is_rule, is_shown_as_it_is, is_small_talk, safe_markdown, safe_prefix

MAX_CLAIMS = 200
"""Per draft. Later claims are withheld without a check."""

MAX_MARGIN = 600
"""Characters on either side of the evidence that a second opinion sees."""

MAX_QUOTE = 600
"""In characters, of the words that are quoted in place of a claim."""

UNVERIFIED = "[unverified]"
NOT_CLOSE_ENOUGH = "close to a passage, but not close enough to count as supported"
HIDDEN_CONTENT = "contains hidden or misleading characters or markup"
UNCITED = "has no citation and is not supported by any passage"
TOO_MANY_CLAIMS = f"not checked: only the first {MAX_CLAIMS} claims of a draft are checked"
DEADLINE_EXCEEDED = "could not be checked before the deadline"
_SURROGATES = re.compile("[\ud800-\udfff]")
_SENTENCE_END = re.compile(r"[.!…][\"'”’)\]]*$")
_MARKER = re.compile(r"[^\s].*$", re.DOTALL)


class Gate:
    """Checks one draft; what `feed` and `finish` return can be shown at once and is never withdrawn."""

    def __init__(
        self,
        verifier: Verifier,
        prepared: PreparedPassages,
        policy: Policy = Policy.STRICT,
        seconds_left: Callable[[], float] = lambda: math.inf,
        second_opinion: SecondOpinion | None = None,
    ) -> None:
        self._verifier, self._prepared, self._policy = verifier, prepared, policy
        self._seconds_left, self._second_opinion = seconds_left, second_opinion
        self._allowance = Allowance(prepared.budget.words)
        self._held: list[Segment] = []
        self._splitter = DraftSplitter()
        self._pending: list[Segment] = []
        self._space = self._marker = ""
        self._newlines = 0
        self._judged = 0
        self._output: list[str] = []
        self._verdicts: dict[tuple[object, ...], Verdict] = {}
        self._numbers: dict[int, int] = {}
        self.evidence: list[Evidence] = []
        self.sentences: list[Sentence] = []
        self.withheld: list[UnsupportedClaim] = []
        self.replaced: list[UnsupportedClaim] = []
        self.supported = 0

    @property
    def checked(self) -> CheckedDraft:
        """The result so far: the text let through, its sentences and evidence, and the unsupported claims."""
        failed = (*self.withheld, *self.replaced)
        return CheckedDraft("".join(self._output), tuple(self.sentences), tuple(self.evidence), failed)

    def feed(self, text: str) -> str:
        """Add text to the draft; returns the text that can be shown now."""
        whole = _SURROGATES.sub("\ufffd", text)
        return "".join(self._hold_or_process(segment) for segment in self._splitter.feed(whole))

    def finish(self) -> str:
        """End the draft; returns the rest of the text that can be shown."""
        rest = "".join(self._hold_or_process(segment) for segment in self._splitter.finish())
        rest += self._settle()
        closing = [s for s in self._pending if s.kind is SegmentKind.ASIDE and not _is_lead_in(s)]
        self._pending = []
        return rest + ("".join(self._show(segment, "") for segment in closing) if self.sentences else "")

    def add(self, passages: Sequence[Passage]) -> None:
        """Add passages that the draft can cite from now on."""
        self._prepared.add(passages)

    def release(self) -> str:
        """The complete sentences that wait for a second opinion, without it: the draft was cut short."""
        held, self._held = self._held, []
        return "".join(self._process(segment) for segment in held)

    def resume(self) -> None:
        """Start another draft, as a new paragraph."""
        self._splitter = DraftSplitter()
        self._newlines = 2

    def _hold_or_process(self, segment: Segment) -> str:
        """With a second opinion, the first doubtful claim and everything after it wait for the end of the draft."""
        undecided = self._second_opinion is not None and not self._held and self._judged < MAX_CLAIMS
        if self._held or (undecided and self._is_in_doubt(segment)):
            self._held.append(segment)
            return ""
        return self._process(segment)

    def _is_in_doubt(self, segment: Segment) -> bool:
        return segment.kind is SegmentKind.CLAIM and bool(segment.text) and self._judge(segment).in_doubt

    def _settle(self) -> str:
        """Get a second opinion on the doubtful claims, then process the held segments."""
        held, self._held = self._held, []
        doubtful = [segment for segment in held[:MAX_CLAIMS] if self._is_in_doubt(segment)]
        if self._second_opinion is not None and doubtful and self._seconds_left() > 0:
            claims = [self._claim_in_doubt(segment) for segment in doubtful]
            opinions = self._second_opinion.judge(claims, self._seconds_left())
            for segment, status in zip(doubtful, opinions, strict=True):
                if status is not None:
                    self._verdicts[self._key(segment)] = self._settled(self._judge(segment), status)
        return "".join(self._process(segment) for segment in held)

    def _claim_in_doubt(self, segment: Segment) -> ClaimInDoubt:
        evidence = self._judge(segment).evidence
        source = self._prepared.texts[evidence.source - 1] if evidence else ""
        start, end = (evidence.start, evidence.end) if evidence else (0, 0)
        return ClaimInDoubt(segment.text, source[max(0, start - MAX_MARGIN) : end + MAX_MARGIN])

    def _settled(self, verdict: Verdict, status: Status) -> Verdict:
        supported = status is Status.SUPPORTED
        reason = (
            f"{'confirmed' if supported else 'rejected'} by {self._second_opinion.name if self._second_opinion else ''}"
        )
        value = SHOWN if supported else verdict.score
        return replace(verdict, status=status, supported=supported, score=value, reasons=(reason,), in_doubt=False)

    def _process(self, segment: Segment) -> str:
        """The text that a segment lets through; headings and asides are held until a claim after them is supported."""
        if segment.kind in (SegmentKind.CLAIM, SegmentKind.CODE):
            return self._check(segment)
        if segment.kind is SegmentKind.HEADING:
            level = _heading_level(segment)
            self._pending = [s for s in self._pending if s.kind is SegmentKind.HEADING and _heading_level(s) < level]
            if self._policy is Policy.FLAG and makes_claim(segment.text):
                return self._check(segment)
            if self._policy is Policy.STRICT and not self._verifier.is_title(segment.text, self._prepared):
                return ""
        elif not (is_rule(segment) if segment.kind is SegmentKind.SPACE else is_small_talk(segment.text)):
            return ""
        self._pending.append(segment)
        return ""

    def _check(self, segment: Segment) -> str:
        """Judge a segment; returns its text if it can be shown."""
        shown = safe_markdown(segment)
        if not segment.text or shown is None:
            self._withhold(segment, hidden := unsupported(HIDDEN_CONTENT))
            if self._policy is Policy.FLAG and segment.text:
                self.sentences.append(Sentence(sanitize(segment.text), (), hidden))
            return ""
        self._judged += 1
        verdict = self._judge(segment) if self._judged <= MAX_CLAIMS else unsupported(TOO_MANY_CLAIMS)
        if verdict.supported and verdict.evidence:
            number = self._citation_number(verdict.evidence)
            self.sentences.append(Sentence(sanitize(segment.text), (number,), verdict))
            self.supported += 1
            return self._release(segment, f" [{number}]")
        if self._policy is Policy.STRICT and self._verifier.reader and _is_quotable(segment, verdict):
            return self._quote(segment, verdict)
        self._withhold(segment, verdict)
        if self._policy is Policy.STRICT:
            return ""
        self.sentences.append(Sentence(sanitize(segment.text), (), verdict))
        return self._release(segment, f" {UNVERIFIED}")

    def _quote(self, segment: Segment, verdict: Verdict) -> str:
        """A quote of the source in place of a doubtful claim, unless it, or a claim about it, was already shown."""
        evidence, quote = verdict.evidence, quotation(verdict.evidence)
        if evidence is None or quote is None:
            self._withhold(segment, verdict)
            return ""
        self.replaced.append(UnsupportedClaim(sanitize(segment.text), verdict))
        if any(_overlap(evidence, s.verdict.evidence) for s in self.sentences if s.verdict):
            self._drop(segment)
            return ""
        number = self._citation_number(evidence)
        self.sentences.append(Sentence(quote, (number,), Verdict(Status.SUPPORTED, True, 1.0, evidence)))
        return self._release(replace(segment, body=f"“{quote}”", text=f"“{quote}”"), f" [{number}]")

    def _withhold(self, segment: Segment, verdict: Verdict) -> None:
        """Record an unsupported claim, and leave it out."""
        if segment.text:
            self.withheld.append(UnsupportedClaim(sanitize(segment.text), verdict))
        if self._policy is Policy.STRICT or not segment.text:
            self._drop(segment)

    def _drop(self, segment: Segment) -> None:
        """Leave a segment out, and the lead-in that introduced it."""
        self._pending = [s for s in self._pending if not _is_lead_in(s)]
        self._skip(segment)

    def _judge(self, segment: Segment) -> Verdict:
        """Judge against the cited passages, then if unsupported against all, which fixes wrong citations."""
        key = self._key(segment)
        if key not in self._verdicts:
            if self._seconds_left() <= 0:
                return unsupported(DEADLINE_EXCEEDED)
            self._verdicts[key] = self._judge_once(segment)
        return self._verdicts[key]

    def _key(self, segment: Segment) -> tuple[object, ...]:
        return (segment.text, segment.citations, segment.kind, len(self._prepared.texts))

    def _judge_once(self, segment: Segment) -> Verdict:
        judge = self._verifier.judge_code if segment.kind is SegmentKind.CODE else self._judge_words
        cited = [number for number in segment.citations if 1 <= number <= len(self._prepared.texts)]
        verdict = self._apply_policy(segment, judge(segment.text, self._prepared, cited)) if cited else None
        if verdict is None or not verdict.supported:
            anywhere = self._apply_policy(segment, judge(segment.text, self._prepared))
            if verdict is None or anywhere.supported or (anywhere.in_doubt and anywhere.score > verdict.score):
                verdict = anywhere
        if not cited and verdict.status is Status.UNSUPPORTED:
            return replace(verdict, status=Status.UNCITED, reasons=(UNCITED, *verdict.reasons))
        return verdict

    def _judge_words(self, claim: str, prepared: PreparedPassages, cited: Sequence[int] | None = None) -> Verdict:
        return self._verifier.judge(claim, prepared, cited, self._allowance)

    def _apply_policy(self, segment: Segment, verdict: Verdict) -> Verdict:
        """Under the strict policy, require a higher score, and that fragments occur in a passage as a phrase."""
        if self._policy is Policy.FLAG or not verdict.supported:
            return verdict
        if verdict.score >= SHOWN and not self._verifier.is_unmatched_fragment(segment.text, self._prepared):
            return verdict
        return replace(verdict, status=Status.UNSUPPORTED, supported=False, reasons=(NOT_CLOSE_ENOUGH,))

    def _citation_number(self, evidence: Evidence) -> int:
        """The number of the passage that holds the evidence; passages are numbered in order of first use."""
        if evidence.source not in self._numbers:
            self._numbers[evidence.source] = len(self._numbers) + 1
            self.evidence.append(evidence)
        return self._numbers[evidence.source]

    def _release(self, segment: Segment, mark: str) -> str:
        before = "".join(self._show(pending, "") for pending in self._pending)
        self._pending = []
        return before + self._show(segment, mark)

    def _show(self, segment: Segment, mark: str) -> str:
        """The text of a segment with its layout, including the layout kept from segments that were skipped."""
        if segment.kind is SegmentKind.SPACE and not segment.raw.strip():
            self._space += segment.raw
            return ""
        body = segment.raw.strip() if segment.kind is SegmentKind.SPACE else safe_markdown(segment)
        if body is None:
            return ""
        if segment.kind is SegmentKind.CODE and mark:
            mark = f"\n{mark.strip()}"
        if segment.kind is SegmentKind.SPACE:
            self._space, self._newlines = "\n", 0
        prefix = "" if segment.kind is SegmentKind.SPACE else safe_prefix(segment.prefix)
        shown = self._separator(prefix) + body + mark + _cell_border(segment.suffix)
        self._space = "\n" if segment.kind in (SegmentKind.CODE, SegmentKind.SPACE) else segment.suffix.replace("|", "")
        self._marker, self._newlines = "", 0
        self._output.append(shown)
        return shown

    def _skip(self, segment: Segment) -> None:
        """Keep the line breaks and list marker of a segment that is not shown for the next one."""
        self._newlines = max(self._newlines, (self._space + segment.prefix).count("\n"))
        self._space = segment.suffix or self._space
        self._marker = _marker_of(safe_prefix(segment.prefix)) or ("" if "\n" in segment.prefix else self._marker)

    def _separator(self, prefix: str) -> str:
        """White space and list marker between the last segment shown and the next."""
        space = self._space + prefix
        marker = _marker_of(prefix) or ("" if "\n" in prefix else self._marker)
        if not self._output:
            return marker
        newlines = min(2, max(self._newlines, space.count("\n")))
        if newlines:
            return "\n" * newlines + marker
        return (" " if any(character.isspace() for character in space) else "") + marker


def _is_quotable(segment: Segment, verdict: Verdict) -> bool:
    """Whether the source of a claim can take its place; in a table, quotes would not fit."""
    in_table = "|" in segment.prefix or "|" in segment.suffix
    return verdict.in_doubt and segment.kind is SegmentKind.CLAIM and not in_table


def quotation(evidence: Evidence | None) -> str | None:
    """The words of a source in one line, if they are prose that can be shown as it is; else None."""
    if evidence is None or len(evidence.quote) > MAX_QUOTE or not is_statement(evidence.quote):
        return None
    quote = escape_marks(sanitize(evidence.quote))
    return quote if _SENTENCE_END.search(quote) and is_shown_as_it_is(quote) else None


def _overlap(one: Evidence, other: Evidence | None) -> bool:
    return other is not None and one.source == other.source and one.start < other.end and other.start < one.end


def _is_lead_in(segment: Segment) -> bool:
    """Whether a segment only introduces what follows ("Here are the steps:")."""
    return segment.kind is SegmentKind.ASIDE and segment.text.endswith((":", "："))


def _heading_level(heading: Segment) -> int:
    """The level of a heading; a bold line ranks below all others, and a table header below that."""
    mark = heading.prefix.strip()
    return len(mark) if mark.startswith("#") else 8 if "|" in heading.raw else 7


def _marker_of(prefix: str) -> str:
    """The list marker, block quote or cell border at the end of a prefix, with its indentation."""
    line = prefix.rpartition("\n")[2]
    return line if _MARKER.search(line) else ""


def _cell_border(suffix: str) -> str:
    return " |" if "|" in suffix else ""


def check(verifier: Verifier, draft: str, prepared: PreparedPassages, policy: Policy = Policy.STRICT) -> CheckedDraft:
    """Check a complete draft."""
    gate = Gate(verifier, prepared, policy)
    gate.feed(draft)
    gate.finish()
    return gate.checked
