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
from reader.model import HEADS, WIDTH, Reader, Tokens, attend_to_earlier, mean
from reader.paths import OUTPUT

INPUTS = ("ids", "types", "positions", "past")
OUTPUTS = ("supported", "contradicted", "answered", "unsupported_tokens", "point_from", "point_to", "keys_values")
AXES = {
    **{name: {0: "tokens"} for name in ("ids", "types", "positions", "unsupported_tokens", "point_to")},
    "past": {3: "past_tokens"},
    "keys_values": {3: "tokens"},
}


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


def export(weights: Path, folder: Path) -> Path:
    """Write `model.onnx`, `tokenizer.json` and their hashes; returns the model in float, to compare with."""
    state = torch.load(weights)
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    model = Reader(layers)
    model.load_state_dict(state)
    model.eval()
    folder.mkdir(parents=True, exist_ok=True)
    whole = folder / "float.onnx"
    row = torch.tensor([101, 7, 8, 102, 101])
    past = torch.zeros(layers, 2, HEADS, 2, WIDTH // HEADS, dtype=torch.float16)
    sample = (row, torch.zeros_like(row), row - row + 1, past)
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
