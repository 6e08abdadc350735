"""Site layouts: which files of a folder are pages, their order, and the URL of each."""

from __future__ import annotations

from pathlib import Path

from glossator.ingest.layouts import docusaurus, mdbook, mkdocs, plain
from glossator.ingest.layouts.page import SiteLayout

_DETECTORS = (docusaurus.detect, mdbook.detect, mkdocs.detect)


def detect_layout(root: Path) -> SiteLayout:
    """The layout of a folder: that of a known site generator, or plain files."""
    for detect in _DETECTORS:
        if (found := detect(root)) is not None:
            return found
    return plain.folder_layout(root)
