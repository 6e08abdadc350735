"""URLs of repositories: which may be cloned, and the address that git must connect to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from glossator.core.errors import FetchRefused, SourceError, SourceUnreachable
from glossator.ingest.fetch.client import Fetcher, FetchPolicy
from glossator.ingest.fetch.network import resolve
from glossator.ingest.git.command import git_version

_REF = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\+-][^\x00-\x20\x7f~^:?*\[\\]*")
_SERVICE = "/info/refs?service=git-upload-pack"
_MIN_VERSION = (2, 37)
"""The first version with an option for the address of a host."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A repository to fetch from, and the configuration of git for it."""

    url: str
    config: tuple[str, ...] = ()


def check_ref(ref: str) -> str:
    """The name of a branch or tag, or a commit; nothing that git would read as an option or an expression."""
    if ref and (not _REF.fullmatch(ref) or ".." in ref or "@{" in ref or len(ref) > 250):
        raise SourceError(f"{ref[:100]!r} is not the name of a branch or tag.", "Check --ref, or what follows the #.")
    return ref


def checked_remote(url: str, policy: FetchPolicy) -> Remote:
    """A URL that git may clone; a host of http or https is checked, and git connects to the checked address only."""
    url = url.removeprefix("git+")
    host = urlsplit(url).hostname or "" if "://" in url else url.partition("@")[2].partition(":")[0]
    if url.startswith("-") or host.startswith("-") or "::" in url.partition("//")[0]:
        raise FetchRefused(f"{url[:200]} is not the URL of a repository.", "Use https, ssh or file.")
    if not url.startswith(("http://", "https://")):
        return Remote(url)
    if not policy.allow_private and git_version() < _MIN_VERSION:
        raise SourceError(
            "This version of git is too old to fetch safely over HTTP.", "Install git 2.37 or newer, or use ssh."
        )
    url = _after_redirects(url, policy)
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    addresses = resolve(parts.hostname or "", port, allow_private=policy.allow_private)
    if parts.hostname in addresses:
        return Remote(url)  # the URL names the address itself
    listed = ",".join(f"[{address}]" if ":" in address else address for address in addresses)
    return Remote(url, (f"http.curloptResolve={parts.hostname}:{port}:{listed}",))


def _after_redirects(url: str, policy: FetchPolicy) -> str:
    """The URL where a repository is now: git follows no redirects here, as it would not check them."""
    with Fetcher(policy) as fetcher:
        response = fetcher.get(f"{url.rstrip('/')}{_SERVICE}")
    if response.status in (404, 410):
        raise SourceUnreachable(f"There is no repository at {url}.", "Check the URL.")
    return response.url.removesuffix(_SERVICE) if response.url.endswith(_SERVICE) else url
