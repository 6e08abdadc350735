"""What is known of a request while it is served: its id, its times, who sent it."""

from __future__ import annotations

import time
import uuid
from collections.abc import MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import HTTPConnection

from glossator.core.timing import Times
from glossator.serve.auth.keys import Caller, Scope

current_id: ContextVar[str] = ContextVar("request_id", default="")
"""The request that a log line belongs to."""
ANYBODY = Caller("open", None, frozenset(Scope))
_KEY = "glossator.context"


@dataclass(slots=True)
class Context:
    """One request; `problem` is the code of the error that it was answered with."""

    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    started: float = field(default_factory=time.perf_counter)
    times: Times = field(default_factory=dict)
    caller: Caller = ANYBODY
    problem: str = ""

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def put(self, scope: MutableMapping[str, Any]) -> None:
        scope[_KEY] = self


def context_of(request: HTTPConnection) -> Context:
    """The context of a request."""
    found = request.scope[_KEY]
    assert isinstance(found, Context)  # noqa: S101 - the outermost middleware put it there
    return found
