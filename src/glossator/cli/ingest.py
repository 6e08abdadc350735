"""The ingest command: once, as a dry run, or again whenever files change."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click

from glossator.cli import terminal
from glossator.cli.common import print_json, run
from glossator.cli.report import show_report
from glossator.core.book.locations import SourceKind, locate
from glossator.core.book.sources import SourceOptions
from glossator.core.errors import BadInput, GlossatorError, IndexUnavailable, SourceError, StorageError
from glossator.core.inference.cores import low_priority
from glossator.core.text.characters import dump_json
from glossator.core.types import IngestReport, SkippedFile
from glossator.ingest.watch import snapshot, wait_for_change
from glossator.pipeline.indexing import IngestRequest, build_generation
from glossator.pipeline.sources import indexed_sources
from glossator.pipeline.wiring import Engine

RETRY_SECONDS = 2.0


def run_ingest(
    engine: Engine,
    sources: Sequence[str],
    options: SourceOptions,
    *,
    only: bool,
    dry_run: bool,
    watch: bool,
    as_json: bool,
) -> None:
    """Ingest and print the report; a server on the same machine is not slowed down."""
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))  # as process 1 of a container, too
    request = IngestRequest(sources, options, only, dry_run)
    places = watched_places(engine, sources, options) if watch else []
    with low_priority():
        if watch:
            _watch(engine, request, places, as_json=as_json)
            return
        report = _ingest(engine, request, as_json=as_json)
        print_json(asdict(report)) if as_json else show_report(report)


def _ingest(engine: Engine, request: IngestRequest, *, as_json: bool) -> IngestReport:
    with terminal.progress(enabled=not as_json) as progress:
        return run(engine, asyncio.to_thread(build_generation, engine, request, progress))


def watched_places(engine: Engine, sources: Sequence[str], options: SourceOptions) -> list[Path]:
    """The folders and files to watch: those of the sources, and what their pages include."""
    known = {source.root: source for source in indexed_sources(engine)}
    places: list[Path] = []
    for location in map(locate, sources or tuple(known)):
        record = known.get(location.root)
        ref = options.ref if options.ref is not None else (record.ref if record else None)
        if location.kind(ref) is not SourceKind.FOLDER:
            raise BadInput(
                f"{location.root} cannot be watched.",
                "Only folders and files can be watched; ingest it on a schedule instead.",
            )
        places.append(Path(location.root))
        if snippets := options.snippets or (record.snippets if record else None):
            places.append(Path(snippets))
    return places


def _watch(engine: Engine, request: IngestRequest, places: Sequence[Path], *, as_json: bool) -> None:
    """Ingest after every change. What fails is reported, and the index stays as it was until it is repaired."""
    excluded = [engine.settings.data_dir]
    known: frozenset[SkippedFile] | None = None
    while True:
        files = snapshot(places, excluded)
        try:
            report = _ingest_or_retry(engine, replace(request, accept=_only(known)), as_json=as_json)
        except GlossatorError as error:
            _show_error(error, as_json=as_json)
        else:
            known = frozenset(report.skipped)
            click.echo(dump_json(asdict(report))) if as_json else show_report(report)
        if not as_json:
            click.echo("Watching for changes; interrupt to stop.")
        wait_for_change(places, files, excluded)


def _ingest_or_retry(engine: Engine, request: IngestRequest, *, as_json: bool) -> IngestReport:
    """Ingest; if the index cannot be written now, say so once, and retry: no further change would start an ingest."""
    shown = ""
    while True:
        try:
            return _ingest(engine, request, as_json=as_json)
        except (StorageError, IndexUnavailable) as error:
            if str(error) != shown:
                _show_error(error, as_json=as_json)
            shown = str(error)
        time.sleep(RETRY_SECONDS)


def _show_error(error: GlossatorError, *, as_json: bool) -> None:
    if as_json:
        click.echo(dump_json({"error": str(error)}))
    else:
        click.echo(f"glossator: {terminal.sanitized(str(error))}", err=True)


def _only(known: frozenset[SkippedFile] | None) -> Callable[[Sequence[SkippedFile]], None]:
    """Accepts only files that were skipped before: a page that breaks while it is edited does not leave the index."""

    def check(skipped: Sequence[SkippedFile]) -> None:
        broken = [skip for skip in skipped if known is not None and skip not in known]
        if broken:
            raise SourceError(
                f"{broken[0].path}: {broken[0].reason}", "The index stays as it is until the file is repaired."
            )

    return check
