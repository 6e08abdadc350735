"""A copy of a repository in the data directory: a shallow fetch, and files written without a checkout."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from glossator.core.files import make_private_folder, storage_errors
from glossator.core.types import SkippedFile
from glossator.ingest.files import file_too_large
from glossator.ingest.git.command import MAX_OUTPUT_BYTES, FolderLimit, git, too_large
from glossator.ingest.git.remote import Remote, check_ref

MAX_FILES, MAX_TREE_BYTES = 200_000, 2_000_000_000
MAX_OBJECT_BYTES = 4_000_000_000
"""Of one fetch, as git stores it."""
_BATCH_FILES, _BATCH_BYTES = 1_000, 50_000_000
_HEADER_BYTES = 200
"""More than git writes before each object."""
_REGULAR = frozenset({"100644", "100755"})
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, slots=True)
class _Blob:
    """A file of a commit."""

    name: str
    object_id: str
    size: int


@dataclass(frozen=True, slots=True)
class Repository:
    """The folder of a repository: its objects, and the files of the commit that was written last."""

    folder: Path
    seconds: float

    @property
    def files(self) -> Path:
        return self.folder / "files"

    @property
    def _listing(self) -> Path:
        return self.folder / "listing.json"

    @property
    def _objects(self) -> Path:
        return self.folder / "objects.git"

    def _git(self, *arguments: str, data: bytes = b"", max_bytes: int = MAX_OUTPUT_BYTES) -> bytes:
        return git(["--git-dir", str(self._objects), *arguments], self.seconds, data=data, max_bytes=max_bytes)

    def fetch(self, remote: Remote, ref: str) -> str:
        """Fetch the newest commit of a branch or tag, empty for the default branch; returns its id."""
        with storage_errors(self.folder):
            make_private_folder(self.folder)
            if not (self._objects / "HEAD").exists():
                shutil.rmtree(self._objects, ignore_errors=True)
                git(["init", "--quiet", "--bare", "--template=", "--", str(self._objects)], self.seconds)
            self._remove_leftovers()
        options = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--force")
        refspec = f"{check_ref(ref) or 'HEAD'}:refs/glossator/wanted"
        arguments = ("--git-dir", str(self._objects), "fetch", *options, "--end-of-options", remote.url, refspec)
        try:
            limit = FolderLimit.of_growth(self._objects, MAX_OBJECT_BYTES)
            git(arguments, self.seconds, remote.config, folder=limit)
        except BaseException:
            self._remove_leftovers()
            raise
        return self._git("rev-parse", "--verify", "refs/glossator/wanted^{commit}").decode("ascii").strip()

    def _remove_leftovers(self) -> None:
        """Delete locks and unfinished objects of a git that was killed: nobody else is here."""
        for pattern in ("*.lock", "tmp_*"):
            for path in self._objects.rglob(pattern):
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    def write(self, commit: str, max_bytes: int) -> tuple[SkippedFile, ...]:
        """Write the files of a commit that are not there already, and delete those that are gone."""
        skipped: list[SkippedFile] = []
        wanted = {blob.name: blob for blob in self._blobs(commit, max_bytes, skipped)}
        before = self._written()
        with storage_errors(self.folder):
            self._listing.unlink(missing_ok=True)  # until all is written again, nothing is known
            if before is None:
                shutil.rmtree(self.files, ignore_errors=True)
            for name in (before or {}).keys() - wanted.keys():
                (self.files / name).unlink(missing_ok=True)
                self._remove_empty((self.files / name).parent)
            self.files.mkdir(exist_ok=True)
            changed = [blob for blob in wanted.values() if (before or {}).get(blob.name) != blob.object_id]
            written = {name: blob.object_id for name, blob in wanted.items()}
            for blob, content in self._contents(changed):
                if content.startswith(_LFS_POINTER):
                    skipped.append(SkippedFile(blob.name, "it is stored in Git LFS, which is not supported."))
                    del written[blob.name]  # so that it is reported every time
                else:
                    self._write_file(blob.name, content)
            self._listing.write_text(json.dumps(written), "utf-8")
        return tuple(skipped)

    def _written(self) -> Mapping[str, str] | None:
        """The object ids of the files that are there, by name; None if that is not known."""
        with suppress(OSError, ValueError):
            listing = json.loads(self._listing.read_text("utf-8"))
            return listing if isinstance(listing, dict) else None
        return None

    def _remove_empty(self, folder: Path) -> None:
        with suppress(OSError):
            while folder != self.files:
                folder.rmdir()
                folder = folder.parent

    def _write_file(self, name: str, content: bytes) -> None:
        path = self.files / name
        for folder in (path, *path.parents):  # a file that has become a folder, or the other way round
            if folder == self.files:
                break
            if folder != path and folder.exists() and not folder.is_dir():
                folder.unlink()
            elif folder == path and folder.is_dir():
                shutil.rmtree(folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def _blobs(self, commit: str, max_bytes: int, skipped: list[SkippedFile]) -> Iterator[_Blob]:
        """The regular files of a commit; links and submodules are not followed, and no name leaves the folder."""
        count = total = 0
        for line in self._git("ls-tree", "-r", "-l", "-z", "--full-tree", commit).split(b"\0"):
            meta, _, raw = line.partition(b"\t")
            if not meta:
                continue
            mode, _, object_id, size = meta.decode("ascii").split()
            name = raw.decode("utf-8", "surrogateescape")
            if mode not in _REGULAR or not _is_safe(name):
                continue
            if int(size) > max_bytes:
                skipped.append(SkippedFile(name, str(file_too_large(max_bytes))))
                continue
            count, total = count + 1, total + int(size)
            if count > MAX_FILES or total > MAX_TREE_BYTES:
                raise too_large()
            yield _Blob(name, object_id, int(size))

    def _contents(self, blobs: Sequence[_Blob]) -> Iterator[tuple[_Blob, bytes]]:
        for batch in _batches(blobs):
            names = "".join(f"{blob.object_id}\n" for blob in batch).encode("ascii")
            size = sum(blob.size + _HEADER_BYTES for blob in batch)
            out, at = self._git("cat-file", "--batch", data=names, max_bytes=size), 0
            for blob in batch:
                start = out.index(b"\n", at) + 1
                yield blob, out[start : start + blob.size]
                at = start + blob.size + 1


def _batches(blobs: Sequence[_Blob]) -> Iterator[list[_Blob]]:
    batch: list[_Blob] = []
    size = 0
    for blob in blobs:
        if batch and (len(batch) == _BATCH_FILES or size + blob.size > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(blob)
        size += blob.size
    if batch:
        yield batch


def _is_safe(name: str) -> bool:
    """Whether a name stays inside its folder on every platform, and can be a file there."""
    parts = name.split("/")
    return not any(
        part in ("", ".", "..") or part.lower() == ".git" or "\\" in part or ":" in part or len(os.fsencode(part)) > 255
        for part in parts
    )
