"""Commands for all books of a data directory."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path

import click

from glossator.cli.common import ListingGroup, print_json, server_options
from glossator.core.book.names import validate_book_name
from glossator.core.errors import BadInput
from glossator.core.settings import load_settings


@click.group(cls=ListingGroup)
def books() -> None:
    """List and delete the books of a data directory; list is the default."""


@books.command("list")
@server_options
def list_all(data_dir: Path | None, as_json: bool) -> None:
    """List the books: their names, titles, sizes, versions and languages."""
    from glossator.cli import terminal
    from glossator.pipeline.sources import list_books

    found = list_books(load_settings(data_dir=data_dir))
    print_json([asdict(book) for book in found]) if as_json else terminal.show_books(found)


@books.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@server_options
def delete(name: str, yes: bool, data_dir: Path | None, as_json: bool) -> None:
    """Permanently delete a named book with its index, conversations, receipts and feedback.

    Its source files are not deleted. Running servers stop serving it without a restart.
    """
    from glossator.pipeline.indexing import delete_book
    from glossator.pipeline.sources import find_book
    from glossator.pipeline.wiring import wire

    if not validate_book_name(name):
        raise BadInput(
            "The unnamed book cannot be deleted as a whole.",
            "Remove its sources with `glossator sources remove`, or delete the data directory.",
        )
    settings = load_settings(data_dir=data_dir, book=name)
    find_book(settings)
    if not yes and not _is_confirmed(name):
        raise BadInput("Nothing was deleted.", "Confirm with y, or pass --yes.")
    asyncio.run(delete_book(wire(settings)))
    print_json({"deleted": name}) if as_json else click.echo(f"Book {name} deleted.")


def _is_confirmed(name: str) -> bool:
    try:
        return click.confirm(f"Delete the book {name} with its conversations?", err=True)
    except click.Abort:  # there is nobody to answer
        return False
