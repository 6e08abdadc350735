"""Keys: created, listed, authenticated, revoked and expired."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from api_keys import (
    ADMIN,
    HOSTILE_TEXTS,
    READ,
    SITE,
    WRITE,
    change_file,
    error_text,
    id_of,
    is_rejected,
    read_file,
)
from glossator.core.errors import BadInput, Forbidden
from glossator.serve.auth.callers import Caller, Scope
from glossator.serve.auth.keys import KeyStore


def test_without_keys_anyone_has_every_scope(store: KeyStore, path: Path) -> None:
    assert store.is_open
    assert store.list_keys() == ()
    for credential in HOSTILE_TEXTS:
        assert store.authenticate(credential, None) == Caller("open", None, frozenset(Scope))
    assert not path.parent.exists()


def test_first_key_closes_the_store(store: KeyStore) -> None:
    key = store.create("reader", [READ])
    assert not store.is_open
    assert is_rejected(store, "")
    assert store.authenticate(key, None) == Caller(id_of(key), None, frozenset({READ}))
    assert store.authenticate(key, "https://anywhere.example") == store.authenticate(key, None)


def test_caller_has_the_user_and_included_scopes_of_its_key(store: KeyStore) -> None:
    caller = store.authenticate(store.create("all", [ADMIN], user="zoë 🌙"), None)
    assert (caller.user_id, caller.scopes) == ("zoë 🌙", frozenset(Scope))
    assert store.authenticate(store.create("two", ["write", "write"]), None).scopes == {READ, WRITE}


@pytest.mark.parametrize(("own", "allowed"), [(READ, {READ}), (WRITE, {READ, WRITE}), (ADMIN, {READ, WRITE, ADMIN})])
def test_admin_implies_write_implies_read(own: Scope, allowed: set[Scope]) -> None:
    caller = Caller("someone", None, frozenset({own}))
    assert {scope for scope in Scope if caller.has(scope)} == allowed
    for scope in Scope:
        if scope in allowed:
            caller.require(scope)
        else:
            with pytest.raises(Forbidden, match=f"`{scope}`"):
                caller.require(scope)
    assert not Caller("nobody", None, frozenset()).has(READ)


def test_keys_are_listed_oldest_first_and_survive_a_restart(store: KeyStore, path: Path) -> None:
    created = [store.create(name, [WRITE, READ], user="u", days=2) for name in ("one", "two")]
    found = KeyStore(path).list_keys()
    assert found == store.list_keys()
    assert [(key.id, key.name, key.scopes, key.user) for key in found] == [
        (id_of(created[0]), "one", (READ, WRITE), "u"),
        (id_of(created[1]), "two", (READ, WRITE), "u"),
    ]
    assert all(key.expires == key.created + timedelta(days=2) and not key.expired for key in found)
    assert [KeyStore(path).authenticate(key, None).name for key in created] == [id_of(key) for key in created]


def test_revoked_key_is_rejected_and_others_stay_valid(store: KeyStore, path: Path) -> None:
    first, second = store.create("one", [READ]), store.create("two", [READ])
    store.revoke(id_of(first))
    for each in (store, KeyStore(path)):
        assert is_rejected(each, first)
        assert each.authenticate(second, None).name == id_of(second)


def test_last_key_cannot_be_revoked(store: KeyStore) -> None:
    key = store.create("only", [READ])
    with pytest.raises(BadInput, match="last key"):
        store.revoke(id_of(key))
    assert store.authenticate(key, None).name == id_of(key)


def test_unknown_id_is_not_repeated_in_the_error(store: KeyStore) -> None:
    key = store.create("one", [READ])
    for wrong in (key, "", "0" * 16, "\ud800", "x" * 100_000):
        with pytest.raises(BadInput, match="Unknown key id") as caught:
            store.revoke(wrong)
        assert key not in error_text(caught.value)


def test_expired_key_is_rejected_but_keeps_the_store_closed(store: KeyStore, path: Path) -> None:
    key = store.create("short", [ADMIN], days=1)
    (entry,) = read_file(path)["keys"]
    change_file(path, keys=[entry | {"expires": (datetime.now(UTC) - timedelta(seconds=1)).isoformat()}])
    later = KeyStore(path)
    assert not later.is_open
    assert later.list_keys()[0].expired
    assert is_rejected(later, key)


def test_altered_keys_are_rejected(store: KeyStore) -> None:
    key, other = store.create("one", [READ]), store.create("two", [READ])
    _, key_id, secret = key.split("_")
    flipped = "0" if secret[-1] != "0" else "1"
    wrong = [
        f"gl_{key_id}_{secret[:-1]}{flipped}",
        f"gl_{id_of(other)}_{secret}",
        f"gl_{'f' * 16}_{secret}",
        f"gl_{key_id}_{secret.upper()}X",
        f"gl_{key_id}_",
        f"gl_{key_id}_{hashlib.sha256(key.encode()).hexdigest()}",
        key[:-1],
        key + "0",
        key + "\n",
        " " + key,
        key.upper(),
        key.replace("_", "-"),
    ]
    assert all(is_rejected(store, each) for each in wrong)


def test_unknown_id_is_compared_like_a_known_one(store: KeyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    key = store.create("one", [READ])
    lengths: list[tuple[int, int]] = []

    def compare(first: str, second: str) -> bool:
        lengths.append((len(first), len(second)))
        return first == second

    monkeypatch.setattr(hmac, "compare_digest", compare)
    for credential in (f"gl_{id_of(key)}_{'0' * 64}", f"gl_{'0' * 16}_{'0' * 64}"):
        assert is_rejected(store, credential)
    assert lengths == [(64, 64)] * 2


@pytest.mark.parametrize("text", ["", "x" * 201, "a\0b", "a\nb", "a\x7fb", "a\x85b", "a\u2028b", "\ud800", "\x1b[31m"])
def test_invalid_names_and_users_are_rejected(store: KeyStore, path: Path, text: str) -> None:
    attempts: list[Callable[[], str]] = [
        lambda: store.create(text, [READ]),
        lambda: store.create("name", [READ], user=text),
        lambda: store.create_token(SITE, user=text),
    ]
    for make in attempts:
        with pytest.raises(BadInput, match="Use 1 to 200 characters") as caught:
            make()
        assert text == "" or text not in str(caught.value)
    assert not path.exists()


@pytest.mark.parametrize("scopes", [[], ["root"], "read", ["READ"], [""], ["read", "\0"]])
def test_missing_and_unknown_scopes_are_rejected(store: KeyStore, scopes: Any) -> None:
    with pytest.raises(BadInput, match="No scope given" if not scopes else "Unknown scope"):
        store.create("name", scopes)
    assert store.is_open


@pytest.mark.parametrize("days", [0, -1, 3651, float("nan"), float("inf"), 10**400])
def test_invalid_days_are_rejected(store: KeyStore, days: float) -> None:
    with pytest.raises(BadInput, match="Invalid number of days"):
        store.create("name", [READ], days=days)
    assert store.is_open
