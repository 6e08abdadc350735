"""Ingest: reads sources, embeds new text, builds the next generation beside the current one, and switches to it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from glossator.core.book.addresses import validate_base_url
from glossator.core.book.locations import Location, locate
from glossator.core.book.manifest import FORMAT, Manifest, SourceRecord, timestamp
from glossator.core.book.sources import FetchCounts, SourceOptions, SourceSummary, clean_name
from glossator.core.errors import BadInput, SourceError
from glossator.core.ports import GenerationContents, Progress
from glossator.core.types import EmbeddingCounts, IngestReport, PageNote, SkippedFile
from glossator.embed.cache import CACHED_GENERATIONS, EmbeddingCache, embed_with_cache
from glossator.ingest.changes import IndexedSource, IngestPlan, corpus_hash, plan_ingest
from glossator.ingest.chunk import CHUNKER_VERSION, chunk_document
from glossator.ingest.fetch.cache import forget_source
from glossator.pipeline.contents import LoadedSource, SourceReader
from glossator.pipeline.examples import golden_questions
from glossator.pipeline.sources import find_source, indexed_sources, language_warning, merged_options
from glossator.pipeline.wiring import Engine

_LOST_INDEX = SkippedFile(
    "The previous index", "it cannot be read, so it was replaced; sources that were not given now are lost."
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


def build_generation(
    engine: Engine, sources: Sequence[str], options: SourceOptions, only: bool, progress: Progress
) -> IngestReport:
    """Index the sources; the current generation serves requests until the new one is complete."""
    started = time.monotonic()
    _check_options(sources, options)
    with ExitStack() as stack:
        reader = SourceReader(engine, stack, progress)
        known = _by_root(indexed_sources(engine))
        locations = {location.root: location for location in map(locate, sources)}
        found = {root: reader.read(place, options, known.get(root)) for root, place in locations.items()}
        stack.enter_context(engine.generations.ingest_lock())
        before = engine.generations.latest_manifest()
        missing = [root for root, source in found.items() if source is None and not _is_usable(before, root)]
        again = {r: reader.read_again(locations[r], merged_options(options, known.get(r))) for r in missing}
        read = {root: source for root, source in (found | again).items() if source is not None}
        removed = {s.root for s in before.sources if s.root not in locations} if before and only else set()
        lost = () if before or engine.generations.is_empty() else (_LOST_INDEX,)
        changes = _compare(reader, before, read, removed)
        report = _build(engine, changes, progress)
        _forget(engine, changes.removed)
    return replace(
        report,
        seconds=round(time.monotonic() - started, 3),
        skipped=(*lost, *report.skipped),
        notes=(*_language_notes(engine, read), *(note for s in read.values() for note in s.contents.notes)),
        sources=tuple(_summary(s, read) for s in changes.sources if s.root in locations),
        other_sources=tuple(s.summary for s in changes.sources if s.root not in locations),
        fetches=sum((source.contents.fetches for source in read.values()), FetchCounts()),
    )


def _language_notes(engine: Engine, read: Mapping[str, LoadedSource]) -> Iterator[PageNote]:
    for source in read.values():
        if warning := language_warning(source.contents.documents, engine.embedder):
            yield PageNote(source.contents.name, warning)


def _is_usable(manifest: Manifest | None, root: str) -> bool:
    """Whether the documents of a source can be taken from the index; a corrupted one has no hash."""
    is_current = manifest is not None and bool(manifest.corpus_hash) and manifest.format == FORMAT
    return is_current and root in _by_root(manifest.sources if manifest else ())


def _summary(source: SourceRecord, read: Mapping[str, LoadedSource]) -> SourceSummary:
    reason = read[source.root].contents.reason if source.root in read else f"unchanged since {source.revision[:10]}"
    return replace(source.summary, reason=reason)


def _forget(engine: Engine, removed: Sequence[SourceRecord]) -> None:
    for source in removed:
        forget_source(engine.settings.data_dir, source.root)


def remove_and_rebuild(engine: Engine, name_or_path: str, progress: Progress) -> IngestReport:
    """Remove one source from the index; the others stay as they are."""
    started = time.monotonic()
    find_source(indexed_sources(engine), name_or_path)
    with ExitStack() as stack:
        stack.enter_context(engine.generations.ingest_lock())
        before = engine.generations.latest_manifest()
        source = find_source(before.sources if before else (), name_or_path)
        changes = _compare(SourceReader(engine, stack, progress), before, {}, {source.root})
        if changes.sources:
            report = _build(engine, changes, progress)
        else:
            engine.generations.clear()
            report = IngestReport(0, changes.plan.counts, 0, EmbeddingCounts(), 0.0, removed_sources=(source.summary,))
        _forget(engine, [source])
    others = tuple(other.summary for other in changes.sources)
    return replace(report, seconds=round(time.monotonic() - started, 3), other_sources=others)


def _check_options(sources: Sequence[str], options: SourceOptions) -> None:
    if not sources:
        raise BadInput("No source is given.", "Name a folder, a file or a URL.")
    if options.base_url:
        validate_base_url(options.base_url)
    if options.name and (len(sources) > 1 or not clean_name(options.name)):
        raise BadInput("A name is for one source, and not empty.", "Ingest the sources one by one.")


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
    )


def _build(engine: Engine, changes: _Changes, progress: Progress) -> IngestReport:
    """Build the next generation, unless nothing has changed."""
    before, sources = changes.before, changes.sources
    corpus = corpus_hash([source.documents for source in sources])
    inputs = (FORMAT, engine.embedder.fingerprint, CHUNKER_VERSION, corpus)
    if before and inputs == before.inputs and _by_root(sources) == _by_root(before.sources):
        return _report(before.generation, changes, before.chunks, 0)
    found = [document for documents in changes.plan.documents.values() for document in documents]
    documents = [*engine.generations.documents_of(changes.retained), *found]
    chunks = [chunk for document in documents for chunk in chunk_document(document, engine.embedder.count_tokens)]
    number = engine.generations.next_number()
    with EmbeddingCache(engine.settings.data_dir / "cache" / "embeddings.sqlite") as cache:
        embeddings, made = embed_with_cache(engine.embedder, cache, chunks, number, progress)
        manifest = Manifest(number, *inputs, engine.embedder.dimension, len(chunks), timestamp(), sources)
        contents = GenerationContents(documents, chunks, embeddings, _image_reader(changes.images))
        engine.generations.build(manifest, contents)
        cache.evict_before(number - CACHED_GENERATIONS)
    return _report(number, changes, len(chunks), made)


def _image_reader(images: Mapping[str, Path]) -> Callable[[str], bytes | None]:
    """Reads new images; the others are in the index already."""

    def read(name: str) -> bytes | None:
        with suppress(OSError):
            return images[name].read_bytes() if name in images else None
        return None

    return read


def _by_root(sources: Sequence[SourceRecord]) -> dict[str, SourceRecord]:
    return {source.root: source for source in sources}


def _report(generation: int, changes: _Changes, chunks: int, made: int) -> IngestReport:
    return IngestReport(
        generation,
        changes.plan.counts,
        chunks,
        EmbeddingCounts(made, chunks - made),
        0.0,
        changes.plan.skipped,
        removed_sources=tuple(source.summary for source in changes.removed),
    )
