"""The commands about conversations and the database that they are kept in."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from glossator.cli.common import Command, finish, print_json, shared, wired

if TYPE_CHECKING:
    from glossator.core.conversations import SessionKey
    from glossator.pipeline.wiring import Engine

T = TypeVar("T")
Work = Callable[["Engine", "SessionKey"], Coroutine[Any, Any, T]]


def _one_session(command: Command) -> Command:
    command = click.option("--user", help="The user whose conversation it is.")(command)
    return click.argument("session_id", metavar="ID")(command)


@click.group()
def sessions() -> None:
    """Conversations: list, export, reset, delete."""


@sessions.command("list")
@click.option("--user", help="Those of this user; without it, those of nobody in particular.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="At most so many.")
@shared
def list_sessions(user: str | None, limit: int, data_dir: Path | None, as_json: bool) -> None:
    """The latest conversations."""
    from glossator.cli import terminal
    from glossator.pipeline.conversations import as_json as told

    engine = wired(data_dir)
    found = finish(engine, engine.records.sessions(user, limit))
    print_json([told(session, None) for session in found]) if as_json else terminal.show_sessions(found)


@sessions.command()
@_one_session
@shared
def export(session_id: str, user: str | None, data_dir: Path | None, as_json: bool) -> None:
    """A whole conversation, as Markdown or as JSON."""
    from glossator.pipeline import conversations

    _, (session, exchanges) = _of_session(session_id, user, data_dir, conversations.whole_history)
    if as_json:
        print_json(conversations.as_json(session, exchanges))
    else:
        click.echo(conversations.as_markdown(session, exchanges), nl=False)


@sessions.command()
@_one_session
@shared
def reset(session_id: str, user: str | None, data_dir: Path | None, as_json: bool) -> None:
    """Begin a conversation anew under the same id."""
    from glossator.pipeline import conversations

    name, _ = _of_session(session_id, user, data_dir, conversations.reset)
    print_json({"reset": name}) if as_json else click.echo(f"The conversation {name} begins anew.")


@sessions.command()
@_one_session
@shared
def delete(session_id: str, user: str | None, data_dir: Path | None, as_json: bool) -> None:
    """Delete a conversation with its receipts and feedback, for good."""
    from glossator.pipeline import conversations

    name, _ = _of_session(session_id, user, data_dir, conversations.delete)
    print_json({"deleted": name}) if as_json else click.echo(f"The conversation {name} is deleted.")


def _of_session(session_id: str, user: str | None, data_dir: Path | None, work: Work[T]) -> tuple[str, T]:
    """What some work on one session gives, and the session's name."""
    from glossator.core.conversations import session_key

    key = session_key(session_id, user)
    engine = wired(data_dir)
    return key.name, finish(engine, work(engine, key))


@click.group()
def db() -> None:
    """The database of conversations and receipts."""


@db.command()
@shared
def upgrade(data_dir: Path | None, as_json: bool) -> None:
    """Bring the tables to this version; a server does so when it starts."""
    from glossator.store.records.database import HEAD

    engine = wired(data_dir)
    before = finish(engine, engine.records.database.upgrade())
    same = f"The tables are at {HEAD} already."
    told = (
        same if before == HEAD else f"The tables are at {HEAD}; they were {f'at {before}' if before else 'not there'}."
    )
    print_json({"revision": HEAD, "before": before}) if as_json else click.echo(told)


@db.command()
@shared
def clean(data_dir: Path | None, as_json: bool) -> None:
    """Expire conversations and drop old receipts now; a server does so every ten minutes."""
    engine = wired(data_dir)
    done = finish(engine, engine.records.clean())
    told = (
        f"{done.expired} conversations expired, {done.inactive} went inactive, {done.forgotten} were forgotten;"
        f" {done.receipts} receipts dropped."
    )
    print_json(asdict(done)) if as_json else click.echo(told)
