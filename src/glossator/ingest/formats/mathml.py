"""MathML as a line of text, for formulas that come without their TeX."""

from __future__ import annotations

from selectolax.lexbor import LexborNode

MAX_DEPTH = 50

_TEMPLATES = {
    "msup": "{}^{{{}}}",
    "msub": "{}_{{{}}}",
    "msubsup": "{}_{{{}}}^{{{}}}",
    "munder": "{}_{{{}}}",
    "mover": "{}^{{{}}}",
    "munderover": "{}_{{{}}}^{{{}}}",
    "mfrac": "\\frac{{{}}}{{{}}}",
    "mroot": "\\sqrt[{1}]{{{0}}}",
}
"""Elements whose children have a position; written as in TeX."""

_HIDDEN = frozenset({"annotation", "annotation-xml", "mphantom"})


def mathml_to_tex(node: LexborNode, depth: int = 0) -> str:
    """A formula in the notation of TeX: raised, lowered and divided parts stay recognizable."""
    if depth > MAX_DEPTH:
        return str(node.text() or "")
    if node.is_text_node:
        return str(node.text(deep=True) or "").strip()
    if node.tag in _HIDDEN:
        return ""
    parts = [mathml_to_tex(child, depth + 1) for child in node.iter(include_text=True)]
    parts = [part for part in parts if part]
    template = _TEMPLATES.get(node.tag or "", "")
    if template and len(parts) == template.count("{}") + template.count("{0}") + template.count("{1}"):
        return template.format(*parts)
    joined = " ".join(parts) if node.tag in ("mrow", "math", "mtr", "mtable", "mstyle", "semantics") else "".join(parts)
    return f"\\sqrt{{{joined}}}" if node.tag == "msqrt" else joined
