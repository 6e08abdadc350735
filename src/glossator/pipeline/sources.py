"""The books of a data directory and their sources: listed, found by name, stored with their options."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from glossator.core.book.locations import is_url
from glossator.core.book.manifest import SourceRecord
from glossator.core.book.sources import Layout, SourceOptions, SourceSummary
from glossator.core.errors import BadInput, BookNotFound, IndexCorrupted, IndexUnavailable
from glossator.core.ports import Embedder
from glossator.core.settings import Settings
from glossator.core.text.languages import NAMES, main_language
from glossator.core.types import Document
from glossator.pipeline.wiring import Engine, make_generations

_SAMPLE_DOCUMENTS, _SAMPLE_CHARACTERS = 50, 4_000
"""How much of a book is used to detect its language."""


def language_of(documents: Iterable[Document]) -> str:
    """The code of the language of a source; empty if it is unknown."""
    return main_language(d.text[:_SAMPLE_CHARACTERS] for d in islice(documents, _SAMPLE_DOCUMENTS))


def language_warning(language: str, embedder: Embedder) -> str:
    """A warning, with a remedy, if the embedding model does not support the language of a book; otherwise empty."""
    if not language or not embedder.languages or language in embedder.languages:
        return ""
    known = " and ".join(NAMES[code] for code in embedder.languages)
    return (
        f"the text is {NAMES[language]}, but the embedding model supports only {known}: passages are found mainly by"
        " keywords. Set GLOSSATOR_EMBEDDER to a multilingual model (a folder with its ONNX files, or a remote model),"
        " and ingest again."
    )


def list_sources(engine: Engine) -> tuple[SourceSummary, ...]:
    """The sources of the index, in reading order; an index that cannot be read is an error."""
    manifest = engine.generations.manifest()
    return tuple(source.summary for source in manifest.sources) if manifest else ()


def indexed_sources(engine: Engine) -> tuple[SourceRecord, ...]:
    """The sources of the index, for the next ingest; none if the index cannot be read."""
    try:
        manifest = engine.generations.manifest()
    except IndexCorrupted:
        return ()
    return manifest.sources if manifest else ()


def book_name(engine: Engine) -> str:
    """The name of the book; empty if nothing has been ingested, or the index cannot be read."""
    try:
        manifest = engine.generations.manifest()
    except IndexUnavailable:
        return ""
    return manifest.name if manifest else ""


def merged_options(options: SourceOptions, known: SourceRecord | None) -> SourceOptions:
    """The options of a source; omitted options keep their earlier values."""
    if known is None:
        return options
    layout = Layout(known.chosen_layout) if known.chosen_layout in list(Layout) else None
    return SourceOptions(
        known.base_url if options.base_url is None else options.base_url,
        options.layout or layout,
        known.chosen_name if options.name is None else options.name,
        known.snippets if options.snippets is None else options.snippets,
        known.ref if options.ref is None else options.ref,
        known.include if options.include is None else options.include,
        known.exclude if options.exclude is None else options.exclude,
        known.allow_private if options.allow_private is None else options.allow_private,
        known.chosen_versions if options.versions is None else options.versions,
    )


def find_source(sources: Sequence[SourceRecord], name_or_path: str) -> SourceRecord:
    """The source with this path or name; a name that several sources have is refused."""
    path = name_or_path if is_url(name_or_path) else os.path.realpath(name_or_path)
    matches = [s for s in sources if s.root in (path, name_or_path)] or [
        s for s in sources if s.summary.name == name_or_path
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        paths = ", ".join(source.root for source in matches)
        raise BadInput(f"{len(matches)} sources are named {name_or_path!r}.", f"Use the path of one of them: {paths}.")
    raise BadInput(f"{name_or_path!r} is not in the index.", "Use a name or path from `glossator sources list`.")


@dataclass(frozen=True, slots=True)
class BookSummary:
    """One book, as lists show it; `error` says why its index cannot be read."""

    name: str
    title: str = ""
    documents: int = 0
    chunks: int = 0
    generation: int = 0
    versions: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    updated: str = ""
    error: str = ""


def list_books(settings: Settings) -> list[BookSummary]:
    """The books in which something has been ingested, the unnamed one first."""
    with closing(make_generations(settings.for_book(""))) as generations:
        names = ["", *generations.books()]
    found = (_summary(settings.for_book(name)) for name in names)
    return [book for book in found if book is not None]


def _summary(settings: Settings) -> BookSummary | None:
    with closing(make_generations(settings)) as generations:
        try:
            manifest = generations.manifest()
        except IndexCorrupted as error:
            return BookSummary(settings.book, error=error.message)
    if manifest is None:
        return None
    return BookSummary(
        settings.book,
        manifest.name,
        manifest.documents,
        manifest.chunks,
        manifest.generation,
        tuple(version.name for version in manifest.versions),
        manifest.languages,
        manifest.created_at,
    )


def find_book(settings: Settings) -> BookSummary:
    """The book that the settings name."""
    found = [book for book in list_books(settings) if book.name == settings.book]
    if not found:
        raise BookNotFound(f"There is no book {settings.book!r}.", "`glossator books list` shows them.")
    return found[0]
