"""Front matter and configuration files of a book: those that would hang or end an ingest cost their own values only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from glossator.core.text.plain_yaml import load_yaml
from glossator.ingest.read import read_source
from glossator.pipeline.contents import golden_questions

PAGE = "# Tides\n\nThe moon raises the tides.\n"
NUMBER = "0x" + "f" * 20_000


def nested(item: str, levels: int = 12) -> str:
    """Lines that name the lines above them ten times each."""
    lines = [f"a0: &a0 {item}\n"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, levels)]
    return "".join(lines)


def merged(levels: int = 12) -> str:
    lines = ["m0: &m0 {key: value}\n"]
    lines += [f"m{i}: &m{i} {{<<: [{', '.join([f'*m{i - 1}'] * 10)}]}}\n" for i in range(1, levels)]
    return "".join(lines)


FILES: dict[str, Mapping[str, str]] = {
    "navigation": {"mkdocs.yml": nested("{A: tides.md}") + "nav: *a11\n", "docs/tides.md": PAGE},
    "navigation in itself": {"mkdocs.yml": "nav: &a [{A: *a}]\n", "docs/tides.md": PAGE},
    "merged keys": {"tides.md": PAGE, "other.md": f"---\n{merged()}---\n{PAGE}"},
    "large number": {"tides.md": f"---\ntitle: {NUMBER}\n---\n{PAGE}"},
    "large number in a book": {
        "book.toml": f"[book]\ntitle = {NUMBER}\n",
        "src/SUMMARY.md": "- [T](tides.md)\n",
        "src/tides.md": PAGE,
    },
    "large position": {
        "docusaurus.config.js": "module.exports = {}",
        "docs/a/_category_.yml": f"position: {NUMBER}\nlabel: {NUMBER}\n",
        "docs/a/tides.md": f"---\nsidebar_position: {NUMBER}\n---\n{PAGE}",
    },
    "golden questions": {"tides.md": PAGE, "golden.yaml": "[" * 5_000},
    "too many golden questions": {"tides.md": PAGE, "golden.yaml": "[" + "a, " * 1_000_000 + "]"},
}


@pytest.mark.parametrize("files", FILES.values(), ids=FILES.keys())
def test_the_pages_are_read(files: Mapping[str, str], tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    contents = read_source(str(tmp_path), "", 10_000_000)
    assert contents.documents[0].text.endswith("The moon raises the tides.")
    assert golden_questions(tmp_path) == ()


def test_aliases_of_ordinary_files_are_read() -> None:
    text = "base: &base {a: 1, b: [x]}\nmore: {<<: *base, b: [y]}\nboth: [*base, *base]\n"
    assert load_yaml(text) == yaml.safe_load(text)
    assert load_yaml("") is None


@pytest.mark.parametrize("text", [nested("x"), merged(), "&a [*a]", "a: &a {b: *a}", "[" * 5_000])
def test_yaml_that_expands_or_contains_itself_is_an_error(text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        load_yaml(text)
