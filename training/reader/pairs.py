"""Texts read together with their evidence: every token attends to every other, as in a cross-encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from reader.model import HEADS, MASKED, WIDTH, Reader, Tokens, attend_to_earlier


@dataclass(frozen=True)
class PairTokens:
    """Pairs of a source and a text, all tokens in one row; `places` are the indexes of each pair's, padded with -1."""

    ids: Tensor
    types: Tensor
    positions: Tensor
    places: Tensor
    texts: Tensor
    """The indexes of each text's own tokens, padded with -1."""


def lay_out_pairs(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> PairTokens:
    """A batch of source and text tokens as the network takes it."""
    ids, types, positions = [], [], []
    longest = max(len(a) + len(b) for a, b in pairs)
    places = torch.full((len(pairs), longest), -1)
    texts = torch.full((len(pairs), max(len(b) for _, b in pairs)), -1)
    for n, (source, text) in enumerate(pairs):
        first, length = len(ids), len(source) + len(text)
        places[n, :length] = torch.arange(first, first + length)
        texts[n, : len(text)] = torch.arange(first + len(source), first + length)
        ids += [*source, *text]
        types += [0] * len(source) + [1] * len(text)
        positions += range(length)
    return PairTokens(*map(torch.tensor, (ids, types, positions)), places, texts)


class PairAttention:
    """Attention of all tokens of a pair to each other."""

    def __init__(self, places: Tensor) -> None:
        self.count, self.length = places.shape
        self.indexes = places.clamp(min=0).flatten()
        self.order = (places >= 0).flatten().nonzero().squeeze(1)
        self.mask = (places >= 0)[:, None, None, :]

    def __call__(self, values: Tensor, past: Tensor | None) -> Tensor:
        laid_out = values.index_select(0, self.indexes).view(self.count, self.length, 3, HEADS, WIDTH // HEADS)
        query, key, value = (part.transpose(1, 2) for part in laid_out.unbind(2))
        shares = (query * (WIDTH // HEADS) ** -0.5) @ key.transpose(2, 3)
        found = shares.masked_fill(~self.mask, MASKED).softmax(-1).to(value.dtype) @ value
        return found.transpose(1, 2).reshape(self.count * self.length, WIDTH).index_select(0, self.order)


def read_pairs(
    model: Reader, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits of support, contradiction and answer for each pair, and of missing support for each token of its text."""
    tokens = lay_out_pairs(pairs)
    hidden, _ = model.encode(tokens, PairAttention(tokens.places))
    with torch.autocast("cpu", enabled=False):
        present = tokens.texts >= 0
        return model.judge(hidden.float()[tokens.texts.clamp(min=0)], present)


class SinglePair(nn.Module):
    """One pair, as it is exported: `types` are 0 for tokens of the source, and 1 for those of the text."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self.reader = reader

    def forward(self, ids: Tensor, types: Tensor) -> tuple[Tensor, ...]:
        positions = torch.cumsum(torch.ones_like(ids), 0) - 1
        hidden, _ = self.reader.encode(Tokens(ids, types, positions, ids, ids), attend_to_earlier)
        text = hidden.index_select(0, types.nonzero().squeeze(1))[None]
        judged = self.reader.judge(text, torch.ones_like(text[..., 0], dtype=torch.bool))
        return tuple(value[0] for value in judged)
