"""File formats: how fast each is read and chunked, and whether one book gives the same answers in three of them."""

from __future__ import annotations

import re
import resource
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import glossator
from glossator.embed.local import LocalEmbedder, built_in_model
from glossator.facade import Book
from glossator.ingest.chunk import chunk_document
from glossator.ingest.formats.pdf.pdfium import read_content
from glossator.ingest.read import SourceContents, read_source
from lib.books import debian_reference
from lib.common import CACHE, unpack

QUESTIONS = (
    ("How many bits must an OpenPGP key have?", "greater than 2048 bits"),
    ("How often are the scripts run that update the testing distribution?", "twice each day"),
    ("What is the defining characteristic of a pristine source tarball?", "byte-for-byte identical"),
    ("Which mailing list is mandatory for anyone who wishes to follow Debian's development?", "debian-devel-announce"),
    ("What is collaborative maintenance?", "sharing of Debian package maintenance duties"),
    ("Why is it a bad idea to put all team members in the Uploaders field?", "clutters"),
    ("What should the subject of a mail about my vacation begin with?", "[VAC]"),
    ("What is the purpose of the Developer's Reference?", "overview of the recommended procedures"),
    ("What happens if a package has been removed from unstable and nothing in testing depends on it?", "be removed"),
    ("Which implementation of OpenPGP is Debian's baseline standard?", "GNU Privacy Guard"),
)
"""Each with words that its answer must have."""
COMPARED_LETTERS = 40
MIN_MEGABYTES_PER_SECOND, MIN_PAGES_PER_SECOND = 5.0, 100.0


def megabytes(source: Path, suffixes: Sequence[str]) -> float:
    files = [source] if source.is_file() else [p for p in source.rglob("*") if p.suffix in suffixes and p.is_file()]
    return sum(path.stat().st_size for path in files) / 1e6


def processor_seconds() -> float:
    """The processor time of this process and of the child processes that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def timed(work: Callable[[], object]) -> tuple[object, float, float]:
    """The result, with the seconds that passed and those of the processors."""
    started, used = time.perf_counter(), processor_seconds()
    result = work()
    return result, time.perf_counter() - started, processor_seconds() - used


def measure(name: str, source: Path, suffixes: Sequence[str], embedder: LocalEmbedder, limit: float = 0.0) -> None:
    def read_and_chunk() -> tuple[SourceContents, int]:
        contents = read_source(str(source), "", 10**9)
        return contents, sum(len(chunk_document(d, embedder.count_tokens)) for d in contents.documents)

    read_and_chunk()
    (contents, chunks), seconds, used = timed(read_and_chunk)  # type: ignore[misc]
    size = megabytes(source, suffixes)
    verdict = f" (limit {limit:.0f}: {_verdict(size / seconds >= limit)})" if limit else ""
    print(
        f"{name}: {contents.layout}, {len(contents.documents)} documents, {chunks} chunks, {size:.2f} MB"
        f" in {seconds:.2f} s = {size / seconds:.2f} MB/s{verdict}; {size / used:.2f} MB per second of one processor;"
        f" {len(contents.skipped)} skipped, {len(contents.notes)} notes"
    )


def measure_pdf(path: Path) -> None:
    pages = len(read_content(path).pages)
    copies = CACHE / "pdf-copies"
    shutil.rmtree(copies, ignore_errors=True)
    copies.mkdir(parents=True)
    for number in range(6):
        shutil.copy(path, copies / f"{number}.pdf")
    for name, source, count in (("one PDF", path, pages), ("six PDFs", copies, 6 * pages)):
        _, seconds, used = timed(lambda source=source: read_source(str(source), "", 10**9))  # type: ignore[misc]
        print(
            f"{name}: {count} pages in {seconds:.2f} s = {count / seconds:.0f} pages per second"
            f" (limit {MIN_PAGES_PER_SECOND:.0f}: {_verdict(count / seconds >= MIN_PAGES_PER_SECOND)});"
            f" {count / used:.0f} per second of one processor"
        )


def compare_answers(sources: dict[str, Path]) -> None:
    """Ask the same questions of the same book in each format."""
    books: dict[str, Book] = {}
    for name, source in sources.items():
        books[name] = glossator.open(CACHE / "index" / f"formats-{name}")
        report = books[name].ingest(source, base_url="", only=True)
        print(f"{name}: {report.chunks} chunks, {report.embeddings.made} embedded in {report.seconds:.1f} s")
    right, agreed, whole = dict.fromkeys(sources, 0), 0, 0
    for question, expected in QUESTIONS:
        answers = {name: book.ask(question) for name, book in books.items()}
        found = {name: expected.lower() in answer.text.lower() for name, answer in answers.items()}
        right |= {name: right[name] + held for name, held in found.items()}
        is_same = len({_first_words(answer) for answer in answers.values()}) == 1
        is_whole = len({_quotes(answer) for answer in answers.values()}) == 1
        agreed, whole = agreed + is_same, whole + is_whole
        print(f"  {'same throughout' if is_whole else 'same' if is_same else 'DIFFERENT'}: {question}")
        for name, answer in answers.items():
            link = answer.citations[0].url if answer.citations else "no citation"
            if not found[name]:
                print(f"    {name} lacks {expected!r}: {answer.text[:200]!r}")
            elif name != "html":
                print(f"    {name}: {link[:100]}")
    total = len(QUESTIONS)
    print(f"answers that begin with the same words in all formats: {agreed} of {total} ({_verdict(agreed == total)})")
    print(f"answers that quote the same sentences throughout: {whole} of {total}")
    for name, count in right.items():
        print(f"{name}: {count} of {len(QUESTIONS)} answers have the expected words")


def _first_words(answer: glossator.Answer) -> str:
    """The first letters of the first quote."""
    return _letters(answer.citations[0].quote)[:COMPARED_LETTERS] if answer.citations else ""


def _quotes(answer: glossator.Answer) -> frozenset[str]:
    """The beginnings of all quotes, in any order: further on, the marks of footnotes differ."""
    return frozenset(_letters(citation.quote)[:COMPARED_LETTERS] for citation in answer.citations)


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text.lower())


def _verdict(holds: bool) -> str:
    return "holds" if holds else "DOES NOT HOLD"


def main() -> None:
    embedder = LocalEmbedder(built_in_model())
    reference = debian_reference()
    html = CACHE / "developers-reference-html"
    limit = MIN_MEGABYTES_PER_SECOND
    measure("Markdown (The Rust Book)", unpack("books/rust-book.tar.gz") / "src", (".md",), embedder, limit)
    measure("MDX (Docusaurus)", unpack("books/docusaurus-docs.tar.gz"), (".md", ".mdx"), embedder, limit)
    measure("HTML (Debian)", html, (".html",), embedder, limit)
    measure("EPUB (Debian)", reference / "developers-reference.epub", (), embedder)
    measure("reStructuredText (ROS 2)", unpack("books/ros2-docs-rst.tar.gz") / "source", (".rst",), embedder)
    measure("AsciiDoc (Asciidoctor)", unpack("books/asciidoctor-docs.tar.gz") / "docs", (".adoc",), embedder)
    measure_pdf(reference / "developers-reference.pdf")
    compare_answers(
        {
            "html": html,
            "pdf": reference / "developers-reference.pdf",
            "epub": reference / "developers-reference.epub",
        }
    )


if __name__ == "__main__":
    main()
