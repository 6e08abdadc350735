"""Shared by the commands: common options, building an engine, running coroutines, printing JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from glossator.core.book.names import validate_book_name
from glossator.core.settings import Settings, load_settings
from glossator.core.text.characters import dump_json

if TYPE_CHECKING:
    from glossator.pipeline.wiring import Engine

T = TypeVar("T")
Command = Callable[..., Any]
_BOOK = "glossator.book"
"""Where the context of a command holds the name of the book that it is about."""


class ListingGroup(click.Group):
    """Commands of which `list` is the default."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `list` if no command is named; options before a command are those of `list`."""
        is_named = bool(args) and (not args[0].startswith("-") or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_named else ["list", *args])


def common_options(command: Command) -> Command:
    """Add the options that every command about one book has."""
    return book_options(json_option(command))


def server_options(command: Command) -> Command:
    """Add the options of commands about all books."""
    return _data_dir_option(json_option(command))


def json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")(command)


def book_options(command: Command) -> Command:
    """Add the options that choose the book; `command_settings` knows which."""
    command = click.option(
        "--book", callback=_choose_book, expose_value=False, help="Name of one of several books (GLOSSATOR_BOOK)."
    )(command)
    return _data_dir_option(command)


def _data_dir_option(command: Command) -> Command:
    return click.option(
        "--data-dir", type=click.Path(path_type=Path), help="Folder of the index (GLOSSATOR_DATA_DIR; .glossator)."
    )(command)


def _choose_book(context: click.Context, _option: click.Parameter, name: str | None) -> None:
    context.meta[_BOOK] = None if name is None else validate_book_name(name)


def command_settings(data_dir: Path | None, **more: object) -> Settings:
    """The settings of the running command, for the book that it names."""
    book = click.get_current_context().meta.get(_BOOK)
    return load_settings(data_dir=data_dir, book=book, **more)


def build_engine(data_dir: Path | None) -> Engine:
    """The engine of the book that the running command names."""
    from glossator.pipeline.wiring import wire

    return wire(command_settings(data_dir))


def run(engine: Engine, work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine, then close the connections that it opened."""

    async def wait() -> T:
        try:
            return await work
        finally:
            # The index is left open: it was only read, and exiting is faster than closing it.
            await engine.close_connections()

    return asyncio.run(wait())


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(dump_json(value, indent=2))
