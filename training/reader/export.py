"""Exports trained weights as an int8 ONNX model, and compares it with the original.

python -m reader.export RUN FOLDER
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn

from glossator.core.inference.sessions import sha256
from glossator.read.reader import HASHES
from reader.base_weights import base_folder
from reader.model import WIDTH, CachedAttention, Group, Reader, Tokens, mean
from reader.paths import OUTPUT

INPUTS = ("ids", "types", "positions", "sequences", "readable", "past")
OUTPUTS = ("supported", "contradicted", "answered", "unsupported_tokens", "point_from", "point_to", "keys_values")
AXES = {
    **{name: {0: "tokens"} for name in ("ids", "types", "positions", "point_to")},
    **{name: {0: "sequences"} for name in ("supported", "contradicted", "answered", "point_from")},
    "sequences": {0: "sequences", 1: "sequence_tokens"},
    "unsupported_tokens": {0: "sequences", 1: "sequence_tokens"},
    "readable": {0: "sequences", 1: "readable_tokens"},
    "past": {1: "past_tokens"},
    "keys_values": {1: "tokens"},
}


class Exported(nn.Module):
    """One step of reading: passages, or texts against the keys and values of passages that were read before."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self.reader = reader

    def forward(
        self, ids: Tensor, types: Tensor, positions: Tensor, sequences: Tensor, readable: Tensor, past: Tensor
    ) -> tuple[Tensor, ...]:
        tokens = Tokens(ids, types, positions, sequences, sequences)
        hidden, keys_values = self.reader.encode(tokens, CachedAttention(Group(sequences, readable)), past)
        of_sequences = hidden[sequences.clamp(min=0)]
        judged = self.reader.judge(of_sequences, sequences >= 0)
        pointers = self.reader.point_from(mean(of_sequences, sequences >= 0)), self.reader.point_to(hidden)
        return *judged, *pointers, keys_values


def export(weights: Path, folder: Path) -> Path:
    """Write `model.onnx`, `tokenizer.json` and their hashes; returns the model in float, to compare with."""
    state = torch.load(weights)
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    model = Reader(layers)
    model.load_state_dict(state)
    model.eval()
    folder.mkdir(parents=True, exist_ok=True)
    whole = folder / "float.onnx"
    row, rows = torch.tensor([101, 7, 8, 102, 101]), torch.tensor([[0, 1, 2], [3, 4, -1]])
    readable = torch.tensor([[0, 1, 2, 3], [1, 5, 6, -1]])
    sample = (row, torch.zeros_like(row), row - row + 1, rows, readable, torch.zeros(layers, 2, 2 * WIDTH))
    torch.onnx.export(
        Exported(model), sample, whole, input_names=INPUTS, output_names=OUTPUTS, dynamic_axes=AXES, dynamo=False
    )
    quantize_dynamic(whole, folder / "model.onnx", weight_type=QuantType.QInt8, per_channel=True)
    shutil.copy(base_folder() / "tokenizer.json", folder / "tokenizer.json")
    hashes = {name: sha256(folder / name) for name in ("model.onnx", "tokenizer.json")}
    (folder / HASHES).write_text(json.dumps(hashes, indent=1) + "\n", "utf-8")
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the name of a training run")
    parser.add_argument("folder", type=Path)
    chosen = parser.parse_args()
    whole = export(OUTPUT / chosen.run / "reader.pt", chosen.folder)
    for path in (whole, chosen.folder / "model.onnx"):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
