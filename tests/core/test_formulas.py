"""Formulas: found in text as the book writes them, typeset as MathML, never at the cost of the process."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glossator.core.text.formulas import (
    MATH_ATTRIBUTES,
    MATH_TAGS,
    MAX_FORMULA_CHARACTERS,
    formulas_in,
    typeset,
)


def text_of(tree: Any) -> str:
    """The text of a formula without its annotation."""
    if isinstance(tree, str):
        return tree
    return "" if tree[0] == "annotation" else "".join(text_of(child) for child in tree[2:])


def elements(tree: Any) -> list[Any]:
    return [tree, *(one for child in tree[2:] if not isinstance(child, str) for one in elements(child))]


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        ("q^{*}", "q*"),
        (r"c = \frac{1}{m}\sum_i m_i", "c=1m∑imi"),
        (r"\begin{aligned}a &= b\\ c &= d\end{aligned}", "a=bc=d"),
        (r"\operatorname{atan2}(y, x)", "atan2(y,x)"),
        (r"\text{if <b>x</b>}", "if\xa0<b>x</b>"),
        (r"\dot{x} \in \mathbb{R}^n", "x˙∈ℝn"),
        (r"\begin{bmatrix}1 & 0\\0 & 1\end{bmatrix}", "[1001]"),
    ],
)
def test_formula_is_typeset_with_its_tex(tex: str, text: str) -> None:
    tree = typeset(tex)
    assert tree is not None
    assert text_of(tree) == text
    assert elements(tree)[-1] == ("annotation", {"encoding": "application/x-tex"}, tex)


@pytest.mark.parametrize(
    "tex",
    [
        "",
        r"\frac{",
        r"\nosuchcommand{x}",
        r"\newcommand{\a}{\a\a}\a",
        r"\def\a{xx}\def\b{\a\a}\b",
        "{" * 900 + "}" * 900,
        r"\sqrt" * 300,
        "x" * (MAX_FORMULA_CHARACTERS + 1),
    ],
)
def test_formula_that_cannot_be_typeset_stays_tex(tex: str) -> None:
    assert typeset(tex) is None


@given(
    st.lists(st.sampled_from(r"\frac { } x ^ _ & \\ \left( \right) \href{javascript:x} \color{red} <b> \text{".split()))
)
def test_any_input_gives_known_elements_or_nothing(parts: list[str]) -> None:
    tree = typeset(" ".join(parts))
    for tag, attributes, *_ in elements(tree) if tree else []:
        assert tag in MATH_TAGS
        assert set(attributes) <= MATH_ATTRIBUTES


def test_formulas_are_found_as_the_book_writes_them() -> None:
    text = "Here $q^{*}$ is best.\n\n$$ c = \\frac{1}{m} $$\n\nIt costs $5 or $10, not US$7-$9."
    assert list(formulas_in(text)) == [
        ("$q^{*}$", "q^{*}", False),
        ("$$ c = \\frac{1}{m} $$", "c = \\frac{1}{m}", True),
    ]
