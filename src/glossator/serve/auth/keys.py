"""Who may ask: API keys in one file, and short-lived tokens for a widget on somebody's page."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AwareDatetime, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, with_config

from glossator.core.errors import BadInput, Forbidden, KeysDamaged, Unauthorized
from glossator.core.files import locked, write

KEYS_FILE = "keys.json"
CHECK_EVERY = 1.0
"""Seconds between two looks at the file: so long may a revoked key go on."""
MOST_DAYS = 3650
SECONDS_AT_LEAST, SECONDS_AT_MOST = 60, 3600
_FORMAT: Final = 1
_LONGEST = 4096
"""Characters of a key or token; what is longer is not looked at."""
_NO_HASH = "0" * 64
_KEY = re.compile(r"gl_([0-9a-f]{16})_[0-9a-f]{64}")
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_ORIGIN = re.compile(r"(https?)://((?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}|\[[0-9a-f:.]{2,45}\])(?::([0-9]{1,5}))?")
_PORTS = {"http": 80, "https": 443}
_log = logging.getLogger(__name__)

_Text = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\p{Cc}\p{Zl}\p{Zp}]+$")]
_Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_Stamp = tuple[int, ...]


class Scope(StrEnum):
    """What a caller may do; each includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


_GRANTED_BY = {scope: frozenset(list(Scope)[place:]) for place, scope in enumerate(Scope)}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: `name` is a key's id, `widget`, or `open` where no key is needed."""

    name: str
    user_id: str | None
    scopes: frozenset[Scope]

    def may(self, scope: Scope) -> bool:
        """Whether this scope was granted, or one that includes it."""
        return bool(self.scopes & _GRANTED_BY[scope])

    def need(self, scope: Scope) -> None:
        """Refuse a caller without this scope."""
        if not self.may(scope):
            raise Forbidden(f"This needs the scope `{scope}`.", "Use a key that has it.")


_ANYBODY = Caller("open", None, frozenset(Scope))


@with_config(ConfigDict(extra="forbid", strict=True))
@dataclass(frozen=True, slots=True)
class Key:
    """A key as the file knows it, which is not enough to use it."""

    id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
    name: _Text
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1)]
    user: _Text | None
    created: AwareDatetime
    expires: AwareDatetime | None
    hash: _Hash = field(repr=False)

    @property
    def expired(self) -> bool:
        return self.expires is not None and self.expires <= datetime.now(UTC)


@with_config(ConfigDict(extra="forbid", strict=True))
@dataclass(frozen=True, slots=True)
class _Contents:
    """What the file holds; `secret` signs tokens, so whoever reads the file can make them."""

    format: Literal[1]
    secret: _Hash = field(repr=False)
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class _Version:
    format: int


_CONTENTS: TypeAdapter[_Contents] = TypeAdapter(_Contents)
_VERSION: TypeAdapter[_Version] = TypeAdapter(_Version)
_TEXT: TypeAdapter[str] = TypeAdapter(_Text)


class KeyRing:
    """The keys of a data directory, kept in one file that must stay secret.

    Of a key the file holds no more than its SHA-256. No slow hash is needed: those make up for passwords that people
    choose, and 256 random bits cannot be guessed however fast a guess is, while every request would pay for one.

    Without any key everybody may do everything; the first key ends that. From then on only a good file with keys is
    believed: should it be damaged, emptied or lost while this object lives, the keys seen last stay in force.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._contents: _Contents | None = None
        self._stamp: _Stamp | None = None
        self._closed = False
        self._trouble = ""
        self._checked = time.monotonic()
        self._swapping = threading.Lock()
        self._take(*_read(path))

    @property
    def is_open(self) -> bool:
        """Whether there is no key, so that everybody may do everything."""
        self._refresh()
        return not self._closed

    def all(self) -> tuple[Key, ...]:
        """Every key, the oldest first."""
        self._refresh()
        return self._contents.keys if self._contents else ()

    def create(
        self, name: str, scopes: Iterable[Scope | str], user: str | None = None, days: float | None = None
    ) -> str:
        """A new key, which nothing can show again."""
        key_id = secrets.token_hex(8)
        key = f"gl_{key_id}_{secrets.token_hex(32)}"
        created = datetime.now(UTC).replace(microsecond=0)
        made = Key(
            key_id,
            _checked_text(name, "name"),
            _checked_scopes(scopes),
            None if user is None else _checked_text(user, "user"),
            created,
            None if days is None else created + _checked_days(days),
            _hashed(key),
        )
        self._change(lambda contents: replace(contents, keys=(*contents.keys, made)))
        return key

    def revoke(self, key_id: str) -> None:
        """Make a key worthless; not the last one, for without keys the door stands open."""

        def without(contents: _Contents) -> _Contents:
            kept = tuple(key for key in contents.keys if key.id != key_id)
            if len(kept) == len(contents.keys):
                # What was given is not repeated: it may be a whole key.
                raise BadInput("No key has this id.", "`glossator keys list` shows them.")
            if not kept:
                raise BadInput(
                    "This is the last key; without any, everybody may do everything.",
                    f"Create another first, or stop the server and delete {self.path} to open it.",
                )
            return replace(contents, keys=kept)

        self._change(without)

    def rotate(self) -> None:
        """Make every token worthless by replacing the secret that signed them."""
        self._refresh()
        if self._contents is None:
            raise BadInput("There are no keys and no tokens yet.", "`glossator keys create NAME` makes a key.")
        self._change(lambda contents: replace(contents, secret=secrets.token_hex(32)))

    def token(self, origin: str, user: str | None = None, seconds: int = 900) -> str:
        """A token to read and write with from pages of one web origin, for some minutes."""
        import jwt

        claims: dict[str, Any] = {"aud": web_origin(origin)}
        if user is not None:
            claims["sub"] = _checked_text(user, "user")
        if not SECONDS_AT_LEAST <= seconds <= SECONDS_AT_MOST:
            raise BadInput(
                "A token cannot last so long or so short.",
                f"Give from {SECONDS_AT_LEAST} to {SECONDS_AT_MOST} seconds.",
            )
        self._refresh()
        contents = self._contents or self._change(lambda fresh: fresh)
        claims["iat"] = int(time.time())
        claims["exp"] = claims["iat"] + int(seconds)
        return jwt.encode(claims, contents.secret, algorithm="HS256")

    def caller(self, presented: str, origin: str | None) -> Caller:
        """Who presents this key or token; `origin` is the request's Origin header."""
        self._refresh()
        if not self._closed:
            return _ANYBODY
        found = _found(self._contents, presented, origin) if self._contents and len(presented) <= _LONGEST else None
        if found is None:
            raise Unauthorized("A valid key is needed.", "Send it as `Authorization: Bearer KEY`.")
        return found

    def _refresh(self) -> None:
        """Look whether the file has changed, if nobody did within the last second."""
        if time.monotonic() - self._checked < CHECK_EVERY:
            return
        with self._swapping:
            self._checked = time.monotonic()
            try:
                if _stamp_at(self.path) != self._stamp:
                    self._take(*_read(self.path))
            except KeysDamaged as error:
                self._distrust(str(error))

    def _take(self, contents: _Contents | None, stamp: _Stamp | None) -> None:
        if self._closed and not (contents and contents.keys):
            raise KeysDamaged(
                f"{self.path} {'holds no keys any more' if contents else 'is gone'}.",
                "Restore it from a backup; to begin without keys, restart.",
            )
        if stamp and stamp != self._stamp and stamp[0] & 0o077:
            _log.warning("Others can use %s, which signs tokens. Run `chmod 600` on it.", self.path)
        self._contents, self._stamp, self._trouble = contents, stamp, ""
        self._closed = bool(contents and contents.keys)

    def _distrust(self, trouble: str) -> None:
        """Shut the door; the stamp stays that of the last good file, so that the next look reads again."""
        self._closed = True
        if trouble != self._trouble:
            _log.error("%s Until then the keys seen last stay in force.", trouble)
        self._trouble = trouble

    def _change(self, change: Callable[[_Contents], _Contents]) -> _Contents:
        """Change the file as it is now, whoever wrote it last; nobody else can meanwhile."""
        with locked(self.path):
            contents, stamp = _read(self.path)
            with self._swapping:
                self._take(contents, stamp)
            changed = change(contents or _Contents(_FORMAT, secrets.token_hex(32), ()))
            write(self.path, _CONTENTS.dump_json(changed, indent=1))
            with self._swapping:
                self._take(changed, _stamp_at(self.path))
        return changed


def web_origin(text: str) -> str:
    """An origin as browsers write it in the Origin header: scheme, host, and the port where it is not the usual one."""
    found = _ORIGIN.fullmatch(text.lower()) if len(text) <= 300 and text.isascii() else None
    host = _checked_host(found[2]) if found else None
    port = int(found[3] or _PORTS[found[1]]) if found else 0
    if not found or not host or not 0 < port <= 65535:
        raise BadInput(
            "This is not the origin of a web page.", "Write https://host or https://host:port, without a path."
        )
    return f"{found[1]}://{host}" + ("" if port == _PORTS[found[1]] else f":{port}")


def _checked_host(host: str) -> str | None:
    if not host.startswith("["):
        return host if len(host) <= 253 else None
    try:
        return f"[{ipaddress.IPv6Address(host[1:-1])}]"
    except ValueError:
        return None


def _found(contents: _Contents, presented: str, origin: str | None) -> Caller | None:
    if presented.startswith("gl_"):
        return _key_caller(contents.keys, presented)
    return _token_caller(contents.secret, presented, origin)


def _key_caller(keys: Iterable[Key], presented: str) -> Caller | None:
    """The same work is done whether the id exists or not: how long it takes tells nothing."""
    shape = _KEY.fullmatch(presented)
    if not shape:
        return None
    key = {key.id: key for key in keys}.get(shape[1])
    same = hmac.compare_digest(_hashed(presented), key.hash if key else _NO_HASH)
    return Caller(key.id, key.user, _including(key.scopes)) if same and key and not key.expired else None


def _token_caller(secret: str, presented: str, origin: str | None) -> Caller | None:
    import jwt

    if not origin or not _TOKEN.fullmatch(presented):
        return None
    try:
        claims = jwt.decode(
            presented,
            secret,
            algorithms=["HS256"],
            audience=origin,
            options={"require": ["exp", "iat", "aud"], "strict_aud": True},
        )
    except jwt.PyJWTError:
        return None
    return Caller("widget", claims.get("sub"), _including([Scope.WRITE]))


def _including(scopes: Iterable[Scope]) -> frozenset[Scope]:
    """The scopes with all that they include."""
    given = frozenset(scopes)
    return frozenset(scope for scope in Scope if given & _GRANTED_BY[scope])


def _hashed(key: str) -> str:
    return hashlib.sha256(key.encode("ascii")).hexdigest()


def _checked_text(text: str, what: str) -> str:
    with suppress(ValidationError):
        return _TEXT.validate_python(text, strict=True)
    raise BadInput(f"The {what} is not a text of 1 to 200 characters.", "Shorten it, and leave out control characters.")


def _checked_scopes(scopes: Iterable[Scope | str]) -> tuple[Scope, ...]:
    given = set(scopes)
    if not given or not given <= set(Scope):
        raise BadInput("These are no scopes.", f"Give some of {', '.join(Scope)}.")
    return tuple(scope for scope in Scope if scope in given)


def _checked_days(days: float) -> timedelta:
    if not 0 < days <= MOST_DAYS:
        raise BadInput("A key cannot last so many days.", f"Give a number up to {MOST_DAYS}, or none for ever.")
    return timedelta(days=days)


def _stamp_at(path: Path) -> _Stamp | None:
    try:
        return _stamp_of(path.stat())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from None


def _stamp_of(status: os.stat_result) -> _Stamp:
    return (status.st_mode, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _read(path: Path) -> tuple[_Contents | None, _Stamp | None]:
    """What the file holds, and the stamp of that state; nothing where there is no file."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            raw = file.read()
    except FileNotFoundError:
        if path.is_symlink():
            raise KeysDamaged(f"{path} is a link that leads nowhere.", "Restore its file, or delete it.") from None
        return None, None
    except OSError as error:
        raise _unreadable(path, error) from None
    return _parsed(raw, path), _stamp_of(status)


def _unreadable(path: Path, error: OSError) -> KeysDamaged:
    return KeysDamaged(f"{path} cannot be read ({error.strerror}).", "Check its permissions.")


def _parsed(raw: bytes, path: Path) -> _Contents:
    """Errors are raised outside of `except`, so that none drags along one that holds the file's text."""
    with suppress(ValidationError):
        contents = _CONTENTS.validate_json(raw)
        if len({key.id for key in contents.keys}) == len(contents.keys):
            return contents
    version = None
    with suppress(ValidationError):
        version = _VERSION.validate_json(raw).format
    if version not in (None, _FORMAT):
        raise KeysDamaged(f"{path} was made by another version of Glossator.", "Use that version.")
    raise KeysDamaged(
        f"{path} is damaged.",
        "Restore it from a backup, or stop the server, delete the file and create new keys before it starts again.",
    )
