"""What is active and why: the settings, the model, the index."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from glossator.answer.llm.providers import Provider, providers
from glossator.core.errors import GlossatorError
from glossator.core.settings import Settings
from glossator.pipeline.wiring import make_embedder, make_records, make_verifier
from glossator.store.index.generations import Generations

if TYPE_CHECKING:
    from glossator.store.records.record_store import Records


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    topic: str
    value: str
    why: str
    good: bool = True


def examine(settings: Settings, *, live: bool = False) -> list[Finding]:
    """Look at everything that an answer needs; live, every language model is asked something."""
    try:
        embedder = make_embedder(settings)
        length = len(embedder.embed_query("doctor").vector)
    except GlossatorError as error:
        model = Finding("embeddings", error.message, error.remedy, good=False)
        index = [Finding("index", "not looked at", "it opens only with its embedding model", good=False)]
    else:
        reason = "the default" if settings.embedder == "local" else "set by GLOSSATOR_EMBEDDER"
        model = Finding("embeddings", f"{embedder.fingerprint}, {length} dimensions", f"{reason}; it embeds")
        index = _index(settings, embedder.fingerprint)
    return [
        _data_dir(settings),
        model,
        *index,
        _checks(settings),
        *_answers(settings, live=live),
        Finding("storage", "Qdrant Edge in the data directory", "no server is configured"),
        _records(settings),
    ]


def _records(settings: Settings) -> Finding:
    """Whether conversations can be kept; nothing is made for the asking."""
    external = bool(settings.database_url.get_secret_value())
    why = "set by DATABASE_URL" if external else "DATABASE_URL is not set"
    try:
        records = make_records(settings)
        what = "SQLite" if records.database.is_sqlite else f"Postgres at {records.database.url.host}"
        if not external and not (settings.data_dir / "records.sqlite").exists():
            return Finding("records", f"{what} in the data directory, not made yet", why)
        revision = asyncio.run(_revision(records))
    except GlossatorError as error:
        return Finding("records", error.message, f"{error.remedy} ({why})", good=False)
    return Finding("records", f"{what}, tables at {revision}" if revision else f"{what}, without tables yet", why)


async def _revision(records: Records) -> str | None:
    try:
        return await records.database.revision()
    finally:
        await records.close()


def _answers(settings: Settings, *, live: bool) -> list[Finding]:
    try:
        chain = providers(settings)
    except GlossatorError as error:
        return [Finding("answers", error.message, error.remedy, good=False)]
    own = Finding("answers", "extractive: the book's own sentences", "no language model is configured")
    if not chain:
        return [own]
    if live:
        return [*asyncio.run(_tried(chain)), replace(own, why="when no language model answers")]
    order = " then ".join([*(provider.label for provider in chain), "extractive"])
    return [Finding("answers", order, "set by GLOSSATOR_LLM; `glossator doctor --live` tries them")]


async def _tried(chain: Sequence[Provider]) -> list[Finding]:
    """Each language model, asked for one word."""
    from glossator.answer.llm.chain import ask_once

    found = []
    for provider in chain:
        problem = await ask_once(provider)
        remedy = problem.replace("{key}", provider.key_variable or "the server") if problem else "it answers"
        found.append(Finding("answers", provider.label, remedy, good=not problem))
    return found


def _checks(settings: Settings) -> Finding:
    if make_verifier(settings).encoder is not None:
        return Finding("checks", "words and the token model", "it comes with the requirements")
    why = "set by GLOSSATOR_VERIFY_MODELS" if not settings.verify_models else "the token model is not installed"
    return Finding("checks", "words alone", why)


def _data_dir(settings: Settings) -> Finding:
    folder = settings.data_dir.resolve()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = f"{shutil.disk_usage(existing).free / 1e9:.1f} GB free"
    if not os.access(existing, os.W_OK):
        return Finding("data directory", str(folder), "it cannot be written: choose another --data-dir", good=False)
    return Finding("data directory", str(folder), free if folder.exists() else f"not made yet; {free}")


def _index(settings: Settings, fingerprint: str) -> list[Finding]:
    try:
        generation = Generations(settings.data_dir).open(fingerprint)
    except GlossatorError as error:
        return [Finding("index", error.message, error.remedy, good=False)]
    manifest, count = generation.manifest, generation.index.count()
    generation.close()
    whole = count == manifest.chunks
    state = "it opens" if whole else f"{manifest.chunks} were written: run `glossator ingest` again"
    return [
        Finding("generation", str(manifest.generation), f"made {manifest.created_at}"),
        Finding("index", f"{manifest.documents} documents, {count} chunks", state, good=whole),
        *(Finding("source", s.root, f"{s.layout}, {len(s.documents)} documents") for s in manifest.sources),
    ]
