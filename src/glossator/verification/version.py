"""The version of the verifier: a hash of the files that decide a verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable

_DECIDING = ("glossator.verification", "glossator.read", "glossator.core.inference", "glossator.core.text")
_SUFFIXES = (".py", ".json", ".toml", ".txt")


@lru_cache(maxsize=1)
def verifier_version() -> str:
    """A hash of the verifier's code, weights and word lists, and of the text functions and thresholds it uses."""
    return hash_files([*map(resources.files, _DECIDING), resources.files("glossator.core").joinpath("thresholds.py")])


def hash_files(roots: Sequence[Traversable]) -> str:
    """A short hash of the names and contents of source files, in folders or given directly."""
    digest = hashlib.sha256()
    for root in roots:
        for name, file in _source_files(root, ""):
            content = file.read_bytes()
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]


def _source_files(entry: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    """The source files of a folder by their path in it, in a fixed order."""
    if entry.is_file():
        if entry.name.endswith(_SUFFIXES):
            yield path, entry
        return
    for child in sorted(entry.iterdir(), key=lambda child: child.name):
        yield from _source_files(child, f"{path}/{child.name}")
