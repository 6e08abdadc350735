"""Reads files, with a clear error for every file that cannot be used."""

from __future__ import annotations

from pathlib import Path

from glossator.core.errors import SourceError

_MAX_PEEK_BYTES = 1_000_000
_UTF16_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


def file_too_large(max_bytes: int) -> SourceError:
    """The error for a file over the limit."""
    return SourceError(
        f"the file is larger than the limit of {max_bytes / 1e6:.0f} MB.", "Split it, or raise GLOSSATOR_MAX_FILE_MB."
    )


def check_size(path: Path, max_bytes: int) -> None:
    """Reject a file that is too large or not a regular file."""
    try:
        if path.stat().st_size > max_bytes:
            raise file_too_large(max_bytes)
        if not path.is_file():
            raise SourceError("this is not a regular file.")
    except OSError as error:
        raise _unreadable(error) from None


def _unreadable(error: OSError) -> SourceError:
    return SourceError(f"the file cannot be read ({error.strerror}).", "Check its permissions.")


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """The content of a file; a SourceError if it is too large or cannot be read."""
    check_size(path, max_bytes)
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(error) from None


def read_text(path: Path, max_bytes: int) -> str:
    """The text of a file; a SourceError if it is too large, binary or not UTF-8 or UTF-16."""
    data = read_bytes(path, max_bytes)
    if b"\x00" in data[:8192] and not data.startswith(_UTF16_BYTE_ORDER_MARKS):
        raise SourceError("this is a binary file, not text.")
    try:
        return data.decode("utf-16" if data.startswith(_UTF16_BYTE_ORDER_MARKS) else "utf-8-sig").replace("\x00", "")
    except UnicodeDecodeError as error:
        raise SourceError(f"the file is not UTF-8 text (byte {error.start}).", "Save it as UTF-8.") from None


def peek(path: Path) -> str:
    """The beginning of a configuration file or page; empty if it cannot be read."""
    if not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_PEEK_BYTES).decode("utf-8-sig", "replace")
    except OSError:
        return ""


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path exists in a folder, with all links followed."""
    try:
        return path.resolve(strict=True).is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


def well_formed(text: str) -> str:
    """Text that can be encoded: pairs of surrogates are joined, lone ones replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
