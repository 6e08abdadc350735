"""Formulas: finds TeX in text, and typesets it as MathML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import unescape
from itertools import islice
from typing import Any
from xml.etree.ElementTree import Element

MAX_FORMULA_CHARACTERS = 2_000
"""A longer formula is shown as TeX: typesetting takes time in proportion to its length."""

MAX_FORMULAS = 200
"""Of one answer; further ones are shown as TeX."""

FORMULA = re.compile(r"\$\$(?P<block>[^$]+)\$\$|(?<![\\$\d])\$(?P<inline>[^$\s](?:[^$]*[^$\s])?)\$(?![$\d])")
"""As the text of a book has it: `$x$` within a sentence, `$$ x $$` on a line of its own."""

MathTree = tuple[Any, ...]
"""An element of MathML: its tag, its attributes, then its children, each a text or an element."""

MATH_TAGS = frozenset(
    """
    math semantics annotation mrow mi mo mn mtext mspace mfrac msqrt mroot mstyle mpadded mphantom
    msub msup msubsup munder mover munderover mmultiscripts mprescripts mtable mtr mtd
    """.split()
)
MATH_ATTRIBUTES = frozenset(
    """
    display displaystyle scriptlevel mathvariant stretchy fence separator form accent accentunder movablelimits
    minsize maxsize width height depth lspace rspace voffset linethickness columnspan rowspan columnalign encoding
    """.split()
)
_DEFINITION = re.compile(r"\\(?:(?:re|provide)?newcommand|[egx]?def|let|Declare)")
"""Macros can expand without end."""
_REPLACEMENTS = (
    (
        re.compile(r"\\(begin|end)\{(?:aligned|alignedat|gathered|split|eqnarray\*?|equation\*?)\}(?:\{\d\})?"),
        r"\\\1{align*}",
    ),
    (re.compile(r"\\operatorname\*?(?=\s*\{)"), r"\\mathrm"),
    (re.compile(r"\\[dt]frac(?![A-Za-z])"), r"\\frac"),
    (re.compile(r"\\(?:label|tag)\{[^{}]*\}"), ""),
)
"""Commands that the library does not know, in those that it does."""
_SIGNS, _CLOSING = frozenset("+-−±∓"), frozenset(")]}|‖⟩⌋⌉!′*")


def formulas_in(text: str) -> Iterator[tuple[str, str, bool]]:
    """Each formula of a text as it is written, its TeX, and whether it is on a line of its own."""
    for found in FORMULA.finditer(text):
        yield found[0], (found["block"] or found["inline"]).strip(), found["block"] is not None


def typeset_all(texts: Iterable[str]) -> dict[str, MathTree]:
    """The formulas of some texts, by how they are written; a text with very many has the first ones only."""
    found = (formula for text in texts for formula in formulas_in(text))
    trees = ((written, typeset(tex, block=block)) for written, tex, block in islice(found, MAX_FORMULAS))
    return {written: tree for written, tree in trees if tree is not None}


@lru_cache(maxsize=128)
def typeset(tex: str, *, block: bool = False) -> MathTree | None:
    """The MathML of a formula, with its TeX as an annotation; None if it cannot be typeset."""
    if len(tex) > MAX_FORMULA_CHARACTERS or _DEFINITION.search(tex) or not tex.strip():
        return None
    from latex2mathml.converter import convert_to_element

    known = tex
    for pattern, replacement in _REPLACEMENTS:
        known = pattern.sub(replacement, known)
    try:
        body = [_tree(child) for child in convert_to_element(known, display="block" if block else "inline")]
    except Exception:
        return None
    if _has_unknown_command(body):
        return None
    source = ("annotation", {"encoding": "application/x-tex"}, tex)
    return ("math", {"display": "block"} if block else {}, ("semantics", {}, *body, source))


def _tree(element: Element) -> MathTree:
    """An element with the tags and attributes of MathML only; the library escapes characters in texts."""
    tag = element.tag if element.tag in MATH_TAGS else "mrow"
    attributes = {name: value for name, value in element.attrib.items() if name in MATH_ATTRIBUTES}
    texts = [unescape(element.text)] if element.text else []
    return (tag, attributes, *texts, *_spaced([_tree(child) for child in element]))


def _spaced(row: list[MathTree]) -> list[MathTree]:
    """A row in which a sign stands close to its number, and the name of a function apart from what it applies to."""
    out: list[MathTree] = []
    for at, (tag, attributes, *content) in enumerate(row):
        before = row[at - 1] if at else None
        after_operator = before is not None and before[0] == "mo" and before[2:] and before[2] not in _CLOSING
        if tag == "mo" and content and content[0] in _SIGNS and after_operator:
            attributes = {**attributes, "form": "prefix"}
        elif before is not None and _is_function(before) and not (tag == "mo" and content):
            out.append(("mspace", {"width": "0.167em"}))
        out.append((tag, attributes, *content))
    return out


def _is_function(tree: MathTree) -> bool:
    return tree[0] == "mi" and len(tree) == 3 and isinstance(tree[2], str) and len(tree[2]) > 1 and tree[2].isalpha()


def _has_unknown_command(trees: list[MathTree]) -> bool:
    """Whether a command was copied instead of typeset."""
    return any(
        child.startswith("\\") and len(child) > 1 if isinstance(child, str) else _has_unknown_command([child])
        for tree in trees
        for child in tree[2:]
    )
