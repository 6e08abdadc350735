"""Alert rules and dashboard: every metric and label exists at /metrics, and every alert has a runbook."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from glossator.core.answers import Mode, Status
from glossator.core.settings import load_settings
from glossator.serve.app import create_app
from paths import ROOT

PROMETHEUS = ROOT / "deploy" / "prometheus"
RULES = yaml.safe_load((PROMETHEUS / "alerts.yaml").read_text("utf-8"))["groups"][0]["rules"]
TESTS = yaml.safe_load((PROMETHEUS / "alerts-test.yaml").read_text("utf-8"))["tests"]
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "glossator.json").read_text("utf-8"))
_SUFFIXES = ("_total", "_bucket", "_count", "_sum")


def expressions() -> list[str]:
    panels = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    variables = [each["query"] for each in DASHBOARD["templating"]["list"] if each["type"] == "query"]
    series = [each["series"] for test in TESTS for each in test["input_series"]]
    return [rule["expr"] for rule in RULES] + panels + variables + series


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What /metrics declares, by name."""
    app = create_app(load_settings(data_dir=tmp_path_factory.mktemp("data")))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        text = client.get("/metrics").text
    return {family.name: family for family in text_string_to_metric_families(text)}


def exported(name: str, families: dict[str, Any]) -> bool:
    """Whether a series has this name; counters end with _total, and histograms have three series."""
    if name in families:
        return families[name].type == "gauge"
    suffix = next((each for each in _SUFFIXES if name.endswith(each)), None)
    family = families.get(name.removesuffix(suffix)) if suffix else None
    return family is not None and (family.type == "counter") == (suffix == "_total")


def test_every_metric_in_rules_and_dashboard_is_exported(families: dict[str, Any]) -> None:
    names = {name for each in expressions() for name in re.findall(r"\bglossator_\w+", each)}
    assert len(names) > 10
    assert {name for name in names if not exported(name, families)} == set()


def test_every_exported_metric_is_on_the_dashboard(families: dict[str, Any]) -> None:
    shown = " ".join(target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"])
    names = {name for name in families if name.startswith("glossator_") and not name.endswith("_created")}
    assert {name for name in names if name not in shown} == set()


def test_values_of_labels_exist() -> None:
    text = " ".join(expressions())
    assert set(re.findall(r'mode="(\w+)"', text)) <= set(Mode)
    assert set(re.findall(r'\{status!="(\w+)"', text)) <= set(Status)


def test_every_alert_has_a_runbook_and_a_test() -> None:
    page = (ROOT / "docs" / "operations.md").read_text("utf-8")
    names = [rule["alert"] for rule in RULES]
    assert re.findall(r"^### (Glossator\w+)$", page, re.MULTILINE) == names
    for rule in RULES:
        assert rule["annotations"]["runbook"] == f"docs/operations.md#{rule['alert'].lower()}"
    assert {each["alertname"] for each in TESTS[0]["alert_rule_test"]} == set(names)
    counts = {sample["value"] for each in TESTS[-1]["promql_expr_test"] for sample in each["exp_samples"]}
    assert counts == {len(names)}


def test_panels_do_not_overlap() -> None:
    cells = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
