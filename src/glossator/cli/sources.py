"""Commands for the sources of the index."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from glossator.cli.common import ListingGroup, build_engine, common_options, print_json, run


@click.group(cls=ListingGroup)
def sources() -> None:
    """List and remove the sources in the index; list is the default."""


@sources.command("list")
@common_options
def list_indexed(data_dir: Path | None, as_json: bool) -> None:
    """List the sources, with their layouts and addresses."""
    from glossator.cli import terminal
    from glossator.pipeline.sources import list_sources

    found = list_sources(build_engine(data_dir))
    print_json([asdict(source) for source in found]) if as_json else terminal.show_sources(found)


@sources.command()
@click.argument("source", metavar="NAME|PATH|URL")
@common_options
def remove(source: str, data_dir: Path | None, as_json: bool) -> None:
    """Remove a source from the index; its files are not deleted."""
    from glossator import pipeline
    from glossator.cli import terminal

    engine = build_engine(data_dir)
    with terminal.progress(enabled=not as_json) as progress:
        report = run(engine, pipeline.remove_source(engine, source, progress))
    print_json(asdict(report)) if as_json else terminal.show_removal(report)
