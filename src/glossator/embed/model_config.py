"""Configuration of a local model: pooling, prompts and length, read from its sentence-transformers files."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, RootModel, ValidationError

from glossator.core.errors import EmbeddingModelUnavailable

MAX_TOKENS = 512
"""Tokens of a text that are embedded; a model may allow fewer."""
_MIN_TOKENS = 16
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")
_MODULES = ("Transformer", "Pooling", "Normalize")


class Pooling(StrEnum):
    """How the states of the tokens become one vector; the names are those of sentence-transformers."""

    CLS = "cls_token"
    MEAN = "mean_tokens"
    MAX = "max_tokens"
    LAST = "lasttoken"


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What determines the vectors of a model besides its weights and its tokenizer."""

    pooling: Pooling = Pooling.MEAN
    query_prompt: str = ""
    document_prompt: str = ""
    max_tokens: int = MAX_TOKENS


class _Prompts(BaseModel):
    model_config = ConfigDict(extra="ignore")

    prompts: dict[str, str] = {}


class _Length(BaseModel):
    model_config = ConfigDict(extra="ignore")

    max_seq_length: int | None = None
    max_position_embeddings: int | None = None


class _Module(BaseModel):
    model_config = ConfigDict(extra="ignore")

    type: str
    path: str = ""


class _Modules(RootModel[list[_Module]]):
    root: list[_Module] = []


class _PoolingModes(RootModel[dict[str, object]]):
    root: dict[str, object] = {}


_File = TypeVar("_File", bound=BaseModel)


def read_model_config(folder: Path) -> ModelConfig:
    """The configuration of the model in a folder; without any, the mean of all tokens and no prompts."""
    modules = _read(folder / "modules.json", _Modules).root
    kinds = [module.type.rpartition(".")[2] for module in modules]
    if unknown := [kind for kind in kinds if kind not in _MODULES]:
        raise _unsupported(folder, f"a layer of type {unknown[0]}")
    paths = [module.path for module, kind in zip(modules, kinds, strict=True) if kind == "Pooling"] or ["1_Pooling"]
    prompts = _read(folder / "config_sentence_transformers.json", _Prompts).prompts
    return ModelConfig(
        _pooling(folder, _read(folder / Path(paths[0]).name / "config.json", _PoolingModes).root),
        prompts.get("query", ""),
        next((prompts[name] for name in _DOCUMENT_PROMPTS if name in prompts), ""),
        _max_tokens(folder),
    )


def _pooling(folder: Path, modes: dict[str, object]) -> Pooling:
    chosen = [name.removeprefix("pooling_mode_") for name, on in modes.items() if on is True and "pooling_mode" in name]
    if isinstance(named := modes.get("pooling_mode"), str):
        chosen = [next((mode for mode in Pooling if named == mode.partition("_")[0]), named)]
    chosen = ["mean_tokens" if mode == "mean_sqrt_len_tokens" else mode for mode in chosen]  # of the same direction
    if len(chosen) > 1 or (chosen and chosen[0] not in tuple(Pooling)):
        raise _unsupported(folder, f"pooling by {' and '.join(chosen)}")
    return Pooling(chosen[0]) if chosen else Pooling.MEAN


def _max_tokens(folder: Path) -> int:
    """The smallest length that a file names; RoBERTa counts two positions more than it has tokens."""
    own = _read(folder / "sentence_bert_config.json", _Length).max_seq_length
    positions = _read(folder / "config.json", _Length).max_position_embeddings
    lengths = [length for length in (own, positions, MAX_TOKENS) if length and length >= _MIN_TOKENS]
    return min(lengths)


def _read(file: Path, model: type[_File]) -> _File:
    """The contents of a file; the defaults if there is none."""
    try:
        return model.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return model()
    except (OSError, ValidationError):
        raise EmbeddingModelUnavailable(
            f"{file} cannot be read.", "Replace it, or set GLOSSATOR_EMBEDDER to another folder."
        ) from None


def _unsupported(folder: Path, what: str) -> EmbeddingModelUnavailable:
    return EmbeddingModelUnavailable(
        f"The model in {folder} has {what}, which is not supported.", "Set GLOSSATOR_EMBEDDER to another model."
    )
