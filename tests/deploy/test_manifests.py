"""The Compose file, the Kubernetes manifests, the systemd unit and the proxies agree with the server's settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from glossator.core.settings import Settings
from paths import ROOT

DEPLOY = ROOT / "deploy"
YAML_FILES = sorted(DEPLOY.rglob("*.yaml"))
TIMEOUT_SECONDS: float = Settings.model_fields["request_seconds"].default
STOP_SECONDS = TIMEOUT_SECONDS + 10
"""What a server may take to stop: the timeout of a request, and the grace of `serve/run.py`."""
OWN_NAMES = {"GLOSSATOR_BOOK_FOLDER", "GLOSSATOR_PUBLISHED_PORT", "GLOSSATOR_WORKERS"}
"""Variables of the Compose file itself."""


def documents(file: Path) -> list[Any]:
    return list(yaml.safe_load_all(file.read_text("utf-8")))


def kubernetes() -> list[dict[str, Any]]:
    return [each for file in sorted((DEPLOY / "kubernetes").glob("*.yaml")) for each in documents(file)]


def of_kind(kind: str) -> dict[str, Any]:
    (found,) = [each for each in kubernetes() if each["kind"] == kind]
    return found


def pods() -> list[dict[str, Any]]:
    return [of_kind(kind)["spec"]["template"]["spec"] for kind in ("Deployment", "Job")]


def compose() -> dict[str, Any]:
    services: dict[str, Any] = documents(DEPLOY / "compose.yaml")[0]["services"]
    return services


@pytest.mark.parametrize("file", YAML_FILES, ids=lambda file: file.name)
def test_yaml_is_well_formed(file: Path) -> None:
    assert all(documents(file))


def test_every_setting_in_the_files_exists() -> None:
    settings = {f"GLOSSATOR_{name.upper()}" for name in Settings.model_fields} | OWN_NAMES
    for file in DEPLOY.rglob("*"):
        if file.is_file():
            assert set(re.findall(r"\bGLOSSATOR_[A-Z_]+", file.read_text("utf-8"))) <= settings, file.name


def test_variables_of_the_compose_file_are_not_settings() -> None:
    """Its `.env` may be read by a command as well."""
    assert not OWN_NAMES & {f"GLOSSATOR_{name.upper()}" for name in Settings.model_fields}


def test_every_container_is_hardened() -> None:
    for pod in pods():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        for container in (*pod["containers"], *pod.get("initContainers", [])):
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]
    server = compose()["server"]
    assert server["read_only"] is True
    for name, service in compose().items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name


def test_every_volume_that_is_mounted_is_declared() -> None:
    for pod in pods():
        declared = {volume["name"] for volume in pod["volumes"]}
        containers = (*pod["containers"], *pod.get("initContainers", []))
        assert {mount["name"] for each in containers for mount in each["volumeMounts"]} == declared


def test_selectors_match_the_labels_of_the_server() -> None:
    labels = of_kind("Deployment")["spec"]["template"]["metadata"]["labels"]
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert of_kind(kind)["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert of_kind("Service")["spec"]["selector"].items() <= labels.items()
    assert (
        of_kind("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]["name"]
        == of_kind("Deployment")["metadata"]["name"]
    )


def test_kustomization_names_every_file_but_the_job() -> None:
    folder = DEPLOY / "kubernetes"
    named = set(documents(folder / "kustomization.yaml")[0]["resources"])
    assert named == {file.name for file in folder.glob("*.yaml")} - {"kustomization.yaml", "ingest.yaml"}


def test_probes_ask_what_the_server_answers() -> None:
    (server,) = of_kind("Deployment")["spec"]["template"]["spec"]["containers"]
    assert server["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert server["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_databases_are_not_published() -> None:
    assert [name for name, service in compose().items() if "ports" in service] == ["server"]
    assert compose()["server"]["ports"][0].startswith("127.0.0.1:")
    assert all("healthcheck" in service for name, service in compose().items() if name != "server")


def test_threads_are_the_cpu_limit() -> None:
    (server,) = of_kind("Deployment")["spec"]["template"]["spec"]["containers"]
    assert of_kind("ConfigMap")["data"]["GLOSSATOR_THREADS"] == server["resources"]["limits"]["cpu"]
    limits = compose()["server"]["deploy"]["resources"]["limits"]
    assert compose()["server"]["environment"]["GLOSSATOR_THREADS"] == f"${{GLOSSATOR_THREADS:-{limits['cpus']}}}"


def test_every_stop_leaves_time_for_streams() -> None:
    unit = (DEPLOY / "systemd" / "glossator.service").read_text("utf-8")
    (systemd,) = re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    grace = of_kind("Deployment")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    for seconds in (systemd, grace, compose()["server"]["stop_grace_period"].removesuffix("s")):
        assert float(seconds) > STOP_SECONDS


def test_proxies_buffer_nothing_and_wait_longer_than_the_server() -> None:
    nginx = (DEPLOY / "proxy" / "nginx.conf").read_text("utf-8")
    caddy = (DEPLOY / "proxy" / "Caddyfile").read_text("utf-8")
    assert "proxy_buffering off;" in nginx
    assert "flush_interval -1" in caddy
    waits = re.findall(r"proxy_read_timeout (\d+)s", nginx) + re.findall(r"response_header_timeout (\d+)s", caddy)
    assert len(waits) == 2
    assert all(float(seconds) > TIMEOUT_SECONDS for seconds in waits)
