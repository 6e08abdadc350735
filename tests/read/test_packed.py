"""Packages of weights: rounded and compressed weights come back as 8-bit weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glossator.read import packed

LARGEST = 15


def stored(path: Path, weights: packed.Matrix) -> packed.Matrix:
    packed.save(path / "weights.npz", {"layer": (weights, LARGEST)})
    return packed.load(path / "weights.npz")["layer"]


@pytest.fixture
def weights() -> packed.Matrix:
    return np.clip(np.random.default_rng(2).normal(0, 36, (384, 192)).round(), -127, 127).astype(np.int8)


@pytest.mark.parametrize("shape", [(32, 3), (2, 384), (1152, 1), (5, 64)])
def test_small_weights_are_restored_exactly_in_any_shape(tmp_path: Path, shape: tuple[int, int]) -> None:
    weights = np.random.default_rng(1).integers(-LARGEST, LARGEST + 1, shape).astype(np.int8)
    found = stored(tmp_path, weights)
    assert found.dtype == np.int8
    assert (found == weights).all()


def test_other_weights_are_restored_nearly(tmp_path: Path, weights: packed.Matrix) -> None:
    error = stored(tmp_path, weights).astype(float) - weights
    assert np.sqrt((error**2).mean()) < 0.06 * np.sqrt((weights.astype(float) ** 2).mean())


def test_extreme_weights_keep_their_sign(tmp_path: Path) -> None:
    weights = np.array([[-128, 127] * 16], np.int8)
    assert (np.sign(stored(tmp_path, weights)) == np.sign(weights)).all()


def test_a_package_is_smaller_than_its_weights(tmp_path: Path, weights: packed.Matrix) -> None:
    stored(tmp_path, weights)
    assert (tmp_path / "weights.npz").stat().st_size < 0.65 * weights.size


def test_several_matrices_keep_their_names(tmp_path: Path) -> None:
    matrices = {name: (np.full((1, 32), value, np.int8), LARGEST) for name, value in (("a.weight", 1), ("b", -1))}
    packed.save(tmp_path / "weights.npz", matrices)
    found = packed.load(tmp_path / "weights.npz")
    assert {name: int(value[0, 0]) for name, value in found.items()} == {"a.weight": 1, "b": -1}
