"""Files become text, or a reason why not."""

from __future__ import annotations

from pathlib import Path

from glossator.core.errors import SourceError

_PEEK = 1_000_000
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_text(path: Path, max_bytes: int) -> str:
    """The text of a file that is neither too big nor binary nor broken."""
    try:
        size = path.stat().st_size
        if size > max_bytes:
            raise SourceError(
                f"it has {size / 1e6:.0f} MB, more than the limit of {max_bytes / 1e6:.0f} MB.",
                "Split it, or raise GLOSSATOR_MAX_FILE_MB.",
            )
        if not path.is_file():
            raise SourceError("it is not a regular file.")
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"it cannot be read ({error.strerror}).", "Check its permissions.") from None
    if b"\x00" in data[:8192] and not data.startswith(_UTF16):
        raise SourceError("it is a binary file, not text.")
    try:
        return data.decode("utf-16" if data.startswith(_UTF16) else "utf-8-sig").replace("\x00", "")
    except UnicodeDecodeError as error:
        raise SourceError(f"it is not UTF-8 text (byte {error.start}).", "Save it as UTF-8.") from None


def peek(path: Path) -> str:
    """The beginning of a file that says how others are to be read; empty if it cannot be read."""
    if not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            return file.read(_PEEK).decode("utf-8-sig", "replace")
    except OSError:
        return ""


def well_formed(text: str) -> str:
    """Text that can be stored: halves of a character are joined, or replaced where one stands alone."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
