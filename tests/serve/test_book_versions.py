"""A book in several versions: questions are answered from one of them, at every door."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

import glossator
from api_requests import QUESTIONS
from commands import quick_folder, run
from doors import QUESTION as ROBOTS
from glossator.core.errors import UnknownVersion
from glossator.core.settings import load_settings
from glossator.facade import Book
from glossator.serve.app import create_app
from tides_book import connect

QUESTION = "What is the lamp of the lighthouse fed with?"
OILS = {"2.0": "whale oil", "1.0": "rapeseed oil", "next": "olive oil"}
PAGE = """# Lamp

The lamp of the lighthouse is fed with {}.

## Stairs

The stairs of the lighthouse have 199 steps, and a landing at every thirty-third of them.
"""
CONFIG = "module.exports = {title: 'Lights', url: 'https://lights.example', baseUrl: '/'};"
IN_FILTERS = ("/chat", "/chat/stream", "/agent/query", "/agent/query/session")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with quick_folder() as found:
        site = found / "site"
        pages = {"docs": "next", "versioned_docs/version-2.0": "2.0", "versioned_docs/version-1.0": "1.0"}
        for place, version in pages.items():
            (site / place).mkdir(parents=True)
            (site / place / "lamp.md").write_text(PAGE.format(OILS[version]), "utf-8")
        (site / "docusaurus.config.js").write_text(CONFIG, "utf-8")
        (site / "versions.json").write_text('["2.0", "1.0"]', "utf-8")
        (found / "keeper").mkdir()
        (found / "keeper" / "duties.md").write_text("# Duties\n\nThe keeper winds the clockwork at dusk.\n", "utf-8")
        with glossator.open(found / "data") as book:
            report = book.ingest(site, found / "keeper")
            assert report.embeddings.made == 5  # of seven chunks, three are the same in all versions
        yield found


@pytest.fixture(scope="module")
def book(folder: Path) -> Iterator[Book]:
    with glossator.open(folder / "data") as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with connect(create_app(load_settings(data_dir=folder / "data"))) as opened:
        yield opened


def asked(path: str, version: str | None) -> dict[str, Any]:
    """A question to a door, of one version."""
    if "messages" in QUESTIONS[path]:
        return {"messages": [{"role": "user", "content": QUESTION}], "version": version}
    body = {name: QUESTION if value == ROBOTS else value for name, value in QUESTIONS[path].items()}
    return body | ({"filters": {"version": version}} if path in IN_FILTERS else {"version": version})


def test_current_version_answers_unless_another_is_named(book: Book) -> None:
    for version, oil in {None: OILS["2.0"], "current": OILS["next"], **OILS}.items():
        answer = book.ask(QUESTION, filters={"version": version} if version else None)
        assert oil in answer.text
        assert {c.version for c in answer.citations} == {{"current": "next", None: "2.0"}.get(version, version)}
        used = book._run(book.engine.records.receipt(answer.receipt_id)).settings["version"]
        assert used == answer.citations[0].version
    assert book.ask(QUESTION).citations[0].url.startswith("https://lights.example/docs/lamp#")
    old = book.ask(QUESTION, filters={"version": "1.0"})
    assert old.citations[0].url.startswith("https://lights.example/docs/1.0/lamp#")
    assert book.replay(old.receipt_id).holds


def test_same_page_of_two_versions_is_found_once(book: Book) -> None:
    for filters in (None, {"version": "1.0"}):
        found = book.search("How many steps have the stairs?", top_k=20, filters=filters)
        assert len({passage.text for passage in found}) == len(found)
        assert {passage.version for passage in found} == {"", filters["version"] if filters else "2.0"}
        citations = book.ask("How many steps have the stairs?", filters=filters).citations
        assert len({citation.quote for citation in citations}) == len(citations)
        assert {citation.version for citation in citations} == {filters["version"] if filters else "2.0"}


def test_pages_without_a_version_belong_to_all(book: Book) -> None:
    for filters in (None, {"version": "1.0"}, {"version": "next"}):
        answer = book.ask("When does the keeper wind the clockwork?", filters=filters)
        assert "at dusk" in answer.text
        assert answer.citations[0].version == ""


def test_unknown_version_is_an_error_that_lists_the_known_ones(book: Book, folder: Path, tmp_path: Path) -> None:
    for hostile in ("3.0", "*", "", "../x", "2.0\n", "x" * 10_000):
        with pytest.raises(UnknownVersion, match=r"2\.0, 1\.0, next"):
            book.search(QUESTION, filters={"version": hostile})
    result = run("ask", QUESTION, "--version", "3.0", "--data-dir", folder / "data")
    assert result.failed_with(2, "no version '3.0'", "2.0, 1.0, next")
    with glossator.open(tmp_path / "data") as plain:
        plain.ingest(folder / "keeper")
        with pytest.raises(UnknownVersion, match="has no versions"):
            plain.search(QUESTION, filters={"version": "1.0"})


def test_commands_take_a_version(folder: Path) -> None:
    for version, oil in OILS.items():
        found = json.loads(run("search", QUESTION, "--version", version, "--data-dir", folder / "data", "--json").out)
        assert oil in found["results"][0]["text"]


def test_version_that_the_user_chooses_is_the_current_one_from_then_on(folder: Path, tmp_path: Path) -> None:
    with glossator.open(tmp_path / "data") as own:
        own.ingest(folder / "site", versions=["1.0"])
        assert OILS["1.0"] in own.ask(QUESTION).text
        assert own.ingest(folder / "site").embeddings.made == 0
        assert OILS["1.0"] in own.ask(QUESTION).text
        own.ingest(folder / "site", versions=[])
        assert OILS["2.0"] in own.ask(QUESTION).text


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", QUESTIONS)
async def test_every_door_takes_a_version(client: httpx.AsyncClient, path: str) -> None:
    for version, oil in {None: OILS["2.0"], **OILS}.items():
        response = await client.post(path, json=asked(path, version))
        assert response.status_code == 200, response.text
        assert [each for each in OILS.values() if each in response.text] == [oil]
    response = await client.post(path, json=asked(path, "3.0"))
    assert response.status_code == 400
    assert "2.0, 1.0, next" in response.text


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_search_and_mcp_take_a_version(client: httpx.AsyncClient) -> None:
    for version, oil in OILS.items():
        found = (await client.get("/search", params={"q": QUESTION, "version": version})).json()["results"]
        assert (oil in found[0]["text"], found[0]["version"]) == (True, version)
        posted = await client.post("/search", json={"query": QUESTION, "filters": {"version": version}})
        assert posted.json()["results"] == found
        for tool, name in (("search_book", "query"), ("ask_book", "question")):
            call = {"name": tool, "arguments": {name: QUESTION, "version": version}}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            accept = {"Accept": "application/json, text/event-stream"}
            assert oil in (await client.post("/mcp", json=body, headers=accept)).text


def test_verify_checks_against_one_version(folder: Path) -> None:
    text = folder / "claim.txt"
    text.write_text("The lamp of the lighthouse is fed with oil.", "utf-8")
    command = ["verify", text, "--data-dir", folder / "data"]
    for more, version in (([], "2.0"), (["--version", "1.0"], "1.0"), (["--version", "next"], "next")):
        found = run(*command, "--json", *more).out
        assert [oil for oil in OILS.values() if oil in found] == [OILS[version]]
    assert run(*command, "--version", "3.0").failed_with(2, "no version '3.0'", "2.0, 1.0, next")
    assert run(*command, "--version", "1.0", "--source", text).failed_with(2, "--version", "the book")


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_contents_and_widget_are_of_the_version_of_the_page(client: httpx.AsyncClient) -> None:
    contents = (await client.get("/llms.txt")).text
    assert "https://lights.example/docs/lamp" in contents
    assert "1.0" not in contents
    home, old = (await client.get("/")).text, (await client.get("/book/docs/1.0/lamp")).text
    assert "/book/docs/1.0/lamp" not in home
    assert 'version="' not in home
    assert '<a dir="auto" aria-current="page" href="/book/docs/1.0/lamp">' in old
    assert 'href="/book/docs/lamp"' not in old
    assert ' version="1.0"></glossator-chat>' in old
    info = (await client.get("/widget/book")).json()
    assert {v["name"]: v["url"] for v in info["versions"]} == {
        "2.0": "https://lights.example/docs/",
        "1.0": "https://lights.example/docs/1.0/",
        "next": "https://lights.example/docs/next/",
    }
    (listed,) = (await client.get("/books")).json()["books"]
    assert listed["versions"] == ["2.0", "1.0", "next"]
