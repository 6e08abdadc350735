"""The `glossator keys` commands."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

from click.testing import CliRunner, Result

from api_keys import (
    ADMIN,
    READ,
    SHAPE,
    SITE,
    WRITE,
    change_file,
    error_text,
    id_of,
    is_rejected,
    read_file,
)
from glossator.cli.keys import keys as keys_command
from glossator.core.errors import BadInput, KeyFileUnreadable
from glossator.serve.auth.callers import Scope
from glossator.serve.auth.keys import KeyStore


def command(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(keys_command, [*arguments, "--data-dir", str(path.parent)])


def create_key(path: Path, *arguments: str) -> str:
    """Create a key with the command, which prints nothing else to standard output."""
    result = command(path, "create", *arguments)
    assert result.exit_code == 0
    assert "not be shown again" in result.stderr
    assert SHAPE.fullmatch(result.stdout.removesuffix("\n"))
    return result.stdout.removesuffix("\n")


def test_create_prints_only_the_key_to_stdout(path: Path) -> None:
    result = command(path, "create", "first")
    key = result.stdout.removesuffix("\n")
    assert "the first key" in result.stderr
    assert key not in result.stderr
    assert KeyStore(path).authenticate(key, None).scopes == {READ}
    other = command(path, "create", "second")
    assert "the first key" not in other.stderr


def test_create_takes_scopes_user_and_days(path: Path) -> None:
    key = create_key(path, "ci", "--scope", "write", "--scope", "admin", "--user", "zoë", "--days", "30")
    store = KeyStore(path)
    (found,) = store.list_keys()
    assert (found.name, found.scopes, found.user) == ("ci", (WRITE, ADMIN), "zoë")
    assert found.expires == found.created + timedelta(days=30)
    assert store.authenticate(key, None).has(ADMIN)


def test_create_prints_json(path: Path) -> None:
    result = command(path, "create", "ci", "--json")
    found = json.loads(result.stdout)
    assert result.stderr == ""
    assert list(found) == ["id", "name", "scopes", "user", "created", "expires", "expired", "key"]
    assert (found["id"], found["name"], found["scopes"], found["user"]) == (id_of(found["key"]), "ci", ["read"], None)
    assert KeyStore(path).authenticate(found["key"], None).name == found["id"]


def test_list_shows_keys_without_secrets(path: Path) -> None:
    assert command(path, "list").stdout == "No keys: the server is open to everyone.\n"
    assert json.loads(command(path, "list", "--json").stdout) == []
    assert not path.exists()
    key = create_key(path, "ci", "--user", "zoë", "--days", "1")
    shown, as_json = command(path, "list").stdout, command(path, "list", "--json").stdout
    for text in (shown, as_json):
        assert all(word in text for word in (id_of(key), "ci", "read", "zoë"))
        assert key not in text
        assert key.split("_")[2] not in text
        assert read_file(path)["keys"][0]["hash"] not in text
        assert read_file(path)["secret"] not in text
    (entry,) = read_file(path)["keys"]
    change_file(path, keys=[entry | {"expires": "2020-01-01T00:00:00Z"}])
    path.chmod(0o600)
    assert "expired" in command(path, "list").stdout
    assert json.loads(command(path, "list", "--json").stdout)[0]["expired"] is True


def test_revoke_and_rotate(path: Path) -> None:
    first, second = create_key(path, "one"), create_key(path, "two")
    token = KeyStore(path).create_token(SITE)
    assert command(path, "revoke", id_of(first)).stdout == f"Key {id_of(first)} revoked.\n"
    assert is_rejected(KeyStore(path), first)
    assert command(path, "rotate").stdout == "All widget tokens revoked.\n"
    assert is_rejected(KeyStore(path), token, SITE)
    assert json.loads(command(path, "rotate", "--json").stdout) == {"rotated": True}
    create_key(path, "three")
    assert json.loads(command(path, "revoke", id_of(second), "--json").stdout) == {"revoked": id_of(second)}


def test_commands_reject_invalid_input(path: Path) -> None:
    assert command(path, "create", "x", "--scope", "root").exit_code == 2
    assert command(path, "create", "x", "--days", "0").exit_code == 2
    assert isinstance(command(path, "create", "").exception, BadInput)
    assert isinstance(command(path, "create", "x", "--user", "a\nb").exception, BadInput)
    assert isinstance(command(path, "rotate").exception, BadInput)
    assert isinstance(command(path, "revoke", "0" * 16).exception, BadInput)
    assert KeyStore(path).is_open
    key = create_key(path, "only")
    assert isinstance(command(path, "revoke", id_of(key)).exception, BadInput)
    result = command(path, "revoke", key)
    assert isinstance(result.exception, BadInput)
    assert key not in result.output + error_text(result.exception)
    path.write_text("{", "utf-8")
    for arguments in (["create", "x"], ["list"], ["revoke", "x"], ["rotate"]):
        assert isinstance(command(path, *arguments).exception, KeyFileUnreadable)


def test_create_accepts_every_scope(path: Path) -> None:
    for scope in Scope:
        key = create_key(path, scope.value, "--scope", scope.value)
        caller = KeyStore(path).authenticate(key, None)
        assert (caller.name, caller.has(scope)) == (id_of(key), True)
