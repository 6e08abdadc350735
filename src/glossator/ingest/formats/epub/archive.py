"""The archive of an EPUB: its files are read into memory, with limits per file and in total, and never unpacked."""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from glossator.core.errors import SourceError

MAX_FILES = 20_000
MAX_FILE_BYTES, MAX_TOTAL_BYTES = 20_000_000, 200_000_000
"""Of one file and of all files together, unpacked."""

_DAMAGED = (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, ValueError, RuntimeError)


@dataclass(slots=True)
class EpubArchive:
    """An open archive; reading counts against the limit of all files."""

    file: zipfile.ZipFile
    remaining_bytes: int = MAX_TOTAL_BYTES

    def read(self, name: str) -> bytes:
        """A file; a SourceError if it is missing, damaged or too large."""
        limit = min(MAX_FILE_BYTES, self.remaining_bytes)
        try:
            with self.file.open(name) as member:
                data = member.read(limit + 1)
        except KeyError:
            raise SourceError(f"{name} is missing in the EPUB.", "Check that it is not damaged.") from None
        except _DAMAGED:
            raise SourceError(f"{name} in the EPUB is damaged.", "Get an undamaged copy.") from None
        if len(data) > limit:
            raise SourceError(
                f"{name} is larger than {MAX_FILE_BYTES / 1e6:.0f} MB unpacked, or all files together are larger than"
                f" {MAX_TOTAL_BYTES / 1e6:.0f} MB.",
                "Split the book.",
            )
        self.remaining_bytes -= len(data)
        return data

    def has(self, name: str) -> bool:
        return name in self.file.NameToInfo


def open_archive(path: Path) -> EpubArchive:
    """The archive at a path; a SourceError if it is none."""
    try:
        file = zipfile.ZipFile(path)
    except _DAMAGED:
        raise SourceError("this is not an EPUB: it is not a ZIP archive.", "Check that it is not damaged.") from None
    if len(file.infolist()) > MAX_FILES:
        raise SourceError(f"the EPUB has more than {MAX_FILES:,} files.", "Split the book.")
    return EpubArchive(file)


def resolve(base: str, reference: str) -> tuple[str, str]:
    """The file and the fragment that a reference in another file names; no file if it is outside the archive."""
    path, _, fragment = reference.partition("#")
    if "://" in path or path.startswith("/"):
        return "", unquote(fragment)
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(path))) if path else base
    return ("" if joined.startswith("..") else joined), unquote(fragment)
