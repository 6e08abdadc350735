"""Addresses of other programs, and keys for them: what a book and a key may be sent to."""

from __future__ import annotations

import ipaddress
import re

from pydantic import SecretStr

from glossator.core.errors import SettingsError

# Nothing but host, port and path: a user, a query or an odd character may hold a secret, or hide another host.
_ADDRESS = re.compile(
    r"(https?)://((?:[\w-]{1,63}\.)*[\w-]{1,63}|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:/[\w.~%-]*)*", re.ASCII
)
_KEY = re.compile(r"[!-~]+")


def checked_address(address: str, setting: str) -> str:
    """A plain address; never repeated in an error, as it may hold a password."""
    found = _ADDRESS.fullmatch(address)
    if not found:
        raise SettingsError(
            f"{setting} is not a plain address.", "Write https://host/v1, without a user, a query or spaces."
        )
    if found[1] == "http" and not is_loopback(host_of(address)):
        raise SettingsError(f"{setting} would send the book and the key in the clear.", "Use https://.")
    return address.rstrip("/")


def host_of(address: str) -> str:
    """The host in an address; nothing where it is none."""
    found = _ADDRESS.fullmatch(address)
    return found[2].strip("[]") if found else ""


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked_key(secret: SecretStr, variable: str) -> str:
    """The key; one that no header can hold is refused here, where nothing repeats it."""
    key = secret.get_secret_value().strip()
    if key and not _KEY.fullmatch(key):
        raise SettingsError(f"{variable} holds characters that no key has.", "Copy the key again.")
    return key
