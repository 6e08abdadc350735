"""The context of a request: its id, its caller, its timings and how it ended."""

from __future__ import annotations

import time
import uuid
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import HTTPConnection

from glossator.core.timing import StageTimes
from glossator.serve.auth.callers import ANYONE, Caller

_SCOPE_KEY = "glossator.context"


@dataclass(slots=True)
class RequestContext:
    """One request; `error_code` is the code of the error it was answered with, if any."""

    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    started: float = field(default_factory=time.perf_counter)
    times: StageTimes = field(default_factory=dict)
    caller: Caller = ANYONE
    error_code: str = ""

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def attach(self, scope: MutableMapping[str, Any]) -> None:
        """Make this the context of the request with this ASGI scope."""
        scope[_SCOPE_KEY] = self


def context_of(request: HTTPConnection) -> RequestContext:
    """The context of a request."""
    context = request.scope[_SCOPE_KEY]
    assert isinstance(context, RequestContext)  # noqa: S101 - attached by RequestMiddleware, the outermost
    return context
