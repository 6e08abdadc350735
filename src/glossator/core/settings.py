"""Settings from GLOSSATOR_* variables and `.env`, validated once: values only, no I/O."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from glossator.core.book.names import BOOK_NAME, BOOKS_FOLDER, BOOKS_PATH
from glossator.core.errors import SettingsError
from glossator.core.thresholds import ANSWERABLE


def _named(variable: str, description: str) -> Any:
    """A setting whose variable other programs use too."""
    names = AliasChoices(variable, f"GLOSSATOR_{variable}", variable.lower())
    return Field("", validation_alias=names, description=description)


def _secret(variable: str, description: str) -> Any:
    names = AliasChoices(variable, f"GLOSSATOR_{variable}", variable.lower())
    return Field(SecretStr(""), validation_alias=names, description=description)


IndexKind = Literal["embedded", "postgres", "qdrant"]


class Settings(BaseSettings):
    """Every value that an operator can set."""

    model_config = SettingsConfigDict(
        env_prefix="GLOSSATOR_", env_file=".env", env_file_encoding="utf-8", extra="ignore"
    )

    data_dir: Path = Field(Path(".glossator"), description="Folder of the index and its cache.")
    book: str = Field(
        "",
        pattern=rf"^(?:{BOOK_NAME})?$",
        description="Book that commands use, and that is served at `/`; empty means the unnamed book.",
    )
    index: Literal["auto", "embedded", "postgres", "qdrant"] = Field(
        "auto", description="Where the index is; `auto` is `qdrant` if QDRANT_URL is set, else `embedded`."
    )
    index_name: str = Field(
        "glossator",
        pattern=r"^[a-z][a-z0-9_]{0,39}$",
        description="Name of the index on a shared server; the name of a book is appended.",
    )
    qdrant_url: str = _named("QDRANT_URL", "Qdrant server for the index.")
    qdrant_api_key: SecretStr = _secret("QDRANT_API_KEY", "API key for the Qdrant server.")
    qdrant_shards: int = Field(1, ge=0, le=1000, description="Shards of the index on Qdrant; 0: the server's default.")
    qdrant_replicas: int = Field(1, ge=1, le=32, description="Copies of each shard on Qdrant.")
    qdrant_quantization: Literal["none", "scalar"] = Field(
        "none",
        description="`scalar` keeps one byte per dimension in Qdrant's memory, and the full vectors on its disk.",
    )
    embedder: str = Field("local", description="`local`, a folder that contains a model, or a remote model.")
    llm: str = Field("", description="Language models, in order of preference; empty means quotes only.")
    judge: str = Field("", description="Language model that judges doubtful claims; empty means none.")
    answer_seconds: float = Field(30.0, gt=0, le=600, description="Timeout for writing an answer.")
    query_seconds: float = Field(5.0, ge=1, le=600, description="Timeout of the answer of `/query`.")
    similarity_threshold: float = Field(
        ANSWERABLE, ge=0, le=1, description="A question is not answered if the best passage scores below this."
    )
    cache_answers: int = Field(1000, ge=0, le=1_000_000, description="Answers cached in memory; 0 disables the cache.")
    threads: int = Field(0, ge=0, le=256, description="Threads for local models; 0 means all cores.")
    verify_models: bool = Field(True, description="Whether verification uses models, or compares words only.")
    reader: Literal["auto", "off"] = Field(
        "auto", description="`auto` uses the reader model for answers and checks; `off` disables it."
    )
    max_file_mb: float = Field(10.0, gt=0, le=1000, description="Maximum size of a file; larger ones are skipped.")
    max_pages: int = Field(10_000, ge=1, le=1_000_000, description="Maximum number of pages of a live site.")
    fetch_minutes: float = Field(60.0, gt=0, le=10_000, description="Timeout for fetching a site or repository.")
    database_url: SecretStr = _secret("DATABASE_URL", "Postgres database for conversations, and for a shared index.")
    embedder_api_key: SecretStr = Field(SecretStr(""), description="API key for an embedder given by its URL.")
    llm_api_key: SecretStr = Field(SecretStr(""), description="API key for a language model given by its URL.")
    openai_api_key: SecretStr = _secret("OPENAI_API_KEY", "API key for openai: models.")
    gemini_api_key: SecretStr = _secret("GEMINI_API_KEY", "API key for gemini: models.")
    cohere_api_key: SecretStr = _secret("COHERE_API_KEY", "API key for cohere: models.")
    openai_base_url: str = _named("OPENAI_BASE_URL", "Base URL for openai: models; empty means the provider's own.")
    gemini_base_url: str = _named("GEMINI_BASE_URL", "Base URL for gemini: models; empty means the provider's own.")
    cohere_base_url: str = _named("COHERE_BASE_URL", "Base URL for cohere: models; empty means the provider's own.")
    session_hours: float = Field(
        24.0,
        ge=0,
        le=87_600,
        description="Hours without activity after which a conversation is deleted; 0 means never.",
    )
    receipt_days: float = Field(
        90.0, ge=0, le=3650, description="Days after which receipts outside conversations are deleted; 0 means never."
    )
    max_body_bytes: int = Field(1_048_576, ge=1000, le=100_000_000, description="Maximum size of a request body.")
    rate_per_minute: int | None = Field(
        None,
        ge=0,
        le=1_000_000,
        description="Rate limit per client; 0 means unlimited. Unset: unlimited on loopback, else 120.",
    )
    failed_auth_per_minute: int = Field(
        60,
        ge=0,
        le=1_000_000,
        description="Rate limit per address of requests without a valid key; 0: unlimited.",
    )
    redis_url: SecretStr = _secret("REDIS_URL", "Redis or Valkey server for rate limits shared by all workers.")
    max_running: int = Field(64, ge=1, le=10_000, description="Concurrency limit: requests served at once.")
    max_waiting: int = Field(256, ge=0, le=100_000, description="Requests that may queue; more are rejected.")
    request_seconds: float = Field(60.0, gt=0, le=3600, description="Timeout of a request, including a stream.")
    trusted_proxies: str = Field("", description="IP addresses of proxies whose X-Forwarded-For is trusted.")
    allowed_hosts: str = Field(
        "", description="Host names of this server besides loopback names, separated by commas; `*` allows all."
    )
    cors_origins: str = Field("", description="Origins that may call the API from a browser, separated by commas.")
    public_reading: bool = Field(
        False, description="Whether anyone may read the book and ask from its pages even if keys exist."
    )
    log_format: Literal["auto", "text", "json"] = Field(
        "auto", description="Format of log lines: `text`, `json`, or `auto`, which is text on a terminal."
    )
    dev_mode: bool = Field(False, description="Whether errors include details; never use it on a public server.")
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on.")

    def for_book(self, name: str) -> Settings:
        """The same settings for another book."""
        return self.model_copy(update={"book": name})

    @property
    def book_dir(self) -> Path:
        """The part of the data directory that belongs to the book."""
        return self.data_dir / BOOKS_FOLDER / self.book if self.book else self.data_dir

    @property
    def book_index(self) -> str:
        """The name of the book's index on a shared server."""
        return f"{self.index_name}-{self.book}" if self.book else self.index_name

    @property
    def book_prefix(self) -> str:
        """What the paths of the book begin with on this server."""
        return f"{BOOKS_PATH}{self.book}" if self.book else ""


def load_settings(**overrides: object) -> Settings:
    """Settings from the environment; explicit values take precedence."""
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        problem = error.errors()[0]
        name = f"GLOSSATOR_{'_'.join(str(part) for part in problem['loc']).upper()}"
        raise SettingsError(
            f"{name} cannot be {problem.get('input')!r}: {problem['msg']}.", "Correct or remove it."
        ) from None
