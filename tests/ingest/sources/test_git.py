"""A git repository as a source: what is committed at a branch or tag, and nothing that its files could start."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import glossator
from commands import quick_folder, run
from data_dirs import contents_of
from glossator.core.book.locations import Location, SourceKind, locate
from glossator.core.errors import FetchRefused, SourceError, SourceUnreachable
from glossator.facade import Book
from glossator.ingest.fetch.client import FetchPolicy
from glossator.ingest.filters import matches
from glossator.ingest.git.command import git
from glossator.ingest.git.remote import Remote, check_ref, checked_remote
from glossator.ingest.git.repository import Repository
from site_server import Reply, running_site

pytestmark = pytest.mark.slow

TIDES = "# Tides\n\nTides are caused mainly by the gravity of the Moon.\n"
BREAD = "# Bread\n\nA sourdough starter holds wild yeast.\n"


class Repo:
    """A repository made with the real git."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "A")
        self.git("config", "user.email", "a@example.org")
        self.commit({"tides.md": TIDES, "drafts/bread.md": BREAD, ".gitignore": "*.tmp.md\n"})

    @property
    def url(self) -> str:
        return self.folder.as_uri()

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", self.folder, *arguments], check=True, capture_output=True, text=True
        ).stdout.strip()

    def write(self, files: dict[str, str | None]) -> None:
        for name, text in files.items():
            path = self.folder / name
            if text is None:
                path.unlink()
                if not any(path.parent.iterdir()):
                    path.parent.rmdir()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")

    def commit(self, files: dict[str, str | None]) -> str:
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as found:
        yield found


@pytest.fixture
def repo(folder: Path) -> Repo:
    return Repo(folder / "book")


@pytest.fixture
def book(folder: Path) -> Iterator[Book]:
    with glossator.open(folder / "data") as opened:
        yield opened


def test_dry_run_stores_nothing_of_a_repository(repo: Repo, book: Book, folder: Path) -> None:
    book.ingest(repo.url)
    repo.commit({"tides.md": None, "drafts/bread.md": None, "ebb.md": TIDES})
    before = contents_of(folder / "data")
    plan = book.ingest(repo.url, dry_run=True)
    assert (plan.documents.moved, plan.documents.removed, plan.embeddings.made) == (1, 1, 0)
    assert contents_of(folder / "data") == before
    assert book.ingest(repo.url).documents == plan.documents


def ids(book: Book) -> list[str]:
    return sorted(document.document_id for document in book.documents())


def test_repository_is_ingested_and_only_changes_are_read_again(repo: Repo, book: Book) -> None:
    report = book.ingest(repo.url, base_url="https://docs.example.org")
    assert ids(book) == ["drafts/bread.md", "tides.md"]
    assert [source.name for source in book.sources()] == ["book"]
    assert book.sources()[0].path == repo.url
    assert book.search("gravity")[0].url == "https://docs.example.org/tides"

    again = book.ingest(repo.url)
    assert again.generation == report.generation
    assert again.sources[0].reason.startswith("unchanged since ")
    assert (again.documents.unchanged, again.embeddings.made) == (2, 0)

    repo.commit(
        {"tides.md": TIDES.replace("gravity", "attraction"), "drafts/bread.md": None, "new.md": "# New\n\nNew."}
    )
    changed = book.ingest(repo.url)
    counts = changed.documents
    assert (counts.added, counts.changed, counts.removed, counts.unchanged) == (1, 1, 1, 0)
    assert ids(book) == ["new.md", "tides.md"]
    assert book.search("attraction")[0].url == "https://docs.example.org/tides"


def test_branch_or_tag_is_read_and_remembered(repo: Repo, book: Book) -> None:
    repo.git("tag", "-a", "v1", "-m", "first")
    repo.git("checkout", "-q", "-b", "next/version")
    repo.commit({"later.md": "# Later\n\nLater."})
    repo.git("checkout", "-q", "main")
    book.ingest(f"{repo.url}#next/version")
    assert "later.md" in ids(book)
    book.ingest(repo.url)
    assert "later.md" in ids(book)  # as it was given
    book.ingest(repo.url, ref="v1")
    assert ids(book) == ["drafts/bread.md", "tides.md"]
    repo.commit({"third.md": "# Third\n\nThird."})
    book.ingest(repo.url, ref="")
    assert "third.md" in ids(book)
    with pytest.raises(SourceUnreachable, match="couldn't find remote ref"):
        book.ingest(repo.url, ref="no-such-branch")
    assert "third.md" in ids(book)


def test_folder_of_a_repository_has_its_own_layout(repo: Repo, book: Book) -> None:
    repo.commit({"site/mkdocs.yml": "site_name: The manual\n", "site/docs/pump.md": "# Pump\n\nPress the button.\n"})
    book.ingest(f"{repo.url}#main:site")
    assert (book.name, ids(book), book.sources()[0].layout) == ("The manual", ["pump.md"], "mkdocs")
    for name in ("missing", "../..", "tides.md"):
        with pytest.raises(SourceError, match="no folder"):
            book.ingest(repo.url, ref=f"main:{name}")


def test_patterns_choose_files_and_are_remembered(repo: Repo, book: Book) -> None:
    book.ingest(repo.url, exclude=["drafts/"])
    assert ids(book) == ["tides.md"]
    assert book.ingest(repo.url).sources[0].reason.startswith("unchanged")
    book.ingest(repo.url, exclude=[], include=["drafts/**"])
    assert ids(book) == ["drafts/bread.md"]


def test_local_checkout_leaves_out_what_git_ignores(repo: Repo, book: Book) -> None:
    repo.write({"untracked.md": "# Untracked\n\nWords.", "ignored.tmp.md": "# Ignored\n\nWords."})
    book.ingest(repo.folder)
    assert ids(book) == ["drafts/bread.md", "tides.md", "untracked.md"]
    book.ingest(repo.folder, ref="main")
    assert ids(book) == ["drafts/bread.md", "tides.md"]
    book.ingest(repo.folder, ref="")
    assert "untracked.md" in ids(book)


def test_folder_that_git_ignores_can_be_named(repo: Repo, book: Book) -> None:
    repo.commit({".gitignore": "build/\n"})
    repo.write({"build/page.md": "# Built\n\nWords."})
    book.ingest(repo.folder / "build")
    assert ids(book) == ["page.md"]


def test_damaged_index_is_repaired_although_the_commit_is_the_same(repo: Repo, book: Book, folder: Path) -> None:
    book.ingest(repo.url)
    book.close()
    (database,) = (folder / "data" / "generations").glob("*/documents.sqlite")
    database.write_bytes(b"damaged")
    with glossator.open(folder / "data") as again:
        report = again.ingest(repo.url, only=True)
        assert report.documents.unchanged == 2
        assert ids(again) == ["drafts/bread.md", "tides.md"]


def test_commands_read_a_repository_and_forget_it(repo: Repo, folder: Path) -> None:
    data = ("--data-dir", folder / "data")
    result = run("ingest", repo.url, "--ref", "main", "--exclude", "drafts", "--json", *data)
    assert json.loads(result.out)["documents"]["added"] == 1, result
    assert "unchanged since" in run("ingest", repo.url, *data).out
    assert list((folder / "data" / "cache" / "git").glob("*/objects.git"))
    assert run("sources", "remove", repo.url, *data).code == 0
    assert not list((folder / "data" / "cache" / "git").glob("*/objects.git"))


@pytest.mark.parametrize(
    "url",
    ["--upload-pack=touch x", "ext::sh -c touch% x", "ssh://-oProxyCommand=touch/x.git", "git@-oProxyCommand=x:y.git"],
)
def test_malicious_url_starts_nothing(folder: Path, url: str) -> None:
    before = set(Path.cwd().iterdir())
    result = run("ingest", "--data-dir", folder / "data", "--", url)
    assert result.failed_with(3), result
    assert set(Path.cwd().iterdir()) == before


@pytest.mark.parametrize(
    "ref", ["--upload-pack=touch x", "-x", "a b", "a..b", "a~1", "a^{}", "@{u}", "+a", "a\nb", "x" * 300]
)
def test_malicious_ref_is_refused(repo: Repo, book: Book, ref: str) -> None:
    with pytest.raises(SourceError, match="not the name of a branch or tag"):
        book.ingest(repo.url, ref=ref)


def test_usual_refs_are_accepted() -> None:
    for ref in ("main", "v1.2.3", "feature/x-y", "release_1", "0123456789abcdef0123456789abcdef01234567", ""):
        assert check_ref(ref) == ref


def test_hooks_filters_and_submodules_start_nothing(repo: Repo, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proof = folder / "proof"
    config = folder / "gitconfig"
    config.write_text(
        f'[filter "evil"]\n\tsmudge = touch {proof}\n\trequired = true\n[core]\n\thooksPath = {folder / "hooks"}\n'
        f"\tfsmonitor = touch {proof}\n[init]\n\ttemplateDir = {folder / 'template'}\n"
    )
    for hook in ("hooks/post-checkout", "template/hooks/reference-transaction", "hooks/reference-transaction"):
        (folder / hook).parent.mkdir(parents=True, exist_ok=True)
        (folder / hook).write_text(f"#!/bin/sh\ntouch {proof}\n")
        (folder / hook).chmod(0o755)
    repo.commit(
        {
            ".gitattributes": "*.md filter=evil\n",
            ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = file:///nowhere\n',
            "lfs.md": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        }
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    with glossator.open(folder / "data") as book:
        report = book.ingest(repo.url)
        assert ids(book) == ["drafts/bread.md", "tides.md"]
        assert [skip.path for skip in report.skipped] == ["lfs.md"]
        book.ingest(repo.folder)
    assert not proof.exists()


def test_no_file_is_written_outside_its_folder(repo: Repo, folder: Path) -> None:
    """A tree that no git would make itself: names that leave the folder, and links."""
    blob = repo.git("hash-object", "-w", "tides.md")
    raw = b"".join(
        mode + b" " + name + b"\0" + bytes.fromhex(blob)
        for mode, name in [
            (b"100644", b"../escaped.md"),
            (b"100644", b".."),
            (b"120000", b"link.md"),
            (b"100644", b"ok.md"),
        ]
    )
    write_tree = ["git", "-C", repo.folder, "hash-object", "-t", "tree", "-w", "--literally", "--stdin"]
    tree = subprocess.run(write_tree, input=raw, check=True, capture_output=True).stdout.decode().strip()
    commit = repo.git("commit-tree", tree, "-m", "bad")
    repo.git("update-ref", "refs/heads/bad", commit)
    repository = Repository(folder / "copy", 60.0)
    found = repository.fetch(Remote(repo.url), "bad")
    repository.write(found, 1_000_000)
    assert found == commit
    assert sorted(p.relative_to(folder / "copy" / "files").as_posix() for p in repository.files.rglob("*")) == ["ok.md"]
    assert not (folder / "copy" / "escaped.md").exists()


def test_files_become_folders_and_large_files_are_skipped(repo: Repo, folder: Path) -> None:
    repository = Repository(folder / "copy", 60.0)

    def written() -> tuple[list[str], list[str]]:
        skipped = repository.write(repository.fetch(Remote(repo.url), ""), 1_000)
        names = (p.relative_to(repository.files).as_posix() for p in repository.files.rglob("*") if p.is_file())
        return sorted(names), [skip.path for skip in skipped]

    repo.commit({"a": "file", "large.md": "x" * 2_000})
    assert written() == ([".gitignore", "a", "drafts/bread.md", "tides.md"], ["large.md"])
    assert "raise GLOSSATOR_MAX_FILE_MB" in repository.write(repository.fetch(Remote(repo.url), ""), 1_000)[0].reason
    repo.commit({"a": None, "large.md": None, "drafts/bread.md": None})
    repo.commit({"a/b": "now a folder", "drafts": "now a file"})
    assert written() == ([".gitignore", "a/b", "drafts", "tides.md"], [])
    (repository.folder / "listing.json").unlink()  # as after a crash
    (repository.folder / "objects.git" / "shallow.lock").touch()
    (repository.files / "tides.md").write_text("half")
    assert written()[0] == [".gitignore", "a/b", "drafts", "tides.md"]
    assert (repository.files / "tides.md").read_text("utf-8") == TIDES


def test_git_that_takes_too_long_is_ended(folder: Path) -> None:
    with pytest.raises(SourceUnreachable, match="GLOSSATOR_FETCH_MINUTES"):
        git(["-c", "alias.wait=!sleep 600", "wait"], 0.2)


def test_private_host_is_refused_and_redirects_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_site() as site:
        with pytest.raises(FetchRefused, match="not on the public internet"):
            checked_remote(f"{site.url}/book.git", FetchPolicy())
        assert site.log == []
        site.redirect("/old.git/info/refs?service=git-upload-pack", "http://169.254.169.254/new.git/info/refs")
        monkeypatch.setattr("glossator.ingest.fetch.network.is_public", lambda address: str(address) == "127.0.0.1")
        with pytest.raises(FetchRefused, match=r"169\.254\.169\.254"):
            checked_remote(f"{site.url}/old.git", FetchPolicy())


def test_repository_is_cloned_by_http_also_after_a_redirect(repo: Repo, book: Book) -> None:
    """By git's simplest protocol, which is files on a web server."""
    repo.git("update-server-info")
    with running_site() as site:
        for path in (repo.folder / ".git").rglob("*"):
            if path.is_file():
                name = path.relative_to(repo.folder / ".git").as_posix()
                site.pages[f"/book.git/{name}"] = Reply(path.read_bytes(), content_type="application/octet-stream")
        service = "info/refs?service=git-upload-pack"
        site.pages[f"/book.git/{service}"] = site.pages["/book.git/info/refs"]
        site.redirect(f"/old.git/{service}", f"/book.git/{service}", 301)
        remote = checked_remote(
            f"{site.url.replace('127.0.0.1', 'localhost')}/old.git", FetchPolicy(allow_private=True)
        )
        assert remote.url.endswith("/book.git")
        assert "curloptResolve=localhost:" in remote.config[0]
        output = git(["ls-remote", "--", remote.url], 30.0, remote.config).decode()
        assert repo.git("rev-parse", "HEAD") in output
        port = site.url.rpartition(":")[2]
        pinned = [f"http.curloptResolve=pinned.example:{port}:127.0.0.1"]  # no name server knows this host
        assert git(["ls-remote", "--", f"http://pinned.example:{port}/book.git"], 30.0, pinned).decode() == output
        with pytest.raises(SourceUnreachable):  # git itself follows no redirect
            git(["ls-remote", "--", f"{site.url}/old.git"], 30.0)


LOCATIONS = {
    "https://docs.example.org/guide/": SourceKind.SITE,
    "https://docs.example.org/guide/#part": SourceKind.SITE,
    "https://example.org/a.git": SourceKind.GIT,
    "https://example.org/a.git#v1": SourceKind.GIT,
    "https://github.com/owner/repo": SourceKind.GIT,
    "https://github.com/owner/repo/wiki/Page": SourceKind.SITE,
    "git+https://example.org/a": SourceKind.GIT,
    "ssh://git@example.org/a": SourceKind.GIT,
    "git@example.org:a/b": SourceKind.GIT,
    "file:///a/b": SourceKind.GIT,
    "docs/guide": SourceKind.FOLDER,
}


@pytest.mark.parametrize(("source", "kind"), LOCATIONS.items())
def test_kind_of_a_source_is_detected_by_its_form(source: str, kind: SourceKind) -> None:
    location = locate(source)
    assert location.kind(location.ref) is kind


@pytest.mark.parametrize("url", ["https://me:secret@x.org/a.git", "https://me@x.org/a.git", "ssh://me:secret@x.org/a"])
def test_password_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(SourceError, match="contains a user name or password") as caught:
        locate(url)
    assert "secret" not in str(caught.value)


def test_branch_makes_any_url_a_repository() -> None:
    assert Location("https://example.org/a").kind("main") is SourceKind.GIT
    assert locate("https://example.org/a.git#main:docs").ref == "main:docs"


PATTERNS: list[tuple[str, list[str], list[str]]] = [
    ("docs/", ["docs/a.md", "docs/b/c.md"], ["docs.md", "mydocs/a.md"]),
    ("docs/*.md", ["docs/a.md"], ["docs/b/c.md", "a/docs/a.md"]),
    ("docs/**", ["docs/a.md", "docs/b/c.md"], ["a.md"]),
    ("**/draft*", ["draft.md", "a/b/drafts/c.md"], ["a/my-draft.md"]),
    ("*.rst", ["a.rst", "b/a.rst"], ["a.rst.md"]),
    ("/README.md", ["README.md"], []),
    ("v[0-9]/a?.md", ["v1/ab.md"], ["vx/ab.md", "v1/a.md"]),
    ("[!a]b.md", ["xb.md"], ["ab.md"]),
    ("a(+).md", ["a(+).md"], ["a.md"]),
    ("[a|b&~[]c.md", ["ac.md", "|c.md", "&c.md", "~c.md", "[c.md"], ["xc.md"]),
    ("a[||b].md", ["a|.md", "ab.md"], ["a.md"]),
]


@pytest.mark.parametrize(("pattern", "selected", "others"), PATTERNS)
def test_patterns_are_those_of_gitignore(pattern: str, selected: list[str], others: list[str]) -> None:
    assert [name for name in (*selected, *others) if matches(pattern, name)] == selected


def test_pattern_with_an_inverted_range_is_refused(repo: Repo, tmp_path: Path) -> None:
    result = run("ingest", repo.folder, "--exclude", "[z-a]*", "--data-dir", tmp_path / "data")
    assert result.failed_with(2, "'[z-a]*' is not a valid pattern", "range")


def test_variables_of_an_outer_git_command_do_not_matter(
    repo: Repo, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", os.devnull)
    monkeypatch.setenv("GIT_INDEX_FILE", os.devnull)
    book.ingest(f"{repo.folder.as_uri()}")
    assert ids(book) == ["drafts/bread.md", "tides.md"]
