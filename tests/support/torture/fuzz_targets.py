"""What is fuzzed: each target takes any bytes, and fails if a promise is broken."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

from glossator.core.errors import KeyFileUnreadable, SourceError
from glossator.core.text.formulas import typeset_all
from glossator.core.text.marks import as_source_marks, escape_marks, split_marks, strip_marks
from glossator.core.text.markup import sanitize
from glossator.core.text.sentences import split_sentences
from glossator.ingest.parsing import worker
from glossator.ingest.parsing.parsers import file_response
from glossator.ingest.parsing.values import ParseContext, file_from_values
from glossator.ingest.read import read_source
from glossator.serve.auth.key_file import read_key_file
from glossator.serve.auth.tokens import sign_token, token_caller, token_claims
from glossator.serve.doors.streams import StreamPosition, event
from glossator.verification.claims.citations import extract_citations
from glossator.verification.claims.split import split_draft
from in_process import InProcessParser

MAX_BYTES = 1_000_000
FOLDER = Path(tempfile.gettempdir()) / f"glossator-fuzz-{os.getpid()}"
SECRET = "fuzz" * 16
_HOSTILE = re.compile(r"<script|<iframe|<object|<embed|<[^>]*\son\w+\s*=|javascript:", re.IGNORECASE)


def is_harmless(html: str) -> bool:
    """Whether no tag of it could run or load anything; its text may say what it likes."""
    return not _HOSTILE.search(re.sub(r">[^<]*<", "><", f">{html}<"))


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def file_of(data: bytes, suffix: str) -> Path:
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"page{suffix}"
    path.write_bytes(data)
    return path


def page(suffix: str) -> Callable[[bytes], None]:
    """A page of a source: an error with a reason, or a document with its blocks inside its text."""

    def target(data: bytes) -> None:
        with suppress(SourceError), patch("glossator.ingest.read.FileParser", InProcessParser):
            for document in read_source(str(file_of(data, suffix)), "", MAX_BYTES).documents:
                assert all(0 <= each.start <= each.end <= len(document.text) for each in document.blocks)
                assert is_harmless(document.html), document.html

    return target


def parsed(suffix: str) -> Callable[[bytes], None]:
    """A file that is parsed in a child process: what it returns is an error with a reason, or a parsed file."""
    context = ParseContext(str(FOLDER), "plain", MAX_BYTES)

    def target(data: bytes) -> None:
        response = json.loads(worker.response(file_response, str(file_of(data, suffix)), context))
        if "value" in response:
            file_from_values(response["value"])
        else:
            assert response["error"][0]

    return target


def claims(data: bytes) -> None:
    draft = text_of(data)
    assert "".join(segment.raw for segment in split_draft(draft)) == draft


def citation_marks(data: bytes) -> None:
    text = text_of(data)
    assert "".join(piece for piece, _ in split_marks(text)) == text
    strip_marks(text)
    as_source_marks(text, 5)
    extract_citations(text)
    assert all(number is None for _, number in split_marks(escape_marks(text)) if number is not None and number < 1000)


def sentences(data: bytes) -> None:
    text = text_of(data)
    spans = split_sentences(text)
    assert all(0 <= a.start < a.end <= len(text) for a in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))


def markup(data: bytes) -> None:
    clean = sanitize(text_of(data), lambda _tag, _url: None)
    assert is_harmless(clean), clean


def formulas(data: bytes) -> None:
    typeset_all([text_of(data)])


def events(data: bytes) -> None:
    """No text ends an event early, and no header is a position that is not ours."""
    text = text_of(data)
    position = StreamPosition.parse(text)
    assert position is None or str(position) == text
    lines = event("delta", {"delta": text})
    assert lines.count("\n\n") == 1
    found = json.loads(lines.removeprefix("event: delta\ndata: "))
    assert found == {"delta": text}
    assert len(re.split(r"\r\n|\r|\n", lines)) == 4


def key_file(data: bytes) -> None:
    with suppress(KeyFileUnreadable):
        read_key_file(file_of(data, ".json"))


def tokens(data: bytes) -> None:
    """A token that was changed is no token."""
    real = sign_token(token_claims("https://a.example", None, 60), SECRET)
    text = text_of(data)
    at = len(data) % len(real)
    for forged in (text, real[:at] + text + real[at + len(text) :], f"{real}.{text}"):
        assert forged == real or token_caller(forged, SECRET, "https://a.example", {"k"}) is None


TARGETS: dict[str, Callable[[bytes], None]] = {
    **{name: page(suffix) for name, suffix in {"Markdown": ".md", "MDX": ".mdx", "HTML": ".html"}.items()},
    **{
        name: parsed(suffix)
        for name, suffix in {
            "reStructuredText": ".rst",
            "AsciiDoc": ".adoc",
            "notebook": ".ipynb",
            "EPUB": ".epub",
            "PDF": ".pdf",
        }.items()
    },
    "claims": claims,
    "citation marks": citation_marks,
    "sentences": sentences,
    "sanitizer": markup,
    "formulas": formulas,
    "events": events,
    "key file": key_file,
    "tokens": tokens,
}
