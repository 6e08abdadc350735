"""Session ids become keys; malformed ones are rejected."""

from __future__ import annotations

import uuid

import pytest

from glossator.core.conversations import SessionKey, session_key
from glossator.core.errors import BadInput, InvalidSessionId

INVALID_TEXTS = ("a\0b", "a\ud800b")


def test_retried_first_request_finds_its_session() -> None:
    assert session_key(None, idempotency_key="k") == session_key(None, idempotency_key="k")
    assert session_key(None, "ann", "k") == session_key(None, "ann", "k")
    names = {session_key(None, user, key).session_id for user in (None, "ann", "bob", "None") for key in ("k", "j")}
    assert len(names) == 8
    assert session_key(None) != session_key(None)


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 201, "é", "tides\n", "\0", "\ud800", "a/b", "a.b"])
@pytest.mark.parametrize("user", [None, "ann"])
def test_malformed_session_id_is_rejected(name: str, user: str | None) -> None:
    with pytest.raises(InvalidSessionId, match="Malformed session id"):
        session_key(name, user)


@pytest.mark.parametrize(
    "name", ["x" * 200, "a", "_", "-", "A-b_9", "0" * 36, "0" * 32 + "----", "----1" + "_1" * 15 + "1"]
)
def test_valid_session_id_names_one_session(name: str) -> None:
    assert session_key(name) == session_key(name)
    assert session_key(name).name == name
    assert session_key(name, "ann").session_id != session_key(name).session_id


def test_uuid_is_case_insensitive() -> None:
    name = "0b7f6f0e-3f0a-4c55-9a51-abcdefabcdef"
    assert session_key(name.upper()) == session_key(name) == SessionKey(uuid.UUID(name), name)
    assert session_key(name.upper(), "ann") == session_key(name, "ann")


@pytest.mark.parametrize("bad", INVALID_TEXTS, ids=["nul", "surrogate"])
def test_invalid_text_as_idempotency_key_is_rejected(bad: str) -> None:
    with pytest.raises(BadInput):
        session_key(None, idempotency_key=bad)
