"""The scope of a site: which URLs are its pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from glossator.ingest.fetch.urls import normalized, root_of

_FILES = re.compile(
    r"\.(?:avif|bmp|bz2|css|csv|docx?|eot|epub|exe|gif|gz|ico|ipynb|iso|jar|jpe?g|js|json|map|md|mdx|mjs|mp[34]|ods|odt"
    r"|ogg|pdf|png|pptx?|rar|rss|rst|sh|svg|tar|tgz|ttf|txt|wav|webm|webp|whl|woff2?|xlsx?|xml|xz|ya?ml|zip)\Z",
    re.IGNORECASE,
)
"""Addresses that are known not to be pages: they are not worth a request."""
_GENERATED = re.compile(
    r"/(?:(?:genindex(?:-\w+)?|py-modindex)(?:\.html?)?/?|(?:search|404|print|toc)\.html?)\Z", re.IGNORECASE
)
"""Pages that only repeat what other pages say, as generators name them."""
_SAME_PAGE = re.compile(r"(?:/index)?(?:\.html?)?/*\Z")


@dataclass(frozen=True, slots=True)
class SiteScope:
    """All pages below a prefix, which ends with a slash."""

    prefix: str

    @classmethod
    def of(cls, url: str) -> SiteScope:
        """The scope of a URL: the folder of a file, or all below the URL."""
        address = urlsplit(normalized(url))._replace(query="").geturl()
        name = address.rpartition("/")[2]
        is_file = "." in name and address.count("/") > 2
        return cls(address[: len(address) - len(name)] if is_file else f"{address.rstrip('/')}/")

    @property
    def base_url(self) -> str:
        return self.prefix.rstrip("/")

    def contains(self, url: str) -> bool:
        """Whether a URL is one of a page of the site; those with a query are not, as they have no end."""
        return (url.startswith(self.prefix) or url == self.base_url) and "?" not in url

    def in_scheme(self, url: str) -> str:
        """A URL of the same host by the scheme of the scope: old links on a site often have another."""
        scheme, _, rest = url.partition(":")
        own = self.prefix.partition(":")[0]
        return f"{own}:{rest}" if {scheme, own} == {"http", "https"} else url

    def may_be_page(self, url: str) -> bool:
        """Whether a link in the scope may lead to a page."""
        path = urlsplit(url).path
        return self.contains(url) and not _FILES.search(path) and not _GENERATED.search(path)

    def route(self, url: str) -> str:
        """The path of a page below the prefix, not escaped."""
        return unquote(url.removeprefix(self.base_url).lstrip("/"))

    def folders(self) -> Iterator[str]:
        """The prefix and the folders above it, up to the front page of the host."""
        address, root = self.prefix, root_of(self.prefix)
        while len(address) >= len(root):
            yield address
            address = address.rstrip("/").rpartition("/")[0] + "/"


def same_page(url: str) -> str:
    """What all usual addresses of one page have in common."""
    return _SAME_PAGE.sub("", urlsplit(url).path)
