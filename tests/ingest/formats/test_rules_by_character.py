"""The Markdown parser tries each rule only where it can match, which changes nothing but the time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from glossator.ingest.formats.dialects import MDX, dialect_of
from glossator.ingest.formats.markdown import dialect_parser, fast_parser

EXTENSIONS = (
    "pymdownx.caret",
    "pymdownx.tilde",
    "pymdownx.mark",
    "pymdownx.keys",
    "pymdownx.emoji",
    "pymdownx.arithmatex",
    "macros",
)
DIALECTS = [MDX, dialect_of("mkdocs", EXTENSIONS), *map(dialect_of, ("docusaurus", "sphinx", "mdbook", "plain"))]
PIECES = [
    *(
        "a",
        "word ",
        "\n",
        "\n\n",
        "    ",
        "  ",
        "\t",
        "- ",
        "* ",
        "1. ",
        "2) ",
        "> ",
        "# ",
        "## a {#b}",
        "---\n",
        "===\n",
    ),
    *(
        "|",
        "a | b\n",
        "-|-\n",
        "```",
        "~~~",
        "`",
        "*",
        "**",
        "_",
        "~~",
        "~",
        "^",
        "==",
        "++",
        "[",
        "]",
        "(b)",
        "![",
        "[^a]",
    ),
    *(
        "[^a]: ",
        "^[",
        "[a]: b\n",
        "<b>",
        "</b>",
        "<div>\n",
        "<div markdown>\n",
        "<!-- ",
        " -->",
        "<http://a.b>",
        "&amp;",
    ),
    *(
        "\\",
        "$",
        "$$",
        "!!! note\n",
        "??? tip\n",
        '=== "T"\n',
        ":::note\n",
        ":::\n",
        "::: a.b\n",
        "/// a\n",
        "[!NOTE]\n",
        "[TOC]",
        "\\(a\\)",
        "\\\\[a\\\\]",
    ),
    *(
        "*[a]: b\n",
        ":",
        ": b\n",
        "~ b\n",
        ":rocket:",
        "{{ a }}",
        "{{< a >}}",
        "{% a %}",
        "{#a}",
        "{--a--}",
        "{~~a~>b~~}",
        "中",
        "é",
        "\u2028",
        "\r",
        "\r\n",
        "  \n",
        " \n",
    ),
]


@given(st.sampled_from(range(len(DIALECTS))), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_every_dialect_renders_as_with_all_rules(number: int, text: str) -> None:
    dialect = DIALECTS[number]
    assert fast_parser(dialect, text).render(text) == dialect_parser(dialect).render(text)
