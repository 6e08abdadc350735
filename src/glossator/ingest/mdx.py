"""MDX becomes Markdown: what only a browser runs is taken out, what a reader sees stays."""

from __future__ import annotations

import re
from collections.abc import Callable

_TOKENS = re.compile(
    r"(?P<fence>^[ \t>]*(?P<ticks>`{3,}|~{3,})[^\n]*\n(?:.*?\n)??[ \t>]*(?P=ticks)[`~]*[ \t]*$)"
    r"|(?P<code>(?<!`)(?P<quote>`+)(?!`)[^`].{0,2000}?(?<!`)(?P=quote)(?!`))"
    r"|(?P<math>\$\$.{1,5000}?\$\$|\$(?![\s$])[^$\n]{1,1000}?(?<![\s\\])\$(?!\d))"
    r"|(?P<comment>\{\s*/\*.{0,20000}?\*/\s*\}|<!--.{0,20000}?-->)"
    r"|(?P<escape>\\[{}<>])"
    r"|(?P<esm>^(?:import\s+(?:[\w*${},\s]+\s+from\s+)?['\"]|export\s+(?:const|let|var|function|default|class|async|type|\{|\*)))"
    r"|(?P<tag></?[A-Za-z][\w.:-]*(?=[\s/>])|</?>)"
    r"|(?P<brace>\{)",
    re.MULTILINE | re.DOTALL,
)
_HEADING_ID = re.compile(r"^(#{1,6}[^\n]*?)\{\s*/\*\s*(#[\w-]+)\s*\*/\s*\}[ \t]*$", re.MULTILINE)
_CLASSIC_ID = re.compile(r"\{#[^\s{}]+\}")
_ADMONITION = re.compile(
    r"^[ \t]*:{3,}[ \t]*([a-zA-Z]+)[ \t]*(?:\[(.*?)\])?[ \t]*(?:\{[^}\n]*\})?[ \t]*([^\n]*)$", re.MULTILINE
)
_ADMONITION_END = re.compile(r"^[ \t]*:{3,}[ \t]*$", re.MULTILINE)
_ATTRIBUTE = re.compile(r"([A-Za-z_][\w:.-]*)\s*=\s*(\"[^\"]*\"|'[^']*')")
_VISIBLE_PROP = {"TabItem": "label", "Admonition": "title", "Listing": "caption", "Card": "title"}
_INLINE_TAGS = frozenset(
    """
    a abbr b br code del em i img ins kbd mark q s small span strong sub sup u var wbr
    """.split()
)
_PARTIAL = re.compile(r"^import\s+([A-Z]\w*)\s+from\s+['\"]([^'\"]+\.mdx?)['\"]", re.MULTILINE)
_STRING = re.compile(r"\{\s*(['\"`])([^'\"`$]*)\1\s*\}")


def to_markdown(text: str, partial: Callable[[str], str] = lambda target: "") -> str:
    """Strip imports, exports, comments, components and expressions; keep their readable children.

    `partial` gives the text of an imported Markdown file, which stands where its component is used.
    """
    for name, target in _PARTIAL.findall(text):
        pieces = re.split(rf"^[ \t]*<{name}\b[^>\n]*/>", text, flags=re.MULTILINE)
        text = f"\n{partial(target)}\n".join(pieces) if len(pieces) > 1 else text
    text = _HEADING_ID.sub(r"\1{\2}", text)
    out: list[str] = []
    position = 0
    while match := _TOKENS.search(text, position):
        out.append(text[position : match.start()])
        kept, position = _token(text, match)
        out.append(kept)
    out.append(text[position:])
    return admonitions("".join(out))


def admonitions(text: str) -> str:
    """`:::note[Title]` becomes its title and its text."""
    outside: list[str] = []
    position = 0
    for match in re.finditer(_TOKENS, text):
        if match["fence"] is None or match.start() < position:
            continue
        outside.append(_open_admonitions(text[position : match.start()]))
        outside.append(match[0])
        position = match.end()
    outside.append(_open_admonitions(text[position:]))
    return "".join(outside)


def _open_admonitions(text: str) -> str:
    text = _ADMONITION.sub(lambda m: f"\n\n{(m[2] or m[3] or '').strip()}\n\n", text)
    return _ADMONITION_END.sub("\n\n", text)


def _token(text: str, match: re.Match[str]) -> tuple[str, int]:
    """What stands in a token's place, and where to go on."""
    if match["esm"]:
        return "\n", _esm_end(text, match.start())
    if match["comment"]:
        return "", match.end()
    if match["tag"]:
        return _tag(text, match)
    if match["brace"]:
        return _expression(text, match.start())
    return match[0], match.end()


def _esm_end(text: str, start: int) -> int:
    """The end of an import or export: the first line end at which its brackets are closed."""
    depth, position = 0, start
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        line = text[position:end]
        depth += sum(line.count(c) for c in "{([") - sum(line.count(c) for c in "})]")
        position = end + 1
        following = text[position : text.find("\n", position) if text.find("\n", position) >= 0 else len(text)]
        if depth <= 0 and (not following.strip() or not following[:1].isspace()):
            break
    return min(position, len(text))


def _expression(text: str, start: int) -> tuple[str, int]:
    """A `{…}` in prose: a string literal is its text, a heading id stays, all else goes."""
    if found := _CLASSIC_ID.match(text, start):
        return found[0], found.end()
    if found := _STRING.match(text, start):
        return found[2], found.end()
    end = _closing(text, start)
    return ("{", start + 1) if end is None else ("", end)


def _closing(text: str, start: int) -> int | None:
    """The position after the brace that closes the one at `start`."""
    depth = 0
    quote = ""
    for position in range(start, min(len(text), start + 20000)):
        character = text[position]
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'`" and depth and text[position - 1] in "={(,[: \n":
            quote = character
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if not depth:
                return position + 1
    return None


def _tag(text: str, match: re.Match[str]) -> tuple[str, int]:
    """A component's tag goes, an HTML tag stays without its expressions."""
    end = _tag_end(text, match.end()) if not match[0].endswith(">") else match.end()
    if end is None:
        return match[0], match.end()
    name = match[0].strip("</>")
    attributes = {k: v[1:-1] for k, v in _ATTRIBUTE.findall(text[match.end() : end])}
    closing = match[0].startswith("</")
    if not name:
        return "", end
    if not (name[0].islower() and "." not in name):
        visible = "" if closing else attributes.get(_VISIBLE_PROP.get(name, ""), "")
        own_line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip() == ""
        return (f"\n\n{visible}\n\n" if own_line or visible else ""), end
    kept = "".join(f' {"class" if k == "className" else k}="{v}"' for k, v in attributes.items())
    html = f"</{name}>" if closing else f"<{name}{kept}>"
    if name in _INLINE_TAGS or name == "summary":
        return html, end
    return f"\n\n{html}\n\n", end


def _tag_end(text: str, start: int) -> int | None:
    """The position after the `>` that ends a tag, past strings and braces."""
    position = start
    limit = min(len(text), start + 20000)
    while position < limit:
        character = text[position]
        if character == ">":
            return position + 1
        if character in "\"'":
            closed = text.find(character, position + 1, limit)
            if closed < 0:
                return None
            position = closed
        elif character == "{":
            after = _closing(text, position)
            if after is None:
                return None
            position = after - 1
        elif character == "<":
            return None
        position += 1
    return None
