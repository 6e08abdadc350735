"""The command line: thin commands over the pipeline.

Exit codes: 0 done · 1 failed: golden questions, or claims that are not supported · 2 bad usage or input ·
3 a source cannot be used · 4 the index cannot serve, or doctor found something amiss · 5 the data directory cannot be
written · 6 the embedding model is missing or altered · 130 interrupted.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click

from glossator import __version__
from glossator.core.errors import GlossatorError, QuestionError
from glossator.core.settings import load_settings
from glossator.core.types import Filters

T = TypeVar("T")
Command = Callable[..., Any]


def _shared(command: Command) -> Command:
    """The options of every command."""
    command = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")(command)
    return click.option(
        "--data-dir", type=click.Path(path_type=Path), help="Where the index lives (GLOSSATOR_DATA_DIR; .glossator)."
    )(command)


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
@_shared
def ingest(sources: tuple[str, ...], base_url: str | None, only: bool, data_dir: Path | None, as_json: bool) -> None:
    """Index folders or files of Markdown, MDX, HTML or text."""
    from glossator import pipeline, terminal

    parts = _parts(data_dir)
    with terminal.progress(enabled=not as_json) as progress:
        report = _run(pipeline.ingest(parts, sources, base_url, only, progress))
    _print(asdict(report)) if as_json else terminal.show_report(report)


@cli.command()
@click.argument("question")
@click.option("--selection", help="A file (or - for standard input): answer only from its text.")
@click.option("--top-k", default=5, show_default=True, type=click.IntRange(1, 100), help="How many passages to read.")
@_filters
@_shared
def ask(
    question: str, selection: str | None, top_k: int, data_dir: Path | None, as_json: bool, **filters: str | None
) -> None:
    """Answer a question from the book."""
    from glossator import pipeline, terminal

    parts = _parts(data_dir)
    answer = _run(pipeline.ask(parts, question, _selection(selection), top_k, _made(filters)))
    _print(asdict(answer)) if as_json else terminal.show_answer(answer)


@cli.command()
@click.argument("query")
@click.option("--top-k", default=5, show_default=True, type=click.IntRange(1, 100), help="How many passages to show.")
@_filters
@_shared
def search(query: str, top_k: int, data_dir: Path | None, as_json: bool, **filters: str | None) -> None:
    """Find the passages nearest to a question."""
    from glossator import pipeline, terminal

    parts = _parts(data_dir)
    found = _run(pipeline.search(parts, query, top_k, _made(filters)))
    if as_json:
        _print({"query": query, "results": [asdict(p) for p in found.passages], "generation": found.generation})
    else:
        terminal.show_passages(found.passages)


@cli.command("eval")
@click.argument("golden", type=click.Path(path_type=Path))
@click.option(
    "--fail-under", default=0.95, show_default=True, type=click.FloatRange(0, 1), help="Share that must pass."
)
@_shared
def evaluate(golden: Path, fail_under: float, data_dir: Path | None, as_json: bool) -> None:
    """Ask the golden questions of a book; fails when too many fail."""
    from glossator import pipeline, terminal
    from glossator.evaluate.golden import load_golden, summarise

    questions = load_golden(golden)
    outcomes = _run(pipeline.evaluate(_parts(data_dir), questions))
    summary = summarise(outcomes)
    if as_json:
        failed = [{"id": o.golden.id, "rank": o.rank, "abstained": o.abstained} for o in outcomes if not o.passed]
        _print({"summary": asdict(summary), "failed": failed})
    else:
        terminal.show_outcomes(outcomes, summary)
    if summary.passed < fail_under * summary.questions:
        raise SystemExit(1)


@cli.command()
@click.argument("text", required=False, metavar="[TEXT]")
@click.option("--source", "sources", multiple=True, help="A file that the text must keep to; may be given often.")
@click.option("--batch", help="A JSON Lines file: {claim, passages} each line.")
@_shared
def verify(text: str | None, sources: tuple[str, ...], batch: str | None, data_dir: Path | None, as_json: bool) -> None:
    """Check a text, claim by claim.

    TEXT is a file, or - for standard input. It is checked against the sources, or against the book when none is
    given. A mark such as [2] in it cites the second source. Fails when a claim is not supported.
    """
    from glossator import batches, pipeline, terminal

    if (text is None) == (batch is None):
        raise click.UsageError("Give a TEXT or a --batch.")
    parts = _parts(data_dir)
    if batch is not None:
        results = batches.verify_batch(parts.verifier, batches.read_batch(_read(batch)))
        good = all(result["supported"] for result in results)
        _print({"supported": good, "results": results}) if as_json else terminal.show_batch(results)
    else:
        passages = [_read(source) for source in sources] or None
        checked = _run(pipeline.verify(parts, _read(text or ""), passages))
        good = not checked.unsupported_claims
        _print({"supported": good, **asdict(checked)}) if as_json else terminal.show_checked(checked)
    if not good:
        raise SystemExit(1)


@cli.command()
@click.argument("receipt_id", metavar="ID")
@_shared
def replay(receipt_id: str, data_dir: Path | None, as_json: bool) -> None:
    """Check an old answer against today's book; fails when it no longer holds."""
    from glossator import pipeline, terminal

    result = _run(pipeline.replay(_parts(data_dir), receipt_id))
    _print(asdict(result)) if as_json else terminal.show_replay(result)
    if not result.holds:
        raise SystemExit(1)


@cli.command()
@_shared
def doctor(data_dir: Path | None, as_json: bool) -> None:
    """Show what is active, and why."""
    from glossator import terminal
    from glossator.doctor import examine

    findings = examine(load_settings(data_dir=data_dir))
    _print([asdict(f) for f in findings]) if as_json else terminal.show_findings(findings)
    if not all(f.good for f in findings):
        raise SystemExit(4)


@cli.command()
@click.option("--host", help="Address to listen on (GLOSSATOR_HOST; 127.0.0.1).")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on (GLOSSATOR_PORT; 8000).")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="Server processes.")
@_shared
def serve(host: str | None, port: int | None, workers: int, data_dir: Path | None, as_json: bool) -> None:
    """Serve the book over HTTP."""
    from glossator.serve.run import run_server

    run_server(load_settings(data_dir=data_dir, host=host, port=port), workers, quiet=as_json)


def _parts(data_dir: Path | None) -> Any:
    from glossator.parts import wire

    return wire(load_settings(data_dir=data_dir))


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


def _run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def _print(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


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
    from glossator.terminal import visible

    click.echo(f"glossator: {visible(message)}", err=True)
    sys.exit(code)


def _interrupt(_signal: int, _frame: object) -> None:
    """Leave at once: work goes on in threads that would be waited for, and what is half done harms nothing."""
    from glossator.terminal import show_cursor

    show_cursor()
    click.echo("glossator: interrupted.", err=True)
    os._exit(130)
