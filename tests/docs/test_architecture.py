"""docs/architecture.md and the decisions name what exists, and the code map is complete."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

import code_map
from paths import ROOT

SOURCE = ROOT / "src" / "glossator"
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
EXAMPLES = {
    "golden.yaml",
    "keys.json",
    "manifest.json",
    "versions.json",
    "answer.md",
    "widget.js",
    "tokenizer.json",
    "chat.js",
    "conf.py",
}
"""Files of users, of the data directory and of other sites."""
_CODE_PATH = re.compile(r"`((?:src/glossator/|bench/|tests/|training/)?[\w./-]+\.(?:py|js|md|json|toml|yaml|css))`")


def test_the_code_map_is_what_the_modules_say() -> None:
    page = ROOT / "docs" / "architecture.md"
    made = code_map.filled(page.read_text("utf-8"))
    if os.environ.get("GLOSSATOR_WRITE_DOCS"):
        page.write_text(made, "utf-8")
    assert page.read_text("utf-8") == made


def test_every_module_is_in_the_code_map() -> None:
    table = code_map.code_map()
    for file in SOURCE.rglob("*.py"):
        if file.name not in ("__init__.py", "env.py"):
            assert f"`{file.relative_to(SOURCE)}`" in table


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_the_docs_name_exist(page: Path) -> None:
    for name in _CODE_PATH.findall(page.read_text("utf-8")):
        if name.startswith("/") or name in EXAMPLES:
            continue
        places = [ROOT / name, SOURCE / name, *SOURCE.rglob(name), *ROOT.glob(f"book/**/{name}"), page.parent / name]
        assert any(place.exists() for place in places), f"{page.name} names {name}, which does not exist"


SCRIPTS = sorted(SOURCE.rglob("*.js"))
FOLDERS = ("tests", "bench", "training")
CODE = [*SOURCE.rglob("*.py"), *SCRIPTS, *(file for name in FOLDERS for file in (ROOT / name).rglob("*.py"))]


def test_no_folder_has_more_than_14_files() -> None:
    for folder in {file.parent for file in CODE}:
        files = [
            file
            for file in folder.iterdir()
            if file.is_file() and (file.name != "__init__.py" or file.stat().st_size > 200)
        ]
        assert len(files) <= 14, folder


def test_no_file_has_more_than_400_lines() -> None:
    for file in CODE:
        assert file.read_text("utf-8").count("\n") <= 400, file


def test_no_module_is_beside_a_package_of_the_same_name() -> None:
    assert [file for file in CODE if file.suffix == ".py" and file.with_suffix("").is_dir()] == []


def test_no_imports_form_a_cycle() -> None:
    graph = grimp.build_graph("glossator", cache_dir=None)
    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()


def test_limits_have_one_prefix() -> None:
    superlatives = "MOST|LEAST|LONGEST|SHORTEST|LARGEST|SMALLEST|BIGGEST|HIGHEST|LOWEST|FEWEST"
    assert _matches_in_code(rf"^_?(?:{superlatives})_\w* *[:=]") == {}


def test_names_of_durations_end_in_their_unit() -> None:
    durations = "TIMEOUT|DELAY|INTERVAL|COOLDOWN|PERIOD|PAUSE|WAIT|AGE"
    assert _matches_in_code(rf"^(?:\w+_)?(?:{durations})(?:: float)? = [\"\d.]") == {}
    assert _matches_in_code(rf"^ +(?:\w+_)?(?:{durations.lower()}): float = [\d.]") == {}


def _matches_in_code(pattern: str) -> dict[str, list[str]]:
    """What an expression finds in the code, by file."""
    found = {str(file.relative_to(ROOT)): re.findall(pattern, file.read_text("utf-8"), re.MULTILINE) for file in CODE}
    return {name: matches for name, matches in found.items() if matches}


def test_no_function_has_more_than_50_lines() -> None:
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 50, f"{file}: {node.name}"


TECHNOLOGIES = {
    "qdrant_edge": ("store/index/",),
    "qdrant_client": ("store/index/qdrant/",),
    "onnxruntime": ("core/inference/", "embed/", "read/"),
    "pypdfium2": ("ingest/formats/pdf/",),
    "docutils": ("ingest/formats/rst/",),
    "sqlite3": ("store/", "embed/cache.py"),
    "sqlalchemy": ("store/",),
    "psycopg": ("store/",),
    "agents": ("answer/llm/",),
    "openai": ("answer/llm/",),
    "mcp": ("serve/mcp/",),
}
"""Where invariant 10 allows each package to be imported."""


@pytest.mark.parametrize("package", TECHNOLOGIES)
def test_a_technology_is_imported_only_by_its_adapter(package: str) -> None:
    statement = re.compile(rf"^\s*(?:import|from) {package}\b", re.MULTILINE)
    importers = {
        file.relative_to(SOURCE).as_posix() for file in SOURCE.rglob("*.py") if statement.search(file.read_text())
    }
    assert importers
    assert {name for name in importers if not name.startswith(TECHNOLOGIES[package])} == set()


def test_private_names_of_modules_are_used() -> None:
    for file in SOURCE.rglob("*.py"):
        text = file.read_text("utf-8")
        for name in re.findall(r"^(?:def |class )?(_[a-zA-Z]\w*)\b", text, re.MULTILINE):
            assert len(re.findall(rf"\b{name}\b", text)) > 1, f"{file}: {name}"


def test_html_is_made_only_where_the_invariants_say() -> None:
    makers = {file.relative_to(SOURCE).as_posix() for file in SOURCE.rglob("*.py") if any(_html_strings(file))}
    assert {name for name in makers if not name.startswith("ingest/")} == {
        "serve/site/markup.py",
        "serve/site/pages.py",
    }


def _html_strings(file: Path) -> Iterator[str]:
    """Formatted strings of a module that close an element."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr) and re.search(r"</[a-z{]", ast.unparse(node)):
            yield ast.unparse(node)


def test_the_widget_creates_elements_in_one_module_and_makes_no_html() -> None:
    for file in SCRIPTS:
        text = file.read_text("utf-8")
        assert not re.search(r"(inner|outer|Adjacent)HTML|DOMParser|document\.write|parseFromString", text), file
        assert file.name == "nodes.js" or "createElement" not in text, file


def test_class_names_are_unique_outside_the_contracts() -> None:
    names: dict[str, Path] = {}
    for file in SOURCE.rglob("*.py"):
        if file.parent.name != "doors":
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.ClassDef):
                    assert node.name not in names, f"{node.name} is in {file} and in {names[node.name]}"
                    names[node.name] = file
