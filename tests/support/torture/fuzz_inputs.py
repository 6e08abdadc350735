"""What fuzzing begins with: the syntax of all formats in pieces, and small whole files."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path

from tiny_pdf import paragraph, write_pdf

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
NOTEBOOK = """{"nbformat": 4, "metadata": {"kernelspec": {"language": "python"}}, "cells": [
{"cell_type": "markdown", "id": "a", "source": ["# Tides\\n", "The Moon causes tides."]},
{"cell_type": "code", "source": "1 + 1", "outputs": [{"output_type": "execute_result", "data": {"text/plain": "2"}},
{"output_type": "stream", "name": "stdout", "text": ["two"]}]}]}"""


def write_seeds(folder: Path, name: str) -> None:
    """Files to mutate for the target of this name."""
    if name in ("EPUB", "PDF"):
        (folder / "whole").write_bytes(sample_epub() if name == "EPUB" else sample_pdf(folder))
        return
    for number, join in enumerate((" ", "", "\n\n")):
        (folder / f"all{number}").write_text(join.join(WORDS), "utf-8")
    for number, piece in enumerate(PIECES):
        (folder / f"piece{number}").write_text(f"{piece}\n", "utf-8")
    (folder / "notebook").write_text(NOTEBOOK, "utf-8")


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
