"""The command line: thin commands over the pipeline.

Exit codes: 0 done · 1 failed: golden questions, or claims that are not supported · 2 bad usage or input ·
3 a source cannot be used · 4 the index cannot serve, or doctor found something amiss · 5 the data directory cannot be
written, or its keys not read · 6 the embedding model is missing or altered · 7 the records of conversations cannot be
used · 130 interrupted.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from glossator import __version__
from glossator.cli.common import Command, finish, print_json, shared, wired
from glossator.cli.keys import keys
from glossator.cli.records import db, sessions
from glossator.core.errors import GlossatorError, QuestionError
from glossator.core.settings import load_settings
from glossator.core.types import Filters


def _filters(command: Command) -> Command:
    command = click.option("--url-prefix", help="Only pages whose address or path begins with this.")(command)
    command = click.option("--section", help="Only this section (exact heading).")(command)
    return click.option("--chapter", help="Only this chapter (exact title).")(command)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="glossator")
def cli() -> None:
    """Ask a book; every sentence of the answer is cited."""


@cli.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--base-url", help="Address at which the book's root stands; citations link there.")
@click.option("--only", is_flag=True, help="Drop every source that is not named here.")
@shared
def ingest(sources: tuple[str, ...], base_url: str | None, only: bool, data_dir: Path | None, as_json: bool) -> None:
    """Index folders or files of Markdown, MDX, HTML or text."""
    from glossator import pipeline
    from glossator.cli import terminal

    engine = wired(data_dir)
    with terminal.progress(enabled=not as_json) as progress:
        report = finish(engine, pipeline.ingest(engine, sources, base_url, only, progress))
    print_json(asdict(report)) if as_json else terminal.show_report(report)


@cli.command()
@click.argument("question")
@click.option("--selection", help="A file (or - for standard input): answer only from its text.")
@click.option("--top-k", default=5, show_default=True, type=click.IntRange(1, 100), help="How many passages to read.")
@click.option("--session", help="Make it part of this conversation; a new id begins one.")
@_filters
@shared
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
    asked = Question(question, _selection(selection), _made(filters), top_k, session=key)
    engine = wired(data_dir)
    answer = finish(engine, pipeline.ask(engine, asked))
    print_json(asdict(answer)) if as_json else terminal.show_answer(answer)


@cli.command()
@click.option("--session", help="Go on with this conversation; without it a new one begins.")
@_filters
@shared
def chat(session: str | None, data_dir: Path | None, as_json: bool, **filters: str | None) -> None:
    """Ask one question after another; an empty line ends it.

    With --json every answer is one line of JSON.
    """
    from glossator.cli import terminal
    from glossator.core.conversations import session_key

    key = session_key(session)
    engine = wired(data_dir)
    if not as_json:
        terminal.show_chat(key.name)
    finish(engine, _chat(engine, key, _made(filters), as_json))


async def _chat(engine: Any, key: Any, filters: Filters, as_json: bool) -> None:
    from glossator import pipeline
    from glossator.cli import terminal
    from glossator.core.question import Question

    while (question := await asyncio.to_thread(terminal.next_question, prompt=not as_json)) is not None:
        try:
            answer = await pipeline.ask(engine, Question(question, filters=filters, session=key))
        except QuestionError as error:
            click.echo(f"glossator: {error}", err=True)
            continue
        click.echo(json.dumps(asdict(answer), ensure_ascii=False)) if as_json else terminal.show_answer(answer)


@cli.command()
@click.argument("query")
@click.option("--top-k", default=5, show_default=True, type=click.IntRange(1, 100), help="How many passages to show.")
@_filters
@shared
def search(query: str, top_k: int, data_dir: Path | None, as_json: bool, **filters: str | None) -> None:
    """Find the passages nearest to a question."""
    from glossator import pipeline
    from glossator.cli import terminal
    from glossator.core.question import Question

    engine = wired(data_dir)
    found = finish(engine, pipeline.search(engine, Question(query, filters=_made(filters), top_k=top_k)))
    if as_json:
        print_json({"query": query, "results": [asdict(p) for p in found.passages], "generation": found.generation})
    else:
        terminal.show_passages(found.passages)


@cli.command("eval")
@click.argument("golden", type=click.Path(path_type=Path))
@click.option(
    "--fail-under", default=0.95, show_default=True, type=click.FloatRange(0, 1), help="Share that must pass."
)
@shared
def evaluate(golden: Path, fail_under: float, data_dir: Path | None, as_json: bool) -> None:
    """Ask the golden questions of a book; fails when too many fail."""
    from glossator import pipeline
    from glossator.cli import terminal
    from glossator.evaluate.golden import load_golden, summarise

    questions = load_golden(golden)
    engine = wired(data_dir)
    outcomes = finish(engine, pipeline.evaluate(engine, questions))
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
@click.option("--source", "sources", multiple=True, help="A file that the text must keep to; may be given often.")
@click.option("--batch", help="A JSON Lines file: {claim, passages} each line.")
@shared
def verify(text: str | None, sources: tuple[str, ...], batch: str | None, data_dir: Path | None, as_json: bool) -> None:
    """Check a text, claim by claim.

    TEXT is a file, or - for standard input. It is checked against the sources, or against the book when none is
    given. A mark such as [2] in it cites the second source. Fails when a claim is not supported.
    """
    from glossator import pipeline
    from glossator.cli import batches, terminal

    if (text is None) == (batch is None):
        raise click.UsageError("Give a TEXT or a --batch.")
    engine = wired(data_dir)
    if batch is not None:
        results = batches.verify_batch(engine.verifier, batches.read_batch(_read(batch)))
        good = all(result["supported"] for result in results)
        print_json({"supported": good, "results": results}) if as_json else terminal.show_batch(results)
    else:
        passages = [_read(source) for source in sources] or None
        checked = finish(engine, pipeline.verify(engine, _read(text or ""), passages))
        good = not checked.unsupported_claims
        print_json({"supported": good, **asdict(checked)}) if as_json else terminal.show_checked(checked)
    if not good:
        raise SystemExit(1)


@cli.command()
@click.argument("receipt_id", metavar="ID")
@shared
def replay(receipt_id: str, data_dir: Path | None, as_json: bool) -> None:
    """Check an old answer against today's book; fails when it no longer holds."""
    from glossator import pipeline
    from glossator.cli import terminal

    engine = wired(data_dir)
    result = finish(engine, pipeline.replay(engine, receipt_id))
    print_json(asdict(result)) if as_json else terminal.show_replay(result)
    if not result.holds:
        raise SystemExit(1)


@cli.command()
@click.option("--live", is_flag=True, help="Ask every configured language model something.")
@shared
def doctor(live: bool, data_dir: Path | None, as_json: bool) -> None:
    """Show what is active, and why."""
    from glossator.cli import terminal
    from glossator.cli.doctor import examine

    findings = examine(load_settings(data_dir=data_dir), live=live)
    print_json([asdict(f) for f in findings]) if as_json else terminal.show_findings(findings)
    if not all(f.good for f in findings):
        raise SystemExit(4)


@cli.command()
@click.option("--host", help="Address to listen on (GLOSSATOR_HOST; 127.0.0.1).")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on (GLOSSATOR_PORT; 8000).")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="Server processes.")
@shared
def serve(host: str | None, port: int | None, workers: int, data_dir: Path | None, as_json: bool) -> None:
    """Serve the book over HTTP."""
    from glossator.serve.run import run_server

    run_server(load_settings(data_dir=data_dir, host=host, port=port), workers, quiet=as_json)


@cli.command()
@click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Where the index lives (GLOSSATOR_DATA_DIR; .glossator)."
)
def mcp(data_dir: Path | None) -> None:
    """Offer the book to other programs as tools: the Model Context Protocol on standard input and output."""
    from glossator.serve.mcp.server import serve_stdio

    engine = wired(data_dir)
    finish(engine, serve_stdio(engine))


def _made(filters: dict[str, str | None]) -> Filters:
    return Filters(filters["url_prefix"], filters["section"], filters["chapter"])


def _selection(name: str | None) -> str | None:
    """The selection's very characters: line ends stay as they are, for citations count them."""
    return None if name is None else _read(name)


def _read(name: str) -> str:
    """A file's text, or that of standard input."""
    try:
        return (sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()).decode("utf-8")
    except UnicodeDecodeError:
        raise QuestionError(f"{name} is not UTF-8 text.", "Save it as UTF-8.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise QuestionError(
            f"{name} cannot be read ({reason}).", "Give a text file, or - for standard input."
        ) from None


cli.add_command(sessions)
cli.add_command(db)
cli.add_command(keys)


def main() -> None:
    """Run a command; an error of ours is one line and an exit code."""
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
        # Whoever read our output has left; nothing may be written to it any more, not even at exit.
        os._exit(1)


def _fail(message: str, code: int) -> None:
    from glossator.cli.terminal import visible

    click.echo(f"glossator: {visible(message)}", err=True)
    sys.exit(code)


def _interrupt(_signal: int, _frame: object) -> None:
    """Leave at once: work goes on in threads that would be waited for, and what is half done harms nothing."""
    from glossator.cli.terminal import show_cursor

    show_cursor()
    click.echo("glossator: interrupted.", err=True)
    os._exit(130)
