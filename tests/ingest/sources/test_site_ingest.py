"""A live site from the command to the answer: it stays as fresh as the site is, and survives its failures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import glossator
from commands import CommandResult, quick_folder, run
from data_dirs import contents_of
from glossator.core.errors import IngestRunning
from glossator.core.files import file_lock
from glossator.core.settings import Settings
from glossator.serve.app import create_app
from site_server import Reply, Site, running_site

pytestmark = pytest.mark.slow

Run = Callable[..., CommandResult]


def page(title: str, text: str, *links: str) -> str:
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return f"<title>{title}</title><main><h1>{title}</h1><h2 id='part'>Part</h2><p>{text}</p><ul>{anchors}</ul></main>"


TIDES = page("Tides", "Tides are caused mainly by the gravity of the Moon.")
BREAD = page("Bread", "A sourdough starter holds wild yeast and lactic acid bacteria.")


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as found:
        found.page("/docs/", page("The docs", "This book explains two things.", "tides", "bread"), etag='"front"')
        found.page("/docs/tides", TIDES, etag='"tides"')
        found.page("/docs/bread", BREAD, etag='"bread"')
        yield found


@pytest.fixture
def data() -> Iterator[Path]:
    with quick_folder() as found:
        yield found / "data"


@pytest.fixture
def command(data: Path) -> Run:
    return lambda *arguments: run(*arguments, "--data-dir", data)


def report_of(result: CommandResult) -> Any:
    assert (result.code, result.err) == (0, "")
    return json.loads(result.out)


def answers_about(command: Run, word: str) -> list[str]:
    return [found["url"] for found in report_of(command("search", word, "--json"))["results"]]


def test_site_is_ingested_cited_and_kept_fresh(site: Site, command: Run) -> None:
    url = f"{site.url}/docs/"
    report = report_of(command("ingest", url, "--allow-private", "--name", "Two things", "--json"))
    assert report["documents"]["added"] == 3
    assert report["fetches"] == {"fetched": 3, "unchanged": 0}
    (source,) = report["sources"]
    assert (source["name"], source["path"], source["layout"]) == ("Two things", url, "site")
    answer = report_of(command("ask", "What causes tides?", "--json"))
    assert answer["citations"][0]["url"].startswith(f"{site.url}/docs/tides#part")

    again = report_of(command("ingest", url, "--json"))  # private addresses and the name stay as they were given
    assert again["generation"] == report["generation"]
    assert again["fetches"] == {"fetched": 0, "unchanged": 3}
    assert again["embeddings"]["made"] == 0
    assert again["sources"][0]["name"] == "Two things"

    site.page("/docs/tides", TIDES.replace("gravity", "attraction"), etag='"new"')
    changed = report_of(command("ingest", url, "--json"))
    assert changed["fetches"] == {"fetched": 1, "unchanged": 2}
    assert (changed["documents"]["changed"], changed["documents"]["unchanged"]) == (1, 2)
    assert changed["embeddings"]["made"] < changed["chunks"]


def test_dry_run_sends_conditional_requests_and_stores_nothing(site: Site, command: Run, data: Path) -> None:
    url = f"{site.url}/docs/"
    report_of(command("ingest", url, "--allow-private", "--json"))
    site.page("/docs/tides", TIDES.replace("gravity", "attraction"), etag='"new"')
    before = contents_of(data)
    plan = report_of(command("ingest", url, "--dry-run", "--json"))
    assert (plan["fetches"], plan["documents"]["changed"]) == ({"fetched": 1, "unchanged": 2}, 1)
    assert contents_of(data) == before
    assert report_of(command("ingest", url, "--json"))["fetches"] == {"fetched": 1, "unchanged": 2}


def test_removed_page_stops_answering(site: Site, command: Run) -> None:
    report_of(command("ingest", f"{site.url}/docs/", "--allow-private", "--json"))
    assert f"{site.url}/docs/bread" in answers_about(command, "sourdough")
    del site.pages["/docs/bread"]
    report = report_of(command("ingest", f"{site.url}/docs/", "--json"))
    assert report["documents"]["removed"] == 1
    assert report["skipped"] == [{"path": f"{site.url}/docs/bread", "reason": "the page does not exist.", "files": 1}]
    assert f"{site.url}/docs/bread" not in answers_about(command, "sourdough")


def test_unreachable_site_leaves_the_index_as_it_was(site: Site, command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _seconds: None)
    report_of(command("ingest", f"{site.url}/docs/", "--allow-private", "--json"))
    before = answers_about(command, "sourdough")
    site.pages["/docs/"] = Reply(status=503)
    result = command("ingest", f"{site.url}/docs/")
    assert result.failed_with(3, "cannot be reached (status 503)", "retry")
    assert answers_about(command, "sourdough") == before


def test_site_is_listed_and_removed_with_its_cache(site: Site, command: Run, data: Path) -> None:
    url = f"{site.url}/docs/"
    out = command("ingest", url, "--allow-private").out
    assert "3 pages fetched, 0 unchanged on their sites" in out
    assert "The docs: live site (its pages were found by following links)" in out
    assert f"citations open its pages at {site.url}/docs" in out
    assert list((data / "cache" / "sites").iterdir())
    assert "The docs  live site, 3 pages" in command("sources", "list").out
    assert command("sources", "remove", url).code == 0
    assert list((data / "cache" / "sites").iterdir()) == []
    assert report_of(command("sources", "list", "--json")) == []


def test_private_site_is_refused_unless_allowed(site: Site, command: Run, data: Path) -> None:
    result = command("ingest", f"{site.url}/docs/")
    assert result.failed_with(3, "not on the public internet", "--allow-private")
    assert site.log == []
    report_of(command("ingest", f"{site.url}/docs/", "--allow-private", "--json"))
    assert command("ingest", f"{site.url}/docs/", "--no-allow-private").failed_with(3, "not on the public internet")


@pytest.mark.parametrize("url", ["ftp://x.org/docs", "ext::sh -c touch% /tmp/x", "javascript://x.org/", "http://"])
def test_other_urls_are_refused(command: Run, url: str) -> None:
    assert command("ingest", url).code == 3


def test_options_for_folders_are_refused(command: Run, site: Site) -> None:
    result = command("ingest", f"{site.url}/docs/", "--layout", "mkdocs")
    assert result.failed_with(2, "A live site cannot have a layout", "Remove --layout")


def test_pages_of_a_site_are_shown_by_the_server(site: Site, data: Path) -> None:
    with glossator.open(data) as book:
        book.ingest(f"{site.url}/docs/", allow_private=True)
    with TestClient(create_app(Settings(data_dir=data)), base_url="http://127.0.0.1") as client:
        front, tides = client.get("/book/"), client.get("/book/tides")
    assert front.status_code == tides.status_code == 200
    assert '<a href="/book/tides" rel="noopener">' in front.text
    assert "gravity of the Moon" in tides.text


def test_second_ingest_is_refused_before_it_fetches_anything(site: Site, command: Run, data: Path) -> None:
    with file_lock(data / "ingest.lock", IngestRunning("busy")):
        result = command("ingest", f"{site.url}/docs/", "--allow-private")
    assert result.failed_with(5, "Another ingest", "Wait until it has finished")
    assert site.log == []


def test_ingest_holds_its_lock_while_it_fetches(site: Site, command: Run, data: Path) -> None:
    refused: list[str] = []

    def ingest_meanwhile() -> Reply:
        with glossator.open(data) as book, pytest.raises(IngestRunning) as error:
            book.ingest(f"{site.url}/other/", allow_private=True)
        refused.append(str(error.value))
        return Reply(TIDES.encode())

    site.pages["/docs/tides"] = ingest_meanwhile
    assert report_of(command("ingest", f"{site.url}/docs/", "--allow-private", "--json"))["generation"] == 1
    assert "Wait until it has finished" in refused[0]
    assert not any(path.startswith("/other") for path, _ in site.log)
