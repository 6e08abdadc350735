"""The text of a page from its bytes, whatever its headers say about the encoding."""

from __future__ import annotations

import codecs
import re

_KNOWN = re.compile(
    r"utf-?8|utf-?16(?:-?[lb]e)?|(?:iso-?)?8859-?\d{1,2}|iso8859-?\d{1,2}|latin-?1|us-ascii|ascii|windows-?\d{3,4}|cp\d{3,4}"
    r"|koi8-?[ru]|ibm866|macintosh|gb2312|gbk|gb18030|big5|big5-hkscs|euc-?jp|euc-?kr|iso-2022-jp|shift[_-]?jis|sjis",
    re.IGNORECASE,
)
"""Encodings of web pages; Python knows others, some of which are slow to decode."""
_AS_BROWSERS_DO = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}
_HEADER = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_META = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]{0,100}encoding\s*=\s*[\"']([\w.:-]+)", re.I
)
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_META_BYTES = 4096


def decode(body: bytes, content_type: str) -> str:
    """Text by its byte order mark; by being UTF-8, as nothing else looks like it; by the header, by the page itself.

    Bytes that fit none of these are read as windows-1252.
    """
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body.decode(encoding, "replace")
    found = _META.search(body[:_META_BYTES])
    header, meta = _HEADER.search(content_type), found and (found[1] or found[2]).decode("ascii")
    declared = [_codec(label) for label in (header and header[1], meta) if label]
    candidates = declared if body.isascii() else ["utf-8", *declared]
    for encoding in filter(None, candidates):
        try:
            return body.decode(encoding)
        except UnicodeDecodeError:
            continue
    return body.decode("cp1252", "replace")


def _codec(label: str) -> str:
    """The codec for the name of an encoding; empty if it is not one of the web."""
    if not _KNOWN.fullmatch(label):
        return ""
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return ""
    return _AS_BROWSERS_DO.get(name, name)
