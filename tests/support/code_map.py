"""The code map of docs/architecture.md, made from the modules' own docstrings."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from paths import ROOT

SOURCE = ROOT / "src" / "glossator"
_MAP = re.compile(r"(<!-- code map -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str) -> str:
    """The page with its code map brought up to date."""
    return _MAP.sub(lambda found: found[1] + code_map() + found[2], page)


def code_map() -> str:
    """A table for each package, in the order of the data flow, with a row for each module."""
    order = (
        "core",
        "ingest",
        "embed",
        "store",
        "read",
        "retrieve",
        "answer",
        "verification",
        "pipeline",
        "evaluate",
        "serve",
        "cli",
    )
    tables = []
    for name in order:
        folder = SOURCE / name
        files = [folder.with_suffix(".py")] if folder.with_suffix(".py").exists() else _modules(folder)
        rows = [f"| `{file.relative_to(SOURCE)}` | {summary(file)} |" for file in files]
        tables.append("\n".join(["| module | what it does |", "|---|---|", *rows]) + "\n")
    rows = [f"| `{name}` | {summary(SOURCE / name)} |" for name in ("facade.py", "__main__.py")]
    tables.append("\n".join(["| module | what it does |", "|---|---|", *rows]) + "\n")
    return "\n" + "\n".join(tables) + "\n"


def _modules(folder: Path) -> list[Path]:
    """The modules of a package, those of its own first; a package whose `__init__` holds code counts as one."""
    files = [file for file in folder.rglob("*.py") if file.name != "__init__.py" or _has_code(file)]
    files = [file for file in files if "migrations" not in file.parts or file.parent.name == "versions"]
    return sorted(
        files, key=lambda file: (len(file.relative_to(folder).parts) > 1, file.relative_to(folder).as_posix())
    )


def _has_code(file: Path) -> bool:
    return len(ast.parse(file.read_text("utf-8")).body) > 1


def summary(file: Path) -> str:
    """The first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").partition("\n")[0]
