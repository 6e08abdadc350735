"""Schemathesis over the OpenAPI document of a real server: no 500, no undocumented status, no broken schema."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode, Response
from schemathesis.schemas import BaseSchema

from app_server import running
from counters import Counters
from data_dirs import copy_data
from glossator.core.settings import Settings, load_settings
from glossator.serve.app import create_app
from glossator.serve.jobs.files import JobFiles

pytestmark = pytest.mark.slow

MAX_EXAMPLES = int(os.environ.get("GLOSSATOR_EXAMPLES", "25"))
MAX_RUNS, MAX_JOB_RUNS, MAX_STEPS = 20, 5, 5
EXCLUDED_CHECKS = ["positive_data_acceptance"]
"""Some invalid values (a blank question, a NUL) cannot be expressed in a JSON schema."""
SETTINGS: dict[str, Any] = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "phases": (Phase.explicit, Phase.generate),
    "suppress_health_check": list(HealthCheck),
}
DOCUMENT = create_app(Settings(data_dir=Path(gettempdir()) / "glossator-nothing")).openapi()
OPERATIONS = [(method.upper(), path) for path, found in DOCUMENT["paths"].items() for method in found]


@contextmanager
def serving_schema(data: Path) -> Iterator[BaseSchema]:
    """The document of a server that listens on loopback."""
    app = create_app(load_settings(data_dir=data, request_seconds=120))
    with running(app, ws="none") as address:
        found = schemathesis.openapi.from_url(f"{address}/openapi.json")
        found.config.checks.update(excluded_check_names=EXCLUDED_CHECKS)
        found.config.checks.negative_data_rejection.expected_statuses += ["413", "431"]
        yield found


@pytest.fixture(scope="module")
def api(data: Path) -> Iterator[BaseSchema]:
    with serving_schema(data) as found:
        yield found


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["valid", "invalid"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_route_conforms_to_its_schema(api: BaseSchema, method: str, path: str, mode: GenerationMode) -> None:
    operation = api[path][method]
    if mode is GenerationMode.NEGATIVE and not (operation.body or operation.query or path.endswith("session_id}")):
        pytest.skip("the operation has no parameters")

    @settings(max_examples=MAX_EXAMPLES, **SETTINGS)
    @given(case=operation.as_strategy(mode))
    def check(case: Case) -> None:
        case.call_and_validate()
        counters.tried += 1
        counters.checked += 1

    counters = Counters("any request (schemathesis)")
    check()
    counters.report()


def test_openapi_links_lead_to_the_session(api: BaseSchema) -> None:
    machine = api.exclude(path_regex="^/admin/").as_state_machine()
    machine.run(settings=settings(max_examples=MAX_RUNS, stateful_step_count=MAX_STEPS, **SETTINGS))


def test_openapi_links_lead_to_ingest_jobs(data: Path, fast_tmp_path: Path) -> None:
    own = copy_data(data, fast_tmp_path / "data")
    found: set[str] = set()
    with serving_schema(own) as api:

        class Jobs(api.include(path_regex="^/admin/").as_state_machine()):  # type: ignore[misc]
            """A run goes the same way when it is repeated: it begins without jobs, and waits for each of its own."""

            def setup(self) -> None:
                shutil.rmtree(own / "jobs", ignore_errors=True)

            def after_call(self, response: Response, case: Case) -> None:
                while JobFiles(own).running():
                    time.sleep(0.05)
                if response.status_code == HTTPStatus.OK:
                    found.add(case.operation.path)

        Jobs.run(settings=settings(max_examples=MAX_JOB_RUNS, stateful_step_count=MAX_STEPS, **SETTINGS))
    assert {"/admin/ingest", "/admin/ingest/{job_id}"} <= found
