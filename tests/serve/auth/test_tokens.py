"""Widget tokens: their claims, origin and lifetime, and every way to forge them."""

from __future__ import annotations

import base64
import stat
import time
from pathlib import Path
from typing import Any

import jwt
import pytest

from api_keys import (
    HOSTILE_TEXTS,
    READ,
    SITE,
    WRITE,
    id_of,
    is_rejected,
    read_file,
    sign,
)
from glossator.core.errors import BadInput
from glossator.serve.auth.callers import Caller
from glossator.serve.auth.keys import KeyStore
from glossator.serve.auth.origins import web_origin


def test_token_reads_and_writes_for_its_user_from_its_origin(closed_store: KeyStore, path: Path) -> None:
    token = closed_store.create_token(SITE, user="zoë")
    assert closed_store.authenticate(token, SITE) == Caller("widget", "zoë", frozenset({READ, WRITE}))
    assert KeyStore(path).authenticate(token, SITE).user_id == "zoë"
    assert closed_store.authenticate(closed_store.create_token(SITE), SITE).user_id is None
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims == {"aud": SITE, "sub": "zoë", "iat": claims["iat"], "exp": claims["iat"] + 900}
    assert jwt.get_unverified_header(token)["alg"] == "HS256"


def test_the_server_stays_open_after_a_token_is_created(store: KeyStore, path: Path) -> None:
    store.create_token(SITE)
    assert store.is_open
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert KeyStore(path).is_open


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "",
        "null",
        "*",
        "http://docs.example.org",
        "https://docs.example.org:8443",
        "https://docs.example.org/",
        "https://docs.example.org.evil.example",
        "https://evil.example",
        "https://example.org",
        "https://docs.example.org\0",
        "https://docs.example.org\n",
        "HTTPS://docs.example.org",
        "\ud800",
        "x" * 1_000_000,
    ],
)
def test_token_is_rejected_from_any_other_origin(closed_store: KeyStore, origin: str | None) -> None:
    assert is_rejected(closed_store, closed_store.create_token(SITE), origin)


@pytest.mark.parametrize("seconds", [59, 3601, 0, -1, float("nan"), float("inf"), 10**400])
def test_token_lifetime_is_a_minute_to_an_hour(closed_store: KeyStore, seconds: Any) -> None:
    with pytest.raises(BadInput, match="Use 60 to 3600 seconds"):
        closed_store.create_token(SITE, seconds=seconds)
    for allowed in (60, 3600):
        claims = jwt.decode(closed_store.create_token(SITE, seconds=allowed), options={"verify_signature": False})
        assert claims["exp"] - claims["iat"] == allowed


def test_longest_user_and_origin_fit_in_a_token(closed_store: KeyStore) -> None:
    origin = "https://" + ".".join(["a" * 63] * 3 + ["b" * 61]) + ":65535"
    assert closed_store.authenticate(closed_store.create_token(origin, user="🌙" * 200), origin).user_id == "🌙" * 200


def test_token_with_valid_claims_is_accepted(closed_store: KeyStore, path: Path) -> None:
    assert closed_store.authenticate(sign({"sub": "u"}, read_file(path)["secret"]), SITE).user_id == "u"


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": int(time.time()) - 1},
        {"exp": None},
        {"exp": "never"},
        {"exp": []},
        {"exp": True},
        {"iat": None},
        {"iat": int(time.time()) + 100_000},
        {"iat": "now"},
        {"aud": None},
        {"aud": ""},
        {"aud": [SITE]},
        {"aud": {SITE: 1}},
        {"aud": "*"},
        {"aud": "null"},
        {"aud": "https://evil.example"},
        {"sub": 5},
        {"sub": ["u"]},
        {"nbf": int(time.time()) + 100_000},
    ],
)
def test_token_with_invalid_claims_is_rejected(closed_store: KeyStore, path: Path, claims: dict[str, Any]) -> None:
    assert is_rejected(closed_store, sign(claims, read_file(path)["secret"]), SITE)


def test_tampered_tokens_are_rejected(closed_store: KeyStore, path: Path) -> None:
    secret = read_file(path)["secret"]
    header, payload, signature = closed_store.create_token(SITE, user="u").split(".")
    other = closed_store.create_token("https://evil.example", user="u").split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').decode().rstrip("=")
    wrong = [
        f"{header}.{other[1]}.{signature}",
        f"{header}.{payload}.{other[2]}",
        f"{header}.{payload}.",
        f"{header}.{payload}",
        f"{none}.{payload}.",
        f"{none}.{payload}.{signature}",
        f"{header}.{payload}.{signature}.{signature}",
        f"{header}.{payload}.{signature}=",
        f"{header}.{payload}.{signature}\n",
        sign({}, "", "none"),
        sign({}, secret, "HS384"),
        sign({}, secret, "HS512"),
        sign({}, secret.upper() + "0"),
        sign({}, "0" * 64),
        jwt.encode({"aud": SITE}, secret, headers={"alg": "HS512"}),
    ]
    assert [token for token in wrong if not is_rejected(closed_store, token, SITE)] == []


def test_token_signed_with_a_public_key_algorithm_is_rejected(closed_store: KeyStore) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    now = int(time.time())
    token = jwt.encode({"aud": SITE, "iat": now, "exp": now + 600}, Ed25519PrivateKey.generate(), "EdDSA")
    assert is_rejected(closed_store, token, SITE)


def test_rotating_invalidates_tokens_but_not_keys(store: KeyStore, path: Path) -> None:
    key, token = store.create("one", [READ]), store.create_token(SITE)
    before = read_file(path)
    store.rotate_secret()
    after = read_file(path)
    assert before["secret"] != after["secret"]
    assert before["keys"] == after["keys"]
    assert is_rejected(store, token, SITE)
    assert store.authenticate(key, None).name == id_of(key)
    assert store.authenticate(store.create_token(SITE), SITE).name == "widget"


def test_rotating_without_a_file_is_an_error(store: KeyStore, path: Path) -> None:
    with pytest.raises(BadInput, match="no keys or tokens yet"):
        store.rotate_secret()
    assert not path.exists()


def test_token_of_another_store_is_rejected(closed_store: KeyStore, path: Path) -> None:
    other = KeyStore(path.parent / "other" / "keys.json")
    assert is_rejected(closed_store, other.create_token(SITE), SITE)


@pytest.mark.parametrize(
    ("given_origin", "normal"),
    [
        ("https://example.org", "https://example.org"),
        ("HTTPS://Docs.Example.ORG", "https://docs.example.org"),
        ("https://example.org:443", "https://example.org"),
        ("http://example.org:80", "http://example.org"),
        ("https://example.org:80", "https://example.org:80"),
        ("http://localhost:03000", "http://localhost:3000"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[0:0::1]:8000", "http://[::1]:8000"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
    ],
)
def test_origins_are_normalised_to_what_browsers_send(closed_store: KeyStore, given_origin: str, normal: str) -> None:
    assert web_origin(given_origin) == normal
    assert web_origin(normal) == normal
    assert closed_store.authenticate(closed_store.create_token(given_origin), normal).name == "widget"


@pytest.mark.parametrize(
    "origin",
    [
        *HOSTILE_TEXTS,
        "null",
        "*",
        "https://*",
        "https://*.example.org",
        "https://",
        "https://.",
        "https://.org",
        "https://example.org.",
        "https://example..org",
        "https://example.org/",
        "https://example.org/path",
        "https://example.org?q",
        "https://example.org#f",
        "https://user@example.org",
        "https://user:pass@example.org",
        "https://example.org:",
        "https://example.org:0",
        "https://example.org:65536",
        "https://example.org:99999999",
        "https://example.org:٤٤٣",
        "https://example.org\n",
        "https://example.org\0",
        " https://example.org",
        "https://exa mple.org",
        "https://bücher.example",
        "https://\u212aelvin.example",
        "https://example.org\\@evil.example",
        "https://[::1",
        "https://[::1%25eth0]",
        "https://[zz]",
        "https://[1.2.3.4]",
        "https://" + "a" * 64 + ".example",
        "https://" + "a." * 130 + "example",
        "//example.org",
        "example.org",
        "ftp://example.org",
        "file:///etc/passwd",
        "javascript://example.org",
        "chrome-extension://abcdef",
    ],
)
def test_invalid_origins_are_rejected(closed_store: KeyStore, origin: str) -> None:
    with pytest.raises(BadInput, match="Invalid web origin"):
        closed_store.create_token(origin)
