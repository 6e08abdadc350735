"""Errors as HTTP problems: one table from error class to status and code; each door renders them in its own shape."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from glossator.core.errors import (
    BadInput,
    BookNotFound,
    ConversationBusy,
    ConversationChanged,
    EmbeddingModelUnavailable,
    Forbidden,
    GlossatorError,
    IdempotencyKeyReused,
    IndexCorrupted,
    IndexMismatch,
    IndexNotFound,
    IndexUnavailable,
    IngestRunning,
    InvalidSessionId,
    LanguageModelUnavailable,
    ParserUnavailable,
    QuestionError,
    ReaderUnavailable,
    ReceiptNotFound,
    RecordsError,
    SessionNotFound,
    SettingsError,
    StorageError,
    Unauthorized,
)

_TRY_LATER = "A required service is temporarily unavailable. Try again later."
_REBUILD = "Run `glossator ingest` again."


@dataclass(frozen=True, slots=True)
class Problem:
    """An error to send to a client; `details` are sent in development mode only."""

    status: int
    code: str
    message: str
    request_id: str = ""
    session_id: str | None = None
    details: str | None = None
    retry_after: int | None = None

    @property
    def name(self) -> str:
        """The lower-case name that some doors send instead of the code."""
        return _NAMES.get(self.code, self.code.lower())


@dataclass(frozen=True, slots=True)
class _ProblemType:
    status: int
    code: str
    public_message: str = ""
    """Replaces the error's own message where that may contain a path or an address."""
    retry_after: int | None = None


class RequestRejected(GlossatorError):
    """A request that is rejected before it is processed."""

    def __init__(
        self, status: HTTPStatus, code: str, message: str, remedy: str = "", retry_after: int | None = None
    ) -> None:
        super().__init__(message, remedy)
        self.status, self.code, self.retry_after = status, code, retry_after


VALIDATION_ERROR = "VALIDATION_ERROR"
INTERNAL_ERROR = "INTERNAL_ERROR"
_INTERNAL_MESSAGE = "Something went wrong."
_NAMES = {"QDRANT_UNAVAILABLE": "retrieval_error", "GEMINI_UNAVAILABLE": "generation_error"}
_PROBLEM_TYPES: dict[type[GlossatorError], _ProblemType] = {
    SettingsError: _ProblemType(500, INTERNAL_ERROR, _INTERNAL_MESSAGE),
    QuestionError: _ProblemType(400, VALIDATION_ERROR),
    InvalidSessionId: _ProblemType(400, "INVALID_SESSION_ID"),
    BadInput: _ProblemType(400, VALIDATION_ERROR),
    Unauthorized: _ProblemType(401, "UNAUTHORIZED"),
    Forbidden: _ProblemType(403, "FORBIDDEN"),
    SessionNotFound: _ProblemType(404, "SESSION_NOT_FOUND"),
    BookNotFound: _ProblemType(404, "BOOK_NOT_FOUND"),
    ReceiptNotFound: _ProblemType(404, "RECEIPT_NOT_FOUND"),
    IdempotencyKeyReused: _ProblemType(409, "IDEMPOTENCY_KEY_REUSED"),
    ConversationChanged: _ProblemType(409, "CONVERSATION_CHANGED"),
    ConversationBusy: _ProblemType(429, "CONVERSATION_BUSY", "", 2),
    IndexNotFound: _ProblemType(
        503, "QDRANT_UNAVAILABLE", "Nothing has been ingested yet. Run `glossator ingest FOLDER` first.", 30
    ),
    IndexMismatch: _ProblemType(
        503, "QDRANT_UNAVAILABLE", f"The index was built by a different version or embedding model. {_REBUILD}", 30
    ),
    IndexCorrupted: _ProblemType(503, "QDRANT_UNAVAILABLE", f"The index cannot be read. {_REBUILD}", 30),
    IndexUnavailable: _ProblemType(503, "QDRANT_UNAVAILABLE", _TRY_LATER, 5),
    LanguageModelUnavailable: _ProblemType(
        503, "GEMINI_UNAVAILABLE", "The language model is unavailable. Try again later.", 5
    ),
    EmbeddingModelUnavailable: _ProblemType(
        503, "SERVICE_UNAVAILABLE", "The embedding model is unavailable. Try again later.", 5
    ),
    ParserUnavailable: _ProblemType(503, "SERVICE_UNAVAILABLE", _TRY_LATER, 30),
    ReaderUnavailable: _ProblemType(503, "SERVICE_UNAVAILABLE", _TRY_LATER, 30),
    RecordsError: _ProblemType(503, "SERVICE_UNAVAILABLE", _TRY_LATER, 5),
    IngestRunning: _ProblemType(
        409, "INGEST_RUNNING", "Another ingest is running. Try again when it has finished.", 30
    ),
    StorageError: _ProblemType(503, "SERVICE_UNAVAILABLE", _TRY_LATER, 30),
    GlossatorError: _ProblemType(500, INTERNAL_ERROR, _INTERNAL_MESSAGE),
}
STATUSES = (400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 429, 431, 500, 503, 504)


def problem_from(error: Exception) -> Problem:
    """The problem that an exception is reported as."""
    if isinstance(error, RequestRejected):
        return Problem(error.status, error.code, str(error), retry_after=error.retry_after)
    if isinstance(error, MemoryError):
        return Problem(503, "SERVICE_UNAVAILABLE", _TRY_LATER, retry_after=5)
    if not isinstance(error, GlossatorError):
        return Problem(500, INTERNAL_ERROR, _INTERNAL_MESSAGE, details=type(error).__name__)
    problem_type = next(_PROBLEM_TYPES[cls] for cls in type(error).__mro__ if cls in _PROBLEM_TYPES)
    details = f"{type(error).__name__}: {error}" if problem_type.public_message else None
    return Problem(
        problem_type.status,
        problem_type.code,
        problem_type.public_message or str(error),
        details=details,
        retry_after=problem_type.retry_after,
    )


_OTHER_PROBLEMS = (
    (404, "NOT_FOUND", "No such route or model"),
    (404, "JOB_NOT_FOUND", "No such ingest job on this host"),
    (405, "METHOD_NOT_ALLOWED", "The route does not support this method; the `Allow` header lists those it does"),
    (408, "REQUEST_TIMEOUT", "The request body did not arrive in time"),
    (409, "STREAM_LOST", "A stream cannot be resumed (sent as an event)"),
    (413, "PAYLOAD_TOO_LARGE", "The request body is too large"),
    (415, "UNSUPPORTED_MEDIA_TYPE", "The request body is not sent as JSON, or is compressed"),
    (421, "MISDIRECTED_REQUEST", "The `Host` header is not a name of this server"),
    (429, "RATE_LIMITED", "Too many requests from one client, or too many without a valid key"),
    (429, "OVERLOADED", "Too many requests at once"),
    (431, "REQUEST_HEADER_FIELDS_TOO_LARGE", "The request headers are too large"),
    (500, INTERNAL_ERROR, "A bug or misconfiguration of the server"),
    (501, "NOT_IMPLEMENTED", "An optional feature is not installed on this server"),
    (504, "TIMEOUT", "The request took too long"),
)


def error_table() -> list[tuple[int, str, str]]:
    """Every status with its code and its cause, for the docs."""
    rows = [(each.status, each.code, " ".join((cls.__doc__ or "").split())) for cls, each in _PROBLEM_TYPES.items()]
    known = sorted({(status, code): cause for status, code, cause in [*rows, *_OTHER_PROBLEMS]}.items())
    return [(status, code, cause.rstrip(".")) for (status, code), cause in known]


def http_problem(status: int) -> Problem:
    """An error of HTTP itself: unknown route, unsupported method."""
    phrase = HTTPStatus(status).phrase
    code = VALIDATION_ERROR if status == HTTPStatus.BAD_REQUEST else re.sub(r"[ -]", "_", phrase.upper())
    return Problem(status, code, f"{phrase}.")


_PHRASES = {
    "missing": "is required",
    "extra_forbidden": "is not a known field",
    "string_type": "must be a string",
    "string_unicode": "is not valid Unicode text",
    "string_too_short": "is too short (minimum length: {min_length})",
    "string_too_long": "is too long (maximum length: {max_length})",
    "string_pattern_mismatch": "must match {pattern}",
    "uuid_parsing": "must be a UUID",
    "uuid_type": "must be a UUID",
    "uuid_version": "must be a UUID of version {expected_version}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "is too large",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "too_short": "has too few items (minimum: {min_length})",
    "too_long": "has too many items (maximum: {max_length})",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
}
"""What is wrong with a field, by pydantic's error type and with its context: its own messages are for programmers."""
_TYPE = re.compile(r"constrained-\w+|\w+\[.*\]")
"""A part of pydantic's path that is not a field, but the type that it tried."""


def validation_problem(errors: list[Any], codes: dict[tuple[str, str], str]) -> Problem:
    """A body or query that does not match its model; `codes` are a door's own codes, by field and error type."""
    first = errors[0]
    path = [str(part) for part in first["loc"][1:] if not _TYPE.fullmatch(str(part))]
    field = path[0] if path else ""
    kind = "missing" if "input" in first and first["input"] is None else str(first["type"])
    code = codes.get((field, kind), codes.get((field, ""), VALIDATION_ERROR))
    name, known = ".".join(path), _PHRASES.get(kind)
    if known and name:
        return Problem(400, code, f"{name} {known.format_map(first.get('ctx', {}))}.")
    message = str(first["msg"]).removeprefix("Value error, ")
    is_own = kind == "value_error"  # our own messages name their field
    return Problem(400, code, f"{name}: {message}" if name and not is_own else message)
