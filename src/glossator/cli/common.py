"""What the commands share: their options, the engine they work with, how they wait and print."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from glossator.core.settings import load_settings

if TYPE_CHECKING:
    from glossator.pipeline.wiring import Engine

T = TypeVar("T")
Command = Callable[..., Any]


def shared(command: Command) -> Command:
    """The options of every command."""
    command = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")(command)
    return click.option(
        "--data-dir", type=click.Path(path_type=Path), help="Where the index lives (GLOSSATOR_DATA_DIR; .glossator)."
    )(command)


def wired(data_dir: Path | None) -> Engine:
    """The engine of a data directory's book."""
    from glossator.pipeline.wiring import wire

    return wire(load_settings(data_dir=data_dir))


def finish(engine: Engine, work: Coroutine[Any, Any, T]) -> T:
    """Wait for some work, then let go of what it opened."""

    async def wait() -> T:
        try:
            return await work
        finally:
            # The index was only read, and the end of the process lets go of it faster.
            await engine.close_connections()

    return asyncio.run(wait())


def print_json(value: Any) -> None:
    """JSON for another program."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))
