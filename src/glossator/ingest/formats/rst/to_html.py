"""A document tree of docutils as HTML, with the anchors that Sphinx gives."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from docutils import nodes

_HIDDEN = (
    nodes.comment,
    nodes.raw,
    nodes.system_message,
    nodes.substitution_definition,
    nodes.docinfo,
    nodes.meta,
    nodes.pending,
    nodes.colspec,
    nodes.decoration,
)
_TAGS: dict[type[nodes.Node], str] = {
    nodes.paragraph: "p",
    nodes.strong: "strong",
    nodes.emphasis: "em",
    nodes.literal: "code",
    nodes.title_reference: "cite",
    nodes.subscript: "sub",
    nodes.superscript: "sup",
    nodes.abbreviation: "abbr",
    nodes.acronym: "abbr",
    nodes.inline: "span",
    nodes.bullet_list: "ul",
    nodes.list_item: "li",
    nodes.definition_list: "dl",
    nodes.term: "dt",
    nodes.definition: "dd",
    nodes.field_list: "dl",
    nodes.field_name: "dt",
    nodes.field_body: "dd",
    nodes.option_list: "dl",
    nodes.option_group: "dt",
    nodes.description: "dd",
    nodes.option: "code",
    nodes.block_quote: "blockquote",
    nodes.attribution: "p",
    nodes.table: "table",
    nodes.thead: "thead",
    nodes.tbody: "tbody",
    nodes.row: "tr",
    nodes.figure: "figure",
    nodes.caption: "figcaption",
    nodes.legend: "div",
    nodes.topic: "div",
    nodes.sidebar: "div",
    nodes.container: "div",
    nodes.compound: "div",
    nodes.subtitle: "p",
    nodes.footnote: "div",
    nodes.citation: "div",
}
_ADMONITIONS: dict[type[nodes.Element], tuple[str, str]] = {
    nodes.attention: ("warning", "Attention"),
    nodes.caution: ("caution", "Caution"),
    nodes.danger: ("danger", "Danger"),
    nodes.error: ("danger", "Error"),
    nodes.hint: ("hint", "Hint"),
    nodes.important: ("important", "Important"),
    nodes.note: ("note", "Note"),
    nodes.tip: ("tip", "Tip"),
    nodes.warning: ("warning", "Warning"),
}
_MAX_DEPTH = 200


def to_html(document: nodes.document) -> str:
    """The body of a page; fields above its title are about the page, and not part of it."""
    children = list(document.children)
    while children and isinstance(children[0], nodes.field_list | nodes.comment):
        children.pop(0)
    return "".join(_html(child, 0) for child in children)


def _html(node: nodes.Node, level: int, depth: int = 0) -> str:
    """A node as HTML; `level` is that of the section it is in."""
    if isinstance(node, nodes.Text):
        return escape(node.astext(), quote=False)
    if isinstance(node, _HIDDEN) or not isinstance(node, nodes.Element) or depth > _MAX_DEPTH:
        return ""
    special = next((_SPECIAL[kind] for kind in type(node).__mro__ if kind in _SPECIAL), None)
    if special is not None:
        return special(node, level, depth)
    content = _children(node, level, depth)
    tag = next((_TAGS[kind] for kind in type(node).__mro__ if kind in _TAGS), None)
    if tag is None:
        return _targets(node) + content
    return f"<{tag}{_id(node)}>{_targets(node, 1)}{content}</{tag}>"


def _children(node: nodes.Element, level: int, depth: int) -> str:
    return "".join(_html(child, level, depth + 1) for child in node.children)


def _id(node: nodes.Element) -> str:
    return f' id="{escape(node["ids"][0])}"' if node.get("ids") else ""


def _targets(node: nodes.Element, start: int = 0) -> str:
    """The other ids of a node."""
    ids: list[str] = node.get("ids", [])
    return "".join(f'<span id="{escape(each)}"></span>' for each in ids[start:])


def _section(node: nodes.Element, level: int, depth: int) -> str:
    """A section; as in Sphinx, an id that was only numbered comes after the others."""
    ids: list[str] = node.get("ids", [])
    if len(ids) > 1 and ids[0].startswith("id"):
        node["ids"] = [*ids[1:], ids[0]]
    return f"<section{_id(node)}>{_targets(node, 1)}{_children(node, level + 1, depth)}</section>"


def _title(node: nodes.Element, level: int, depth: int) -> str:
    content = _children(node, level, depth)
    if isinstance(node.parent, nodes.table):
        return f"<caption>{content}</caption>"
    if isinstance(node.parent, nodes.section):
        tag = f"h{min(max(level, 1), 6)}"
        return f"<{tag}>{content}</{tag}>"
    if isinstance(node.parent, nodes.Admonition | nodes.admonition):
        return f'<p class="admonition-title">{content}</p>'
    return f"<p><strong>{content}</strong></p>"


def _code(node: nodes.Element, _level: int, _depth: int) -> str:
    given: list[str] = node.get("classes", [])
    classes = [name for name in given if name != "code"]
    language = node.get("language") or (classes[0] if classes else "")
    name = f' class="language-{escape(language)}"' if language and not language.isspace() else ""
    return f"<pre><code{name}>{escape(node.astext(), quote=False)}</code></pre>"


def _list(node: nodes.Element, level: int, depth: int) -> str:
    start = f' start="{int(node["start"])}"' if str(node.get("start", "")).isdecimal() else ""
    return f"<ol{start}>{_children(node, level, depth)}</ol>"


def _lines(node: nodes.Element, level: int, depth: int) -> str:
    """Verses, one line below the other."""
    if isinstance(node.parent, nodes.line_block):
        return _children(node, level, depth)
    return f"<p>{_children(node, level, depth)}</p>"


def _line(node: nodes.Element, level: int, depth: int) -> str:
    return f"{_children(node, level, depth)}<br>"


def _admonition(node: nodes.Element, level: int, depth: int) -> str:
    known = _ADMONITIONS.get(type(node))
    kind, title = known or (" ".join(node.get("classes", [])) or "note", "")
    heading = f'<p class="admonition-title">{title}</p>' if title else ""
    return f'<div class="admonition {escape(kind)}"{_id(node)}>{heading}{_children(node, level, depth)}</div>'


def _link(node: nodes.Element, level: int, depth: int) -> str:
    address = node.get("refuri") or (f"#{node['refid']}" if node.get("refid") else "")
    content = _children(node, level, depth)
    return f'<a href="{escape(address)}">{content}</a>' if address else content


def _target(node: nodes.Element, level: int, depth: int) -> str:
    return _targets(node) + _children(node, level, depth)


def _footnote_reference(node: nodes.Element, level: int, depth: int) -> str:
    return f'<sup><a href="#{escape(node.get("refid", ""))}">{_children(node, level, depth)}</a></sup>'


def _label(node: nodes.Element, level: int, depth: int) -> str:
    return f"<p>{_children(node, level, depth)}</p>" if isinstance(node.parent, nodes.citation) else ""


def _image(node: nodes.Element, _level: int, _depth: int) -> str:
    return f'<img src="{escape(node.get("uri", ""))}" alt="{escape(node.get("alt", ""))}">'


def _entry(node: nodes.Element, level: int, depth: int) -> str:
    tag = "th" if isinstance(node.parent.parent, nodes.thead) else "td"
    columns, rows = int(node.get("morecols", 0)) + 1, int(node.get("morerows", 0)) + 1
    spans = (f' colspan="{columns}"' if columns > 1 else "") + (f' rowspan="{rows}"' if rows > 1 else "")
    return f"<{tag}{spans}>{_children(node, level, depth)}</{tag}>"


def _math(node: nodes.Element, _level: int, _depth: int) -> str:
    tag, kind = ("div", "block") if isinstance(node, nodes.math_block) else ("span", "inline")
    return f'<{tag} class="math {kind}">{escape(node.astext(), quote=False)}</{tag}>'


def _rubric(node: nodes.Element, level: int, depth: int) -> str:
    return f"<p><strong>{_children(node, level, depth)}</strong></p>"


def _rule(_node: nodes.Element, _level: int, _depth: int) -> str:
    return "<hr>"


def _option_argument(node: nodes.Element, _level: int, _depth: int) -> str:
    return escape(node.astext(), quote=False)


_SPECIAL: dict[type, Callable[[nodes.Element, int, int], str]] = {
    nodes.section: _section,
    nodes.title: _title,
    nodes.literal_block: _code,
    nodes.doctest_block: _code,
    nodes.enumerated_list: _list,
    nodes.line_block: _lines,
    nodes.line: _line,
    nodes.Admonition: _admonition,
    nodes.reference: _link,
    nodes.target: _target,
    nodes.footnote_reference: _footnote_reference,
    nodes.citation_reference: _link,
    nodes.label: _label,
    nodes.image: _image,
    nodes.entry: _entry,
    nodes.math: _math,
    nodes.math_block: _math,
    nodes.rubric: _rubric,
    nodes.transition: _rule,
    nodes.option_argument: _option_argument,
}
