"""The wired engine of one book, and the one place where settings become engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from glossator.answer.llm.providers import Provider, providers
from glossator.core.errors import GlossatorError, SettingsError
from glossator.core.ports import Embedder, WordCounts
from glossator.core.settings import Settings
from glossator.embed.colbert import ColbertEncoder
from glossator.embed.endpoints import FORMS, find_endpoint
from glossator.embed.local import LocalEmbedder, built_in_model, is_installed
from glossator.embed.remote import RemoteEmbedder
from glossator.pipeline.cache import AnswerCache
from glossator.store.index.documents import Entry
from glossator.store.index.generations import Generation, Generations
from glossator.verification.judge import Verifier

if TYPE_CHECKING:
    from glossator.answer.llm.agent import AgentDrafter
    from glossator.store.records.record_store import Records


class Engine:
    """What one data directory's book is made with; holds the generation that is open."""

    def __init__(
        self,
        settings: Settings,
        embedder: Embedder,
        generations: Generations,
        verifier: Verifier,
        open_records: Callable[[], Records],
        open_drafter: Callable[[], AgentDrafter | None] = lambda: None,
        models: Sequence[str] = (),
    ) -> None:
        self.settings = settings
        self.embedder = embedder
        self.generations = generations
        self.verifier = verifier
        self._open_records = open_records
        self._records: Records | None = None
        self._open_drafter = open_drafter
        self._drafter: AgentDrafter | None = None
        self._drafts = False
        self._models = models
        self.cache = AnswerCache(settings.cache_answers)
        self._lock, self._opening = Lock(), Lock()
        self._open: Generation | None = None

    def generation(self) -> Generation:
        """The current generation; a newer one on disk is opened at once, with no restart.

        The one before closes itself when the last question that is being answered from it is done.
        """
        current = self.generations.current()
        held = self._open
        if held is not None and held.manifest.generation == current:
            return held
        with self._lock:
            if self._open is None or self._open.manifest.generation != self.generations.current():
                self._open = self.generations.open(self.embedder.fingerprint)
            return self._open

    def warm(self) -> None:
        """Open what the first question needs; what cannot be opened is told when it is asked."""
        with suppress(GlossatorError):
            self.generation()
            self.embedder.embed_query("ready")
        _ = self.drafter

    def open_generation(self) -> Generation | None:
        """The current generation if it is open already, which takes no time to find out."""
        held = self._open
        return held if held is not None and held.manifest.generation == self.generations.current() else None

    def word_counts(self) -> WordCounts:
        """How common words are; a book that has none yet finds every word equally telling."""
        return self.generation().documents if self.generations.current() is not None else _NoWords()

    @property
    def records(self) -> Records:
        """The records; opened on first use, for the library behind them is heavy."""
        if self._records is None:
            self._records = self._open_records()
        return self._records

    @property
    def drafter(self) -> AgentDrafter | None:
        """The language model's drafter, if one is configured; opened on first use, as it is heavier still."""
        if not self._drafts:
            with self._opening:
                self._drafter = self._drafter or self._open_drafter()
                self._drafts = True
        return self._drafter

    async def ready_drafter(self) -> AgentDrafter | None:
        """The same, opened beside the event loop: what it imports takes seconds."""
        return self._drafter if self._drafts else await asyncio.to_thread(lambda: self.drafter)

    @property
    def model_states(self) -> dict[str, str]:
        """How the breaker of each language model stands; one that nobody has used yet is closed."""
        if self._drafter is None:
            return dict.fromkeys(self._models, "closed")
        return {link.label: str(link.breaker.state) for link in self._drafter.links}

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens that the language models have read and written."""
        return (self._drafter.usage.input_tokens, self._drafter.usage.output_tokens) if self._drafter else (0, 0)

    def contents(self) -> list[Entry]:
        """The table of contents."""
        return self.generation().documents.contents()

    async def close_connections(self) -> None:
        """Let go of the database and the language models."""
        if self._records is not None:
            await self._records.close()
            self._records = None
        if self._drafter is not None:
            await self._drafter.close()
            self._drafter = None
        self._drafts = False

    async def close(self) -> None:
        """Let go of all files and connections."""
        await self.close_connections()
        with self._lock:
            # It closes itself when the last thread that reads it is done: a cancelled question stops no thread.
            self._open = None


class _NoWords:
    def chunks_with(self, words: Sequence[str]) -> dict[str, int]:
        return dict.fromkeys(words, 1)

    def chunk_count(self) -> int:
        return 100


def wire(settings: Settings) -> Engine:
    """Turn settings into parts; a language model that cannot be meant is refused here."""
    chain = providers(settings)
    return Engine(
        settings,
        make_embedder(settings),
        Generations(settings.data_dir),
        make_verifier(settings),
        lambda: make_records(settings),
        lambda: make_drafter(settings, chain),
        tuple(provider.label for provider in chain),
    )


def make_drafter(settings: Settings, chain: Sequence[Provider]) -> AgentDrafter | None:
    """The language models that the settings name, in a chain; None where they name none."""
    if not chain:
        return None
    from glossator.answer.llm.agent import AgentDrafter
    from glossator.answer.llm.chain import Chain, link_to

    links = [link_to(provider, settings.answer_seconds) for provider in chain]
    return AgentDrafter(Chain(links), ", ".join(provider.label for provider in chain))


def make_records(settings: Settings) -> Records:
    """The records that the settings name; nothing is connected yet."""
    from glossator.store.records.database import Database, database_url
    from glossator.store.records.record_store import Records

    database = Database(database_url(settings.database_url.get_secret_value(), settings.data_dir))
    keep = timedelta(hours=settings.session_hours) or None
    return Records(database, keep, timedelta(days=settings.receipt_days) or None)


def make_verifier(settings: Settings) -> Verifier:
    """The verifier, with its token model where that is wanted and installed; nothing is loaded yet."""
    return Verifier(_token_model(settings.threads) if settings.verify_models and is_installed() else None)


def make_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings name."""
    if settings.embedder == "local":
        return _built_in(settings.threads)
    if endpoint := find_endpoint(settings):
        return RemoteEmbedder(endpoint)
    folder = Path(settings.embedder)
    if folder.is_dir():
        return LocalEmbedder(folder, settings.threads or None)
    raise SettingsError(f"GLOSSATOR_EMBEDDER is {settings.embedder!r}.", f"Set it to {FORMS}.")


@cache
def _built_in(threads: int) -> LocalEmbedder:
    """One for all books of a process: it takes 60 MB, and the cores are the same."""
    return LocalEmbedder(built_in_model(), threads or None)


@cache
def _token_model(threads: int) -> ColbertEncoder:
    return ColbertEncoder(threads or None)
