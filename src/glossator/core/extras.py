"""Optional dependencies: a missing one is reported with the extra that installs it."""

from __future__ import annotations

from importlib.util import find_spec

from glossator.core.errors import SettingsError

_MODULES = {
    "llm": ("agents",),
    "mcp": ("mcp",),
    "otel": ("opentelemetry.exporter.otlp.proto.http",),
    "postgres": ("asyncpg", "psycopg"),
    "qdrant": ("qdrant_client",),
    "redis": ("redis",),
}
"""The modules that show whether an extra is installed."""


def is_installed(extra: str) -> bool:
    """Whether the packages of an extra can be imported; nothing is imported to find out."""
    try:
        return all(find_spec(module) is not None for module in _MODULES[extra])
    except ModuleNotFoundError:  # a parent package is missing
        return False


def require(extra: str, feature: str) -> None:
    """Refuse a feature whose packages are not installed."""
    if not is_installed(extra):
        raise SettingsError(f"{feature} is not installed.", f"Run: pip install 'glossator[{extra}]'")
