"""The engine of one book, and the composition root that builds it from settings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from glossator.answer.llm.policy import DEFAULT_RETRY_POLICY, RetryPolicy
from glossator.answer.llm.providers import Provider, judge_provider, providers
from glossator.core.errors import GlossatorError, ReaderUnavailable, SettingsError
from glossator.core.extras import require
from glossator.core.files import protect_data_dir
from glossator.core.inference.load import Load
from glossator.core.inference.reading import SourceText
from glossator.core.ports import Embedder, Generation, GenerationStore, Reader, SecondOpinion, WordCounts
from glossator.core.resilience.breaker import COOLDOWN_SECONDS, CircuitBreaker
from glossator.core.settings import IndexKind, Settings
from glossator.core.types import Span
from glossator.embed.colbert import ColbertEncoder
from glossator.embed.endpoints import EMBEDDER_FORMS, find_endpoint
from glossator.embed.local import LocalEmbedder, built_in_model, is_installed
from glossator.embed.remote import RemoteEmbedder
from glossator.pipeline.cache import AnswerCache
from glossator.read.reader import OnnxReader
from glossator.store.index.generations import Generations
from glossator.verification.judge import Verifier

if TYPE_CHECKING:
    from glossator.answer.llm.agent import AgentDrafter
    from glossator.store.records.record_store import RecordStore


_MAX_SHARED_NAME = 55
"""Postgres allows 63 characters for the name of a schema, and the one of the records ends with `_records`."""


class Engine:
    """The parts that answering from one data directory needs; holds the open generation."""

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: Embedder,
        generations: GenerationStore,
        verifier: Verifier,
        reader: Reader | None,
        open_records: Callable[[], RecordStore],
        open_drafter: Callable[[], AgentDrafter | None] = lambda: None,
        models: Sequence[str] = (),
        judge: str = "",
        open_judge: Callable[[], SecondOpinion | None] = lambda: None,
        load: Load | None = None,
    ) -> None:
        self.settings = settings
        self.embedder = embedder
        self.generations = generations
        self.verifier = verifier
        self.reader = reader
        self.load = load or Load()
        self._open_records = open_records
        self._records: RecordStore | None = None
        self._open_drafter = open_drafter
        self._drafter: AgentDrafter | None = None
        self._drafter_loaded = False
        self._models = models
        self.judge, self._open_judge = judge, open_judge
        self.cache = AnswerCache(settings.cache_answers)
        self._generation_lock, self._drafter_lock = Lock(), Lock()
        self._open: Generation | None = None

    def for_book(self, name: str) -> Engine:
        """The engine of another book, which shares all models with this one."""
        settings = self.settings.for_book(name)
        return Engine(
            settings,
            embedder=self.embedder,
            generations=make_generations(settings),
            verifier=self.verifier,
            reader=self.reader,
            open_records=lambda: make_records(settings),
            open_drafter=lambda: self.drafter,
            models=self._models,
            judge=self.judge,
            open_judge=lambda: self.second_opinion,
            load=self.load,
        )

    def generation(self) -> Generation:
        """The current generation; a newer one is opened as soon as it is seen, without a restart.

        While one request opens it, others use the previous one, which is closed when the last of them has finished.
        """
        current = self.generations.current()
        loaded = self._open
        if loaded is not None and (loaded.manifest.generation == current or self._generation_lock.locked()):
            return loaded
        with self._generation_lock:
            if self._open is None or self._open.manifest.generation != self.generations.current():
                self._open = self.generations.open(self.embedder.fingerprint)
            return self._open

    def warm_up(self) -> None:
        """Load what the first question needs; errors are reported when that question is asked."""
        with suppress(GlossatorError):
            self.generation()
            self.embedder.embed_query("ready")
            _ = self.embedder.calibration
        with suppress(GlossatorError):
            if self.reader is not None:
                self.reader.judge("ready?", self.reader.read([SourceText((), "Ready.", (Span(0, 6),))]))
        _ = self.drafter, self.second_opinion

    def generation_if_open(self) -> Generation | None:
        """The current generation if it is already open; does not block."""
        loaded = self._open
        # In this order: the first call of `current` may block, and `_open` is set only after one.
        is_current = loaded is not None and loaded.manifest.generation == self.generations.current()
        return loaded if is_current else None

    def word_counts(self) -> WordCounts:
        """Word counts of the book; without an index, every word counts the same."""
        return self.generation().documents if self.generations.current() is not None else UniformWordCounts()

    @property
    def records(self) -> RecordStore:
        """The stored conversations and receipts; opened on first use, as the database library is slow to import."""
        if self._records is None:
            self._records = self._open_records()
        return self._records

    @property
    def drafter(self) -> AgentDrafter | None:
        """The drafter, if a language model is configured; opened on first use, as it is slow to import."""
        if not self._drafter_loaded:
            with self._drafter_lock:
                self._drafter = self._drafter or self._open_drafter()
                self._drafter_loaded = True
        return self._drafter

    async def load_drafter(self) -> AgentDrafter | None:
        """The drafter, loaded in a thread: its imports take seconds."""
        return self._drafter if self._drafter_loaded else await asyncio.to_thread(lambda: self.drafter)

    @cached_property
    def second_opinion(self) -> SecondOpinion | None:
        """The language model that judges doubtful claims, if one is configured; opened on first use."""
        return self._open_judge()

    @property
    def model_states(self) -> dict[str, str]:
        """The circuit breaker state of each language model; closed if the model was never used."""
        if self._drafter is None:
            return dict.fromkeys(self._models, "closed")
        return {model.label: str(model.breaker.state) for model in self._drafter.models}

    @property
    def embedder_state(self) -> str | None:
        """The circuit breaker state of a remote embedding model; None if the model is local."""
        return str(self.embedder.breaker.state) if isinstance(self.embedder, RemoteEmbedder) else None

    @property
    def token_usage(self) -> tuple[int, int]:
        """Input and output tokens of the language models."""
        return (self._drafter.usage.input_tokens, self._drafter.usage.output_tokens) if self._drafter else (0, 0)

    async def close_connections(self) -> None:
        """Close the connections to the database, a shared index and the language models."""
        self.generations.close()
        if self._records is not None:
            await self._records.close()
            self._records = None
        if self._drafter is not None:
            await self._drafter.close()
            self._drafter = None
        self._drafter_loaded = False

    async def close(self) -> None:
        """Close all files and connections."""
        await self.close_connections()
        with self._generation_lock:
            # It closes itself when the last thread that reads it is done: cancelling a request stops no thread.
            self._open = None


class UniformWordCounts:
    """Word counts without a book: every word counts the same."""

    def chunks_with(self, words: Sequence[str]) -> dict[str, int]:
        return dict.fromkeys(words, 1)

    def chunk_count(self) -> int:
        return 100


def wire(
    settings: Settings,
    retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY,
    cooldown_seconds: float = COOLDOWN_SECONDS,
) -> Engine:
    """Build an engine from settings; configuration errors and missing packages are reported here.

    A language model or a remote embedding model that failed repeatedly is not called for `cooldown_seconds`.
    """
    chain, judge = configured_models(settings), configured_judge(settings)
    require_database_driver(settings)
    generations = make_generations(settings)
    return Engine(
        settings,
        embedder=make_embedder(settings, generations, cooldown_seconds),
        generations=generations,
        verifier=make_verifier(settings),
        reader=make_reader(settings),
        open_records=lambda: make_records(settings),
        open_drafter=lambda: make_drafter(settings, chain, retry_policy, cooldown_seconds),
        models=tuple(provider.label for provider in chain),
        judge=judge.label if judge else "",
        open_judge=lambda: make_judge(judge, cooldown_seconds),
    )


def configured_models(settings: Settings) -> tuple[Provider, ...]:
    """The language models that the settings name, whose packages must be installed."""
    chain = providers(settings)
    if chain:
        require("llm", "Support for language models (GLOSSATOR_LLM)")
    return chain


def configured_judge(settings: Settings) -> Provider | None:
    """The language model for second opinions, whose packages must be installed."""
    provider = judge_provider(settings)
    if provider:
        require("llm", "Support for language models (GLOSSATOR_JUDGE)")
    return provider


def make_judge(provider: Provider | None, cooldown_seconds: float) -> SecondOpinion | None:
    """The second opinion; None without a provider."""
    if provider is None:
        return None
    from glossator.answer.llm.judge import LanguageModelJudge

    return LanguageModelJudge(provider, cooldown_seconds)


def require_database_driver(settings: Settings) -> None:
    """Refuse a Postgres database if its driver is not installed."""
    if settings.database_url.get_secret_value().startswith("postgres"):
        require("postgres", "The Postgres driver (DATABASE_URL)")


def make_drafter(
    settings: Settings, chain: Sequence[Provider], retry_policy: RetryPolicy, cooldown_seconds: float
) -> AgentDrafter | None:
    """The configured language models as a chain; None if there are none."""
    if not chain:
        return None
    from glossator.answer.llm.agent import AgentDrafter
    from glossator.answer.llm.chain import ChainedModel, ModelChain
    from glossator.answer.llm.client import make_model

    models = [
        ChainedModel(
            provider.label,
            make_model(provider, settings.answer_seconds),
            CircuitBreaker(cooldown_seconds=cooldown_seconds),
        )
        for provider in chain
    ]
    return AgentDrafter(ModelChain(models, retry_policy), ", ".join(provider.label for provider in chain))


def make_records(settings: Settings) -> RecordStore:
    """The configured record store; does not connect yet."""
    from glossator.store.records.database import Database, database_url
    from glossator.store.records.record_store import RecordStore

    protect_data_dir(settings.book_dir)
    url = database_url(settings.database_url.get_secret_value(), settings.book_dir)
    database = Database(url, schema=f"{_shared_name(settings)}_records" if settings.book else "")
    session_ttl = timedelta(hours=settings.session_hours) or None
    return RecordStore(database, session_ttl, timedelta(days=settings.receipt_days) or None)


def make_verifier(settings: Settings) -> Verifier:
    """The verifier, with its models if they are enabled and installed; loads nothing yet."""
    if not settings.verify_models:
        return Verifier()
    return Verifier(_token_model(settings.threads) if is_installed() else None, make_reader(settings))


def make_reader(settings: Settings) -> OnnxReader | None:
    """The reader model; None if it is disabled or its files are missing or damaged (see `reader_problem`)."""
    reader = _reader(settings.threads)
    return reader if settings.reader == "auto" and reader_problem(settings) is None else None


def reader_problem(settings: Settings) -> ReaderUnavailable | None:
    """Why the reader model cannot be used although it is enabled; the token model takes its place."""
    if settings.reader == "off":
        return None
    try:
        _reader(settings.threads).check()
    except ReaderUnavailable as error:
        return error
    return None


def make_generations(settings: Settings, kind: IndexKind | None = None) -> GenerationStore:
    """The configured index, or the one of this kind; does not connect yet."""
    kind = kind or index_kind(settings)
    if kind == "postgres":
        require("postgres", "The Postgres driver (GLOSSATOR_INDEX)")
        from glossator.store.index.postgres.generations import PostgresGenerations

        return PostgresGenerations(settings.database_url.get_secret_value(), _shared_name(settings))
    if kind == "qdrant":
        require("qdrant", "The Qdrant client (QDRANT_URL)")
        from glossator.store.index.qdrant.generations import QdrantGenerations
        from glossator.store.index.qdrant.server import QdrantOptions, QdrantServer

        options = QdrantOptions(
            url=settings.qdrant_url,
            api_key=settings.qdrant_api_key.get_secret_value(),
            name=_shared_name(settings),
            shards=settings.qdrant_shards,
            replicas=settings.qdrant_replicas,
            quantized=settings.qdrant_quantization == "scalar",
        )
        return QdrantGenerations(QdrantServer(options))
    return Generations(settings.book_dir)


def _shared_name(settings: Settings) -> str:
    """The name of the book's index on a shared server, short enough for every server."""
    if len(settings.book_index) > _MAX_SHARED_NAME:
        raise SettingsError(
            f"The names of the index and the book, {settings.book_index}, are too long in total.",
            f"Shorten GLOSSATOR_INDEX_NAME or the book's name to {_MAX_SHARED_NAME} characters in all.",
        )
    return settings.book_index


def index_kind(settings: Settings) -> IndexKind:
    """Which index the settings choose."""
    if settings.index != "auto":
        return settings.index
    return "qdrant" if settings.qdrant_url else "embedded"


def make_embedder(
    settings: Settings, generations: GenerationStore | None = None, cooldown_seconds: float = COOLDOWN_SECONDS
) -> Embedder:
    """The configured embedder; the dimension of a remote one is known if it made the current generation."""
    if settings.embedder == "local":
        return _built_in_embedder(settings.threads)
    if endpoint := find_endpoint(settings):
        indexed = (generations or Generations(settings.book_dir)).fingerprint()
        return RemoteEmbedder(endpoint, indexed=indexed, cooldown_seconds=cooldown_seconds)
    folder = Path(settings.embedder)
    if folder.is_dir():
        return LocalEmbedder(folder, settings.threads or None)
    raise SettingsError(
        f"Unknown embedder: GLOSSATOR_EMBEDDER is {settings.embedder!r}.", f"Set it to {EMBEDDER_FORMS}."
    )


@cache
def _built_in_embedder(threads: int) -> LocalEmbedder:
    """Shared by all books of a process: it takes 60 MB, and they use the same cores."""
    return LocalEmbedder(built_in_model(), threads or None)


@cache
def _reader(threads: int) -> OnnxReader:
    return OnnxReader(threads=threads or None)


@cache
def _token_model(threads: int) -> ColbertEncoder:
    return ColbertEncoder(threads or None)
