"""Sphinx: pages in the order of the tables of contents, with the URLs of the built site; conf.py is never executed."""

from __future__ import annotations

from pathlib import Path

import pytest

from glossator.core.book.sources import Layout
from glossator.ingest.read import SourceContents, read_source

LIMIT = 1_000_000
CONF = """
import os, pathlib
pathlib.Path(__file__).with_name("executed").touch()
os.system("touch executed")
project = "Of Tides"
copyright: str = "2024"
release = version = "2.1"
html_baseurl = "https://tides.example/docs/"
exclude_patterns = ["drafts/*", "**/hidden.rst"]
extensions = ["a"] + open("/etc/passwd").read().split()
"""
SITE = {
    "conf.py": CONF,
    "index.rst": "Tides\n=====\n\n.. toctree::\n   :maxdepth: 2\n   :caption: First part\n\n   moon\n"
    "   Own title <guide/index>\n"
    "   https://elsewhere.example\n   self\n   gone\n\n.. toctree::\n   :glob:\n\n   more/*\n",
    "moon.rst": ".. _the moon:\n\nThe ``Moon``\n==========\n\n"
    "At |version|. See :doc:`guide/index` and :ref:`springs`.\n",
    "guide/index.rst": "Guide\n=====\n\n.. toctree::\n\n   deep\n\nText.",
    "guide/deep.rst": "Deep\n====\n\n.. _springs:\n\nSpring *tides*\n--------------\n\n"
    "See :ref:`the moon` and :doc:`/moon`.\n",
    "more/b.rst": "B\n=\n\nText.",
    "more/a.md": "# A\n\nMarkdown *text*.\n\n## Low Water Mark\n\nMore.\n",
    "orphan.rst": ":orphan:\n\nOrphan\n======\n\nText.",
    "drafts/d.rst": "Draft\n=====\n\nText.",
    "guide/hidden.rst": "Hidden\n======\n\nText.",
    "_build/html/index.html": "<p>Built.</p>",
    "_build/moon.rst": "Built\n=====\n",
}


def site(folder: Path, changes: dict[str, str | None] | None = None) -> Path:
    for name, text in {**SITE, **(changes or {})}.items():
        if text is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")
    return folder


def read(folder: Path, layout: Layout = Layout.AUTO) -> SourceContents:
    return read_source(str(folder), None, LIMIT, layout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def contents(folder: Path) -> SourceContents:
    return read(folder)


def test_pages_have_the_order_and_the_urls_of_the_site(contents: SourceContents) -> None:
    assert (contents.layout, contents.name, contents.reason) == ("sphinx", "Of Tides", "conf.py is in the folder")
    base = "https://tides.example/docs/"
    assert [(d.url.removeprefix(base), d.chapters) for d in contents.documents] == [
        ("index.html", ("Tides",)),
        ("moon.html", ("First part", "The Moon")),
        ("guide/index.html", ("First part", "Guide")),
        ("guide/deep.html", ("First part", "Own title", "Deep")),
        ("more/a.html", ("A",)),
        ("more/b.html", ("B",)),
        ("orphan.html", ("Orphan",)),
    ]
    assert [(skip.path, skip.reason) for skip in contents.skipped] == [
        ("gone", "index lists it, but it does not exist.")
    ]


def test_references_have_the_titles_and_addresses_of_their_targets(contents: SourceContents) -> None:
    documents = {d.document_id: d for d in contents.documents}
    assert documents["moon.rst"].text.endswith("At 2.1. See Guide and Spring tides.")
    assert 'href="guide/deep.html#springs"' in documents["moon.rst"].html
    assert documents["guide/deep.rst"].text.endswith("See The Moon and The Moon.")
    assert 'href="../moon.html#the-moon"' in documents["guide/deep.rst"].html


def test_markdown_pages_have_the_anchors_of_sphinx(contents: SourceContents) -> None:
    page = next(d for d in contents.documents if d.document_id == "more/a.md")
    assert [block.anchor for block in page.blocks if block.anchor] == ["a", "low-water-mark"]


MYST = """(low-water)=
# Low *Water*

% a comment
```{note} Mind
:class: dropdown
the {ref}`the moon` and {doc}`moon`.
```

````{tab-set}
```{tab-item} Linux
Run {py:func}`tide`.
```
````

```{code-block} python
:linenos:

x = 1
```

```py
# {ref}`stays`
```

:::{weather} Rain
Text.
:::
"""


def test_markdown_is_read_as_myst(tmp_path: Path) -> None:
    index = "# Tides\n\n```{toctree}\n:caption: Part\n\nlow\nmoon\n```\n"
    contents = read(site(tmp_path, {"index.rst": None, "index.md": index, "low.md": MYST}))
    assert [(d.document_id, d.chapters) for d in contents.documents][:3] == [
        ("index.md", ("Tides",)),
        ("low.md", ("Part", "Low Water")),
        ("moon.rst", ("Part", "The Moon")),
    ]
    assert contents.documents[1].text == (
        "Low Water\n\nMind\n\nthe The Moon and The Moon.\n\nLinux\n\nRun tide.\n\n```python\nx = 1\n```\n\n"
        "```py\n# {ref}`stays`\n```\n\nRain\n\nText."
    )
    assert 'id="low-water"' in contents.documents[1].html


def test_code_of_restructured_text_in_markdown_is_read(tmp_path: Path) -> None:
    page = (
        "# Low Water\n\nWrite it so:\n\n```{eval-rst}\n.. tide:example::\n\n    @tide.low\n    def ebb():\n"
        "        return `{ref}`\n\n.. autoclass:: Tide\n    :members:\n\n.. code-block:: console\n\n    $ tide\n```\n"
    )
    index = "# Tides\n\n```{toctree}\nlow\n```\n"
    contents = read(site(tmp_path, {"index.rst": None, "index.md": index, "low.md": page}))
    assert contents.documents[1].text == (
        "Low Water\n\nWrite it so:\n\n```\n@tide.low\ndef ebb():\n    return `{ref}`\n```\n\n```console\n$ tide\n```"
    )


def test_the_configuration_is_not_executed(folder: Path, contents: SourceContents) -> None:
    assert contents.name == "Of Tides"
    assert not (folder / "executed").exists()


def test_an_index_with_a_table_of_contents_is_enough(tmp_path: Path) -> None:
    contents = read(site(tmp_path, {"conf.py": None}))
    assert (contents.layout, contents.reason) == ("sphinx", "index.rst has a toctree")
    assert (contents.name, contents.base_url) == ("Tides", "")


def test_a_configuration_that_is_invalid_gives_no_values(tmp_path: Path) -> None:
    contents = read(site(tmp_path, {"conf.py": "project = 'A\n"}))
    assert (contents.layout, contents.name) == ("sphinx", "Tides")


def test_a_python_project_with_a_conf_file_is_plain(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text("x = 1", "utf-8")
    (tmp_path / "notes.rst").write_text("Notes\n=====\n\nText.", "utf-8")
    contents = read(tmp_path)
    assert contents.layout == "plain"
    assert contents.documents[0].url == "/book/notes.html"


def test_tables_of_contents_that_list_each_other_end(tmp_path: Path) -> None:
    loop = "A\n=\n\n.. toctree::\n\n   /index\n   a\n   b\n"
    contents = read(site(tmp_path, {"moon.rst": loop, "a.rst": loop, "b.rst": loop}))
    assert len({d.url for d in contents.documents}) == len(contents.documents)
