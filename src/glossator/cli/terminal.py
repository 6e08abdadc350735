"""Terminal output: progress bars, answers with links, tables."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.style import Style
from rich.table import Table
from rich.text import Text

from glossator.core.answers import (
    KEYWORDS_NOTICE,
    UNAVAILABLE_NOTICE,
    Answer,
    CheckedDraft,
    Citation,
    Evidence,
    Status,
    Verdict,
)
from glossator.core.book.sources import SourceSummary
from glossator.core.errors import QuestionError
from glossator.core.ports import Progress as ProgressCallback
from glossator.core.ports import no_progress
from glossator.core.receipts import Replay, ReplayedSentence
from glossator.core.settings import Settings
from glossator.core.text.characters import sanitize
from glossator.core.text.marks import split_marks
from glossator.core.types import IngestReport, Passage

if TYPE_CHECKING:
    from glossator.cli.doctor import DoctorFinding
    from glossator.core.conversations import Feedback, Session
    from glossator.evaluate.golden import GoldenOutcome, GoldenSummary
    from glossator.pipeline.sources import BookSummary

_MAX_QUOTATION_LENGTH = 300
_LINE_BREAKS = {ord("\n"): " ", ord("\t"): " "}
_MAX_WIDTH = 100_000
"""Of a line in a pipe or a file, where whoever reads it decides about wrapping."""


def _open_console() -> Console:
    console = Console(highlight=False, markup=False)
    return console if console.is_terminal else Console(highlight=False, markup=False, width=_MAX_WIDTH, soft_wrap=True)


console = _open_console()


def sanitized(text: str) -> str:
    """Text on one line, without characters that could command the terminal or change the order of what it shows."""
    return sanitize(text).translate(_LINE_BREAKS)


def show_cursor() -> None:
    """Show the cursor again after a progress bar hid it."""
    Console(stderr=True).show_cursor()


@contextmanager
def progress(*, enabled: bool) -> Iterator[ProgressCallback]:
    """A progress bar with a time estimate; nothing if the output is not a terminal."""
    errors = Console(stderr=True)
    if not enabled or not errors.is_terminal:
        yield no_progress
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=errors) as bars:
        tasks: dict[str, object] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                noun = "pages" if stage == "fetch" else "chunks"
                tasks[stage] = bars.add_task(f"{stage} {noun}", total=total)
            bars.update(tasks[stage], completed=done, total=total)  # type: ignore[arg-type]

        yield update


def show_removal(report: IngestReport) -> None:
    """Print which source was removed and what is left."""
    show_removed(report.removed_sources)
    show_sources(report.other_sources)


def show_removed(sources: Sequence[SourceSummary]) -> None:
    """Print the sources that are no longer in the index."""
    for source in sources:
        console.print(Text(sanitized(f"Removed {source.name} ({source.path})."), style="yellow"), soft_wrap=True)


def place_of(source: SourceSummary) -> str:
    """Where a source is, or was."""
    return source.path if source.exists else f"{source.path}, which no longer exists"


def show_sources(sources: Sequence[SourceSummary]) -> None:
    """Print the sources of the index."""
    if not sources:
        console.print("The index is empty.")
        return
    for source in sources:
        pages = f"{source.documents} page{'s' if source.documents != 1 else ''}"
        kind = "live site" if source.layout == "site" else f"{source.layout} layout"
        place = sanitized(f"  {kind}, {pages} at {source.address}")
        console.print(Text.assemble((sanitized(source.name), "bold"), place), soft_wrap=True)
        console.print(Text(sanitized(f"    {place_of(source)}"), style="dim"), soft_wrap=True)


def show_books(books: Sequence[BookSummary]) -> None:
    """Print the books of a data directory."""
    if not books:
        console.print("Nothing has been ingested.")
    for book in books:
        facts = [f"{book.documents} pages, {book.chunks} chunks", f"generation {book.generation} of {book.updated}"]
        facts += [f"versions {', '.join(book.versions)}"] if book.versions else []
        facts += [f"languages {', '.join(book.languages)}"] if book.languages else []
        name = Text.assemble((book.name or "(unnamed)", "bold"), f"  {sanitized(book.title)}")
        console.print(name, soft_wrap=True)
        console.print(Text(sanitized(f"    {book.error or '; '.join(facts)}"), style="dim"), soft_wrap=True)


def _link(url: str, settings: Settings) -> str:
    """A URL to open: pages that are published nowhere else are at the address of this book's server."""
    if not url.startswith("/"):
        return sanitized(url)
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host  # noqa: S104 - not an address to open
    return sanitized(f"http://{f'[{host}]' if ':' in host else host}:{settings.port}{url}")


def _show_server_hint(urls: Iterable[str]) -> None:
    if any(url.startswith("/") for url in urls):
        console.print(Text("The links open while `glossator serve` is running.", style="dim"))


def show_answer(answer: Answer, settings: Settings) -> None:
    """Print the sentences with citation numbers, then the citations."""
    if answer.degraded:
        console.print(Text(KEYWORDS_NOTICE if answer.keywords_only else UNAVAILABLE_NOTICE, style="yellow"))
    if answer.session_id and not answer.stored:
        console.print(Text("This answer was not stored.", style="yellow"))
    if answer.abstained:
        _show_abstention(answer, settings)
        return
    body = Text()
    for piece, number in split_marks(answer.text):
        if number is None or number > len(answer.citations):
            body.append(_indented_code(sanitize(piece)))
        else:
            url = _link(answer.citations[number - 1].url, settings)
            body.append(piece, style=Style(color="cyan", link=url or None))
    console.print(body)
    console.print()
    _show_sources(answer, settings)


def _indented_code(text: str) -> str:
    """Code without its fences, indented; other text as it is."""
    if not text.startswith("```"):
        return text
    return textwrap.indent("\n".join(text.splitlines()[1:-1]), "    ")


def _show_sources(answer: Answer, settings: Settings) -> None:
    """Print the sources, those of one section together; sections of other pages may have the same name."""
    sections: dict[tuple[str, str], list[Citation]] = {}
    for citation in answer.citations:
        page, _, _ = citation.url.partition("#")
        sections.setdefault((page, _breadcrumbs(citation.title, citation.section)), []).append(citation)
    for (_, place), citations in sections.items():
        numbers = " ".join(f"[{citation.number}]" for citation in citations)
        console.print(Text.assemble((f"{numbers} ", "cyan"), place), soft_wrap=True)
        for url in dict.fromkeys(citation.url for citation in citations if citation.url):
            console.print(Text(f"    {_link(url, settings)}", style="dim"), soft_wrap=True)
    _show_server_hint(citation.url for citation in answer.citations)


def _show_abstention(answer: Answer, settings: Settings) -> None:
    console.print(answer.text)
    if answer.suggestions:
        console.print(Text("Sections that may help:", style="dim"))
    for near in answer.suggestions:
        line = Text.assemble(f"  • {_breadcrumbs(near.title, near.section)}  ", (_link(near.url, settings), "dim"))
        console.print(line, soft_wrap=True)
    _show_server_hint(near.url for near in answer.suggestions)


def show_chat(name: str, book: str) -> None:
    """Print the name of the book, the id of the conversation and how to end it."""
    if book:
        console.print(Text(sanitized(book), style="bold"), soft_wrap=True)
    console.print(Text(f"Conversation {name}. Enter an empty line to end it.", style="dim"), soft_wrap=True)


def next_question(*, prompt: bool) -> str | None:
    """Read the next question; None at the end."""
    try:
        line = input("> " if prompt else "")
    except EOFError:
        return None
    except UnicodeDecodeError:
        raise QuestionError("The question is not UTF-8 text.", "Type or send it as UTF-8.") from None
    return line if line.strip() else None


def show_sessions(sessions: Sequence[Session]) -> None:
    """Print conversations, latest first."""
    if not sessions:
        console.print("No conversations.")
        return
    table = Table("conversation", "state", "messages", "last active", box=None, pad_edge=False)
    for session in sessions:
        when = f"{session.last_active:%Y-%m-%d %H:%M} UTC"
        table.add_row(sanitized(session.key.name), session.state, str(session.message_count), when)
    console.print(table)


def show_feedback(feedback: Sequence[Feedback]) -> None:
    """Print users' feedback, most recent first."""
    if not feedback:
        console.print("No feedback.")
    for each in feedback:
        comment = ": ".join(part for part in (each.reason, each.text) if part)
        when = f"{each.created_at:%Y-%m-%d %H:%M} UTC  "
        console.print(Text.assemble((f"{each.rating:<5}", "bold"), when, sanitized(each.question)))
        if comment:
            console.print(Text(f"     {sanitized(comment)}"))


def _breadcrumbs(*names: str) -> str:
    return sanitized(" › ".join(dict.fromkeys(name for name in names if name)))


def show_passages(passages: Sequence[Passage], settings: Settings) -> None:
    """Print passages with their scores and the beginning of their text."""
    if not passages:
        console.print("No passages found. Remove filters, or ingest something first.")
    for rank, passage in enumerate(passages, 1):
        place = _breadcrumbs(*passage.heading_path)
        console.print(Text.assemble((f"{rank}. ", "bold"), place, (f"  {passage.score:.2f}", "cyan")))
        console.print(Text(sanitized(" ".join(passage.text.split())[:240]), style="dim"))
        anchor = f"#{passage.anchor}" if passage.anchor else ""
        console.print(Text(_link(f"{passage.url}{anchor}", settings), style="blue"), soft_wrap=True)
    _show_server_hint(passage.url for passage in passages)


_STATUS = {
    Status.SUPPORTED: ("✓", "green"),
    Status.UNSUPPORTED: ("✗", "red"),
    Status.CONTRADICTED: ("✗", "red"),
    Status.UNCITED: ("✗", "yellow"),
}


def show_checked(checked: CheckedDraft) -> None:
    """Print each claim with its verdict, reasons and evidence."""
    for sentence in checked.sentences:
        if sentence.verdict:
            _show_verdict(sentence.text, sentence.verdict)
    verdicts = checked.verdicts
    passed = sum(verdict.supported for verdict in verdicts)
    summary = f"{passed} of {len(verdicts)} claims are supported." if verdicts else "The text makes no claims."
    console.print(Text(summary, style="bold"))


def show_batch(results: Sequence[dict[str, Any]]) -> None:
    """Print the claims of a batch that failed, and how many passed."""
    for result in results:
        if not result["supported"]:
            reasons = "; ".join(result["reasons"])
            line = sanitized(f" {result['id']}: {result['claim']}  {reasons}")
            console.print(Text.assemble(("✗ " + result["status"], "red"), line), soft_wrap=True)
    passed = sum(result["supported"] for result in results)
    console.print(Text(f"{passed} of {len(results)} claims are supported.", style="bold"))


def show_replay(replay: Replay) -> None:
    """Print the result of checking an earlier answer again."""
    before, now = replay.generation
    console.print(Text(sanitized(replay.question), style="bold"))
    text = "has changed since" if replay.corpus_changed else "is unchanged"
    line = f"Answered {replay.created} from generation {before}. The index is at generation {now}; its text {text}."
    console.print(Text(line, style="dim"), soft_wrap=True)
    if replay.verifier_changed:
        console.print(Text("The verifier has changed since.", style="dim"))
    for sentence in replay.sentences:
        _show_replayed(sentence)
    if not replay.sentences:
        console.print("The answer made no claims: nothing to check.")
    else:
        console.print("The answer still holds." if replay.holds else "The answer no longer holds.")


def _show_replayed(sentence: ReplayedSentence) -> None:
    if sentence.is_quote_in_book:
        _show_verdict(sentence.text, sentence.now)
        console.print(Text(f"    quote: {sentence.source}", style="dim"))
        return
    line = Text.assemble((f"✗ {sentence.source}", "red"), "  ", sanitized(sentence.text))
    console.print(line, soft_wrap=True)
    if sentence.now.evidence:
        console.print(_quotation("now", sentence.now.evidence), soft_wrap=True)


def _show_verdict(text: str, verdict: Verdict) -> None:
    mark, style = _STATUS[verdict.status]
    line = Text.assemble((f"{mark} {verdict.status} {verdict.score:.2f}", style), "  ", sanitized(text))
    console.print(line, soft_wrap=True)
    for reason in verdict.reasons:
        console.print(Text(sanitized(f"    {reason}"), style="yellow"), soft_wrap=True)
    if verdict.supported and verdict.in_doubt:
        console.print(Text("    doubtful: an answer would quote the source instead", style="yellow"), soft_wrap=True)
    if verdict.evidence:
        place = verdict.evidence.document_id or f"source {verdict.evidence.source}"
        console.print(_quotation(place if verdict.supported else "nearest", verdict.evidence), soft_wrap=True)


def _quotation(name: str, evidence: Evidence) -> Text:
    return Text(sanitized(f"    {name}: {evidence.quote[:_MAX_QUOTATION_LENGTH]}"), style="dim")


def show_findings(findings: Sequence[DoctorFinding]) -> None:
    """Print the findings of doctor."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for _ in range(4):
        table.add_column(overflow="fold")
    for finding in findings:
        mark = Text("✓", style="green") if finding.good else Text("✗", style="red")
        mark = Text("!", style="yellow") if finding.is_warning else mark
        value, why = Text(sanitized(finding.value)), Text(sanitized(finding.why), style="dim")
        table.add_row(mark, Text(finding.topic, style="bold"), value, why)
    console.print(table)


def show_outcomes(outcomes: Sequence[GoldenOutcome], summary: GoldenSummary) -> None:
    """Print the golden questions that failed, and the summary."""
    for outcome in outcomes:
        if not outcome.passed:
            result = "abstained" if outcome.abstained else "answered"
            rank = f"section at rank {outcome.rank}" if outcome.rank else "section not found"
            where = rank if outcome.golden.kind == "answerable" else outcome.golden.kind
            console.print(Text.assemble(("✗", "red"), sanitized(f" {outcome.golden.id}: {result}, {where}")))
    rows = {
        "passed": f"{summary.passed} of {summary.questions}",
        "section in the top 5": f"{summary.section_in_top_5:.1%}",
        "section at rank 1": f"{summary.section_at_1:.1%}",
        "answerable, but abstained": f"{summary.answerable_abstained:.1%}",
        "out of scope, and abstained": f"{summary.out_of_scope_abstained:.1%}",
        "selections handled correctly": f"{summary.selection_right:.1%}",
        "key facts in the answers": f"{summary.facts_in_answers:.1%}",
    }
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in rows.items():
        table.add_row(name, value)
    console.print(table)
