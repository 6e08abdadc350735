"""URLs as they leave the server: those of pages that only it shows get its scheme and host."""

from __future__ import annotations

from dataclasses import dataclass, replace

from starlette.requests import HTTPConnection

from glossator.core.answers import Answer
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.types import Filters, Passage
from glossator.serve.middleware.hosts import origin_of


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Scheme, host and root path of this server, as a request addressed it; empty if it named no valid host."""

    base: str = ""

    @classmethod
    def of(cls, request: HTTPConnection) -> ServerAddress:
        """The address that a request was sent to."""
        origin = origin_of(request.scope)
        return cls(origin + str(request.scope.get("root_path", "")).rstrip("/") if origin else "")

    def url(self, url: str) -> str:
        """A path of this server as a URL; any other URL as it is."""
        return self.base + url if url.startswith("/") and not url.startswith("//") else url

    def answer(self, answer: Answer) -> Answer:
        """An answer whose citations and suggestions have absolute URLs."""
        return replace(
            answer,
            citations=tuple(replace(c, url=self.url(c.url)) for c in answer.citations),
            suggestions=tuple(replace(s, url=self.url(s.url)) for s in answer.suggestions),
        )

    def passage(self, passage: Passage) -> Passage:
        """A passage with an absolute URL."""
        return replace(passage, url=self.url(passage.url))

    def result(self, result: AnswerWithReceipt) -> AnswerWithReceipt:
        """An answer and its passages with absolute URLs."""
        moved = replace(result, passages=tuple(map(self.passage, result.passages)))
        return moved.with_answer(self.answer(result.answer))

    def stored(self, url: str) -> str:
        """A URL of this server as the path that the index has; any other URL as it is."""
        path = url.removeprefix(self.base) if self.base else url
        return path if path.startswith("/") else url if path else "/"

    def filters(self, filters: Filters) -> Filters:
        """Filters for the index: a URL that the server returned selects its page, whatever its fragment."""
        prefix = (filters.source_url_prefix or "").partition("#")[0]
        return replace(filters, source_url_prefix=self.stored(prefix) if prefix else filters.source_url_prefix)
