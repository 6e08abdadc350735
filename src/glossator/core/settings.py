"""Settings: values only, from GLOSSATOR_* variables and `.env`, checked once."""

from __future__ import annotations

from pathlib import Path

from pydantic import AliasChoices, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from glossator.core.errors import SettingsError


class Settings(BaseSettings):
    """Every value that an operator can set."""

    model_config = SettingsConfigDict(
        env_prefix="GLOSSATOR_", env_file=".env", env_file_encoding="utf-8", extra="ignore"
    )

    data_dir: Path = Field(Path(".glossator"), description="Where the index and its cache live.")
    embedder: str = Field("local", description="`local`, or a folder with model.onnx and tokenizer.json.")
    threads: int = Field(0, ge=0, le=256, description="Threads for the models; 0 means all cores.")
    verify_models: bool = Field(True, description="Whether checking a claim also asks the token model, or words alone.")
    max_file_mb: float = Field(10.0, gt=0, le=1000, description="Larger files are left out of an ingest.")
    database_url: SecretStr = Field(
        SecretStr(""),
        validation_alias=AliasChoices("DATABASE_URL", "GLOSSATOR_DATABASE_URL", "database_url"),
        description="Where conversations are kept: a Postgres; empty means SQLite in the data directory.",
    )
    session_hours: float = Field(
        24.0, ge=0, le=87_600, description="A conversation without activity is forgotten; 0: never."
    )
    receipt_days: float = Field(
        90.0, ge=0, le=3650, description="Receipts outside conversations are kept; 0: for ever."
    )
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
