"""Where a remote embedding model is: `provider:model` or an address, with its key."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field

from pydantic import SecretStr

from glossator.core.errors import ModelProblem, SettingsError
from glossator.core.settings import Settings

FORMS = (
    "`local` or to a folder with model.onnx and tokenizer.json, or to openai:MODEL, gemini:MODEL, cohere:MODEL"
    " or https://host/v1#MODEL"
)
_EMBEDDER = "GLOSSATOR_EMBEDDER"
ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "cohere": "https://api.cohere.com",
}
_COHERE_CHAT = "/compatibility/v1"
"""What the address of Cohere's language models ends with; embeddings have a path of their own."""

# Nothing but host, port and path: a user, a query or an odd character may hold a secret, or hide another host.
_ADDRESS = re.compile(
    r"(https?)://((?:[\w-]{1,63}\.)*[\w-]{1,63}|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:/[\w.~%-]*)*", re.ASCII
)
_MODEL = re.compile(r"[!-~]{1,200}")
_KEY = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model behind an address; `variable` names what its key is read from, `setting` where its address stands."""

    provider: str
    base: str
    model: str
    key: str = field(repr=False)
    variable: str
    setting: str

    @property
    def is_loopback(self) -> bool:
        """Whether what is sent never leaves this machine."""
        return _is_loopback(_host(self.base))

    @property
    def host(self) -> str:
        """The address without its scheme, for people and for the fingerprint."""
        return self.base.partition("://")[2]


def find_endpoint(settings: Settings) -> Endpoint | None:
    """The remote model that GLOSSATOR_EMBEDDER names; None where it names none."""
    spec = settings.embedder.strip()
    if spec.startswith(("https://", "http://")):
        address, _, model = spec.partition("#")
        variable = "GLOSSATOR_EMBEDDER_API_KEY"
        key = _key(settings.embedder_api_key, variable)
        return Endpoint("openai-compatible", _address(address, _EMBEDDER), _model(model), key, variable, _EMBEDDER)
    provider, _, model = spec.partition(":")
    return _named(provider, model, settings) if provider in ADDRESSES else None


def _named(provider: str, model: str, settings: Settings) -> Endpoint:
    own = getattr(settings, f"{provider}_base_url").strip()
    setting = f"{provider.upper()}_BASE_URL"
    base = _address(own or ADDRESSES[provider], setting)
    if provider == "cohere":
        base = base.removesuffix(_COHERE_CHAT)
    variable = f"{provider.upper()}_API_KEY"
    key = _key(getattr(settings, f"{provider}_api_key"), variable)
    if not key and not own:
        raise ModelProblem(
            f"GLOSSATOR_EMBEDDER names a model of {provider}, but {variable} is not set.",
            f"Set {variable}, or set GLOSSATOR_EMBEDDER to `local`.",
        )
    return Endpoint(provider, base, _model(model), key, variable, setting if own else _EMBEDDER)


def _address(address: str, setting: str) -> str:
    """An address that a key and a book may be sent to; never repeated in an error, as it may hold a password."""
    found = _ADDRESS.fullmatch(address)
    if not found:
        raise SettingsError(
            f"{setting} is not a plain address.", "Write https://host/v1, without a user, a query or spaces."
        )
    if found[1] == "http" and not _is_loopback(_host(address)):
        raise SettingsError(f"{setting} would send the book and the key in the clear.", "Use https://.")
    return address.rstrip("/")


def _host(address: str) -> str:
    found = _ADDRESS.fullmatch(address)
    return found[2].strip("[]") if found else ""


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _model(model: str) -> str:
    if not _MODEL.fullmatch(model):
        raise SettingsError("GLOSSATOR_EMBEDDER names no model.", f"Set it to {FORMS}.")
    return model


def _key(secret: SecretStr, variable: str) -> str:
    """The key; one that no header can hold is refused here, where nothing repeats it."""
    key = secret.get_secret_value().strip()
    if key and not _KEY.fullmatch(key):
        raise ModelProblem(f"{variable} holds characters that no key has.", "Copy the key again.")
    return key
