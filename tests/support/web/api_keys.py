"""Key stores, hostile credentials and damaged key files for tests."""

from __future__ import annotations

import base64
import json
import re
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest

from commands import quick_folder
from glossator.core.errors import Unauthorized
from glossator.serve.auth.callers import Scope
from glossator.serve.auth.keys import KeyStore

READ, WRITE, ADMIN = Scope.READ, Scope.WRITE, Scope.ADMIN
SITE = "https://docs.example.org"
SHAPE = re.compile(r"gl_([0-9a-f]{16})_([0-9a-f]{64})")
HOSTILE_TEXTS = [
    "",
    " ",
    "gl_",
    "gl__",
    "gl_" + "0" * 16 + "_" + "0" * 64,
    "gl_" + "a" * 1_000_000,
    "a" * 1_000_000,
    "a." * 500_000,
    "..",
    "a.b.c",
    "\0",
    "gl_\0_\0",
    "gl_" + "٠" * 16 + "_" + "٠" * 64,
    "schlüssel",
    "\ud800",
    "gl_\udfff_x",
    "a.\ud800.c",
    "line\nfeed",
    "\r\nX-Header: 1",
    "e30.e30.",
    "e30.e30.e30",
    base64.urlsafe_b64encode(b"[" * 2000).decode() + ".e30.e30",
]


@pytest.fixture
def path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder / "data" / "keys.json"


@pytest.fixture
def store(path: Path) -> KeyStore:
    return KeyStore(path)


@pytest.fixture
def watchful_store(path: Path) -> KeyStore:
    """Checks its file with every call."""
    return KeyStore(path, check_interval_seconds=0)


@pytest.fixture
def closed_store(store: KeyStore) -> KeyStore:
    store.create("one", [ADMIN])
    return store


def id_of(key: str) -> str:
    found = SHAPE.fullmatch(key)
    assert found
    return found[1]


def is_rejected(store: KeyStore, credential: str, origin: str | None = None) -> bool:
    """Whether a credential is rejected, with the one error that reveals nothing."""
    with pytest.raises(Unauthorized) as caught:
        store.authenticate(credential, origin)
    return str(caught.value) == "A valid API key is required. Send it as `Authorization: Bearer KEY`."


def read_file(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def change_file(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(read_file(path) | changes), "utf-8")


def error_text(error: BaseException) -> str:
    """Everything that a log could show of an error and its causes."""
    chain: list[BaseException] = []
    each: BaseException | None = error
    while each is not None:
        chain.append(each)
        each = each.__cause__ or each.__context__
    texts = [f"{link!r} {link} {link.args} {vars(link)}" for link in chain]
    return "\n".join([*texts, *traceback.format_exception(error)])


def sign(claims: dict[str, Any], secret: str, algorithm: str = "HS256") -> str:
    now = int(time.time())
    whole = {"aud": SITE, "iat": now, "exp": now + 600} | claims
    return jwt.encode({name: value for name, value in whole.items() if value is not None}, secret, algorithm)


def damaged_files(good: dict[str, Any]) -> dict[str, bytes]:
    (entry,) = good["keys"]

    def file(**changes: object) -> bytes:
        return json.dumps(good | changes).encode()

    def key(**changes: object) -> bytes:
        return file(keys=[entry | changes])

    return {
        "nothing": b"",
        "truncated": file()[:-20],
        "NUL": b"\0" * 500,
        "not text": b"\xff\xfe\xfa",
        "null": b"null",
        "a list": b"[]",
        "an empty object": b"{}",
        "deep": b"[" * 100_000,
        "no keys": json.dumps({"format": 1, "secret": good["secret"]}).encode(),
        "a number as a key": file(keys=[1]),
        "keys as an object": file(keys={}),
        "a short secret": file(secret="abc"),  # noqa: S106 - not a real secret
        "an empty secret": file(secret=""),
        "no secret": file(secret=None),
        "the same key twice": file(keys=[entry, entry]),
        "an unknown field": file(more=1),
        "an unknown field of a key": key(revoked=True),
        "a short id": key(id="abc"),
        "a malformed hash": key(hash="x" * 64),
        "a hash with a line feed": key(hash=entry["hash"] + "\n"),
        "no scopes": key(scopes=[]),
        "an unknown scope": key(scopes=["root"]),
        "a user with a control character": key(user="a\nb"),
        "a user that is a number": key(user=5),
        "a lone surrogate": key(user="\ud800"),
        "a malformed time": key(expires="soon"),
        "a time without a zone": key(expires="2099-01-01T00:00:00"),
        "a format that is not a number": file(format="one"),
    }


EXAMPLE_KEY = {"id": "0" * 16, "name": "n", "scopes": ["read"], "user": None, "hash": "0" * 64}
EXAMPLE_KEY |= {"created": "2026-01-01T00:00:00Z", "expires": None}
DAMAGED_FILES = damaged_files({"format": 1, "secret": "0" * 64, "keys": [EXAMPLE_KEY]})
