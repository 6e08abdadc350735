"""The sanitizer: what a book may show survives, and nothing that could run, load or disguise does."""

from __future__ import annotations

import pytest

from glossator.core.text.markup import sanitize


def unchanged(_tag: str, url: str) -> str:
    return url


@pytest.mark.parametrize(
    "html",
    [
        "<script>alert(1)</script>",
        '<img src="x.png" onerror="alert(1)">',
        '<a href="javascript:alert(1)">x</a>',
        '<a href="data:text/html,x">x</a>',
        '<iframe src="https://example.org"></iframe>',
        "<style>body{display:none}</style>",
        '<p style="position:fixed">x</p>',
        '<p class="launcher">x</p>',
        '<form action="/ask"><input name="q"></form>',
        "<svg><script>alert(1)</script></svg>",
        '<math><annotation-xml encoding="text/html"><script>alert(1)</script></annotation-xml></math>',
        "<math><mtext><img src=x onerror=alert(1)></mtext></math>",
        "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>",
        '<base href="https://example.org"><meta http-equiv="refresh" content="0">',
        '<glossator-chat endpoint="https://example.org"></glossator-chat>',
        '<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript>',
    ],
)
def test_dangerous_markup_is_removed(html: str) -> None:
    clean = sanitize(html, unchanged)
    for word in (
        "script",
        "onerror",
        "javascript",
        "data:",
        "iframe",
        "style",
        "launcher",
        "form",
        "glossator",
        "meta",
    ):
        assert word not in clean.replace("&lt;", ""), clean


@pytest.mark.parametrize("value", ["left", "center", "right"])
def test_alignment_of_a_cell_survives(value: str) -> None:
    table = f'<table><tr><td align="{value}">1</td></tr></table>'
    assert f'align="{value}"' in sanitize(table, unchanged)


@pytest.mark.parametrize("value", ["", "justify", "char", "right;position:fixed", "javascript:x()"])
def test_other_alignments_are_removed(value: str) -> None:
    assert "align" not in sanitize(f'<table><tr><th align="{value}">1</th></tr></table>', unchanged)


def test_sanitizing_twice_changes_nothing() -> None:
    html = '<h2 id="a">A</h2><ol start="3"><li>x<ul><li>y</li></ul></li></ol><table><tr><th>h</th></tr></table>'
    once = sanitize(html, unchanged)
    assert sanitize(once, unchanged) == once
    assert '<ol start="3">' in once
    assert '<h2 id="a"' in once


def test_every_address_is_resolved() -> None:
    seen: list[tuple[str, str]] = []

    def resolve(tag: str, url: str) -> str | None:
        seen.append((tag, url))
        return None if tag == "img" else "/there"

    clean = sanitize('<a href="here.md">x</a><img src="y.png" alt="A picture">', resolve)
    assert seen == [("a", "here.md"), ("img", "y.png")]
    assert 'href="/there"' in clean
    assert "src" not in clean
    assert 'alt="A picture"' in clean
    assert sanitize('<p>a<img src="y.png">b</p>', resolve) == '<p dir="auto">ab</p>'
