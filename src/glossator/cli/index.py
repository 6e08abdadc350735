"""Commands for the index itself."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from glossator.cli.common import build_engine, command_settings, common_options, print_json, run

_KINDS = click.Choice(["embedded", "postgres", "qdrant"])


@click.group()
def index() -> None:
    """Move the index between the data directory, Postgres and Qdrant."""


@index.command()
@click.option("--to", "target", required=True, type=_KINDS, help="Where to copy the index to.")
@click.option("--from", "source", type=_KINDS, help="Where the index is now; by default, as set with GLOSSATOR_INDEX.")
@common_options
def copy(target: Any, source: Any, data_dir: Path | None, as_json: bool) -> None:
    """Copy the current generation to another index, without embedding anything again.

    Nothing is deleted. The copy is checked before it becomes active. If a copy to a server is interrupted, the next one
    continues where it stopped. Set GLOSSATOR_INDEX to use the copy.
    """
    from glossator.cli import terminal
    from glossator.pipeline.copying import copy_index

    with terminal.progress(enabled=not as_json) as progress:
        report = copy_index(command_settings(data_dir), target, source, progress)
    if as_json:
        print_json(asdict(report))
    else:
        click.echo(
            f"Copied {report.documents} documents and {report.chunks} chunks from {report.source} to {report.target}:"
            f" generation {report.generation}, {report.samples} chunks compared."
        )


@click.command()
@common_options
def rollback(data_dir: Path | None, as_json: bool) -> None:
    """Switch back to the previous generation of the index.

    Running servers switch without a restart. A second rollback undoes the first.
    """
    from glossator import pipeline

    engine = build_engine(data_dir)
    report = run(engine, pipeline.rollback(engine))
    if as_json:
        print_json(asdict(report))
    else:
        click.echo(
            f"Generation {report.generation} is now active: {report.documents} documents, {report.chunks} chunks, built"
            f" {report.created_at}. `glossator rollback` returns to generation {report.replaced}."
        )
