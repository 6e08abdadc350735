"""The commands about API keys."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from glossator.cli.common import print_json, shared
from glossator.core.settings import load_settings

if TYPE_CHECKING:
    from glossator.serve.auth.keys import Key, KeyRing


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def keys() -> None:
    """API keys: create, list, revoke, rotate."""


@keys.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    default=("read",),
    show_default=True,
    type=click.Choice(["read", "write", "admin"]),
    help="What it may do; admin includes write, write includes read. May be given often.",
)
@click.option("--user", help="The user whose conversations it opens.")
@click.option("--days", type=click.IntRange(1, 3650), help="Days that it is valid; without it, for ever.")
@shared
def create(
    name: str, scopes: tuple[str, ...], user: str | None, days: int | None, data_dir: Path | None, as_json: bool
) -> None:
    """Make a key and show it, once.

    The first key closes the server to whoever has none.
    """
    ring = _ring(data_dir)
    first = ring.is_open
    key = ring.create(name, scopes, user, days)
    if as_json:
        (made,) = [each for each in ring.all() if each.id == key.split("_")[1]]
        print_json({**_told(made), "key": key})
        return
    click.echo(key)
    click.echo("Keep this key: it is not shown again.", err=True)
    if first:
        click.echo("It is the first: from now on the server answers nobody without a key.", err=True)


@keys.command("list")
@shared
def list_keys(data_dir: Path | None, as_json: bool) -> None:
    """The keys, without what makes them work."""
    found = _ring(data_dir).all()
    print_json([_told(key) for key in found]) if as_json else _show(found)


@keys.command()
@click.argument("key_id", metavar="ID")
@shared
def revoke(key_id: str, data_dir: Path | None, as_json: bool) -> None:
    """Make a key worthless; a server notices within a second."""
    _ring(data_dir).revoke(key_id)
    print_json({"revoked": key_id}) if as_json else click.echo(f"The key {key_id} is revoked.")


@keys.command()
@shared
def rotate(data_dir: Path | None, as_json: bool) -> None:
    """Make every widget token worthless; keys stay as they are."""
    _ring(data_dir).rotate()
    print_json({"rotated": True}) if as_json else click.echo("Every widget token is worthless now.")


def _ring(data_dir: Path | None) -> KeyRing:
    from glossator.serve.auth.keys import KEYS_FILE, KeyRing

    return KeyRing(load_settings(data_dir=data_dir).data_dir / KEYS_FILE)


def _told(key: Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": list(key.scopes),
        "user": key.user,
        "created": key.created.isoformat(),
        "expires": key.expires.isoformat() if key.expires else None,
        "expired": key.expired,
    }


def _show(found: Sequence[Key]) -> None:
    from rich.table import Table

    from glossator.cli.terminal import console, visible

    if not found:
        console.print("No keys: everybody may do everything.")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("id", "name", "scopes", "user", "created", "expires"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "id")
    for key in found:
        expires = f"{key.expires:%Y-%m-%d}{' (expired)' if key.expired else ''}" if key.expires else "never"
        names = (visible(key.name), " ".join(key.scopes), visible(key.user or ""))
        table.add_row(key.id, *names, f"{key.created:%Y-%m-%d}", expires)
    console.print(table)
