"""Ingest: reads sources, embeds new text, builds the next generation next to the current one, and switches to it."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path

from glossator.core.book.addresses import BOOK_PATH, validate_base_url
from glossator.core.book.locations import Location, locate
from glossator.core.book.manifest import FORMAT, Manifest, SourceRecord, timestamp
from glossator.core.book.sources import DEFAULT_OPTIONS, FetchCounts, SourceOptions, SourceSummary, clean_name
from glossator.core.errors import BadInput, IndexCorrupted, IngestRunning, SourceError
from glossator.core.files import file_lock, storage_errors
from glossator.core.ports import GenerationContents, Progress
from glossator.core.timing import StageTimes, collect_stage_times, stage
from glossator.core.types import EmbeddingCounts, IngestReport, PageNote, RollbackReport, SkippedFile, StageSeconds
from glossator.embed.cache import CACHED_GENERATIONS, EmbeddingCache, count_missing, embed_with_cache
from glossator.ingest.changes import IndexedSource, IngestPlan, corpus_hash, plan_ingest
from glossator.ingest.chunk import CHUNKER_VERSION, chunk_document
from glossator.ingest.fetch.cache import forget_source
from glossator.ingest.read import existing_path
from glossator.pipeline.contents import LoadedSource, SourceReader, golden_questions
from glossator.pipeline.sources import find_source, indexed_sources, language_of, language_warning, merged_options
from glossator.pipeline.wiring import Engine
from glossator.store.index.generations import Generations

_LOST_INDEX = SkippedFile(
    "The previous index", "it could not be read and was replaced; sources not given in this command are lost."
)


@dataclass(frozen=True, slots=True)
class _Changes:
    """The index before, the plan, the sources that were read, those that stay, and the files of new images."""

    before: Manifest | None
    plan: IngestPlan
    read: tuple[SourceRecord, ...]
    retained: tuple[SourceRecord, ...]
    images: Mapping[str, Path]

    @property
    def sources(self) -> tuple[SourceRecord, ...]:
        return (*self.retained, *self.read)

    @property
    def removed(self) -> tuple[SourceRecord, ...]:
        roots = {source.root for source in self.sources}
        return tuple(source for source in (self.before.sources if self.before else ()) if source.root not in roots)


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """What to ingest: these sources, or without any all that the index has.

    `only` removes all others. A dry run reads and compares, and writes nothing. `accept` is called with what was
    skipped, before anything is written; if it raises an error, the index stays as it is.
    """

    sources: Sequence[str] = ()
    options: SourceOptions = DEFAULT_OPTIONS
    only: bool = False
    dry_run: bool = False
    accept: Callable[[Sequence[SkippedFile]], None] = lambda _skipped: None


def build_generation(engine: Engine, request: IngestRequest, progress: Progress) -> IngestReport:
    """Index the sources; the current generation stays in use until the new one is complete."""
    started, times = time.monotonic(), collect_stage_times()
    known = _by_root(indexed_sources(engine))
    sources, options = request.sources or tuple(known), request.options
    _check_options(sources, options)
    locations = {location.root: location for location in map(locate, sources)}
    for path in filter(None, (location.path for location in locations.values())):
        existing_path(path)  # before the lock creates a data directory
    with ExitStack() as stack:
        if not request.dry_run:
            stack.enter_context(_data_dir_lock(engine))  # before sources are read, which may take minutes
        reader = SourceReader(engine, stack, progress, request.dry_run)
        with stage("read"):
            found = {root: reader.read(place, options, known.get(root)) for root, place in locations.items()}
        if not request.dry_run:
            stack.enter_context(_shared_index_lock(engine))
        before = _latest(engine, dry_run=request.dry_run)
        missing = [root for root, source in found.items() if source is None and not _is_usable(before, root)]
        with stage("read"):
            again = {r: reader.read_again(locations[r], merged_options(options, known.get(r))) for r in missing}
        read = {root: source for root, source in (found | again).items() if source is not None}
        removed = {s.root for s in before.sources if s.root not in locations} if before and request.only else set()
        lost = () if before or engine.generations.is_empty() else (_LOST_INDEX,)
        changes = _compare(reader, before, read, removed)
        request.accept(changes.plan.skipped)
        report = _build(engine, changes, progress, dry_run=request.dry_run)
        if not request.dry_run:
            _forget(engine, changes.removed)
    return replace(
        _with_times(report, started, times),
        skipped=(*lost, *report.skipped),
        notes=(*_language_notes(engine, changes.read), *(note for s in read.values() for note in s.contents.notes)),
        sources=tuple(_summary(s, read) for s in changes.sources if s.root in locations),
        other_sources=tuple(s.summary for s in changes.sources if s.root not in locations),
        fetches=sum((source.contents.fetches for source in read.values()), FetchCounts()),
    )


@contextmanager
def ingest_lock(engine: Engine) -> Iterator[None]:
    """One ingest at a time for each index, and for each data directory, whose cache all indexes share."""
    with _data_dir_lock(engine), _shared_index_lock(engine):
        yield


def _data_dir_lock(engine: Engine) -> AbstractContextManager[None]:
    """The lock of the data directory, which is that of the embedded index as well."""
    if isinstance(engine.generations, Generations):
        return engine.generations.ingest_lock()
    folder = engine.settings.book_dir
    busy = IngestRunning(f"Another ingest is using {folder}.", "Wait until it has finished.")
    return file_lock(folder / "ingest.lock", busy)


def _shared_index_lock(engine: Engine) -> AbstractContextManager[None]:
    """The lock of an index on a server: a connection that might not survive minutes of reading."""
    return nullcontext() if isinstance(engine.generations, Generations) else engine.generations.ingest_lock()


def _with_times(report: IngestReport, started: float, times: StageTimes) -> IngestReport:
    stages = {f.name: round(times.get(f.name, 0.0), 6) for f in fields(StageSeconds)}
    return replace(report, seconds=round(time.monotonic() - started, 3), stages=StageSeconds(**stages))


def _latest(engine: Engine, *, dry_run: bool) -> Manifest | None:
    """The index to compare with; a dry run does not open it, as that changes its files."""
    if not dry_run:
        return engine.generations.latest_manifest()
    with suppress(IndexCorrupted):
        return engine.generations.manifest()
    return None


def _language_notes(engine: Engine, sources: Sequence[SourceRecord]) -> Iterator[PageNote]:
    for source in sources:
        if warning := language_warning(source.language, engine.embedder):
            yield PageNote(source.name, warning)


def _is_usable(manifest: Manifest | None, root: str) -> bool:
    """Whether the documents of a source can be taken from the index; a corrupted one has no hash."""
    is_current = manifest is not None and bool(manifest.corpus_hash) and manifest.format == FORMAT
    return is_current and root in _by_root(manifest.sources if manifest else ())


def _summary(source: SourceRecord, read: Mapping[str, LoadedSource]) -> SourceSummary:
    reason = read[source.root].contents.reason if source.root in read else f"unchanged since {source.revision[:10]}"
    return replace(source.summary, reason=reason)


def _forget(engine: Engine, removed: Sequence[SourceRecord]) -> None:
    for source in removed:
        forget_source(engine.settings.book_dir, source.root)


def remove_and_rebuild(engine: Engine, name_or_path: str, progress: Progress) -> IngestReport:
    """Remove one source from the index; the others stay as they are."""
    started, times = time.monotonic(), collect_stage_times()
    find_source(indexed_sources(engine), name_or_path)
    with ExitStack() as stack:
        stack.enter_context(ingest_lock(engine))
        before = engine.generations.latest_manifest()
        source = find_source(before.sources if before else (), name_or_path)
        changes = _compare(SourceReader(engine, stack, progress), before, {}, {source.root})
        if changes.sources:
            report = _build(engine, changes, progress)
        else:
            engine.generations.clear()
            report = _report(0, changes, 0, 0)
        _forget(engine, [source])
    others = tuple(other.summary for other in changes.sources)
    return replace(_with_times(report, started, times), other_sources=others)


def roll_back(engine: Engine) -> RollbackReport:
    """Make the previous generation the current one."""
    with ingest_lock(engine):
        replaced = engine.generations.current() or 0
        manifest = engine.generations.roll_back(engine.embedder.fingerprint)
    return RollbackReport(manifest.generation, replaced, manifest.created_at, manifest.documents, manifest.chunks)


async def delete_book(engine: Engine) -> None:
    """Delete a named book: its index, caches, jobs, conversations, receipts and feedback."""
    await asyncio.to_thread(_delete_index, engine)
    await engine.records.database.drop_schema()
    await engine.close()
    folder = engine.settings.book_dir
    with storage_errors(folder):
        if folder.exists():
            await asyncio.to_thread(shutil.rmtree, folder)


def _delete_index(engine: Engine) -> None:
    """The book disappears from searches immediately; no ingest may be running."""
    with ingest_lock(engine):
        engine.generations.clear()
    engine.generations.drop_all()


def _check_options(sources: Sequence[str], options: SourceOptions) -> None:
    if not sources:
        raise BadInput("No source was given, and the index has none.", "Pass a folder, a file or a URL.")
    if options.base_url:
        validate_base_url(options.base_url)
    if options.name and (len(sources) > 1 or not clean_name(options.name)):
        raise BadInput("A name must not be empty, and applies to one source only.", "Ingest the sources one by one.")


def _compare(
    reader: SourceReader, before: Manifest | None, read: Mapping[str, LoadedSource], removed: Collection[str]
) -> _Changes:
    """Compare the sources that were read with the index, from which some sources are removed."""
    records = before.sources if before else ()
    retained = tuple(s for s in records if s.root not in read and s.root not in removed)
    if before and before.format != FORMAT:
        # Another version made their text and addresses: they are read again.
        read = {s.root: _read_again(reader, s) for s in retained} | dict(read)
        retained = ()
    mounts = {s.root: s.mount for s in records} if before and before.format == FORMAT else {}
    plan = plan_ingest(
        {root: source.contents for root, source in read.items()},
        {s.root: IndexedSource(s.documents, mounts.get(s.root)) for s in records},
        reader.engine.generations.urls_of(retained),
        removed,
        reader.engine.settings.book_prefix + BOOK_PATH,
    )
    images = {name: path for source in read.values() for name, path in source.contents.images.items()}
    records_read = tuple(_record(root, source, plan) for root, source in read.items())
    return _Changes(before, plan, records_read, retained, images)


def _read_again(reader: SourceReader, source: SourceRecord) -> LoadedSource:
    try:
        return reader.read_again(Location(source.root), merged_options(SourceOptions(), source))
    except BadInput as error:
        raise SourceError(
            f"The index was built by another version of Glossator, and one of its sources cannot be read again:"
            f" {error.message}",
            f"Restore it, or remove it with `glossator sources remove {source.root}`.",
        ) from None


def _record(root: str, source: LoadedSource, plan: IngestPlan) -> SourceRecord:
    contents, options = source.contents, source.options
    return SourceRecord(
        root,
        contents.layout,
        options.base_url,
        {document.document_id: document.content_hash for document in plan.documents[root]},
        contents.name,
        plan.mounts[root],
        options.layout,
        options.name,
        golden_questions(source.folder) if source.folder else (),
        options.snippets and os.path.realpath(options.snippets),
        options.ref,
        options.include,
        options.exclude,
        options.allow_private,
        source.revision,
        contents.versions,
        options.versions,
        language_of(contents.documents),
    )


def _build(engine: Engine, changes: _Changes, progress: Progress, *, dry_run: bool = False) -> IngestReport:
    """Build the next generation, unless nothing has changed."""
    before, sources = changes.before, changes.sources
    corpus = corpus_hash([source.documents for source in sources])
    inputs = (FORMAT, engine.embedder.fingerprint, CHUNKER_VERSION, corpus)
    if before and inputs == before.inputs and _by_root(sources) == _by_root(before.sources):
        return _report(before.generation, changes, before.chunks, 0, dry_run=dry_run)
    found = [document for documents in changes.plan.documents.values() for document in documents]
    with stage("read"):
        documents = [*engine.generations.documents_of(changes.retained), *found]
    with stage("chunk"):
        chunks = [chunk for document in documents for chunk in chunk_document(document, engine.embedder.count_tokens)]
    path = engine.settings.book_dir / "cache" / "embeddings.sqlite"
    if dry_run:
        made = count_missing(path, engine.embedder.fingerprint, chunks)
        return _report(before.generation if before else 0, changes, len(chunks), made, dry_run=True)
    number = engine.generations.next_number()
    with EmbeddingCache(path) as cache:
        with stage("embed"):
            embeddings, made = embed_with_cache(engine.embedder, cache, chunks, number, progress)
        manifest = Manifest(number, *inputs, _dimension(engine, before), len(chunks), timestamp(), sources)
        if manifest.versions:
            chunks = [replace(chunk, versions=manifest.version_labels(chunk.url)) for chunk in chunks]
        contents = GenerationContents(documents, chunks, embeddings, _image_reader(changes.images))
        with stage("write"):
            engine.generations.build(manifest, contents)
            cache.evict_before(number - CACHED_GENERATIONS)
    return _report(number, changes, len(chunks), made)


def _dimension(engine: Engine, before: Manifest | None) -> int:
    """The length of the vectors, which the same model had before: a model is slow to load, or to reach."""
    is_known = before is not None and before.fingerprint == engine.embedder.fingerprint
    return before.dimension if before and is_known else engine.embedder.dimension


def _image_reader(images: Mapping[str, Path]) -> Callable[[str], bytes | None]:
    """Reads new images; the others are in the index already."""

    def read(name: str) -> bytes | None:
        with suppress(OSError):
            return images[name].read_bytes() if name in images else None
        return None

    return read


def _by_root(sources: Sequence[SourceRecord]) -> dict[str, SourceRecord]:
    return {source.root: source for source in sources}


def _report(generation: int, changes: _Changes, chunks: int, made: int, *, dry_run: bool = False) -> IngestReport:
    return IngestReport(
        generation,
        changes.plan.counts,
        chunks,
        EmbeddingCounts(made, chunks - made),
        0.0,
        changes.plan.skipped,
        removed_sources=tuple(source.summary for source in changes.removed),
        changes=changes.plan.changes,
        dry_run=dry_run,
    )
