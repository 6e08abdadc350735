"""The command line: thin commands over the pipeline.

Exit codes: 0 success · 1 golden questions failed, claims are unsupported, or the server cannot listen on its address ·
2 invalid usage or input · 3 a source cannot be ingested · 4 the index cannot be searched, or doctor found a problem ·
5 the data directory cannot be written, or its key file cannot be read · 6 the embedding model is missing, altered or
unreachable · 7 conversations cannot be read or stored · 8 no language model responds, and there is nothing to quote
instead · 130 or 143 stopped by a signal (run an interrupted ingest again to continue it).
"""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from glossator import __version__
from glossator.cli.books import books
from glossator.cli.common import (
    Command,
    book_options,
    build_engine,
    command_settings,
    common_options,
    print_json,
    run,
)
from glossator.cli.index import index, rollback
from glossator.cli.keys import keys
from glossator.cli.records import db, feedback, sessions
from glossator.cli.sources import sources
from glossator.core.book.sources import Layout, SourceOptions, patterns
from glossator.core.errors import GlossatorError, QuestionError
from glossator.core.text.characters import dump_json
from glossator.core.types import Filters
from glossator.core.validation import MAX_TOP_K

if TYPE_CHECKING:
    from glossator.core.conversations import SessionKey
    from glossator.pipeline.wiring import Engine

_TOP_K = click.IntRange(1, MAX_TOP_K)
_version_option = click.option("--version", help="Version of the book to use; by default, the current one.")


def _filters(command: Command) -> Command:
    command = _version_option(command)
    command = click.option("--url-prefix", help="Only pages whose URL or path begins with this.")(command)
    command = click.option("--section", help="Only this section (exact heading).")(command)
    return click.option("--chapter", help="Only this chapter (exact title).")(command)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="glossator")
def cli() -> None:
    """Ask a book; every sentence of the answer is cited."""


@cli.command()
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option(
    "--base-url", help='URL where the book is published; citations link to it. "" if it is only served here, at /book.'
)
@click.option(
    "--layout",
    type=click.Choice([layout.value for layout in Layout]),
    help="Layout of the files; detected by default.",
)
@click.option("--name", help="Name of the book; by default, the title of the site.")
@click.option("--snippets", metavar="FOLDER", help="Folder outside the source whose files its pages may include.")
@click.option("--ref", help='Branch or tag of a git repository, or "main:docs" for a folder of it.')
@click.option("--include", multiple=True, metavar="PATTERN", help="Read only files or pages that match; repeatable.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Skip files or pages that match; repeatable.")
@click.option(
    "--allow-private/--no-allow-private",
    default=None,
    help="Whether a site or repository may have a private network address.",
)
@click.option(
    "--versions", multiple=True, metavar="NAME", help="Versions of the book, the current one first; repeatable."
)
@click.option("--only", is_flag=True, help="Remove all other sources from the index.")
@click.option("--dry-run", is_flag=True, help="Show what would change without writing anything.")
@click.option("--watch", is_flag=True, help="Ingest again whenever files of the folders change, until interrupted.")
@common_options
def ingest(
    sources: tuple[str, ...],
    base_url: str | None,
    layout: str | None,
    name: str | None,
    snippets: str | None,
    ref: str | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    allow_private: bool | None,
    versions: tuple[str, ...],
    only: bool,
    dry_run: bool,
    watch: bool,
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Index folders and files, live sites and git repositories.

    Files may be Markdown, MDX, HTML, text, reStructuredText, AsciiDoc, notebooks, EPUB or PDF. A site is the URL of its
    first page: all pages below it are read. A repository is a URL that git can clone, with #main for a branch or tag.
    PATTERN has the syntax of .gitignore and is relative to the source; "" removes earlier patterns.

    Other sources stay in the index, and omitted options keep their earlier values. Without SOURCE, all sources of the
    index are read again.
    """
    from glossator.cli.ingest import run_ingest

    options = SourceOptions(
        base_url=base_url,
        layout=Layout(layout) if layout else None,
        name=name,
        snippets=snippets,
        ref=ref,
        include=patterns(include),
        exclude=patterns(exclude),
        allow_private=allow_private,
        versions=patterns(versions),
    )
    if dry_run and watch:
        raise click.UsageError("Use either --dry-run or --watch.")
    run_ingest(build_engine(data_dir), sources, options, only=only, dry_run=dry_run, watch=watch, as_json=as_json)


@cli.command()
@click.argument("question")
@click.option("--selection", help="File (or - for standard input) to answer from, instead of the book.")
@click.option("--top-k", default=5, show_default=True, type=_TOP_K, help="Number of passages to use.")
@click.option("--session", help="Conversation to add the question to; a new id starts one.")
@_filters
@common_options
def ask(
    question: str,
    selection: str | None,
    top_k: int,
    session: str | None,
    data_dir: Path | None,
    as_json: bool,
    **filters: str | None,
) -> None:
    """Answer a question from the book."""
    from glossator import pipeline
    from glossator.cli import terminal
    from glossator.core.conversations import session_key
    from glossator.core.question import Question

    key = session_key(session) if session is not None else None
    asked = Question(question, _read_selection(selection), _to_filters(filters), top_k, session=key)
    engine = build_engine(data_dir)
    answer = run(engine, pipeline.ask(engine, asked))
    print_json(asdict(answer)) if as_json else terminal.show_answer(answer, engine.settings)


@cli.command()
@click.option("--session", help="Conversation to continue; by default a new one.")
@_filters
@common_options
def chat(session: str | None, data_dir: Path | None, as_json: bool, **filters: str | None) -> None:
    """Ask questions interactively; an empty line ends the conversation.

    With --json, each answer is one line of JSON.
    """
    from glossator.cli import terminal
    from glossator.core.conversations import session_key
    from glossator.pipeline.sources import book_name

    key = session_key(session)
    engine = build_engine(data_dir)
    if not as_json:
        terminal.show_chat(key.name, book_name(engine))
    run(engine, _chat(engine, key, _to_filters(filters), as_json))


async def _chat(engine: Engine, key: SessionKey, filters: Filters, as_json: bool) -> None:
    from glossator import pipeline
    from glossator.cli import terminal
    from glossator.core.question import Question

    while (question := await asyncio.to_thread(terminal.next_question, prompt=not as_json)) is not None:
        try:
            answer = await pipeline.ask(engine, Question(question, filters=filters, session=key))
        except QuestionError as error:
            click.echo(f"glossator: {terminal.sanitized(str(error))}", err=True)
            continue
        if as_json:
            click.echo(dump_json(asdict(answer)))
        else:
            terminal.show_answer(answer, engine.settings)


@cli.command()
@click.argument("query")
@click.option("--top-k", default=5, show_default=True, type=_TOP_K, help="Number of passages to show.")
@_filters
@common_options
def search(query: str, top_k: int, data_dir: Path | None, as_json: bool, **filters: str | None) -> None:
    """Find the best passages for a query."""
    from glossator import pipeline
    from glossator.cli import terminal
    from glossator.core.question import Question

    engine = build_engine(data_dir)
    found = run(engine, pipeline.search(engine, Question(query, filters=_to_filters(filters), top_k=top_k)))
    if as_json:
        print_json({"query": query, "results": [asdict(p) for p in found.passages], "generation": found.generation})
    else:
        terminal.show_passages(found.passages, engine.settings)


@cli.command("eval")
@click.argument("golden", type=click.Path(path_type=Path))
@click.option(
    "--fail-under",
    default=0.95,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Share of questions that must pass.",
)
@common_options
def evaluate(golden: Path, fail_under: float, data_dir: Path | None, as_json: bool) -> None:
    """Run the golden questions of a book; exits with 1 if too many fail."""
    from glossator import pipeline
    from glossator.cli import terminal
    from glossator.evaluate.golden import load_golden, summarise

    questions = load_golden(golden)
    engine = build_engine(data_dir)
    outcomes = run(engine, pipeline.evaluate(engine, questions))
    summary = summarise(outcomes)
    if as_json:
        failed = [{"id": o.golden.id, "rank": o.rank, "abstained": o.abstained} for o in outcomes if not o.passed]
        print_json({"summary": asdict(summary), "failed": failed})
    else:
        terminal.show_outcomes(outcomes, summary)
    if summary.passed < fail_under * summary.questions:
        raise SystemExit(1)


@cli.command()
@click.argument("text", required=False, metavar="[TEXT]")
@click.option("--source", "sources", multiple=True, help="File to check the text against. Can be repeated.")
@click.option("--batch", help="JSON Lines file with {claim, passages} on each line.")
@_version_option
@common_options
def verify(
    text: str | None,
    sources: tuple[str, ...],
    batch: str | None,
    version: str | None,
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Check a text, claim by claim.

    TEXT is a file, or - for standard input. It is checked against the sources, or against the book if no source is
    given. A mark such as [2] cites the second source. Exits with 1 if a claim is not supported.
    """
    from glossator import pipeline
    from glossator.cli import batches, terminal

    if (text is None) == (batch is None):
        raise click.UsageError("Pass either TEXT or --batch.")
    if version is not None and (sources or batch is not None):
        raise click.UsageError("--version applies only if the text is checked against the book.")
    engine = build_engine(data_dir)
    if batch is not None:
        results = batches.verify_batch(engine.verifier, batches.read_batch(_read(batch)))
        passed = all(result["supported"] for result in results)
        print_json({"supported": passed, "results": results}) if as_json else terminal.show_batch(results)
    else:
        passages = [_read(source) for source in sources] or None
        checked = run(engine, pipeline.verify(engine, _read(text or ""), passages, version))
        passed = not checked.unsupported_claims
        print_json({"supported": passed, **asdict(checked)}) if as_json else terminal.show_checked(checked)
    if not passed:
        raise SystemExit(1)


@cli.command()
@click.argument("receipt_id", metavar="ID")
@common_options
def replay(receipt_id: str, data_dir: Path | None, as_json: bool) -> None:
    """Check an earlier answer against the current book; exits with 1 if it no longer holds."""
    from glossator import pipeline
    from glossator.cli import terminal

    engine = build_engine(data_dir)
    result = run(engine, pipeline.replay(engine, receipt_id))
    print_json(asdict(result)) if as_json else terminal.show_replay(result)
    if not result.holds:
        raise SystemExit(1)


@cli.command()
@click.option("--live", is_flag=True, help="Send a request to every configured language model.")
@common_options
def doctor(live: bool, data_dir: Path | None, as_json: bool) -> None:
    """Show the active configuration and check that it works."""
    from glossator.cli import terminal
    from glossator.cli.doctor import diagnose

    findings = diagnose(command_settings(data_dir), live=live)
    print_json([asdict(f) for f in findings]) if as_json else terminal.show_findings(findings)
    if not all(f.good for f in findings):
        raise SystemExit(4)


@cli.command()
@click.option("--host", help="Address to listen on (GLOSSATOR_HOST; 127.0.0.1).")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on (GLOSSATOR_PORT; 8000).")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="Number of server processes.")
@common_options
def serve(host: str | None, port: int | None, workers: int, data_dir: Path | None, as_json: bool) -> None:
    """Serve the book over HTTP, and the other books of the data directory below /books."""
    from glossator.serve.run import run_server

    run_server(command_settings(data_dir, host=host, port=port), workers, quiet=as_json)


@cli.command()
@book_options
def mcp(data_dir: Path | None) -> None:
    """Serve the book as tools over the Model Context Protocol, on standard input and output."""
    from glossator.serve.mcp.server import serve_stdio

    engine = build_engine(data_dir)
    run(engine, serve_stdio(engine))


def _to_filters(filters: dict[str, str | None]) -> Filters:
    return Filters(filters["url_prefix"], filters["section"], filters["chapter"], filters["version"])


def _read_selection(name: str | None) -> str | None:
    """The selection as it is: citations count its characters, so line ends stay unchanged."""
    return None if name is None else _read(name)


def _read(name: str) -> str:
    """The text of a file, or of standard input."""
    try:
        return (sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()).decode("utf-8")
    except UnicodeDecodeError:
        raise QuestionError(f"{name} is not UTF-8 text.", "Save it as UTF-8.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise QuestionError(f"{name} cannot be read ({reason}).", "Use a text file, or - for standard input.") from None


for command in (sessions, feedback, db, keys, sources, books, index, rollback):
    cli.add_command(command)


def main() -> None:
    """Run a command; errors are printed as one line and become an exit code."""
    signal.signal(signal.SIGINT, _interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        cli.main(prog_name="glossator", standalone_mode=False)
    except GlossatorError as error:
        _fail(str(error), error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        _fail(f"{error.format_message()} Try `{context.command_path if context else 'glossator'} --help`.", 2)
    except BrokenPipeError:
        # The process that reads our output is gone; nothing more may be written to it, not even at exit.
        os._exit(1)


def _fail(message: str, code: int) -> None:
    from glossator.cli.terminal import sanitized

    click.echo(f"glossator: {sanitized(message)}", err=True)
    sys.exit(code)


def _interrupt(number: int, _frame: object) -> None:
    """Exit immediately: a normal exit would wait for running threads, and partial work does no harm."""
    from glossator.cli.terminal import show_cursor

    show_cursor()
    click.echo("glossator: interrupted.", err=True)
    os._exit(128 + number)
