"""Parsers, splitters, marks, events, key files and tokens hold their promises for any input."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counters import Counters
from fuzz_targets import TARGETS
from tiny_pdf import paragraph, write_pdf

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("GLOSSATOR_EXAMPLES", "30"))
WORDS = """
# ## ** __ ` ``` ~~~ $ $$ [ ] ( ) ! | --- === > - * + 1. \\ < > / & ; : :: .. _ ^ { } {{ }} % ' " = , . ? \t
[1] [Source 1] [^1] [a](b) ![a](b) {#id} ::: :::note !!! import export {/* */} <!-- --> <div> </div> <p <b>
<script> </script> <style> <svg> onload= javascript: &lt; &#0; &#x41; <table> <tr> <td> <pre> <code> <a href= <img src=
.. note:: .. include:: :ref:` |x| `a`_ ===== ifdef::a[] endif::[] include::x[] |=== [source] ---- **** image::a[] {attr}
{"cells": [ "cell_type": "markdown" "source": "outputs": null ]} true 1e999 \\frac{ \\begin{ } \\left( \\sqrt[
data: event: id: .000000000. {"format": 1, "keys": [] "secret": eyJ alg none
""".split()
CHARACTERS = [
    "\n",
    "\n\n",
    "\r",
    "    ",
    "\x00",
    "\u202e",
    "\u200b",
    "\ufeff",
    "\ud7ff",
    "1" * 5000,
    f" [{'9' * 5000}]",
]
PIECES = [*WORDS, *CHARACTERS]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=60).map(" ".join) | st.lists(
    st.sampled_from(PIECES) | st.text(max_size=3), max_size=60
).map("".join)


def sample_epub() -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile'
            ' full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        )
        archive.writestr(
            "a.opf",
            '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml"'
            ' media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
        )
        archive.writestr("a.xhtml", "<html><body><h1>Tides</h1><p>The Moon causes tides.</p></body></html>")
    return content.getvalue()


def sample_pdf(folder: Path) -> bytes:
    return write_pdf(
        folder / "sample.pdf", [paragraph(["Tides are caused by the Moon.", "The Sun helps."])]
    ).read_bytes()


def damaged(sample: bytes) -> st.SearchStrategy[bytes]:
    """The sample with some of its bytes replaced, and cut."""
    edits = st.lists(st.tuples(st.integers(0, len(sample)), st.binary(max_size=8)), max_size=6)

    def apply(given: tuple[list[tuple[int, bytes]], int]) -> bytes:
        data = bytearray(sample)
        for at, piece in given[0]:
            data[at : at + len(piece)] = piece
        return bytes(data[: given[1]])

    return st.tuples(edits, st.integers(0, 2 * len(sample))).map(apply)


@pytest.mark.parametrize("name", TARGETS)
def test_any_input_is_read_or_rejected(name: str, tmp_path: Path) -> None:
    inputs = TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=300)
    if name in ("EPUB", "PDF"):
        inputs |= damaged(sample_epub() if name == "EPUB" else sample_pdf(tmp_path))
    check(TARGETS[name], inputs, Counters("any input (hypothesis)"))


def check(target: Callable[[bytes], None], inputs: st.SearchStrategy[bytes], counters: Counters) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(inputs)
    def run(data: bytes) -> None:
        counters.tried += 1
        counters.checked += 1
        target(data)

    run()
    counters.report()
