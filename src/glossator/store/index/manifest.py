"""Manifests as JSON: written with a generation, and read with a clear error if they cannot be used."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from glossator.core.book.addresses import Mount
from glossator.core.book.manifest import FORMAT, Manifest, SourceRecord
from glossator.core.book.versions import BookVersion
from glossator.core.errors import IndexCorrupted, IndexMismatch


def dump_manifest(manifest: Manifest) -> str:
    """A manifest as JSON."""
    return json.dumps(asdict(manifest), indent=1)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a generation that this version can search."""
    return searchable(parse_manifest(folder))


def parse_manifest(folder: Path) -> Manifest:
    """The manifest of a generation, also of one that another version built."""
    try:
        return manifest_from((folder / "manifest.json").read_text("utf-8"), str(folder))
    except (OSError, ValueError):
        raise _incomplete(str(folder)) from None


def manifest_from(text: str, place: str) -> Manifest:
    """A manifest from its JSON; `place` is for the error."""
    try:
        values = json.loads(text)
        sources = tuple(_source_record(source) for source in values["sources"])
        return Manifest(**_known(Manifest, values) | {"sources": sources})
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _incomplete(place) from None


def searchable(manifest: Manifest, fingerprint: str | None = None) -> Manifest:
    """The manifest, if this version can search its generation, with the embedder of this fingerprint if given."""
    if manifest.format != FORMAT:
        raise IndexMismatch("The index was built by another version of Glossator.", "Run `glossator ingest` again.")
    if fingerprint is not None and manifest.fingerprint != fingerprint:
        raise IndexMismatch(
            f"The index was built with {manifest.fingerprint}, but {fingerprint} is configured.",
            "Run `glossator ingest` again, or set GLOSSATOR_EMBEDDER back.",
        )
    return manifest


def _incomplete(place: str) -> IndexCorrupted:
    return IndexCorrupted(f"The index in {place} is incomplete.", "Run `glossator ingest` again.")


def _source_record(values: dict[str, Any]) -> SourceRecord:
    """A source of this or another version: what that version did not know has its default."""
    mount = {"mount": Mount(**values["mount"])} if "mount" in values else {}
    versions = tuple(BookVersion(v["name"], v["path"], tuple(v["aliases"])) for v in values.get("versions", ()))
    return SourceRecord(**_known(SourceRecord, values) | mount | {"versions": versions})


def _known(kind: type[Manifest | SourceRecord], values: dict[str, Any]) -> dict[str, Any]:
    known = {field.name: values[field.name] for field in fields(kind) if field.name in values}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}
