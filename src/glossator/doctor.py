"""What is active and why: the settings, the model, the index."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

from glossator.core.errors import GlossatorError
from glossator.core.settings import Settings
from glossator.parts import make_embedder
from glossator.store.generations import Generations


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    topic: str
    value: str
    why: str
    good: bool = True


def examine(settings: Settings) -> list[Finding]:
    """Look at everything that an answer needs."""
    findings = [_data_dir(settings)]
    fingerprint = ""
    try:
        embedder = make_embedder(settings)
        fingerprint = embedder.fingerprint
        length = len(embedder.embed_query("doctor").vector)
        reason = "GLOSSATOR_EMBEDDER is not set" if settings.embedder == "local" else "set by GLOSSATOR_EMBEDDER"
        findings.append(Finding("embeddings", f"{fingerprint}, {length} dimensions", f"{reason}; it embeds"))
    except GlossatorError as error:
        findings.append(Finding("embeddings", error.message, error.remedy, good=False))
    findings += _index(settings, fingerprint)
    findings.append(Finding("answers", "extractive: the book's own sentences", "no language model is configured"))
    findings.append(Finding("storage", "Qdrant Edge and SQLite in the data directory", "no server is configured"))
    return findings


def _data_dir(settings: Settings) -> Finding:
    folder = settings.data_dir.resolve()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = f"{shutil.disk_usage(existing).free / 1e9:.1f} GB free"
    if not os.access(existing, os.W_OK):
        return Finding("data directory", str(folder), "it cannot be written: choose another --data-dir", good=False)
    return Finding("data directory", str(folder), free if folder.exists() else f"not made yet; {free}")


def _index(settings: Settings, fingerprint: str) -> list[Finding]:
    generations = Generations(settings.data_dir)
    try:
        generation = generations.open(fingerprint)
    except GlossatorError as error:
        return [Finding("index", error.message, error.remedy, good=False)]
    try:
        manifest = generation.manifest
        count = generation.index.count()
        findings = [
            Finding("generation", str(manifest.generation), f"made {manifest.created_at}"),
            Finding(
                "index", f"{manifest.documents} documents, {count} chunks", "it opens", good=count == manifest.chunks
            ),
        ]
        findings += [Finding("source", s.root, f"{s.layout}, {len(s.documents)} documents") for s in manifest.sources]
        return findings
    finally:
        generation.close()
