"""Where a remote embedding model is: `provider:model` or an address, with its key."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from glossator.core.addresses import checked_address, checked_key, host_of, is_loopback
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

_MODEL = re.compile(r"[!-~]{1,200}")


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
        return is_loopback(host_of(self.base))

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
        key = checked_key(settings.embedder_api_key, variable)
        return Endpoint(
            "openai-compatible", checked_address(address, _EMBEDDER), _model(model), key, variable, _EMBEDDER
        )
    provider, _, model = spec.partition(":")
    return _named(provider, model, settings) if provider in ADDRESSES else None


def _named(provider: str, model: str, settings: Settings) -> Endpoint:
    own = getattr(settings, f"{provider}_base_url").strip()
    setting = f"{provider.upper()}_BASE_URL"
    base = checked_address(own or ADDRESSES[provider], setting)
    if provider == "cohere":
        base = base.removesuffix(_COHERE_CHAT)
    variable = f"{provider.upper()}_API_KEY"
    key = checked_key(getattr(settings, f"{provider}_api_key"), variable)
    if not key and not own:
        raise ModelProblem(
            f"GLOSSATOR_EMBEDDER names a model of {provider}, but {variable} is not set.",
            f"Set {variable}, or set GLOSSATOR_EMBEDDER to `local`.",
        )
    return Endpoint(provider, base, _model(model), key, variable, setting if own else _EMBEDDER)


def _model(model: str) -> str:
    if not _MODEL.fullmatch(model):
        raise SettingsError("GLOSSATOR_EMBEDDER names no model.", f"Set it to {FORMS}.")
    return model
