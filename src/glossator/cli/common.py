"""Shared by the commands: common options, building an engine, running coroutines, printing JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from glossator.core.settings import load_settings
from glossator.core.text.characters import dump_json

if TYPE_CHECKING:
    from glossator.pipeline.wiring import Engine

T = TypeVar("T")
Command = Callable[..., Any]


def common_options(command: Command) -> Command:
    """Add the options that every command has."""
    command = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")(command)
    return click.option(
        "--data-dir", type=click.Path(path_type=Path), help="Folder of the index (GLOSSATOR_DATA_DIR; .glossator)."
    )(command)


def build_engine(data_dir: Path | None) -> Engine:
    """The engine of the book in a data directory."""
    from glossator.pipeline.wiring import wire

    return wire(load_settings(data_dir=data_dir))


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
