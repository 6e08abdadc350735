"""All errors, in one tree.

GlossatorError
├── BadInput                      the caller can fix it
│   ├── SourceError               a path, file or URL cannot be ingested
│   │   ├── FetchRefused          a URL that must not, or cannot usefully, be fetched
│   │   └── SourceUnreachable     a site or repository does not respond
│   ├── QuestionError             an empty, oversized or malformed question or selection
│   │   └── UnknownVersion        the book has no version with this name
│   ├── ReceiptNotFound           no answer has this receipt id
│   ├── InvalidSessionId          a malformed session id
│   ├── SessionNotFound           this user has no conversation with this id
│   ├── BookNotFound              no book has this name
│   ├── IdempotencyKeyReused      the idempotency key belongs to a different request
│   └── SettingsError             a setting has an invalid value
├── IndexUnavailable              the index cannot be searched
│   ├── IndexNotFound             nothing has been ingested yet
│   ├── IndexMismatch             built with another embedding model
│   └── IndexCorrupted            files are missing or unreadable
├── StorageError                  the data directory cannot be written
│   ├── IngestRunning             another ingest holds the lock
│   └── KeyFileUnreadable         the file of API keys cannot be read
├── Unauthorized                  no API key, or no valid one
├── Forbidden                     the caller lacks a scope
├── AddressUnavailable            the server cannot listen on its address
├── LanguageModelUnavailable      no language model responds
├── RecordsError                  conversations and receipts cannot be read or stored
│   ├── DatabaseUnavailable       the database is unreachable, locked or full
│   ├── ConversationBusy          too many turns are waiting for this conversation
│   └── ConversationChanged       deleted, or continued by another turn
├── ParserUnavailable             no child process can be started to parse files
├── ReaderUnavailable             the reader model is missing or damaged
└── EmbeddingModelUnavailable     the embedding model is missing, altered or unreachable
    └── EmbeddingRequestRejected  the embedding model works, but rejects this request
"""

from __future__ import annotations


class GlossatorError(Exception):
    """Base of all errors: `message` says what happened, `remedy` what to do about it."""

    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class BadInput(GlossatorError):
    """Invalid input."""

    exit_code = 2


class SourceError(BadInput):
    """A path, file or URL cannot be ingested."""

    exit_code = 3


class FetchRefused(SourceError):
    """A URL that must not, or cannot usefully, be fetched."""


class SourceUnreachable(SourceError):
    """A site or repository does not respond; the index stays as it is."""


class QuestionError(BadInput):
    """A question or selection is empty, too long or malformed."""


class UnknownVersion(QuestionError):
    """The book has no version with this name."""


class ReceiptNotFound(BadInput):
    """No answer has this receipt id."""


class InvalidSessionId(BadInput):
    """Malformed session id."""


class SessionNotFound(BadInput):
    """This user has no conversation with this id."""


class BookNotFound(BadInput):
    """No book has this name."""


class IdempotencyKeyReused(BadInput):
    """The idempotency key belongs to a different request."""


class SettingsError(BadInput):
    """A setting has an invalid value."""


class IndexUnavailable(GlossatorError):
    """The index cannot be searched."""

    exit_code = 4


class IndexNotFound(IndexUnavailable):
    """Nothing has been ingested yet."""


class IndexMismatch(IndexUnavailable):
    """The index was built with another embedding model."""


class IndexCorrupted(IndexUnavailable):
    """Files of the index are missing or unreadable."""


class StorageError(GlossatorError):
    """The data directory cannot be written."""

    exit_code = 5


class IngestRunning(StorageError):
    """Another ingest holds the lock."""


class KeyFileUnreadable(StorageError):
    """The file of API keys cannot be read."""


class Unauthorized(GlossatorError):
    """Missing or invalid API key; the response does not say which part was wrong."""


class Forbidden(GlossatorError):
    """The caller is authenticated but lacks a scope."""


class AddressUnavailable(GlossatorError):
    """The server cannot listen on its address."""


class LanguageModelUnavailable(GlossatorError):
    """No language model responds, and there is nothing to quote instead."""

    exit_code = 8


class RecordsError(GlossatorError):
    """Conversations and receipts cannot be read or stored."""

    exit_code = 7


class DatabaseUnavailable(RecordsError):
    """The database is unreachable, locked or full."""


class ConversationBusy(RecordsError):
    """Too many turns are waiting for this conversation."""


class ConversationChanged(RecordsError):
    """The conversation was deleted, or continued by another turn."""


class ParserUnavailable(GlossatorError):
    """No child process can be started to parse files."""


class ReaderUnavailable(GlossatorError):
    """The reader model is missing or damaged."""


class EmbeddingModelUnavailable(GlossatorError):
    """The embedding model is missing, altered or unreachable."""

    exit_code = 6


class EmbeddingRequestRejected(EmbeddingModelUnavailable):
    """The embedding model works, but rejects this request."""
