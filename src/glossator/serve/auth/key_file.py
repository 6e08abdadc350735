"""The key file: its format, validation, and detection of changes."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, with_config

from glossator.core.errors import KeyFileUnreadable
from glossator.serve.auth.callers import Scope

FORMAT: Final = 1

Text = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\p{Cc}\p{Zl}\p{Zp}]+$")]
Stamp = tuple[int, ...]
"""What changes when a file is written: its mode, device, inode, size and times."""
_Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


@with_config(ConfigDict(extra="forbid", strict=True))
@dataclass(frozen=True, slots=True)
class Key:
    """A key as it is stored: its SHA-256, never the key itself."""

    id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
    name: Text
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1)]
    user: Text | None
    created: AwareDatetime
    expires: AwareDatetime | None
    hash: _Hash = field(repr=False)

    @property
    def expired(self) -> bool:
        return self.expires is not None and self.expires <= datetime.now(UTC)


@with_config(ConfigDict(extra="forbid", strict=True))
@dataclass(frozen=True, slots=True)
class KeyFile:
    """The contents of the file; `secret` signs tokens, so anyone who can read the file can create them."""

    format: Literal[1]
    secret: _Hash = field(repr=False)
    keys: tuple[Key, ...]

    def dump(self) -> bytes:
        return _KEY_FILE.dump_json(self, indent=1)


@dataclass(frozen=True, slots=True)
class _Version:
    format: int


_KEY_FILE: TypeAdapter[KeyFile] = TypeAdapter(KeyFile)
_VERSION: TypeAdapter[_Version] = TypeAdapter(_Version)


def read_key_file(path: Path) -> tuple[KeyFile | None, Stamp | None]:
    """The contents of the file and the stamp of that version; (None, None) if there is no file."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            raw = file.read()
    except FileNotFoundError:
        if path.is_symlink():
            raise KeyFileUnreadable(
                f"{path} is a broken symbolic link.", "Restore its target, or delete the link."
            ) from None
        return None, None
    except OSError as error:
        raise _unreadable(path, error) from None
    return _parse(raw, path), _stamp_of(status)


def stamp(path: Path) -> Stamp | None:
    """The stamp of the file as it is now; None if there is no file."""
    try:
        return _stamp_of(path.stat())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from None


def _stamp_of(status: os.stat_result) -> Stamp:
    return (status.st_mode, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _unreadable(path: Path, error: OSError) -> KeyFileUnreadable:
    return KeyFileUnreadable(f"{path} cannot be read ({error.strerror}).", "Check its permissions.")


def _parse(raw: bytes, path: Path) -> KeyFile:
    """Errors are raised outside of `except`: a chained validation error would contain the file's text."""
    with suppress(ValidationError):
        contents = _KEY_FILE.validate_json(raw)
        if len({key.id for key in contents.keys}) == len(contents.keys):
            return contents
    version = None
    with suppress(ValidationError):
        version = _VERSION.validate_json(raw).format
    if version not in (None, FORMAT):
        raise KeyFileUnreadable(f"{path} was written by another version of Glossator.", "Use that version.")
    raise KeyFileUnreadable(
        f"{path} is damaged.",
        "Restore it from a backup, or stop the server, delete the file and create new keys before you restart it.",
    )
