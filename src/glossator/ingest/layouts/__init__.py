"""Which files of a folder are pages, in what order, and at which address each one will stand."""

from __future__ import annotations

from pathlib import Path

from glossator.ingest.layouts import docusaurus, mdbook, mkdocs, plain
from glossator.ingest.layouts.page import Layout

_DETECTORS = (docusaurus.detect, mdbook.detect, mkdocs.detect)


def layout_of(root: Path) -> Layout:
    """The layout of a folder: a known site generator's, or plain files."""
    for detect in _DETECTORS:
        if (found := detect(root)) is not None:
            return found
    return plain.layout(root)
