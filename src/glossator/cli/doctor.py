"""Diagnoses an installation: data directory, models, index, database."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from glossator.answer.llm.providers import Provider
from glossator.core.book.manifest import SourceRecord
from glossator.core.book.sources import SourceSummary
from glossator.core.errors import GlossatorError
from glossator.core.ports import Embedder
from glossator.core.settings import Settings
from glossator.embed.remote import RemoteEmbedder
from glossator.pipeline.sources import language_warning
from glossator.pipeline.wiring import (
    configured_judge,
    configured_models,
    make_embedder,
    make_generations,
    make_records,
    make_verifier,
    reader_problem,
    require_database_driver,
)

if TYPE_CHECKING:
    from glossator.store.records.record_store import RecordStore

_EMBEDDING_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """The result of one check."""

    topic: str
    value: str
    why: str
    good: bool = True
    is_warning: bool = False


def diagnose(settings: Settings, *, live: bool = False) -> list[DoctorFinding]:
    """Check everything that an answer needs; `live` also sends a request to every language model."""
    try:
        embedder = make_embedder(settings)
        length = len(embedder.embed_query("doctor", _EMBEDDING_SECONDS).vector)
        _ = embedder.calibration
    except GlossatorError as error:
        model = DoctorFinding("embeddings", error.message, error.remedy, good=False)
        index = [DoctorFinding("index", "not checked", "needs the embedding model", good=False)]
    else:
        reason = "the default" if settings.embedder == "local" else "set by GLOSSATOR_EMBEDDER"
        model = DoctorFinding(
            "embeddings", f"{embedder.fingerprint}, {length} dimensions", f"{reason}; {_state(embedder)}"
        )
        index = _index(settings, embedder)
    return [
        _data_dir(settings),
        model,
        *index,
        _verification(settings),
        *_answers(settings, live=live),
        *_second_opinion(settings, live=live),
        _storage(settings),
        _records(settings),
    ]


def _storage(settings: Settings) -> DoctorFinding:
    """Where the index is."""
    auto = "set by QDRANT_URL" if settings.qdrant_url else "no server is configured"
    why = auto if settings.index == "auto" else "set by GLOSSATOR_INDEX"
    try:
        return DoctorFinding("storage", make_generations(settings).place, why)
    except GlossatorError as error:
        return DoctorFinding("storage", error.message, error.remedy, good=False)


def _state(embedder: Embedder) -> str:
    """How a model that responded is used; this process has just closed its circuit breaker."""
    return f"works, circuit breaker {embedder.breaker.state}" if isinstance(embedder, RemoteEmbedder) else "works"


def _records(settings: Settings) -> DoctorFinding:
    """Whether conversations can be stored; creates nothing."""
    external = bool(settings.database_url.get_secret_value())
    why = "set by DATABASE_URL" if external else "DATABASE_URL is not set"
    try:
        require_database_driver(settings)
        records = make_records(settings)
        name = "SQLite" if records.database.is_sqlite else f"Postgres at {records.database.url.host}"
        if not external and not (settings.book_dir / "records.sqlite").exists():
            return DoctorFinding("records", f"{name} in the data directory, not created yet", why)
        revision = asyncio.run(_revision(records))
    except GlossatorError as error:
        return DoctorFinding("records", error.message, f"{error.remedy} ({why})", good=False)
    return DoctorFinding("records", f"{name}, tables at {revision}" if revision else f"{name}, no tables yet", why)


async def _revision(records: RecordStore) -> str | None:
    try:
        return await records.database.revision()
    finally:
        await records.close()


def _answers(settings: Settings, *, live: bool) -> list[DoctorFinding]:
    try:
        chain = configured_models(settings)
    except GlossatorError as error:
        return [DoctorFinding("answers", error.message, error.remedy, good=False)]
    quotes = DoctorFinding("answers", "extractive: quotes from the book", "no language model is configured")
    if not chain:
        return [quotes]
    if live:
        return [*asyncio.run(_test_models(chain)), replace(quotes, why="if no language model responds")]
    order = " then ".join([*(provider.label for provider in chain), "extractive"])
    return [DoctorFinding("answers", order, "set by GLOSSATOR_LLM; `glossator doctor --live` tests them")]


def _second_opinion(settings: Settings, *, live: bool) -> list[DoctorFinding]:
    try:
        judge = configured_judge(settings)
    except GlossatorError as error:
        return [DoctorFinding("second opinion", error.message, error.remedy, good=False)]
    if judge is None:
        return []
    if live:
        return [replace(finding, topic="second opinion") for finding in asyncio.run(_test_models([judge]))]
    used = "set by GLOSSATOR_JUDGE" if settings.llm.strip() else "not used: GLOSSATOR_LLM is not set"
    return [DoctorFinding("second opinion", judge.label, used)]


async def _test_models(chain: Sequence[Provider]) -> list[DoctorFinding]:
    """Ask each language model for one word."""
    from glossator.answer.llm.client import probe

    findings = []
    for provider in chain:
        problem = await probe(provider)
        findings.append(DoctorFinding("answers", provider.label, problem or "responds", good=not problem))
    return findings


def _verification(settings: Settings) -> DoctorFinding:
    """Which models check claims besides their words."""
    if problem := reader_problem(settings):
        return DoctorFinding("checks", problem.message, f"word comparison only; {problem.remedy}", good=False)
    verifier = make_verifier(settings)
    if verifier.reader is not None:
        return DoctorFinding(
            "checks", f"word comparison and the reader model, {verifier.reader.fingerprint}", "the default"
        )
    if verifier.encoder is not None:
        return DoctorFinding("checks", "word comparison and the token model", "set by GLOSSATOR_READER")
    why = "the token model is not installed" if settings.verify_models else "set by GLOSSATOR_VERIFY_MODELS"
    return DoctorFinding("checks", "words only", why)


def _source(source: SourceSummary) -> DoctorFinding:
    missing = "" if source.exists else "; it no longer exists"
    return DoctorFinding(
        "source", source.path, f"{source.name}; {source.layout}, {source.documents} documents{missing}"
    )


def _languages(sources: Sequence[SourceRecord], embedder: Embedder) -> Iterator[DoctorFinding]:
    for source in sources:
        if warning := language_warning(source.language, embedder):
            yield DoctorFinding("language", source.name, warning, is_warning=True)


def _data_dir(settings: Settings) -> DoctorFinding:
    folder = settings.book_dir.resolve()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = f"{shutil.disk_usage(existing).free / 1e9:.1f} GB free"
    if not os.access(existing, os.W_OK):
        return DoctorFinding("data directory", str(folder), "not writable: choose another --data-dir", good=False)
    return DoctorFinding("data directory", str(folder), free if folder.exists() else f"not created yet; {free}")


def _index(settings: Settings, embedder: Embedder) -> list[DoctorFinding]:
    try:
        with closing(make_generations(settings)) as generations:
            generation = generations.open(embedder.fingerprint)
            manifest, count = generation.manifest, generation.index.count()
            generation.close()
    except GlossatorError as error:
        return [DoctorFinding("index", error.message, error.remedy, good=False)]
    complete = count == manifest.chunks
    state = "complete" if complete else f"{manifest.chunks} chunks expected: run `glossator ingest` again"
    return [
        DoctorFinding("generation", str(manifest.generation), f"created {manifest.created_at}"),
        DoctorFinding("index", f"{manifest.documents} documents, {count} chunks", state, good=complete),
        *(_source(source.summary) for source in manifest.sources),
        *_languages(manifest.sources, embedder),
    ]
