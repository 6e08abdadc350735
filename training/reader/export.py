"""Exports trained weights as int8 ONNX models, each with a package of its matrices.

python -m reader.export RUN PAIR_RUN FOLDER; instead of a run, "shipped" takes the model in the package as it is.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from onnx.external_data_helper import set_external_data
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn

from glossator.core.inference.sessions import sha256
from glossator.read import packed
from glossator.read.reader import FILES, FOLDER, HASHES, MODEL, PACKAGES, PAIRS, TOKENIZER
from reader.base_weights import QUANTIZED
from reader.model import HEADS, WIDTH, Reader, Tokens, attend_to_earlier, mean
from reader.pairs import SinglePair
from reader.paths import OUTPUT
from reader.train import SHIPPED

INPUTS = ("ids", "types", "positions", "past")
JUDGED = ("supported", "contradicted", "answered", "unsupported_tokens")
OUTPUTS = (*JUDGED, "point_from", "point_to", "keys_values")
AXES = {
    **{name: {0: "tokens"} for name in ("ids", "types", "positions", "unsupported_tokens", "point_to")},
    "past": {3: "past_tokens"},
    "keys_values": {3: "tokens"},
}
PAIR_AXES = {"ids": {0: "tokens"}, "types": {0: "tokens"}, "unsupported_tokens": {0: "text_tokens"}}
WORD_TABLE = "reader.words.weight"
LARGEST_NUMBERS, LARGEST_WORD_NUMBER = {MODEL: 15, PAIRS: 31}, 10
"""How finely weights are rounded in packages: all files together must have less than 35 MB. With 15, the second encoder
loses 0.012 of its area under the curve."""


class Exported(nn.Module):
    """One step of reading: a passage, or a text after the keys and values of a passage that was read before.

    Keys and values are [layer, key or value, head, token, width of a head], in half precision.
    """

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self.reader = reader

    def forward(self, ids: Tensor, types: Tensor, positions: Tensor, past: Tensor) -> tuple[Tensor, ...]:
        tokens = Tokens(ids, types, positions, ids, ids)
        hidden, keys_values = self.reader.encode(tokens, attend_to_earlier, past.float())
        text, present = hidden[None], torch.ones_like(ids, dtype=torch.bool)[None]
        judged = (value[0] for value in self.reader.judge(text, present))
        pointers = self.reader.point_from(mean(text, present))[0], self.reader.point_to(hidden)
        laid_out = keys_values.unflatten(2, (2, HEADS, WIDTH // HEADS)).permute(0, 2, 3, 1, 4)
        return *judged, *pointers, laid_out.half()


def load(weights: Path) -> Reader:
    """A trained reader, by its weights."""
    state = torch.load(weights)
    model = Reader(1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers.")))
    model.load_state_dict(state)
    return model.eval()


def export(model: Reader, path: Path) -> None:
    """Write the model that encodes a source once."""
    row = torch.tensor([101, 7, 8, 102, 101])
    past = torch.zeros(len(model.layers), 2, HEADS, 2, WIDTH // HEADS, dtype=torch.float16)
    sample = (row, torch.zeros_like(row), row - row + 1, past)
    _write(Exported(model), sample, path, INPUTS, OUTPUTS, AXES)


def export_pairs(model: Reader, path: Path) -> None:
    """Write the model that reads a source and a text together."""
    sample = (torch.tensor([101, 7, 8, 102, 9, 102]), torch.tensor([0, 0, 0, 0, 1, 1]))
    _write(SinglePair(model), sample, path, INPUTS[:2], JUDGED, PAIR_AXES)


def _write(
    module: nn.Module,
    sample: tuple[Tensor, ...],
    path: Path,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    axes: dict[str, dict[int, str]],
) -> None:
    whole = path.with_suffix(".float.onnx")
    torch.onnx.export(module, sample, whole, input_names=inputs, output_names=outputs, dynamic_axes=axes, dynamo=False)
    quantize_dynamic(whole, path, weight_type=QuantType.QInt8, per_channel=True)
    whole.unlink()


def pack_weights(folder: Path, name: str) -> None:
    """Move the matrices of a model into its package."""
    model = onnx.load(folder / name)
    stored = {each.name: each for each in model.graph.initializer}
    matrices = {}
    for key in [key for key in stored if key.endswith(QUANTIZED)]:
        weights = _signed(stored, key)
        if weights.size % packed.BLOCK == 0:
            matrices[key] = weights, LARGEST_WORD_NUMBER if key.startswith(WORD_TABLE) else LARGEST_NUMBERS[name]
            set_external_data(stored[key], PACKAGES[name])
            stored[key].ClearField("raw_data")
    packed.save(folder / PACKAGES[name], matrices)
    (folder / name).write_bytes(model.SerializeToString())


def _signed(stored: dict[str, onnx.TensorProto], key: str) -> packed.Matrix:
    """The weights around zero; those of tables are stored around another number, which becomes zero."""
    weights, zero_point = numpy_helper.to_array(stored[key]), stored[key.removesuffix(QUANTIZED) + "_zero_point"]
    if weights.dtype == np.uint8:
        weights = np.clip(weights.astype(np.int16) - int(numpy_helper.to_array(zero_point)), -128, 127).astype(np.int8)
        stored[key].data_type = onnx.TensorProto.INT8
        zero_point.CopyFrom(numpy_helper.from_array(np.int8(0), zero_point.name))
    return weights


def _export_run(run: str, name: str, folder: Path) -> None:
    if run == SHIPPED:
        for file in (name, PACKAGES[name]):
            shutil.copy(FOLDER / file, folder / file)
        return
    write = export if name == MODEL else export_pairs
    write(load(OUTPUT / run / "reader.pt"), folder / name)
    pack_weights(folder, name)


def write_hashes(folder: Path) -> None:
    """Write the hashes of the exported files, and print their sizes."""
    files = [name for name in FILES if name != HASHES]
    hashes = {name: sha256(folder / name) for name in files}
    (folder / HASHES).write_text(json.dumps(hashes, indent=1) + "\n", "utf-8")
    for name in files:
        print(f"{name}: {(folder / name).stat().st_size / 1e6:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the name of a training run")
    parser.add_argument("pair_run", help="the name of a run of reader.train_pairs")
    parser.add_argument("folder", type=Path)
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    for run, name in ((chosen.run, MODEL), (chosen.pair_run, PAIRS)):
        _export_run(run, name, chosen.folder)
    shutil.copy(FOLDER / TOKENIZER, chosen.folder / TOKENIZER)
    write_hashes(chosen.folder)


if __name__ == "__main__":
    main()
