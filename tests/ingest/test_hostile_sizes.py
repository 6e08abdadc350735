"""Reading takes time in proportion to size, whatever the input: twice the text takes at most three times as long."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from glossator.core.errors import SourceError
from glossator.ingest.chunk import chunk_document
from glossator.ingest.parsing.parsers import parse_file
from glossator.ingest.parsing.values import ParseContext
from glossator.ingest.read import read_source

pytestmark = pytest.mark.slow

SIZE = 30_000
PARSED_SIZE = 6_000
"""For the formats that a library parses more slowly."""
ROUNDS = 8
MARKDOWN = [
    *("[", "*", "`", "<", "|", "$", "{", "~", "^", ":", "_", "\\", "&", "!", "(", "."),
    *("[ ", "* ", "` ", "< ", "$ ", "{ ", "a*", "*a", "**a ", "_a", "`a", "~a", "~~a", "a^", "==a", "++a", ":a"),
    *(
        "[a](",
        "![a]",
        "[a [",
        "<http:a",
        "<b>",
        "</b>",
        "<!-- ",
        "<a b=",
        "{--",
        "{~~a~>",
        "{#a .b ",
        "$$a",
        "[^1]",
        "^[a",
    ),
    *(
        "# a\n",
        "- a\n",
        "> a\n",
        "| a |\n",
        "```\n",
        ":::\n",
        "/// a\n",
        "!!! note\n",
        '=== "T"\n',
        "a\n: b\n",
        "- [ ] a\n",
    ),
    *(
        "a\n\n",
        "a. ",
        "A. ",
        ". ",
        "1. ",
        "[a]: b\n",
        "[^a]: b\n\n",
        "*[a]: b\n",
        "<div>\n",
        "{{ a }} ",
        "a\n=\n\n",
        "---\n",
    ),
]
HTML = [
    *(
        "<b>",
        "<p>",
        "<div>",
        "<ul><li>",
        "<table><tr><td>",
        "<p><b>",
        "<q>",
        "<sup>1</sup>",
        "<sup><a href='#a'>1</a></sup>",
    ),
    *(
        "<li>a",
        "<dt>a<dd>b",
        "<h2>a</h2>",
        "<h2>a</h2><p>b",
        "<math><mi>x",
        "<msup><mi>x</mi><mn>2</mn></msup>",
        "<pre>a",
    ),
    *(
        "<a id=x>",
        "<select>",
        "<svg>",
        "<kbd>a</kbd>",
        "\u200b<b></b>",
        "<img alt='abcd'>",
        "<!-- ",
        "&#1",
        "<span class=katex>x</span>",
    ),
    *("<b>a<p>", "<a><b><p>", "<table><td><table>", "<ul><li>a<ul>", "<ruby><rt>", "<span class=math>x</span>"),
    *("<ul>", "<ol>", "<li>", "<table>", "<h2 id=a>a</h2><p>b.</p>", "<pre>a</pre>", "<details><summary>a</summary>b"),
]
MDX = [
    "<>",
    "</A>",
    "{{",
    "{'",
    "<p>a</p>\n",
    "{",
    "<A b={",
    "{`",
    "{/* ",
    "<A>",
    "export const a = {\n",
    "import {\n",
    "`a",
    "$a",
    "<a\n",
]
INCLUDES = ['--8<-- "a"\n', "{* a *}\n", "{! a !}\n", "--8<--\na\n--8<--\n", "{{#include a}}\n"]
RST = [
    *(
        "*a ",
        "``a ",
        "`a`_ ",
        "a_ ",
        "|a| ",
        ":x:`a` ",
        "[#]_ ",
        "a\n=\n\n",
        "* a\n",
        "----\n\na\n\n",
        ".. note:: a\n\n",
    ),
    *(":a: b\n", ".. function:: a(b)\n\n   c\n\n", ".. list-table::\n\n   * - a\n\n"),
    *("-a  b\n", "--long=x  b\n", "***\n\n", "term\n  def\n", ".. [a] b\n", ".. [#a] b\n\n", "a\n~\n\n", "`a <b>`_ "),
    *("=  =\na  b\n=  =\n\n", ".. csv-table::\n\n   a,b\n\n", "| a\n", "|a|_ ", "[#a]_ ", ":math:`a` "),
    *(".. |a| replace:: b\n", ".. _a: b\n", "+-+\n|a|\n+-+\n\n", ".. _a:\n\na\n\n", "_`a` a\n\n"),
]
ASCIIDOC = [
    *("*a ", "_a ", "#a ", "`a ", "*a* ", "[a]*b", "<<a,", "((a", "(((a", "xref:", "link:a", "pass:[a", '"`a ', "'`a "),
    *(
        "image:a ",
        "a\n\n",
        "* a\n",
        "a:: b\n",
        "== a\n\n",
        "|a ",
        ":a: {a}{a}x\n",
        "{a} ",
        "include::a[]\n",
        "ifdef::a[]\n",
    ),
    *("|===\n|a |b\n|===\n\n", "====\n", "NOTE: a\n\n"),
    *("a:: b\nc::: d\n", ",===\na,b\n,===\n", "footnote:[a] ", "<1> a\n", "[#a]\n", "ifdef::a[]\nendif::[]\n"),
    *("<<a>> ", "stem:[a] ", "^a^ ", "a;; b\n", ". a\n.. b\n", "`+a+` ", "[[a]]b "),
]
TEXT = [
    ". A",
    "A. B. ",
    "x" * 70 + " ",
    "中。",
    ".",
    "a. ",
    "A. ",
    ". ",
    "e.g. ",
    "a\n\n",
    "a\n",
    "!",
    "。",
    ") ",
    '"a. ',
]
NESTED = {
    "lists": lambda n: "".join(" " * i + "- a\n" for i in range(int((2 * n) ** 0.5))),
    "quotes": lambda n: "".join(">" * i + "a\n" for i in range(int((2 * n) ** 0.5))),
    "admonitions": lambda n: "".join("    " * i + "!!! note\n" for i in range(int((n / 2) ** 0.5))),
    "numbered headings": lambda n: "".join(f"# a_{i // 2}\n\n" for i in range(n // 9)),
}
CASES = [
    *((".md", unit) for unit in MARKDOWN),
    *((".html", unit) for unit in HTML),
    *((".mdx", unit) for unit in MDX),
    *((".md", unit) for unit in INCLUDES),
    *((".rst", unit) for unit in RST),
    *((".adoc", unit) for unit in ASCIIDOC),
    *((".txt", unit) for unit in TEXT),
]


def four_characters_per_token(texts: Sequence[str]) -> list[int]:
    return [len(text) // 4 for text in texts]


def seconds(folder: Path, suffix: str, text: str) -> float:
    page = folder / f"page{suffix}"
    page.write_text(text, "utf-8")
    started = time.thread_time()
    if suffix in (".rst", ".adoc"):
        gc.disable()  # as the child processes that parse do
        try:
            with suppress(RecursionError):
                parse_file(page, ParseContext(str(folder), "plain", 10_000_000, {}, {}))
            return time.thread_time() - started
        finally:
            gc.enable()
    try:
        for document in read_source(str(folder), "https://x.org", 10_000_000).documents:
            chunk_document(document, four_characters_per_token)
    except SourceError:
        pass  # a page without text
    return time.thread_time() - started


def assert_linear(folder: Path, suffix: str, once: str, twice: str) -> None:
    """Best of several rounds, as other processes disturb some of them."""
    seconds(folder, suffix, "warm")
    first = second = float("inf")
    for _ in range(ROUNDS):
        first = min(first, seconds(folder, suffix, once))
        second = min(second, seconds(folder, suffix, twice))
        if second <= 3 * first:
            return
    pytest.fail(f"{second / first:.1f} times as long")


@pytest.mark.parametrize(("suffix", "unit"), CASES, ids=repr)
def test_time_is_linear(suffix: str, unit: str, tmp_path: Path) -> None:
    once = unit * ((PARSED_SIZE if suffix in (".rst", ".adoc") else SIZE) // len(unit))
    assert_linear(tmp_path, suffix, once, once + once)


@pytest.mark.parametrize("shape", NESTED.values(), ids=NESTED.keys())
def test_time_is_linear_in_nested_text(shape, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert_linear(tmp_path, ".md", shape(SIZE), shape(2 * SIZE))


def test_time_is_linear_in_the_number_of_targets(tmp_path: Path) -> None:
    """Beside long lines, as a page has as many constructs as its length allows."""
    once, twice = (".. _a:\n\n" * n + ("word " * 200 + "\n\n") * (n // 10) for n in (2_500, 5_000))
    assert_linear(tmp_path, ".rst", once, twice)


def test_time_is_linear_in_the_number_of_files(tmp_path: Path) -> None:
    for name, count in (("once", 40), ("twice", 80)):
        (tmp_path / name).mkdir()
        for number in range(count):
            (tmp_path / name / f"{number}.md").write_text("# A\n\nText.\n" * 5, "utf-8")
    assert_linear_folders(tmp_path / "once", tmp_path / "twice")


def assert_linear_folders(once: Path, twice: Path) -> None:
    first = second = float("inf")
    for _ in range(ROUNDS):
        first, second = min(first, seconds(once, ".md", "a")), min(second, seconds(twice, ".md", "a"))
        if second <= 3 * first:
            return
    pytest.fail(f"{second / first:.1f} times as long")
