"""The gate: checks a draft while it streams and lets only supported sentences through, with renumbered citations."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from glossator.core.answers import CheckedDraft, Evidence, Policy, Sentence, Status, UnsupportedClaim, Verdict
from glossator.core.text.characters import sanitize
from glossator.core.thresholds import SHOWN
from glossator.core.types import Passage
from glossator.verification.claims.split import DraftSplitter, Segment, SegmentKind
from glossator.verification.headings import makes_claim
from glossator.verification.judge import PreparedPassages, Verifier, unsupported
from glossator.verification.sanitize import is_rule, is_small_talk, safe_markdown, safe_prefix

MAX_CLAIMS = 400
"""Per draft. Later claims are withheld without a check."""

UNVERIFIED = "[unverified]"
NOT_CLOSE_ENOUGH = "close to a passage, but not close enough to count as supported"
HIDDEN_CONTENT = "contains hidden or misleading characters or markup"
UNCITED = "has no citation and is not supported by any passage"
TOO_MANY_CLAIMS = f"not checked: only the first {MAX_CLAIMS} claims of a draft are checked"
DEADLINE_EXCEEDED = "could not be checked before the deadline"
_SURROGATES = re.compile("[\ud800-\udfff]")
_MARKER = re.compile(r"[^\s].*$", re.DOTALL)


class Gate:
    """Checks one draft; what `feed` and `finish` return can be shown at once and is never withdrawn."""

    def __init__(
        self,
        verifier: Verifier,
        prepared: PreparedPassages,
        policy: Policy = Policy.STRICT,
        is_expired: Callable[[], bool] = lambda: False,
    ) -> None:
        self._verifier, self._prepared, self._policy = verifier, prepared, policy
        self._is_expired = is_expired
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

    @property
    def checked(self) -> CheckedDraft:
        """The result so far: the text let through, its sentences and evidence, and the unsupported claims."""
        return CheckedDraft("".join(self._output), tuple(self.sentences), tuple(self.evidence), tuple(self.withheld))

    def feed(self, text: str) -> str:
        """Add text to the draft; returns the text that can be shown now."""
        whole = _SURROGATES.sub("\ufffd", text)
        return "".join(self._process(segment) for segment in self._splitter.feed(whole))

    def finish(self) -> str:
        """End the draft; returns the rest of the text that can be shown."""
        rest = "".join(self._process(segment) for segment in self._splitter.finish())
        closing = [s for s in self._pending if s.kind is SegmentKind.ASIDE and not _is_lead_in(s)]
        self._pending = []
        return rest + ("".join(self._show(segment, "") for segment in closing) if self.sentences else "")

    def add(self, passages: Sequence[Passage]) -> None:
        """Add passages that the draft can cite from now on."""
        self._prepared.add(passages)

    def resume(self) -> None:
        """Start another draft, as a new paragraph."""
        self._splitter = DraftSplitter()
        self._newlines = 2

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
        verdict = self._judge(segment)
        if verdict.supported and verdict.evidence:
            number = self._citation_number(verdict.evidence)
            self.sentences.append(Sentence(sanitize(segment.text), (number,), verdict))
            return self._release(segment, f" [{number}]")
        self._withhold(segment, verdict)
        if self._policy is Policy.STRICT:
            return ""
        self.sentences.append(Sentence(sanitize(segment.text), (), verdict))
        return self._release(segment, f" {UNVERIFIED}")

    def _withhold(self, segment: Segment, verdict: Verdict) -> None:
        """Record an unsupported claim, and drop the lead-in that introduced it."""
        if segment.text:
            self.withheld.append(UnsupportedClaim(sanitize(segment.text), verdict))
        if self._policy is Policy.STRICT or not segment.text:
            self._pending = [s for s in self._pending if not _is_lead_in(s)]
            self._skip(segment)

    def _judge(self, segment: Segment) -> Verdict:
        """Judge against the cited passages, then if unsupported against all, which fixes wrong citations."""
        self._judged += 1
        if self._judged > MAX_CLAIMS or self._is_expired():
            return unsupported(TOO_MANY_CLAIMS if self._judged > MAX_CLAIMS else DEADLINE_EXCEEDED)
        key = (segment.text, segment.citations, segment.kind, len(self._prepared.texts))
        if key not in self._verdicts:
            self._verdicts[key] = self._judge_once(segment)
        return self._verdicts[key]

    def _judge_once(self, segment: Segment) -> Verdict:
        judge = self._verifier.judge_code if segment.kind is SegmentKind.CODE else self._verifier.judge
        cited = [number for number in segment.citations if 1 <= number <= len(self._prepared.texts)]
        verdict = self._apply_policy(segment, judge(segment.text, self._prepared, cited)) if cited else None
        if verdict is None or not verdict.supported:
            anywhere = self._apply_policy(segment, judge(segment.text, self._prepared))
            verdict = anywhere if anywhere.supported or verdict is None else verdict
        if not cited and verdict.status is Status.UNSUPPORTED:
            return replace(verdict, status=Status.UNCITED, reasons=(UNCITED, *verdict.reasons))
        return verdict

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
