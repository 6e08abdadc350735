"""Generations on a Qdrant server: each has its own collections, and an alias names the current one."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

from qdrant_client import models

from glossator.core.book.manifest import Manifest
from glossator.core.errors import GlossatorError, IndexCorrupted, IngestRunning, StorageError
from glossator.core.ports import Generation, GenerationContents, no_check
from glossator.store.index.manifest import dump_manifest
from glossator.store.index.qdrant.collections import (
    GenerationCollections,
    create_chunks,
    create_plain,
    create_state,
    point_id,
)
from glossator.store.index.qdrant.documents import QdrantDocuments
from glossator.store.index.qdrant.index import QdrantIndex
from glossator.store.index.qdrant.server import QdrantServer
from glossator.store.index.qdrant.writer import write_generation
from glossator.store.index.shared import SharedGenerations, book_names

_STATE_SUFFIX = "_state"
_STATE = 1
"""The id of the point that holds the lock, the last number and an unfinished build."""
_NO_STATE = {"last": 0, "owner": "", "expires": 0.0, "building": 0, "building_manifest": ""}
_STRONG = models.WriteOrdering.STRONG


class QdrantGenerations(SharedGenerations):
    """The generations of one index on a server."""

    def __init__(self, server: QdrantServer) -> None:
        super().__init__()
        self._server, self._name, self._times = server, server.options.name, server.times
        self.place = server.place
        self._owner = ""

    def books(self) -> list[str]:
        """The names of the books whose collections are beside these."""
        existing = self._server.read(lambda client: client.get_collections()).collections
        states = (each.name.removesuffix(_STATE_SUFFIX) for each in existing if each.name.endswith(_STATE_SUFFIX))
        return book_names(states, f"{self._name}-")

    def next_number(self) -> int:
        """A number higher than that of any generation; an unfinished build gets its number again."""
        state, current = self._state(), self._current.refresh() or 0
        # After a switch whose writer died before it could note it, `building` is the generation that is served.
        building = int(state["building"])
        return building if building > current else max(int(state["last"]), current) + 1

    @contextmanager
    def ingest_lock(self) -> Iterator[None]:
        """Hold a lease that lets one process ingest at a time; if the process dies, it expires."""
        self._create_state()
        owner, stop = secrets.token_hex(8), Event()
        if not self._acquire(owner):
            raise IngestRunning(
                f"Another ingest is writing to {self.place}.",
                f"Wait until it has finished, or {self._times.lease_seconds:.0f} seconds if it was killed.",
            )
        self._owner = owner
        Thread(target=self._renew, args=(owner, stop), daemon=True).start()
        try:
            yield
        finally:
            stop.set()
            self._owner = ""
            with suppress(GlossatorError):  # then it expires
                self._update({"owner": "", "expires": 0.0}, _has_owner(owner))

    def build(
        self, manifest: Manifest, contents: GenerationContents, check: Callable[[Generation], None] = no_check
    ) -> None:
        """Write a generation into its own collections, then make it the current one.

        After a failure the collections stay, and the next build of the same contents continues with them.
        """
        self._begin(manifest)
        collections = self._collections(manifest.generation)
        write_generation(self._server, collections, manifest, contents, self._image_reader(contents.image))
        self._check_and_switch(manifest, check)
        self._update({"last": manifest.generation, "building": 0, "building_manifest": ""})
        self._delete_old()

    def clear(self) -> None:
        """Delete the index: nothing is left to search."""
        self._check_lock()
        if self._current.refresh() is not None:
            self._server.write(lambda client: client.update_collection_aliases([self._delete_alias()]))
        self._current.refresh()
        for number in self._numbers():
            self._drop(number)

    def drop_all(self) -> None:
        """Delete everything that this index has on the server."""
        if self._read_current() is not None:
            self._server.write(lambda client: client.update_collection_aliases([self._delete_alias()]))
        for number in self._numbers():
            self._drop(number)
        self._server.write(lambda client: client.delete_collection(self._state_name))

    def close(self) -> None:
        """Stop reading the current number; the next call starts again."""
        self._current.close()
        self._server.close()

    def _read_current(self) -> int | None:
        aliases = self._server.read(lambda client: client.get_aliases()).aliases
        named = next((alias.collection_name for alias in aliases if alias.alias_name == self._name), None)
        return int(named.rpartition("_")[2]) if named else None

    def _read_manifest(self, number: int) -> str | None:
        name = self._collections(number).documents
        found = self._server.read(lambda client: client.retrieve(name, [point_id("manifest")]))
        return str((found[0].payload or {})["manifest"]) if found else None

    def _load(self, manifest: Manifest) -> Generation:
        collections = self._collections(manifest.generation)
        documents = QdrantDocuments(self._server, collections, manifest)
        return Generation(manifest, QdrantIndex(self._server, collections, manifest, documents), documents)

    def _begin(self, manifest: Manifest) -> None:
        """Create the collections of a generation, or continue an earlier attempt to build the same."""
        self._check_lock()
        state, number = self._state(), manifest.generation
        if state["building"] == number and self._is_attempt_at(manifest, str(state["building_manifest"])):
            return
        for unfinished in {int(state["building"]), number} - {0, self._current.refresh()}:
            self._drop(unfinished)
        collections = self._collections(number)
        create_plain(self._server, collections.documents)
        create_chunks(self._server, collections.chunks, manifest.dimension)
        self._update({"building": number, "building_manifest": dump_manifest(manifest)})

    def _switch(self, number: int) -> None:
        """Make a generation the current one: an alias is replaced in one step."""
        self._check_lock()
        previous = self._current.refresh()
        if previous is not None:
            replaced = models.PointStruct(id=point_id("replaced"), vector={}, payload={"at": time.time()})
            name = self._collections(previous).documents
            with suppress(IndexCorrupted):  # it is damaged: this build repairs it
                self._server.write(lambda client: client.upsert(name, [replaced], wait=True))
        create = models.CreateAliasOperation(
            create_alias=models.CreateAlias(collection_name=self._collections(number).chunks, alias_name=self._name)
        )
        changes: list[models.CreateAliasOperation | models.DeleteAliasOperation] = [create]
        if previous is not None:
            changes.insert(0, self._delete_alias())
        self._server.write(lambda client: client.update_collection_aliases(changes))
        self._current.refresh()

    def _delete_alias(self) -> models.DeleteAliasOperation:
        return models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=self._name))

    def _delete_old(self) -> None:
        """Delete generations that no process can still be using; the previous one is kept."""
        replaced = self._replaced()
        for number in sorted(replaced, key=replaced.__getitem__)[:-1]:
            if replaced[number] < time.time() - self._times.retention_seconds:
                self._drop(number)

    def _previous(self) -> int | None:
        replaced = {number: at for number, at in self._replaced().items() if at}
        return max(replaced, key=replaced.__getitem__, default=None)

    def _replaced(self) -> dict[int, float]:
        """When each generation but the current one was replaced; 0 if it never served."""
        current = self._current.refresh()
        return {number: self._replaced_at(number) for number in self._numbers() if number != current}

    def _replaced_at(self, number: int) -> float:
        name = self._collections(number).documents
        with suppress(IndexCorrupted):
            found = self._server.read(lambda client: client.retrieve(name, [point_id("replaced")]))
            return float((found[0].payload or {})["at"]) if found else 0.0
        return 0.0

    def _drop(self, number: int) -> None:
        collections = self._collections(number)
        self._server.write(lambda client: client.delete_collection(collections.chunks))
        self._server.write(lambda client: client.delete_collection(collections.documents))

    def _numbers(self) -> list[int]:
        """All generations that have a collection, finished or not."""
        existing = self._server.read(lambda client: client.get_collections()).collections
        pattern = re.compile(rf"{re.escape(self._name)}_([0-9]+)(?:_documents)?")
        return sorted({int(found[1]) for each in existing if (found := pattern.fullmatch(each.name))})

    def _collections(self, number: int) -> GenerationCollections:
        return GenerationCollections(self._name, number)

    @property
    def _state_name(self) -> str:
        return f"{self._name}{_STATE_SUFFIX}"

    def _create_state(self) -> None:
        create_state(self._server, self._state_name)
        if not self._server.write(lambda client: client.retrieve(self._state_name, [_STATE])):
            state = models.PointStruct(id=_STATE, vector={}, payload=_NO_STATE)
            self._server.write(lambda client: client.upsert(self._state_name, [state], wait=True))

    def _state(self) -> dict[str, Any]:
        found = self._server.write(lambda client: client.retrieve(self._state_name, [_STATE]))
        return _NO_STATE | ((found[0].payload or {}) if found else {})

    def _update(self, values: dict[str, Any], condition: list[Any] | None = None) -> None:
        """Change the state, if it meets the conditions: one request, which the server applies in order with others."""
        where = models.Filter(must=[models.HasIdCondition(has_id=[_STATE]), *(condition or [])])
        self._server.write(
            lambda client: client.set_payload(self._state_name, values, where, wait=True, ordering=_STRONG)
        )

    def _acquire(self, owner: str) -> bool:
        """Take the lock if nobody has it, or whoever had it has died."""
        expired = models.FieldCondition(key="expires", range=models.Range(lt=time.time()))
        self._update({"owner": owner, "expires": time.time() + self._times.lease_seconds}, [expired])
        return bool(self._state()["owner"] == owner)

    def _renew(self, owner: str, stop: Event) -> None:
        while not stop.wait(self._times.lease_seconds / 4):
            with suppress(GlossatorError):  # tried again; the lease lasts four times as long
                self._update({"expires": time.time() + self._times.lease_seconds}, _has_owner(owner))

    def _check_lock(self) -> None:
        if not self._owner or self._state()["owner"] != self._owner:
            raise StorageError("The ingest lock was lost.", "Run the command again.")


def _has_owner(owner: str) -> list[Any]:
    return [models.FieldCondition(key="owner", match=models.MatchValue(value=owner))]
