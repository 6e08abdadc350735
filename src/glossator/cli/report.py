"""Prints the report of an ingest."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.text import Text

from glossator.cli.terminal import console, place_of, sanitized, show_removed
from glossator.core.book.sources import SourceSummary
from glossator.core.types import IngestReport

MAX_NOTES = 10
"""Notes that are printed after an ingest."""


def show_report(report: IngestReport) -> None:
    """Print the result of an ingest."""
    documents, embeddings, stages = report.documents, report.embeddings, report.stages
    counts = (
        f": {documents.added} added, {documents.changed} changed, {documents.moved} moved, {documents.removed} removed,"
        f" {documents.unchanged} unchanged; {report.chunks} chunks, {embeddings.made} embedded,"
        f" {embeddings.reused} reused; {report.seconds:.1f} s (read {stages.read:.1f}, chunk {stages.chunk:.1f},"
        f" embed {stages.embed:.1f}, write {stages.write:.1f})"
    )
    title = "Dry run, nothing is written" if report.dry_run else f"Generation {report.generation}"
    console.print(Text.assemble((title, "bold"), counts), soft_wrap=True)
    for change in report.changes if report.dry_run else ():
        origin = f" (before: {change.previous_id})" if change.previous_id not in ("", change.document_id) else ""
        console.print(Text(sanitized(f"  {change.kind:<8} {change.document_id}{origin}")), soft_wrap=True)
    if report.fetches.fetched or report.fetches.unchanged:
        console.print(f"{report.fetches.fetched} pages fetched, {report.fetches.unchanged} unchanged on their sites")
    for source in report.sources:
        _show_source(source)
    show_removed(report.removed_sources)
    for source in report.other_sources:
        same = ", with the same files" if _overlaps(source, report.sources) else ""
        line = f"Also in the index{same}: {source.name} ({place_of(source)}); `glossator sources remove` removes it."
        console.print(Text(sanitized(line), style="yellow"), soft_wrap=True)
    for skip in report.skipped:
        reason = sanitized(f" {skip.path}: {skip.reason}")
        console.print(Text.assemble(("skipped", "yellow"), reason), soft_wrap=True)
    for note in report.notes[:MAX_NOTES]:
        console.print(Text.assemble(("note", "yellow"), sanitized(f" {note.path}: {note.note}")), soft_wrap=True)
    if len(report.notes) > MAX_NOTES:
        console.print(f"{len(report.notes) - MAX_NOTES} more notes; --json prints all.", soft_wrap=True)


def _show_source(source: SourceSummary) -> None:
    kind = "live site" if source.layout == "site" else f"{source.layout} layout"
    console.print(Text(sanitized(f"{source.name}: {kind} ({source.reason})")), soft_wrap=True)
    target = "here, at" if source.address.startswith("/") else "at"
    versions = f"; versions {', '.join(source.versions)} (the first is current)" if source.versions else ""
    place = f"    citations open its pages {target} {source.address}{versions}"
    console.print(Text(sanitized(place), style="dim"), soft_wrap=True)
    if source.layout == "plain" and source.reason.startswith("none of"):
        hint = "    URLs follow the file names; if a site generator builds the site, ingest its folder or pass --layout"
        console.print(Text(hint, style="dim"), soft_wrap=True)


def _overlaps(source: SourceSummary, others: Iterable[SourceSummary]) -> bool:
    """Whether one source is in the folder of another, so that its pages are in the index twice."""
    paths = [(Path(source.path), Path(other.path)) for other in others]
    return any(one.is_relative_to(other) or other.is_relative_to(one) for one, other in paths)
