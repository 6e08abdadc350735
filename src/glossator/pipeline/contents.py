"""Reads the contents of a source: a folder or file, a live site, or a git repository."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from glossator.core.book.locations import Location, SourceKind, is_url
from glossator.core.book.manifest import SourceRecord
from glossator.core.book.sources import Layout, SourceOptions, clean_name
from glossator.core.errors import BadInput, IngestRunning, SourceError
from glossator.core.files import file_lock
from glossator.core.ports import Progress
from glossator.core.types import SkippedFile
from glossator.evaluate.golden import load_golden
from glossator.ingest.fetch.cache import PageCache, source_folder
from glossator.ingest.files import is_inside
from glossator.ingest.filters import FileFilter
from glossator.ingest.read import READER_VERSION, SourceContents, read_source
from glossator.pipeline.sources import merged_options
from glossator.pipeline.wiring import Engine

if TYPE_CHECKING:
    from glossator.ingest.fetch.client import FetchPolicy

GOLDEN_FILE = "golden.yaml"
MAX_GOLDEN_BYTES = 1_000_000
MAX_GOLDEN, MAX_EXAMPLE_CHARACTERS = 60, 100
"""Golden questions that are kept as examples, and the longest of them."""


@dataclass(frozen=True, slots=True)
class LoadedSource:
    """The contents of a source, the options that it was read with, its folder, and its revision if it has one."""

    contents: SourceContents
    options: SourceOptions
    folder: Path | None
    revision: str = ""


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Reads sources; what must stay until the index is built is on the stack. A dry run changes no cache."""

    engine: Engine
    stack: ExitStack
    progress: Progress
    dry_run: bool = False

    def read(self, location: Location, options: SourceOptions, known: SourceRecord | None) -> LoadedSource | None:
        """Read a source with the options that it had before, where no others are given.

        None if it is `known`, and a git repository of which the same revision is indexed with the same options.
        """
        return self._read(location, merged_options(options, known), known)

    def read_again(self, location: Location, options: SourceOptions) -> LoadedSource:
        """Read a source with these options, even if it is already indexed."""
        found = self._read(location, options, None)
        assert found is not None  # noqa: S101 - only a known source is left out
        return found

    def _read(self, location: Location, options: SourceOptions, known: SourceRecord | None) -> LoadedSource | None:
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

    def _cache_folder(self, kind: str, root: str) -> Path:
        """What was fetched from a source before; in a dry run, a copy of it."""
        folder = source_folder(self.engine.settings.book_dir, kind, root)
        if not self.dry_run:
            return folder
        copy = Path(self.stack.enter_context(TemporaryDirectory(prefix="glossator-plan-"))) / folder.name
        if folder.exists():
            shutil.copytree(folder, copy, symlinks=True)
        return copy

    def _policy(self, options: SourceOptions) -> FetchPolicy:
        from glossator.ingest.fetch.client import FetchPolicy

        seconds = self.engine.settings.fetch_minutes * 60
        return FetchPolicy(bool(options.allow_private), self._max_bytes(), total_seconds=seconds)

    def _folder(self, location: Location, options: SourceOptions, _known: SourceRecord | None) -> LoadedSource:
        from glossator.ingest.git.command import unignored_files

        files = FileFilter(options.include or (), options.exclude or (), unignored_files(Path(location.root)))
        return LoadedSource(
            self._contents(location.path or location.root, options, files), options, Path(location.root)
        )

    def _contents(self, folder: str, options: SourceOptions, files: FileFilter) -> SourceContents:
        layout = options.layout or Layout.AUTO
        versions = options.versions or ()
        return read_source(folder, options.base_url, self._max_bytes(), layout, options.snippets, files, versions)

    def _site(self, location: Location, options: SourceOptions, _known: SourceRecord | None) -> LoadedSource:
        from glossator.ingest.site.read import SiteRequest, read_site

        if options.layout or options.snippets:
            raise BadInput("A live site cannot have a layout or included files.", "Remove --layout and --snippets.")
        settings = self.engine.settings
        policy = self._policy(options)
        files = FileFilter(options.include or (), options.exclude or ())
        request = SiteRequest(
            location.root, options.base_url, policy, settings.max_pages, files, options.versions or ()
        )
        cache = PageCache(self._cache_folder("sites", location.root))
        return LoadedSource(read_site(request, cache, self.progress), options, None)

    def _git(self, location: Location, options: SourceOptions, known: SourceRecord | None) -> LoadedSource | None:
        from glossator.ingest.git.remote import checked_remote
        from glossator.ingest.git.repository import Repository

        settings = self.engine.settings
        repository = Repository(self._cache_folder("git", location.root), settings.fetch_minutes * 60)
        ref, _, below = (options.ref or "").partition(":")
        with ExitStack() as stack:
            busy = IngestRunning(f"Another ingest is reading {location.root}.", "Wait until it has finished.")
            stack.enter_context(file_lock(repository.folder / "lock", busy))
            commit = repository.fetch(checked_remote(_git_url(location), self._policy(options)), ref)
            revision = f"{commit}-{READER_VERSION}"
            if known and known.revision == revision and options == merged_options(SourceOptions(), known):
                return None
            skipped = repository.write(commit, self._max_bytes())
            folder = _folder_of(repository.files, below)
            files = FileFilter(options.include or (), options.exclude or ())
            contents = self._contents(str(folder), options, files)
            self.stack.push(stack.pop_all())  # nobody may change the files while the index is being built
        return LoadedSource(_of_repository(contents, skipped, folder, location.root), options, folder, revision)


def _folder_of(files: Path, name: str) -> Path:
    """A folder of a repository."""
    folder = files / name.strip("/")
    if not (folder.is_dir() and is_inside(folder, files)):
        raise SourceError(f"The repository has no folder {name!r}.", "Check what follows the colon.")
    return folder


def _git_url(location: Location) -> str:
    return location.root if is_url(location.root) else Path(location.root).as_uri()


def _of_repository(contents: SourceContents, skipped: Sequence[SkippedFile], folder: Path, root: str) -> SourceContents:
    """The contents with names of files as the repository has them; without a title, its name is that of the URL."""
    inside = f"{folder}{os.sep}"
    own = tuple(replace(skip, path=skip.path.removeprefix(inside)) for skip in contents.skipped)
    name = contents.name
    if name == folder.name:
        name = clean_name(re.split(r"[/:]", root.rstrip("/"))[-1].removesuffix(".git")) or name
    return replace(contents, name=name, skipped=(*skipped, *own))


def golden_questions(root: Path) -> tuple[str, ...]:
    """The short answerable questions of a source's own golden file, if it has one."""
    path = root / GOLDEN_FILE
    if not (path.is_file() and is_inside(path, root) and path.stat().st_size <= MAX_GOLDEN_BYTES):
        return ()
    with suppress(SourceError):
        found = (one.question for one in load_golden(path) if one.kind == "answerable" and one.question.endswith("?"))
        return tuple(question for question in found if len(question) <= MAX_EXAMPLE_CHARACTERS)[:MAX_GOLDEN]
    return ()
