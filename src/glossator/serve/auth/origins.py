"""Web origins, normalised to what browsers send in the Origin header."""

from __future__ import annotations

import ipaddress
import re

from glossator.core.errors import BadInput, SettingsError
from glossator.core.settings import Settings

_MAX_ORIGIN_CHARACTERS = 300
_MAX_HOST_CHARACTERS = 253
_ORIGIN = re.compile(r"(https?)://((?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}|\[[0-9a-f:.]{2,45}\])(?::([0-9]{1,5}))?")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def web_origin(text: str) -> str:
    """The origin as browsers write it: scheme, host, and the port unless it is the scheme's default."""
    match = _ORIGIN.fullmatch(text.lower()) if len(text) <= _MAX_ORIGIN_CHARACTERS and text.isascii() else None
    host = _normal_host(match[2]) if match else None
    port = int(match[3] or _DEFAULT_PORTS[match[1]]) if match else 0
    if not match or not host or not 0 < port <= 65535:
        raise BadInput("Invalid web origin.", "Use https://host or https://host:port, without a path.")
    return f"{match[1]}://{host}" + ("" if port == _DEFAULT_PORTS[match[1]] else f":{port}")


def cors_origins(settings: Settings) -> list[str]:
    """The origins that may call the API from a browser."""
    try:
        return [web_origin(origin.strip()) for origin in settings.cors_origins.split(",") if origin.strip()]
    except BadInput as error:
        raise SettingsError("GLOSSATOR_CORS_ORIGINS names an invalid web origin.", error.remedy) from None


def _normal_host(host: str) -> str | None:
    if not host.startswith("["):
        return host if len(host) <= _MAX_HOST_CHARACTERS else None
    try:
        return f"[{ipaddress.IPv6Address(host[1:-1])}]"
    except ValueError:
        return None
