"""API keys and widget tokens: created, listed, revoked and checked."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from glossator.core.errors import BadInput, KeyFileUnreadable, StorageError, Unauthorized
from glossator.core.files import file_lock, write_atomically
from glossator.serve.auth.callers import ANYONE, MAX_KEY_DAYS, Caller, Scope, expand
from glossator.serve.auth.key_file import FORMAT, Key, KeyFile, Stamp, Text, read_key_file, stamp
from glossator.serve.auth.tokens import sign_token, token_caller, token_claims

KEYS_FILE = "keys.json"
_MAX_CREDENTIAL_CHARACTERS = 4096
_KEY = re.compile(r"gl_([0-9a-f]{16})_[0-9a-f]{64}")
_NO_HASH = "0" * 64
_TEXT: TypeAdapter[str] = TypeAdapter(Text)
_log = logging.getLogger(__name__)


class KeyStore:
    """The API keys of a data directory, in one file that must stay secret.

    The file holds the SHA-256 of each key. A slow hash is not needed: it protects passwords that people choose, while
    256 random bits cannot be guessed at any speed, and every request would pay for it.

    Without keys the server is open to anyone; the first key closes it. A closed server never opens again while it
    runs: if the file is damaged, emptied or deleted, the last known keys remain valid and every change is refused
    until the file is restored.
    """

    def __init__(self, path: Path, *, check_interval_seconds: float = 1.0, lock_timeout_seconds: float = 10.0) -> None:
        """`check_interval_seconds` is how long a running server may go on accepting a key that was revoked."""
        self.path = path
        self._check_interval_seconds = check_interval_seconds
        self._lock_timeout_seconds = lock_timeout_seconds
        self._file: KeyFile | None = None
        self._stamp: Stamp | None = None
        self._problem = ""
        """Why the file can no longer be trusted; empty while it can."""
        self._checked_at = time.monotonic()
        self._lock = threading.Lock()
        self._accept(*read_key_file(path))

    @property
    def is_open(self) -> bool:
        """Whether there are no keys, so that anyone may use the server."""
        self._refresh()
        return not self._closed

    @property
    def _closed(self) -> bool:
        return bool(self._problem or (self._file and self._file.keys))

    def list_keys(self) -> tuple[Key, ...]:
        """All keys, the oldest first."""
        self._refresh()
        return self._file.keys if self._file else ()

    def create(
        self, name: str, scopes: Iterable[Scope | str], user: str | None = None, days: float | None = None
    ) -> str:
        """A new key; this is the only time it can be shown."""
        key_id = secrets.token_hex(8)
        key = f"gl_{key_id}_{secrets.token_hex(32)}"
        created = datetime.now(UTC).replace(microsecond=0)
        stored = Key(
            key_id,
            _checked_text(name, "name"),
            _checked_scopes(scopes),
            None if user is None else _checked_text(user, "user"),
            created,
            None if days is None else created + _checked_days(days),
            _hash(key),
        )
        self._change(lambda file: _with_key(file, stored))
        return key

    def revoke(self, key_id: str) -> None:
        """Revoke a key; never the last one, as the server would then be open to anyone."""

        def without(file: KeyFile) -> KeyFile:
            remaining = tuple(key for key in file.keys if key.id != key_id)
            if len(remaining) == len(file.keys):
                # The argument is not repeated: it may be a whole key.
                raise BadInput("Unknown key id.", "Run `glossator keys list` to see the ids.")
            if not remaining:
                raise BadInput(
                    "This is the last key; without keys, anyone may use the server.",
                    f"Create another key first, or stop the server and delete {self.path} to run it without keys.",
                )
            return replace(file, keys=remaining)

        self._change(without)

    def rotate_secret(self) -> None:
        """Invalidate every token by replacing the secret that signs them."""
        self._refresh()
        if self._file is None:
            raise BadInput("There are no keys or tokens yet.", "Create a key with `glossator keys create NAME`.")
        self._change(lambda file: replace(file, secret=secrets.token_hex(32)))

    def create_token(
        self, origin: str, user: str | None = None, seconds: int = 900, *, issuer: str | None = None, book: str = ""
    ) -> str:
        """A token to read and write in one book with, from pages of one web origin.

        `issuer` is the id of the key that it ends with.
        """
        claims = token_claims(origin, None if user is None else _checked_text(user, "user"), seconds, issuer, book)
        self._refresh()
        return sign_token(claims, self._file.secret if self._file else self._first_secret())

    def _first_secret(self) -> str:
        """The secret of an open server, created for its first token; unless another process has just closed it."""
        file = self._change(lambda new: new)
        if file.keys:
            raise _unauthorized()
        return file.secret

    def authenticate(self, credential: str, origin: str | None, book: str = "") -> Caller:
        """The caller that this key or token belongs to; `origin` is the request's Origin header, `book` its book."""
        self._refresh()
        if not self._closed:
            return ANYONE
        caller = None
        if self._file and len(credential) <= _MAX_CREDENTIAL_CHARACTERS:
            if credential.startswith("gl_"):
                caller = _key_caller(credential, self._file.keys)
            else:
                valid = {key.id for key in self._file.keys if not key.expired}
                caller = token_caller(credential, self._file.secret, origin, valid, book)
        if caller is None:
            raise _unauthorized()
        return caller

    def _refresh(self) -> None:
        """Read the file again if it has changed; checked at most once per interval."""
        if time.monotonic() - self._checked_at < self._check_interval_seconds:
            return
        with self._lock:
            self._checked_at = time.monotonic()
            try:
                if stamp(self.path) != self._stamp:
                    self._accept(*read_key_file(self.path))
            except KeyFileUnreadable as error:
                self._report_problem(str(error))

    def _accept(self, file: KeyFile | None, version: Stamp | None) -> None:
        """Use the keys of a file that was read, unless that would open a closed server."""
        if self._closed and not (file and file.keys):
            raise KeyFileUnreadable(
                f"{self.path} {'no longer contains any keys' if file else 'was deleted'}.",
                "Restore it from a backup, or restart the server to run it without keys.",
            )
        if version and version != self._stamp and version[0] & 0o077:
            _log.warning(
                "Other users can read %s, which holds the secret that signs tokens. Run `chmod 600` on it.", self.path
            )
        self._file, self._stamp, self._problem = file, version, ""

    def _report_problem(self, problem: str) -> None:
        """Close the server, or keep it closed; the old stamp stays, so that the next check reads the file again."""
        if problem != self._problem:
            _log.error("%s Until then, the last known keys remain valid.", problem)
        self._problem = problem

    def _change(self, change: Callable[[KeyFile], KeyFile]) -> KeyFile:
        """Apply a change to the file as it is now, while no other process can write it."""
        busy = StorageError(f"Another process is changing {self.path}.", "Try again.")
        lock = self.path.with_suffix(".lock")
        with file_lock(lock, busy, timeout_seconds=self._lock_timeout_seconds, private=True):
            file, version = read_key_file(self.path)
            with self._lock:
                self._accept(file, version)
            changed = change(file or KeyFile(FORMAT, secrets.token_hex(32), ()))
            write_atomically(self.path, changed.dump(), private=True)
            with self._lock:
                self._accept(changed, stamp(self.path))
        return changed


def _unauthorized() -> Unauthorized:
    return Unauthorized("A valid API key is required.", "Send it as `Authorization: Bearer KEY`.")


def _with_key(file: KeyFile, key: Key) -> KeyFile:
    """The file with one more key; the first one comes with a new secret, as anyone may have created tokens before."""
    secret = file.secret if file.keys else secrets.token_hex(32)
    return replace(file, secret=secret, keys=(*file.keys, key))


def _key_caller(credential: str, keys: Iterable[Key]) -> Caller | None:
    """Unknown ids are compared like known ones, so that the response time reveals nothing."""
    match = _KEY.fullmatch(credential)
    if not match:
        return None
    key = {key.id: key for key in keys}.get(match[1])
    same = hmac.compare_digest(_hash(credential), key.hash if key else _NO_HASH)
    return Caller(key.id, key.user, expand(key.scopes)) if same and key and not key.expired else None


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("ascii")).hexdigest()


def _checked_text(text: str, field: str) -> str:
    with suppress(ValidationError):
        return _TEXT.validate_python(text, strict=True)
    raise BadInput(f"Invalid {field}.", "Use 1 to 200 characters, without control characters.")


def _checked_scopes(scopes: Iterable[Scope | str]) -> tuple[Scope, ...]:
    requested = set(scopes)
    if not requested:
        raise BadInput("No scope given.", f"Use one or more of: {', '.join(Scope)}.")
    if not requested <= set(Scope):
        raise BadInput("Unknown scope.", f"Use one or more of: {', '.join(Scope)}.")
    return tuple(scope for scope in Scope if scope in requested)


def _checked_days(days: float) -> timedelta:
    if not 0 < days <= MAX_KEY_DAYS:
        raise BadInput(
            "Invalid number of days.", f"Use at most {MAX_KEY_DAYS}, or omit it for a key that never expires."
        )
    return timedelta(days=days)
