"""Reads the contents of a source: a folder or file, a live site, or a git repository."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from glossator.core.book.locations import Location, SourceKind
from glossator.core.book.sources import Layout, SourceOptions, clean_name
from glossator.core.errors import BadInput
from glossator.core.ports import Progress
from glossator.ingest.fetch.cache import PageCache, source_folder
from glossator.ingest.filters import FileFilter
from glossator.ingest.read import SourceContents, read_source
from glossator.pipeline.sources import merged_options
from glossator.pipeline.wiring import Engine
from glossator.store.index.manifest import SourceRecord


@dataclass(frozen=True, slots=True)
class ReadSource:
    """The contents of a source, the options that it was read with, its folder, and its revision if it has one."""

    contents: SourceContents
    options: SourceOptions
    folder: Path | None
    revision: str = ""


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Reads sources; what must stay until the index is built is on the stack."""

    engine: Engine
    stack: ExitStack
    progress: Progress

    def read(self, location: Location, options: SourceOptions, known: SourceRecord | None) -> ReadSource | None:
        """Read a source with the options that it had before, where no others are given.

        None if it is `known`, and a git repository of which the same revision is indexed with the same options.
        """
        return self._read(location, merged_options(options, known), known)

    def read_again(self, location: Location, options: SourceOptions) -> ReadSource:
        """Read a source with these options, whatever is indexed of it."""
        found = self._read(location, options, None)
        assert found is not None  # noqa: S101 - only a known source is left out
        return found

    def _read(self, location: Location, options: SourceOptions, known: SourceRecord | None) -> ReadSource | None:
        if location.ref is not None and options.ref is None:
            options = replace(options, ref=location.ref)
        read = {SourceKind.FOLDER: self._folder, SourceKind.SITE: self._site, SourceKind.GIT: self._git}
        found = read[location.kind(options.ref)](location, options, known)
        if found is None:
            return None
        name = clean_name(options.name or "") or found.contents.name
        return replace(found, contents=replace(found.contents, name=name))

    def _max_bytes(self) -> int:
        return int(self.engine.settings.max_file_mb * 1_000_000)

    def _folder(self, location: Location, options: SourceOptions, _known: SourceRecord | None) -> ReadSource:
        files = FileFilter(options.include or (), options.exclude or ())
        return ReadSource(self._contents(location.path or location.root, options, files), options, Path(location.root))

    def _contents(self, folder: str, options: SourceOptions, files: FileFilter) -> SourceContents:
        layout = options.layout or Layout.AUTO
        return read_source(folder, options.base_url, self._max_bytes(), layout, options.includes, files)

    def _site(self, location: Location, options: SourceOptions, _known: SourceRecord | None) -> ReadSource:
        from glossator.ingest.fetch.client import FetchPolicy
        from glossator.ingest.site.read import SiteRequest, read_site

        if options.layout or options.includes:
            raise BadInput("A live site has no layout and no included files.", "Leave out --layout and --includes.")
        settings = self.engine.settings
        policy = FetchPolicy(bool(options.allow_private), self._max_bytes(), total_seconds=settings.fetch_minutes * 60)
        files = FileFilter(options.include or (), options.exclude or ())
        request = SiteRequest(location.root, options.base_url, policy, settings.max_pages, files)
        cache = PageCache(source_folder(settings.data_dir, "sites", location.root))
        return ReadSource(read_site(request, cache, self.progress), options, None)

    def _git(self, location: Location, options: SourceOptions, known: SourceRecord | None) -> ReadSource | None:
        raise NotImplementedError
