"""Books for the benchmarks that must be unpacked first."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from lib.common import CACHE, DATA


def debian_reference() -> Path:
    """One book as HTML, PDF and EPUB."""
    target = CACHE / "developers-reference"
    if not target.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        package = DATA / "books" / "developers-reference_12.18_all.deb"
        subprocess.run(["dpkg", "-x", str(package), str(target)], check=True)
    found = target / "usr" / "share" / "developers-reference"
    html = CACHE / "developers-reference-html"
    html.mkdir(exist_ok=True)
    for page in found.glob("*.html"):
        shutil.copy(page, html)
    return found
