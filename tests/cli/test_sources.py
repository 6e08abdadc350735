"""Sources: what an ingest says about them, how they are listed and removed, and that none is lost or mixed up."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import CommandResult, quick_folder, run

pytestmark = pytest.mark.slow

Run = Callable[..., CommandResult]
TIDES = "# Tides\n\nTides are caused mainly by the gravity of the Moon.\n"
PUMP = "# Pump\n\nPress the green button to start the pump.\n"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Two books: `notes`, plain files, and `manual`, a MkDocs site."""
    with quick_folder() as found:
        for name, text in {
            "notes/tides.md": TIDES,
            "notes/search.md": "# Search\n\nThe lighthouse searches the sea with a beam.\n",
            "manual/mkdocs.yml": "site_name: The manual\n",
            "manual/docs/pump.md": PUMP,
        }.items():
            (found / name).parent.mkdir(parents=True, exist_ok=True)
            (found / name).write_text(text, "utf-8")
        yield found


@pytest.fixture
def command(folder: Path) -> Run:
    """Runs a command on the data directory of the test."""
    return lambda *arguments: run(*arguments, "--data-dir", folder / "data")


def passed(result: CommandResult) -> str:
    assert (result.code, result.err) == (0, "")
    return result.out


def as_json(result: CommandResult) -> Any:
    return json.loads(passed(result))


def listed(command: Run) -> dict[str, str]:
    """The addresses of the sources, by name."""
    return {source["name"]: source["address"] for source in as_json(command("sources", "list", "--json"))}


def urls(command: Run) -> set[str]:
    found = as_json(command("search", "tides pump search", "--top-k", 50, "--json"))
    return {passage["url"] for passage in found["results"]}


def edit_manifest(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    (path,) = (folder / "data" / "generations").glob("*/manifest.json")
    values = json.loads(path.read_text("utf-8"))
    edit(values)
    path.write_text(json.dumps(values), "utf-8")


def test_ingest_says_which_layout_was_taken_and_why(folder: Path, command: Run) -> None:
    out = passed(command("ingest", folder / "notes"))
    configurations = "docusaurus.config.js, book.toml, mkdocs.yml, conf.py, antora.yml"
    assert f"notes: plain layout (none of {configurations} is in the folder" in out
    assert "citations open its pages here, at /book/" in out
    assert "pass --layout" in out
    report = as_json(command("ingest", folder / "manual" / "docs", "--json"))
    (source,) = report["sources"]
    assert source["path"] == str((folder / "manual" / "docs").resolve())
    assert (source["name"], source["layout"], source["documents"]) == ("The manual", "mkdocs", 1)
    assert (source["reason"], source["address"]) == ("mkdocs.yml is one level up", "/book/the-manual/")


def test_chosen_layout_decides_the_addresses_and_is_remembered(folder: Path, command: Run) -> None:
    passed(command("ingest", folder / "notes", "--layout", "mkdocs", "--base-url", "https://x.org/b", "--name", "Mine"))
    assert urls(command) == {"https://x.org/b/tides/", "https://x.org/b/search/"}
    again = as_json(command("ingest", folder / "notes", "--json"))
    assert (again["generation"], again["documents"]["unchanged"]) == (1, 2)
    assert listed(command) == {"Mine": "https://x.org/b"}
    passed(command("ingest", folder / "notes", "--layout", "auto", "--base-url", "", "--name", ""))
    assert listed(command) == {"notes": "/book/"}
    assert urls(command) == {"/book/tides", "/book/search"}


@pytest.mark.parametrize("url", ["example.org", "javascript:alert(1)", "/docs"])
def test_invalid_base_url_is_refused_before_anything_is_read(url: str, folder: Path, command: Run) -> None:
    result = command("ingest", folder / "notes", "--base-url", url)
    assert result.failed_with(2, "is not the URL of a website", "https://docs.example.org")
    assert not (folder / "data").exists()


def test_unknown_layout_and_shared_name_are_refused(folder: Path, command: Run) -> None:
    assert command("ingest", folder / "notes", "--layout", "hugo").failed_with(2, "auto", "mkdocs", "plain")
    both = command("ingest", folder / "notes", folder / "manual", "--name", "Both")
    assert both.failed_with(2, "A name must not be empty")


def test_configuration_that_leads_outside_is_refused(folder: Path, command: Run) -> None:
    (folder / "manual" / "mkdocs.yml").write_text("docs_dir: ../notes\n", "utf-8")
    result = command("ingest", folder / "manual")
    assert result.failed_with(
        3, "mkdocs.yml takes its pages from '../notes'", "outside the given folder", "--layout plain"
    )


def test_skipped_links_are_reported(folder: Path, command: Run) -> None:
    (folder / "notes" / "pump.md").symlink_to(folder / "manual" / "docs" / "pump.md")
    out = passed(command("ingest", folder / "notes"))
    assert "pump.md: the link is broken, or points outside the folder." in out


GOLDEN = """version: 1
questions:
  - {id: a, kind: answerable, question: "What causes tides?",
     sections: [{page: tides.md, section: Tides}], facts: [Moon]}
"""


@pytest.mark.parametrize("linked", [False, True])
def test_golden_questions_are_not_read_from_outside(linked: bool, folder: Path, command: Run) -> None:
    (folder / "golden.yaml").write_text(GOLDEN, "utf-8")
    place = folder / "notes" / "golden.yaml"
    place.symlink_to(folder / "golden.yaml") if linked else shutil.copy(folder / "golden.yaml", place)
    passed(command("ingest", folder / "notes"))
    (manifest,) = (folder / "data" / "generations").glob("*/manifest.json")
    assert ("What causes tides?" in manifest.read_text("utf-8")) is not linked


def test_ingest_says_what_else_is_in_the_index(folder: Path, command: Run) -> None:
    assert "Also in the index" not in passed(command("ingest", folder / "notes"))
    out = passed(command("ingest", folder / "manual"))
    assert f"Also in the index: notes ({folder / 'notes'})" in out
    assert "glossator sources remove" in out
    assert listed(command) == {"notes": "/book/", "The manual": "/book/the-manual/"}
    assert urls(command) == {"/book/tides", "/book/search", "/book/the-manual/pump/"}


def test_ingest_says_that_pages_are_in_the_index_twice(folder: Path, command: Run) -> None:
    passed(command("ingest", folder / "manual"))
    assert "Also in the index, with the same files: The manual" in passed(command("ingest", folder / "manual" / "docs"))


def test_ingest_only_reports_removed_sources(folder: Path, command: Run) -> None:
    passed(command("ingest", folder / "notes"))
    assert f"Removed notes ({folder / 'notes'})." in passed(command("ingest", folder / "manual", "--only"))


def test_source_is_removed_by_name_or_path_and_nothing_else_is(folder: Path, command: Run) -> None:
    passed(command("ingest", folder / "notes", folder / "manual"))
    out = passed(command("sources", "remove", "The manual"))
    assert f"Removed The manual ({folder / 'manual'})." in out
    assert "notes" in out
    assert urls(command) == {"/book/tides", "/book/search"}
    assert (folder / "manual" / "docs" / "pump.md").exists()
    report = as_json(command("sources", "remove", folder / "notes", "--json"))
    assert [source["name"] for source in report["removed_sources"]] == ["notes"]
    assert passed(command("sources", "list")) == "The index is empty.\n"
    assert command("ask", "What causes tides?").failed_with(4, "Nothing has been ingested")
    assert as_json(command("ingest", folder / "notes", "--json"))["documents"]["added"] == 2


def test_unknown_and_ambiguous_sources_are_not_removed(folder: Path, command: Run) -> None:
    assert command("sources", "remove", "notes").failed_with(2, "'notes' is not in the index")
    assert not (folder / "data").exists()
    passed(command("ingest", folder / "notes"))
    passed(command("ingest", folder / "manual", "--name", "notes"))
    result = command("sources", "remove", "notes")
    assert result.failed_with(2, "2 sources are named 'notes'", str(folder / "notes"), str(folder / "manual"))
    assert {source["address"] for source in as_json(command("sources", "list", "--json"))} == {"/book/", "/book/notes/"}


def test_source_whose_folder_is_gone_stays_until_it_is_removed(folder: Path, command: Run) -> None:
    passed(command("ingest", folder / "notes"))
    shutil.rmtree(folder / "notes")
    assert "which no longer exists" in passed(command("ingest", folder / "manual"))
    assert "which no longer exists" in passed(command("sources", "list")).replace("\n", " ")
    assert "/book/tides" in urls(command)
    assert command("ingest", folder / "notes").failed_with(3, "does not exist")
    passed(command("sources", "remove", folder / "notes"))
    assert listed(command) == {"The manual": "/book/the-manual/"}


def test_sources_with_one_base_url_share_it_unless_their_pages_clash(folder: Path, command: Run) -> None:
    passed(command("ingest", folder / "notes", "--base-url", "https://x.org"))
    shutil.copytree(folder / "notes", folder / "copy")
    result = command("ingest", folder / "copy", "--base-url", "https://x.org/")
    assert result.failed_with(3, "have the same URLs as another source", "--base-url", "glossator sources list")
    (folder / "copy" / "new.md").write_text("# New\n\nA page that the other book does not have.\n", "utf-8")
    out = passed(command("ingest", folder / "copy", "--base-url", "https://x.org/"))
    assert "the page has the same URL as tides.md of another source" in out
    assert urls(command) == {"https://x.org/tides", "https://x.org/search", "https://x.org/new"}


def test_documents_keep_their_ids_and_addresses_when_another_source_goes(folder: Path, command: Run) -> None:
    (folder / "manual" / "docs" / "tides.md").write_text("# Tides\n\nA chapter of the manual on tides.\n", "utf-8")
    passed(command("ingest", folder / "notes"))
    passed(command("ingest", folder / "manual"))

    def manual() -> set[tuple[str, str]]:
        found = as_json(command("search", "tides pump", "--top-k", 50, "--json"))["results"]
        return {(p["document_id"], p["url"]) for p in found if p["url"].startswith("/book/the-manual/")}

    before = manual()
    assert ("manual/tides.md", "/book/the-manual/tides/") in before
    passed(command("sources", "remove", folder / "notes"))
    assert as_json(command("ingest", folder / "manual", "--json"))["documents"]["unchanged"] == 2
    assert manual() == before


def as_the_first_format(values: dict[str, Any]) -> None:
    values["format"] = 1
    for source in values["sources"]:
        for name in ("name", "mount", "chosen_layout", "chosen_name"):
            del source[name]


def test_index_of_an_earlier_version_is_read_again_whole(folder: Path, command: Run) -> None:
    passed(command("ingest", folder / "notes"))
    edit_manifest(folder, as_the_first_format)
    assert listed(command) == {"notes": "/book/"}
    assert command("search", "tides").failed_with(4, "built by another version")
    (folder / "notes" / "tides.md").write_text(TIDES.replace("Moon", "Moon and the Sun"), "utf-8")
    passed(command("ingest", folder / "manual"))
    assert urls(command) == {"/book/tides", "/book/search", "/book/the-manual/pump/"}
    assert "and the Sun" in passed(command("search", "tides"))


def test_index_of_an_earlier_version_is_not_replaced_while_a_source_is_missing(folder: Path, command: Run) -> None:
    passed(command("ingest", folder / "notes"))
    edit_manifest(folder, as_the_first_format)
    shutil.rmtree(folder / "notes")
    result = command("ingest", folder / "manual")
    assert result.failed_with(3, "does not exist", f"glossator sources remove {folder / 'notes'}")
    passed(command("sources", "remove", folder / "notes"))
    assert "Also in the index" not in passed(command("ingest", folder / "manual"))


def test_base_url_that_an_earlier_version_accepted_is_refused_by_source(folder: Path, command: Run) -> None:
    passed(command("ingest", folder / "notes"))
    edit_manifest(folder, as_the_first_format)
    edit_manifest(folder, lambda values: values["sources"][0].update(base_url="example.org"))
    result = command("ingest", folder / "manual")
    assert result.failed_with(3, "'example.org' is not the URL of a website", f"sources remove {folder / 'notes'}")
    passed(command("ingest", folder / "notes", "--base-url", "https://example.org"))
    assert listed(command) == {"notes": "https://example.org"}


def test_replacing_an_unreadable_index_is_reported(folder: Path, command: Run) -> None:
    passed(command("ingest", folder / "notes"))
    edit_manifest(folder, lambda values: values.pop("sources"))
    assert command("sources", "list").failed_with(4, "incomplete")
    assert "The previous index: it could not be read" in passed(command("ingest", folder / "manual"))


def test_links_of_an_unpublished_book_name_the_server(folder: Path, command: Run) -> None:
    passed(command("ingest", folder / "notes"))
    for result in (command("ask", "What causes tides?"), command("search", "What causes tides?")):
        assert "http://127.0.0.1:8000/book/tides#tides" in passed(result)
        assert "glossator serve" in result.out
        assert str(folder) not in result.out
    assert str(folder) not in passed(command("ask", "What causes tides?", "--json"))


def test_chat_names_the_book(folder: Path, command: Run) -> None:
    assert passed(command("chat")).startswith("Conversation ")
    passed(command("ingest", folder / "manual"))
    assert passed(command("chat")).startswith("The manual\nConversation ")


def test_doctor_names_the_sources(folder: Path, command: Run) -> None:
    passed(command("ingest", folder / "manual"))
    findings = as_json(command("doctor", "--json"))
    (source,) = [finding for finding in findings if finding["topic"] == "source"]
    assert (source["value"], source["why"]) == (str(folder / "manual"), "The manual; mkdocs, 1 documents")
