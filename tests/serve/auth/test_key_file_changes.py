"""Changes of the key file while a server runs: picked up, but never to open a closed server."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api_keys import (
    DAMAGED_FILES,
    READ,
    SITE,
    WRITE,
    change_file,
    id_of,
    is_rejected,
)
from glossator.core.errors import KeyFileUnreadable
from glossator.serve.auth import keys
from glossator.serve.auth.keys import KeyStore


def test_running_store_notices_changes_by_another(path: Path) -> None:
    server, operator = KeyStore(path, check_interval_seconds=0), KeyStore(path)
    assert server.is_open
    first = operator.create("one", [READ])
    assert not server.is_open
    assert server.authenticate(first, None).name == id_of(first)
    second = operator.create("two", [READ])
    operator.revoke(id_of(first))
    assert is_rejected(server, first)
    assert server.authenticate(second, None).name == id_of(second)
    token = server.create_token(SITE)
    operator.rotate_secret()
    assert is_rejected(server, token, SITE)


def test_file_is_checked_once_a_second_and_read_when_changed(
    store: KeyStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = store.create("one", [READ])
    now = time.monotonic() + 10
    accesses: list[str] = []
    monkeypatch.setattr(time, "monotonic", lambda: now)

    def recorded(name: str, access: Callable[[Path], Any]) -> Callable[[Path], Any]:
        def record(path: Path) -> Any:
            accesses.append(name)
            return access(path)

        return record

    monkeypatch.setattr(keys, "stamp", recorded("stat", keys.stamp))
    monkeypatch.setattr(keys, "read_key_file", recorded("read", keys.read_key_file))
    for _ in range(100):
        store.authenticate(key, None)
    assert accesses == ["stat"]
    now += 0.9
    store.authenticate(key, None)
    assert accesses == ["stat"]
    change_file(path, secret="1" * 64)
    now += 0.2
    store.authenticate(key, None)
    store.authenticate(key, None)
    assert accesses == ["stat", "stat", "read"]


@pytest.mark.parametrize("raw", [*DAMAGED_FILES.values(), None], ids=[*DAMAGED_FILES, "gone"])
def test_last_known_keys_remain_valid_while_the_file_is_damaged_or_deleted(
    watchful_store: KeyStore, path: Path, caplog: pytest.LogCaptureFixture, raw: bytes | None
) -> None:
    key, token = watchful_store.create("one", [WRITE]), watchful_store.create_token(SITE)
    good = path.read_bytes()
    path.write_bytes(raw) if raw is not None else path.unlink()
    for _ in range(3):
        assert not watchful_store.is_open
        assert is_rejected(watchful_store, "")
        assert is_rejected(watchful_store, "gl_" + "0" * 16 + "_" + "0" * 64)
        assert watchful_store.authenticate(key, None).name == id_of(key)
        assert watchful_store.authenticate(token, SITE).name == "widget"
        assert watchful_store.authenticate(watchful_store.create_token(SITE), SITE).name == "widget"
    assert [record.levelname for record in caplog.records if record.levelname == "ERROR"] == ["ERROR"]
    for change in (
        lambda: watchful_store.create("two", [READ]),
        watchful_store.rotate_secret,
        lambda: watchful_store.revoke(id_of(key)),
    ):
        with pytest.raises(KeyFileUnreadable):
            change()
    assert not path.exists() if raw is None else path.read_bytes() == raw
    path.write_bytes(good)
    path.chmod(0o600)
    watchful_store.create("two", [READ])
    assert [each.name for each in watchful_store.list_keys()] == ["one", "two"]
    assert watchful_store.authenticate(token, SITE).name == "widget"


def test_emptied_file_does_not_open_a_closed_store(watchful_store: KeyStore, path: Path) -> None:
    key = watchful_store.create("one", [READ])
    change_file(path, keys=[])
    assert not watchful_store.is_open
    assert watchful_store.authenticate(key, None).name == id_of(key)
    with pytest.raises(KeyFileUnreadable, match="no longer contains any keys"):
        watchful_store.rotate_secret()
    assert KeyStore(path).is_open


def test_new_file_replaces_a_deleted_one(watchful_store: KeyStore, path: Path) -> None:
    old = watchful_store.create("old", [READ])
    path.unlink()
    assert watchful_store.authenticate(old, None).name == id_of(old)
    new = KeyStore(path).create("new", [READ])
    assert is_rejected(watchful_store, old)
    assert watchful_store.authenticate(new, None).name == id_of(new)


def test_damaged_file_closes_an_open_store(path: Path) -> None:
    store = KeyStore(path, check_interval_seconds=0)
    assert store.is_open
    path.parent.mkdir()
    path.write_bytes(b"{")
    assert not store.is_open
    assert is_rejected(store, "")
    with pytest.raises(KeyFileUnreadable):
        store.create_token(SITE)
    path.unlink()
    assert not store.is_open
    key = KeyStore(path).create("one", [READ])
    assert store.authenticate(key, None).name == id_of(key)


def test_keys_remain_valid_without_the_data_directory(watchful_store: KeyStore, path: Path) -> None:
    key = watchful_store.create("one", [READ])
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.write_text("a file in its place", "utf-8")
    assert not watchful_store.is_open
    assert watchful_store.authenticate(key, None).name == id_of(key)
