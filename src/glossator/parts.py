"""The wired parts of one book, and the one place where settings become parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from glossator.core.errors import SettingsError
from glossator.core.ports import Embedder, WordCounts
from glossator.core.settings import Settings
from glossator.embed.colbert import ColbertEncoder
from glossator.embed.local import LocalEmbedder, built_in_model, is_installed
from glossator.store.generations import Generation, Generations
from glossator.verification.judge import Verifier

if TYPE_CHECKING:
    from glossator.store.records import Records


class Parts:
    """What one data directory's book is made with; holds the generation that is open."""

    def __init__(
        self,
        settings: Settings,
        embedder: Embedder,
        generations: Generations,
        verifier: Verifier,
        open_records: Callable[[], Records],
    ) -> None:
        self.settings = settings
        self.embedder = embedder
        self.generations = generations
        self.verifier = verifier
        self._open_records = open_records
        self._records: Records | None = None
        self._lock = Lock()
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

    def word_counts(self) -> WordCounts:
        """How common words are; a book that has none yet finds every word equally telling."""
        return self.generation().documents if self.generations.current() is not None else _NoWords()

    @property
    def records(self) -> Records:
        """The records; opened on first use, for the library behind them is heavy."""
        if self._records is None:
            self._records = self._open_records()
        return self._records

    async def close_records(self) -> None:
        """Let go of the database."""
        if self._records is not None:
            await self._records.close()
            self._records = None

    async def close(self) -> None:
        """Let go of all files and connections."""
        await self.close_records()
        with self._lock:
            if self._open is not None:
                self._open.close()
            self._open = None


class _NoWords:
    def chunks_with(self, words: Sequence[str]) -> dict[str, int]:
        return dict.fromkeys(words, 1)

    def chunk_count(self) -> int:
        return 100


def wire(settings: Settings) -> Parts:
    """Turn settings into parts."""
    return Parts(
        settings,
        make_embedder(settings),
        Generations(settings.data_dir),
        make_verifier(settings),
        lambda: make_records(settings),
    )


def make_records(settings: Settings) -> Records:
    """The records that the settings name; nothing is connected yet."""
    from glossator.store.database import Database, database_url
    from glossator.store.records import Records

    database = Database(database_url(settings.database_url.get_secret_value(), settings.data_dir))
    keep = timedelta(hours=settings.session_hours) or None
    return Records(database, keep, timedelta(days=settings.receipt_days) or None)


def make_verifier(settings: Settings) -> Verifier:
    """The verifier, with its token model where that is wanted and installed; nothing is loaded yet."""
    return Verifier(ColbertEncoder(settings.threads or None) if settings.verify_models and is_installed() else None)


def make_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings name."""
    threads = settings.threads or None
    if settings.embedder == "local":
        return LocalEmbedder(built_in_model(), threads)
    folder = Path(settings.embedder)
    if folder.is_dir():
        return LocalEmbedder(folder, threads)
    raise SettingsError(
        f"GLOSSATOR_EMBEDDER is {settings.embedder!r}.",
        "Set it to `local` or to a folder with model.onnx and tokenizer.json.",
    )
