"""The gate: a draft goes in as it arrives; only what was checked comes out, with numbers that count real sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from glossator.core.answers import CheckedDraft, Evidence, Policy, Sentence, Status, UnsupportedClaim, Verdict
from glossator.core.thresholds import SHOWN
from glossator.core.types import Passage
from glossator.verification.claims.split import Kind, Piece, Splitter
from glossator.verification.judge import Prepared, Verifier
from glossator.verification.sanitize import clean, is_chat, is_layout, layout_of, presentable

MAX_CLAIMS = 400
"""Claims of one draft that are judged; whatever comes after them is withheld."""

UNVERIFIED = "[unverified]"
UNSURE = "the passages come near to this, but not near enough to be sure"
HIDDEN = "holds signs or markup that could hide words"
UNCITED = "cites no source, and none of the passages says it"
TOO_MANY = "comes after the first few hundred claims of the draft"
TOO_LATE = "could not be checked in time"
_HALVES = re.compile("[\ud800-\udfff]")
_MARKER = re.compile(r"[^\s].*$", re.DOTALL)


class Gate:
    """One draft on its way out; what `feed` and `finish` return may be shown at once and is never taken back."""

    def __init__(
        self,
        verifier: Verifier,
        prepared: Prepared,
        policy: Policy = Policy.STRICT,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self._verifier, self._prepared, self._policy = verifier, prepared, policy
        self._is_over = is_over
        self._splitter = Splitter()
        self._waiting: list[Piece] = []
        self._space = self._marker = ""
        self._breaks = 0
        self._judged = 0
        self._shown: list[str] = []
        self._numbers: dict[tuple[int, int, int], int] = {}
        self.evidence: list[Evidence] = []
        self.sentences: list[Sentence] = []
        self.withheld: list[UnsupportedClaim] = []

    @property
    def checked(self) -> CheckedDraft:
        """All that was let through, and all that was found."""
        return CheckedDraft("".join(self._shown), tuple(self.sentences), tuple(self.evidence), tuple(self.withheld))

    def feed(self, text: str) -> str:
        """More of the draft; what may be shown because of it."""
        whole = _HALVES.sub("\ufffd", text)
        return "".join(self._pass(piece) for piece in self._splitter.feed(whole))

    def finish(self) -> str:
        """The end of the draft; what may still be shown."""
        rest = "".join(self._pass(piece) for piece in self._splitter.finish())
        closing = [
            piece for piece in self._waiting if piece.kind is Kind.ASIDE and not piece.text.endswith((":", "："))
        ]
        self._waiting = []
        return rest + ("".join(self._show(piece, "") for piece in closing) if self.sentences else "")

    def add(self, passages: Sequence[Passage]) -> None:
        """Passages that the draft may cite from now on."""
        self._prepared.add(passages)

    def resume(self) -> None:
        """Another draft follows, as a new paragraph."""
        self._splitter = Splitter()
        self._breaks = 2

    def _pass(self, piece: Piece) -> str:
        """What a piece adds: headings and words of courtesy wait for a claim that follows them."""
        if piece.kind in (Kind.CLAIM, Kind.CODE):
            return self._check(piece)
        if piece.kind is Kind.HEADING:
            self._waiting = [p for p in self._waiting if p.kind is Kind.HEADING and _level(p) < _level(piece)]
            if not self._verifier.is_title(piece.text, self._prepared):
                return "" if self._policy is Policy.STRICT else self._check(piece)
        elif not (is_layout(piece) if piece.kind is Kind.SPACE else is_chat(piece.text)):
            return ""
        self._waiting.append(piece)
        return ""

    def _check(self, piece: Piece) -> str:
        """Judge what would be shown, and show it if it stands."""
        shown = presentable(piece)
        if not piece.text or shown is None:
            self._withhold(piece, Verdict(Status.UNSUPPORTED, False, 0.0, None, (HIDDEN,)))
            return ""
        verdict = self._judge(piece)
        if verdict.supported and verdict.evidence:
            number = self._number(verdict.evidence)
            self.sentences.append(Sentence(clean(piece.text), (number,), verdict))
            return self._release(piece, f" [{number}]")
        self._withhold(piece, verdict)
        if self._policy is Policy.STRICT:
            return ""
        self.sentences.append(Sentence(clean(piece.text), (), verdict))
        return self._release(piece, f" {UNVERIFIED}")

    def _withhold(self, piece: Piece, verdict: Verdict) -> None:
        """List a claim that is not supported; words that announced it are not shown either."""
        if piece.text:
            self.withheld.append(UnsupportedClaim(clean(piece.text), verdict))
        if self._policy is Policy.STRICT or not piece.text:
            self._waiting = [p for p in self._waiting if p.kind is not Kind.ASIDE or not p.text.endswith((":", "："))]
            self._leave_out(piece)

    def _judge(self, piece: Piece) -> Verdict:
        """Against the sources that the claim cites; if they do not say it, against all: a wrong number is repaired."""
        self._judged += 1
        if self._judged > MAX_CLAIMS or self._is_over():
            why = TOO_MANY if self._judged > MAX_CLAIMS else TOO_LATE
            return Verdict(Status.UNSUPPORTED, False, 0.0, None, (why,))
        judge = self._verifier.judge_code if piece.kind is Kind.CODE else self._verifier.judge
        cited = [number for number in piece.citations if 1 <= number <= len(self._prepared.texts)]
        verdict = self._strictly(piece, judge(piece.text, self._prepared, cited)) if cited else None
        if verdict is None or not verdict.supported:
            anywhere = self._strictly(piece, judge(piece.text, self._prepared))
            verdict = anywhere if anywhere.supported or verdict is None else verdict
        if not cited and verdict.status is Status.UNSUPPORTED:
            return replace(verdict, status=Status.UNCITED, reasons=(UNCITED, *verdict.reasons))
        return verdict

    def _strictly(self, piece: Piece, verdict: Verdict) -> Verdict:
        """The verdict by the bar of the policy; a few words that are no sentence must stand together in a passage."""
        if self._policy is Policy.FLAG or not verdict.supported:
            return verdict
        if verdict.score >= SHOWN and not self._verifier.is_loose(piece.text, self._prepared):
            return verdict
        return replace(verdict, status=Status.UNSUPPORTED, supported=False, reasons=(UNSURE,))

    def _number(self, evidence: Evidence) -> int:
        """Sources are numbered in the order in which they are first used."""
        key = (evidence.source, evidence.start, evidence.end)
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers) + 1
            self.evidence.append(evidence)
        return self._numbers[key]

    def _release(self, piece: Piece, mark: str) -> str:
        before = "".join(self._show(waiting, "") for waiting in self._waiting)
        self._waiting = []
        return before + self._show(piece, mark)

    def _show(self, piece: Piece, mark: str) -> str:
        """A piece in its layout; the layout of what was left out before it is not lost."""
        if piece.kind is Kind.SPACE and not piece.raw.strip():
            self._space += piece.raw
            return ""
        body = piece.raw.strip() if piece.kind is Kind.SPACE else presentable(piece)
        if body is None:
            return ""
        if piece.kind is Kind.CODE and mark:
            mark = f"\n{mark.strip()}"
        if piece.kind is Kind.SPACE:
            self._space, self._breaks = "\n", 0
        lead = "" if piece.kind is Kind.SPACE else layout_of(piece.lead)
        shown = self._glue(lead) + body + mark + _row_end(piece.tail)
        self._space = "\n" if piece.kind in (Kind.CODE, Kind.SPACE) else piece.tail.replace("|", "")
        self._marker, self._breaks = "", 0
        self._shown.append(shown)
        return shown

    def _leave_out(self, piece: Piece) -> None:
        """Keep the break and the list mark of a sentence that is not shown, for the next one in its place."""
        self._breaks = max(self._breaks, (self._space + piece.lead).count("\n"))
        self._space = piece.tail or self._space
        self._marker = _mark_of(layout_of(piece.lead)) or ("" if "\n" in piece.lead else self._marker)

    def _glue(self, lead: str) -> str:
        """White space and list mark between what was shown last and what comes now."""
        space = self._space + lead
        marker = _mark_of(lead) or ("" if "\n" in lead else self._marker)
        if not self._shown:
            return marker
        breaks = min(2, max(self._breaks, space.count("\n")))
        if breaks:
            return "\n" * breaks + marker
        return (" " if any(character.isspace() for character in space) else "") + marker


def _level(heading: Piece) -> int:
    """How deep a heading stands; a line in bold stands below them all, and the head of a table below that."""
    mark = heading.lead.strip()
    return len(mark) if mark.startswith("#") else 8 if "|" in heading.raw else 7


def _mark_of(lead: str) -> str:
    """A list mark, quote mark or cell border at the end of a lead, with its indentation."""
    line = lead.rpartition("\n")[2]
    return line if _MARKER.search(line) else ""


def _row_end(tail: str) -> str:
    return " |" if "|" in tail else ""


def check(verifier: Verifier, draft: str, prepared: Prepared, policy: Policy = Policy.STRICT) -> CheckedDraft:
    """A whole draft at once."""
    gate = Gate(verifier, prepared, policy)
    gate.feed(draft)
    gate.finish()
    return gate.checked
