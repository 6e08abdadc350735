"""reStructuredText: docutils' syntax and Sphinx's, with Sphinx's anchors; no code runs, and no other file is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from glossator.core.types import BlockKind
from glossator.ingest.formats.html import ExtractedPage
from glossator.ingest.formats.rst.read import read_rst
from glossator.ingest.parsing.files import FileParser
from glossator.ingest.parsing.values import ParseContext
from glossator.ingest.read import read_source

LIMIT = 1_000_000


def read(folder: Path, text: str, layout: str = "sphinx", **attributes: str) -> ExtractedPage:
    page = folder / "page.rst"
    page.write_text(text, "utf-8")
    references = {"doc:guide/start": ("Getting started", "guide/start.rst"), "ref:moon phase": ("Phases", "a.rst#moon")}
    return read_rst(page, ParseContext(str(folder), layout, LIMIT, references, attributes))


def test_page_with_hundreds_of_markup_errors_is_read_without_inline_markup(tmp_path: Path) -> None:
    errors = "An *open mark.\n\n"
    assert read(tmp_path, errors * 10 + "The *tide* rises.").text.endswith("The tide rises.")
    assert read(tmp_path, errors * 600 + "The *tide* rises.").text.endswith("The *tide* rises.")


@pytest.mark.parametrize("unit", ["-a  b\n", ":a: b\n", ".. note:: a\n\n", "_`a` b\n\n"])
def test_constructs_that_take_long_count_more(tmp_path: Path, unit: str) -> None:
    lines = "\n".join(f"Line {n}." for n in range(2_000))
    assert read(tmp_path, lines + "\n\n" + unit * 100).notes == ()
    notes = read(tmp_path, unit * 2_000).notes
    assert any("plain text" in note for note in notes), notes


SYNTAX = {
    "inline markup": ("*One* **two** ``three`` `four`.", "One two three four."),
    "a paragraph over lines": ("One\ntwo.\n\nThree.", "One two.\n\nThree."),
    "lists": ("* One\n\n  * Deep\n* Two\n\n#. First\n#. Second", "- One\n  - Deep\n- Two\n1. First\n2. Second"),
    "a definition": ("Term\n   Meaning.", "Term\n\nMeaning."),
    "a literal block": ("Code::\n\n   x = 1\n     y", "Code:\n\n```\nx = 1\n  y\n```"),
    "a code block": (
        ".. code-block:: python\n   :linenos:\n   :caption: Small\n\n   x = 1",
        "Small\n\n```python\nx = 1\n```",
    ),
    "a note": (".. note:: Mind\n   the gap.\n\n   More.", "Note\n\nMind the gap.\n\nMore."),
    "an admonition": (".. admonition:: Own title\n\n   Text.", "Own title\n\nText."),
    "see also": (".. seealso:: The Moon.", "See also\n\nThe Moon."),
    "a version": (".. versionadded:: 2.1\n   The tide.", "Added in version 2.1: The tide."),
    "tabs": (
        ".. tabs::\n\n   .. group-tab:: Linux\n\n      Run it.\n\n   .. code-tab:: py\n\n      x = 1",
        "Linux\n\nRun it.\n\npy\n\n```py\nx = 1\n```",
    ),
    "a design tab": (".. tab-set::\n\n   .. tab-item:: One\n      :sync: a\n\n      Text.", "One\n\nText."),
    "a table": ("== ==\nA  B\n== ==\n1  2\n== ==", "A | B\n1 | 2"),
    "a list table": (
        ".. list-table:: Title\n   :header-rows: 1\n\n   * - A\n     - B\n   * - 1\n     - 2",
        "Title\n\nA | B\n1 | 2",
    ),
    "an image": (".. image:: a.png\n   :alt: The Moon", "[Figure: The Moon]"),
    "a figure": (".. figure:: a.png\n   :alt: The Moon\n\n   Its caption.", "[Figure: The Moon]\n\nIts caption."),
    "a formula": ("Let :math:`x^2` be\n\n.. math::\n\n   y = 1", "Let $x^2$ be\n\n$$ y = 1 $$"),
    "a substitution": (".. |it| replace:: the tide\n\nSee |it|.", "See the tide."),
    "an unknown directive": (".. weather:: Rain\n   :hour: 3\n\n   Text *here*.", "Rain\n\nText here."),
    "an unknown role": ("See :weather:`rain <target>` and :py:thing:`~a.b.C`.", "See rain and C."),
    "an empty unknown directive": ("One.\n\n.. weather::\n\nTwo.", "One.\n\nTwo."),
    "directives without text": (
        ".. contents::\n.. index:: tide\n.. highlight:: py\n\n.. toctree::\n\n   a\n\n"
        ".. mermaid::\n\n   A --> B\n\nText.",
        "Text.",
    ),
    "a conditional": (".. only:: html\n\n   Text.", "Text."),
    "a function": (".. py:function:: tide(hour)\n   :module: m\n\n   Its height.", "tide(hour)\n\nIts height."),
    "a class": (".. class:: Tide(hour)\n\n   Its height.", "Tide(hour)\n\nIts height."),
    "a style": (".. class:: special\n\n   Text.", "Text."),
    "a glossary": (".. glossary::\n\n   tide\n      The sea.", "tide\n\nThe sea."),
    "links": ("`Here <https://a.example>`__, here_.\n\n.. _here: https://b.example", "Here, here."),
    "code roles": (":func:`tide` :class:`~m.Tide` :file:`/a/{b}` :kbd:`Ctrl`", "tide() Tide /a/b Ctrl"),
    "a menu": (":menuselection:`File --> &Open` :guilabel:`&OK`", "File ‣ Open OK"),
    "an abbreviation": (":abbr:`LIFO (last in, first out)`", "LIFO"),
    "a page by its title": (":doc:`guide/start` :doc:`own </guide/start>`", "Getting started own"),
    "an unknown page": (":doc:`guide/other`", "other"),
    "a label": (":ref:`moon  phase` :ref:`own <Moon phase>` :ref:`none`", "Phases own none"),
    "a footnote": ("Text [#]_.\n\n.. [#] The note.", "Text .\n\nThe note."),
    "a comment": ("One.\n\n.. A comment.\n\nTwo.", "One.\n\nTwo."),
    "fields of the page": (":orphan:\n:author: A\n\nText.", "Text."),
    "a list of fields": ("Text.\n\n:param: What.", "Text.\n\nparam\n\nWhat."),
    "options": ("-v  Verbose.\n--out=FILE  Output.", "-v\n\nVerbose.\n\n--out=FILE\n\nOutput."),
    "verse": ("| One\n| Two", "One Two"),
}


@pytest.mark.parametrize(("text", "expected"), SYNTAX.values(), ids=SYNTAX.keys())
def test_syntax_becomes_the_text_that_a_reader_sees(text: str, expected: str, tmp_path: Path) -> None:
    assert read(tmp_path, text).text == expected


def test_headings_have_the_anchors_of_sphinx(tmp_path: Path) -> None:
    text = (
        "Title\n=====\n\nText.\n\n.. _the-part:\n\nPart: “one”\n-----------\n\n.. _twin:\n\nTwin\n----\n\n"
        "Twin\n----\n\nÄrger & Öl\n----------\n\n漢字\n----\n\nDeep\n~~~~\n"
    )
    page = read(tmp_path, text)
    found = [(b.level, b.anchor, page.text[b.start : b.end]) for b in page.blocks if b.kind is BlockKind.HEADING]
    assert found == [
        (1, "title", "Title"),
        (2, "part-one", "Part: “one”"),
        (2, "twin", "Twin"),
        (2, "id2", "Twin"),
        (2, "arger-ol", "Ärger & Öl"),
        (2, "id3", "漢字"),
        (3, "deep", "Deep"),
    ]
    assert 'id="the-part"' in page.markup


def test_quotes_are_those_that_sphinx_shows(tmp_path: Path) -> None:
    text = 'It\'s "here" -- ``"code"``...'
    assert read(tmp_path, text).text == 'It’s “here” – "code"…'
    assert read(tmp_path, text, smartquotes="False").text == 'It\'s "here" -- "code"...'
    assert read(tmp_path, text, "plain").text == 'It\'s "here" -- "code"...'


def test_values_of_the_site_are_inserted(tmp_path: Path) -> None:
    page = read(tmp_path, "At |version| by |who|.", version="2.1", rst_epilog=".. |who| replace:: Ann")
    assert page.text == "At 2.1 by Ann."


def test_files_of_the_folder_are_included_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "part.txt").write_text("Included *text*.\n\n.. include:: page.rst\n", "utf-8")
    (tmp_path / "code.py").write_text("a = 1\n# begin\nb = 2\n# end\n", "utf-8")
    (tmp_path / ".env").write_text("SECRET", "utf-8")
    page = read(
        tmp_path,
        ".. include:: part.txt\n\n.. literalinclude:: /code.py\n   :start-after: begin\n   :end-before: end\n\n"
        ".. include:: /etc/passwd\n\n.. include:: ../../../../etc/passwd\n\n.. literalinclude:: .env\n\n"
        ".. raw:: html\n   :file: /etc/passwd\n\n.. csv-table::\n   :file: /etc/passwd\n\nEnd.",
    )
    assert page.text.startswith("Included text.")
    assert "```py\nb = 2\n```" in page.text
    assert "root" not in page.text
    assert "SECRET" not in page.text
    assert page.text.endswith("End.")
    assert any("passwd, .env" in note for note in page.notes)


def test_raw_html_is_left_out(tmp_path: Path) -> None:
    page = read(
        tmp_path, ".. raw:: html\n\n   <script>x</script>\n\n.. role:: raw-html(raw)\n   :format: html\n\nText."
    )
    assert page.text == "Text."
    assert "script" not in page.markup


def test_the_report_says_what_code_would_generate_and_what_is_invalid(tmp_path: Path) -> None:
    page = read(tmp_path, ".. autoclass:: a.B\n   :members:\n\n   Own words.\n\n.. table::\n   :bad: 1\n\n   x\n\nEnd.")
    assert "Own words." in page.text
    assert page.text.endswith("End.")
    assert page.notes == (
        "1 directive was left out: Sphinx generates their text from code.",
        "1 construct was left out as invalid reStructuredText (line 6).",
    )


def test_a_page_defines_roles_for_itself_only(tmp_path: Path) -> None:
    assert read(tmp_path, ".. role:: mine(strong)\n\n:mine:`One`").blocks
    assert "<strong>" not in read(tmp_path, ":mine:`One`").markup


def test_a_deeply_nested_page_costs_that_page_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glossator.ingest.read.FileParser", FileParser)
    (tmp_path / "deep.rst").write_text("".join("  " * n + "* a\n\n" for n in range(600)), "utf-8")
    (tmp_path / "good.rst").write_text("Good\n====\n\nWords.", "utf-8")
    contents = read_source(str(tmp_path), "", LIMIT)
    assert "good.rst" in [d.document_id for d in contents.documents]
    assert len(contents.documents) + len(contents.skipped) == 2
