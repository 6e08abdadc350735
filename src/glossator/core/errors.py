"""Everything that can go wrong, in one tree.

GlossatorError
├── BadInput                 the caller can mend it
│   ├── SourceError          a path or file to ingest cannot be used
│   ├── QuestionError        an empty, oversized or malformed question or selection
│   ├── ReceiptNotFound      no answer had this id
│   ├── SessionIdError       a session id that is none
│   ├── SessionNotFound      no conversation has this id, for this user
│   ├── RequestKeyReused     an idempotency key that named another request
│   └── SettingsError        a setting has a value that cannot work
├── IndexProblem             the index cannot serve
│   ├── NoIndex              nothing has been ingested yet
│   ├── IndexMismatch        made by another embedding model
│   └── IndexDamaged         files are missing or unreadable
├── StorageProblem           the data directory cannot be written
│   ├── IngestRunning        another ingest holds the lock
│   └── KeysDamaged          the file of API keys cannot be read
├── Unauthorized             no key, or none that is valid here
├── Forbidden                the caller is known, but lacks a scope
├── LanguageModelDown        no language model answers
├── RecordsProblem           the records of conversations
│   ├── RecordsDown          the database cannot be reached, is locked or is full
│   ├── ConversationBusy     too many turns wait for this conversation
│   └── TurnLost             the conversation was deleted, or went on without this turn
└── ModelProblem             the embedding model is missing, altered or cannot be reached
"""

from __future__ import annotations


class GlossatorError(Exception):
    """Base of all errors: `message` says what happened, `remedy` what to do."""

    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class BadInput(GlossatorError):
    """The caller gave something that cannot be used."""

    exit_code = 2


class SourceError(BadInput):
    """A path or file to ingest cannot be used."""

    exit_code = 3


class QuestionError(BadInput):
    """A question or selection is empty, too long or malformed."""


class ReceiptNotFound(BadInput):
    """No answer had this id."""


class SessionIdError(BadInput):
    """A session id that is none."""


class SessionNotFound(BadInput):
    """No conversation has this id, for this user."""


class RequestKeyReused(BadInput):
    """An idempotency key that named another request."""


class SettingsError(BadInput):
    """A setting has a value that cannot work."""


class IndexProblem(GlossatorError):
    """The index cannot serve."""

    exit_code = 4


class NoIndex(IndexProblem):
    """Nothing has been ingested yet."""


class IndexMismatch(IndexProblem):
    """The index was made by another embedding model."""


class IndexDamaged(IndexProblem):
    """Files of the index are missing or unreadable."""


class StorageProblem(GlossatorError):
    """The data directory cannot be written."""

    exit_code = 5


class IngestRunning(StorageProblem):
    """Another ingest holds the lock."""


class KeysDamaged(StorageProblem):
    """The file of keys cannot be read."""


class Unauthorized(GlossatorError):
    """No key, or none that is valid here; never says which part of it was wrong."""


class Forbidden(GlossatorError):
    """The caller is known, but lacks a scope."""


class LanguageModelDown(GlossatorError):
    """No language model answers; the book's own sentences still do."""

    exit_code = 8


class RecordsProblem(GlossatorError):
    """The records of conversations."""

    exit_code = 7


class RecordsDown(RecordsProblem):
    """The database cannot be reached, is locked or is full."""


class ConversationBusy(RecordsProblem):
    """Too many turns wait for this conversation."""


class TurnLost(RecordsProblem):
    """The conversation was deleted, or went on without this turn."""


class ModelProblem(GlossatorError):
    """The embedding model is missing or altered."""

    exit_code = 6
