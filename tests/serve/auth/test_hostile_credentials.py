"""Credentials from attackers: arbitrary text, altered keys, forged tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api_keys import (
    ADMIN,
    HOSTILE_TEXTS,
    READ,
    SITE,
    WRITE,
    id_of,
    is_rejected,
    read_file,
)
from commands import quick_folder
from glossator.core.errors import Unauthorized
from glossator.serve.auth.keys import KeyStore


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[KeyStore, str, str]]:
    """A closed store, its key and its secret; Hypothesis shares it between examples."""
    with quick_folder() as folder:
        store = KeyStore(folder / "keys.json")
        key = store.create("one", [ADMIN])
        yield store, key, read_file(folder / "keys.json")["secret"]


@pytest.mark.parametrize("credential", HOSTILE_TEXTS)
@pytest.mark.parametrize("origin", [None, SITE, "\ud800", "\0", "x" * 1_000_000])
def test_hostile_credentials_are_rejected_quickly(
    guarded: tuple[KeyStore, str, str], credential: str, origin: str | None
) -> None:
    started = time.perf_counter()
    assert is_rejected(guarded[0], credential, origin)
    assert time.perf_counter() - started < 1


any_text = st.text(st.characters(), max_size=300) | st.text(
    st.characters(categories=["Cs", "Cc", "Nd", "Lu"]), max_size=50
)


@given(credential=any_text, origin=st.none() | any_text | st.just(SITE))
def test_arbitrary_text_is_rejected(guarded: tuple[KeyStore, str, str], credential: str, origin: str | None) -> None:
    assert is_rejected(guarded[0], credential, origin)
    assert is_rejected(guarded[0], "gl_" + credential, origin)


@given(data=st.data())
def test_any_change_of_a_key_is_rejected(guarded: tuple[KeyStore, str, str], data: st.DataObject) -> None:
    store, key, _ = guarded
    place = data.draw(st.integers(0, len(key)))
    end = data.draw(st.integers(place, len(key)))
    changed = key[:place] + data.draw(st.text(max_size=5)) + key[end:]
    if changed != key:
        assert is_rejected(store, changed, SITE)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=8,
)


def segment(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@given(
    header=json_values
    | st.fixed_dictionaries(
        {"alg": json_values | st.just("HS256")}, optional={"crit": json_values, "b64": json_values}
    ),
    payload=json_values,
    signature=st.binary(max_size=70),
)
def test_forged_tokens_are_rejected(
    guarded: tuple[KeyStore, str, str], header: object, payload: object, signature: bytes
) -> None:
    ending = base64.urlsafe_b64encode(signature).decode().rstrip("=")
    assert is_rejected(guarded[0], f"{segment(header)}.{segment(payload)}.{ending}", SITE)


@given(claims=st.dictionaries(st.sampled_from(["exp", "iat", "aud"]), json_values, min_size=1))
def test_strange_claims_are_harmless_even_if_signed(
    guarded: tuple[KeyStore, str, str], claims: dict[str, object]
) -> None:
    store, _, secret = guarded
    now = int(time.time())
    whole = {"aud": SITE, "iat": now, "exp": now + 600} | claims
    encoded = f"{segment({'alg': 'HS256', 'typ': 'JWT'})}.{segment(whole)}"
    digest = hmac.new(secret.encode(), encoded.encode(), hashlib.sha256).digest()
    token = f"{encoded}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"
    try:
        caller = store.authenticate(token, SITE)
    except Unauthorized:
        return
    assert caller.scopes == {READ, WRITE}
    assert whole["aud"] == SITE


@given(
    name=st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=200),
    user=st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=200),
)
def test_any_printable_text_can_be_a_name_and_user(guarded: tuple[KeyStore, str, str], name: str, user: str) -> None:
    store = guarded[0]
    token = store.create_token(SITE, user=user)
    assert store.authenticate(token, SITE).user_id == user
    key = store.create(name, [READ], user=user)
    try:
        assert store.authenticate(key, None).user_id == user
        assert KeyStore(store.path).list_keys() == store.list_keys()
        assert store.list_keys()[-1].name == name
    finally:
        store.revoke(id_of(key))
