"""Packages of weights: rounded and compressed, unpacked into the 8-bit weights that ONNX Runtime computes with.

A weight is a small number times the multiplier of its block. A package has three arrays for each matrix.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 32
"""Neighbouring weights that share a multiplier."""
_NUMBERS, _MULTIPLIERS, _SHAPE = ".numbers", ".multipliers", ".shape"

Matrix = NDArray[np.int8]


def save(path: Path, matrices: Mapping[str, tuple[Matrix, int]]) -> None:
    """Write a package: matrices by name, each with its largest small number."""
    stored: dict[str, Any] = {}
    for name, (weights, largest) in matrices.items():
        numbers, multipliers = _pack(weights, largest)
        stored |= {name + _NUMBERS: _compress(numbers), name + _MULTIPLIERS: _compress(multipliers)}
        stored[name + _SHAPE] = np.array(weights.shape)
    np.savez(path, **stored)


def load(path: Path) -> dict[str, Matrix]:
    """The matrices of a package by name."""
    with np.load(path, allow_pickle=False) as stored:
        names = [name.removesuffix(_SHAPE) for name in stored.files if name.endswith(_SHAPE)]
        return {
            name: _unpack(stored[name + _NUMBERS], stored[name + _MULTIPLIERS]).reshape(stored[name + _SHAPE])
            for name in names
        }


def _pack(weights: Matrix, largest: int) -> tuple[Matrix, Matrix]:
    """The numbers of weights, and the multiplier of each block that gives the least squared error."""
    blocks = weights.reshape(-1, BLOCK).astype(np.float32)
    least = np.full((len(blocks), 1), np.inf, np.float32)
    multipliers, numbers = np.ones((len(blocks), 1), np.int8), np.zeros(blocks.shape, np.int8)
    for multiplier in range(1, 128 // largest + 1):
        tried = np.clip(np.rint(blocks / multiplier), -largest, largest)
        error = ((tried * multiplier - blocks) ** 2).sum(1, keepdims=True)
        better = error < least
        least, multipliers = np.where(better, error, least), np.where(better, np.int8(multiplier), multipliers)
        numbers = np.where(better, tried.astype(np.int8), numbers)
    return numbers, multipliers


def _unpack(numbers: NDArray[np.uint8], multipliers: NDArray[np.uint8]) -> Matrix:
    return _decompress(numbers).reshape(-1, BLOCK) * _decompress(multipliers)[:, None]


def _compress(values: Matrix) -> NDArray[np.uint8]:
    """Small numbers are the frequent ones, but nothing repeats: the search for repetitions would only cost space."""
    made = zlib.compressobj(strategy=zlib.Z_HUFFMAN_ONLY)
    return np.frombuffer(made.compress(values.tobytes()) + made.flush(), np.uint8)


def _decompress(stored: NDArray[np.uint8]) -> Matrix:
    return np.frombuffer(zlib.decompress(stored.tobytes()), np.int8)
