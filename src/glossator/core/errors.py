"""Everything that can go wrong, in one tree.

GlossatorError
├── BadInput                 the caller can mend it
│   ├── SourceError          a path or file to ingest cannot be used
│   ├── QuestionError        an empty, oversized or malformed question or selection
│   ├── ReceiptNotFound      no answer had this id
│   └── SettingsError        a setting has a value that cannot work
├── IndexProblem             the index cannot serve
│   ├── NoIndex              nothing has been ingested yet
│   ├── IndexMismatch        made by another embedding model
│   └── IndexDamaged         files are missing or unreadable
├── StorageProblem           the data directory cannot be written
│   └── IngestRunning        another ingest holds the lock
└── ModelProblem             the embedding model is missing or altered
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


class ModelProblem(GlossatorError):
    """The embedding model is missing or altered."""

    exit_code = 6
