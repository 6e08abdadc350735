"""Which files of a source become pages: patterns of names, and for a git checkout the files that are not ignored."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from glossator.core.errors import BadInput

_TOKENS = re.compile(r"\*\*/|/\*\*\Z|\*\*|\*|\?|\[[^\]/]+\]|.", re.DOTALL)
_AS_REGEX = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True, slots=True)
class FileFilter:
    """Selects files by patterns as in .gitignore; `tracked` are the only files that count, by their path."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tracked: frozenset[str] | None = None

    def selects(self, path: Path, root: Path) -> bool:
        """Whether a file below a folder is selected; a file that is the source itself always is."""
        if path == root or not path.is_relative_to(root):
            return True
        return self.selects_name(path.relative_to(root).as_posix())

    def selects_name(self, name: str) -> bool:
        """Whether a path, relative to the source, is selected."""
        if self.tracked is not None and name not in self.tracked:
            return False
        included = not self.include or any(matches(pattern, name) for pattern in self.include)
        return included and not any(matches(pattern, name) for pattern in self.exclude)


ALL_FILES = FileFilter()


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern matches a path or a folder above it; without a slash, it matches a name at any depth."""
    return _compiled(pattern).fullmatch(name) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    bare = pattern.rstrip("/")
    anywhere = "" if "/" in bare else "(?:.*/)?"
    translated = "".join(_AS_REGEX.get(token) or _literal(token) for token in _TOKENS.findall(bare.removeprefix("/")))
    try:
        return re.compile(f"{anywhere}{translated}(?:/.*)?", re.DOTALL)
    except re.error:
        raise BadInput(f"{pattern[:100]!r} is not a valid pattern.", "Correct the range in [ ].") from None


def _literal(token: str) -> str:
    if len(token) > 1:  # a class of characters
        inner = re.sub(r"[\\\[&|~]", r"\\\g<0>", token[1:-1])
        return f"[^{inner[1:]}]" if inner[0] in "!^" and len(inner) > 1 else f"[{inner}]"
    return re.escape(token)
