"""Exports trained weights as int8 ONNX models that share their table of words.

python -m reader.export RUN PAIR_RUN FOLDER; as RUN, "shipped" takes the model in the package as it is.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import onnx
import torch
from onnx.external_data_helper import set_external_data
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn

from glossator.core.inference.sessions import sha256
from glossator.read.reader import FOLDER, HASHES, MODEL, PAIRS, TOKENIZER, WORDS
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


def export(model: Reader, folder: Path) -> None:
    """Write the model that encodes a source once."""
    row = torch.tensor([101, 7, 8, 102, 101])
    past = torch.zeros(len(model.layers), 2, HEADS, 2, WIDTH // HEADS, dtype=torch.float16)
    sample = (row, torch.zeros_like(row), row - row + 1, past)
    _write(Exported(model), sample, folder / MODEL, INPUTS, OUTPUTS, AXES)


def export_pairs(model: Reader, folder: Path) -> None:
    """Write the model that reads a source and a text together."""
    sample = (torch.tensor([101, 7, 8, 102, 9, 102]), torch.tensor([0, 0, 0, 0, 1, 1]))
    _write(SinglePair(model), sample, folder / PAIRS, INPUTS[:2], JUDGED, PAIR_AXES)


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


def share_words(folder: Path) -> None:
    """Store the table of words, which is the same in both models, in a file of its own."""
    model, pairs = onnx.load(folder / MODEL), onnx.load(folder / PAIRS)
    stored = {each.name: each for each in model.graph.initializer if each.name.startswith(WORD_TABLE)}
    table = stored[f"{WORD_TABLE}_quantized"]
    content = onnx.numpy_helper.to_array(table).tobytes()
    (folder / WORDS).write_bytes(content)
    table.raw_data = content
    set_external_data(table, WORDS, 0, len(content))
    table.ClearField("raw_data")
    for each in pairs.graph.initializer:
        if each.name in stored:
            each.CopyFrom(stored[each.name])
    for name, changed in ((MODEL, model), (PAIRS, pairs)):
        (folder / name).write_bytes(changed.SerializeToString())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the name of a training run")
    parser.add_argument("pair_run", help="the name of a run of reader.train_pairs")
    parser.add_argument("folder", type=Path)
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    if chosen.run == SHIPPED:
        onnx.save(onnx.load(FOLDER / MODEL), chosen.folder / MODEL)
    else:
        export(load(OUTPUT / chosen.run / "reader.pt"), chosen.folder)
    export_pairs(load(OUTPUT / chosen.pair_run / "reader.pt"), chosen.folder)
    share_words(chosen.folder)
    shutil.copy(FOLDER / TOKENIZER, chosen.folder / TOKENIZER)
    files = (MODEL, PAIRS, WORDS, TOKENIZER)
    hashes = {name: sha256(chosen.folder / name) for name in files}
    (chosen.folder / HASHES).write_text(json.dumps(hashes, indent=1) + "\n", "utf-8")
    for name in files:
        print(f"{name}: {(chosen.folder / name).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
