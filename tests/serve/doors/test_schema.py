"""Schemathesis over the OpenAPI document of a real server: no 500, no undocumented status, no broken schema."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.schemas import BaseSchema

import doors
from glossator.core.settings import Settings, load_settings
from glossator.serve.app import create_app
from servers import PATIENT, running

data = doors.data
EXAMPLES = 25
WALKS, STEPS = 20, 5
LEFT_OUT = ["positive_data_acceptance"]
"""What no JSON schema can say (a question of white space alone, a NUL) is refused as well."""
BOUNDED: dict[str, Any] = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "phases": (Phase.explicit, Phase.generate),
    "suppress_health_check": list(HealthCheck),
}
DOCUMENT = create_app(Settings(data_dir=Path(gettempdir()) / "glossator-nothing")).openapi()
OPERATIONS = [(method.upper(), path) for path, found in DOCUMENT["paths"].items() for method in found]


@pytest.fixture(scope="module")
def api(data: Path) -> Iterator[BaseSchema]:
    """The document of a server that listens on loopback."""
    app = create_app(load_settings(data_dir=data, request_seconds=120))
    with running(app, http=PATIENT, ws="none") as address:
        found = schemathesis.openapi.from_url(f"{address}/openapi.json")
        found.config.checks.update(excluded_check_names=LEFT_OUT)
        found.config.checks.negative_data_rejection.expected_statuses += ["413", "431"]
        yield found


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["right", "wrong"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_route_keeps_its_word(api: BaseSchema, method: str, path: str, mode: GenerationMode) -> None:
    operation = api[path][method]
    if mode is GenerationMode.NEGATIVE and not (operation.body or operation.query or path.endswith("session_id}")):
        pytest.skip("there is nothing to get wrong")

    @settings(max_examples=EXAMPLES, **BOUNDED)
    @given(case=operation.as_strategy(mode))
    def holds(case: Case) -> None:
        case.call_and_validate()

    holds()


def test_conversations_can_be_followed(api: BaseSchema) -> None:
    machine = api.as_state_machine()
    machine.run(settings=settings(max_examples=WALKS, stateful_step_count=STEPS, **BOUNDED))
