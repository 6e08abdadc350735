"""Commands for stored conversations and their database."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from glossator.cli.common import Command, ListingGroup, build_engine, common_options, print_json, run
from glossator.core.text.characters import sanitize

if TYPE_CHECKING:
    from glossator.core.conversations import SessionKey
    from glossator.pipeline.wiring import Engine

T = TypeVar("T")
Work = Callable[["Engine", "SessionKey"], Coroutine[Any, Any, T]]


def _one_session(command: Command) -> Command:
    command = click.option("--user", help="Owner of the conversation.")(command)
    return click.argument("session_id", metavar="ID")(command)


@click.group(cls=ListingGroup)
def sessions() -> None:
    """Conversations: list, export, reset, delete; list is the default."""


@sessions.command("list")
@click.option("--user", help="Only conversations of this user; by default, those without a user.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="Maximum number.")
@common_options
def list_sessions(user: str | None, limit: int, data_dir: Path | None, as_json: bool) -> None:
    """List the latest conversations."""
    from glossator.cli import terminal
    from glossator.pipeline.conversations import session_to_dict

    engine = build_engine(data_dir)
    found = run(engine, engine.records.sessions(user, limit))
    print_json([session_to_dict(session) for session in found]) if as_json else terminal.show_sessions(found)


@sessions.command()
@_one_session
@common_options
def export(session_id: str, user: str | None, data_dir: Path | None, as_json: bool) -> None:
    """Print a conversation as Markdown or JSON."""
    from glossator.pipeline import conversations

    _, (session, exchanges) = _of_session(session_id, user, data_dir, conversations.full_history)
    if as_json:
        print_json(conversations.session_to_dict(session, exchanges))
    else:
        click.echo(sanitize(conversations.session_to_markdown(session, exchanges)), nl=False)


@sessions.command()
@_one_session
@common_options
def reset(session_id: str, user: str | None, data_dir: Path | None, as_json: bool) -> None:
    """Delete the messages of a conversation and keep its id."""
    from glossator.pipeline import conversations

    name, _ = _of_session(session_id, user, data_dir, conversations.reset)
    print_json({"reset": name}) if as_json else click.echo(f"Conversation {name} reset.")


@sessions.command()
@_one_session
@common_options
def delete(session_id: str, user: str | None, data_dir: Path | None, as_json: bool) -> None:
    """Permanently delete a conversation with its receipts and feedback."""
    from glossator.pipeline import conversations

    name, _ = _of_session(session_id, user, data_dir, conversations.delete)
    print_json({"deleted": name}) if as_json else click.echo(f"Conversation {name} deleted.")


def _of_session(session_id: str, user: str | None, data_dir: Path | None, work: Work[T]) -> tuple[str, T]:
    """Run a coroutine on one session; returns the session's name and the result."""
    from glossator.core.conversations import session_key

    key = session_key(session_id, user)
    engine = build_engine(data_dir)
    return key.name, run(engine, work(engine, key))


@click.command()
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="Maximum number.")
@common_options
def feedback(limit: int, data_dir: Path | None, as_json: bool) -> None:
    """List users' feedback, most recent first."""
    from glossator.cli import terminal

    engine = build_engine(data_dir)
    found = run(engine, engine.records.feedback(limit))
    if as_json:
        print_json([asdict(each) | {"created_at": each.created_at.isoformat()} for each in found])
    else:
        terminal.show_feedback(found)


@click.group()
def db() -> None:
    """Database of conversations and receipts."""


@db.command()
@common_options
def upgrade(data_dir: Path | None, as_json: bool) -> None:
    """Migrate the tables to this version; a server does so when it starts."""
    from glossator.store.records.database import HEAD

    engine = build_engine(data_dir)
    before = run(engine, engine.records.database.upgrade())
    if as_json:
        print_json({"revision": HEAD, "before": before})
    elif before == HEAD:
        click.echo(f"The tables are already at {HEAD}.")
    else:
        click.echo(f"The tables are now at {HEAD}; before: {before or 'none'}.")


@db.command()
@common_options
def clean(data_dir: Path | None, as_json: bool) -> None:
    """Expire conversations and delete old receipts now; a server does so every ten minutes."""
    engine = build_engine(data_dir)
    result = run(engine, engine.records.clean())
    summary = (
        f"Conversations: {result.inactive} became inactive, {result.expired} expired, {result.forgotten} purged."
        f" Receipts: {result.receipts} deleted."
    )
    print_json(asdict(result)) if as_json else click.echo(summary)
