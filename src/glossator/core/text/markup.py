"""The HTML that a page of a book may contain; a sanitizer removes everything else."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING

from glossator.core.text.formulas import MATH_ATTRIBUTES, MATH_TAGS

if TYPE_CHECKING:
    import nh3

Resolve = Callable[[str, str], str | None]
"""The URL that a link (`a`) or an image (`img`) of a page gets, or None for no link and no image."""

ADMONITION_KINDS = frozenset(
    """
    note tip info important warning caution danger success question failure bug example quote abstract seealso hint
    """.split()
)
ALIGNMENTS = frozenset({"left", "center", "right"})
"""Of the cells of a table."""
IMAGE_TYPES = {
    "avif": "image/avif",
    "gif": "image/gif",
    "jpg": "image/jpeg",
    "png": "image/png",
    "svg": "image/svg+xml",
    "webp": "image/webp",
}
"""Types of images, by the ending of their names."""
MEDIA_PATH = "/media/"
"""Where the server shows the images of books."""
IMAGE = re.compile(rf'src="{MEDIA_PATH}([0-9a-f]{{32}}\.[a-z]+)"')
"""An image in the HTML of a page."""

_EMPTY_IMAGE = re.compile(r"<img(?![^>]* src=)(?![^>]* alt=\"[^\"])[^>]*>")

_INLINE_TAGS = frozenset(
    "a abbr b bdi bdo br cite code del dfn em i img ins kbd mark q rp rt ruby s samp small span strong sub sup"
    " time u var wbr".split()
)
_BLOCK_TAGS = frozenset("p h1 h2 h3 h4 h5 h6 blockquote pre hr div section article figure figcaption".split())
_LIST_TAGS = frozenset("ul ol li dl dt dd details summary".split())
_TABLE_TAGS = frozenset("table caption colgroup col thead tbody tfoot tr th td".split())
_REMOVED_TAGS = frozenset("script style template noscript iframe object svg textarea select title".split())
_ATTRIBUTES = {
    "*": {"id", "lang", "dir"},
    "a": {"href"},
    "abbr": {"title"},
    "img": {"src", "alt", "width", "height"},
    "ol": {"start", "reversed", "type"},
    "li": {"value"},
    "td": {"colspan", "rowspan", "align"},
    "th": {"colspan", "rowspan", "align", "scope"},
    "details": {"open"},
    "time": {"datetime"},
    "span": {"role", "aria-label"},
}
_CLASSES = {
    "blockquote": {"admonition", *ADMONITION_KINDS},
    "div": {"math", "admonition", "admonition-title", *ADMONITION_KINDS},
    "p": {"admonition-title"},
    "span": {"math", "task", "admonition-title"},
}
_AUTO_DIRECTION = "p h1 h2 h3 h4 h5 h6 li dt dd td th caption figcaption summary".split()
_FORCED_ATTRIBUTES = {tag: {"dir": "auto"} for tag in _AUTO_DIRECTION} | {
    "pre": {"dir": "ltr", "tabindex": "0"},
    "img": {"loading": "lazy"},
}
_ONE_ORDER = (' tabindex="0" dir="ltr">', ' dir="ltr" tabindex="0">')
"""The sanitizer adds the two attributes in either order, by chance. Only a tag can contain this text as it is."""


_resolve: ContextVar[Resolve] = ContextVar("resolve")


def sanitize(html: str, resolve: Resolve) -> str:
    """The HTML without anything that could run, load or disguise; every URL is what `resolve` gives for it."""
    token = _resolve.set(resolve)
    try:
        return _EMPTY_IMAGE.sub("", _cleaner().clean(html)).replace(*_ONE_ORDER)
    finally:
        _resolve.reset(token)


@cache
def _cleaner() -> nh3.Cleaner:
    """One for all pages, as it takes longer to make than a page to clean: it finds `resolve` in the context."""
    from nh3 import Cleaner

    def attribute(tag: str, name: str, value: str) -> str | None:
        if name in ("href", "src"):
            return _resolve.get()(tag, value)
        if name == "align":
            return value.lower() if value.lower() in ALIGNMENTS else None
        return value if name != "id" or value.strip() else None

    return Cleaner(
        tags=set(_INLINE_TAGS | _BLOCK_TAGS | _LIST_TAGS | _TABLE_TAGS | MATH_TAGS),
        clean_content_tags=set(_REMOVED_TAGS),
        attributes=_ATTRIBUTES | {tag: set(MATH_ATTRIBUTES) for tag in MATH_TAGS},
        attribute_filter=attribute,
        allowed_classes={tag: set(classes) for tag, classes in _CLASSES.items()},
        set_tag_attribute_values=_FORCED_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener",
    )
