"""Commands for API keys."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from glossator.cli.common import ListingGroup, print_json, server_options
from glossator.core.settings import load_settings
from glossator.serve.auth.callers import MAX_KEY_DAYS, Scope

if TYPE_CHECKING:
    from glossator.serve.auth.key_file import Key
    from glossator.serve.auth.keys import KeyStore


@click.group(cls=ListingGroup, context_settings={"help_option_names": ["-h", "--help"]})
def keys() -> None:
    """API keys: create, list, revoke, rotate; list is the default."""


@keys.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    default=("read",),
    show_default=True,
    type=click.Choice([scope.value for scope in Scope]),
    help="Scope of the key; admin includes write, write includes read. Can be repeated.",
)
@click.option("--user", help="User whose conversations the key can access.")
@click.option(
    "--days", type=click.IntRange(1, MAX_KEY_DAYS), help="Days until the key expires; by default it never does."
)
@server_options
def create(
    name: str, scopes: tuple[str, ...], user: str | None, days: int | None, data_dir: Path | None, as_json: bool
) -> None:
    """Create a key and print it; it is not shown again.

    Once a key exists, the server requires one for every request.
    """
    store = _key_store(data_dir)
    first = store.is_open
    key = store.create(name, scopes, user, days)
    if as_json:
        (created,) = [each for each in store.list_keys() if each.id == key.split("_")[1]]
        print_json({**_key_to_dict(created), "key": key})
        return
    click.echo(key)
    click.echo("Save this key: it will not be shown again.", err=True)
    if first:
        click.echo("This is the first key: from now on, the server requires a key.", err=True)


@keys.command("list")
@server_options
def list_keys(data_dir: Path | None, as_json: bool) -> None:
    """List the keys, without their secrets."""
    found = _key_store(data_dir).list_keys()
    print_json([_key_to_dict(key) for key in found]) if as_json else _show_keys(found)


@keys.command()
@click.argument("key_id", metavar="ID")
@server_options
def revoke(key_id: str, data_dir: Path | None, as_json: bool) -> None:
    """Revoke a key; running servers apply it within a second."""
    _key_store(data_dir).revoke(key_id)
    print_json({"revoked": key_id}) if as_json else click.echo(f"Key {key_id} revoked.")


@keys.command()
@server_options
def rotate(data_dir: Path | None, as_json: bool) -> None:
    """Revoke all widget tokens; keys stay valid."""
    _key_store(data_dir).rotate_secret()
    print_json({"rotated": True}) if as_json else click.echo("All widget tokens revoked.")


def _key_store(data_dir: Path | None) -> KeyStore:
    from glossator.serve.auth.keys import KEYS_FILE, KeyStore

    return KeyStore(load_settings(data_dir=data_dir).data_dir / KEYS_FILE)


def _key_to_dict(key: Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": list(key.scopes),
        "user": key.user,
        "created": key.created.isoformat(),
        "expires": key.expires.isoformat() if key.expires else None,
        "expired": key.expired,
    }


def _show_keys(found: Sequence[Key]) -> None:
    from rich.table import Table

    from glossator.cli.terminal import console, sanitized

    if not found:
        console.print("No keys: the server is open to everyone.")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("id", "name", "scopes", "user", "created", "expires"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "id")
    for key in found:
        expires = f"{key.expires:%Y-%m-%d}{' (expired)' if key.expired else ''}" if key.expires else "never"
        names = (sanitized(key.name), " ".join(key.scopes), sanitized(key.user or ""))
        table.add_row(key.id, *names, f"{key.created:%Y-%m-%d}", expires)
    console.print(table)
