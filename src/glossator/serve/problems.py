"""What went wrong, as a value that every door tells in its own shape; one table from error class to status."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from glossator.core.errors import (
    BadInput,
    ConversationBusy,
    Forbidden,
    GlossatorError,
    IndexDamaged,
    IndexMismatch,
    IndexProblem,
    LanguageModelDown,
    ModelProblem,
    NoIndex,
    QuestionError,
    ReceiptNotFound,
    RecordsProblem,
    RequestKeyReused,
    SessionIdError,
    SessionNotFound,
    SettingsError,
    StorageProblem,
    TurnLost,
    Unauthorized,
)

_LATER = "Something that this needs is not available now. Try again."
_REBUILD = "Run `glossator ingest` again."


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as it is answered; `details` are for developers, and sent to nobody else."""

    status: int
    code: str
    message: str
    request_id: str = ""
    session_id: str | None = None
    details: str | None = None
    retry_after: int | None = None

    @property
    def name(self) -> str:
        """The code as the doors write it that have names in place of codes."""
        return _NAMES.get(self.code, self.code.lower())


@dataclass(frozen=True, slots=True)
class _Kind:
    status: int
    code: str
    public: str = ""
    """What is told in place of the error's own words, where those may hold a path or an address."""
    retry_after: int | None = None


class Refused(GlossatorError):
    """A request that is not even looked at."""

    def __init__(
        self, status: HTTPStatus, code: str, message: str, remedy: str = "", retry_after: int | None = None
    ) -> None:
        super().__init__(message, remedy)
        self.status, self.code, self.retry_after = status, code, retry_after


VALIDATION = "VALIDATION_ERROR"
_NAMES = {"QDRANT_UNAVAILABLE": "retrieval_error", "GEMINI_UNAVAILABLE": "generation_error"}
_KINDS: dict[type[GlossatorError], _Kind] = {
    SettingsError: _Kind(500, "INTERNAL_ERROR", "Something went wrong."),
    QuestionError: _Kind(400, VALIDATION),
    SessionIdError: _Kind(400, "INVALID_SESSION_ID"),
    BadInput: _Kind(400, VALIDATION),
    Unauthorized: _Kind(401, "UNAUTHORIZED"),
    Forbidden: _Kind(403, "FORBIDDEN"),
    SessionNotFound: _Kind(404, "SESSION_NOT_FOUND"),
    ReceiptNotFound: _Kind(404, "RECEIPT_NOT_FOUND"),
    RequestKeyReused: _Kind(409, "IDEMPOTENCY_KEY_REUSED"),
    TurnLost: _Kind(409, "CONVERSATION_CHANGED"),
    ConversationBusy: _Kind(429, "CONVERSATION_BUSY", "", 2),
    NoIndex: _Kind(
        503, "QDRANT_UNAVAILABLE", "Nothing has been ingested yet. Run `glossator ingest FOLDER` first.", 30
    ),
    IndexMismatch: _Kind(
        503, "QDRANT_UNAVAILABLE", f"The index was made by another version or embedding model. {_REBUILD}", 30
    ),
    IndexDamaged: _Kind(503, "QDRANT_UNAVAILABLE", f"The index cannot be read. {_REBUILD}", 30),
    IndexProblem: _Kind(503, "QDRANT_UNAVAILABLE", _LATER, 5),
    LanguageModelDown: _Kind(503, "GEMINI_UNAVAILABLE", _LATER, 5),
    ModelProblem: _Kind(503, "SERVICE_UNAVAILABLE", _LATER, 5),
    RecordsProblem: _Kind(503, "SERVICE_UNAVAILABLE", _LATER, 5),
    StorageProblem: _Kind(503, "SERVICE_UNAVAILABLE", _LATER, 30),
    GlossatorError: _Kind(500, "INTERNAL_ERROR", "Something went wrong."),
}
STATUSES = (400, 401, 403, 404, 405, 408, 409, 413, 415, 429, 431, 500, 503, 504)


def problem_of(error: Exception) -> Problem:
    """The answer to an error of any kind."""
    if isinstance(error, Refused):
        return Problem(error.status, error.code, str(error), retry_after=error.retry_after)
    if not isinstance(error, GlossatorError):
        return Problem(500, "INTERNAL_ERROR", "Something went wrong.", details=type(error).__name__)
    kind = next(_KINDS[cls] for cls in type(error).__mro__ if cls in _KINDS)
    details = f"{type(error).__name__}: {error}" if kind.public else None
    return Problem(kind.status, kind.code, kind.public or str(error), details=details, retry_after=kind.retry_after)


_REFUSED = (
    (404, "NOT_FOUND", "no such page or model"),
    (405, "METHOD_NOT_ALLOWED", "another method; `Allow` names those there are"),
    (408, "REQUEST_TIMEOUT", "the body did not come in time"),
    (409, "STREAM_LOST", "a stream cannot go on where it stopped (as an event)"),
    (413, "PAYLOAD_TOO_LARGE", "the body is too large"),
    (415, "UNSUPPORTED_MEDIA_TYPE", "the body is not sent as JSON"),
    (429, "RATE_LIMITED", "too many requests of one client"),
    (429, "OVERLOADED", "too many requests at once"),
    (500, "INTERNAL_ERROR", "a fault of ours"),
    (504, "TIMEOUT", "the request took too long"),
)


def kinds() -> list[tuple[int, str, str]]:
    """Every status with its code and when it comes, for the docs."""
    own = [(kind.status, kind.code, " ".join((cls.__doc__ or "").split())) for cls, kind in _KINDS.items()]
    known = sorted({(status, code): when for status, code, when in [*own, *_REFUSED]}.items())
    return [(status, code, when.rstrip(".")) for (status, code), when in known]


def http_problem(status: int) -> Problem:
    """An error of HTTP itself: no such page, no such method."""
    known = HTTPStatus(status)
    code = VALIDATION if status == HTTPStatus.BAD_REQUEST else known.phrase.upper().replace(" ", "_").replace("-", "_")
    return Problem(status, code, f"{known.phrase}.")


def invalid(errors: list[Any], codes: dict[tuple[str, str], str]) -> Problem:
    """A body or query that breaks its model; `codes` name what a door has a code for, by field and kind of error."""
    first = errors[0]
    place = [str(part) for part in first["loc"][1:]]
    field = place[0] if place else ""
    code = codes.get((field, str(first["type"])), codes.get((field, ""), VALIDATION))
    words = str(first["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return Problem(400, code, f"{'.'.join(place)}: {words}" if place else words)
