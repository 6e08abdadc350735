"""MyST: the directives and roles of Sphinx in Markdown, as the Markdown that shows the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import dedent

from glossator.core.text.markup import ADMONITION_KINDS

MAX_NESTING = 10
_FENCE = re.compile(
    r"^(?P<indent>[ ]{0,3})(?P<fence>`{3,}|~{3,}|:{3,})(?:\{(?P<name>[\w:+.-]+)\}[ \t]*(?P<argument>[^\n]*)|[^\n]*)\n"
    r"(?P<body>(?:(?!(?P=indent)(?P=fence)[ \t]*$)[^\n]*\n)*)(?P=indent)(?P=fence)[ \t]*$",
    re.MULTILINE,
)
_OPTIONS = re.compile(r"\A(?:---\n(?:[^\n]*\n)*?---\n|(?:[ \t]*:[\w-]+:[^\n]*\n)+)")
_ROLE = re.compile(r"\{(?P<name>[\w:+.-]+)\}`(?:(?P<title>[^`<>\n]+?)[ \t]*<(?P<target>[^`<>\n]+)>|(?P<text>[^`\n]+))`")
_LABEL = re.compile(r"^\((?P<label>[\w:. -]+)\)=[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"^%[^\n]*\n?", re.MULTILINE)
_DROPPED = frozenset("toctree contents index mermaid graphviz raw bibliography tableofcontents todo".split())
_CODE = frozenset("code-block code sourcecode code-cell parsed-literal prompt testcode doctest".split())
_RST_DIRECTIVE = re.compile(
    r"^\.\.[ ](?P<name>[\w:+.-]+)::[ \t]*(?P<argument>[^\n]*)\n(?P<body>(?:[ \t]+\S[^\n]*\n|[ \t]*\n)*)", re.MULTILINE
)


def myst_to_markdown(text: str, references: Mapping[str, tuple[str, str]], nesting: int = 0) -> str:
    """A page as Markdown: unknown directives become their content, unknown roles their text."""
    kept: list[str] = []

    def block(match: re.Match[str]) -> str:
        name = (match["name"] or "").lower()
        if name and name not in (*_CODE, "eval-rst") and nesting < MAX_NESTING:
            return _directive(name, match, references, nesting)
        kept.append(_code(match) if name in _CODE else _rst_code(match) if name == "eval-rst" else match[0])
        return f"\x00{len(kept) - 1}\x00"

    text = _FENCE.sub(block, text.replace("\x00", ""))
    text = _COMMENT.sub("", _LABEL.sub(r'<a id="\g<label>"></a>\n', text))
    text = _ROLE.sub(lambda match: _role(match, references), text)
    return re.sub("\x00(\\d+)\x00", lambda match: kept[int(match[1])], text)


def _code(match: re.Match[str]) -> str:
    fence = match["fence"].replace(":", "`")
    return f"{fence}{match['argument'].strip()}\n{_OPTIONS.sub('', match['body'])}{fence}"


def _directive(name: str, match: re.Match[str], references: Mapping[str, tuple[str, str]], nesting: int) -> str:
    argument = match["argument"].strip()
    if name in _DROPPED:
        return ""
    body = _OPTIONS.sub("", match["body"])
    if name == "math":
        return f"$$\n{body}$$"
    inner = myst_to_markdown(body, references, nesting + 1)
    if name in ("figure", "image"):
        return f"![]({argument})\n\n{inner}"
    if name in ADMONITION_KINDS or name in ("attention", "error"):
        return f":::{name}\n\n{argument}\n\n{inner}\n:::\n"
    title = f"**{argument}**\n\n" if argument else ""
    return f"{title}{inner}\n"


def _rst_code(match: re.Match[str]) -> str:
    """The code in a block of reStructuredText, of Sphinx's directives and of a site's own such as `click:example`."""
    return "\n\n".join(
        f"~~~~~{found['argument'].strip()}\n{dedent(_OPTIONS.sub('', found['body'])).strip(chr(10))}\n~~~~~"
        for found in _RST_DIRECTIVE.finditer(match["body"])
        if found["name"].lower() in _CODE or found["name"].lower().endswith(":example")
    )


def _role(match: re.Match[str], references: Mapping[str, tuple[str, str]]) -> str:
    name, text = match["name"].rpartition(":")[2], match["title"] or match["text"]
    if name in ("ref", "doc", "numref", "any") and not match["title"]:
        kind = "doc" if name == "doc" else "ref"
        return references.get(f"{kind}:{text.lstrip('/') if kind == 'doc' else text.lower()}", (text, ""))[0]
    if name in ("ref", "doc", "numref", "any", "term", "guilabel", "abbr", "download", "index"):
        return text
    return f"${text}$" if name == "math" else f"`{text.lstrip('~!')}`"
