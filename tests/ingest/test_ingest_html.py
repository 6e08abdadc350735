"""HTML: the main content of a page, with anchors, and without anything that is not displayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from glossator.core.types import BlockKind
from glossator.ingest.formats.html import ExtractedPage, extract
from glossator.ingest.read import read_source
from glossator.ingest.tags import CHARACTERS_PER_ELEMENT, MAX_ELEMENTS, MAX_REOPENED


def text_of(html: str) -> str:
    return extract(f"<main>{html}</main>").text


def headings(page: ExtractedPage) -> list[tuple[int, str, str]]:
    found = [block for block in page.blocks if block.kind is BlockKind.HEADING]
    return [(block.level, block.anchor, page.text[block.start : block.end]) for block in found]


PAGE_FRAMES = {
    "Sphinx": '<div class="document"><div role="main" class="body">{}</div></div><div class="sphinxsidebar">Side</div>',
    "Docusaurus": '<nav>Top</nav><main><nav class="breadcrumbs">Crumbs</nav><article>{}</article></main>',
    "mdBook": '<nav id="sidebar">Side</nav><div id="content"><main>{}</main><nav>Next</nav></div>',
    "no generator": "{}",
    "many articles": "<aside>Side</aside><main><article>{}</article><article></article></main>",
}


@pytest.mark.parametrize("frame", PAGE_FRAMES.values(), ids=PAGE_FRAMES.keys())
def test_only_the_main_content_is_read(frame: str) -> None:
    body = frame.format("<h1>Title</h1><p>Some words.</p>")
    page = extract(f"<html><head><title>T</title><style>p {{}}</style></head><body>{body}</body></html>")
    assert (page.title, page.text) == ("Title", "Title\n\nSome words.")


HIDDEN = [
    "<script>secret()</script>",
    "<style>.secret {}</style>",
    "<noscript>secret</noscript>",
    "<template>secret</template>",
    "<nav>secret</nav>",
    "<p hidden>secret</p>",
    "<p aria-hidden='true'>secret</p>",
    "<p style='color: red; DISPLAY:none'>secret</p>",
    "<span class='sr-only'>secret</span>",
    "<svg><text>secret</text></svg>",
    "<button>secret</button>",
    "<form><input value='secret'><textarea>secret</textarea></form>",
    "<!-- secret -->",
    "<![CDATA[ secret ]]>",
    "<iframe src='x'>secret</iframe>",
    "<div>" * 300 + "<script>secret()</script><p hidden>secret</p>" + "</div>" * 300,
]


@pytest.mark.parametrize("html", HIDDEN, ids=lambda html: html[:40])
def test_hidden_elements_are_not_read(html: str) -> None:
    assert text_of(f"<p>Before.</p>{html}<p>After.</p>") == "Before.\n\nAfter."


VISIBLE = {
    "inline markup": ("<p>One <b>t<i>w</i>o</b>\n three<br>four</p>", "One two three four"),
    "entities": ("<p>a &lt; b &amp;&nbsp;c &#8212; d</p>", "a < b & c — d"),
    "invisible characters": ("<p>soft\u00adhyphen zero\u200bwidth</p>", "softhyphen zerowidth"),
    "lists": (
        "<ol><li>One<ul><li>Deep</li></ul></li><li><p>Two</p><p>More</p></li></ol>",
        "1. One\n  - Deep\n2. Two\n   More",
    ),
    "definitions": ("<dl><dt>Term</dt><dd>Meaning</dd></dl>", "Term\n\nMeaning"),
    "details": ("<details><summary>More</summary>Text</details>", "More\n\nText"),
    "an image": (
        "<figure><img src='a' alt='A long arm'><figcaption>Arm</figcaption></figure>",
        "[Figure: A long arm]\n\nArm",
    ),
    "a table": (
        "<table><caption>Cap</caption><tr><th>A<th>B<tr><td>1<td><p>2</p><p>3</p></table>",
        "Cap\n\nA | B\n1 | 2 3",
    ),
    "a table in a table": ("<table><tr><td>A<table><tr><td>B</table></table>", "A B"),
    "broken markup": ("<p>One <b>two<p>three</i></b></div><h9>four", "One two\n\nthree\n\nfour"),
}


@pytest.mark.parametrize(("html", "text"), VISIBLE.values(), ids=VISIBLE.keys())
def test_visible_text_is_read(html: str, text: str) -> None:
    assert text_of(html) == text


SIGNS = {
    "a power": ("10<sup>6</sup> hours", "10⁶ hours"),
    "a negative power": ("10<sup>−3</sup> m", "10⁻³ m"),
    "a letter": ("x<sup>k</sup>", "x^k"),
    "an expression": ("x<sup>k+1</sup>", "x^(k+1)"),
    "marked up inside": ("x<sup><i>n</i><b>2</b></sup>", "xⁿ²"),
    "a subscript": ("H<sub>2</sub>O", "H₂O"),
    "a word as subscript": ("T<sub>max</sub>", "T_(max)"),
    "both": ("x<sub>i</sub><sup>2</sup>", "x_i²"),
    "an ordinal": ("the 1<sup>st</sup>, 2<sup>nd</sup> and 3<sup>rd</sup>", "the 1st, 2nd and 3rd"),
    "a trade mark": ("Brand<sup>TM</sup>", "Brand™"),
    "a footnote": ('Text<sup id="fnref:1"><a href="#fn:1">1</a></sup>.', "Text."),
    "a citation": ('Text.<sup class="reference"><a href="page.html#cite-1">[1]</a></sup> More.', "Text. More."),
    "deletions": ("<del>10</del> <s>20</s> <strike>30</strike> 5 grams", "5 grams"),
    "deletions by style": (
        '<span style="color: red; TEXT-decoration : underline line-through">10</span>'
        " <i style='text-decoration-line:line-through'>20</i> 5 <u style='text-decoration: underline'>grams</u>",
        "5 grams",
    ),
    "a nested deletion": ("Use <del>the <b>old</b> <i>one</i></del> <ins>the new one</ins>.", "Use the new one."),
    "an insertion": ("<ins>5</ins> grams", "5 grams"),
    "a quotation": ("He said <q>go <q>there</q></q>.", "He said “go “there””."),
    "ruby": ("<ruby>漢字<rp>(</rp><rt>kanji</rt><rp>)</rp></ruby>", "漢字"),
    "keys": ("Press <kbd>Ctrl</kbd><kbd>C</kbd>.", "Press Ctrl C."),
    "keys with a sign": ("Press <kbd>Ctrl</kbd>+<kbd>C</kbd>.", "Press Ctrl+C."),
    "line breaks": ("one<br>two<br/>three", "one two three"),
    "a break opportunity": ("long<wbr>word", "longword"),
    "an abbreviation": ('<abbr title="Hypertext">HTML</abbr> is', "HTML is"),
    "a comment": ("one <!-- <del>two</del> -->three", "one three"),
    "a fallback": ("See <video src='a'>Your browser is old.</video> it", "See it"),
    "checked boxes": ('<input type="checkbox" checked disabled> Done', "☑ Done"),
    "open boxes": ('<input type="checkbox" disabled> To do', "☐ To do"),
}


@pytest.mark.parametrize(("html", "text"), SIGNS.values(), ids=SIGNS.keys())
@pytest.mark.parametrize("tag", ["p", "h2", "li", "td", "figcaption"])
def test_layout_that_has_a_meaning_keeps_it(html: str, text: str, tag: str) -> None:
    wrapped = {"li": f"<ul><li>{html}</li></ul>", "td": f"<table><tr><td>{html}</td></tr></table>"}
    assert text_of(wrapped.get(tag, f"<{tag}>{html}</{tag}>")).removeprefix("- ") == text


ANCHORS = {
    "its own": '<h2 id="own">Head</h2>',
    "that of the section": '<section id="own"><h2>Head<a class="headerlink" href="#own">¶</a></h2></section>',
    "an anchor before it": '<a id="own"></a><h2>Head</h2>',
    "an anchor inside": '<h2><a name="own"></a>Head</h2>',
    "a link inside": '<h2><a class="header" href="#own" id="own">Head</a></h2>',
}


@pytest.mark.parametrize("html", ANCHORS.values(), ids=ANCHORS.keys())
def test_heading_has_an_anchor(html: str) -> None:
    assert headings(extract(f"<main><h1>T</h1>{html}<p>Text.</p></main>"))[1] == (2, "own", "Head")


CODE_BLOCKS = {
    "a class on code": '<pre><code class="language-python">a\n  b</code></pre>',
    "a class on the container": '<div class="highlight-python"><div class="highlight"><pre>a\n  b\n</pre></div></div>',
    "line break tags": '<pre class="language-python"><code><span>a<br></span><span>  b<br></span></code></pre>',
    "line numbers": '<table class="highlighttable language-python"><tr><td class="linenos"><pre>1\n2</pre></td>'
    '<td class="code"><div class="language-python"><pre>a\n  b</pre></div></td></tr></table>',
    "hidden lines": '<pre class="language-python"><span class="boring">x\n</span>a\n  b<button>Copy</button></pre>',
}


@pytest.mark.parametrize("html", CODE_BLOCKS.values(), ids=CODE_BLOCKS.keys())
def test_code_block_has_its_lines_and_language(html: str) -> None:
    assert text_of(html) == "```python\na\n  b\n```"


TEX = '<annotation encoding="application/x-tex">{}</annotation>'
FORMULAS = {
    "KaTeX": (
        f'<p>so <span class="katex"><span class="katex-mathml"><math><mi>x</mi>{TEX.format("x^2")}</math></span>'
        '<span class="katex-html" aria-hidden="true">x2</span></span> is</p>',
        "so $x^2$ is",
    ),
    "KaTeX, display": (f'<span class="katex-display"><math>{TEX.format("x^2")}</math></span>', "$$ x^2 $$"),
    "Sphinx": (r'<p>so <span class="math notranslate">\(x^2\)</span> is</p>', "so $x^2$ is"),
    "Sphinx, display": (r'<div class="math">\[x^2\]</div>', "$$ x^2 $$"),
    "MathJax": ('<p>so <script type="math/tex">x^2</script> is</p>', "so $x^2$ is"),
    "MathJax, display": ('<script type="math/tex; mode=display">x^2</script>', "$$ x^2 $$"),
    "MathJax 2, rendered": (
        '<p>so <span class="MathJax_Preview">x2</span><span class="MathJax"><nobr>x2</nobr></span>'
        '<script type="math/tex">x^2</script> is</p>',
        "so $x^2$ is",
    ),
    "MathJax 3, rendered": (
        "<p>so <mjx-container><svg></svg><mjx-assistive-mml><math><msup><mi>x</mi><mn>2</mn></msup></math>"
        "</mjx-assistive-mml></mjx-container> is</p>",
        "so $x^{2}$ is",
    ),
    "MathML without TeX": (
        "<p>so <math><mfrac><mn>1</mn><msub><mi>x</mi><mi>i</mi></msub></mfrac><msqrt><mi>a</mi></msqrt></math> is</p>",
        r"so $\frac{1}{x_{i}} \sqrt{a}$ is",
    ),
    "MathML": ('<p>so <math alttext="x^2"><mi>x</mi></math> is</p>', "so $x^2$ is"),
}


@pytest.mark.parametrize(("html", "text"), FORMULAS.values(), ids=FORMULAS.keys())
def test_formulas_are_tex(html: str, text: str) -> None:
    assert text_of(html) == text


def test_page_without_a_heading_uses_the_title_element() -> None:
    assert extract("<title> The\n title </title><p>Text.</p>").title == "The title"


HOSTILE = {
    "20,000 nested boxes": "<div>" * 20_000 + "Deep words." + "</div>" * 20_000,
    "20,000 nested lists": "<ul><li>" * 20_000 + "Deep words.",
    "lists directly in lists": "<ul>" * 400 + "<li>Deep words.",
    "20,000 nested tables": "<table><tr><td>" * 20_000 + "Deep words.",
    "20,000 nested unknown tags": "<b><x-y>" * 10_000 + "Deep words.",
    "a megabyte without a space": "x" * 1_000_000 + " Deep words.",
    "a megabyte of open tags": "<a " * 300_000 + ">Deep words.",
}


@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_markup_is_read_as_text(html: str) -> None:
    assert extract(html).text.endswith("Deep words.")


def test_generated_pages_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "_static").mkdir()
    for name in ("index", "guide", "genindex", "search", "404", "_static/x"):
        (tmp_path / f"{name}.html").write_text(f"<title>{name}</title><p>Words of {name}.</p>", "utf-8")
    contents = read_source(str(tmp_path), "https://x.org/b", 1_000_000)
    assert [document.url for document in contents.documents] == [
        "https://x.org/b/guide.html",
        "https://x.org/b/index.html",
    ]


def test_excess_of_elements_is_plain_text_with_a_note(tmp_path: Path) -> None:
    kept = MAX_ELEMENTS + len("<p>word") * 2 * MAX_ELEMENTS // CHARACTERS_PER_ELEMENT
    (tmp_path / "page.html").write_text("<p>word" * (2 * MAX_ELEMENTS), "utf-8")
    contents = read_source(str(tmp_path), "", 10_000_000)
    (document,) = contents.documents
    assert document.text.split() == ["word"] * (2 * MAX_ELEMENTS)
    assert abs(len(document.blocks) - kept) <= 1
    assert "too many elements" in contents.notes[0].note


@pytest.mark.slow
@pytest.mark.parametrize(
    "hidden", ["<script>secret</script>", "<i hidden>secret</i>", "<div style='display: none'>secret</div>"]
)
def test_excess_of_elements_shows_nothing_hidden(hidden: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>a" * (3 * MAX_ELEMENTS) + f"{hidden} after", "utf-8")
    text = read_source(str(tmp_path), "", 10_000_000).documents[0].text
    assert "secret" not in text
    assert text.endswith("after")


UNCLOSED = {
    "nothing closed": "<p><b id=a{}>",
    "closed by another tag": "<p><b id=a{}></i>",
    "closed in a comment": "<p><b id=a{}><!--</b>-->",
    "closed in a bogus comment": "<p><b id=a{}><!x </b>",
    "closed in an attribute": "<p><b id=a{} a=x' b='></b><p><i c='>",
    "closed in a table": "<p><b id=a{}><table><tr><td></b></table>",
    "closed in another element": "<p><b id=a{}><textarea></b></textarea>",
    "closed around too many": "<p><b id=a{}>" + "<li><dd>" * 5 + "</b>",
    "in capital letters": "<P><FONT ID=A{}>",
}


@pytest.mark.parametrize("unclosed", UNCLOSED.values(), ids=UNCLOSED.keys())
def test_elements_that_are_not_closed_do_not_multiply(unclosed: str) -> None:
    """A parser opens them again in every paragraph: here a thousand of them in two thousand."""
    page = extract("<main>" + "".join(map(unclosed.format, range(1_000))) + "<p><a href=x>word</a>" * 2_000)
    assert page.markup.count("<") < MAX_REOPENED / 10
    assert page.text.count("word") == 2_000
    assert page.notes[-1] == "its tags are not closed in order; links and emphasis are left out."


def test_struck_text_stays_hidden_where_elements_are_not_closed() -> None:
    html = "".join(f"<p><b id=a{i}>" for i in range(400)) + "<p>kept <s>struck</s> <strike>out</strike>" * 1_000
    assert set(extract(f"<main>{html}</main>").text.split()) == {"kept"}


def test_long_pages_keep_their_links_and_emphasis() -> None:
    row = (
        "<li><p><a href='x?a=1>0'><b>Bold</b> <code class=c>code<br></code></a></p>"
        "<table><tr><td><em>cell</em></td></tr></table><a id=x></a><a href=y><p>a</p><p>b</p></a>"
    )
    page = extract(f"<main><ul>{row * 300}</ul></main>")
    assert (page.markup.count("<a "), page.markup.count("<b>"), page.markup.count("<code")) == (900, 300, 300)
    assert not page.notes
