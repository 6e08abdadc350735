"""Site layouts: which files of a folder are pages, their order, and the URL of each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from glossator.core.book.sources import Layout
from glossator.core.errors import SourceError
from glossator.ingest.layouts import antora, docusaurus, mdbook, mkdocs, plain, sphinx
from glossator.ingest.layouts.page import SiteGenerator, SiteLayout, find_configs, report_left_out, skipped_configs

_GENERATORS: dict[Layout, SiteGenerator] = {
    Layout.DOCUSAURUS: docusaurus,
    Layout.MDBOOK: mdbook,
    Layout.MKDOCS: mkdocs,
    Layout.SPHINX: sphinx,
    Layout.ANTORA: antora,
}
_MISSING = {
    Layout.ANTORA: "modules with pages, which an Antora component has",
    Layout.MDBOOK: "SUMMARY.md, which lists the pages of an mdBook",
    Layout.SPHINX: "index page, from which the pages of a Sphinx site are listed",
}
"""What a folder lacks that is not of a chosen layout."""
_CONFIG_FILES = {name: generator for generator in _GENERATORS.values() for name in generator.CONFIG_FILES}


def find_layout(root: Path, layout: Layout) -> SiteLayout:
    """The layout of a folder: the chosen one, or the one that its files call for."""
    found = _find(root, layout)
    skipped = (*found.skipped, *skipped_configs(root, list(_CONFIG_FILES)))
    return report_left_out(replace(found, skipped=skipped), root)


def _find(root: Path, layout: Layout) -> SiteLayout:
    if layout is Layout.AUTO:
        return _detect(root)
    if layout is Layout.PLAIN:
        return plain.folder_layout(root, "chosen with --layout")
    generator = _GENERATORS[layout]
    for config in find_configs(root, generator.CONFIG_FILES):
        if (found := generator.from_config(config)) is not None:
            return found
    if (found := generator.from_files(root, chosen=True)) is not None:
        return found
    missing = _MISSING.get(layout, "its configuration")
    raise SourceError(f"{root} has no {missing}.", "Choose another --layout.")


def _detect(root: Path) -> SiteLayout:
    """A configuration decides; without one, files that only one generator has; otherwise the files are plain."""
    configs = list(find_configs(root, list(_CONFIG_FILES)))
    for config in configs:
        if (found := _CONFIG_FILES[config.path.name].from_config(config)) is not None:
            return found
    for generator in _GENERATORS.values():
        if (found := generator.from_files(root, chosen=False)) is not None:
            return found
    if configs:
        return plain.folder_layout(root, f"{configs[0].reason}, but has no pages in this folder")
    names = ", ".join(dict.fromkeys(generator.CONFIG_FILES[0] for generator in _GENERATORS.values()))
    return plain.folder_layout(root, f"none of {names} is in the folder or one level up")
