"""Versions of sites: found in what Docusaurus, mike and Sphinx publish, and not where folders only look like it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glossator.core.book.sources import Layout
from glossator.core.book.versions import BookVersion, version_at
from glossator.core.errors import SourceError
from glossator.ingest.fetch.cache import PageCache
from glossator.ingest.fetch.client import FetchPolicy
from glossator.ingest.read import SourceContents, read_source
from glossator.ingest.site.read import SiteRequest, read_site
from glossator.ingest.versions import find_versions
from site_server import Reply, running_site

MAX_BYTES = 1_000_000
CONFIG = "module.exports = {title: 'Lamps', url: 'https://lamps.example', baseUrl: '/', presets: [[{docs: {%s}}]]};"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def read(folder: Path, *versions: str) -> SourceContents:
    return read_source(str(folder), None, MAX_BYTES, Layout.AUTO, versions=versions)


def urls(contents: SourceContents) -> dict[str, str]:
    return {document.document_id: document.url for document in contents.documents}


def docusaurus(folder: Path, options: str = "") -> Path:
    page = "# Lamp\n\nThe lamp burns oil of version {}.\n"
    return write(
        folder,
        {
            "docusaurus.config.js": CONFIG % options,
            "versions.json": json.dumps(["2.0", "1.0", "0.9"]),
            "docs/lamp.md": page.format("next"),
            "versioned_docs/version-2.0/lamp.md": page.format("2.0"),
            "versioned_docs/version-1.0/lamp.md": page.format("1.0"),
        },
    )


def test_docusaurus_versions_have_the_addresses_that_docusaurus_gives_them(tmp_path: Path) -> None:
    contents = read(docusaurus(tmp_path))
    assert contents.versions == (
        BookVersion("2.0", "docs/"),
        BookVersion("1.0", "docs/1.0/"),
        BookVersion("next", "docs/next/", ("current",)),
    )
    assert urls(contents) == {
        "versioned_docs/version-2.0/lamp.md": "https://lamps.example/docs/lamp",
        "versioned_docs/version-1.0/lamp.md": "https://lamps.example/docs/1.0/lamp",
        "lamp.md": "https://lamps.example/docs/next/lamp",
    }


def test_docusaurus_options_of_versions_are_respected(tmp_path: Path) -> None:
    options = (
        "lastVersion: 'current', routeBasePath: '/', versions: {current: {label: '3', path: ''}, '1.0': {path: 'old'}}"
    )
    contents = read(docusaurus(tmp_path, options))
    assert contents.versions == (
        BookVersion("next", "", ("current",)),
        BookVersion("2.0", "2.0/"),
        BookVersion("1.0", "old/"),
    )
    assert urls(contents)["lamp.md"] == "https://lamps.example/lamp"
    assert urls(contents)["versioned_docs/version-1.0/lamp.md"] == "https://lamps.example/old/lamp"
    (tmp_path / "docusaurus.config.js").write_text(CONFIG % "includeCurrentVersion: false", "utf-8")
    assert [version.name for version in read(tmp_path).versions] == ["2.0", "1.0"]


@pytest.mark.parametrize("listed", ["", "{", "{}", "[1, null]", '["../../etc", "..", "a/b"]', '["0.9"]'])
def test_docusaurus_without_usable_versions_is_as_before(tmp_path: Path, listed: str) -> None:
    write(docusaurus(tmp_path), {"versions.json": listed})
    contents = read(tmp_path)
    assert contents.versions == ()
    assert urls(contents) == {"lamp.md": "https://lamps.example/docs/lamp"}


def page(text: str) -> str:
    return f"<html><body><main><h1>Lamp</h1><p>{text}</p></main></body></html>"


def mike(folder: Path) -> Path:
    redirect = '<html><head><noscript><meta http-equiv="refresh" content="1; url=latest/" /></noscript></head></html>'
    listed = [
        {"version": "2.0", "title": "2.0", "aliases": []},
        {"version": "1.1", "title": "1.1", "aliases": ["latest"]},
        {"version": "1.0", "title": "1.0"},
        {"version": "gone", "title": "gone", "aliases": []},
    ]
    pages = {f"{name}/lamp/index.html": page(f"Version {name}.") for name in ("2.0", "1.1", "1.0", "latest")}
    return write(folder, {"versions.json": json.dumps(listed), "index.html": redirect} | pages)


def test_mike_lists_the_versions_and_the_front_page_leads_to_the_current_one(tmp_path: Path) -> None:
    contents = read(mike(tmp_path))
    assert contents.versions == (
        BookVersion("1.1", "1.1/", ("latest",)),
        BookVersion("2.0", "2.0/"),
        BookVersion("1.0", "1.0/"),
    )
    assert sorted(urls(contents)) == ["1.0/lamp/index.html", "1.1/lamp/index.html", "2.0/lamp/index.html"]
    assert ["another name of version 1.1" in skip.reason for skip in contents.skipped if "latest" in skip.path] == [
        True
    ]


def live_mike(tmp_path: Path, *, redirect: bool = False, versions: tuple[str, ...] = ()) -> SourceContents:
    """The same site on a server, whose front page leads to a version by a status or in its HTML."""
    folder = mike(tmp_path)
    with running_site() as site:
        for file in folder.rglob("*.*ml"):
            path = "/" + file.relative_to(folder).as_posix().removesuffix("index.html")
            site.page(path, file.read_text("utf-8"))
        for name in ("2.0", "1.1", "1.0", "latest"):
            site.page(f"/{name}/", page(f"Front of {name}.") + '<a href="lamp/">lamp</a>')
        site.pages["/versions.json"] = Reply((folder / "versions.json").read_bytes(), content_type="application/json")
        if redirect:
            site.redirect("/", "/latest/")
        request = SiteRequest(f"{site.url}/", None, FetchPolicy(True, MAX_BYTES), 100, versions=versions)
        contents = read_site(request, PageCache(tmp_path / "cache"))
        assert not [path for path in site.requests() if path.startswith("/latest/") and path != "/latest/"]
    return contents


@pytest.mark.parametrize("redirect", [False, True])
def test_live_mike_site_has_the_versions_that_it_lists(tmp_path: Path, redirect: bool) -> None:
    contents = live_mike(tmp_path, redirect=redirect)
    assert contents.versions == (
        BookVersion("1.1", "1.1/", ("latest",)),
        BookVersion("2.0", "2.0/"),
        BookVersion("1.0", "1.0/"),
    )
    routes = sorted(document.url.split("/", 3)[3] for document in contents.documents)
    assert routes == ["1.0/", "1.0/lamp/", "1.1/", "1.1/lamp/", "2.0/", "2.0/lamp/"]
    assert contents.reason.endswith("/versions.json")
    assert [skip.path.rpartition("/gone")[1] for skip in contents.skipped] == ["/gone"]


def test_chosen_version_of_a_live_mike_site_is_the_current_one(tmp_path: Path) -> None:
    assert [version.name for version in live_mike(tmp_path, versions=("1.0",)).versions] == ["1.0", "1.1", "2.0"]


@pytest.mark.parametrize(
    "listed", ["[[]]", '[{"version": 3}]', '[{"version": "1.0", "aliases": 5}, {"version": "2.0", "aliases": [{}]}]']
)
def test_hostile_list_of_versions_breaks_nothing(tmp_path: Path, listed: str) -> None:
    write(mike(tmp_path), {"versions.json": listed})
    assert len(read(tmp_path).documents) >= 4


SPHINX = [
    f"en/{version}/{name}" for version in ("1.2", "1.10", "stable", "latest") for name in ("index.html", "api.html")
]


def test_sphinx_folders_are_versions_the_stable_one_first() -> None:
    found = find_versions(SPHINX)
    assert [version.name for version in found] == ["stable", "1.10", "1.2", "latest"]
    assert version_at("en/1.2/api.html", found) == BookVersion("1.2", "en/1.2/")
    assert version_at("en/about.html", found) is None


def test_newest_release_is_current_without_a_stable_one() -> None:
    found = find_versions([route for route in SPHINX if "stable" not in route])
    assert [version.name for version in found] == ["1.10", "1.2", "latest"]


def test_chosen_version_is_the_current_one_and_must_exist() -> None:
    assert [version.name for version in find_versions(SPHINX, ["1.2"])] == ["1.2", "stable", "1.10", "latest"]
    jazzy = ["jazzy/a.html", "jazzy/b.html", "humble/a.html", "about.html"]
    assert find_versions(jazzy) == ()
    assert [version.name for version in find_versions(jazzy, ["jazzy", "humble"])] == ["jazzy", "humble"]
    with pytest.raises(SourceError, match="no version 'rolling'"):
        find_versions(jazzy, ["rolling"])


@pytest.mark.parametrize(
    "routes",
    [
        ["1/index.html", "2/index.html", "3/index.html"],
        ["1.1/pump.html", "1.2/lamp.html", "2.1/stairs.html"],
        ["1.0/a.html", "2.0/a.html", "b.html", "c.html", "d.html", "e.html", "f.html"],
        ["guide/1.0/a.html", "guide/2.0/a.html"],
        ["stable/a.html", "b.html"],
        ["index.html", "guide.html", "1.1/index.html", "1.1/pump.html", "1.2/lamp.html"],
        [],
    ],
)
def test_numbered_chapters_and_single_folders_are_not_versions(routes: list[str]) -> None:
    assert find_versions(routes) == ()


@pytest.mark.parametrize("above", ["", "docs/"])
@pytest.mark.parametrize("folders", [("1.0",), ("next", "1.0", "2.0")])
def test_pages_beside_the_folders_of_versions_are_the_current_version(above: str, folders: tuple[str, ...]) -> None:
    """As Docusaurus publishes them, with other pages beside the docs."""
    pages = [f"{above}{folder}{name}" for folder in ("", *(f"{f}/" for f in folders)) for name in ("", "pump", "lamp")]
    found = find_versions([*pages, f"{above}only-new", *([f"blog/{n}" for n in range(30)] if above else [])])
    assert found[0] == BookVersion("latest", above)
    assert {version.name for version in found[1:]} == set(folders)
    assert version_at(f"{above}pump", found) == found[0]
    assert version_at(f"{above}1.0/pump", found) == BookVersion("1.0", f"{above}1.0/")
    if above:
        assert version_at("blog/1", found) is None


def test_versions_below_several_languages_are_found() -> None:
    routes = [f"{above}/{v}/{n}.html" for above in ("en", "fr", "de") for v in ("1.0", "stable") for n in "ab"]
    assert {version.path for version in find_versions(routes)} == {
        f"{above}/{v}/" for above in ("en", "fr", "de") for v in ("1.0", "stable")
    }


def test_live_site_keeps_the_pages_of_old_versions(tmp_path: Path) -> None:
    """Although their canonical URLs are those of the stable version, and their text may be the same."""
    with running_site() as site:
        links = "".join(f'<a href="{v}/lamp.html">{v}</a><a href="{v}/oil.html">{v}</a>' for v in ("stable", "1.2"))
        site.page("/en/", f"<html><body><main><h1>Lamps</h1><p>All versions: {links}</p></main></body></html>")
        for version in ("stable", "1.2"):
            for name, text in (("lamp", "The lamp is bright."), ("oil", f"The oil of {version} is clear.")):
                head = f'<head><link rel="canonical" href="{site.url}/en/stable/{name}.html"></head>'
                site.page(f"/en/{version}/{name}.html", page(text).replace("<body>", f"{head}<body>"))
        policy = FetchPolicy(allow_private=True)
        contents = read_site(SiteRequest(f"{site.url}/en/", None, policy, 100), PageCache(tmp_path / "cache"))
        assert [version.name for version in contents.versions] == ["stable", "1.2"]
        assert len(contents.documents) == 5
        chosen = SiteRequest(f"{site.url}/en/", None, policy, 100, versions=("1.2",))
        assert read_site(chosen, PageCache(tmp_path / "cache")).versions[0].name == "1.2"
