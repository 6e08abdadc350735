"""The docs are true: every command, setting, route and make target in them exists, and the other way round."""

from __future__ import annotations

import os
import re
from typing import Any

import click
import pytest
from click.testing import CliRunner

import api_page
from glossator.cli.main import cli
from glossator.core.settings import Settings
from glossator.serve.app import create_app
from glossator.store.records.schema import metadata
from paths import ROOT

DOCS = ROOT / "docs"


def cli_page() -> str:
    """docs/cli.md as the commands' own help would have it (GLOSSATOR_WRITE_DOCS=1 writes it)."""
    context = click.Context(cli, info_name="glossator")
    names = [""]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        below = command.list_commands(context) if isinstance(command, click.Group) else []
        names += [name, *(f"{name} {each}" for each in below)]
    parts = ["# Commands\n", (cli_docstring() + "\n")]
    for name in names:
        out = CliRunner().invoke(cli, [*name.split(), "--help"], prog_name="glossator", terminal_width=100)
        parts.append(f"## glossator {name}".rstrip() + f"\n\n```\n{out.output.rstrip()}\n```\n")
    return "\n".join(parts)


def cli_docstring() -> str:
    import glossator.cli.main

    return (glossator.cli.main.__doc__ or "").partition("\n\n")[2].strip()


def test_the_page_on_commands_is_what_the_commands_say() -> None:
    page = DOCS / "cli.md"
    if os.environ.get("GLOSSATOR_WRITE_DOCS"):
        page.write_text(cli_page(), "utf-8")
    assert page.read_text("utf-8") == cli_page()


def test_every_setting_is_documented_and_no_other() -> None:
    documented = set(re.findall(r"`GLOSSATOR_(\w+)`", (DOCS / "settings.md").read_text("utf-8")))
    assert documented == {name.upper() for name in Settings.model_fields}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The OpenAPI document."""
    return create_app(Settings(data_dir=tmp_path_factory.mktemp("data"))).openapi()


def test_every_route_is_documented(document: dict[str, Any]) -> None:
    page = (DOCS / "api.md").read_text("utf-8")
    assert [path for path in document["paths"] if not re.search(rf"[ `]{re.escape(path)}[ `?/]", page)] == []


def test_the_tables_of_the_api_are_what_the_server_says(document: dict[str, Any]) -> None:
    page = DOCS / "api.md"
    made = api_page.fill_tables(page.read_text("utf-8"), document)
    if os.environ.get("GLOSSATOR_WRITE_DOCS"):
        page.write_text(made, "utf-8")
    assert page.read_text("utf-8") == made
    assert made.count("<!-- end -->") > 10


def test_every_make_target_named_in_the_docs_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^(\w+):", makefile, re.MULTILINE))
    for page in [*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        named = set(re.findall(r"`make (\w+)", page.read_text("utf-8")))
        assert named <= targets, page


def test_links_between_the_docs_lead_somewhere() -> None:
    for page in [*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_the_picture_of_the_records_shows_their_tables() -> None:
    page = (DOCS / "records.md").read_text("utf-8")
    drawn = {
        name: set(re.findall(r"^ +\w+ (\w+)", body, re.MULTILINE))
        for name, body in re.findall(r"^    (\w+) \{\n(.*?)^    \}", page, re.MULTILINE | re.DOTALL)
    }
    assert drawn == {table.name: {column.name for column in table.columns} for table in metadata.sorted_tables}
