"""Settings: values only, from GLOSSATOR_* variables and `.env`, checked once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import AliasChoices, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from glossator.core.errors import SettingsError


def _named(variable: str, description: str) -> Any:
    """A setting under the name that other programs know too."""
    names = AliasChoices(variable, f"GLOSSATOR_{variable}", variable.lower())
    return Field("", validation_alias=names, description=description)


def _secret(variable: str, description: str) -> Any:
    names = AliasChoices(variable, f"GLOSSATOR_{variable}", variable.lower())
    return Field(SecretStr(""), validation_alias=names, description=description)


class Settings(BaseSettings):
    """Every value that an operator can set."""

    model_config = SettingsConfigDict(
        env_prefix="GLOSSATOR_", env_file=".env", env_file_encoding="utf-8", extra="ignore"
    )

    data_dir: Path = Field(Path(".glossator"), description="Where the index and its cache live.")
    embedder: str = Field("local", description="`local`, a folder with a model in it, or a remote one.")
    llm: str = Field("", description="Language models, in order; empty means the book's own sentences.")
    answer_seconds: float = Field(30.0, gt=0, le=600, description="Time in which an answer is written, or given up.")
    cache_answers: int = Field(
        1000, ge=0, le=1_000_000, description="Answers kept in memory for whoever asks the same; 0 means none."
    )
    threads: int = Field(0, ge=0, le=256, description="Threads for the models; 0 means all cores.")
    verify_models: bool = Field(True, description="Whether checking a claim also asks the token model, or words alone.")
    max_file_mb: float = Field(10.0, gt=0, le=1000, description="Larger files are left out of an ingest.")
    database_url: SecretStr = _secret("DATABASE_URL", "A Postgres for conversations; empty means SQLite.")
    embedder_api_key: SecretStr = Field(SecretStr(""), description="Key for an embedder that is given by its address.")
    llm_api_key: SecretStr = Field(SecretStr(""), description="Key for a language model that is given by its address.")
    openai_api_key: SecretStr = _secret("OPENAI_API_KEY", "Key for openai: models.")
    gemini_api_key: SecretStr = _secret("GEMINI_API_KEY", "Key for gemini: models.")
    cohere_api_key: SecretStr = _secret("COHERE_API_KEY", "Key for cohere: models.")
    openai_base_url: str = _named("OPENAI_BASE_URL", "Address of openai: models, where it is not the usual one.")
    gemini_base_url: str = _named("GEMINI_BASE_URL", "Address of gemini: models, where it is not the usual one.")
    cohere_base_url: str = _named("COHERE_BASE_URL", "Address of cohere: models, where it is not the usual one.")
    session_hours: float = Field(
        24.0,
        ge=0,
        le=87_600,
        description="Hours without activity after which a conversation is deleted; 0 means never.",
    )
    receipt_days: float = Field(
        90.0, ge=0, le=3650, description="Days that receipts outside conversations are kept; 0 means for ever."
    )
    max_body_bytes: int = Field(1_048_576, ge=1000, le=100_000_000, description="Larger requests are refused.")
    rate_per_minute: int | None = Field(
        None,
        ge=0,
        le=1_000_000,
        description="Requests a minute of one client; 0 means any number. Unset: any number on loopback, else 120.",
    )
    redis_url: SecretStr = _secret("REDIS_URL", "A Redis or Valkey where all workers count requests together.")
    max_running: int = Field(64, ge=1, le=10_000, description="Requests that are served at once.")
    max_waiting: int = Field(256, ge=0, le=100_000, description="Requests that wait for a place; more are sent away.")
    request_seconds: float = Field(60.0, gt=0, le=3600, description="Time of a request, a stream's included.")
    trusted_proxies: str = Field("", description="Addresses of proxies whose X-Forwarded-For is believed.")
    cors_origins: str = Field("", description="Origins of pages that may ask from a browser, with commas between.")
    dev_mode: bool = Field(False, description="Whether errors tell details; never where strangers ask.")
    host: str = Field("127.0.0.1", description="Address that the server listens on.")
    port: int = Field(8000, ge=0, le=65535, description="Port that the server listens on.")


def load_settings(**given: object) -> Settings:
    """Settings from the environment; what is given explicitly wins."""
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        problem = error.errors()[0]
        name = f"GLOSSATOR_{'_'.join(str(part) for part in problem['loc']).upper()}"
        raise SettingsError(
            f"{name} cannot be {problem.get('input')!r}: {problem['msg']}.", "Correct or remove it."
        ) from None
