"""The key file: private, atomic, safe for concurrent writers, and rejected if it is damaged."""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from api_keys import (
    DAMAGED_FILES,
    EXAMPLE_KEY,
    READ,
    SITE,
    change_file,
    error_text,
    id_of,
    read_file,
)
from disk import record_disk_steps
from glossator.core.errors import GlossatorError, KeyFileUnreadable, StorageError
from glossator.serve.auth.keys import KeyStore


def test_file_is_private_whatever_the_umask(store: KeyStore, path: Path) -> None:
    before = os.umask(0)
    try:
        store.create("one", [READ])
        os.umask(0o777)
        store.create("two", [READ])
    finally:
        os.umask(before)
    assert {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()} == {
        "keys.json": 0o600,
        "keys.lock": 0o600,
    }


def test_file_readable_by_others_is_logged_and_fixed_by_the_next_write(
    store: KeyStore, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store.create("one", [READ])
    path.chmod(0o644)
    again = KeyStore(path)
    assert caplog.text.count("chmod 600") == 1
    again.create("two", [READ])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert caplog.text.count("chmod 600") == 1


def test_file_holds_only_the_hash_of_a_key(store: KeyStore, path: Path) -> None:
    key = store.create("one", [READ], user="u")
    text = path.read_text("utf-8")
    assert key not in text
    assert key.split("_")[2] not in text
    found = read_file(path)
    assert found["format"] == 1
    assert re.fullmatch("[0-9a-f]{64}", found["secret"])
    (entry,) = found["keys"]
    assert entry["hash"] == hashlib.sha256(key.encode()).hexdigest()
    assert entry.keys() == {"id", "name", "scopes", "user", "created", "expires", "hash"}


def test_errors_logs_and_reprs_show_no_secret(
    watchful_store: KeyStore, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key, other = watchful_store.create("one", [READ]), watchful_store.create("two", [READ])
    token = watchful_store.create_token(SITE, user="u")
    good = read_file(path)
    hidden = [key.split("_")[2], other.split("_")[2], token, token.split(".")[2], good["secret"]]
    hidden += [entry["hash"] for entry in good["keys"]]
    shown = [
        repr(watchful_store),
        repr(vars(watchful_store)),
        repr(watchful_store.list_keys()),
        repr(watchful_store.authenticate(key, None)),
    ]
    shown.append(repr(watchful_store.authenticate(token, SITE)))
    attempts: list[Callable[[], object]] = [
        lambda: watchful_store.authenticate(key[:-1], None),
        lambda: watchful_store.authenticate(f"gl_{id_of(key)}_{other.split('_')[2]}", None),
        lambda: watchful_store.authenticate(token, "https://other.example"),
        lambda: watchful_store.authenticate(token[:-2], SITE),
        lambda: watchful_store.authenticate(token, None),
        lambda: watchful_store.revoke(key),
        lambda: watchful_store.create_token(key),
    ]
    for broken in (path.read_bytes()[:-3], json.dumps(good | {"format": 2}).encode(), json.dumps([good]).encode()):
        attempts.append(lambda broken=broken: path.write_bytes(broken) and KeyStore(path))  # type: ignore[misc]
        attempts.append(lambda: watchful_store.create("three", [READ]))
    for attempt in attempts:
        with pytest.raises(GlossatorError) as caught:
            attempt()
        shown.append(error_text(caught.value))
    assert watchful_store.authenticate(key, None).name == id_of(key)
    assert caplog.text
    everything = "\n".join([*shown, caplog.text])
    assert [secret for secret in hidden if secret in everything] == []


def test_file_is_synced_before_it_replaces_the_old_one(
    store: KeyStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = record_disk_steps(monkeypatch)
    store.create("one", [READ])
    assert steps == ["file", "replace", "folder"]


def test_failed_write_changes_nothing(store: KeyStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = store.create("one", [READ])
    before = path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for attempt in (lambda: store.create("two", [READ]), store.rotate_secret):
        with pytest.raises(StorageError, match="disk is full"):
            attempt()
    assert path.read_bytes() == before
    assert sorted(each.name for each in path.parent.iterdir()) == ["keys.json", "keys.lock"]
    assert store.authenticate(key, None).name == id_of(key)


def test_leftover_of_a_killed_writer_is_replaced(store: KeyStore, path: Path) -> None:
    path.parent.mkdir()
    path.with_suffix(".next").write_text("half", "utf-8")
    path.with_suffix(".next").chmod(0o644)
    store.create("one", [READ])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(KeyStore(path).list_keys()) == 1


def test_unwritable_folder_is_reported(path: Path) -> None:
    store = KeyStore(path)
    path.parent.write_text("a file", "utf-8")
    with pytest.raises(StorageError, match="cannot be written"):
        store.create("one", [READ])


def test_wait_for_the_lock_times_out(store: KeyStore, path: Path) -> None:
    key = store.create("one", [READ])
    store = KeyStore(path, lock_timeout_seconds=0.05)
    with path.with_suffix(".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StorageError, match="Another process is changing"):
            store.create("two", [READ])
        assert store.authenticate(key, None).name == id_of(key)
    store.create("two", [READ])


@pytest.mark.slow
def test_concurrent_processes_lose_no_keys(path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from glossator.serve.auth.keys import KeyStore;"
        "store = KeyStore(Path(sys.argv[1]));"
        "[print(store.create(f'{sys.argv[2]} {n}', ['read'])) for n in range(5)]"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", script, path, str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    created = [key for process in started for key in process.communicate(timeout=120)[0].split()]
    assert [process.returncode for process in started] == [0] * 4
    store = KeyStore(path)
    assert len(created) == len(set(created)) == 20
    assert {key.id for key in store.list_keys()} == {id_of(key) for key in created}
    assert all(store.authenticate(key, None).name == id_of(key) for key in created)


def test_concurrent_threads_lose_no_keys(watchful_store: KeyStore) -> None:
    first = watchful_store.create("first", [READ])

    def work(number: int) -> str:
        key = watchful_store.create(str(number), [READ])
        assert watchful_store.authenticate(first, None).name == id_of(first)
        assert watchful_store.authenticate(key, None).name == id_of(key)
        return key

    with ThreadPoolExecutor(4) as pool:
        created = list(pool.map(work, range(12)))
    assert {key.id for key in watchful_store.list_keys()} == {id_of(key) for key in [first, *created]}


@pytest.mark.parametrize("raw", DAMAGED_FILES.values(), ids=DAMAGED_FILES)
def test_damaged_file_is_reported_and_left_as_it_is(path: Path, raw: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(raw)
    with pytest.raises(KeyFileUnreadable, match="is damaged") as caught:
        KeyStore(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == raw


def test_damaged_files_are_derived_from_a_valid_one(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps({"format": 1, "secret": "0" * 64, "keys": [EXAMPLE_KEY]}), "utf-8")
    assert KeyStore(path).list_keys()[0].id == EXAMPLE_KEY["id"]


def test_file_of_another_version_is_reported_as_such(store: KeyStore, path: Path) -> None:
    store.create("one", [READ])
    change_file(path, format=2, more="of it")
    with pytest.raises(KeyFileUnreadable, match="another version"):
        KeyStore(path)
    with pytest.raises(KeyFileUnreadable, match="another version"):
        store.create("two", [READ])


def test_folder_or_broken_link_in_place_of_the_file_is_an_error(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(KeyFileUnreadable, match="cannot be read"):
        KeyStore(path)
    path.rmdir()
    path.symlink_to(path.parent / "elsewhere.json")
    with pytest.raises(KeyFileUnreadable, match="is a broken symbolic link"):
        KeyStore(path)
