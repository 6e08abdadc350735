"""The first key closes the server, and a token ends with the key that issued it."""

from __future__ import annotations

from pathlib import Path

import pytest

from access import PAGE, bearer, new_token
from api_keys import ADMIN, READ, SITE, WRITE, id_of, is_rejected
from api_requests import CHEAP_PATH
from doors import serving
from glossator.core.errors import Unauthorized
from glossator.serve.app import ServerOptions
from glossator.serve.auth.keys import KEYS_FILE, KeyStore


def test_tokens_of_an_open_server_end_with_the_first_key(store: KeyStore) -> None:
    token = store.create_token(SITE)
    store.create("first", [READ])
    assert is_rejected(store, token, SITE)


def test_the_second_key_revokes_no_token(closed_store: KeyStore) -> None:
    token = closed_store.create_token(SITE)
    closed_store.create("second", [READ])
    assert closed_store.authenticate(token, SITE).scopes == {READ, WRITE}


def test_a_token_ends_with_the_key_that_issued_it(closed_store: KeyStore) -> None:
    issuer, other = id_of(closed_store.create("site", [WRITE])), id_of(closed_store.create("other", [WRITE]))
    tokens = {key: closed_store.create_token(SITE, issuer=key) for key in (issuer, other)}
    closed_store.revoke(issuer)
    assert is_rejected(closed_store, tokens[issuer], SITE)
    assert closed_store.authenticate(tokens[other], SITE).scopes == {READ, WRITE}


def test_a_token_ends_when_the_key_that_issued_it_expires(closed_store: KeyStore) -> None:
    expired = id_of(closed_store.create("expired", [WRITE], days=1e-9))
    assert is_rejected(closed_store, closed_store.create_token(SITE, issuer=expired), SITE)


async def test_tokens_over_http_end_with_the_first_key_and_with_their_own(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / KEYS_FILE)
    async with serving(tmp_path, ServerOptions(key_check_interval_seconds=0)) as client:
        early = (await client.post("/widget/token", json={"origin": PAGE})).json()["token"]
        store.create("admin", [ADMIN])
        assert (await client.get(CHEAP_PATH, headers=bearer(early, Origin=PAGE))).status_code == 401
        site = store.create("site", [WRITE])
        token = await new_token(client, site)
        assert (await client.get(CHEAP_PATH, headers=bearer(token, Origin=PAGE))).status_code == 200
        store.revoke(id_of(site))
        assert (await client.get(CHEAP_PATH, headers=bearer(token, Origin=PAGE))).status_code == 401


def test_no_token_is_created_by_a_server_that_has_not_noticed_the_first_key(path: Path) -> None:
    server = KeyStore(path, check_interval_seconds=3600)
    KeyStore(path).create("first", [READ])
    assert server.is_open
    with pytest.raises(Unauthorized):
        server.create_token(SITE)
    assert not server.is_open
